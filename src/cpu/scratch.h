// These functions put tiles into scratch memory and take them from there.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// Rows of a tile without gaps, from `base` on.
Buffer bufferAt(Value base, llvm::ArrayRef<int64_t> shape, Type element);
Buffer allocate(Context &ctx, llvm::ArrayRef<int64_t> shape, Type element);
Buffer allocateFor(Context &ctx, Value tile);
/// Neighbours along dimension `inner` lie side by side.
Buffer allocateAlong(Context &ctx, Value tile, int64_t inner);
/// So many bytes that no other tile shares, and that the worker's next program finds as this one has left them.
Value allocateCached(Context &ctx, int64_t bytes);
/// Such a place for what turns of a loop leave for later turns.
Value allocateLasting(Context &ctx, int64_t bytes);
/// Of the first two dimensions, only the indices below `rows` and `columns` (i64; null: all).
/// Computes tiles of one shape in one loop: at each place all of them are computed before any is stored.
void materializeTogether(Context &ctx, ValueRange tiles, llvm::ArrayRef<Buffer> to);
void materializeSlice(Context &ctx, Value tile, const Buffer &to, Value rows, Value columns);
void materialize(Context &ctx, Value tile, const Buffer &target);
Buffer buffered(Context &ctx, Value tile); // the tile's buffer, made now if it is not there
void storeChunk(Context &ctx, const Buffer &target, Value vector, const TileIndex &tileIndex);
Value bufferAddress(Context &ctx, const Buffer &buffer, const TileIndex &tileIndex);
bool isZeroTile(Value tile);
std::optional<Buffer> carriedTarget(Context &ctx, Value tile, mlir::Operation *position);
/// Whether computing `tile` reads `buffer`'s memory; with `elsewhere`, only whether it does so at places other than the one computed.
bool reads(Context &ctx, Value tile, const Buffer &buffer, bool elsewhere);
/// How many bodies in an iteration hide the loop and the latency of a chain of this cost.
int64_t unrollFor(int64_t cost);

} // namespace tilewright::cpu
