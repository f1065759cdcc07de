// Tensor maps from recipes. The compiler says how a map follows from the arguments of a launch
// (support/artifact.h); these functions turn that into the arguments of the driver's encoder:
//     base slot 0 = 0x7f00, dims {K, M} = {64, 100}, strides {K}, bf16   ->   address 0x7f00, dims {64, 100}, strides {128 bytes}
#pragma once

#include "runtime/cuda/driver.h"
#include "support/artifact.h"
#include "support/result.h"

namespace tilewright::gpu {

/// An empty tensor has no map, because no extent may be 0. Its kernel gets a map of a single element, in memory that the launcher owns.
constexpr uint64_t standInBytes = 16;

/// The encoder's arguments, or the rule of the hardware that they break. `slots` must contain all slots that the recipe
/// names. The address is 0 where the tensor is empty (or absent): the caller replaces it by that of `standInBytes` bytes,
/// a multiple of 16, which must be zero if the kernel loads from them, and which nobody else may read if it stores there.
Result<TensorMapArguments> tensorMapArguments(const TensorMapSpec &spec, llvm::ArrayRef<uint64_t> slots);

} // namespace tilewright::gpu
