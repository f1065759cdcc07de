// Emits loop nests over an index space.
#pragma once

#include "cpu/context.h"

#include <set>

namespace tilewright::cpu {

/// Tiles, each with the root's dimensions that its own dimensions map to. One tile may occur along rows and again along columns.
using TilesWithDims = std::set<std::pair<const void *, std::vector<int64_t>>>;
/// Maps the dimensions of an operation's result to those of its operands, as dimensions of a root.
llvm::SmallVector<int64_t> operandDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims);

/// Describes the loops over an index space.
struct LoopSpec {
  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<int64_t, 3> order; // dimensions, outermost first
  llvm::SmallVector<int64_t, 3> chunk; // indices per step, by dimension
  int64_t unroll = 1;                  // bodies per iteration of the innermost loop
  llvm::SmallVector<Value, 3> extent;  // by dimension: indices from here on are not needed (null: shape)
  llvm::SmallVector<Value, 3> full;    // by dimension: below this index all `fullMasks` hold (null: everywhere)
  llvm::SmallVector<Value> fullMasks;
  bool onceInRow = false; // the body runs only for a row's first index, if rows are whole (rows.h)
  Value nonTemporal = {}; // i1: if true, whole vectors use non-temporal stores; null: never
};

/// The number of leading indices of a dimension that a mask admits.
struct BoxCount {
  Value count;  // i64
  Value noWrap; // i1: the index does not overflow inside the tile, so `count` is exact; null: it never does
};

/// Returns the index `more` after `index`, which is known at `level`. A constant is emitted outside all loops. If `index` is its row's
/// first index, a value that depends on it is known only inside the row.
Index knownIndex(Context &ctx, Value index, int64_t level, int64_t more);
/// Iterates over all indices, outermost dimension first, with `vectorDim` (-1: none) innermost, `chunk` at a time.
LoopSpec loopsOver(llvm::ArrayRef<int64_t> shape, int64_t vectorDim, int64_t chunk);
void emitLoops(Context &ctx, const LoopSpec &spec, llvm::function_ref<void(llvm::ArrayRef<TileIndex>)> body, int64_t vectorDim);
void forLoop(Context &ctx, Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body);
llvm::SmallVector<Value> forLoop(Context &ctx, Value from, Value to, int64_t step, ValueRange carried,
                                 llvm::function_ref<llvm::SmallVector<Value>(Value, ValueRange)> body);
/// Calls `body` for each element, with its number in row-major order.
void forEachElement(Context &ctx, llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(const TileIndex &, Value)> body);
/// Fills `extent` and `full` from the masks of the loads that `tiles` compute on demand and, for stores, the store's own mask.
void applyMasks(Context &ctx, LoopSpec &spec, ValueRange tiles, Value storeMask);
/// Excludes the indices of `dim` from `end` (i64) on.
void limitExtent(Context &ctx, LoopSpec &spec, int64_t dim, Value end);
BoxCount boxCount(Context &ctx, const BoxTerm &term, int64_t size);
/// Chooses the dimension to vectorize from the memory accesses of `tiles` (same index space) and `pointers`.
int64_t chooseVectorDim(Context &ctx, llvm::ArrayRef<int64_t> shape, ValueRange tiles, ValueRange pointers);
/// Returns the dimension along which the loads of `tile` are contiguous in memory, if they are not along `other`; -1: none.
int64_t transposedDim(Context &ctx, Value tile, int64_t other);
int64_t chunkFor(Context &ctx, llvm::ArrayRef<int64_t> shape, int64_t vectorDim, ValueRange tiles);

} // namespace tilewright::cpu
