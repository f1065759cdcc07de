// Tensor maps from recipes. The compiler says how a map follows from the arguments of a launch (support/artifact.h); here that becomes what
// the driver's encoder is called with:
//     base slot 0 = 0x7f00, dims {K, M} = {64, 100}, strides {K}, bf16   ->   address 0x7f00, dims {64, 100}, strides {128 bytes}
#pragma once

#include "runtime/cuda/driver.h"
#include "support/artifact.h"
#include "support/result.h"

namespace tilewright::gpu {

/// An empty tensor has no map: there is no extent of 0. Its kernel gets one of a single element, which lies in memory of the launcher's.
constexpr uint64_t standInBytes = 16;

/// The encoder's arguments, or which rule of the hardware they break. `slots` must hold all that the recipe names. The address is 0 where
/// the tensor is empty (or not there): the caller puts that of `standInBytes` bytes, a multiple of 16, which are all zero if the kernel
/// loads from them and which nobody else reads if it stores there.
Result<TensorMapArguments> tensorMapArguments(const TensorMapSpec &spec, llvm::ArrayRef<uint64_t> slots);

} // namespace tilewright::gpu
