#include "cli/on_device.h"

#include "runtime/cuda/device.h"

namespace tilewright {

std::unique_ptr<OnDevice> OnDevice::create(int64_t ordinal, Diagnostics &diagnostics) {
  std::unique_ptr<OnDevice> memory(new OnDevice);
  memory->device = gpu::CudaDevice::get(ordinal, diagnostics);
  return memory->device ? std::move(memory) : nullptr;
}

OnDevice::~OnDevice() {
  if (!device) return;
  gpu::ContextScope scope(*device);
  for (const Copy &copy : copies)
    device->driver->release(copy.address);
}

std::optional<Argument> OnDevice::copy(const Argument &argument, size_t guarded, Diagnostics &diagnostics) {
  if (!argument.isPointer() || argument.bytes() == 0) return argument;
  gpu::ContextScope scope(*device);
  uint64_t address = 0;
  gpu::DriverStatus state = device->driver->allocate(&address, guarded);
  if (state == gpu::status::success) {
    copies.push_back({argument.address(), address, guarded});
    state = device->driver->copyToDevice(address, argument.address(), guarded);
  }
  if (state == gpu::status::success)
    return Argument::pointer(reinterpret_cast<void *>(address), argument.element(), argument.bytes(), device->ordinal);
  device->report(state, "copying a tensor to the GPU", diagnostics);
  return std::nullopt;
}

bool OnDevice::fetch(Diagnostics &diagnostics) const {
  if (!device->synchronize(diagnostics)) return false;
  gpu::ContextScope scope(*device);
  for (const Copy &copy : copies) {
    gpu::DriverStatus state = device->driver->copyToHost(copy.host, copy.address, copy.bytes);
    if (state == gpu::status::success) continue;
    device->report(state, "copying a tensor from the GPU", diagnostics);
    return false;
  }
  return true;
}

} // namespace tilewright
