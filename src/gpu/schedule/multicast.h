// Tiles that all CTAs of a cluster load: each CTA copies a part to all of them.
#pragma once

#include "gpu/schedule/loop_schedule.h"

namespace tilewright::gpu {

/// True if all CTAs of a cluster load the same tile, in the same iterations of the loops around it.
bool isSameInAllCtas(ttg::DescriptorLoadOp load);
/// True if all CTAs of a cluster load the same tile in every iteration, so
/// that each can bring a part of it (multicast.cpp): only MMAs may read it.
/// `paired`: they are those of a pair (pair_ctas.cpp).
bool isMulticastToAllCtas(const CircularBuffer &circular, const Copy &copy, ttg::ConfigAttr config, bool paired);
/// Why the CTAs of a cluster cannot fill one another's stages, as far as the kernel outside its loops decides that.
std::optional<std::string> multicastObstacle(tt::FuncOp function);

} // namespace tilewright::gpu
