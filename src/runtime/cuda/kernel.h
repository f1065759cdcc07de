// A kernel on GPUs: its code loaded into each device that it is launched on, and its launches.
//
// A warm launch is one call of the driver. It allocates nothing, waits for nothing and may be recorded into a CUDA
// graph: parameters are read directly from the slots, and tensor maps are encoded only for tensors that are new.
#pragma once

#include "runtime/cuda/device.h"
#include "support/artifact.h"
#include "support/guard_checks.h"

#include "llvm/ADT/StringRef.h"

#include <atomic>

namespace tilewright::gpu {

/// What assemblers say about a kernel in their verbose output; -1 where they do not.
struct AssemblerReport {
  int64_t registers = -1, spillBytes = -1;
  std::vector<std::string> warnings; // lines about performance or mistakes
};
AssemblerReport readAssemblerLog(llvm::StringRef log);

struct GpuLaunch {
  int64_t device = 0;
  StreamHandle stream = nullptr;
  bool cooperative = false;
  bool programmaticLaunch = false; // may start before the previous launch ends (PDL)
};

class GpuKernel {
public:
  explicit GpuKernel(GpuArtifact artifact);
  ~GpuKernel();
  GpuKernel(const GpuKernel &) = delete;
  GpuKernel &operator=(const GpuKernel &) = delete;

  const GpuArtifact &artifact() const { return code; }
  /// "x_ptr=*fp32", one for each slot: for messages. Only before the first launch.
  void setSlotNames(std::vector<std::string> names);

  /// Loads the code into a device, unless it is there. False after an error: it does not assemble, or needs more than the device has.
  bool load(int64_t device, Diagnostics &diagnostics) const { return loaded(device, diagnostics) != nullptr; }
  /// For one thread; from the driver once the code is loaded somewhere, before that from the compiler; -1: unknown.
  int64_t registers() const, spillBytes() const;
  /// How long the last load took; without a cubin, nearly all of it is the driver's assembler. 0 before the first load.
  double loadSeconds() const;

  /// Which of artifact().facts this launch breaks, and which maps it cannot make (mapGuardName). `bytes`: as in LaunchValues.
  FailedGuardNames guardsFailedBy(const std::array<int64_t, 3> &grid, llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int64_t> bytes,
                          int64_t device) const;
  /// Starts the programs of the grid, each of whose extents is at least 1. `slots`: as
  /// artifact().slots says. False after an error, which an earlier launch may have caused.
  bool launch(const std::array<int64_t, 3> &grid, llvm::ArrayRef<uint64_t> slots, const GpuLaunch &launch, Diagnostics &diagnostics) const;

private:
  struct Loaded;
  const Loaded *loaded(int64_t device, Diagnostics &diagnostics) const;
  std::unique_ptr<Loaded> loadInto(const CudaDevice &device, Diagnostics &diagnostics) const;
  std::optional<DriverStatus> assembleWithDriver(Loaded &loaded, Diagnostics &diagnostics) const;
  bool encodeMaps(const Loaded &where, llvm::ArrayRef<uint64_t> slots, TensorMap *maps, Diagnostics &diagnostics) const;

  GpuArtifact code;
  std::shared_ptr<LaunchInfo> info;
  mutable GuardChecks checks;
  mutable std::mutex loadLock;
  mutable double loadedIn = 0;
  mutable std::array<std::atomic<const Loaded *>, 64> devices{};
};

} // namespace tilewright::gpu
