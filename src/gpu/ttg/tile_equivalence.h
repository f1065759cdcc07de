// Equivalence classes of tiles. Elementwise operations, loops and branches link tiles, and linked tiles should share one choice:
//     %y = arith.addf %x, %z        scf.for iter_args(%c = %init) { yield %n }        %x, %y, %z are one class; so are %c, %init, %n
// A pass decides once for each class: a layout (layout_plan), or the dimension along which CTAs split a tile (split_ctas). Rematerializable
// values (ranges, splats, constants, and arithmetic on them: addresses, masks) are in no class. They are computed in each form that is
// needed.
#pragma once

#include "ir/tt.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::gpu {

bool isTile(mlir::Value value);
/// Returns the results of an operation and the arguments of its regions.
llvm::SmallVector<mlir::Value> valuesOf(mlir::Operation *op);
/// True if all results are tiles, and each element depends only on the elements at the same index of the operands. For inline assembly
/// these are the elements of the same pack.
bool isElementwiseOnTiles(mlir::Operation *op);
/// Returns the estimated relative execution count of an operation: 8 times as often in a loop as around it.
int64_t weightOf(mlir::Operation *op);

/// The tiles that are rematerialized instead of stored.
class RematerializableTiles {
public:
  /// `canRematerialize`: true if the pass can compute the operation's result in another form. `deepest`: the maximum length of a chain.
  RematerializableTiles(tt::FuncOp function, llvm::function_ref<bool(mlir::Operation *)> canRematerialize, int64_t deepest);
  bool contains(mlir::Value tile) const { return depths.contains(tile); }

private:
  llvm::DenseMap<mlir::Value, int64_t> depths; // length of the chain of operations to recompute
};

class TileEquivalence {
public:
  struct Class {
    mlir::Value leader; ///< the member that represents all members
    llvm::SmallVector<mlir::Value> members;
  };

  TileEquivalence(tt::FuncOp function, const RematerializableTiles &cheap);

  /// Returns all classes, in the order of their first members in the program.
  llvm::ArrayRef<Class> all() const { return classes; }
  /// Returns the number of the tile's class. Null for rematerializable values, scalars, and tiles created after the analysis.
  std::optional<size_t> find(mlir::Value tile) const;

private:
  void add(mlir::Value value, const RematerializableTiles &cheap);
  void unite(mlir::ValueRange together);
  void linkControlFlow(mlir::Operation *op);
  void link(mlir::Operation *op);

  llvm::EquivalenceClasses<mlir::Value> links;
  llvm::SmallVector<mlir::Value> values; // in program order
  llvm::DenseMap<mlir::Value, size_t> numbers;
  llvm::SmallVector<Class> classes;
};

} // namespace tilewright::gpu
