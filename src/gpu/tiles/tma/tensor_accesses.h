// What a kernel does with the tensors of its arguments, and so what TMA may do. TMA accesses are not ordered with accesses of threads to
// the same memory: a tensor gets no map if the kernel both reads and writes it, or writes it by two stores that may overlap. A launch guard
// checks that the tensors of two arguments are disjoint.
#pragma once

#include "gpu/ttg/ttg.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

namespace tilewright::gpu {

/// True for tiles that TMA copies, if their addresses permit.
bool isTmaTile(mlir::Type type);
/// Returns how TMA combines the tile of an atomic operation with memory. Fails if the operation orders other accesses, if its result is
/// used, or if TMA does not have it for this type (PTX ISA, cp.reduce.async.bulk.tensor).
Result<ttg::Reduction> tmaReduction(tt::AtomicRMWOp op);

class TensorAccesses {
public:
  explicit TensorAccesses(tt::FuncOp function);

  /// Counts stores of one tensor as one if no two of them write to one address, in one execution of their block. Then they need no order.
  void mergeDisjointStores();
  /// Returns the guards under which TMA may read the tensor of an argument.
  Result<LaunchGuards> checkRead(mlir::BlockArgument base) const;
  /// Returns the guards under which TMA may store to the tensor.
  Result<LaunchGuards> checkStore(mlir::BlockArgument base) const;
  /// Returns the guards under which TMA may combine tiles with the tensor by atomic operations.
  Result<LaunchGuards> checkReductions(mlir::BlockArgument base) const;

private:
  /// Counts the reads, writes and reductions of one tensor.
  struct Accesses {
    int64_t reads = 0, writes = 0;
    llvm::SmallVector<tt::StoreOp> stores;
    LaunchGuards disjoint;                        ///< under which the stores count as one
    llvm::SmallSet<ttg::Reduction, 2> reductions; ///< those of one kind commute
    bool changes() const { return writes || !reductions.empty(); }
  };

  Accesses &count(mlir::Value pointer, int64_t reads, int64_t writes);
  void count(mlir::Operation *op);
  std::optional<LaunchGuards> disjointStoresGuards(const Accesses &accesses) const;
  Result<Accesses> checkOnlyWritten(mlir::BlockArgument base) const;
  Result<LaunchGuards> checkOtherAccesses(mlir::BlockArgument base, bool writes) const;

  tt::FuncOp function;
  llvm::MapVector<mlir::BlockArgument, Accesses> byArgument;
  Accesses unknown;            ///< through pointers that no argument is known to be the base of
  bool hasUnknownCode = false; ///< which may access each tensor, and signal other programs
};

} // namespace tilewright::gpu
