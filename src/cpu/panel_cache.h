// The packed-panel cache: panels of B that a program leaves in the arena for later programs.
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Packs B unless an earlier program has left the same panels. `pack` writes them to an address, which is `scratch` if they cannot be
/// cached; `limits` tells how much of them. Returns the panels' address. Iterations that are multiplied together share one.
Value packOnce(Context &ctx, tt::DotOp op, const DotPlan &plan, Value scratch, const DotLimits &limits,
               llvm::function_ref<void(Value)> pack);

/// At the start of a launch: invalidates the panels of earlier launches.
void forgetPanels(Context &ctx, Value arena, Value scratch);

} // namespace tilewright::cpu
