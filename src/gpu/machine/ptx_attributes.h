// The discardable attributes of the ptx dialect: what each means, on which operation it stands, who writes it and who reads it. Unless
// stated otherwise, lower-to-threads writes them, and lower-ptx and the simulator read them.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::ptx {

/// On a function (a Kernel attribute): it is the program of one thread.
constexpr llvm::StringLiteral kernelName = "ptx.kernel";

// ---- memory
/// On a ptx.load_global (a unit attribute): it loads the aligned words around the needed bytes, so some bytes may lie outside every tensor;
/// they are not used. An aligned word that contains one byte of a tensor can always be read, because allocations are larger. The simulator
/// checks only the bytes inside a tensor.
constexpr llvm::StringLiteral unalignedName = "ptx.unaligned";
/// On a tt.load, then on its ptx.load_global (a unit attribute): the load was hoisted above a branch to run while the branch waits. It
/// becomes inline assembly, because LLVM would sink it again. Written by hoist-loads.
constexpr llvm::StringLiteral hoistedName = "ptx.hoisted";
/// On a ptx.compare_swap (a unit attribute): a ptx.fence has already released the program's writes, and only such retries have written
/// since. A retried lock releases once, before its first attempt.
constexpr llvm::StringLiteral alreadyReleasedName = "ptx.already_released";
/// On the first operation that takes an index into a tile (an integer, exclusive upper bound). Indices are masked before use, so a wrong
/// one reads another element of the tile. The simulator reports it as an error of the kernel; lower-ptx emits no code for it.
constexpr llvm::StringLiteral indexBelowName = "ptx.index_below";

// ---- barriers
/// On a ptx.barrier (a unit attribute): its number is `id` plus the number of the thread's warp group. A branch between two barriers with
/// constant numbers would make ptxas wait for all MMAs before it (C7514).
constexpr llvm::StringLiteral perWarpGroupName = "ptx.per_warp_group";
/// On a ptx.mbarrier_arrive (an integer, the number of CTAs of the cluster): it arrives at the same barrier in every CTA of the cluster.
constexpr llvm::StringLiteral inCtasName = "ptx.in_ctas";

// ---- tensor cores
/// On a ptx.wgmma (an integer, a multiple of a warp group): only that many of the CTA's first warps take part. For the others d is c.
constexpr llvm::StringLiteral partialWarpsName = "ptx.partial_warps";
/// On a ptx.wgmma_wait (an integer): that many of its last values must be computed before the wait. ptxas moves a wait above arithmetic
/// that does not depend on it, and then nothing is computed while the MMAs run. The wait's assembly names eight of the values, evenly
/// spaced, which makes ptxas compute them first.
constexpr llvm::StringLiteral computeBeforeWaitName = "ptx.compute_before_wait";
/// On such a wait (a unit attribute, overlap-mmas writes it on a ttg.wgmma_wait): its assembly names every value. ptxas may postpone a
/// value without a name.
constexpr llvm::StringLiteral nameEveryValueName = "ptx.name_every_value";

} // namespace tilewright::ptx
