// What launches need of PyTorch, by the fastest way that the PyTorch of this process has.
#pragma once

#include "core.h"

#include <optional>

namespace tilewright::python {

/// A tensor whose type is exactly torch.Tensor or torch.nn.Parameter, if it is on a CUDA device and of an element type that was learnt.
std::optional<Argument> readTorchTensor(nb::handle tensor);
/// Tells the element type of such a tensor, found by its attributes.
void learnTorchTensor(nb::handle tensor, Scalar scalar);

/// PyTorch's current stream of a CUDA device; nothing if this process has no PyTorch with CUDA.
std::optional<uint64_t> torchStream(int64_t device);

} // namespace tilewright::python
