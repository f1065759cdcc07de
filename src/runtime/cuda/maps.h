// Tensor maps from recipes. The compiler describes how a map follows from the arguments of a launch (support/artifact.h); these functions
// compute the arguments of the driver's encoder:
//     base slot 0 = 0x7f00, dims {K, M} = {64, 100}, strides {K}, bf16   ->   address 0x7f00, dims {64, 100}, strides {128 bytes}
#pragma once

#include "runtime/cuda/driver.h"
#include "support/artifact.h"
#include "support/result.h"

namespace tilewright::gpu {

/// An empty tensor has no map, because no extent may be 0. Its kernel gets a map of a single element, in memory that the launcher owns.
constexpr uint64_t standInBytes = 64;

/// Returns the encoder's arguments, or the hardware rule that they violate. `slots` must contain all slots in the recipe. For an empty or
/// absent tensor the address is 0: the caller replaces it by the address of `standInBytes` bytes, a multiple of 32. They must be zero if
/// the kernel loads from them, and not shared with any reader if it stores there.
Result<TensorMapArguments> tensorMapArguments(const TensorMapSpec &spec, llvm::ArrayRef<uint64_t> slots);

} // namespace tilewright::gpu
