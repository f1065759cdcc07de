// A lock is tried again and again: what the program has done before is released once, by a fence in front of the first try.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// A unit attribute of a ptx.compare_swap: a ptx.fence has released, and nothing was written since then but by such tries.
constexpr llvm::StringLiteral alreadyReleasedName = "ptx.already_released";

} // namespace tilewright::ptx
