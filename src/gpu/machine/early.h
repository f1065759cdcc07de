// A load that was put in front of the branch in which its result is used, so that it is on its way while the branch waits. LLVM would put
// it back.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// Of a tt.load, then of a ptx.load_global (a unit attribute): it stays where it is.
constexpr llvm::StringLiteral earlyName = "ptx.early";

} // namespace tilewright::ptx
