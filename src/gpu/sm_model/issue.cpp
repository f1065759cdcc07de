#include "gpu/sm_model/sm.h"

#include <algorithm>

namespace tilewright::gpu::model {

/// Returns when the operands are ready.
double Sm::readyTime(const Warp &warp, const Node &node) const {
  double time = warp.now;
  for (int32_t value : node.waits)
    time = std::max(time, warp.ready[static_cast<size_t>(value)]);
  return time;
}

/// Returns when an instruction can issue. A warp that waits for a unit leaves the issue slots to others.
double Sm::issueTime(size_t index, const Node &node, double time) {
  if (node.issue > 0) time = std::max(time, issueFree[index % schedulers]);
  return node.isAsync ? time : std::max(time, freeOf(node.unit, index) - node.queue * node.occupancy);
}

/// Takes an issue slot and the unit, and sets when the results are ready.
void Sm::issue(Step &step) {
  auto &[index, warp, node, time, waits] = step;
  if (node.isFree()) return step.setReady(readyTime(warp, node)); // instructions that use the result wait for its operands
  double start = time;
  if (node.unit != Unit::allTensorCores && node.unit != Unit::other) {
    double &free = freeOf(node.unit, index);
    start = std::max(time, free);
    free = start + node.occupancy;
    busy[node.unit] += node.occupancy;
  }
  double done = start + node.latency + node.occupancy;
  if (node.unit == Unit::tensorMemory) warp.openTensorAccesses = std::max(warp.openTensorAccesses, done);
  if (node.unit == Unit::tensor && node.isAsync) warp.mmas.open = done, done = time;
  if (node.issue > 0) issueFree[index % schedulers] = time + node.issue, busy.issue += node.issue;
  warp.now = time + node.issue;
  step.setReady(done);
}

} // namespace tilewright::gpu::model
