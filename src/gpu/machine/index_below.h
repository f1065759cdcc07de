// An index into a tile is masked before it is used, so that a wrong index reads some element of the tile and
// no other memory. A wrong index is still a mistake of the kernel: the first operation that takes the index
// carries this attribute, and the simulator reports an operand that is not below it. It makes no code.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

constexpr llvm::StringLiteral indexBelowName = "ptx.index_below";

} // namespace tilewright::ptx
