// See buffer_accesses.h.
#include "gpu/ttg/buffer_accesses.h"

#include "ir/slice.h"

using namespace mlir;

namespace tilewright::gpu {

ttg::AllocOp allocOf(Value buffer) {
  while (Operation *op = buffer.getDefiningOp()) {
    if (auto alloc = dyn_cast<ttg::AllocOp>(op)) return alloc;
    if (!isa<ttg::StageOp, ttg::ViewOp>(op)) return {};
    buffer = op->getOperand(0);
  }
  return {};
}

ttg::StageOp stageOf(Value buffer) {
  return tt::lookThrough<ttg::ViewOp>(buffer).getDefiningOp<ttg::StageOp>();
}

static void collectAccesses(Value buffer, SmallVectorImpl<Operation *> &accesses) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<ttg::StageOp, ttg::ViewOp>(user))
      collectAccesses(user->getResult(0), accesses);
    else
      accesses.push_back(user);
  }
}

SmallVector<Operation *> accessesOf(ttg::AllocOp alloc) {
  SmallVector<Operation *> accesses;
  collectAccesses(alloc.getResult(), accesses);
  return accesses;
}

bool writesBuffer(Operation *access) {
  bool accesses = !isa<ttg::StageOp, ttg::ViewOp>(access) && llvm::any_of(access->getOperandTypes(), llvm::IsaPred<ttg::BufferType>);
  return accesses && !isa<ttg::LoadSharedOp, ttg::MmaAsyncOp, ttg::FmaDotOp, ttg::TmaStoreOp>(access);
}

SmallVector<Operation *> writersIn(Operation *within, ttg::AllocOp alloc) {
  return llvm::filter_to_vector(accessesOf(alloc), [&](Operation *access) { return within->isAncestor(access) && writesBuffer(access); });
}

} // namespace tilewright::gpu
