// TMA moves tiles that go through tensor maps, to and from buffers in shared memory. Before loads are prefetched, each such load is
// stored to a buffer of its own that TMA can fill, and each store goes through a buffer:
//   before: %x = ttg.descriptor_load %map    store_shared %x, %p    store_shared %x, %q    add %x, ...
//   after:  %x = ttg.descriptor_load %map    store_shared %x, %p    %y = ttg.descriptor_load %map    store_shared %y, %r
//           %z = load_shared %r    add %z, ...
// A tile that threads read is loaded from the buffer right before its first use, so that it takes no registers earlier.
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/staging/stageable.h"
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
  ttg::TmaStoreOp::create(b, loc, *map, store.getCoordinates(), buffer, store.getReduceAttr());
  ttg::TmaStoreWaitOp::create(b, loc, 0);
  store.erase();
  return success();
}

/// A tile that several MMAs read is stored once for each: one buffer does where the layouts agree.
static void mergeBuffers(Operation *load) {
  SmallVector<ttg::StoreSharedOp> stores;
  for (Operation *user : load->getResult(0).getUsers())
    if (auto store = dyn_cast<ttg::StoreSharedOp>(user))
      if (store->getBlock() == load->getBlock() && ownBuffer(store)) stores.push_back(store);
  llvm::sort(stores, [](ttg::StoreSharedOp x, ttg::StoreSharedOp y) { return x->isBeforeInBlock(y); });
  DenseMap<Type, ttg::AllocOp> kept;
  for (ttg::StoreSharedOp store : stores) {
    ttg::AllocOp alloc = ownBuffer(store);
    ttg::AllocOp &same = kept[alloc.getType()];
    if (!same) {
      same = alloc;
      continue;
    }
    same->moveBefore(load);
    eraseStore(store);
    alloc.replaceAllUsesWith(same.getResult());
    alloc.erase();
  }
}

namespace {
struct Readers {
  Operation *first = nullptr;        ///< operation of the block that computes with the tile
  SmallVector<Operation *> shapes{}; ///< between the load and the readers: the same elements in another shape, in order
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

/// A part of the tile is copied only if TMA fills buffers that MMAs alone read. Otherwise, copies all of it.
static void copyWholeTile(ttg::DescriptorLoadOp load) {
  if (load.getCopiedExtent().empty()) return;
  bool forDots = llvm::all_of(load.getResult().getUses(), [&](OpOperand &use) {
    ttg::StoreSharedOp store = directStore(load, use);
    return store && isReadByMmasOnly(store);
  });
  if (forDots) return;
  load.setCopiedExtent({});
  for (Operation *user : load.getResult().getUsers())
    if (auto store = dyn_cast<ttg::StoreSharedOp>(user)) allocOf(store.getBuffer()).setCopiedExtent({});
}

/// Stores the tile to a buffer that TMA can fill, and loads it for the uses as late as possible: where it is first computed with, and not
/// between adjacent stores.
static LogicalResult readThroughBuffer(ttg::DescriptorLoadOp load, ArrayRef<OpOperand *> uses) {
  FailureOr<ttg::BufferType> type = bufferForCopies(load, load.getType(), load.getOrder());
  if (failed(type)) return failure();
  Readers readers = readersOf(uses, load->getBlock());
  for (Operation *shape : readers.shapes)
    shape->moveBefore(readers.first);
  Operation *reader = readers.shapes.empty() ? readers.first : readers.shapes.front();
  while (isa<ttg::StoreSharedOp>(reader) && isa<ttg::StoreSharedOp>(reader->getPrevNode()))
    reader = reader->getPrevNode();
  OpBuilder b(reader);
  Value buffer = ttg::AllocOp::create(b, load.getLoc(), *type);
  ttg::StoreSharedOp::create(b, load.getLoc(), load.getResult(), buffer);
  Value held = ttg::LoadSharedOp::create(b, load.getLoc(), load.getType(), buffer);
  for (OpOperand *use : uses)
    use->set(held);
  return success();
}

/// Afterwards every load through a map has one use: it is stored to a buffer that TMA can fill, in the same block.
static LogicalResult giveBuffers(ttg::DescriptorLoadOp load) {
  copyWholeTile(load);
  SmallVector<OpOperand *> others;
  SmallVector<ttg::StoreSharedOp> direct;
  for (OpOperand &use : load.getResult().getUses()) {
    if (ttg::StoreSharedOp store = directStore(load, use))
      direct.push_back(store);
    else
      others.push_back(&use);
  }
  OpBuilder b(load.getContext());
  b.setInsertionPointAfter(load);
  SmallVector<ttg::DescriptorLoadOp> loads = {load}; // one for each store, and one for all others
  while (loads.size() < direct.size() + !others.empty())
    loads.push_back(cast<ttg::DescriptorLoadOp>(b.clone(*load)));
  for (auto [store, own] : llvm::zip(direct, loads))
    store.getSrcMutable().assign(own);
  return others.empty() ? success() : readThroughBuffer(loads.back(), others);
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
