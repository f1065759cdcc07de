// Tiles that all CTAs of a cluster load: each CTA copies a part to all of them.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// True if all CTAs of a cluster load the same tile, in the same iterations of the loops around it.
bool isSameInAllCtas(ttg::DescriptorLoadOp load);
/// True if all CTAs of a cluster load the same tile in every iteration, so
/// that each can bring a part of it (multicast.cpp): only MMAs may read it.
/// `paired`: they are those of a pair (pair_ctas.cpp).
bool isMulticastToAllCtas(const CircularBuffer &circular, const Copy &copy, ttg::ConfigAttr config, bool paired);
/// True if the CTAs of a program may need a barrier on the way: then they cannot fill one another's stages.
bool ctasMayNeedBarrier(tt::FuncOp function);
/// Returns an i1, whether this is the CTA of a pair that starts the MMAs of both: the first one.
mlir::Value isPairLeader(mlir::OpBuilder &b, mlir::Location loc);

} // namespace tilewright::gpu
