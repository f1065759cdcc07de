// The tensors of verified host code. They are made from inputs, in guarded memory that is filled with patterns. So unwritten elements, and
// writes outside of a tensor, are found. python/tilewright/_author/tensors.py does the same for NumPy and PyTorch.
#pragma once

#include "api/handles.h"
#include "author/verifier.h"

namespace tilewright {
namespace gpu {
class CudaDevice;
} // namespace gpu

namespace api {

/// An input of one variant, from which a run's tensor is made.
struct Input {
  std::string name, title; // "x"; what messages call it: "x", "tensor 2"
  TwType cType = TW_F32;
  Scalar type = Scalar::fp32;
  std::vector<int64_t> shape, strides; // in elements
  std::string content;                 // in row-major order; for an output, the first pattern
  bool isBlank = false;                // an output

  author::InputProperties properties() const;
};

/// Reads the caller's inputs. A failure names the first one that cannot be used.
Result<std::vector<Input>> readInputs(const TwTensor *tensors, size_t count);
/// Applies a variant to an input.
Input derived(const Input &input, const author::Variant &variant);

/// Memory of one tensor with guard bytes around it, as many as a block of a kernel may write if its mask is missing.
class GuardedTensor {
public:
  /// Allocates the tensor. `pattern` fills inputs without content, `around` the guard bytes. `device`: null for the host's memory. Null,
  /// after an error, if there is no memory.
  static std::unique_ptr<GuardedTensor> create(const Input &input, unsigned char pattern, unsigned char around,
                                               const gpu::CudaDevice *device, Diagnostics &diagnostics);
  ~GuardedTensor();
  GuardedTensor(const GuardedTensor &) = delete;
  GuardedTensor &operator=(const GuardedTensor &) = delete;

  /// Views for host code and for a launch, valid as long as this object.
  TwTensor view() const;
  Argument argument() const;
  /// Waits for the device and copies the tensor from there. False after an error.
  bool fetch(Diagnostics &diagnostics);
  /// Returns the host's copy for the verifier.
  author::VerifiedValue verifiedValue() const;
  bool isUntouchedAround() const;
  /// Returns the memory of an element, by its position in row-major order, of a tensor in the host's memory.
  const char *element(size_t position) const;

private:
  explicit GuardedTensor(const Input &input) : input(input) {}
  std::string bytes() const;
  const Input &input;
  std::shared_ptr<char> storage; // all of it; for a tensor on a device, the copy from the last fetch
  size_t total = 0, begin = 0, size = 0;
  unsigned char around = 0;
  const gpu::CudaDevice *device = nullptr;
  uint64_t onDevice = 0; // the device's copy of `storage`
};

} // namespace api
} // namespace tilewright
