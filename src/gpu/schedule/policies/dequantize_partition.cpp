// Loops in which a partition of its own dequantizes an MMA's operand (partition-dequantize). MMAs of an iteration are issued in two halves.
// The wait between them drains the MMAs of the previous iteration, after which its stages are released.
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/schedule/policies.h"

using namespace mlir;

namespace tilewright::gpu {

bool scheduleDequantizePartition(LoopSchedule &schedule, const PolicyContext &) {
  ttg::WgmmaWaitOp wait = drainingWaitIn(schedule.loop);
  if (!wait || schedule.circularBuffers.empty()) return false;
  drainLastMmaAt(schedule, wait);
  return true;
}

} // namespace tilewright::gpu
