// The barriers of MMAs that the threads' first warp issues. An MMA arrives at the barrier of its number, and a wait for all but the latest
// n of the MMAs so far waits for the barrier of the one before these. The number is a value that loops and branches carry. Only the first
// warp, which issues the MMAs, waits: others may differ by more than the two phases of a barrier that can be told apart. It waits for each
// MMA, the oldest first: commits may arrive in any order, so the arrival of a later one does not tell that a barrier has reached its phase.
//   before: for { tcgen05_mma %a, %b, %t    tcgen05_wait 0 }
//   after:  for iter_args(%n = 0) { tcgen05_mma %a, %b, %t at %n    tcgen05_wait 0 at %n + 1    yield %n + 1 }
#pragma once

#include "gpu/schedule/tensor_memory/tensor_columns.h"

namespace tilewright::gpu {

/// Numbers the MMAs of a kernel from `zero` on. Adds waits, so that each wait is for the oldest MMA in flight and few are, and gives
/// `barriers` their count.
void numberMmas(tt::FuncOp function, mlir::Value barriers, mlir::Value zero, const ScaleColumns &scales);

} // namespace tilewright::gpu
