// These functions put tiles into scratch memory and take them from there.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

Buffer allocate(Context &ctx, llvm::ArrayRef<int64_t> shape, Type element);
Buffer allocateFor(Context &ctx, Value tile);
/// Of the first two dimensions, only the indices below `rows` and `columns` (i64; null: all).
void materializePart(Context &ctx, Value tile, const Buffer &to, Value rows, Value columns);
void materialize(Context &ctx, Value tile, const Buffer &target);
Buffer buffered(Context &ctx, Value tile); // the tile's buffer, made now if it is not there
void storeChunk(Context &ctx, const Buffer &target, Value vector, const Place &place);
Value bufferAddress(Context &ctx, const Buffer &buffer, const Place &place);
bool isZeroTile(Value tile);
std::optional<Buffer> carriedTarget(Context &ctx, Value tile, mlir::Operation *position);
/// Whether computing `tile` reads `buffer`'s memory; with `elsewhere`, only whether it does so at places other than the one computed.
bool reads(Context &ctx, Value tile, const Buffer &buffer, bool elsewhere);
/// How many bodies in an iteration hide the loop and the latency of a chain of this cost.
int64_t unrollFor(int64_t cost);

} // namespace tilewright::cpu
