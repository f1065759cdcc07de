// The levels of 64-bit ARM CPUs.
#pragma once

#include "support/target.h"

#include <vector>

namespace tilewright {

/// Returns the levels of AArch64 CPUs, from the smallest: armv8, neon, neon-dot, sve, sve256.
const std::vector<CpuTarget (*)()> &armLevels();

/// Returns the highest level that this machine runs, but not above the level named `limit` (empty: no limit). On other machines the
/// result is the lowest level.
CpuTarget detectArm(std::string_view limit);

} // namespace tilewright
