// A kernel in a host program: compiled once for each specialization, launched many times.
#pragma once

#include "codegen/jit.h"
#include "driver/compile.h"
#include "runtime/argument.h"
#include "runtime/atomic_launches.h"
#include "runtime/code_budget.h"
#include "support/guard_checks.h"
#include "support/work_control.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

namespace tilewright {

namespace gpu {
class CudaDevice;
class GpuKernel;
} // namespace gpu

struct Executor;
struct ScratchAllocator;

/// The programs of a launch: one to three extents. The default extent is 1.
struct Grid {
  std::array<int64_t, 3> extent{1, 1, 1};
  int64_t rank = 1;

  Grid() = default;
  Grid(int64_t x) : extent{x, 1, 1}, rank(1) {}
  Grid(int64_t x, int64_t y) : extent{x, y, 1}, rank(2) {}
  Grid(int64_t x, int64_t y, int64_t z) : extent{x, y, z}, rank(3) {}
};

struct LaunchOptions {
  KernelOptions kernel;
  int64_t threads = 0;             // 0: the pool's default (TILEWRIGHT_NUM_THREADS, or the number of CPUs)
  int64_t device = -1;             // the CUDA device to run on; -1: the CPU. `chooseDevice` sets it from the arguments
  void *stream = nullptr;          // of that device (CUstream, cudaStream_t); null: its default stream
  bool cooperative = false;        // all programs run at once, so they may wait for each other
  bool programmaticLaunch = false; // the kernel may start before its predecessor in the stream ends
  bool isDryRun = false;           // does everything but the run: compiles and loads the version that this launch needs
  std::optional<GpuTarget> gpu;    // the target to compile for, instead of the device's own kind; without a launch, no device is needed
  /// For the CPU: another thread sets it to true to end the launch. Programs that are running then also need stopPrograms().
  const std::atomic<bool> *stop = nullptr;
  /// Ends the launch between two programs on the CPU; null: nothing ends it.
  const WorkControl *control = nullptr;
  // For the CPU (runtime/pool.h); null: the pool's workers, and memory that they keep.
  const Executor *executor = nullptr;
  const ScratchAllocator *allocator = nullptr;
  bool checksPointers = false; // bad pointers to the host's memory are errors (runtime/pointer_check.h)
  /// An argument must fit its parameter's declared type: `fitsDeclarations`. Otherwise it is converted, as Triton does.
  bool checksTypes = false;
};

/// Sets options.device to the device of the tensors among the arguments. Launches without tensors keep `options`. False after an error: the
/// tensors are on several devices, or partly in the host's memory.
bool chooseDevice(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, LaunchOptions &options, Diagnostics &diagnostics);

/// Appends bytes that are equal only if Kernel::compile would return the same kernel. options.device must be set.
void appendLaunchKey(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, SpecializationKey &key);

/// One specialization, loaded and ready to run. It is immutable except for its measured cost, and safe to launch from any thread.
class CompiledKernel {
public:
  /// Loads the code. Null, after an error, if it does not link.
  static std::shared_ptr<CompiledKernel> load(CpuArtifact artifact, Diagnostics &diagnostics);

  /// Loads a GPU kernel. The code is assembled and loaded once a device is known: by `loadInto`, or at the first launch.
  static std::shared_ptr<CompiledKernel> load(GpuArtifact artifact);
  /// Loads a kernel from the cache folder, or compiles it. Null after an error; warnings (a damaged cache entry) may accompany a result.
  static std::shared_ptr<CompiledKernel> make(const CompileRequest &request, Diagnostics &diagnostics);
  CompiledKernel();
  ~CompiledKernel();

  /// Allows other versions for launches that fail guards, compiled from the same source for the same request.
  void allowOtherVersions(const CompileRequest &request);

