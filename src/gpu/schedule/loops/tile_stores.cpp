// Results that leave a loop through shared memory and TMA.
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "gpu/ttg/written_memory.h"
#include "ir/address/divisibility.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// Returns the store to shared memory that writes what a TMA store takes from its buffer: the last one before it in its block. Null if
/// there is none.
static ttg::StoreSharedOp writeOf(ttg::TmaStoreOp store) {
  for (Operation *op = store->getPrevNode(); op; op = op->getPrevNode())
    if (auto write = dyn_cast<ttg::StoreSharedOp>(op); write && write.getBuffer() == store.getBuffer()) return write;
  return {};
}

SmallVector<TileStore> storesOf(scf::ForOp loop) {
  SmallVector<TileStore> stores;
  for (auto store : loop.getBody()->getOps<ttg::TmaStoreOp>()) {
    auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
    auto wait = dyn_cast<ttg::TmaStoreWaitOp>(store->getNextNode());
    if (!alloc || alloc->getBlock() != loop.getBody() || accessesOf(alloc).size() != 2 || !wait || wait.getPending() != 0) continue;
    if (ttg::StoreSharedOp write = writeOf(store)) stores.push_back({alloc, write, store, wait});
  }
  return stores;
}

SmallVector<DeeperBuffer> buffersHeldByStores(scf::ForOp loop) {
  SmallVector<DeeperBuffer> buffers;
  SmallVector<ttg::BufferType> types;
  for (const TileStore &store : storesOf(loop)) {
    ttg::AllocOp alloc = store.alloc;
    bool shares = llvm::is_contained(types, alloc.getType());
    if (!shares) types.push_back(alloc.getType());
    buffers.push_back(shares ? DeeperBuffer::withoutBytes(alloc) : DeeperBuffer{alloc, 1, loop});
  }
  return buffers;
}

/// True if each warp group's registers hold one half of the rows.
static bool holdsRowsOfOneWarpGroup(RankedTensorType tile) {
  Layout layout = ttg::layoutOf(tile);
  uint32_t half = static_cast<uint32_t>(tile.getNumElements() / storingGroups);
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
  return box && box->order == Dims{1, 0} && box->spanBytes != 0 && box->box[1] / storingGroups * box->spanBytes % swizzleAlignment == 0;
}

/// Returns the launch guards under which rows of both stores are the same rows, or never overlap. Null if they may overlap.
static std::optional<LaunchGuards> sameRowsGuards(ttg::TmaStoreOp store, ttg::TmaStoreOp other) {
  ttg::TensorMapAttr x = ttg::tensorMapOf(store.getMap()), y = ttg::tensorMapOf(other.getMap());
  if (x.getBase() != y.getBase()) {
    std::optional<LaunchGuard> guard = ttg::noAliasGuard(*ttg::writtenPointer(store), *ttg::writtenPointer(other));
    return guard ? std::optional(LaunchGuards{*guard}) : std::nullopt;
  }
  bool isSame = x.getOffset() == y.getOffset() && x.getDims() == y.getDims() && x.getStrides() == y.getStrides();
  return isSame ? std::optional(LaunchGuards()) : std::nullopt;
}

/// True if nothing else in the kernel writes to memory, and the loop's end is the kernel's.
static bool storesAlone(scf::ForOp tiles, size_t stores) {
  for (Operation *op = tiles->getNextNode(); !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode())
    if (!isMemoryEffectFree(op)) return false;
  size_t writes = 0;
  tiles->getParentOp()->walk([&](Operation *op) { writes += ttg::writtenPointer(op).has_value(); });
  return writes == stores;
}

std::optional<LaunchGuards> perWarpGroupGuards(scf::ForOp tiles) {
  SmallVector<TileStore> stores = storesOf(tiles);
  if (stores.empty() || !storesAlone(tiles, stores.size())) return {};
  LaunchGuards guards;
  for (const auto &[number, each] : llvm::enumerate(stores)) {
    ttg::BufferType type = each.alloc.getType();
    ValueRange coordinates = each.store.getCoordinates();
    if (type.getShape().size() != 2 || !hasBoxes(type)) return {}; // further coordinates say which matrix the rows are of
    if (!holdsRowsOfOneWarpGroup(cast<RankedTensorType>(each.write.getSrc().getType())) ||
        address::divisorOf(coordinates[1]) % type.getShape()[0] != 0)
      return {};
    for (Operation *user : each.store.getMap().getUsers())
      if (auto store = dyn_cast<ttg::TmaStoreOp>(user); !store || store.getBuffer().getType() != type) return {};
    for (TileStore other : ArrayRef(stores).take_front(number)) {
      std::optional<LaunchGuards> rows = sameRowsGuards(other.store, each.store);
      if (!rows) return {};
      llvm::append_range(guards, *rows);
    }
  }
  return guards;
}

} // namespace tilewright::gpu
