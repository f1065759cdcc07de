// This makes loop nests over an index space.
#pragma once

#include "cpu/context.h"

#include <set>

namespace tilewright::cpu {

/// Tiles, each with the root's dimensions that its own correspond to: one tile may occur along rows and again along columns.
using TilesWithDims = std::set<std::pair<const void *, std::vector<int64_t>>>;
/// The dimensions of a root that those of an operation's operands correspond to, given those of its result.
llvm::SmallVector<int64_t> operandDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims);

/// How loops run over an index space.
struct LoopSpec {
  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<int64_t, 3> order; // dimensions, outermost first
  llvm::SmallVector<int64_t, 3> chunk; // indices taken at once, by dimension
  int64_t unroll = 1;                  // bodies per iteration of the innermost loop
  llvm::SmallVector<Value, 3> extent;  // by dimension: indices from here on are not needed (null: shape)
  llvm::SmallVector<Value, 3> full;    // by dimension: below this all `fullMasks` hold (null: everywhere)
  llvm::SmallVector<Value> fullMasks;
  bool onceInRow = false; // the body is for a row's first index alone, where rows are whole (rows.h)
  Value nonTemporal = {};     // i1: where it is true, whole vectors are stored past the caches; null: never
};

/// How many indices of a dimension a mask admits, from the first one on.
struct BoxCount {
  Value count;  // i64
  Value noWrap; // i1: the index does not overflow inside the tile, so that `count` is enough; null: it never does
};

/// The index `more` after `index`, which is known at `level`. A constant is known outside all loops, so it is made there; what depends on
/// it is not known there, where it is its row's first index.
Index knownIndex(Context &ctx, Value index, int64_t level, int64_t more);
/// All indices one by one, outermost dimension first; `vectorDim` (-1: none) innermost, `chunk` at a time.
LoopSpec loopsOver(llvm::ArrayRef<int64_t> shape, int64_t vectorDim, int64_t chunk);
void emitLoops(Context &ctx, const LoopSpec &spec, llvm::function_ref<void(llvm::ArrayRef<TileIndex>)> body, int64_t vectorDim);
void forLoop(Context &ctx, Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body);
llvm::SmallVector<Value> forLoop(Context &ctx, Value from, Value to, int64_t step, ValueRange carried,
                                 llvm::function_ref<llvm::SmallVector<Value>(Value, ValueRange)> body);
/// One element after another, with its number in row-major order.
void forEachElement(Context &ctx, llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(const TileIndex &, Value)> body);
/// Fills `extent` and `full` from the masks of the loads that `tiles` compute on demand and, for stores, the store's own mask.
void applyMasks(Context &ctx, LoopSpec &spec, ValueRange tiles, Value storeMask);
/// Indices of `dim` from `end` (i64) on are not needed.
void limitExtent(Context &ctx, LoopSpec &spec, int64_t dim, Value end);
BoxCount boxCount(Context &ctx, const BoxTerm &term, int64_t size);
/// The dimension along which to take vectors, judged by the memory accesses of `tiles` (same index space) and `pointers`.
int64_t chooseVectorDim(Context &ctx, llvm::ArrayRef<int64_t> shape, ValueRange tiles, ValueRange pointers);
/// The dimension along which what `tile` is made from lies together in memory, where that is not so along `other`; -1: there is none.
int64_t transposedDim(Context &ctx, Value tile, int64_t other);
int64_t chunkFor(Context &ctx, llvm::ArrayRef<int64_t> shape, int64_t vectorDim, ValueRange tiles);

} // namespace tilewright::cpu
