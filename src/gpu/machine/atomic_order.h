// The memory order of an atomic instruction, as the printer and the simulator take it.
#pragma once

#include "gpu/machine/ptx.h"

namespace tilewright::ptx {

inline bool isAcquire(Order order) {
  return order == Order::acquire || order == Order::acq_rel;
}
inline bool isRelease(Order order) {
  return order == Order::release || order == Order::acq_rel;
}

/// Returns the order of the instruction itself: fences around a group of atomics, or before a loop of attempts, may provide the rest.
inline Order ownOrder(AtomicOp op) {
  return op.getFenced() ? Order::relaxed : op.getOrder();
}
inline Order ownOrder(CompareSwapOp op) {
  if (!op.getAlreadyReleased()) return op.getOrder();
  return isAcquire(op.getOrder()) ? Order::acquire : Order::relaxed;
}

} // namespace tilewright::ptx
