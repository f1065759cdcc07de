// MMAs in flight, and accesses to tensor memory. An mma.sync does nothing besides its costs.
#include "gpu/sm_model/sm.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::gpu::model {

void Sm::commitMmas(Step &step) {
  step.warp.mmas.commit();
}

void Sm::waitForMmas(Step &step) {
  if (step.warp.mmas.wait(cast<ptx::WgmmaWaitOp>(step.node.op).getPending(), step.warp.now)) step.warp.now += mmaLatency;
  step.setReady(step.warp.now);
}

/// A tcgen05.mma: all tensor cores execute it, after those before it. What it reads of shared memory can take longer.
void Sm::multiplyTogether(Step &step) {
  if (!step.warp.lanesWhere(cast<ptx::Tcgen05MmaOp>(step.node.op).getPredicate())) return;
  auto &tensorFree = free[static_cast<size_t>(Unit::tensor)];
  double from = std::max(step.time, *llvm::max_element(tensorFree));
  tensorFree.fill(from + std::max(step.node.occupancy, step.node.sharedCycles));
  step.warp.mmas.open = tensorFree[0];
  busy[Unit::tensor] += schedulers * step.node.occupancy;
  busy[Unit::shared] += step.node.sharedCycles;
}

/// A tcgen05.cp reads shared memory, and delays no MMA.
void Sm::readOperands(Step &step) {
  if (step.warp.lanesWhere(cast<ptx::Tcgen05CpOp>(step.node.op).getPredicate())) busy[Unit::shared] += step.node.sharedCycles;
}

void Sm::commitToMbarrier(Step &step) {
  auto commit = cast<ptx::Tcgen05CommitOp>(step.node.op);
  arrive(mbarrierAt(step, commit.getBarrier(), commit.getPredicate()), 1, 0, std::max(step.time, step.warp.mmas.open + mmaLatency));
}

void Sm::waitForTensorMemory(Step &step) {
  step.warp.now = std::max(step.warp.now, step.warp.openTensorAccesses);
}

} // namespace tilewright::gpu::model
