// A load that was moved before the branch that uses its result, so
// that it runs while the branch waits. LLVM would move it back.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// A unit attribute of a tt.load, and then of a ptx.load_global: the load stays where it is.
constexpr llvm::StringLiteral hoistedName = "ptx.hoisted";

} // namespace tilewright::ptx
