// Whether two CTAs gain if they multiply together: shared memory of an SM is filled with, and read for, half of the second operand.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace tilewright::gpu {

/// The MMA of one dot in one CTA: [rows, depth] * [depth, columns].
struct DotShape {
  int64_t rows = 0, columns = 0;
  int64_t depthBytes = 0; ///< of a row of the first operand
  int64_t scaleBytes = 0; ///< of block scales, of which each CTA has those of its rows, and of all columns
};

/// Returns the cycles in which the tensor cores of an SM multiply these dots.
int64_t tensorCoreCycles(llvm::ArrayRef<DotShape> dots);
/// Returns the cycles that tensor cores and shared memory of an SM need for these dots, the greater of both. `paired`: two CTAs multiply
/// together.
int64_t cyclesOfDots(llvm::ArrayRef<DotShape> dots, bool paired);
/// True if a pair of CTAs computes the dots in fewer cycles.
bool ctaPairPays(llvm::ArrayRef<DotShape> dots);

} // namespace tilewright::gpu
