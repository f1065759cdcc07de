// What later steps make of a kernel that a step would change.
#pragma once

#include "gpu/schedule/decisions/attempts.h"
#include "support/result.h"

namespace tilewright::gpu {

struct Attempt {
  ScheduledCopy copy;
  Result<void> fits = Failure{"its loops get no schedule"}; ///< why the copy does not fit in shared memory
  Result<void> mmaWarp = fits;                              ///< why no warp of its own issues the MMAs of a copy that fits
};

/// Lets the steps up to place-accumulators rewrite a copy of the kernel, after `rewrite` has changed it; if that returns false, they do
/// not. Fails if that shows a bug.
mlir::FailureOr<Attempt> attempt(tt::FuncOp function, const PolicyContext &context, llvm::function_ref<bool(tt::FuncOp)> rewrite);

} // namespace tilewright::gpu
