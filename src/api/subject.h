// Host code to verify and measure (TwSubject), as verify.cpp and measure.cpp call it.
#pragma once

#include "api/host_call.h"
#include "api/tensors.h"

namespace tilewright::api {

using Tensors = std::vector<std::unique_ptr<GuardedTensor>>;

/// Copies a caller's subject. Nothing after an error; `purpose`: "verify", "measure".
std::optional<TwSubject> readSubject(const TwSubject *given, const char *purpose, TwError **error);

/// Returns the inputs for a seed. A failure names the error in them.
Result<std::vector<Input>> inputsOf(const TwSubject &subject, uint64_t seed);

/// Makes the tensors of one call, which refer to the inputs. Nothing after an error.
std::optional<Tensors> makeTensors(const std::vector<Input> &inputs, size_t pattern, const gpu::CudaDevice *device,
                                   Diagnostics &diagnostics);

/// Calls one of its functions. Returns its error, or nothing.
std::optional<std::string> callHost(TwFunction function, void *context, const Tensors &tensors);

/// Verifies the subject. Fails if there is nothing to verify. `options` may be null.
Result<author::Report> verifySubject(const TwSubject &subject, const TwVerifyOptions *options);

/// Returns the address of an element of a tensor in the host's memory.
inline char *addressOf(const TwTensor &tensor, const int64_t *index) {
  int64_t offset = 0;
  for (int32_t axis = 0; axis < tensor.rank; ++axis)
    offset += index[axis] * tensor.strides[axis];
  return static_cast<char *>(tensor.data) + offset * byteSize(scalarOf(tensor.type));
}

} // namespace tilewright::api
