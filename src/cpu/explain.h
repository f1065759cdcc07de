// Explains to a kernel's author how the kernel was compiled for a CPU.
#pragma once

#include "cpu/context.h"
#include "ir/explanation.h"

namespace tilewright::cpu {

/// Returns the bytes of a worker's scratch memory: its head, the caches that persist across programs, and the tiles of one program.
int64_t arenaBytes(const Context &ctx);
/// Explains the kernel that has just been lowered, while its operations still exist.
Explanation explain(Context &ctx);

} // namespace tilewright::cpu
