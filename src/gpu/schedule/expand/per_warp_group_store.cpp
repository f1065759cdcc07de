// If all warps must pass a barrier to store a tile, nothing multiplies between two tiles of a matmul. Where
// copies have a warp of their own, each of two warpgroups stores the rows that it holds: it meets
// only itself, so one stores while the other still multiplies, or continues with the next tile.
//   before: tma_store_wait 0    store_shared %tile, %p    fence_async    tma_store %p
//   after:  tma_store_wait 0    warpgroup barrier    store_shared %tile, %p    fence_async    warpgroup barrier    tma_store half of %p
// A program's stores take effect in order. Those of one warpgroup do, because it waits for its own. Those of two
// warpgroups have no order, so they must not touch the same memory: a tile's rows start at a multiple of their
// number, so that each row belongs to the same warpgroup in all tiles, and what goes through other maps is disjoint.
#include "gpu/schedule/expand/per_warp_group_store.h"
#include "gpu/cost_model/hardware.h"
#include "gpu/machine/ptx.h"
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/named_barriers.h"
#include "gpu/schedule/program_loop.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/address/divisibility.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t groups = 2;

/// True if each warpgroup's registers hold one half of the rows.
static bool holdsRowsOfOneWarpGroup(RankedTensorType tile) {
  Layout layout = ttg::layoutOf(tile);
  uint32_t half = static_cast<uint32_t>(tile.getNumElements() / groups);
  for (Axis axis : {Axis::reg, Axis::lane, Axis::warp})
    for (auto [bit, basis] : llvm::enumerate(layout.basesOf(axis))) {
      bool isGroup = axis == Axis::warp && bit == warpGroupBit;
      if (isGroup ? basis != half : (basis & half) != 0) return false;
    }
  return layout.basesOf(Axis::warp).size() == warpGroupBit + 1;
}

/// True if the halves of the buffer are boxes of TMA, with rows one after another.
static bool hasBoxes(ttg::BufferType type) {
  std::optional<TmaBox> box = tmaBox(type.getLayout().layout());
  return box && box->order == Dims{1, 0} && box->spanBytes != 0 && box->box[1] / groups * box->spanBytes % swizzleAlignment == 0;
}

/// Returns the launch guards under which rows through both maps are the same rows, or never overlap. Null if they may overlap.
static std::optional<LaunchGuards> sameRowsGuards(Value map, Value other) {
  ttg::TensorMapAttr x = ttg::tensorMapOf(map), y = ttg::tensorMapOf(other);
  if (x.getBase() != y.getBase()) {
    Block *kernel = cast<BlockArgument>(map).getOwner();
    auto baseOf = [&](ttg::TensorMapAttr recipe) { return kernel->getArgument(static_cast<unsigned>(recipe.getBase())); };
    std::optional<LaunchGuard> guard = ttg::noAliasGuard(baseOf(x), baseOf(y));
    return guard ? std::optional(LaunchGuards{*guard}) : std::nullopt;
  }
  bool isSame = x.getOffset() == y.getOffset() && x.getDims() == y.getDims() && x.getStrides() == y.getStrides();
  return isSame ? std::optional(LaunchGuards()) : std::nullopt;
}

/// True if nothing else in the kernel writes to memory, and the loop's end is the kernel's.
static bool storesAlone(scf::ForOp tiles, size_t stores) {
  for (Operation *op = tiles->getNextNode(); !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode())
    if (!isMemoryEffectFree(op)) return false;
  size_t found = 0;
  bool others = false;
  tiles->getParentOp()->walk([&](Operation *op) {
    found += isa<ttg::TmaStoreOp>(op);
    others |= isa<tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op);
  });
  return found == stores && !others;
}

bool canStorePerWarpGroup(scf::ForOp tiles) {
  SmallVector<TileStore> stores = storesOf(tiles);
  if (stores.empty() || !storesAlone(tiles, stores.size())) return false;
  for (TileStore &each : stores) {
    ttg::BufferType type = each.alloc.getType();
    ValueRange coordinates = each.store.getCoordinates();
    if (type.getShape().size() != 2 || !hasBoxes(type)) return false; // further coordinates say which matrix the rows are of
    if (!holdsRowsOfOneWarpGroup(cast<RankedTensorType>(each.write.getSrc().getType())) ||
        address::divisorOf(coordinates[1]) % type.getShape()[0] != 0)
      return false;
    for (Operation *user : each.store.getMap().getUsers())
      if (auto store = dyn_cast<ttg::TmaStoreOp>(user); !store || store.getBuffer().getType() != type) return false;
    if (!sameRowsGuards(stores.front().store.getMap(), each.store.getMap())) return false;
  }
  return true;
}

/// All threads of a warpgroup synchronize. `warp`: null if the thread's id may be read for it.
static void barrierInGroup(OpBuilder &b, Location loc, Value warp) {
  ptx::BarrierOp::create(b, loc, warp, groupBarrier, static_cast<uint32_t>(threadsOfGroup), /*perWarpGroup=*/true);
}

/// The map's box becomes the box of one warpgroup.
static void halveBox(Value map, ttg::BufferType type) {
  auto argument = cast<BlockArgument>(map);
  ttg::TensorMapAttr recipe = ttg::tensorMapOf(map);
  SmallVector<int64_t> box(recipe.getBox().asArrayRef());
  box[1] = type.getShape()[0] / groups;
  Builder b(map.getContext());
  auto own = ttg::TensorMapAttr::get(b.getContext(), recipe.getBase(), recipe.getOffset(), recipe.getDims(), recipe.getStrides(),
                                     b.getDenseI64ArrayAttr(box), recipe.getElement(), recipe.getSwizzle());
  cast<tt::FuncOp>(argument.getOwner()->getParentOp()).setArgAttr(argument.getArgNumber(), ttg::tensorMapName, own);
}

void storePerWarpGroup(scf::ForOp tiles) {
  OpBuilder b(tiles.getContext());
  auto function = tiles->getParentOfType<tt::FuncOp>();
  SmallVector<ttg::TmaStoreOp> stores(tiles.getBody()->getOps<ttg::TmaStoreOp>());
  for (ttg::TmaStoreOp store : stores)
    ttg::relyOn(function, *sameRowsGuards(stores.front().getMap(), store.getMap()));
  for (ttg::TmaStoreOp store : stores) {
    for (Operation *next : {writeOf(store).getOperation(), store.getOperation()}) {
      b.setInsertionPoint(next);
      // ptxas does not know that all threads go through a program loop together. If one of its barriers depends on the thread, ptxas takes
      // no value of the kernel for uniform: MMAs and TMA get their operands from one thread after another, and registers spill.
      Value warp = clcProgramOf(tiles) ? ptx::WarpIdOp::create(b, next->getLoc(), b.getI32Type()) : Value();
      barrierInGroup(b, next->getLoc(), warp);
    }
    halveBox(store.getMap(), cast<ttg::BufferType>(store.getBuffer().getType()));
    store.setPerWarpGroup(true);
  }
}

} // namespace tilewright::gpu
