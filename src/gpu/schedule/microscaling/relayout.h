// A tile, and what it is computed from, once more in another layout: operations are cloned where they stand, as far as what loads it.
#pragma once

#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/ttg.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::gpu {

class Relayout {
public:
  explicit Relayout(tt::FuncOp function) : function(function) {}
  /// True if the tile can be computed in that layout. What is asked for is made later, all of it.
  bool canMake(mlir::Value tile, const Layout &want);
  /// The same of what is computed from loads that are made in such a layout anyway.
  bool canMakeOfLoads(mlir::Value tile, const Layout &want);
  mlir::Value make(mlir::Value tile, const Layout &want);

  /// The tile is not made again: another warpgroup stores it, or the upper bytes of its elements, to `buffer`, from which each layout is
  /// read. `canMake` needs no buffer yet.
  void readFrom(mlir::Value tile, mlir::Value buffer) { buffers[tile] = buffer; }

  /// Loads of tiles by TMA that are made again.
  llvm::ArrayRef<mlir::Operation *> copied() const { return copies; }
  /// The layout in which a tile of that shape is loaded by threads; nothing if there is none.
  std::optional<Layout> layoutOfLoads(const Dims &shape) const;

private:
  using Key = std::pair<mlir::Value, mlir::Type>;
  static Key keyOf(mlir::Value tile, const Layout &want);
  std::optional<Layout> layoutOfOperands(mlir::Operation *op, const Layout &want) const;
  void keepAccessWidth(tt::LoadOp load, const Layout &want);

  tt::FuncOp function;
  llvm::DenseSet<Key> asked;
  llvm::DenseMap<Key, mlir::Value> made;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::SmallVector<mlir::Operation *> copies;
  llvm::MapVector<mlir::Operation *, Layout> loads;
};

} // namespace tilewright::gpu
