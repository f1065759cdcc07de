// Buffers in shared memory: those that TMA fills, their tensor maps, their stores, and where threads wait for what they read.
#pragma once

#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"

#include <optional>

namespace tilewright::gpu {

/// How TMA moves the buffer, if its dimensions have this order in memory. Dimensions of extent 1 may be anywhere.
std::optional<TmaBox> boxOf(ttg::BufferType type, llvm::ArrayRef<int32_t> order);
/// A buffer for a tile that goes through a tensor map.
mlir::FailureOr<ttg::BufferType> bufferForCopies(mlir::Operation *op, mlir::Type tile, llvm::ArrayRef<int32_t> order);
/// The map argument with the box of a part of this buffer's, and its swizzle: `map` itself if it has none yet, otherwise a copy.
mlir::FailureOr<mlir::Value> mapFor(tt::FuncOp function, mlir::Operation *op, mlir::Value map, size_t dims, ttg::BufferType buffer,
                                    llvm::ArrayRef<int32_t> order, const BoxParts &parts);

/// Erases a store to a buffer, and with the last of the adjacent stores the fence after them.
void eraseStore(ttg::StoreSharedOp store);

/// Returns the first of these operations at or after `op` in its block; null if there is none.
template <typename... Ops> mlir::Operation *firstFrom(mlir::Operation *op) {
  while (op && !llvm::isa<Ops...>(op))
    op = op->getNextNode();
  return op;
}

/// Returns where a thread waits for what `reader` reads. For an operand of a dot: before it reads another one right before. The assembler
/// interleaves reads with MMAs, but it moves none across a wait, which would keep the first operand in registers as a whole.
mlir::Operation *waitingPoint(mlir::Operation *reader);

} // namespace tilewright::gpu
