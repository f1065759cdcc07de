// Steps after schedule-loops add barriers, buffers and scratch memory. So they rewrite a copy of the kernel first. If that takes too much
// shared memory, the loops are scheduled again, with as many bytes less.
#include "gpu/schedule/decisions/attempts.h"

#include "gpu/passes.h"
#include "gpu/schedule/decisions/kernel_schedule.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "ir/bug_filter.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

ArrayRef<LogicalResult (*)(ModuleOp)> stepsOfAttempts() {
  static constexpr LogicalResult (*steps[])(ModuleOp) = {pipelineLoops, copyUnpipelined,  scheduleMmas,
                                                         overlapMmas,   planAccumulators, placeAccumulators};
  return steps;
}

/// Returns the bytes of shared memory that a scheduled kernel needs after the steps up to place-accumulators; null if one of them refuses
/// it, or `mayPlan` does. They rewrite a copy of the kernel, which `mayPlan` gets before plan-accumulators. Refusals are not reported. A
/// bug is, and fails.
static FailureOr<std::optional<int64_t>> bytesOfRewritten(tt::FuncOp function, function_ref<bool(tt::FuncOp)> mayPlan) {
  BugFilter filter(function.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  auto copy = cast<tt::FuncOp>(function->clone());
  module->push_back(copy);
  for (LogicalResult (*step)(ModuleOp) : stepsOfAttempts()) {
    if (mayPlan && step == planAccumulators && !mayPlan(copy)) return std::optional<int64_t>();
    bool passed = succeeded(step(*module));
    if (filter.foundBug()) return failure();
    if (!passed) return std::optional<int64_t>();
  }
  return std::optional(planShared(copy).bytes);
}

FailureOr<std::optional<int64_t>> scheduleToFit(tt::FuncOp function, const PolicyContext &context, ArrayRef<Policy> policies,
                                                function_ref<bool(tt::FuncOp)> mayPlan) {
  OwningOpRef<tt::FuncOp> unscheduled(cast<tt::FuncOp>(function->clone()));
  Result<KernelSchedule> schedule = decideSchedule(function, context, policies, /*later=*/0);
  if (!schedule) return bug(function, schedule.error()), failure(); // the step that makes a partition checks that it fits
  if (failed(writeSchedule(*schedule, function))) return failure();
  // Later steps may add more than fits. Then the depths leave as much space, until they do. `later` grows in each iteration, and a
  // schedule that is made again needs the same bytes, which ends them. So there are no more iterations than schedules.
  for (int64_t later = 0;;) {
    FailureOr<std::optional<int64_t>> rewritten = bytesOfRewritten(function, mayPlan);
    if (failed(rewritten)) return failure();
    std::optional<int64_t> bytes = *rewritten;
    // Nothing to gain: a refusal, which the step that reports it will meet again, or no stage that could be given up.
    if (!bytes || *bytes <= context.target.sharedBytes || *bytes - schedule->bytes <= later) return bytes;
    later = *bytes - schedule->bytes;
    OwningOpRef<tt::FuncOp> copy(cast<tt::FuncOp>(unscheduled->clone()));
    schedule = decideSchedule(*copy, context, policies, later);
    if (!schedule) return bytes; // allocate-shared reports that the kernel does not fit
    if (failed(writeSchedule(*schedule, *copy))) return failure();
    function.getBody().takeBody(copy->getBody());
    function->setAttrs((*copy)->getAttrDictionary());
  }
}

FailureOr<ScheduledCopy> scheduleCopy(tt::FuncOp function, const PolicyContext &context, function_ref<bool(tt::FuncOp)> rewrite,
                                      function_ref<bool(tt::FuncOp)> mayPlan) {
  BugFilter filter(function.getContext());
  OwningOpRef<tt::FuncOp> copy(cast<tt::FuncOp>(function->clone()));
  if (!rewrite(*copy)) return filter.foundBug() ? FailureOr<ScheduledCopy>() : ScheduledCopy();
  FailureOr<std::optional<int64_t>> bytes = scheduleToFit(*copy, context, allPolicies(), mayPlan);
  if (filter.foundBug()) return failure();
  return succeeded(bytes) ? ScheduledCopy{std::move(copy), *bytes} : ScheduledCopy();
}

} // namespace tilewright::gpu
