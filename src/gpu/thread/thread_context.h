// The context of the lowerings from operations on tiles to scalars of one thread. A tile becomes as many scalars as the thread has
// registers in the tile's layout. The context maps each value to its scalars, and has the insertion point. The lowerings are free
// functions, which lowering_table.h lists.
#pragma once

#include "gpu/machine/ptx.h"
#include "gpu/thread/access_log.h"
#include "gpu/ttg/mma_extent.h"
#include "gpu/ttg/ttg.h"
#include "support/target.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <list>

namespace tilewright::gpu {

using mlir::LogicalResult;
using mlir::Type;
using mlir::Value;
/// The scalars of a value, one for each register of the thread.
using ThreadValues = llvm::SmallVector<Value, 4>;

/// The guard under which the memory of two kernel arguments is disjoint (ttg::noAliasGuard), and whether the kernel relies on it.
struct NoAlias {
  std::optional<LaunchGuard> guard;
  bool isReliedOn = false;
};

struct ThreadContext {
  ThreadContext(mlir::Location loc, ttg::ConfigAttr config, GpuTarget target)
      : config(config), target(std::move(target)), b(loc, loc.getContext()), warps(config.getWarps()) {}

  ttg::ConfigAttr config;
  GpuTarget target;
  mlir::ImplicitLocOpBuilder b;
  Value thread, lane, warp;        ///< the thread's indices, as i32: `lane` in its warp, `warp` and `thread` in its partition
  std::array<Value, 3> program;    ///< in a program loop: the ids of the iteration's program
  int64_t warps;                   ///< of the partition, or of the kernel
  std::optional<uint32_t> barrier; ///< the named barrier of the partition
  llvm::DenseMap<Value, ThreadValues> parts;
  Sums partialSums; ///< of the kernel
  AccessLog sinceBarrier;
  llvm::DenseMap<std::pair<Value, Value>, NoAlias> noAlias; ///< by pairs of kernel arguments: a kernel may have thousands of accesses
  ttg::WarpSpecializeOp partitions;                         ///< null if all warps run one program
  bool hasArrived = false;                                  ///< the CTA has arrived at a cluster barrier, and has not waited for it
  bool isAlone = false;                                     ///< the code being lowered runs in one thread of the CTA, without barriers
  std::list<ThreadValues> missing;                          ///< poison, for uses of values that have no scalars: bugs
  bool usesTensorMemory = false;                            ///< the kernel has an allocation of tensor memory
  uint32_t tileStores = 0;                                  ///< stores of tiles so far: the next one's number (ptx.store_global)
  int64_t sharedBytes = 0; ///< that allocate-shared has reserved, or scratch memory that operations have requested

  // ---- types: pointers are i64, buffers and barriers i32, 8-bit floats i8
  Type scalarType(Type element);
  int64_t threadValueCount(Type type); ///< 1 for scalars
  void appendTypes(Type type, llvm::SmallVectorImpl<Type> &types);

  // ---- values
  /// Returns the scalars of a value. A value without scalars is a bug: it is reported, and the function is not lowered.
  const ThreadValues &get(Value value);
  Value getScalar(Value value) { return get(value).front(); }
  void set(Value value, ThreadValues scalars) { parts[value] = std::move(scalars); }
  ThreadValues gather(mlir::ValueRange values);
  void scatter(mlir::ValueRange values, mlir::ValueRange scalars);
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value constant(Type type, mlir::Attribute value);
  Value zero(Type type);
};

/// Returns the conjunction of two predicates, of which a null one is always true.
Value logicalAnd(ThreadContext &t, Value x, Value y);

// ---- where a thread is

/// XOR of `bases[i]` over the bits set in `index`.
Value xorBases(ThreadContext &t, Value index, const std::vector<uint32_t> &bases);
/// The row-major index of the element in register `reg` of `layout`, as i32.
Value flatIndex(ThreadContext &t, const Layout &layout, int64_t reg);
/// True in the threads that hold the first copy of their elements; null if there are no copies.
Value holdsFirstCopy(ThreadContext &t, const Layout &layout);
Value isFirstThread(ThreadContext &t);
/// Emits in a branch for the first warp of the partition.
void inFirstWarp(ThreadContext &t, llvm::function_ref<void()> emit);
/// The program id along an axis of the launch grid, and the number of programs.
Value programId(ThreadContext &t, int64_t axis);
Value programCount(ThreadContext &t, int64_t axis);

// ---- what threads do together

/// Orders accesses to tensor memory before or after a synchronization of threads, if the kernel has tensor memory.
void fenceTensorMemory(ThreadContext &t, ptx::TensorFence side);

/// Inserts a barrier of the partition's threads, or of the CTA's.
void ctaBarrier(ThreadContext &t);
/// Inserts a barrier of all threads of the program, in all CTAs of the cluster. After it, they see each other's writes.
void clusterBarrier(ThreadContext &t);
/// Arrives at the cluster barrier, without waiting; `waitAtBarrier` waits if there was an arrival. In between, peers may still be
/// reading: nothing they read changes, and no control flow enters or leaves a loop or branch.
void arriveAtBarrier(ThreadContext &t);
void waitAtBarrier(ThreadContext &t);
/// The shared memory that scratchBytes reserves for `op`. All threads may use it between two barriers.
Value scratch(ThreadContext &t, mlir::Operation *op);

} // namespace tilewright::gpu
