// What the fast version of a root assumes, tested at run time. All tests are i1; null where the assumption is certain.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// A load that a store's loop would compute as it goes.
struct Hazard {
  tt::LoadOp load;
  bool sameElement; // if both start at the same address, it reads at each index the place that is stored to
};

Value logicalAnd(Context &ctx, Value first, Value second);
/// Emits `body` for the case that all conditional steps along `dim` hold, which is tested at run time, and again for the other case.
void withConditions(Context &ctx, ValueRange tiles, int64_t dim, llvm::function_ref<void()> body);
/// All conditional steps of `tiles` along `dim` hold.
Value conditions(Context &ctx, ValueRange tiles, int64_t dim);
/// Nothing that is widened to compute the addresses overflows.
Value reachesExactly(Context &ctx, ValueRange pointers);
/// The indices that `mask` compares with its bounds do not overflow.
Value masksExactly(Context &ctx, Value mask, llvm::ArrayRef<int64_t> shape);
/// The terms of a mask that holds for the first indices of each dimension; none without a mask. No value: it is another kind of mask.
std::optional<llvm::SmallVector<BoxTerm>> upperBounds(Context &ctx, Value mask);
/// A mask of this shape and these terms holds for as many indices of each dimension as are needed (i64).
Value boundsHold(Context &ctx, llvm::ArrayRef<BoxTerm> terms, llvm::ArrayRef<int64_t> shape, llvm::function_ref<Value(int64_t dim)> needed);
/// The first address of a tile of two dimensions, and how far the second row is from it (i64).
std::pair<Value, Value> rowsOf(Context &ctx, Value pointer);

/// What an access to `first` and one to `second`, under their masks (or null), reach has no byte in common. The first one reaches so many
/// bytes further to the front (i64; null: none).
Value areApart(Context &ctx, Value first, Value firstMask, Value inFront, Value second, Value secondMask);
llvm::SmallVector<Hazard> hazardsOf(Context &ctx, tt::StoreOp op);
/// No load of `hazards` reads what the store has written before.
Value isDisjointFromStores(Context &ctx, tt::StoreOp op, llvm::ArrayRef<Hazard> hazards);

} // namespace tilewright::cpu
