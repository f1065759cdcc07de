// What became of a kernel on a processor, for its author.
#pragma once

#include "cpu/context.h"
#include "ir/explanation.h"

namespace tilewright::cpu {

/// Explains the kernel that has just been lowered, before its operations are gone.
Explanation explain(Context &ctx);

} // namespace tilewright::cpu
