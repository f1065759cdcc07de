// A load of the words around what is wanted: bytes of it may lie outside of every tensor, and nobody uses those. No access of aligned
// words that holds one byte of a tensor can fail, because memory is given out in larger pieces.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// Of a ptx.load_global (a unit attribute): the simulator looks at those of its bytes alone that lie in a tensor.
constexpr llvm::StringLiteral coveringName = "ptx.covering";

} // namespace tilewright::ptx
