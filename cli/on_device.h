// Tensors of the command line in the memory of a GPU.
#pragma once

#include "cli/tensor.h"
#include "runtime/argument.h"

#include <memory>

namespace tilewright {

namespace gpu {
class CudaDevice;
} // namespace gpu

/// Memory of one GPU. The destructor frees it.
class OnDevice {
public:
  /// Null after an error.
  static std::unique_ptr<OnDevice> create(int64_t ordinal, Diagnostics &diagnostics);
  ~OnDevice();
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;

  /// Copies the memory that an argument points to, and returns an argument that points to the copy. Other arguments stay as they are.
  /// `guarded`: bytes to copy, those after the tensor included. Returns nothing after an error.
  std::optional<Argument> copy(const Argument &argument, size_t guarded, Diagnostics &diagnostics);
  /// Waits for the launches, then copies all memory back to the host. False after an error.
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
