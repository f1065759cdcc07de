// What became of a kernel on a processor, for its author.
#pragma once

#include "cpu/context.h"
#include "ir/explanation.h"

namespace tilewright::cpu {

/// Of the kernel that was lowered just now, before it is gone.
Explanation explain(Context &ctx);

} // namespace tilewright::cpu
