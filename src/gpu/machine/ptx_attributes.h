// The discardable attributes of the ptx dialect: what each means, on which operation it stands, who writes it and who reads it. Unless
// stated otherwise, lower-to-threads writes them, and lower-ptx and the simulator read them.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// On a function (a Kernel attribute): it is the program of one thread. choose-occupancy completes it.
constexpr llvm::StringLiteral kernelName = "ptx.kernel";

// ---- checks
/// On the first operation that takes an index into a tile (an integer, exclusive upper bound). Indices are masked before use, so a wrong
/// one reads another element of the tile. The simulator reports it as an error of the kernel; lower-ptx emits no code for it.
constexpr llvm::StringLiteral indexBelowName = "ptx.index_below";

} // namespace tilewright::ptx
