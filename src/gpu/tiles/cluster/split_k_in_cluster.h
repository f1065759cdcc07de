// In-cluster split-K for a dot with few rows in a loop over K. Each CTA of the cluster computes a part of each K step, and the CTAs add
// their sums after the loop. So a few tiles with a long K occupy all SMs, and no two CTAs load the same data.
//   before: for k { %acc = tt.dot %a, %b, %acc }   use %acc
//   after:  for k { %acc = tt.dot %a, %b, %acc }   %sum = tt.reshape %acc   use %sum
// The reshape to the same shape stands for the sum until split-ctas turns it into a DSMEM exchange.
#pragma once

#include "ir/tt.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// Returns the loop result that holds the dot's accumulated sum. Null unless the sum starts with zeros and is unused inside the loop.
std::optional<mlir::OpResult> sumOf(tt::DotOp dot);

/// The dots that the CTAs split along K, and the reshapes that stand for the sums of the CTAs' tiles.
struct SplitK {
  llvm::SmallPtrSet<mlir::Operation *, 2> dots, sums;
};
/// Returns the dots of a kernel if its CTAs split all of them along K. Each dot has too few rows for a wgmma in every CTA. Its sum starts
/// with zeros, is carried by a loop and is used only after the loop. Every CTA has accumulators for the whole sum, so one CTA must be able
/// to hold them.
SplitK splitKOf(tt::FuncOp function, int64_t ctas, const GpuTarget &target);
/// Does the same, and inserts the sums.
SplitK splitK(tt::FuncOp function, int64_t ctas, const GpuTarget &target);

} // namespace tilewright::gpu