  const CpuArtifact &artifact() const { return code; } // empty if `gpu` is set
  /// Null for a kernel that runs on the CPU.
  const gpu::GpuKernel *gpu() const { return gpuKernel.get(); }
  const std::string &entryName() const;
  const std::string &name() const { return kernelName; }
  /// Returns the bytes of its code, in all forms that it keeps.
  int64_t bytes() const;
  /// The time of the last launch, as codeTime().
  uint64_t lastUse() const { return usedAt.load(std::memory_order_relaxed); }
  void touch() const {
    uint64_t now = codeTime();
    if (lastUse() != now) usedAt.store(now, std::memory_order_relaxed); // most launches write nothing
  }
  llvm::ArrayRef<SlotKind> slotKinds() const;
  /// The types and properties of its arguments; empty for IR text.
  const std::vector<ArgumentSpec> &specs() const { return argumentSpecs; }
  void setSpecs(const JitFunction &kernel, std::vector<ArgumentSpec> specs);
  /// Returns for each run-time value whether the kernel may write to its memory.
  const std::vector<bool> &writes() const;
  double compileSeconds() const { return seconds; } // 0 if it came from the cache
  /// Returns the part of that time outside of this compiler: ptxas, and the driver's loading, which assembles if there is no ptxas.
  double assembleSeconds() const { return secondsAssembling; }
  bool fromCache() const { return cached; }
  /// Returns the seconds of each step of its compilation, in order; empty if the kernel came from the cache.
  const std::vector<std::pair<std::string, double>> &stepSeconds() const { return steps; }

  /// Runs all programs of the grid and returns when they are done. `slots`: as in artifact().slots. False, after an error, for an invalid
  /// grid.
  bool launch(const Grid &grid, llvm::ArrayRef<uint64_t> slots, int64_t threads, Diagnostics &diagnostics) const;
  /// The same for kernels of both kinds, with arguments, which know the sizes of the tensors. `slots` do not, so tensors may count as
  /// overlapping. On a GPU it returns when the launch is queued; a later call reports its errors.
  bool launch(const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics) const;
  /// Appends the slots of the arguments, one for each parameter of the kernel, including constants (which have no slot). False after an
  /// error.
  bool packSlots(llvm::ArrayRef<Argument> arguments, llvm::SmallVectorImpl<uint64_t> &slots, Diagnostics &diagnostics) const;

private:
  friend class Kernel;
  struct OtherVersions;
  static std::shared_ptr<CompiledKernel> makeNow(const CompileRequest &request, Diagnostics &diagnostics);
  bool launchOnCpu(const Grid &grid, llvm::ArrayRef<uint64_t> slots, const LaunchOptions &options, Diagnostics &diagnostics) const;
  /// Runs this version, whose guards the launch passes.
  bool runOnCpu(const Grid &grid, int64_t programs, llvm::ArrayRef<uint64_t> slots, const LaunchOptions &options,
                Diagnostics &diagnostics) const;
  bool launchOnGpu(const Grid &grid, llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int64_t> bytes, const LaunchOptions &options,
                   Diagnostics &diagnostics) const;
  /// Returns the guards of the code.
  llvm::ArrayRef<LaunchGuard> guards() const;
  FailedGuardNames guardsFailedBy(const Grid &grid, llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int64_t> bytes, int64_t device) const;
  /// Returns a version whose guards this launch passes; it may be this one. `first`: the guards of this version that the launch fails. Null
  /// after an error.
  std::shared_ptr<const CompiledKernel> versionFor(const FailedGuardNames &first, const Grid &grid, llvm::ArrayRef<uint64_t> slots,
                                                   llvm::ArrayRef<int64_t> bytes, int64_t device, Diagnostics &diagnostics) const;
  void reportFailed(llvm::StringRef name, const LaunchValues &launch, Diagnostics &diagnostics) const;

