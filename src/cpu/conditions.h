// The run-time checks of a root's fast version. All results are i1; null means that the assumption is certain.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// A load that a store's loop would compute on demand.
struct Hazard {
  tt::LoadOp load;
  bool sameElement; // if both start at the same address, the load reads the element that the store writes at the same index
};

Value logicalAnd(Context &ctx, Value first, Value second);
/// Emits `body` twice if strides along `dim` are conditional: one version assumes that all conditions hold, and a run-time check picks it.
void withConditions(Context &ctx, ValueRange tiles, int64_t dim, llvm::function_ref<void()> body);
/// True if all conditional strides of `tiles` along `dim` hold.
Value conditions(Context &ctx, ValueRange tiles, int64_t dim);
/// True if no integer that is extended to compute the addresses overflows.
Value reachesExactly(Context &ctx, ValueRange pointers);
/// True if the indices that `mask` compares with its bounds do not overflow.
Value masksExactly(Context &ctx, Value mask, llvm::ArrayRef<int64_t> shape);
/// Returns the terms of a mask that holds for the first indices of each dimension; empty without a mask. nullopt: another kind of mask.
std::optional<llvm::SmallVector<BoxTerm>> upperBounds(Context &ctx, Value mask);
/// True if a mask of this shape and these terms holds for the needed number of indices (i64) of each dimension.
Value boundsHold(Context &ctx, llvm::ArrayRef<BoxTerm> terms, llvm::ArrayRef<int64_t> shape, llvm::function_ref<Value(int64_t dim)> needed);
/// Returns the first address of a two-dimensional tile and the byte distance to its second row (i64).
std::pair<Value, Value> rowsOf(Context &ctx, Value pointer);

/// True if the bytes that an access to `first` and one to `second` touch, under their masks (or null), are disjoint. The first access also
/// covers `bytesBefore` bytes before its range (i64; null: none).
Value areDisjointRanges(Context &ctx, Value first, Value firstMask, Value bytesBefore, Value second, Value secondMask);
llvm::SmallVector<Hazard> hazardsOf(Context &ctx, tt::StoreOp op);
/// True if no load of `hazards` reads memory that the store has already written.
Value isDisjointFromStores(Context &ctx, tt::StoreOp op, llvm::ArrayRef<Hazard> hazards);

} // namespace tilewright::cpu
