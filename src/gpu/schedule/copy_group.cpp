#include "gpu/schedule/copy_group.h"

#include "gpu/tiles/valid_extent.h"

using namespace mlir;

namespace tilewright::gpu {

static bool readsByThreads(Operation *op) {
  return isa<ttg::LoadSharedOp, ttg::FmaDotOp>(op);
}

CopyGroup groupOf(ttg::DescriptorLoadOp load, ArrayRef<ttg::DescriptorLoadOp> left) {
  CopyGroup group{cast<ttg::StoreSharedOp>(*load.getResult().user_begin())};
  while (isa_and_nonnull<ttg::StoreSharedOp>(group.first->getPrevNode()))
    group.first = cast<ttg::StoreSharedOp>(group.first->getPrevNode());
  for (Operation *op = group.first; isa_and_nonnull<ttg::StoreSharedOp>(op); op = op->getNextNode()) {
    auto source = cast<ttg::StoreSharedOp>(op).getSrc().getDefiningOp<ttg::DescriptorLoadOp>();
    if (source && llvm::is_contained(left, source))
      group.stores.push_back(cast<ttg::StoreSharedOp>(op));
    else
      ++group.others;
  }
  Block *block = group.first->getBlock();
  for (ttg::StoreSharedOp store : group.stores) {
    auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
    group.bytes += copiedBytes(alloc);
    for (Operation *access : accessesOf(alloc)) {
      group.threadsRead |= readsByThreads(access);
      Operation *inBlock = block->findAncestorOpInBlock(*access);
      if (access != store && inBlock && (!group.reader || inBlock->isBeforeInBlock(group.reader))) group.reader = inBlock;
    }
  }
  return group;
}

} // namespace tilewright::gpu
