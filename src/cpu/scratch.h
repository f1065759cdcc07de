// Stores tiles to scratch memory and reads them.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// Returns a contiguous row-major buffer at `base`.
Buffer bufferAt(Value base, llvm::ArrayRef<int64_t> shape, Type element);
Buffer allocate(Context &ctx, llvm::ArrayRef<int64_t> shape, Type element);
Buffer allocateFor(Context &ctx, Value tile);
/// Allocates a buffer in which elements along dimension `inner` are contiguous.
Buffer allocateAlong(Context &ctx, Value tile, int64_t inner);
/// Allocates bytes that no tile shares and that persist for the worker's next program.
Value allocateCached(Context &ctx, int64_t bytes);
/// Allocates bytes that persist from an iteration to later iterations.
Value allocateLasting(Context &ctx, int64_t bytes);
/// Computes tiles of one shape in one loop: at each index all of them are computed before any is stored.
void materializeTogether(Context &ctx, ValueRange tiles, llvm::ArrayRef<Buffer> to);
void materializeSlice(Context &ctx, Value tile, const Buffer &to, Value rows, Value columns);
void materialize(Context &ctx, Value tile, const Buffer &target);
Buffer buffered(Context &ctx, Value tile); // the tile's buffer, allocated and filled if it does not exist
void storeChunk(Context &ctx, const Buffer &target, Value vector, const TileIndex &tileIndex);
Value bufferAddress(Context &ctx, const Buffer &buffer, const TileIndex &tileIndex);
bool isZeroTile(Value tile);
std::optional<Buffer> carriedTarget(Context &ctx, Value tile, mlir::Operation *position);
/// True if computing `tile` reads `buffer`'s memory; with `elsewhere`, only if it does so at other indices than the one computed.
bool reads(Context &ctx, Value tile, const Buffer &buffer, bool elsewhere);
/// Returns how many bodies per iteration hide the loop overhead and the latency of a chain of this cost.
int64_t unrollFor(int64_t cost);

} // namespace tilewright::cpu
