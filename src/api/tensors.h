// The tensors of host code that is judged: made from inputs, in memory that is guarded, so that what a kernel does not write still has a
// pattern, and what it writes outside of a tensor is seen. As python/tilewright/_author/tensors.py does it for NumPy and PyTorch.
#pragma once

#include "api/handles.h"
#include "author/verifier.h"

namespace tilewright {
namespace gpu {
class CudaDevice;
} // namespace gpu

namespace api {

/// An input of one variant: what a run's tensor is made from.
struct Input {
  std::string name, title; // "x"; what messages call it: "x", "tensor 2"
  TwType cType = TW_F32;
  Scalar type = Scalar::fp32;
  std::vector<int64_t> shape, strides; // in elements
  std::string content;                 // in row-major order; of an output the first pattern
  bool isBlank = false;                // an output

  author::InputProperties facts() const;
};

/// The inputs as they are given. A failure says which of them cannot be used.
Result<std::vector<Input>> readInputs(const TwTensor *tensors, size_t count);
/// What a variant makes of them.
Input derived(const Input &input, const author::Variant &variant);

/// Memory of one tensor, with as many bytes of another kind around it as a block of a kernel may write that misses its mask.
class GuardedTensor {
public:
  /// `pattern`: what it holds where the input has no content. `around`: the bytes around it. `device`: null for the host's memory. Null,
  /// after an error, where there is no memory.
  static std::unique_ptr<GuardedTensor> create(const Input &input, unsigned char pattern, unsigned char around,
                                               const gpu::CudaDevice *device, Diagnostics &diagnostics);
  ~GuardedTensor();
  GuardedTensor(const GuardedTensor &) = delete;
  GuardedTensor &operator=(const GuardedTensor &) = delete;

  /// For host code, and for a launch; valid as long as this.
  TwTensor view() const;
  Argument argument() const;
  /// Brings what is in a device's memory here, when all that was launched is done. False after an error.
  bool fetch(Diagnostics &diagnostics);
  /// As it is here now.
  author::VerifiedOutput judged() const;
  bool isUntouchedAround() const;
  /// The memory of an element, by its place in row-major order; of a tensor of the host.
  const char *element(size_t place) const;

private:
  explicit GuardedTensor(const Input &input) : input(input) {}
  std::string bytes() const;
  const Input &input;
  std::shared_ptr<char> storage; // all of it; of a tensor of a device what was there when it was fetched
  size_t total = 0, begin = 0, size = 0;
  unsigned char around = 0;
  const gpu::CudaDevice *device = nullptr;
  uint64_t onDevice = 0; // the address of `storage` there
};

/// The words of NumPy: "float32", "bool", "float8_e5m2".
std::string typeName(Scalar type);

} // namespace api
} // namespace tilewright
