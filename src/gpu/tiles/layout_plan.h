// Which layout every tile of a kernel gets, decided before anything is changed.
//
// A class of tiles (tile_equivalence.h) has one layout: nothing is ever converted between its members. Cheap tiles
// are in no class; each user has them computed in its own layout. A class chooses by cost among the layouts that
// suit its memory operations, its products and its neighbours across reductions and changes of shape best; large
// classes choose first, so that a row's maximum follows the scores that it belongs to, not the other way round.
#pragma once

#include "gpu/tiles/dot_choice.h"
#include "gpu/tiles/layout_cost.h"
#include "gpu/tiles/tile_equivalence.h"
#include "gpu/tiles/ttg.h"

namespace tilewright::gpu {

/// A load, a store or an atomic on tiles.
struct MemoryAccess {
  mlir::Operation *op = nullptr;
  mlir::Value pointer, mask; ///< pointer null: a descriptor does the addressing
  mlir::Value tile;          ///< what is loaded or stored: its class wants the access to be good
  AccessProperties guards;
  bool covering = false;       ///< by aligned words, from any address (covering.h)
  bool narrowedByMask = false; ///< elements that are neighbours in memory have different masks
  Layout layout;               ///< where it runs; differs from its tile's where a conversion is cheaper than bad accesses
};

class LayoutPlan {
public:
  LayoutPlan(tt::FuncOp function, ttg::ConfigAttr config);

  bool isRematerializable(mlir::Value tile) const { return cheap.contains(tile); }
  /// The layout of the tile's class; for a cheap tile, the one to use where no particular layout is needed.
  Layout layoutOf(mlir::Value tile) const;
  /// Null for operations that do not access tiles in memory.
  const MemoryAccess *access(mlir::Operation *op) const;
  /// How a product of the kernel is computed.
  const DotChoice &product(tt::DotOp op) const { return products.find(op.getOperation())->second; }
  /// How many neighbors along each dimension are equal by proof; empty if no two.
  Dims provenConstancy(mlir::Value tile) const;
  /// How the classes found their layouts: `ttg.choices` of the kernel.
  mlir::ArrayAttr choices() const;

private:
  /// The nature of the operation determines the layout of `to` from that of `from`.
  struct Border {
    mlir::Operation *op;
    mlir::Value from, to;
    int64_t weight;
  };
  /// A tile that the copy engine moves, and its dimensions from the fastest on.
  struct Transfer {
    mlir::Value tile;
    Dims order;
  };
  /// A tile that the copy engine brings along the wrong dimension for a product: threads read it along order[0], and write it along the
  /// other one.
  struct Turned {
    tt::DotOp dot;
    mlir::Value tile;
    Dims order;
  };
  struct Class {
    llvm::SmallVector<size_t> accesses, borders;
    llvm::SmallVector<mlir::Operation *> reductions, scans, dots;
    llvm::SmallVector<Transfer> transfers;
    llvm::SmallVector<Turned> turned;
    Dims shape;
    int64_t elements = 0;
    std::optional<Layout> layout;
    int64_t candidates = 0, cost = 0;
    std::optional<int64_t> next; ///< cost of the best other candidate
  };
  /// A layout and what it costs.
  struct Priced {
    Layout layout;
    int64_t cost = 0;
  };

  void collect(mlir::Operation *op);
  void addAccess(mlir::Operation *op, mlir::Value pointer, mlir::Value mask, mlir::Value tile);
  void addConversionPoint(mlir::Operation *op, mlir::Value from, mlir::Value to);
  void addTmaTransfer(mlir::Value tile, llvm::ArrayRef<int32_t> order);
  void describe(mlir::Operation *op);
  void recordTransposed(tt::DotOp dot, mlir::Value operand, int64_t along);
  bool isLoadedAlong(mlir::Value operand, int64_t dim) const;
  void agree(const Class &one);
  bool hasPreferences(const Class &one) const;
  bool hasLinkedClass(const Class &one) const;
  void chooseAll();
  void choose(Class &chosen);
  llvm::SmallVector<Layout> candidates(const Class &chosen) const;
  int64_t cost(const Class &chosen, const Layout &layout) const;
  int64_t transposeCost(const Turned &turned, const Layout &layout) const;
  Priced cheapestStoreOfDot(const MemoryAccess &store, const Layout &tileLayout) const;
  Priced cheapestAccess(const MemoryAccess &access, const Layout &tileLayout) const;
  bool holds(const Class &one, mlir::Value tile) const;
  /// Layout of `tile` if that is decided.
  std::optional<Layout> decided(mlir::Value tile) const;

  ttg::ConfigAttr config;
  int64_t warps;
  AxisAnalysis axes;
  std::optional<AxisAnalysis> provenAxes; // without promises, where there are some
  RematerializableTiles cheap;
  TileEquivalence members;
  std::vector<Class> classes; // by the numbers of `members`
  std::vector<MemoryAccess> accesses;
  llvm::DenseMap<mlir::Operation *, size_t> accessOf;
  llvm::DenseMap<mlir::Operation *, DotChoice> products;
  llvm::SmallVector<Border> borders;
};

/// The layout in which an operation leaves its result if its (first) operand has the layout `source`; null if it needs another one.
std::optional<Layout> resultLayout(mlir::Operation *op, const Layout &source);
/// The layout that expand_dims, broadcast, join, reshape and trans need for their source, for a result in `result`; null: any.
std::optional<Layout> sourceLayout(mlir::Operation *op, const Layout &result);

} // namespace tilewright::gpu
