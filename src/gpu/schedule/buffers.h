// Buffers in shared memory, their tensor maps and their barriers.
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

/// Returns where a thread waits for what `reader` reads. For an operand of a dot: before it reads another one right before. The assembler
/// interleaves reads with MMAs, but it moves none across a wait, which would keep the first operand in registers as a whole.
mlir::Operation *waitingPoint(mlir::Operation *reader);

/// Allocates `count` mbarriers at the function's entry; `arrivals` complete a phase of each.
mlir::Value allocBarriers(tt::FuncOp function, int64_t count, int64_t arrivals);
/// Returns the first of these operations at or after `op` in its block; null if there is none.
template <typename... Ops> mlir::Operation *firstFrom(mlir::Operation *op) {
  while (op && !llvm::isa<Ops...>(op))
    op = op->getNextNode();
  return op;
}

/// Returns an i32 constant at the function's entry, which everything in the function may use.
mlir::Value entryConstant(tt::FuncOp function, int64_t value);

} // namespace tilewright::gpu
