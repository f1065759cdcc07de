// Copies by cp.async. A thread waits for its own copies, and the barrier after that wait shows them to all threads. With S
// stages:
//   MMAs that are waited for:  wait for own copies    release stage i-1    copy i+S-1    multiply
//   MMAs in flight:            wait for own copies    issue MMA i    wait for MMA i-1    release stage i-1    copy i+S-1
#include "gpu/schedule/policies/policies.h"

using namespace mlir;

namespace tilewright::gpu {

bool scheduleCopyAsync(LoopSchedule &schedule, const PolicyContext &) {
  if (llvm::all_of(schedule.circularBuffers, [](const CircularBuffer &circular) { return circular.tma; })) return false;
  SmallVector<ttg::MmaAsyncOp> mmas = mmasInFlight(schedule);
  keepInFlightUntilNext(schedule, mmas);
  copyAndReleaseAfter(schedule, mmas.empty() ? nullptr : mmas.back().getOperation(), /*releaseDistance=*/1);
  return true;
}

} // namespace tilewright::gpu
