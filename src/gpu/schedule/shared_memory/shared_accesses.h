// What an operation does to bytes of shared memory once allocate-shared has placed them. insert-barriers orders these accesses.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/IR/Value.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::gpu {

/// Which hardware makes an access, and what ends it. Threads and cp.async use the generic proxy, the other ones the async proxy.
enum class Accessor : uint8_t { threads, copyAsync, mma, tmaLoad, tmaStore };

/// The stages of a circular buffer that an access may touch: bit d is stage (counter + d) mod depth, where `counter` is a value that a loop
/// carries and advances by one each iteration. Without a counter, bit d is stage d.
struct StageSet {
  mlir::BlockArgument counter;
  llvm::APInt bits = llvm::APInt(1, 1);
};

struct SharedAccess {
  mlir::Operation *op = nullptr;
  mlir::Operation *owner = nullptr; ///< the alloc, or the operation with the scratch memory
  int64_t first = 0, end = 0;       ///< bytes of the owner
  StageSet stages;
  bool writes = false;
  Accessor accessor = Accessor::threads;
  ttg::Partition partition = ttg::Partition::consumers; ///< that makes the access
  bool inTensorMemory = false;                          ///< the bytes are columns of tensor memory

  bool isAsyncProxy() const { return accessor != Accessor::threads && accessor != Accessor::copyAsync; }
  bool isAsynchronous() const { return accessor != Accessor::threads && accessor != Accessor::tmaLoad; }
  /// True if both may touch the same byte.
  bool overlaps(const SharedAccess &other) const;
};

/// The accesses of an operation itself, without those of operations in its regions; none if it is not known what it does to an operand in
/// shared or tensor memory. An operation with scratch memory writes it: its lowering has a barrier before that and one before it reads the
/// result.
std::optional<llvm::SmallVector<SharedAccess>> sharedAccessesOf(mlir::Operation *op);

/// True if the operation's lowering has a barrier of all threads that hold tiles, before its own accesses.
bool hasBarrierInside(mlir::Operation *op);

/// What an argument of a loop's body is in the first iteration and, seen from any iteration, in the next; null if the loop does not carry
/// it.
std::pair<mlir::Value, mlir::Value> carriedValues(mlir::BlockArgument argument);

/// The stages that `index` may name in a circular buffer of `depth` stages.
StageSet stagesOf(mlir::Value index, unsigned depth);

} // namespace tilewright::gpu
