// What a tensor of a GPU held before any configuration ran, and what the first one left there. Both stay on the GPU and are compared
// there, by kernels in the tile language (compare_tensors.py): copying 256 MB to the host takes longer than tuning ten configurations.
#pragma once

#include "runtime/kernel.h"

#include <memory>
#include <optional>

namespace tilewright {

/// How near two numbers have to be to count as the same: a part of the element, and one of a typical element of its tensor (the root of
/// their mean square).
struct Closeness {
  double ofElement, ofTypical;
};

class CardCopy {
public:
  /// Keeps the present contents. Null where there is no memory for that.
  static std::unique_ptr<CardCopy> create(const Argument &tensor);
  ~CardCopy();
  CardCopy(const CardCopy &) = delete;
  CardCopy &operator=(const CardCopy &) = delete;

  /// Restores the tensor.
  void restore() const;
  /// From now on the present contents count as right.
  void expect();
  /// Whether the tensor is as expected; floats must be as close as
  /// `near` says, if it does. Null where this cannot be decided here.
  std::optional<bool> isAsExpected(std::optional<Closeness> near) const;
  std::vector<char> expectedBytes() const;

private:
  CardCopy() = default;
  const gpu::CudaDevice *device = nullptr;
  Argument tensor;
  uint64_t begin = 0;
  size_t bytes = 0;
  uint64_t before = 0, expected = 0; // addresses on the device
  uint64_t notes = 0;                // of the flag, and of the sum of squares behind it
};

} // namespace tilewright
