// The policy of loops with a dequantize partition (partition_dequantize.cpp). If the consumers dequantize the other operand, MMAs of an
// iteration are issued in two halves. The wait between them drains the MMAs of the previous iteration, after which its stages are released.
// If they do not dequantize, the loop is a GEMM.
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/operand_partition.h"
#include "gpu/schedule/policies.h"

using namespace mlir;

namespace tilewright::gpu {

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
  if (!schedule.operandPartition || schedule.circularBuffers.empty()) return false;
  schedule.loadsWholeRows = partitionLoadsAlone(schedule);
  schedule.fencesEarly = loadsWideScales(schedule);
  ttg::MmaAsyncWaitOp wait = drainingWaitIn(schedule.loop);
  if (!wait) return scheduleGemm(schedule, context) || scheduleProducer(schedule, context);
  drainLastMmaAt(schedule, wait);
  return true;
}

} // namespace tilewright::gpu
