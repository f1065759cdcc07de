// Launch guards as numbers. These functions need no LLVM library, so the runtime library has them, too.
#pragma once

#include "support/inline_vector.h"
#include "support/launch_guards.h"

namespace tilewright {

/// Returns the interval of the last of `nodes`.
Interval evaluate(llvm::ArrayRef<BoundNode> nodes, llvm::ArrayRef<Interval> slots, const std::array<Interval, 3> &programs);

/// Extends integers to 64 bits by their sign, as a kernel reads them.
void extendBySign(llvm::MutableArrayRef<uint64_t> slots, llvm::ArrayRef<SlotKind> kinds);

} // namespace tilewright
