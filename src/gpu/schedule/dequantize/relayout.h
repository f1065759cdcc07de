// A tile, and what it is computed from, once more in another layout: operations are cloned where they stand, as far as what loads it.
#pragma once

#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/ttg.h"

#include "llvm/ADT/MapVector.h"

#include <functional>

namespace tilewright::gpu {

class Relayout {
public:
  explicit Relayout(tt::FuncOp function) : function(function) {}
  /// Plans to compute the tile in that layout. Returns false, and plans nothing, if that is not possible.
  bool plan(mlir::Value tile, const Layout &want);
  /// True if the tile can be computed in that layout of what is planned already, without a further load.
  bool needsNoLoads(mlir::Value tile, const Layout &want) const;
  /// Computes a planned tile.
  mlir::Value make(mlir::Value tile, const Layout &want);

  /// The tile is not computed again. `read` loads it from shared memory, where another warp group has stored it, in each layout that is
  /// wanted. A plan needs no function yet.
  using Read = std::function<mlir::Value(mlir::OpBuilder &, mlir::RankedTensorType)>;
  void readBy(mlir::Value tile, Read read) { reads[tile] = std::move(read); }

  /// Returns the planned load by TMA, if there is exactly one; otherwise null.
  ttg::DescriptorLoadOp copiedLoad() const { return planned.copies.size() == 1 ? planned.copies.front() : ttg::DescriptorLoadOp(); }
  /// Returns the planned layout of a load to registers of a tile of that shape; nothing if there is none.
  std::optional<Layout> layoutOfLoads(const Dims &shape) const;

private:
  using Key = std::pair<mlir::Value, mlir::Type>;
  struct Plan {
    llvm::DenseSet<Key> tiles;
    llvm::SmallVector<ttg::DescriptorLoadOp> copies;
    llvm::MapVector<mlir::Operation *, Layout> loads; ///< to registers
  };
  static Key keyOf(mlir::Value tile, const Layout &want);
  std::optional<Layout> layoutOfOperands(mlir::Operation *op, const Layout &want) const;
  bool add(Plan &plan, mlir::Value tile, const Layout &want) const;
  bool needsNoLoads(llvm::DenseSet<Key> &known, mlir::Value tile, const Layout &want) const;
  void keepAccessWidth(tt::LoadOp load, const Layout &want);

  tt::FuncOp function;
  Plan planned;
  llvm::DenseMap<Key, mlir::Value> made;
  llvm::DenseMap<mlir::Value, Read> reads;
};

} // namespace tilewright::gpu
