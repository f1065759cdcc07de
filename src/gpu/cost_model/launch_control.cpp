// For 256x256 sums and 64 bytes of K, an iteration multiplies for 512 cycles:
//   4 stages   3 * 512 = 1536 cycles from the start of a copy to its use, more than its latency
//   3 stages   2 * 512 = 1024 cycles, less than that
#include "gpu/cost_model/launch_control.h"

#include "support/gpu_hardware.h"

#include "llvm/Support/MathExtras.h"

namespace tilewright::gpu {

int64_t tensorCoreCycles(llvm::ArrayRef<DotShape> dots) {
  int64_t cycles = 0;
  for (const DotShape &dot : dots) {
    auto blocks = static_cast<int64_t>(llvm::divideCeil(dot.rows, tensorMemoryLanes));
    cycles += blocks * dot.columns * (dot.depthBytes / mmaDepthBytes) / tcgen05ColumnsPerCycle;
  }
  return cycles;
}

bool coverCopies(int64_t stages, llvm::ArrayRef<DotShape> dots) {
  return (stages - 1) * tensorCoreCycles(dots) >= copyLatencyCycles;
}

bool programLoopPays(const PipelinedLoop &loop) {
  return loop.stagesInLoop >= loop.stages || coverCopies(loop.stagesInLoop, loop.dots);
}

} // namespace tilewright::gpu
