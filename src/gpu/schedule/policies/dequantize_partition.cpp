// The policy of loops with a dequantize partition (partition_dequantize.cpp). If the consumers dequantize the other operand, MMAs of an
// iteration are issued in two halves. The wait between them drains the MMAs of the previous iteration, after which its stages are released.
// The copies, which the consumers have only read to registers, may be released earlier. If they do not dequantize, the loop is a GEMM.
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/schedule/policies/policies.h"

using namespace mlir;

namespace tilewright::gpu {

/// Returns the consumers' loads of tiles to registers.
static SmallVector<tt::LoadOp> consumerLoads(const LoopSchedule &schedule) {
  llvm::SetVector<Operation *> ofPartition = schedule.operandPartitionOps();
  return llvm::filter_to_vector(schedule.body()->getOps<tt::LoadOp>(),
                                [&](tt::LoadOp load) { return isa<RankedTensorType>(load.getType()) && !ofPartition.contains(load); });
}

/// True if a word that a thread loads lasts for two iterations at most. These loads are often in flight, and a fence waits for those that
/// were issued before it: so it stands early, right after the last read, and the loads after it.
static bool isLoadedOften(tt::LoadOp load, scf::ForOp loop) {
  return 2 * bytesOfIteration(load, loop).value_or(widenedLoadBytes) >= widenedLoadBytes;
}

bool scheduleDequantizePartition(LoopSchedule &schedule, const PolicyContext &context) {
  if (!schedule.operandPartition || schedule.circularBuffers.empty()) return false;
  ttg::MmaAsyncWaitOp wait = drainingWaitIn(schedule.loop);
  if (!wait && !scheduleGemm(schedule, context) && !scheduleProducer(schedule, context)) return false;
  // If the consumers load scales as well, 16 bytes at a time for the partition bring no gain (docs/heuristics.md, `widenedRowBytes`).
  SmallVector<tt::LoadOp> loads = consumerLoads(schedule);
  schedule.operandPlan.loadsWholeRows = loads.empty();
  schedule.operandPlan.fencesEarly = llvm::any_of(loads, [&](tt::LoadOp load) { return isLoadedOften(load, schedule.loop); });
  if (!wait) return true;
  drainLastMmaAt(schedule, wait);
  Operation *lastRead = lastConsumerRead(schedule);
  if (!lastRead || !schedule.loop->hasAttr(ttg::releasesCopiesName)) return true;
  schedule.operandPlan.releaseAfter = wait;
  for (CircularBuffer &circular : schedule.circularBuffers)
    circular.releaseAfter = lastRead;
  return true;
}

} // namespace tilewright::gpu
