// Registers of values that are in use one after the other in a block: those with disjoint live ranges share registers.
#pragma once

#include "mlir/IR/Operation.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cstdint>

namespace tilewright::gpu {

/// A value that is live from operation `first` of a block until `end`.
struct LiveRange {
  mlir::Operation *first = nullptr, *end = nullptr;
  int64_t size = 0; ///< in registers, or bits
  bool contains(mlir::Operation *op) const { return !op->isBeforeInBlock(first) && op->isBeforeInBlock(end); }
};

/// Returns the maximum size of all ranges that are live at one time.
inline int64_t maxLive(llvm::ArrayRef<LiveRange> ranges) {
  int64_t most = 0;
  for (const LiveRange &at : ranges) {
    int64_t size = 0;
    for (const LiveRange &range : ranges)
      if (range.contains(at.first)) size += range.size;
    most = std::max(most, size);
  }
  return most;
}

} // namespace tilewright::gpu
