// Blocks of a cluster that fill one another's slots (tma_load with a mask of blocks) tell one another when they have read them: an arrival
// at the mbarriers of all blocks, which lie at one address in each.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// An integer attribute of a ptx.mbarrier_arrive: it arrives in that many blocks, which are all blocks of the cluster.
constexpr llvm::StringLiteral inCtasName = "ptx.in_ctas";

} // namespace tilewright::ptx
