// Panels of B that a program leaves in the arena for the programs behind it.
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Packs B where no program before has left the same panels. `pack` writes them to an address; that is `scratch` if they cannot be kept.
/// `columns`: how many of them are wanted (i64; null: all). Returns where the panels lie.
Value packOnce(Context &ctx, tt::DotOp op, const DotPlan &plan, Value scratch, Value columns, llvm::function_ref<void(Value)> pack);

/// At an entry: what an earlier launch has left counts no longer.
void forgetPanels(Context &ctx, Value arena, Value scratch);

} // namespace tilewright::cpu
