// Holds the contents of a GPU tensor before any configuration ran, and the results of configurations. All of them stay on the GPU. Kernels
// in the tile language compare them there (compare_tensors.py): copying 256 MB to the host takes longer than tuning ten configurations.
#pragma once

#include "runtime/kernel.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilewright {

/// The tolerance of a comparison: a fraction of the element, and a fraction of a typical element of its tensor (the root mean square).
struct Closeness {
  double ofElement, ofTypical;
};

class DeviceCopy {
public:
  /// Stores the present contents. Null if there is no memory for a copy.
  static std::unique_ptr<DeviceCopy> create(const Argument &tensor);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy &) = delete;
  DeviceCopy &operator=(const DeviceCopy &) = delete;

  /// Restores the tensor.
  void restore() const;
  /// Stores the present contents as one more result. False if there is no memory for a copy.
  bool storeResult();
  /// Removes the result that was stored last.
  void forget();
  /// True if the tensor equals result number `index`; floats may differ by `near`, if given. Null if this cannot be decided on the GPU.
  std::optional<bool> equalsStored(size_t index, std::optional<Closeness> near) const;
  std::vector<char> storedBytes(size_t index) const;
  std::vector<char> bytesBefore() const;

private:
  DeviceCopy() = default;
  const gpu::CudaDevice *device = nullptr;
  Argument tensor;
  uint64_t begin = 0;
  size_t bytes = 0;
  std::vector<char> copied(uint64_t from) const;
  uint64_t before = 0;           // address on the device
  uint64_t notes = 0;            // of the flag, and of the sum of squares after it
  std::vector<uint64_t> results; // addresses of the results
};

} // namespace tilewright
