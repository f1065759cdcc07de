// Registers of values that are in use one after the other in a block: those with disjoint live ranges share registers.
#pragma once

#include "mlir/IR/Operation.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>

namespace tilewright::gpu {

/// A value that is live from operation `first` of a block until `end`.
struct LiveRange {
  mlir::Operation *first = nullptr, *end = nullptr;
  int64_t size = 0; ///< in registers, or bits
};

/// Returns the maximum size of all ranges that are live at one time.
inline int64_t maxLive(llvm::ArrayRef<LiveRange> ranges) {
  llvm::SmallVector<std::pair<mlir::Operation *, int64_t>> changes; // in order; at an operation, ranges end before others begin
  for (const LiveRange &range : ranges) {
    if (!range.first->isBeforeInBlock(range.end)) continue;
    changes.push_back({range.first, range.size});
    changes.push_back({range.end, -range.size});
  }
  llvm::sort(changes,
             [](const auto &x, const auto &y) { return x.first == y.first ? x.second < y.second : x.first->isBeforeInBlock(y.first); });
  int64_t size = 0, most = 0;
  for (const auto &[op, change] : changes)
    most = std::max(most, size += change);
  return most;
}

} // namespace tilewright::gpu
