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
  int64_t stages = affordableStages(schedule, schedule.stages, tiles, earlier.addedByStores(tiles), kernel, earlier.budget);
  if (stages < std::min(schedule.stages, minCrossTileStages)) return {};
  return {tiles, stages, /*storesInFlight=*/true};
}

CrossTile keepStagesAcrossTiles(const LoopSchedule &schedule, int64_t stages, const KernelLoops &kernel, const EarlierLoops &earlier) {
  scf::ForOp tiles = topLevelLoopAround(schedule.loop);
  if (!tiles) return {};
  SmallVector<DeeperBuffer> shared; // by a loop after this one that continues with the circular buffers
  for (auto next : tiles.getBody()->getOps<scf::ForOp>()) {
    auto found = kernel.found.find(next);
    if (found == kernel.found.end() || !schedule.loop->isBeforeInBlock(next)) continue;
    for (const Copy &copy : found->second.copies())
      shared.push_back({copy.alloc, 0, next});
  }
  CrossTile across{tiles, stages};
  across.storesPerWarpGroup = !earlier.storesInFlight.contains(tiles) && perWarpGroupGuards(tiles);
  across.storesInFlight = across.storesPerWarpGroup || schedule.operandPartition;
  if (across.storesInFlight) llvm::append_range(shared, earlier.addedByStores(tiles));
  if (!schedule.continues) across.stages = affordableStages(schedule, stages, tiles, shared, kernel, earlier.budget);
  return across.stages >= std::min(stages, minCrossTileStages) ? across : CrossTile();
}

/// True if both copies fill buffers of the same kind.
static bool fillAlike(const Copy &copy, const Copy &other) {
  ttg::AllocOp x = copy.alloc, y = other.alloc;
  return x.getType().getElementType() == y.getType().getElementType() && x.getType().getLayout() == y.getType().getLayout() &&
         x.getCopiedExtent() == y.getCopiedExtent();
}

std::optional<SmallVector<DeeperBuffer>> continuedBuffers(const LoopSchedule &schedule, const EarlierLoops &earlier) {
  if (!earlier.left || earlier.left->loop->getBlock() != schedule.loop->getBlock() || schedule.requested < earlier.left->stages) return {};
  auto areAlike = [](const CircularBuffer &x, const CircularBuffer &y) { return llvm::equal(x.copies, y.copies, fillAlike); };
  if (!llvm::equal(schedule.circularBuffers, earlier.left->circularBuffers, areAlike)) return {};
  SmallVector<DeeperBuffer> used = buffersHeldByStores(schedule.loop);
  for (auto [own, before] : llvm::zip(schedule.copies(), earlier.left->copies())) {
    used.push_back({own.alloc, 0, schedule.loop});
    used.push_back({before.alloc, earlier.left->stages, schedule.loop});
  }
  return earlier.budget.fits(used) ? std::optional(used) : std::nullopt;
}

} // namespace tilewright::gpu
