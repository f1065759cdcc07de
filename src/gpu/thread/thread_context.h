// The context of the lowerings from operations on tiles to scalars of one thread. A tile becomes as many scalars as the thread has
// registers in the tile's layout. The context maps each value to its scalars, and has the insertion point. The lowerings are free
// functions, which lowering_table.h lists. A lowering reads its own operation: what depends on others is decided before
// (thread/prepare).
#pragma once

#include "gpu/machine/ptx.h"
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

/// What the lowerings know of their kernel.
struct KernelProperties {
  ttg::ConfigAttr config;
  GpuTarget target;
  int64_t sharedBytes = 0; ///< that allocate-shared has reserved
  int64_t allWarps = 0;    ///< of all partitions
  bool usesTensorMemory = false;
};

/// The threads that run the code being lowered: those of the kernel, of a partition, or a single one.
struct Threads {
  Value index, lane, warp;         ///< the thread's indices, as i32: `lane` in its warp, `warp` and `index` in its partition
  int64_t warps = 0;               ///< of the partition, or of the kernel
  std::optional<uint32_t> barrier; ///< the named barrier of the partition
  bool isAlone = false;            ///< the code runs in one thread of the CTA, without barriers
};

class ThreadContext {
public:
  ThreadContext(mlir::Location loc, KernelProperties properties) : kernel(std::move(properties)), b(loc, loc.getContext()) {
    threads.warps = kernel.config.getWarps();
  }

  const KernelProperties kernel;
  mlir::ImplicitLocOpBuilder b;
  Threads threads;
  std::array<Value, 3> program; ///< in a program loop: the ids of the iteration's program
  uint32_t tileStores = 0;      ///< stores of tiles so far: the next one's number (ptx.store_global)

  /// Returns the scalars of a value. A value without scalars is a bug: it is reported, and the function is not lowered.
  const ThreadValues &get(Value value);
  Value getScalar(Value value) { return get(value).front(); }
  void set(Value value, ThreadValues scalars) { values[value] = std::move(scalars); }
  /// Reports a bug and returns poison. The function is not lowered.
  const ThreadValues &missingValue(mlir::Operation *op, const std::string &what, Type scalar, int64_t count = 1);
  /// True if no value is missing.
  bool isComplete() const { return missing.empty(); }

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value constant(Type type, mlir::Attribute value);
  Value zero(Type type);

private:
  llvm::DenseMap<Value, ThreadValues> values;
  std::list<ThreadValues> missing; // poison
};

// ---- types: pointers are i64, buffers and barriers i32, 8-bit floats i8; in memory, i1 is a byte

Type scalarType(Type element);
int64_t threadValueCount(Type type); ///< 1 for scalars
void appendTypes(Type type, llvm::SmallVectorImpl<Type> &types);
Type memoryType(Type scalar);

// ---- values

/// The scalars of several values, one value after the other; and back.
ThreadValues gather(ThreadContext &t, mlir::ValueRange values);
void scatter(ThreadContext &t, mlir::ValueRange values, mlir::ValueRange scalars);
Value toMemory(ThreadContext &t, Value scalar);
Value fromMemory(ThreadContext &t, Value stored, Type scalar);
/// The same bits as another type; the value itself if it has that type.
Value bitcast(ThreadContext &t, Type type, Value x);
/// Packs contiguous values of 1 to 8 bytes in total into one integer, the first in the lowest bits; and back.
Value packed(ThreadContext &t, mlir::ValueRange values);
ThreadValues unpacked(ThreadContext &t, Value word, Type element);
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
/// Arrives at the cluster's barrier, and waits until all threads of the cluster have arrived. Then they see each other's writes.
void arriveAtCluster(ThreadContext &t);
void waitForCluster(ThreadContext &t);
/// Arrives at an mbarrier: that of this CTA or, with `inCluster`, those of all CTAs of the cluster (`toFirst`: of the first one only).
void arriveAt(ThreadContext &t, Value barrier, Value predicate, bool inCluster, bool toFirst);
/// The shared memory that scratchBytes reserves for `op`. All threads may use it between two barriers.
Value scratch(ThreadContext &t, mlir::Operation *op);

} // namespace tilewright::gpu
