// See interleave.h.
#include "cpu/interleave.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright::cpu {

/// True if everything in this block that `op` and its regions use is already placed before it.
static bool isReady(Operation *op, const llvm::DenseSet<Operation *> &waiting) {
  WalkResult result = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (waiting.contains(operand.getDefiningOp())) return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return !result.wasInterrupted();
}

void emitInterleaved(ImplicitLocOpBuilder &b, int64_t count, llvm::function_ref<void(int64_t)> emit) {
  Block *block = b.getInsertionBlock();
  Block::iterator end = b.getInsertionPoint();
  llvm::SmallVector<llvm::SmallVector<Operation *>> pieces(count);
  llvm::DenseSet<Operation *> waiting;
  for (int64_t i = 0; i < count; ++i) {
    Operation *last = end == block->begin() ? nullptr : &*std::prev(end);
    emit(i);
    for (Block::iterator op = last ? std::next(Block::iterator(last)) : block->begin(); op != end; ++op) {
      pieces[i].push_back(&*op);
      waiting.insert(&*op);
    }
  }
  llvm::SmallVector<size_t> done(count, 0);
  while (!waiting.empty())
    for (int64_t i = 0; i < count; ++i) {
      if (done[i] == pieces[i].size() || !isReady(pieces[i][done[i]], waiting)) continue;
      Operation *op = pieces[i][done[i]++];
      waiting.erase(op);
      op->moveBefore(block, end);
    }
}

} // namespace tilewright::cpu
