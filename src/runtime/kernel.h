// A kernel as a host program holds it: compiled once for each specialisation, launched many times.
#pragma once

#include "codegen/jit.h"
#include "driver/compile.h"
#include "runtime/argument.h"
#include "runtime/atomic_launches.h"
#include "support/guard_checks.h"

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

/// The programs of a launch: one to three extents. Extents not given are 1.
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
  int64_t threads = 0;             // 0: the pool's default (TILEWRIGHT_NUM_THREADS, or the number of processors)
  int64_t device = -1;             // the CUDA device to run on; -1: the CPU. `chooseDevice` sets it from the arguments
  void *stream = nullptr;          // of that device (CUstream, cudaStream_t); null: its default stream
  bool cooperative = false;        // all programs run at once, so they may wait for each other
  bool programmaticLaunch = false; // the kernel may start before its predecessor in the stream ends
  bool isDryRun = false;        // do everything except the run: the version that this launch needs is compiled and loaded
  std::optional<GpuTarget> gpu;    // what to compile for, instead of the device's own kind; without a launch, no device is needed
  /// For the CPU: another thread sets it to true to end the launch. Programs that are running then also need stopPrograms().
  const std::atomic<bool> *stop = nullptr;
};

/// Sets options.device to the place of the tensors among the arguments. Launches without tensors keep what
/// `options` says. False after an error: the tensors are on several devices, or partly in the host's memory.
bool chooseDevice(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, LaunchOptions &options, Diagnostics &diagnostics);

/// Appends bytes that are equal only where Kernel::compile would give the same kernel. options.device must be placed.
void appendLaunchKey(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, SpecializationKey &key);

/// One specialisation, loaded and ready to run. Immutable but for its measured cost; safe to launch from any thread.
class CompiledKernel {
public:
  /// Loads the code. Null, after an error, if it does not link.
  static std::shared_ptr<CompiledKernel> load(CpuArtifact artifact, Diagnostics &diagnostics);

  /// For a GPU. The code is assembled and loaded once a device is known: by `loadInto`, or at the first launch.
  static std::shared_ptr<CompiledKernel> load(GpuArtifact artifact);
  /// From the cache folder, or compiled now. Null after an error; warnings (a damaged cache entry) may be reported with a result.
  static std::shared_ptr<CompiledKernel> make(const CompileRequest &request, Diagnostics &diagnostics);
  CompiledKernel();
  ~CompiledKernel();

  /// For launches that break what the code assumes, other versions may be compiled from the same source for the same request.
  void allowOtherVersions(const CompileRequest &request);

  const CpuArtifact &artifact() const { return code; } // empty where `gpu` is set
  /// Null for a kernel that runs on the CPU.
  const gpu::GpuKernel *gpu() const { return gpuKernel.get(); }
  const std::string &entryName() const;
  llvm::ArrayRef<SlotKind> slotKinds() const;
  /// What it was compiled for; empty where it came from IR text.
  const std::vector<ArgumentSpec> &specs() const { return argumentSpecs; }
  void setSpecs(const JitFunction &kernel, std::vector<ArgumentSpec> specs);
  /// For each run-time value, whether the kernel may write to the memory that it points to.
  const std::vector<bool> &writes() const;
  double compileSeconds() const { return seconds; } // 0 if it came from the cache
  /// The part of that time which is not this compiler's: ptxas, and the driver's loading, which assembles where there is no ptxas.
  double assembleSeconds() const { return secondsAssembling; }
  bool fromCache() const { return cached; }
  /// How long each step of its compilation took, in order; empty if the kernel came from the cache.
  const std::vector<std::pair<std::string, double>> &stepSeconds() const { return steps; }
  KernelEntry entry() const { return function; }

  /// Runs all programs of the grid and returns when they are done. `slots`:
  /// as artifact().slots says. False, after an error, for an invalid grid.
  bool launch(const Grid &grid, llvm::ArrayRef<uint64_t> slots, int64_t threads, Diagnostics &diagnostics) const;
  /// The same for kernels of both kinds. On a GPU it returns when the launch is queued; a later call reports what goes wrong there.
  bool launch(const Grid &grid, llvm::ArrayRef<uint64_t> slots, const LaunchOptions &options, Diagnostics &diagnostics) const;
  /// From the arguments themselves, which know the sizes of the tensors: `slots` do not, so that tensors may count as overlapping.
  bool launch(const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics) const;
  /// `arguments`: one for each parameter of the kernel, including constants (which take no slot). Appends to `slots`; false after an error.
  bool packSlots(llvm::ArrayRef<Argument> arguments, llvm::SmallVectorImpl<uint64_t> &slots, Diagnostics &diagnostics) const;

private:
  friend class Kernel;
  struct OtherVersions;
  bool launchOnCpu(const Grid &grid, llvm::ArrayRef<uint64_t> slots, const LaunchOptions &options, Diagnostics &diagnostics) const;
  /// Code of this version that assumes nothing which the launch breaks.
  bool runOnCpu(const Grid &grid, int64_t programs, llvm::ArrayRef<uint64_t> slots, const LaunchOptions &options,
                Diagnostics &diagnostics) const;
  bool launchOnGpu(const Grid &grid, llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int64_t> bytes, const LaunchOptions &options,
                   Diagnostics &diagnostics) const;
  /// What the code assumes about a launch.
  llvm::ArrayRef<LaunchGuard> facts() const;
  FailedGuardNames guardsFailedBy(const Grid &grid, llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int64_t> bytes, int64_t device) const;
  /// A version that assumes nothing which this launch breaks; it may be this one.
  /// `first`: the facts of this version that the launch breaks. Null after an error.
  std::shared_ptr<const CompiledKernel> versionFor(const FailedGuardNames &first, const Grid &grid, llvm::ArrayRef<uint64_t> slots,
                                                   llvm::ArrayRef<int64_t> bytes, int64_t device, Diagnostics &diagnostics) const;
  void reportFailed(llvm::StringRef name, const LaunchValues &launch, Diagnostics &diagnostics) const;

