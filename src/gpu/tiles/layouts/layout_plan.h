// Chooses the layout of every tile of a kernel before anything changes.
//
// Each equivalence class of tiles (tile_equivalence.h) has one layout: no conversion occurs between its members. Rematerializable values
// are in no class; each user computes them in its own layout. A class chooses by cost among the layouts that suit its memory operations,
// its dots and the classes linked by reductions and reshapes. Large classes choose first, so a row's maximum follows the scores, not the
// other way round.
#pragma once

#include "gpu/tiles/layouts/layout_cost.h"
#include "gpu/tiles/mma/dot_choice.h"
#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/ttg.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::gpu {

/// A load, a store or an atomic on tiles.
struct MemoryAccess {
  mlir::Operation *op = nullptr;
  mlir::Value pointer, mask; ///< pointer null: a descriptor access
  mlir::Value tile;          ///< the loaded or stored tile; its class prefers layouts that make the access cheap
  AccessProperties properties;
  bool unaligned = false; ///< loads through aligned words, from any address (thread/unaligned_load.cpp)
  Layout layout;          ///< layout of the access; differs from the tile's if a conversion is cheaper than bad accesses
};

class LayoutPlan {
public:
  LayoutPlan(tt::FuncOp function, int64_t warps, const GpuTarget &target);

  bool isRematerializable(mlir::Value tile) const { return cheap.contains(tile); }
  /// Returns the layout of the tile's class. For a rematerializable value: the layout to use where no particular one is needed.
  Layout layoutOf(mlir::Value tile) const;
  /// Returns null for operations that do not access tiles in memory.
  const MemoryAccess *access(mlir::Operation *op) const;
  /// Returns how a dot of the kernel is computed.
  const DotChoice &dotChoice(tt::DotOp op) const { return dotChoices.find(op.getOperation())->second; }
  /// Returns how many adjacent elements along each dimension are proven equal; empty if no two are.
  Dims provenConstancy(mlir::Value tile) const;
  /// Returns the assumptions that the choices rest on.
  LaunchGuards guards() const;
  /// Returns for each layout how it was chosen, of the most expensive class with this layout.
  llvm::MapVector<ttg::LayoutAttr, std::string> choices() const;

private:
  /// A layout conversion point: the operation determines the layout of `to` from that of `from`.
  struct ConversionPoint {
    mlir::Operation *op;
    mlir::Value from, to;
    int64_t weight;
  };
  /// A tile that TMA copies, with its dimensions from the fastest on.
  struct Transfer {
    mlir::Value tile;
    Dims order;
  };
  /// A tile that TMA loads in the wrong dimension order for a dot. Threads read it along order[0] and write it along the other dimension.
  struct TransposedLoad {
    tt::DotOp dot;
    mlir::Value tile;
    Dims order;
  };
  struct Class {
    llvm::SmallVector<size_t> accesses, conversionPoints;
    llvm::SmallVector<mlir::Operation *> reductions, scans, dots;
    llvm::SmallVector<Transfer> transfers;
    llvm::SmallVector<TransposedLoad> transposedLoads;
    Dims shape;
    int64_t elements = 0;
    std::optional<Layout> layout;
    int64_t candidates = 0, cost = 0;
    std::optional<int64_t> next; ///< cost of the best other candidate
  };
  /// A layout and its cost.
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
  int64_t transposeCost(const TransposedLoad &load, const Layout &layout) const;
  Priced cheapestStoreOfDot(const MemoryAccess &store, const Layout &tileLayout) const;
  Priced cheapestAccess(const MemoryAccess &access, const Layout &tileLayout) const;
  bool holds(const Class &one, mlir::Value tile) const;
  /// Returns the layout of `tile` if it is decided.
  std::optional<Layout> decided(mlir::Value tile) const;

  mlir::MLIRContext *context;
  const GpuTarget &target;
  int64_t warps;
  AxisAnalysis axes;
  std::optional<AxisAnalysis> provenAxes; // without promises, where there are some
  RematerializableTiles cheap;
  TileEquivalence members;
  std::vector<Class> classes; // indexed by class number of `members`
  std::vector<MemoryAccess> accesses;
  llvm::DenseMap<mlir::Operation *, size_t> accessOf;
  llvm::DenseMap<mlir::Operation *, DotChoice> dotChoices;
  llvm::SmallVector<ConversionPoint> conversionPoints;
};

/// Returns the layout of an operation's result if its first operand has the layout `source`; null if the operation needs another operand
/// layout.
std::optional<Layout> resultLayout(mlir::Operation *op, const Layout &source);
/// Returns the source layout that expand_dims, broadcast, join, reshape and trans need for a result in `result`; null: any.
std::optional<Layout> sourceLayout(mlir::Operation *op, const Layout &result);

} // namespace tilewright::gpu
