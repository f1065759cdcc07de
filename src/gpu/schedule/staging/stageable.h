// What may go through shared memory, and through which buffer.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// Returns the buffer that `store` alone fills, and that threads and MMAs only read; or null.
ttg::AllocOp ownBuffer(ttg::StoreSharedOp store);
/// Returns the use if it stores the tile to a buffer of its own that TMA can fill in place of the store; or null.
ttg::StoreSharedOp directStore(ttg::DescriptorLoadOp load, mlir::OpOperand &use);
/// True if, besides `store`, only MMAs access the buffer.
bool isReadByMmasOnly(ttg::StoreSharedOp store);
/// True if cp.async can copy what is loaded, as it is in memory, where the thread that copies an element is the only one that reads it, and
/// if a thread holds it in more registers than it takes in memory.
bool isStageableRow(tt::LoadOp load);
/// Returns the buffer for such a row.
ttg::BufferType bufferOfRow(tt::LoadOp load);

} // namespace tilewright::gpu
