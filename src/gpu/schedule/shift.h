// Of an operation in a pipelined loop: how many iterations later the one is that it works for. Passes that move work across iterations say
// it (start_ahead.cpp, rotate_loop.cpp), and the timeline of `tilewright explain` shows it.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::gpu {

constexpr llvm::StringLiteral shiftName = "ttg.shift";

} // namespace tilewright::gpu
