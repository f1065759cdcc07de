// Initializes mbarriers, and tells waits which CTAs arrive at them:
//   before: %full = ttg.alloc_barriers    %empty = ttg.alloc_barriers     after: ..    ttg.init_barriers %full, %empty
#include "gpu/thread/prepare/steps.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// Consecutive allocations are initialized together, after the last of them: ptxas inserts a fence before each branch.
static void initializeBarriers(ttg::AllocBarriersOp op, bool allCtas) {
  Operation *next = op->getNextNode();
  while (isa<arith::ConstantOp, ttg::TensorTileOp>(next))
    next = next->getNextNode();
  if (isa<ttg::AllocBarriersOp>(next)) return;
  SmallVector<Value> run;
  SmallVector<int32_t> arrivals;
  for (Operation *at = op; isa_and_nonnull<arith::ConstantOp, ttg::TensorTileOp, ttg::AllocBarriersOp>(at); at = at->getPrevNode())
    if (auto barriers = dyn_cast<ttg::AllocBarriersOp>(at)) {
      run.push_back(barriers);
      arrivals.push_back(static_cast<int32_t>(barriers.getArrivals()));
    }
  std::reverse(run.begin(), run.end());
  std::reverse(arrivals.begin(), arrivals.end());
  OpBuilder b(op.getContext());
  b.setInsertionPointAfter(op);
  ttg::InitBarriersOp::create(b, op.getLoc(), run, arrivals, allCtas);
}

static bool hasArrivalsOfOtherCtas(Value barriers) {
  return llvm::any_of(barriers.getUsers(), [](Operation *user) {
    auto arrive = dyn_cast<ttg::BarrierArriveOp>(user);
    return arrive && arrive.isForCluster();
  });
}

LogicalResult initializeMbarriers(tt::FuncOp kernel, ttg::ConfigAttr config) {
  bool arriveAtPeers = ttg::partitionsAtEnd(kernel) && config.getCtas() != 1;
  kernel.walk([&](ttg::AllocBarriersOp alloc) { initializeBarriers(alloc, arriveAtPeers); });
  kernel.walk([](ttg::BarrierWaitOp wait) { wait.setFromOtherCtas(hasArrivalsOfOtherCtas(wait.getBarriers())); });
  return success();
}

} // namespace tilewright::gpu