  CpuArtifact code;
  std::vector<ArgumentSpec> argumentSpecs;
  std::string kernelName;
  std::vector<std::string> slotNames; // "x_ptr=*fp32"; empty for IR text
  std::shared_ptr<LoadedObject> object;
  std::unique_ptr<gpu::GpuKernel> gpuKernel;
  std::unique_ptr<OtherVersions> others; // null: there are no other versions
  mutable GuardChecks checks;            // for CPU kernels
  KernelEntry function = nullptr;
  std::pair<uintptr_t, uintptr_t> codeRange{}; // of `object`
  double seconds = 0, secondsAssembling = 0;
  std::vector<std::pair<std::string, double>> steps;
  bool cached = false;
  mutable std::atomic<float> programNanoseconds{-1}; // running mean; negative: not measured yet
  mutable AloneOrTogether aloneOrTogether;           // of a kernel with atomic operations
  mutable std::atomic<uint64_t> usedAt{0};
};

/// Appends the slots of `arguments`, one for each parameter, in the form of their specialization; false if there are more than `kinds`.
bool packArguments(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, llvm::ArrayRef<SlotKind> kinds,
                   llvm::SmallVectorImpl<uint64_t> &slots);

/// The same for the bytes of the tensors at the slots: 0 for anything but a tensor, and for unknown sizes.
void appendTensorBytes(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, llvm::SmallVectorImpl<int64_t> &bytes);

/// Returns the names of a launch's run-time values in messages, in the order of their slots: "x_ptr=*fp32", "n=i32".
std::vector<std::string> namesOfSlots(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> specs);

/// True if the kernel may run on the memory of these arguments: it exists, and written memory is writable. False after an error.
bool checkMemory(llvm::StringRef kernel, llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                 llvm::ArrayRef<std::string> slotNames, const std::vector<bool> &writes, Diagnostics &diagnostics);

/// A jit function, or the kernel of IR text, with its compiled specializations. Heuristics and autotuning are in tune/. Thread-safe.
class Kernel {
public:
  explicit Kernel(std::shared_ptr<const JitFunction> function);
  explicit Kernel(std::shared_ptr<const IrKernel> text);
  ~Kernel();
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  const JitFunction &function() const { return *jit; }
  std::shared_ptr<const JitFunction> functionPointer() const { return jit; }

  /// Returns the specialization for these arguments: from memory, from the cache folder, or compiled now. Null after an error; warnings (a
  /// damaged cache entry) may accompany a result. options.device must be set.
  std::shared_ptr<const CompiledKernel> compile(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics);

  /// The same if it is in memory; null otherwise.
  std::shared_ptr<const CompiledKernel> known(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options) const;

  /// Chooses the device, compiles if necessary and runs the grid. `arguments`: bound, none missing.
  bool launch(const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics);
  /// The same where options.device is set.
  bool launchOn(const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics);

  /// Returns the number of specializations in memory.
  int64_t compiledCount() const;
  /// Takes a specialization out of memory; null if it is not there. Launches that have it keep it until they end.
  std::shared_ptr<const CompiledKernel> release(const std::string &key);

private:
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  std::shared_ptr<const JitFunction> jit; // for IR text: only its name and parameters
  std::shared_ptr<const IrKernel> text;   // null for functions
  std::shared_ptr<const CompiledKernel> compileNow(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options,
                                                   const gpu::CudaDevice *device, Diagnostics &diagnostics);
  mutable std::mutex mapLock; // guards the members below
  std::unordered_map<std::string, std::shared_ptr<const CompiledKernel>, KeyHash, std::equal_to<>> versions;
  std::set<std::string, std::less<>> underWay; // the keys of versions that are being compiled
  std::condition_variable finished;            // signals that one of them is done
};

/// Checks a grid: extents from 0 to 2^31 - 1, whose product fits in 63 bits. Returns the number of programs; null after an error.
std::optional<int64_t> programCount(const Grid &grid, Diagnostics &diagnostics);

struct Timing {
  double median = 0, low = 0, high = 0; // seconds of one call; low and high: the 20th and 80th percentile
  int64_t runs = 0;
};
/// Calls `run` for about `warmUpSeconds`, then for about `seconds` (between 3 and 10000 times), and returns the times of the latter calls.
/// Null if a call returns false.
std::optional<Timing> timeRuns(const std::function<bool()> &run, double warmUpSeconds, double seconds);

} // namespace tilewright
