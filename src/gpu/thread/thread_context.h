// What every lowering of an operation on tiles to one thread's scalars works with. A tile becomes as many scalars as the thread has
// registers in the tile's layout: the context knows which scalars stand for which value, and where the next operation is put. The
// lowerings themselves are free functions, declared in lowerings.h.
#pragma once

#include "gpu/thread/access_log.h"
#include "gpu/tiles/ttg.h"
#include "support/target.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/DenseMap.h"

namespace tilewright::gpu {

using mlir::LogicalResult;
using mlir::Type;
using mlir::Value;
/// The scalars that stand for a value, one for each register of the thread.
using ThreadValues = llvm::SmallVector<Value, 4>;

struct ThreadContext {
  ThreadContext(mlir::Location loc, ttg::ConfigAttr config, GpuTarget target)
      : config(config), target(std::move(target)), b(loc, loc.getContext()) {}

  ttg::ConfigAttr config;
  GpuTarget target;
  mlir::ImplicitLocOpBuilder b;
  Value thread, lane, warp; ///< the thread's numbers, as i32: `lane` in its warp, `warp` and `thread` in its block
  llvm::DenseMap<Value, ThreadValues> parts;
  AccessLog sinceBarrier;
  llvm::DenseMap<std::pair<Value, Value>, bool> disjointBases; ///< by the arguments that pointers come from: what ttg::assumeNoAlias has said
  bool hasProducer = false; ///< a warpgroup after the kernel's warps holds no tiles, and takes part only in syncs for everybody
  bool hasArrived = false;  ///< at a barrier of the cluster that it has not waited for yet
  bool isAlone = false;     ///< the code lowered now runs in one thread of the block, and meets no other
  int64_t sharedBytes = 0;  ///< of scratch memory that operations have requested

  // ---- types: pointers are i64, buffers and barriers i32, 8-bit floats i8
  Type scalarType(Type element);
  int64_t threadValueCount(Type type); ///< 1 for scalars
  void appendTypes(Type type, llvm::SmallVectorImpl<Type> &types);

  // ---- values
  const ThreadValues &get(Value value) { return parts.find(value)->second; }
  Value getScalar(Value value) { return get(value).front(); }
  void set(Value value, ThreadValues scalars) { parts[value] = std::move(scalars); }
  ThreadValues gather(mlir::ValueRange values);
  void scatter(mlir::ValueRange values, mlir::ValueRange scalars);
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value constant(Type type, mlir::Attribute value);
  Value zero(Type type);
};

// ---- where a thread is

/// XOR of `bases[i]` over the bits set in `place`.
Value xorBases(ThreadContext &t, Value place, const std::vector<uint32_t> &bases);
/// The row-major index in the tile of the element in register `reg` of `layout`, as i32.
Value flatIndex(ThreadContext &t, const Layout &layout, int64_t reg);
/// True in the threads that hold the first copy of their elements; null if nothing is held twice.
Value holdsFirstCopy(ThreadContext &t, const Layout &layout);
Value isFirstThread(ThreadContext &t);
/// Of the launch's grid along an axis: the program, and how many there are.
Value programId(ThreadContext &t, int64_t axis);
Value programCount(ThreadContext &t, int64_t axis);

// ---- what threads do together

/// The threads of the block that hold tiles meet.
void sync(ThreadContext &t);
/// All threads of the program meet, and see what the others have written.
void meet(ThreadContext &t);
/// The first half of a meeting, which does not wait; `waitAtBarrier` waits, once the first half has happened. Between
/// the halves nothing changes what others may still be reading, and no control flow enters or leaves a loop or branch.
void arriveAtBarrier(ThreadContext &t);
void waitAtBarrier(ThreadContext &t);
/// The shared memory that scratchBytes promises to `op`. All threads may use it between two barriers.
Value scratch(ThreadContext &t, mlir::Operation *op);

} // namespace tilewright::gpu
