// Each warp group's list of events in a small launch.
#pragma once

#include "gpu/schedule/partitions/verify/events.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace tilewright::gpu {

/// Loops whose bounds are not known have so many iterations, and conditions that are not known have this value.
struct Launch {
  int64_t iterations;
  bool condition;
};

/// Calls `use` for each launch with the events of each warp group, in the order of its program, until it returns false. Returns
/// the operation that depends on data, or is of more iterations than can be listed; null if there is none.
mlir::Operation *listEvents(tt::FuncOp function, llvm::ArrayRef<WarpGroup> groups, const Resources &resources,
                            llvm::ArrayRef<Launch> launches, llvm::function_ref<bool(llvm::ArrayRef<std::vector<Event>>)> use);

} // namespace tilewright::gpu
