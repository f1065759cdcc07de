// For an iteration with 128x256 sums of a CTA and 128 bytes of K, as fp16 with K = 64:
//   tensor cores   256 columns at 2 columns a cycle, 4 times 32 bytes of K         512 cycles
//   shared memory  TMA writes and the MMA reads 128 + 256 rows of 128 bytes        768 cycles; of a pair 128 + 128 rows: 512 cycles
#include "gpu/cost_model/cta_pairs.h"

#include "gpu/cost_model/hardware.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace tilewright::gpu {

static int64_t blocksOf(const DotShape &dot) {
  return static_cast<int64_t>(llvm::divideCeil(dot.rows, tensorMemoryLanes));
}

int64_t tensorCoreCycles(llvm::ArrayRef<DotShape> dots) {
  int64_t cycles = 0;
  for (const DotShape &dot : dots)
    cycles += blocksOf(dot) * dot.columns * (dot.depthBytes / mmaDepthBytes) / tcgen05ColumnsPerCycle;
  return cycles;
}

int64_t cyclesOfDots(llvm::ArrayRef<DotShape> dots, bool paired) {
  int64_t bytes = 0;
  for (const DotShape &dot : dots) {
    int64_t columns = paired ? dot.columns / 2 : dot.columns;
    bytes += (2 * dot.rows + (1 + blocksOf(dot)) * columns) * dot.depthBytes + 2 * dot.scaleBytes; // each block reads the second operand
  }
  return std::max(tensorCoreCycles(dots), bytes / operandBytesPerCycle);
}

bool ctaPairPays(llvm::ArrayRef<DotShape> dots) {
  return cyclesOfDots(dots, /*paired=*/true) < cyclesOfDots(dots, /*paired=*/false);
}

} // namespace tilewright::gpu
