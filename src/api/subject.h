// Host code that is judged and measured (TwSubject), as verify.cpp and measure.cpp call it.
#pragma once

#include "api/host_call.h"
#include "api/tensors.h"

namespace tilewright::api {

using Tensors = std::vector<std::unique_ptr<GuardedTensor>>;

/// Its inputs for a seed. A failure says what is wrong with them.
Result<std::vector<Input>> inputsOf(const TwSubject &subject, uint64_t seed);

/// Tensors for one call; they refer to the inputs. Nothing after an error.
std::optional<Tensors> makeTensors(const std::vector<Input> &inputs, size_t pattern, const gpu::CudaDevice *device,
                                   Diagnostics &diagnostics);

/// Calls one of its functions. What it failed with, or nothing.
std::optional<std::string> callHost(TwFunction function, void *context, const Tensors &tensors);

/// A failure: nothing could be judged. `options` may be null.
Result<author::Report> verifySubject(const TwSubject &subject, const TwVerifyOptions *options);

/// The address of an element of a tensor in the host's memory.
inline char *elementOf(const TwTensor &tensor, const int64_t *index) {
  int64_t offset = 0;
  for (int32_t axis = 0; axis < tensor.rank; ++axis)
    offset += index[axis] * tensor.strides[axis];
  return static_cast<char *>(tensor.data) + offset * byteSize(scalarOf(tensor.type));
}

} // namespace tilewright::api
