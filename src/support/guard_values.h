// Launch guards: their evaluation, and their conversion to numbers. These functions need no LLVM library, so the runtime library has them,
// too.
#pragma once

#include "support/launch_guards.h"

namespace tilewright {

/// Extends integers to 64 bits by their sign, as a kernel reads them.
void extendBySign(llvm::MutableArrayRef<uint64_t> slots, llvm::ArrayRef<SlotKind> kinds);

} // namespace tilewright
