// Conversions between layouts and reductions across warps write to shared memory and read it back. What they need is known from the types.
#include "gpu/scratch.h"

#include "gpu/ttg.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::gpu {

static int64_t bytesOf(Type element) {
  return isa<tt::PointerType>(element) ? 8 : std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

int64_t scratchBytes(Operation *op) {
  if (auto convert = dyn_cast<ttg::ConvertLayoutOp>(op)) {
    auto type = cast<RankedTensorType>(convert.getType());
    std::vector<std::optional<int64_t>> same = sameThreadRegisters(ttg::layoutOf(type), ttg::layoutOf(convert.getSrc().getType()));
    return llvm::is_contained(same, std::nullopt) ? type.getNumElements() * bytesOf(type.getElementType()) : 0;
  }
  if (auto reduce = dyn_cast<tt::ReduceOp>(op)) {
    std::optional<ReductionPlan> plan = reductionPlan(ttg::layoutOf(reduce.getSrcs().front().getType()), reduce.getAxis());
    if (!plan || !plan->warpMask) return 0;
    int64_t total = 0, parts = int64_t(1) << llvm::popcount(plan->warpMask);
    for (Value tile : reduce.getSrcs())
      total = (total + 7) / 8 * 8 + bytesOf(getElementTypeOrSelf(tile.getType())) * elementCount(plan->result.shape) * parts;
    return total;
  }
  return 0;
}

} // namespace tilewright::gpu
