// Contiguity, divisibility and constancy of tiles of integers or pointers. They determine the width of memory accesses, the order of
// dimensions, and whether one predicate covers several adjacent elements:
//   %i = tt.make_range 0 .. 64                  contiguity 64, divisibility 2^30
//   %o = %i + splat(%pid * 64)                  contiguity 64, divisibility 64
//   %p = tt.addptr splat(%x), %o                contiguity 64, divisibility 16 bytes, if %x is known to be a multiple of 16
//   %m = %o < splat(%n), %n a multiple of 16    constancy 16
// All values are powers of two, so they hold even if the arithmetic wraps around; an extension of narrow integers ends that. Quotients and
// remainders have contiguity or constancy only for nonnegative dividends. That is proven, or a launch guard checks it.
#pragma once

#include "ir/address/divisibility.h"
#include "ir/address/indices.h"
#include "ir/tt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::gpu {

/// Holds one number per dimension; a scalar has one dimension of one element. A group of n along a dimension starts at an index that n
/// divides.
struct AxisInfo {
  llvm::SmallVector<int64_t, 2> contiguity;   ///< elements of such a group increase by one (pointers: by one element)
  llvm::SmallVector<int64_t, 2> divisibility; ///< of the first element of each group of `contiguity` (pointers: in bytes)
  llvm::SmallVector<int64_t, 2> constancy;    ///< elements of such a group are equal
  llvm::SmallVector<int64_t, 2> run;          ///< adjacent elements of such a group differ by `stride`, which may be 0
  llvm::SmallVector<int64_t, 2> stride;       ///< (pointers: in bytes)
  std::optional<int64_t> constant;            ///< the value of all elements
  int64_t unit = 1;                           ///< bytes per element of a pointer; 1 for integers

  size_t rank() const { return contiguity.size(); }
  /// Returns the divisibility of the first elements of groups of `count` along `dim`.
  int64_t divisibilityAt(size_t dim, int64_t count) const {
    return count >= contiguity[dim] ? divisibility[dim] : std::min(divisibility[dim], count * unit);
  }
  /// Makes runs at least as long as what contiguity and constancy say.
  void extendRuns();
  /// Returns a divisor of every element.
  int64_t divisibilityOfAll() const;
  bool operator==(const AxisInfo &) const = default;
};

class AxisAnalysis {
public:
  /// Analyzes the whole function at once, with loops to a fixpoint. Without `trustsPromises` it ignores the hints of the kernel's author
  /// (tl.multiple_of, max_contiguous, max_constancy). Another `divisibilityOf` the kernel's arguments is a hypothesis.
  explicit AxisAnalysis(tt::FuncOp function, bool trustsPromises = true,
                        llvm::function_ref<int64_t(mlir::BlockArgument)> divisibilityOf = address::divisibilityOf);

  /// Returns the analysis result of an integer or pointer, or a tile of them. Other values get the defaults, which assert nothing.
  AxisInfo of(mlir::Value value) const;
  /// Returns how many adjacent elements along `dim` one access may cover. They are contiguous, aligned to the size of the access, at most
  /// 16 bytes, and share one value of `mask` (may be null).
  int64_t vectorWidth(mlir::Value pointer, mlir::Value mask, size_t dim) const;
  /// Returns for each load and store of tiles in the function how many elements one access may cover, along the best dimension.
  llvm::SmallVector<int64_t> accessWidths(tt::FuncOp function) const;
  /// Returns the assumptions that the results rest on.
  const std::vector<LaunchGuard> &guards() const { return indices.guards(); }

private:
  void visit(mlir::Operation *op);
  void visit(mlir::scf::ForOp loop);
  void visit(mlir::scf::WhileOp loop);
  void visit(mlir::scf::IfOp branch);
  void join(mlir::Value value, AxisInfo info);
  void join(mlir::Value value, mlir::Value source);
  std::optional<AxisInfo> compute(mlir::Operation *op);
  const AxisInfo *find(mlir::Value value) const;

  bool trustsPromises;
  address::FailedGuards failedGuards;
  address::Indices indices; // usable during construction

  llvm::DenseMap<mlir::Value, AxisInfo> infos; // no entry: not reached yet
  bool changed = false;
};

} // namespace tilewright::gpu
