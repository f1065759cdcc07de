// A warpgroup that meets only itself has a barrier of its own. A branch between two barriers with constant numbers would make ptxas finish
// all products in front of it, one by one (C7514), so the number is computed: a ptx.barrier with this attribute is the one whose number is
// `id` plus that of the thread's warpgroup.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

constexpr llvm::StringLiteral perWarpGroupName = "ptx.per_warp_group";

} // namespace tilewright::ptx
