// The memory order of an atomic instruction, as the printer and the simulator take it.
#pragma once

#include "gpu/machine/ptx.h"

namespace tilewright::ptx {

/// Returns the order of the instruction itself: fences around a group of atomics, or before a loop of attempts, may provide the rest.
inline Order ownOrder(AtomicOp op) {
  return op.getFenced() ? Order::relaxed : op.getOrder();
}
inline Order ownOrder(CompareSwapOp op) {
  if (!op.getAlreadyReleased()) return op.getOrder();
  bool acquires = op.getOrder() == Order::acquire || op.getOrder() == Order::acq_rel;
  return acquires ? Order::acquire : Order::relaxed;
}

} // namespace tilewright::ptx
