// How the elements of a tile of integers or pointers follow one another. From it come the width of memory accesses, the order of
// dimensions, and whether one predicate is enough for several neighbours:
//   %i = tt.make_range 0 .. 64                  contiguity 64, divisibility 2^30
//   %o = %i + splat(%pid * 64)                  contiguity 64, divisibility 64
//   %p = tt.addptr splat(%x), %o                contiguity 64, divisibility 16 bytes, if %x is known to be a multiple of 16
//   %m = %o < splat(%n), %n a multiple of 16    constancy 16
// All numbers are powers of two, so they hold even where arithmetic wraps around. A group of quotients or remainders
// may be equal, or rise, only for numbers that are not negative: this is proven, or a fact that launches check.
#pragma once

#include "ir/address/indices.h"
#include "ir/tt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::gpu {

/// One number per dimension; a scalar has one dimension of one element. A group of n along a dimension starts at an index that n divides.
struct AxisInfo {
  llvm::SmallVector<int64_t, 2> contiguity;   ///< elements of such a group rise by one (pointers: by one element)
  llvm::SmallVector<int64_t, 2> divisibility; ///< of the first element of each group of `contiguity` (pointers: in bytes)
  llvm::SmallVector<int64_t, 2> constancy;    ///< elements of such a group are equal
  std::optional<int64_t> constant;            ///< of all elements
  int64_t unit = 1;                           ///< bytes that one element of contiguity moves a pointer by; 1 for integers

  size_t rank() const { return contiguity.size(); }
  /// What divides the first elements of groups of `count` along `dim`.
  int64_t divisibilityAt(size_t dim, int64_t count) const {
    return count >= contiguity[dim] ? divisibility[dim] : std::min(divisibility[dim], count * unit);
  }
  /// What divides every element.
  int64_t divisibilityOfAll() const;
  bool operator==(const AxisInfo &) const = default;
};

class AxisAnalysis {
public:
  /// Looks at the whole function at once; loops are run to a fixpoint. Without `trustsPromises` nothing follows from what the kernel's
  /// author says of values (tl.multiple_of, max_contiguous, max_constancy).
  explicit AxisAnalysis(tt::FuncOp function, bool trustsPromises = true);

  /// The facts about an integer or pointer, or a tile of them; nothing is known about other values.
  AxisInfo of(mlir::Value value) const;
  /// How many neighbours along `dim` one access may take: they are contiguous, aligned to the size of the access, at most 16 bytes, and
  /// share one value of `mask` (may be null).
  int64_t vectorWidth(mlir::Value pointer, mlir::Value mask, size_t dim) const;

private:
  void visit(mlir::Operation *op);
  void visit(mlir::scf::ForOp loop);
  void visit(mlir::scf::WhileOp loop);
  void visit(mlir::scf::IfOp branch);
  void meet(mlir::Value value, const AxisInfo &info);
  void meet(mlir::Value value, mlir::Value source);
  std::optional<AxisInfo> compute(mlir::Operation *op);
  const AxisInfo *find(mlir::Value value) const;

  bool trustsPromises;
  address::FailedGuards failedGuards;
  address::Indices indices; // of the function as it is while the constructor looks at it

  llvm::DenseMap<mlir::Value, AxisInfo> infos; // no entry: not reached yet
  bool changed = false;
};

} // namespace tilewright::gpu
