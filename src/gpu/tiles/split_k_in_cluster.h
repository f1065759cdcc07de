// In-cluster split-K for a dot with few rows in a loop over K. Each CTA of the cluster computes a part of each K step, and the CTAs add
// their sums after the loop. So a few tiles with a long K occupy all SMs, and no two CTAs load the same data.
//   before: for k { %acc = tt.dot %a, %b, %acc }   use %acc
//   after:  for k { %acc = tt.dot %a, %b, %acc {ttg.split_k} }   %sum = tt.reshape %acc {ttg.cluster_reduce}   use %sum
// The reshape to the same shape stands for the sum until split-ctas turns it into a DSMEM exchange.
#pragma once

#include "ir/tt.h"

#include <optional>

namespace tilewright::gpu {

constexpr int64_t warpgroupRows = 64; // M of one wgmma

/// Returns the loop result that holds the dot's accumulated sum. Null unless the sum starts with zeros and is unused inside the loop.
std::optional<mlir::OpResult> sumOf(tt::DotOp dot);

/// True if `blocks` CTAs split all dots of a kernel along K. Each dot has too few rows for a wgmma in every CTA. Its sum starts with zeros,
/// is carried by a loop and is used only after the loop.
bool isSplitK(tt::FuncOp function, int64_t blocks);

/// Marks the dots of such a kernel with `ttg.split_k`.
void splitK(tt::FuncOp function, int64_t blocks);

} // namespace tilewright::gpu