  CpuArtifact code;
  std::vector<ArgumentSpec> argumentSpecs;
  std::string kernelName;
  std::vector<std::string> slotNames; // "x_ptr=*fp32"; empty where it came from IR text
  std::shared_ptr<LoadedObject> object;
  std::unique_ptr<gpu::GpuKernel> gpuKernel;
  std::unique_ptr<OtherVersions> others; // null: this is the only version
  mutable GuardChecks checks;             // of a kernel for CPUs
  KernelEntry function = nullptr;
  std::pair<uintptr_t, uintptr_t> codeRange{}; // of `object`
  double seconds = 0, secondsAssembling = 0;
  std::vector<std::pair<std::string, double>> steps;
  bool cached = false;
  mutable std::atomic<float> programNanoseconds{-1}; // running mean; negative: not measured yet
  mutable AloneOrTogether aloneOrTogether;           // of a kernel with atomic operations
};

/// Appends the slots of `arguments`, one for each parameter, as they were specialised; false if there are more than `kinds`.
bool packArguments(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, llvm::ArrayRef<SlotKind> kinds,
                   llvm::SmallVectorImpl<uint64_t> &slots);

/// The same for the bytes of the tensors behind the slots: 0 for values that are no tensors, and for unknown sizes.
void appendTensorBytes(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, llvm::SmallVectorImpl<int64_t> &bytes);

/// The names of a launch's run-time values in messages, in the order of their slots: "x_ptr=*fp32", "n=i32".
std::vector<std::string> namesOfSlots(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> specs);

/// Whether the kernel may run on the memory of these arguments: the memory exists, and what is written is writable. False after an error.
bool checkMemory(llvm::StringRef kernel, llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                 llvm::ArrayRef<std::string> slotNames, const std::vector<bool> &writes, Diagnostics &diagnostics);

/// A jit function, or the kernel of IR text, with its compiled specialisations. Heuristics and autotuning are in tune/. Thread-safe.
class Kernel {
public:
  explicit Kernel(std::shared_ptr<const JitFunction> function);
  explicit Kernel(std::shared_ptr<const IrKernel> text);
  ~Kernel();
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  const JitFunction &function() const { return *jit; }
  std::shared_ptr<const JitFunction> functionPointer() const { return jit; }

  /// The specialisation for these arguments: from memory, from the cache folder, or compiled now. Null after an error; warnings
  /// (a damaged cache entry) may be reported with a result. options.device must be placed.
  std::shared_ptr<const CompiledKernel> compile(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics);

  /// The same if it is in memory; null otherwise.
  std::shared_ptr<const CompiledKernel> known(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options) const;

  /// Places the launch, compiles if necessary and runs the grid. `arguments`: bound, none missing.
  bool launch(const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics);

  /// How many specialisations are in memory.
  int64_t compiledCount() const;
  /// Forgets those in memory; running launches keep theirs.
  void clear();

private:
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  std::shared_ptr<const JitFunction> jit; // of IR text: its name and parameters alone
  std::shared_ptr<const IrKernel> text;   // null for functions
  std::shared_ptr<const CompiledKernel> compileNow(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options,
                                                   const gpu::CudaDevice *device, Diagnostics &diagnostics);
  mutable std::mutex mapLock; // guards what follows
  std::unordered_map<std::string, std::shared_ptr<const CompiledKernel>, KeyHash, std::equal_to<>> versions;
  std::set<std::string, std::less<>> underWay; // the keys of versions that are being compiled
  std::condition_variable finished;            // one of them is done
};

/// Checks a grid: extents from 0 to 2^31 - 1, a product that fits in 63 bits. Returns the number of programs; null after an error.
std::optional<int64_t> programCount(const Grid &grid, Diagnostics &diagnostics);

struct Timing {
  double median = 0, low = 0, high = 0; // seconds of one call; low and high: the 20th and 80th percentile
  int64_t runs = 0;
};
/// Calls `run` for about `warmUpSeconds`, then for about `seconds` (at least 3 and at most
/// 10000 times), and reports the times of the latter calls. Null if a call returns false.
std::optional<Timing> timeRuns(const std::function<bool()> &run, double warmUpSeconds, double seconds);

} // namespace tilewright
