// Attempts: what later steps make of a decision. They rewrite a copy of the kernel.
#pragma once

#include "gpu/schedule/policies/policies.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright::gpu {

/// The steps after schedule-loops, up to place-accumulators, which attempts run.
llvm::ArrayRef<llvm::LogicalResult (*)(mlir::ModuleOp)> stepsOfAttempts();
/// Schedules all loops of a kernel with these policies, as the step schedule-loops does. Returns the bytes of shared memory that the kernel
/// then needs; null if a later step refuses it. Fails if one reports a bug. `mayPlan` gets a copy of the kernel, as plan-accumulators will
/// find it, and may refuse it, too.
mlir::FailureOr<std::optional<int64_t>> scheduleToFit(tt::FuncOp function, const PolicyContext &context, llvm::ArrayRef<Policy> policies,
                                                      llvm::function_ref<bool(tt::FuncOp)> mayPlan = nullptr);

/// A copy of a kernel whose loops have been scheduled.
struct ScheduledCopy {
  mlir::OwningOpRef<tt::FuncOp> function; ///< null: the rewriting was impossible, or the copy was refused
  std::optional<int64_t> bytes;           ///< of shared memory, as scheduleToFit returns them
};
/// Schedules the loops of a copy of the kernel, after `rewrite` has changed it; if that returns false, there is no schedule. So a step
/// knows what later ones would do with its decision. Refusals of the attempt are not reported. A bug is, and fails.
mlir::FailureOr<ScheduledCopy> scheduleCopy(tt::FuncOp function, const PolicyContext &context, llvm::function_ref<bool(tt::FuncOp)> rewrite,
                                            llvm::function_ref<bool(tt::FuncOp)> mayPlan = nullptr);

} // namespace tilewright::gpu
