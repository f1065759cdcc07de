// Which layout every tile of a kernel gets, decided before anything is changed.
//
// Tiles linked by elementwise work, by loops and branches form a class, which has one layout: between them nothing is ever converted. Cheap
// tiles (ranges, splats, constants and arithmetic on them: addresses, masks) are in no class; each user has them computed in its own
// layout. A class chooses among what its memory operations, its products and its neighbours across reductions and changes of shape would
// like best, by cost; large classes choose first, so that a row's maximum follows the scores that it is the maximum of, not the other way
// round.
#pragma once

#include "gpu/tiles/layout_cost.h"
#include "gpu/tiles/ttg.h"

namespace tilewright::gpu {

/// A load, a store or an atomic on tiles.
struct MemoryAccess {
  mlir::Operation *op = nullptr;
  mlir::Value pointer, mask; ///< pointer null: a descriptor does the addressing
  mlir::Value tile;          ///< what is loaded or stored: its class wants the access to be good
  AccessFacts facts;
  Layout layout; ///< where it runs; differs from its tile's where a conversion is cheaper than bad accesses
};

class LayoutPlan {
public:
  LayoutPlan(tt::FuncOp function, ttg::ConfigAttr config);

  bool isCheap(mlir::Value tile) const { return cheap.contains(tile); }
  /// Of its class; of a cheap tile: what to take where nobody asks for a certain layout.
  Layout layoutOf(mlir::Value tile) const;
  /// Null for operations that are no accesses to tiles in memory.
  const MemoryAccess *access(mlir::Operation *op) const;

private:
  /// The layout of `to` follows from that of `from` by the operation's nature.
  struct Border {
    mlir::Operation *op;
    mlir::Value from, to;
    int64_t weight;
  };
  struct Class {
    llvm::SmallVector<mlir::Value> members;
    llvm::SmallVector<size_t> accesses, borders;
    llvm::SmallVector<mlir::Operation *> reductions, scans, dots;
    std::optional<Layout> layout;
    Dims shape;
    int64_t elements = 0;
  };

  void findCheap();
  void addNode(mlir::Value tile);
  size_t rootOf(size_t node) const;
  void unite(mlir::Value a, mlir::Value b);
  void uniteAll(llvm::ArrayRef<mlir::Value> tiles);
  void link(mlir::Operation *op);
  void addAccess(mlir::Operation *op, mlir::Value pointer, mlir::Value mask, mlir::Value tile);
  void addBorder(mlir::Operation *op, mlir::Value from, mlir::Value to);
  void formClasses();
  void choose(Class &chosen);
  llvm::SmallVector<Layout> candidates(const Class &chosen) const;
  int64_t cost(const Class &chosen, const Layout &layout) const;
  int64_t accessAndConversion(const MemoryAccess &access, const Layout &tileLayout, Layout *where) const;
  bool holds(const Class &one, mlir::Value tile) const;
  /// Layout of `tile` if that is decided.
  std::optional<Layout> decided(mlir::Value tile) const;

  tt::FuncOp function;
  ttg::ConfigAttr config;
  int64_t warps;
  AxisAnalysis axes;
  llvm::DenseMap<mlir::Value, int> cheap; // depth of what has to be computed
  llvm::DenseMap<mlir::Value, size_t> nodes;
  llvm::SmallVector<mlir::Value> tiles;      // of nodes
  mutable llvm::SmallVector<size_t> parents; // of nodes
  std::vector<Class> classes;
  llvm::DenseMap<mlir::Value, size_t> classOf;
  std::vector<MemoryAccess> accesses;
  llvm::DenseMap<mlir::Operation *, size_t> accessOf;
  llvm::SmallVector<std::pair<mlir::Value, Dims>> transfers; // by the copy engine: the tile, and its dimensions from the fastest on
  llvm::SmallVector<Border> borders;
};

/// The layout in which an operation on tiles leaves its result if its (first) operand lies in `source`; nothing if it needs another source.
std::optional<Layout> resultLayout(mlir::Operation *op, const Layout &source);
/// The layout in which expand_dims, broadcast, join, reshape and trans want their source for a result in `result`; nothing: any.
std::optional<Layout> sourceLayout(mlir::Operation *op, const Layout &result);

bool isElementwiseOnTiles(mlir::Operation *op);

} // namespace tilewright::gpu
