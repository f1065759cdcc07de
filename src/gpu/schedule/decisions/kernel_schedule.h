// What schedule-loops decides about a kernel.
#pragma once

#include "gpu/schedule/policies/policies.h"

#include <vector>

namespace tilewright::gpu {

/// The schedules of a kernel's loops, and what goes with them.
struct KernelSchedule {
  std::vector<LoopSchedule> loops;             ///< inner ones first
  std::optional<std::string> producerObstacle; ///< why no producer warp starts the copies of loops; null: one does, or there are none
  int64_t bytes = 0;                           ///< of shared memory that the schedules, and all other buffers, take by themselves
};
/// Decides the schedules with these policies. `later`: bytes of shared memory that stay free for what later steps add. Fails if an operand
/// partition does not fit then (schedule_loops.cpp).
Result<KernelSchedule> decideSchedule(tt::FuncOp function, const PolicyContext &context, llvm::ArrayRef<Policy> policies, int64_t later);
/// Writes on a kernel what has been decided for it. Reports a bug if a schedule is invalid.
llvm::LogicalResult writeSchedule(const KernelSchedule &schedule, tt::FuncOp function);

} // namespace tilewright::gpu
