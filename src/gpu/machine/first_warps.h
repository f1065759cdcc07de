// A warpgroup may have less to multiply than the others: of 192 rows one of two has 128.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// Of a ptx.wgmma (an integer): only so many of the block's first warps take part, whole warpgroups. For the others d is c.
constexpr llvm::StringLiteral partialWarpsName = "ptx.partial_warps";

} // namespace tilewright::ptx
