// Attempts on copies of a kernel: what later steps would make of a decision.
#include "gpu/passes.h"
#include "gpu/schedule/policies/policies.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "ir/refusal.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace tilewright::gpu {

FailureOr<int64_t> bytesOfRewritten(tt::FuncOp function, function_ref<void(tt::FuncOp)> see) {
  ScopedDiagnosticHandler unreported(function.getContext(), [](mlir::Diagnostic &) {});
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  auto copy = cast<tt::FuncOp>(function->clone());
  module->push_back(copy);
  using Step = LogicalResult (*)(ModuleOp);
  for (Step step : {Step(pipelineLoops), Step(copyUnpipelined), Step(scheduleMmas), Step(overlapMmas)})
    if (failed(step(*module))) return failure();
  if (see) see(copy);
  if (failed(planAccumulators(*module)) || failed(placeAccumulators(*module))) return failure();
  return planShared(copy).bytes;
}

LogicalResult scheduleCopy(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target, function_ref<bool(tt::FuncOp)> rewrite,
                           function_ref<void(tt::FuncOp)> see, function_ref<void(tt::FuncOp)> seeRewritten) {
  bool isBug = false;
  ScopedDiagnosticHandler unreported(function.getContext(), [&](mlir::Diagnostic &diagnostic) {
    std::optional<Refusal> refusal = refusalOf(diagnostic);
    isBug |= refusal && refusal->id == Diag::internalError;
    return success(!isBug); // the handler around this one reports a bug
  });
  OwningOpRef<tt::FuncOp> copy(cast<tt::FuncOp>(function->clone()));
  if (rewrite(*copy) && succeeded(scheduleLoops(*copy, config, target, allPolicies(), seeRewritten)) && see) see(*copy);
  return failure(isBug);
}

} // namespace tilewright::gpu
