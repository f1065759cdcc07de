// Requests that LLVM unrolls the loops that wait for memory.
#pragma once

#include "llvm/IR/PassManager.h"

namespace tilewright {

/// Sets llvm.loop.unroll.count on innermost loops that load and compute, and neither store nor synchronize, such as those that sum rows.
/// The loads of several iterations are then in flight at a time: ptxas keeps such a loop as it is, and waits for each load. LLVM's pass
/// "loop-unroll" must follow.
///   before: loop { load; add } 32 times
///   after:  loop { load; add; load; add; load; add; load; add } 8 times
struct UnrollLoadsPass : llvm::PassInfoMixin<UnrollLoadsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilewright
