// Tiles that go through tensor maps are moved by TMA, to and from buffers in shared memory. Before anything runs ahead, each
// such load is stored to a buffer that TMA can fill, by itself, and each store goes by way of a buffer:
//   before: %x = ttg.descriptor_load %map    store_shared %x, %p    store_shared %x, %q    add %x, ...
//   after:  %x = ttg.descriptor_load %map    store_shared %x, %p    %y = ttg.descriptor_load %map    store_shared %y, %r
//           %z = load_shared %r    add %z, ...
// A tile that threads read is loaded right before its first use, so that it takes no registers earlier.
#include "gpu/schedule/buffers.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::gpu {

//   before: ttg.descriptor_store %t to %map[...]
//   after:  ttg.store_shared %t, %p    ttg.fence_async    ttg.tma_store %p to %map    ttg.tma_store_wait 0
static LogicalResult bufferStore(tt::FuncOp function, ttg::DescriptorStoreOp store) {
  FailureOr<ttg::BufferType> type = bufferForCopies(store, store.getSrc().getType(), store.getOrder());
  if (failed(type)) return failure();
  FailureOr<Value> map = mapFor(function, store, store.getMap(), store.getCoordinates().size(), *type, store.getOrder(), BoxParts());
  if (failed(map)) return failure();
  Location loc = store.getLoc();
  OpBuilder b(store);
  Value buffer = ttg::AllocOp::create(b, loc, *type);
  ttg::StoreSharedOp::create(b, loc, store.getSrc(), buffer);
  ttg::FenceAsyncOp::create(b, loc);
  ttg::TmaStoreOp::create(b, loc, *map, store.getCoordinates(), buffer, store.getReduceAttr(), /*perWarpGroup=*/UnitAttr());
  ttg::TmaStoreWaitOp::create(b, loc, 0);
  store.erase();
  return success();
}

/// The buffer that is filled from `store` alone, or null.
static ttg::AllocOp ownBuffer(ttg::StoreSharedOp store) {
  auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
  if (!alloc || alloc.getType().getDepth() != 1) return {};
  for (Operation *access : accessesOf(alloc))
    if (access != store && !isa<ttg::LoadSharedOp, ttg::FmaDotOp, ttg::MmaAsyncOp>(access)) return {};
  return alloc;
}

/// A tile that several MMAs read is stored once for each: one buffer does where the layouts agree.
static void mergeBuffers(Operation *load) {
  SmallVector<ttg::StoreSharedOp> stores;
  for (Operation *user : load->getResult(0).getUsers())
    if (auto store = dyn_cast<ttg::StoreSharedOp>(user))
      if (store->getBlock() == load->getBlock() && ownBuffer(store)) stores.push_back(store);
  llvm::sort(stores, [](ttg::StoreSharedOp x, ttg::StoreSharedOp y) { return x->isBeforeInBlock(y); });
  for (size_t i = 0; i < stores.size(); ++i) {
    ttg::AllocOp merged = ownBuffer(stores[i]);
    if (!merged) continue;
    for (size_t j = i + 1; j < stores.size();) {
      ttg::AllocOp other = ownBuffer(stores[j]);
      if (other.getType() != merged.getType()) {
        ++j;
        continue;
      }
      merged->moveBefore(load);
      eraseStore(stores[j]);
      other.replaceAllUsesWith(merged.getResult());
      other.erase();
      stores.erase(stores.begin() + static_cast<ptrdiff_t>(j));
    }
  }
}

namespace {
struct Readers {
  Operation *first = nullptr;        ///< of the block: it computes with the tile
  SmallVector<Operation *> shapes{}; ///< on the way to the readers: the same elements in another shape, in order
};
} // namespace

static Readers readersOf(ArrayRef<OpOperand *> uses, Block *block) {
  Readers readers;
  SmallVector<OpOperand *> left(uses);
  for (size_t i = 0; i < left.size(); ++i) {
    Operation *op = left[i]->getOwner();
    if (op->getBlock() == block && isa<tt::ExpandDimsOp, tt::BroadcastOp>(op)) {
      readers.shapes.push_back(op);
      for (OpOperand &use : op->getResult(0).getUses())
        left.push_back(&use);
      continue;
    }
    Operation *here = block->findAncestorOpInBlock(*op);
    if (!readers.first || here->isBeforeInBlock(readers.first)) readers.first = here;
  }
  return readers;
}

/// The store of a load's tile to a buffer that TMA can fill, where the use is one; or null.
static ttg::StoreSharedOp directStore(ttg::DescriptorLoadOp load, OpOperand &use) {
  auto store = dyn_cast<ttg::StoreSharedOp>(use.getOwner());
  ttg::AllocOp alloc = store && store->getBlock() == load->getBlock() ? ownBuffer(store) : ttg::AllocOp();
  bool isDirect = alloc && boxOf(alloc.getType(), load.getOrder()) &&
                  alloc.getType().getElementType() == cast<RankedTensorType>(load.getType()).getElementType();
  return isDirect ? store : ttg::StoreSharedOp();
}

/// Less than the tile is copied only where TMA fills the buffers that MMAs read.
static void copyWholeTile(ttg::DescriptorLoadOp load) {
  if (load.getCopiedExtent().empty()) return;
  bool forDots = llvm::all_of(load.getResult().getUses(), [&](OpOperand &use) {
    ttg::StoreSharedOp store = directStore(load, use);
    return store &&
           llvm::all_of(accessesOf(ownBuffer(store)), [&](Operation *access) { return access == store || isa<ttg::MmaAsyncOp>(access); });
  });
  if (forDots) return;
  load.setCopiedExtent({});
  for (Operation *user : load.getResult().getUsers())
    if (auto store = dyn_cast<ttg::StoreSharedOp>(user)) allocOf(store.getBuffer()).setCopiedExtent({});
}

/// Afterwards every load through a map has one use: it is stored to a buffer that TMA can fill, in the same block.
static LogicalResult giveBuffers(ttg::DescriptorLoadOp load) {
  SmallVector<OpOperand *> others;
  SmallVector<ttg::StoreSharedOp> direct;
  copyWholeTile(load);
  for (OpOperand &use : load.getResult().getUses()) {
    if (ttg::StoreSharedOp store = directStore(load, use))
      direct.push_back(store);
    else
      others.push_back(&use);
  }
  Location loc = load.getLoc();
  OpBuilder b(load.getContext());
  b.setInsertionPointAfter(load);
  bool taken = false;
  auto another = [&]() -> Value {
    if (!taken) return taken = true, load.getResult();
    return b.clone(*load)->getResult(0);
  };
  for (ttg::StoreSharedOp store : direct)
    store.getSrcMutable().assign(another());
  if (others.empty()) return success();
  FailureOr<ttg::BufferType> type = bufferForCopies(load, load.getType(), load.getOrder());
  if (failed(type)) return failure();
  Value source = another();
  // As late as may be: where it is first computed with, and not between stores that stand together.
  Readers readers = readersOf(others, load->getBlock());
  for (Operation *shape : readers.shapes)
    shape->moveBefore(readers.first);
  Operation *reader = readers.shapes.empty() ? readers.first : readers.shapes.front();
  while (isa<ttg::StoreSharedOp>(reader) && isa<ttg::StoreSharedOp>(reader->getPrevNode()))
    reader = reader->getPrevNode();
  b.setInsertionPoint(reader);
  Value buffer = ttg::AllocOp::create(b, loc, *type);
  ttg::StoreSharedOp::create(b, loc, source, buffer);
  Value held = ttg::LoadSharedOp::create(b, loc, load.getType(), buffer);
  for (OpOperand *use : others)
    use->set(held);
  return success();
}

static LogicalResult stageTmaTransfers(tt::FuncOp function) {
  SmallVector<ttg::DescriptorStoreOp> stores;
  function.walk([&](ttg::DescriptorStoreOp store) { stores.push_back(store); });
  for (ttg::DescriptorStoreOp store : stores)
    if (failed(bufferStore(function, store))) return failure();
  SmallVector<Operation *> loads;
  function.walk([&](Operation *op) {
    if (isa<ttg::DescriptorLoadOp, tt::LoadOp>(op) && isa<RankedTensorType>(op->getResult(0).getType())) loads.push_back(op);
  });
  for (Operation *load : loads) {
    mergeBuffers(load);
    if (auto descriptor = dyn_cast<ttg::DescriptorLoadOp>(load))
      if (failed(giveBuffers(descriptor))) return failure();
  }
  return success();
}

LogicalResult stageTmaTransfers(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module,
                                   [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &) { return stageTmaTransfers(function); });
}

} // namespace tilewright::gpu
