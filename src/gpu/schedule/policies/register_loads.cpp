// Loads to registers that run an iteration ahead: those of a loop all, or none.
#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/policies/policies.h"
#include "gpu/tiles/layouts/layout_cost.h"
#include "gpu/ttg/element_sizes.h"

using namespace mlir;

namespace tilewright::gpu {

/// Registers of a thread for what a load brings, which stays in words if it comes in words.
static int64_t heldBy(tt::LoadOp load) {
  auto width = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
  auto tile = cast<RankedTensorType>(load.getType());
  bool inWords = width && width.getInt() * ttg::elementBits(tile) % 32 == 0;
  int64_t registers = inWords ? registersOf(tile) : ttg::layoutOf(tile).registersPerThread();
  return registers / sharedAccesses(ttg::layoutOf(tile), repeatsOf(load));
}

void addRegisterLoads(LoopSchedule &schedule, int64_t registers) {
  auto isCopied = [copies = schedule.copies()](Operation *load) {
    return llvm::any_of(copies, [&](const Copy &copy) { return copy.load == load; });
  };
  SmallVector<tt::LoadOp> loads;
  int64_t held = 0;
  for (auto load : schedule.loop.getBody()->getOps<tt::LoadOp>())
    if (!isCopied(load) && checkRegisterPrefetch(load, schedule.loop)) {
      loads.push_back(load);
      held += heldBy(load);
    }
  if (loads.empty() || 2 * held > registers) return;
  schedule.registerLoads = std::move(loads);
  schedule.registersForWords = registers / 2 - held;
}

} // namespace tilewright::gpu
