// For 256x256 sums and 64 bytes of K, an iteration multiplies for 512 cycles:
//   4 stages   3 * 512 = 1536 cycles from the start of a copy to its use, more than its latency
//   3 stages   2 * 512 = 1024 cycles, less than that
#include "gpu/cost_model/launch_control.h"

#include "gpu/cost_model/thresholds.h"

namespace tilewright::gpu {

bool programLoopPays(const PipelinedLoop &loop) {
  if (loop.stagesInLoop >= loop.stages) return true;
  return (loop.stagesInLoop - 1) * tensorCoreCycles(loop.dots) >= copyLatencyCycles;
}

} // namespace tilewright::gpu
