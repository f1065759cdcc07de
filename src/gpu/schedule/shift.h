// For an operation in a pipelined loop: for which later iteration it works, as a number of iterations. Passes that move
// work across iterations note it (start_ahead.cpp, rotate_loop.cpp), and the timeline of `tilewright explain` shows it.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::gpu {

constexpr llvm::StringLiteral shiftName = "ttg.shift";

} // namespace tilewright::gpu
