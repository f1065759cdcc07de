// The contents of a GPU's tensor before any configuration ran, and the results that configurations left there. All of them stay on the GPU
// and are compared there, by kernels in the tile language (compare_tensors.py): copying 256 MB to the host takes longer than tuning ten
// configurations.
#pragma once

#include "runtime/kernel.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilewright {

/// How near two numbers have to be to count as the same: a part of the element, and one of a typical element of its tensor (the root of
/// their mean square).
struct Closeness {
  double ofElement, ofTypical;
};

class DeviceCopy {
public:
  /// Keeps the present contents. Null where there is no memory for that.
  static std::unique_ptr<DeviceCopy> create(const Argument &tensor);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy &) = delete;
  DeviceCopy &operator=(const DeviceCopy &) = delete;

  /// Restores the tensor.
  void restore() const;
  /// Keeps the present contents as one more result. False where there is no memory for that.
  bool keep();
  /// Forgets the result that was kept last.
  void forget();
  /// Whether the tensor holds what result number `index` holds; floats must be as close as
  /// `near` says, if it does. Null where this cannot be decided here.
  std::optional<bool> equalsStored(size_t index, std::optional<Closeness> near) const;
  std::vector<char> cachedPanelBytes(size_t index) const;
  std::vector<char> bytesBefore() const;

private:
  DeviceCopy() = default;
  const gpu::CudaDevice *device = nullptr;
  Argument tensor;
  uint64_t begin = 0;
  size_t bytes = 0;
  std::vector<char> copied(uint64_t from) const;
  uint64_t before = 0;        // address on the device
  uint64_t notes = 0;         // of the flag, and of the sum of squares after it
  std::vector<uint64_t> kept; // addresses of the results
};

} // namespace tilewright
