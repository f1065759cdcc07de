// NVIDIA GPUs as the runtime sees them: what they are, their context, and what ran on them lately.
//
// A kernel that goes wrong on a GPU says so late: the launch returns at once, and some later call, by
// anybody, gets the error. So each device remembers its last launches, and the message names them:
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

/// What messages about a launch need to know about its kernel.
struct LaunchInfo {
  std::string kernel;
  std::vector<SlotKind> kinds;
  std::vector<std::string> names; // for each slot, "x_ptr=*fp32"; may be empty
};

/// What a GPU's clock says about the work in a stream.
struct GpuTime {
  double seconds;
  bool waited; // the GPU waited for the host, which was late with the work, so that the host's time is included
};

/// One GPU. Lives to the end of the process; safe to use from any thread.
class CudaDevice {
public:
  /// The device, with its primary context retained. Null after an error: there is no driver, or
  /// it is too old for the device's code; there is no such device, or no code can be made for it.
  static const CudaDevice *get(int64_t ordinal, Diagnostics &diagnostics);

  int64_t ordinal = 0;
  std::string name;
  int64_t major = 0, minor = 0;
  GpuTarget target; // what code is made for: the device, or the older one that TILEWRIGHT_GPU_TARGET names
  int64_t multiprocessors = 0, threadsPerBlock = 0, registersPerBlock = 0, warpSize = 32;
  int64_t sharedPerBlock = 0; // with opt-in
  int64_t sharedPerMultiprocessor = 0;
  int64_t clockKhz = 0, memoryClockKhz = 0, memoryBusBits = 0, l2Bytes = 0, memoryBytes = 0;
  const Driver *driver = nullptr;
  ContextHandle context = nullptr;

  /// Whether its context is the thread's current one.
  bool isCurrent() const;
  /// Turns a failed call into an error: `what` names the call. The last launches are named where one of them is to blame.
  void report(DriverStatus status, const std::string &what, Diagnostics &diagnostics) const;
  /// Remembers a launch. Allocates nothing.
  void noteLaunch(const std::shared_ptr<const LaunchInfo> &info, const uint32_t *grid, llvm::ArrayRef<uint64_t> slots) const;

  /// Waits for all work of the device, or of one stream. False after an error, which an earlier launch may have caused.
  bool synchronize(Diagnostics &diagnostics) const;
  bool synchronize(StreamHandle stream, Diagnostics &diagnostics) const;
  /// How long the work took that `body` put on the stream. Null after an error, or if `body` returns false.
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

/// How many GPUs the driver knows; 0 without a driver.
int64_t cudaDeviceCount();

/// Makes the device's context the thread's current one as long as this lives.
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

/// Whether a kernel on `device` may use the host's memory at this address: it is pinned or managed.
/// How many bytes of its allocation follow an address of the device; 0 if the driver does not say.
int64_t allocatedAfter(const CudaDevice &device, uint64_t address);
bool isHostMemoryOfDevice(const CudaDevice &device, const void *address);

} // namespace tilewright::gpu
