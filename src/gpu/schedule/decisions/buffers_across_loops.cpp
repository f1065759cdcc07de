// Circular buffers that outlast one run of their loop: in the next iteration of a persistent loop, or in the next loop of the kernel. And
// TMA stores, which then need buffers of their own.
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/decisions/schedule_loop.h"
#include "gpu/schedule/loops/persistent_loop.h"

using namespace mlir;

namespace tilewright::gpu {

SmallVector<DeeperBuffer> EarlierLoops::addedByStores(scf::ForOp loop) const {
  return storesInFlight.contains(loop) ? SmallVector<DeeperBuffer>() : buffersHeldByStores(loop);
}

void EarlierLoops::keepStoresInFlight(scf::ForOp loop) {
  SmallVector<DeeperBuffer> held = addedByStores(loop);
  if (held.empty()) return;
  budget.reserve(held);
  storesInFlight.insert(loop);
}

void EarlierLoops::add(const LoopDecision &decision) {
  const LoopSchedule &schedule = decision.schedule;
  const CrossTile &crossTile = decision.crossTile;
  if (crossTile.storesInFlight) keepStoresInFlight(crossTile.tiles);
  if (crossTile.storesPerWarpGroup) storesPerWarpGroup.insert(crossTile.tiles);
  budget.reserve(decision.continued);
  if (schedule.stages > 1) keepStoresInFlight(schedule.loop);
  budget.reserve(buffersOf(schedule, schedule.stages, crossTile.tiles ? crossTile.tiles : schedule.loop, /*copies=*/!schedule.continues),
                 schedule.continues ? 0 : barriersOf(schedule));
  if (!decision.copies) return; // a later loop may still continue with the buffers of an earlier one
  bool isAtTop = isa<tt::FuncOp>(scf::ForOp(schedule.loop)->getParentOp());
  bool leaves = schedule.warpSpecialized && schedule.stages > 1 && (isAtTop || schedule.crossTile);
  left = leaves ? std::optional(schedule) : std::nullopt;
}

bool mayRunDecoupled(const LoopSchedule &schedule, const KernelLoops &kernel, const EarlierLoops &earlier) {
  scf::ForOp tiles = persistentLoop(schedule);
  return tiles && perWarpGroupGuards(tiles) && prefetchAcrossTiles(schedule, kernel, earlier).tiles;
}

CrossTile prefetchAcrossTiles(const LoopSchedule &schedule, const KernelLoops &kernel, const EarlierLoops &earlier) {
  scf::ForOp tiles = persistentLoop(schedule);
  if (!tiles) return {};
  std::optional<int64_t> stages = affordableStages(schedule, schedule.stages, tiles, earlier.addedByStores(tiles), kernel, earlier.budget);
  if (stages < std::min(schedule.stages, minCrossTileStages)) return {};
  return {tiles, *stages, /*storesInFlight=*/true};
}

/// True if both copies fill buffers of the same kind.
static bool fillAlike(const Copy &copy, const Copy &other) {
  ttg::AllocOp x = copy.alloc, y = other.alloc;
  return x.getType().getElementType() == y.getType().getElementType() && x.getType().getLayout() == y.getType().getLayout() &&
         x.getCopiedExtent() == y.getCopiedExtent();
}

/// True if the loop may continue with the circular buffers of one before it: it asks for as many stages, and fills buffers of the same
/// kinds.
static bool mayContinue(const LoopLoads &loads, const LoopSchedule &left) {
  auto areAlike = [](const CircularBuffer &x, const CircularBuffer &y) { return llvm::equal(x.copies, y.copies, fillAlike); };
  return loads.requested >= left.stages && llvm::equal(loads.circularBuffers, left.circularBuffers, areAlike);
}

/// What changes in shared memory if loops of the persistent loop that come later continue with this one's circular buffers.
static SmallVector<DeeperBuffer> buffersOfLaterLoops(const LoopSchedule &schedule, int64_t stages, scf::ForOp tiles,
                                                     const KernelLoops &kernel) {
  SmallVector<DeeperBuffer> buffers;
  LoopSchedule left = kernel.withPolicy(schedule, stages);
  for (auto next : tiles.getBody()->getOps<scf::ForOp>()) {
    const LoopLoads &loads = kernel.found.find(next)->second;
    if (!schedule.loop->isBeforeInBlock(next) || loads.circularBuffers.empty()) continue;
    if (!kernel.hasProducer(loads) || !mayContinue(loads, left)) break; // it has buffers of its own, with which later ones may continue
    for (const Copy &copy : loads.copies())
      buffers.push_back(DeeperBuffer::withoutBytes(copy.alloc));
    llvm::append_range(buffers, buffersHeldByStores(next));
  }
  return buffers;
}

CrossTile keepStagesAcrossTiles(const LoopSchedule &schedule, int64_t stages, const KernelLoops &kernel, const EarlierLoops &earlier) {
  scf::ForOp tiles = topLevelLoopAround(schedule.loop);
  if (!tiles) return {};
  CrossTile across{tiles, stages};
  across.storesPerWarpGroup = !earlier.storesInFlight.contains(tiles) && perWarpGroupGuards(tiles);
  across.storesInFlight = across.storesPerWarpGroup || schedule.operandPartition;
  if (schedule.continues) return across;
  SmallVector<DeeperBuffer> others = buffersOfLaterLoops(schedule, stages, tiles, kernel);
  if (across.storesInFlight) llvm::append_range(others, earlier.addedByStores(tiles));
  std::optional<int64_t> affordable = affordableStages(schedule, stages, tiles, others, kernel, earlier.budget);
  if (affordable < std::min(stages, minCrossTileStages)) return {};
  across.stages = *affordable;
  return across;
}

std::optional<SmallVector<DeeperBuffer>> continuedBuffers(const LoopSchedule &schedule, const EarlierLoops &earlier) {
  if (!earlier.left || earlier.left->loop->getBlock() != schedule.loop->getBlock() || !mayContinue(schedule, *earlier.left)) return {};
  SmallVector<DeeperBuffer> used = buffersHeldByStores(schedule.loop);
  for (auto [own, before] : llvm::zip(schedule.copies(), earlier.left->copies())) {
    used.push_back(DeeperBuffer::withoutBytes(own.alloc));
    used.push_back({before.alloc, earlier.left->stages, schedule.loop});
  }
  return earlier.budget.fits(used) ? std::optional(used) : std::nullopt;
}

} // namespace tilewright::gpu
