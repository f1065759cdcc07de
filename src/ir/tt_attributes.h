// The discardable attributes of the tt dialect: meaning, operation, writers and readers of each.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::tt {

// ---- hints of the kernel's author, with Triton's names
// On a kernel's argument (an integer), or on the operation that the hint is about (one integer for each dimension). Written by the front
// end from tl.multiple_of, tl.max_contiguous, tl.max_constancy and the signature; specialize-divisibility adds divisibilities. Read by the
// index analyses, assign-layouts and specialize-warps.
constexpr llvm::StringLiteral divisibilityName = "tt.divisibility";
constexpr llvm::StringLiteral contiguityName = "tt.contiguity";
constexpr llvm::StringLiteral constancyName = "tt.constancy";
// On a loop: the options of tl.range. Written by the front end.
/// An integer. Read by pipeline-loops; unroll-loops sets 1 on the loop that handles the remainder.
constexpr llvm::StringLiteral numStagesName = "tt.num_stages";
/// An integer. Read by unroll-loops.
constexpr llvm::StringLiteral unrollFactorName = "tt.loop_unroll_factor";
/// A unit attribute. Read by pipeline-loops.
constexpr llvm::StringLiteral warpSpecializeName = "tt.warp_specialize";
/// Unit attributes that no pass reads.
constexpr llvm::StringLiteral singleBufferName = "tt.disallow_acc_multi_buffer";
constexpr llvm::StringLiteral flattenName = "tt.flatten";
constexpr llvm::StringLiteral noHoistingName = "tt.disable_licm";

// ---- tiles of any size
/// On a function (a unit attribute): its tiles may have sizes that are not powers of two. Written by the front end, read by the verifiers,
/// removed by pad-tiles.
constexpr llvm::StringLiteral anySizeName = "tt.any_size";
/// On a padded tt.dot (two integers: rows, columns) or tt.make_range (one integer): the extent without padding. The other elements may have
/// any value. Written by pad-tiles, read by the passes on tiles of GPUs.
constexpr llvm::StringLiteral validExtentName = "tt.valid_extent";

// ---- the rest
/// On a tt.store (a unit attribute): an earlier persistent loop has stored the same tile with scales in a narrower format, and this store
/// replaces its result. Written by expand-scaled-dots-for-gpus, read by form-descriptors and wait-for-stores.
constexpr llvm::StringLiteral overwritesName = "tt.overwrites";
/// On an scf.for (a unit attribute): a loop of the kernel itself, whose bounds may have any value. Written by lower-to-loops and
/// lower-ptx, read by the lowering to LLVM.
constexpr llvm::StringLiteral kernelLoopName = "tt.kernel_loop";
/// On a tt.print that stands for breakpoint() (strings): the names of its values. Written by the front end, read by the interpreter;
/// compiled kernels have none.
constexpr llvm::StringLiteral breakpointName = "tt.breakpoint";

} // namespace tilewright::tt
