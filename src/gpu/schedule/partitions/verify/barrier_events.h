// Each warp group's list of events in a small launch.
#pragma once

#include "gpu/schedule/partitions/verify/events.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace tilewright::gpu {

/// Loops whose bounds are not known have so many iterations, and conditions that are not known have this value. Long loops whose bounds are
/// known skip iterations, whole periods of them.
struct Launch {
  int64_t iterations;
  bool condition;
  int64_t period;
};

/// The events of each warp group in a launch, in the order of its program.
struct ListedEvents {
  std::vector<std::vector<Event>> programs;
  llvm::DenseSet<mlir::Value> assumed; ///< conditions that are not known
  bool isIrregular = false;            ///< a loop that skips iterations does not repeat those before them
};

/// Calls `use` for each launch until it returns false. Returns the operation that depends on data, or is of more iterations than can be
/// listed; null if there is none.
mlir::Operation *listEvents(tt::FuncOp function, llvm::ArrayRef<WarpGroup> groups, const Resources &resources,
                            llvm::ArrayRef<Launch> launches, llvm::function_ref<bool(const ListedEvents &)> use);

} // namespace tilewright::gpu
