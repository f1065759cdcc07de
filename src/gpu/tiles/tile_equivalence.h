// Which tiles share a choice. Between tiles that elementwise work, loops and branches link, nothing should ever be converted or exchanged:
//     %y = arith.addf %x, %z        scf.for iter_args(%c = %init) { yield %n }        %x, %y, %z are one class; so are %c, %init, %n
// So a planner decides once for a class, whatever the decision is about: a layout (layout_plan), or the dimension
// along which blocks share a tile (split_ctas). Tiles that are cheap to compute (ranges, splats, constants,
// arithmetic on them: addresses, masks) are in no class: they are computed in each form that is needed.
//
// A choice belongs to a tile in a role, not to the tile alone, so that one tile can be held in two ways at once.
#pragma once

#include "ir/tt.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::gpu {

bool isTile(mlir::Value value);
/// Whether each element of its results, all of them tiles, depends only on the elements at the same place of its operands.
bool isElementwiseOnTiles(mlir::Operation *op);
/// How often an operation runs, roughly: 8 times as often in a loop as around it.
int64_t weightOf(mlir::Operation *op);

/// Tiles that are recomputed rather than kept.
class RematerializableTiles {
public:
  /// `canRematerialize`: whether the planner can compute the result of such an operation in another form. `deepest`: the longest chain.
  RematerializableTiles(tt::FuncOp function, llvm::function_ref<bool(mlir::Operation *)> canRematerialize, int64_t deepest);
  bool contains(mlir::Value tile) const { return depths.contains(tile); }

private:
  llvm::DenseMap<mlir::Value, int64_t> depths; // of what has to be computed
};

/// The role that holds a tile. As long as all warps of a block do the same work, there is only one.
enum class Role : uint8_t { allWarps };

class TileEquivalence {
public:
  using Key = std::pair<mlir::Value, Role>;
  struct Class {
    mlir::Value leader; ///< the member that represents all members
    llvm::SmallVector<mlir::Value> members;
  };

  TileEquivalence(tt::FuncOp function, const RematerializableTiles &cheap);

  /// In the order of their first members in the program.
  llvm::ArrayRef<Class> all() const { return classes; }
  /// The number of its class; null for cheap tiles, scalars, and tiles that were made later.
  std::optional<size_t> find(mlir::Value tile, Role role) const;
  std::optional<size_t> find(mlir::Value tile) const { return find(tile, Role::allWarps); }

private:
  void add(mlir::Value value, const RematerializableTiles &cheap);
  void unite(mlir::ValueRange together);
  void linkControlFlow(mlir::Operation *op);
  void link(mlir::Operation *op);

  llvm::EquivalenceClasses<Key> links;
  llvm::SmallVector<Key> keys; // in the program's order
  llvm::DenseMap<Key, size_t> numbers;
  llvm::SmallVector<Class> classes;
};

} // namespace tilewright::gpu
