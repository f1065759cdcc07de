// Which tiles a kernel may have whose second operand a partition dequantizes, in a warp group of its own (gpu/schedule/dequantize).
#pragma once

#include "gpu/cost_model/registers.h"

#include "llvm/Support/MathExtras.h"

namespace tilewright::gpu {

/// True for sums of 32 bits of [rows, columns], and `depth` elements along K in an iteration. The bounds are those of the machine:
/// - An instruction's sums of all columns fit in the registers with which a CTA of `warps` consumer warps, a producer and the partition
///   starts: 128 of a thread for 8 warps, of which the sums of N columns take N / 2, and other values 26. So N is 128 at most.
/// - All sums fit in what the partitions leave the consumers: 200 of a thread for 8 warps. So M * N is 32768 at most.
/// - Each consumer warp group multiplies two halves of its rows, one after the other, so it has 128 rows or more.
/// - The partition is one warp group, each of whose threads dequantizes a row of the second operand. It keeps up with the consumers if
///   these have no fewer rows each. So N is 128 at least.
/// With fewer sums than `minDequantizedSums`, a second CTA fits on the SM, and dequantizes while this one multiplies. Of the powers of two
/// 256x128 remains, with 8 warps.
inline bool suitsDequantizePartition(int64_t rows, int64_t columns, int64_t depth, int64_t warps, const GpuTarget &target) {
  int64_t groups = warps / warpsOfGroup, sums = registersOfElements(rows * columns, registerBits, groups * threadsOfGroup);
  PartitionRegisters registers = partitionRegisters(warps, target, {producerRegisters, loaderRegisters});
  bool fits = sumsFitAtStart(columns, registerBits, registers) && sums + otherRegistersNextToSums <= registers.consumer;
  bool hasHalves = rows % (2 * groups * wgmmaRows) == 0;
  bool isBalanced = columns >= threadsOfGroup && columns * groups <= rows;
  return fits && hasHalves && isBalanced && sums >= minDequantizedSums && depth >= minDequantizedDepth;
}

} // namespace tilewright::gpu
