// What became of a kernel on a processor, for its author.
#pragma once

#include "cpu/context.h"
#include "ir/explanation.h"

namespace tilewright::cpu {

/// The scratch memory that a worker brings, in bytes: its head, what lasts from program to program, and the tiles of one program.
int64_t arenaBytes(const Context &ctx);
/// Explains the kernel that has just been lowered, before its operations are gone.
Explanation explain(Context &ctx);

} // namespace tilewright::cpu
