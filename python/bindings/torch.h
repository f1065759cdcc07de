// What launches need from PyTorch, by the fastest way that the PyTorch of this process offers.
#pragma once

#include "core.h"

#include <optional>

namespace tilewright::python {

/// A tensor of PyTorch; sizes and strides, `rank` of each and in elements, belong to the tensor.
struct TorchTensor {
  void *address = nullptr;
  Scalar element{};
  int32_t device = -1; // of CUDA; -1: the CPU's memory
  int64_t rank = 0, *sizes = nullptr, *strides = nullptr;
};

/// A tensor whose type is exactly torch.Tensor or torch.nn.Parameter, if it is on a CPU or a CUDA device, has elements, and those are of a
/// known type.
std::optional<TorchTensor> readTorchTensor(nb::handle tensor);
/// Teaches the element type of such a tensor, which was found by its attributes.
void learnTorchTensor(nb::handle tensor, Scalar scalar);

/// PyTorch's current stream of a CUDA device; nothing if this process has no PyTorch with CUDA.
std::optional<uint64_t> torchStream(int64_t device);

} // namespace tilewright::python
