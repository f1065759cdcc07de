// Runs the lists of all warp groups against each other, and finds where a rule (verify_barriers.cpp) is broken.
#pragma once

#include "gpu/schedule/partitions/verify/events.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::gpu {

struct BrokenRule {
  mlir::Operation *op;
  std::string what; ///< a clause about the operation
};

/// One warp group, and the MMAs that it starts by tcgen05, are late: each goes on only when all other groups wait. Returns the first rule
/// that is broken; nothing if none is.
std::optional<BrokenRule> executeWithLate(llvm::ArrayRef<std::vector<Event>> programs, const Resources &resources, size_t late);

} // namespace tilewright::gpu
