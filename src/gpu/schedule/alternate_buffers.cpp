// A product's operand that threads compute, from smaller numbers or from what was loaded to registers, goes through a buffer. With one
// buffer threads and tensor cores take turns; with two, threads fill one while the product before reads the other:
//   before: for i { compute    sync    store to %p    fence    sync    start product i    wait 0 }
//   after:  for i { compute    store to %p[i mod 2]   fence    sync    start product i    wait 1: product i - 1 is over    sync }
// Slot i mod 2 was read by product i - 2. Its warp has waited for it behind product i - 1, and the last sync has shown that to all.
#include "gpu/schedule/pipeline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

static bool isCopied(const LoopSchedule &schedule, Operation *load) {
  return llvm::any_of(schedule.rings,
                      [&](const Ring &ring) { return llvm::any_of(ring.copies, [&](const Copy &copy) { return copy.load == load; }); });
}

/// The sync in front of a row of stores, if all of them go to such buffers or become copies that run ahead: those wait for themselves.
static ttg::SyncOp syncBefore(const LoopSchedule &schedule, ttg::StoreSharedOp store) {
  auto waitsForItself = [&](ttg::StoreSharedOp each) {
    return isCopied(schedule, each.getSrc().getDefiningOp()) || llvm::is_contained(schedule.computed, each);
  };
  for (Operation *op = store->getNextNode(); auto next = dyn_cast_or_null<ttg::StoreSharedOp>(op); op = op->getNextNode())
    if (!waitsForItself(next)) return {};
  Operation *op = store;
  for (; auto before = dyn_cast_or_null<ttg::StoreSharedOp>(op); op = op->getPrevNode())
    if (!waitsForItself(before)) return {};
  return dyn_cast_or_null<ttg::SyncOp>(op);
}

static void alternateBuffers(LoopSchedule &schedule) {
  scf::ForOp old = schedule.loop;
  Location loc = old.getLoc();
  OpBuilder b(old);
  auto number = [&](int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value))); };
  if (!isa<tt::FuncOp>(old->getParentOp())) ttg::SyncOp::create(b, loc); // behind the readers of the loop's last run
  scf::ForOp loop = schedule.loop = withMoreCarried(old, ValueRange(Value(number(0))));
  Value slot = loop.getRegionIterArgs().back();
  for (ttg::StoreSharedOp store : schedule.computed)
    if (ttg::SyncOp sync = syncBefore(schedule, store)) sync.erase();
  for (ttg::StoreSharedOp store : schedule.computed) {
    ttg::AllocOp alloc = allocOf(store.getBuffer());
    ttg::BufferType type = alloc.getType();
    b.setInsertionPoint(loop);
    Value both = ttg::AllocOp::create(b, alloc.getLoc(), ttg::BufferType::get(b.getContext(), 2, type.getElementType(), type.getLayout()));
    b.setInsertionPointToStart(loop.getBody());
    alloc.getResult().replaceAllUsesWith(ttg::SlotOp::create(b, alloc.getLoc(), type, both, slot));
    alloc.erase();
  }
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  b.setInsertionPoint(yield);
  Value next = arith::XOrIOp::create(b, loc, slot, number(1));
  yield->insertOperands(yield->getNumOperands(), next);
}

static Value bothHold(OpBuilder &b, Location loc, Value exists, Value mask, RankedTensorType tile) {
  auto bits = RankedTensorType::get(tile.getShape(), b.getI1Type(), tile.getEncoding());
  Value all = tt::SplatOp::create(b, loc, bits, exists);
  return mask ? Value(arith::AndIOp::create(b, loc, all, mask)) : all;
}

/// The load as the loop needs it elsewhere, where `exists`.
static Value loadOf(OpBuilder &b, tt::LoadOp load, ArrayRef<Value> operands, Value exists) {
  auto copy = cast<tt::LoadOp>(b.clone(*load));
  copy->setOperands(operands);
  b.setInsertionPoint(copy);
  Value mask = bothHold(b, load.getLoc(), exists, copy.getMask(), cast<RankedTensorType>(load.getType()));
  b.setInsertionPointAfter(copy);
  copy.getMaskMutable().assign(mask);
  return copy.getResult();
}

static void loadAhead(LoopSchedule &schedule, int64_t registers) {
  SmallVector<tt::LoadOp> loads;
  for (auto load : schedule.loop.getBody()->getOps<tt::LoadOp>()) {
    if (!isa<RankedTensorType>(load.getType()) || isCopied(schedule, load)) continue;
    if (load.getIsVolatile() || mayBeWritten(load, schedule.loop)) continue;
    LoopIterations iterations(schedule.loop);
    if (!llvm::all_of(load->getOperands(), [&](Value operand) { return iterations.canClone(operand); })) continue;
    registers -= registersOf(load.getType());
    loads.push_back(load);
  }
  if (registers < 0) return;
  for (tt::LoadOp load : loads) {
    OpBuilder b(schedule.loop);
    LoopIterations before(schedule.loop);
    Value first = loadOf(b, load, before.ofIteration(b, load->getOperands(), 0), before.existsIteration(b, 0));
    schedule.loop = withMoreCarried(schedule.loop, first);
    LoopIterations iterations(schedule.loop);
    b.setInsertionPoint(load);
    Value next = loadOf(b, load, iterations.later(b, load->getOperands(), 1), iterations.existsLater(b, 1));
    load.replaceAllUsesWith(schedule.loop.getRegionIterArgs().back());
    Operation *yield = schedule.loop.getBody()->getTerminator();
    yield->insertOperands(yield->getNumOperands(), next);
    load.erase();
  }
}

void overlapComputing(LoopSchedule &schedule, int64_t registers) {
  alternateBuffers(schedule);
  loadAhead(schedule, registers);
  if (!schedule.rings.empty()) return; // the pipeline lets the products run on
  OpBuilder b(schedule.loop);
  b.setInsertionPointAfter(runOn(schedule));
  ttg::SyncOp::create(b, schedule.loop.getLoc());
}

} // namespace tilewright::gpu
