// What the fast version of a root takes to be true, looked at when the program runs. All are i1; null where it is certain.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// A load that a store's loop would compute on its way.
struct Hazard {
  tt::LoadOp load;
  bool samePlace; // it reads, at each index, the place that is stored to, if both start at the same address
};

Value bothHold(Context &ctx, Value first, Value second);
/// Runs `body` under the assumption that all conditional steps along `dim` hold where they do at run time, else without.
void withConditions(Context &ctx, ValueRange tiles, int64_t dim, llvm::function_ref<void()> body);
/// All conditional steps of `tiles` along `dim` hold.
Value conditions(Context &ctx, ValueRange tiles, int64_t dim);
/// Nothing that is widened on the way to the addresses overflows.
Value reachesExactly(Context &ctx, ValueRange pointers);
/// The indices that `mask` compares with its bounds do not overflow.
Value masksExactly(Context &ctx, Value mask, llvm::ArrayRef<int64_t> shape);
llvm::SmallVector<Hazard> hazardsOf(Context &ctx, tt::StoreOp op);
/// No load of `hazards` reads what the store has written before.
Value isUndisturbed(Context &ctx, tt::StoreOp op, llvm::ArrayRef<Hazard> hazards);

} // namespace tilewright::cpu
