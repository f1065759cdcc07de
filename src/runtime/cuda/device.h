// The runtime's view of NVIDIA GPUs: their properties, their context, and their last launches.
//
// A GPU reports the error of a kernel late: the launch returns at once, and some later call, of any library, gets the error. So each device
// stores its last launches, and the message names them:
//     CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered, reported after the launch of `add_kernel` grid (98, 1, 1)
//     x_ptr=*fp32 0x7f1c00000000, n=i32 98432
#pragma once

#include "runtime/cuda/driver.h"
#include "support/slots.h"
#include "support/target.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::gpu {

/// The properties of a kernel in messages about its launch.
struct LaunchInfo {
  std::string kernel;
  std::vector<SlotKind> kinds;
  std::vector<std::string> names; // for each slot, "x_ptr=*fp32"; may be empty
};

/// The time of the work in a stream, by the GPU's clock.
struct GpuTime {
  double seconds;
  bool waited; // the GPU waited for the host, so the time includes work of the host
};

/// One GPU. It lives until the process ends, and is safe to use from any thread.
class CudaDevice {
public:
  /// Returns the device, with its primary context retained. Null after an error: there is no driver, or it is too old for the device's
  /// code; there is no such device, or no target has code for it.
  static const CudaDevice *get(int64_t ordinal, Diagnostics &diagnostics);

  int64_t ordinal = 0;
  std::string name;
  int64_t major = 0, minor = 0;
  GpuTarget target; // the target of its code: the device, or the older one that TILEWRIGHT_GPU_TARGET names
  int64_t multiprocessors = 0, threadsPerBlock = 0, registersPerBlock = 0, warpSize = 32;
  int64_t sharedPerBlock = 0; // with opt-in
  int64_t sharedPerMultiprocessor = 0;
  int64_t clockKhz = 0, memoryClockKhz = 0, memoryBusBits = 0, l2Bytes = 0, memoryBytes = 0;
  const Driver *driver = nullptr;
  ContextHandle context = nullptr;

  /// True if its context is the thread's current one.
  bool isCurrent() const;
  /// Reports a failed call; `call` names it. The message lists the last launches if one of them may be the cause.
  void report(DriverStatus status, const std::string &call, Diagnostics &diagnostics) const;
  /// Stores a launch. Allocates nothing.
  void noteLaunch(const std::shared_ptr<const LaunchInfo> &info, const uint32_t *grid, llvm::ArrayRef<uint64_t> slots) const;

  /// Waits for all work of the device, or of one stream. False after an error, which an earlier launch may have caused.
  bool synchronize(Diagnostics &diagnostics) const;
  bool synchronize(StreamHandle stream, Diagnostics &diagnostics) const;
  /// Times the work that `body` puts on the stream. Null after an error, or if `body` returns false.
  std::optional<GpuTime> time(StreamHandle stream, const std::function<bool()> &body, Diagnostics &diagnostics) const;

private:
  CudaDevice() = default;
  static std::unique_ptr<CudaDevice> open(int64_t ordinal, Diagnostics &diagnostics);
  std::vector<std::string> lastLaunches() const; // newest first

  struct Record {
    std::shared_ptr<const LaunchInfo> info;
    uint32_t grid[3];
    uint32_t count = 0;
    uint64_t slots[12];
  };
  mutable std::mutex recordLock;
  mutable std::array<Record, 8> records;
  mutable uint64_t recorded = 0;
};

/// Returns the number of GPUs of the driver; 0 without a driver.
int64_t cudaDeviceCount();

/// Makes the device's context the thread's current one during its lifetime.
class ContextScope {
public:
  explicit ContextScope(const CudaDevice &device);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const Driver &driver;
  ContextHandle before = nullptr;
  bool changed = false;
};

/// Returns the bytes of an allocation that follow an address of the device; 0 if the driver does not report it.
int64_t allocatedAfter(const CudaDevice &device, uint64_t address);
/// True if a kernel on `device` may use the host's memory at this address: it is pinned or managed.
bool isHostMemoryOfDevice(const CudaDevice &device, const void *address);

} // namespace tilewright::gpu
