// Computes the value of a tile at an index.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

Lanes evaluate(Context &ctx, Value tile, const TileIndex &tileIndex);
/// Evaluates at independent indices: returns vectors of `element` (scalars if an index has no vector), whose code is interleaved
/// (interleave.h).
llvm::SmallVector<Value> evaluateAll(Context &ctx, Value tile, llvm::ArrayRef<TileIndex> tileIndices, Type element);
/// Memoizes `vector` as the value of `tile` at an index, at the loop level of that index.
void remember(Context &ctx, Value tile, const TileIndex &tileIndex, Value vector);
Value evaluateScalar(Context &ctx, Value tile, TileIndex tileIndex); // the element at the index
Value asVector(Context &ctx, const Lanes &lanes, Type element, const TileIndex &tileIndex);
Lanes readBuffer(Context &ctx, const Buffer &buffer, Type logical, const TileIndex &tileIndex);
Value convertTo(Context &ctx, Value value, Type element); // between float types, scalars or vectors; f16 to i32: bf16Halves
/// Emits one elementwise operation on scalars or vectors of its operands. Null after an error on `op`.
Value emitElementwise(Context &ctx, mlir::Operation *op, ValueRange operands);
/// Emits the combine region of a reduction or scan on scalars or vectors.
llvm::SmallVector<Value> emitRegion(Context &ctx, mlir::Region &region, ValueRange args);
/// Prefetches the same element of the next iteration where an iteration reads `load` a second time, `position` elements after `start`
/// (i64); see prefetch.cpp.
void prefetchNextIteration(Context &ctx, tt::LoadOp load, Value start, Value position);
/// Returns the byte distance (i64) from an element of `load`, in a loop of the kernel, to the same one in the next iteration. After the
/// last iteration, the next program counts. 0 if nothing follows. Null if the distance is unknown.
Value distanceToNextReading(Context &ctx, tt::LoadOp load);

Value scalar(Context &ctx, Value value);
Value indexConstant(Context &ctx, int64_t value); // emitted at the top of the program, so it dominates all uses
Value scalarToIndex(Context &ctx, Value value);   // any integer -> i64, sign-extended

} // namespace tilewright::cpu
