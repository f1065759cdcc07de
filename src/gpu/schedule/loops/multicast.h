// Tiles that all CTAs of a cluster load: each CTA copies a part to all of them.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/ttg/copied_boxes.h"

namespace tilewright::gpu {

/// True if all CTAs of a cluster load the same tile, in the same iterations of the loops around it.
bool isSameInAllCtas(ttg::DescriptorLoadOp load);
/// Returns the part of a tile that each CTA of a cluster brings to all of them, if they load the same tile in every iteration
/// (multicast.cpp). Null if they do not; only MMAs may read it. `paired`: they are those of a pair (pair_ctas.cpp).
std::optional<BoxParts> multicastParts(const CircularBuffer &circular, const Copy &copy, ttg::ConfigAttr config, bool paired);
/// True if the CTAs of a program may need a barrier on the way: then they cannot fill one another's stages.
bool ctasMayNeedBarrier(tt::FuncOp function);

} // namespace tilewright::gpu
