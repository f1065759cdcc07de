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

// ---- tensor cores
/// On a ptx.wgmma_wait (an integer): that many of its last values must be computed before the wait. ptxas moves a wait above arithmetic
/// that does not depend on it, and then nothing is computed while the MMAs run. The wait's assembly names eight of the values, evenly
/// spaced, which makes ptxas compute them first.
constexpr llvm::StringLiteral computeBeforeWaitName = "ptx.compute_before_wait";
/// On such a wait (a unit attribute, overlap-mmas writes it on a ttg.mma_async_wait): its assembly names every value. ptxas may postpone a
/// value without a name.
constexpr llvm::StringLiteral nameEveryValueName = "ptx.name_every_value";

} // namespace tilewright::ptx
