// What threads load to registers they load at the top of the iteration before. ptxas moves a load after the arithmetic, which takes fewer
// registers; then the fence waits for it (mxfp8 matmul of 4096 on an H200: a third of all stalls). A barrier of the warp, which no load
// passes, stands after them. Two iterations early would be too early: the loop carries what was loaded from one register to the next, and
// at its end waits for the loads that it has just started (the same MMA, scales alone: more than a third of all stalls).
#include "gpu/machine/ptx.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loop_iterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

Value maskWhere(OpBuilder &b, tt::LoadOp load, Value exists, Value mask) {
  auto tile = cast<RankedTensorType>(load.getType());
  Value all = tt::SplatOp::create(b, load.getLoc(), RankedTensorType::get(tile.getShape(), b.getI1Type(), tile.getEncoding()), exists);
  return mask ? Value(arith::AndIOp::create(b, load.getLoc(), all, mask)) : all;
}

/// The load as the loop needs it elsewhere, where `exists`.
static Value loadOf(OpBuilder &b, tt::LoadOp load, ArrayRef<Value> operands, Value exists) {
  auto copy = cast<tt::LoadOp>(b.clone(*load));
  copy->setOperands(operands);
  b.setInsertionPoint(copy);
  Value mask = maskWhere(b, load, exists, copy.getMask());
  b.setInsertionPointAfter(copy);
  copy.getMaskMutable().assign(mask);
  return copy.getResult();
}

/// Moves the load to the previous iteration, before `insertionPoint`, in a loop that carries the loaded tile.
static void prefetchLoad(LoopSchedule &schedule, tt::LoadOp load, Operation *insertionPoint) {
  OpBuilder b(schedule.loop);
  LoopIterations before(schedule.loop);
  Value first = loadOf(b, load, before.ofIteration(b, load->getOperands(), 0), before.existsIteration(b, 0));
  schedule.loop = withMoreCarried(schedule.loop, first);
  LoopIterations iterations(schedule.loop);
  b.setInsertionPoint(insertionPoint);
  Value next = loadOf(b, load, iterations.later(b, load->getOperands(), 1), iterations.existsLater(b, 1));
  load.replaceAllUsesWith(schedule.loop.getRegionIterArgs().back());
  appendYielded(schedule.loop, next);
  load.erase();
}

void prefetchRegisterLoads(LoopSchedule &schedule, function_ref<Operation *(tt::LoadOp)> after) {
  DenseMap<Operation *, Operation *> barriers; // by what they stand after
  for (tt::LoadOp load : schedule.registerLoads) {
    Operation *before = after ? after(load) : nullptr, *&barrier = barriers[before];
    OpBuilder b = OpBuilder::atBlockBegin(schedule.loop.getBody());
    if (before) b.setInsertionPointAfter(before);
    if (!barrier) barrier = ptx::WarpBarrierOp::create(b, schedule.loop.getLoc());
    if (!widenLoad(schedule, load, schedule.registersForWords, barrier)) prefetchLoad(schedule, load, barrier);
  }
}

} // namespace tilewright::gpu
