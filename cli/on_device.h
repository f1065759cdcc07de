// Tensors of the command line in the memory of a GPU.
#pragma once

#include "cli/tensor.h"
#include "runtime/argument.h"

#include <memory>

namespace tilewright {

namespace gpu {
class CudaDevice;
} // namespace gpu

/// Memory of one GPU that is given back at the end.
class OnDevice {
public:
  /// Null after an error.
  static std::unique_ptr<OnDevice> create(int64_t ordinal, Diagnostics &diagnostics);
  ~OnDevice();
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;

  /// The argument with a copy of what it points to; one that points to nothing stays as it is. `guarded`: bytes to copy, with what lies
  /// behind the tensor. Nothing after an error.
  std::optional<Argument> copy(const Argument &argument, size_t guarded, Diagnostics &diagnostics);
  /// Brings all copies back to where they came from, when what was launched is done. False after an error.
  bool fetch(Diagnostics &diagnostics) const;
  const gpu::CudaDevice &gpu() const { return *device; }

private:
  OnDevice() = default;
  struct Copy {
    void *host;
    uint64_t address;
    size_t bytes;
  };
  const gpu::CudaDevice *device = nullptr;
  std::vector<Copy> copies;
};

} // namespace tilewright
