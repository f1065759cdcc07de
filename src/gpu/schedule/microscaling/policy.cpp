// The policy of loops with a dequantize partition (partition_dequantize.cpp). If the consumers dequantize the other operand, MMAs of an
// iteration are issued in two halves. The wait between them drains the MMAs of the previous iteration, after which its stages are released.
// The copies, which the consumers have only read to registers, may be released earlier. If they do not dequantize, the loop is a GEMM.
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/microscaling/carried_maxima.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/schedule/policies/policies.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if the loop carries tiles next to the sums of its MMAs: the largest exponents of scales.
static bool carriesMaxima(scf::ForOp loop) {
  return llvm::any_of(llvm::seq(loop.getNumRegionIterArgs()), [&](unsigned i) { return ownUpdateOf(loop, i) != nullptr; });
}

/// True if an arrival of its own for the copies gains more than it costs. If the partition unpacks numbers and computes maxima, it does not
/// (docs/heuristics.md, Decisions without a number).
static bool releasesCopiesEarly(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  auto isRead = [](const CircularBuffer &circular) { return circular.mmasRead; };
  if (llvm::any_of(schedule.circularBuffers, isRead) || !lastConsumerRead(schedule)) return false;
  return loop.getBody()->getOps<ttg::UnpackE2m1Op>().empty() || !carriesMaxima(loop);
}

/// True if the partition makes all loads of tiles to registers. If the consumers load scales as well, 16 bytes at a time for the partition
/// bring no gain (docs/heuristics.md, `widenedRowBytes`).
static bool partitionLoadsAlone(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  llvm::SetVector<Operation *> ofPartition = operandPartitionOf(schedule);
  return llvm::all_of(loop.getBody()->getOps<tt::LoadOp>(),
                      [&](tt::LoadOp load) { return !isa<RankedTensorType>(load.getType()) || ofPartition.contains(load); });
}

/// True if the consumers load scales of several iterations at a time. Their fence then stands right after their last read, and these loads
/// after it. If a word of scales has those of two iterations only, the fence may stand late.
static bool loadsWideScales(const LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  llvm::SetVector<Operation *> ofPartition = operandPartitionOf(schedule);
  return llvm::any_of(loop.getBody()->getOps<tt::LoadOp>(), [&](tt::LoadOp load) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    return tile && !ofPartition.contains(load) && tile.getShape().back() * tile.getElementTypeBitWidth() >= minScaleBytesAtTop * 8;
  });
}

bool scheduleDequantizePartition(LoopSchedule &schedule, const PolicyContext &context) {
  if (!schedule.operandPlan || schedule.circularBuffers.empty()) return false;
  ttg::MmaAsyncWaitOp wait = drainingWaitIn(schedule.loop);
  if (!wait && !scheduleGemm(schedule, context) && !scheduleProducer(schedule, context)) return false;
  schedule.operandPlan->loadsWholeRows = partitionLoadsAlone(schedule);
  schedule.operandPlan->fencesEarly = loadsWideScales(schedule);
  if (!wait) return true;
  drainLastMmaAt(schedule, wait);
  if (!releasesCopiesEarly(schedule)) return true;
  schedule.operandPlan->releaseAfter = wait;
  for (CircularBuffer &circular : schedule.circularBuffers)
    circular.releaseAfter = lastConsumerRead(schedule);
  return true;
}

} // namespace tilewright::gpu
