// This computes a tile's value at a place.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

Lanes evaluate(Context &ctx, Value tile, const TileIndex &tileIndex);
/// Evaluates at independent places: vectors (elements, where places have none) of `element`, whose code is interleaved (interleave.h).
llvm::SmallVector<Value> evaluateAll(Context &ctx, Value tile, llvm::ArrayRef<TileIndex> tileIndices, Type element);
/// `vector` is what `tile` is at a place, as far as the loop level of the place goes.
void remember(Context &ctx, Value tile, const TileIndex &tileIndex, Value vector);
Value evaluateScalar(Context &ctx, Value tile, TileIndex tileIndex); // the element at the place
Value asVector(Context &ctx, const Lanes &lanes, Type element, const TileIndex &tileIndex);
Lanes readBuffer(Context &ctx, const Buffer &buffer, Type logical, const TileIndex &tileIndex);
Value convertTo(Context &ctx, Value value, Type element); // between float types, scalars or vectors; f16 to i32: bf16Halves
/// One elementwise operation on scalars or vectors of its operands. Null after an error on `op`.
Value emitElementwise(Context &ctx, mlir::Operation *op, ValueRange operands);
/// The combine region of a reduction or scan on scalars or vectors.
llvm::SmallVector<Value> emitRegion(Context &ctx, mlir::Region &region, ValueRange args);
/// Where an iteration reads `load` a second time, `position` elements behind `start` (i64): prefetches the same place of the next iteration
/// (prefetch.cpp).
void prefetchNextIteration(Context &ctx, tt::LoadOp load, Value start, Value position);
/// From an element of `load`, in a loop of the kernel, to the same one in the next iteration or, after the last one, in the next program's
/// first (i64, in bytes); 0 where nothing follows. Null where nobody knows it.
Value distanceToNextReading(Context &ctx, tt::LoadOp load);

Value scalar(Context &ctx, Value value);
Value indexConstant(Context &ctx, int64_t value); // known everywhere: it is made at the top of the program
Value scalarToIndex(Context &ctx, Value value);   // any integer -> i64, sign-extended

} // namespace tilewright::cpu
