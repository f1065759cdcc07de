// A product that accumulates in place is waited for only when the next one has been started: tensor cores never idle over the back edge.
//   before: for i { d = product i of c    wait 0    yield d }
//   after:  for i { d = product i of c    wait 1: product i - 1 is over    yield d }    wait 0
#include "gpu/schedule/pipeline.h"

using namespace mlir;

namespace tilewright::gpu {

Operation *runOn(LoopSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  OpBuilder b(loop.getContext());
  SmallVector<Value> sums;
  for (ttg::WgmmaOp product : schedule.inFlight) {
    auto wait = cast<ttg::WgmmaWaitOp>(*product.getD().user_begin());
    unsigned index = product.getD().getUses().begin()->getOperandNumber();
    sums.push_back(loop.getTiedLoopResult(cast<BlockArgument>(product.getC())));
    wait.getResults()[index].replaceAllUsesWith(product.getD());
  }
  SmallVector<ttg::WgmmaWaitOp> waits(loop.getBody()->getOps<ttg::WgmmaWaitOp>());
  for (ttg::WgmmaWaitOp wait : waits)
    wait.erase();
  ttg::WgmmaOp last = schedule.inFlight.back();
  b.setInsertionPointAfter(last);
  auto retire = ttg::WgmmaWaitOp::create(b, last.getLoc(), TypeRange(), static_cast<int32_t>(schedule.inFlight.size()), ValueRange());
  b.setInsertionPointAfter(loop);
  auto drain = ttg::WgmmaWaitOp::create(b, last.getLoc(), TypeRange(ValueRange(sums)), 0, sums);
  for (auto [sum, drained] : llvm::zip(sums, drain.getResults()))
    sum.replaceAllUsesExcept(drained, drain);
  return retire;
}

} // namespace tilewright::gpu
