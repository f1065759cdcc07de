// For an iteration with 128x256 sums of a CTA and 128 bytes of K, as fp16 with K = 64:
//   tensor cores   256 columns at 2 columns a cycle, 4 times 32 bytes of K         512 cycles
//   shared memory  TMA writes and the MMA reads 128 + 256 rows of 128 bytes        768 cycles; of a pair 128 + 128 rows: 512 cycles
#include "gpu/cost_model/cta_pairs.h"

#include "gpu/cost_model/hardware.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace tilewright::gpu {

int64_t cyclesOfDots(llvm::ArrayRef<DotShape> dots, bool paired) {
  int64_t multiplying = 0, bytes = 0;
  for (const DotShape &dot : dots) {
    auto blocks = static_cast<int64_t>(llvm::divideCeil(dot.rows, tensorMemoryLanes)); // each reads the second operand
    int64_t columns = paired ? dot.columns / 2 : dot.columns;
    multiplying += blocks * dot.columns * (dot.depthBytes / mmaDepthBytes) / tcgen05ColumnsPerCycle;
    bytes += (2 * dot.rows + (1 + blocks) * columns) * dot.depthBytes + 2 * dot.scaleBytes;
  }
  return std::max(multiplying, bytes / operandBytesPerCycle);
}

bool ctaPairPays(llvm::ArrayRef<DotShape> dots) {
  return cyclesOfDots(dots, /*paired=*/true) < cyclesOfDots(dots, /*paired=*/false);
}

} // namespace tilewright::gpu
