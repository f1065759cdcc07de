// For an operation in a pipelined loop: for which later iteration it works, as a number of iterations. Passes that move
// work across iterations note it (prefetch_mma.cpp, two_stage_pipeline.cpp), and the timeline of `tilewright explain` shows it.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::gpu {

constexpr llvm::StringLiteral iterationOffsetName = "ttg.iteration_offset";

} // namespace tilewright::gpu
