// The policy of loops with a dequantize partition (partition_dequantize.cpp). If the consumers dequantize the other operand, MMAs of an
// iteration are issued in two halves. The wait between them drains the MMAs of the previous iteration, after which its stages are released.
// If they do not, the loop is a GEMM.
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/operand_partition.h"
#include "gpu/schedule/policies.h"

using namespace mlir;

namespace tilewright::gpu {

bool scheduleDequantizePartition(LoopSchedule &schedule, const PolicyContext &context) {
  if (!schedule.operandPartition || schedule.circularBuffers.empty()) return false;
  ttg::WgmmaWaitOp wait = drainingWaitIn(schedule.loop);
  if (!wait) return scheduleGemm(schedule, context) || scheduleProducer(schedule, context);
  drainLastMmaAt(schedule, wait);
  return true;
}

/// A fence waits for loads that were issued before it, so they stand after it. The consumers' fence stands before their first MMA, where
/// they have computed what they read, and the loads after that. If a word of scales has those of two iterations only, both stand at the
/// top.
void prefetchScales(LoopSchedule &schedule) {
  Block *body = schedule.loop.getBody();
  llvm::SetVector<Operation *> dequantizing = operandPartitionOf(schedule);
  Operation *lastRead = nullptr, *first = *body->getOps<ttg::WgmmaOp>().begin(), *fence = nullptr;
  Operation *reader = firstReaderOfComputed(schedule);
  for (auto load : body->getOps<ttg::LoadSharedOp>())
    if (!dequantizing.contains(load) && load->isBeforeInBlock(reader)) lastRead = load;
  bool early = llvm::any_of(body->getOps<tt::LoadOp>(), [&](tt::LoadOp load) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    return tile && !dequantizing.contains(load) && tile.getShape().back() * tile.getElementTypeBitWidth() >= minScaleBytesAtTop * 8;
  });
  if (lastRead) {
    OpBuilder b(body, early ? std::next(lastRead->getIterator()) : reader->getIterator());
    ttg::FenceAsyncOp::create(b, lastRead->getLoc());
    if (early) fence = ptx::WarpBarrierOp::create(b, lastRead->getLoc()); // which no load passes; ptxas takes one past a fence
  }
  prefetchRegisterLoads(schedule, [&](tt::LoadOp load) { return fence && !dequantizing.contains(load) ? fence : first; });
}

} // namespace tilewright::gpu
