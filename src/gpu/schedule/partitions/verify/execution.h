// Runs the lists of all warp groups against each other, and reports where a rule (verify_barriers.cpp) is broken.
#pragma once

#include "gpu/schedule/partitions/verify/events.h"

#include <vector>

namespace tilewright::gpu {

/// One warp group, and the MMAs that it starts by tcgen05, are late: each goes on only when all other groups wait. Reports a bug at the
/// operation that breaks a rule.
mlir::LogicalResult executeWithLate(llvm::ArrayRef<std::vector<Event>> programs, const Resources &resources, size_t late);

} // namespace tilewright::gpu
