#include "gpu/schedule/decisions/shared_budget.h"

#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {

SmallVector<DeeperBuffer> computedBuffers(const LoopSchedule &schedule, int64_t stages, scf::ForOp around) {
  return llvm::map_to_vector(schedule.computed,
                             [&](ttg::StoreSharedOp store) { return DeeperBuffer{allocOf(store.getBuffer()), stages, around}; });
}

SmallVector<DeeperBuffer> buffersOf(const LoopSchedule &schedule, int64_t stages, scf::ForOp around, bool copies) {
  SmallVector<DeeperBuffer> buffers = schedule.operandPartition ? computedBuffers(schedule, stages, around)
                                                                : computedBuffers(schedule, schedule.computedStages, schedule.loop);
  if (!copies) return buffers;
  for (const Copy &copy : schedule.copies())
    buffers.push_back({copy.alloc, stages, around, copy.lifetime});
  return buffers;
}

int64_t bytesOfStage(const LoopSchedule &schedule) {
  int64_t bytes = 0;
  for (const Copy &copy : schedule.copies())
    bytes += stageBytes(copy.alloc);
  return bytes;
}

int64_t barriersOf(const LoopSchedule &schedule) {
  llvm::SmallPtrSet<Operation *, 2> releases;
  int64_t barriers = schedule.operandPartition + (schedule.operandPlan.releaseAfter != nullptr);
  for (const CircularBuffer &circular : schedule.circularBuffers) {
    barriers += circular.tma;
    if (schedule.warpSpecialized) releases.insert(circular.releaseAfter);
  }
  return mbarrierBytes * schedule.stages * (barriers + static_cast<int64_t>(releases.size()));
}

int64_t SharedBudget::bytesWith(ArrayRef<DeeperBuffer> more, int64_t barriers) const {
  return planner.plan(more).bytes + reservedBarriers + barriers;
}

bool SharedBudget::holds(int64_t bytes) const {
  return bytes + later <= target.sharedBytes;
}

void SharedBudget::reserve(ArrayRef<DeeperBuffer> buffers, int64_t barriers) {
  planner.reserve(buffers);
  reservedBarriers += barriers;
}

} // namespace tilewright::gpu
