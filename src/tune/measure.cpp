#include "tune/measure.h"

#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "support/statistics.h"
#include "tune/result_check.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <map>
#include <thread>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tilewright {

static constexpr size_t maxRuns = 200;
static constexpr size_t maxLateRuns = 8;  // runs that a GPU had to wait for; after so many the host's delays are accepted
static constexpr int maxFills = 16;       // a millisecond, of 200 MB each on an H200
static constexpr double clockStep = 5e-4; // milliseconds: the resolution of a GPU's events

static double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

/// Restores or clears tensors before each run.
class TensorGuard {
public:
  bool prepare(const JitFunction &kernel, llvm::ArrayRef<Argument> known, llvm::ArrayRef<size_t> zeroed, llvm::ArrayRef<size_t> restored,
               Diagnostics &diagnostics) {
    auto check = [&](size_t index, const char *option) {
      if (known[index].isPointer() && known[index].bytes() > 0) return true;
      diagnostics.error(kernel.parameters[index].range, Diag::tensorNeeded, {kernel.name, option, kernel.parameters[index].name});
      return false;
    };
    for (size_t index : zeroed) {
      if (isNothing(known[index])) continue;
      if (!check(index, "reset_to_zero")) return false;
      zero.push_back(known[index]);
    }
    for (size_t index : restored) {
      if (isNothing(known[index])) continue;
      if (!check(index, "restore_value")) return false;
      if (known[index].device() >= 0) {
        if (!saveOnDevice(known[index], diagnostics)) return false;
        continue;
      }
      const char *bytes = static_cast<const char *>(known[index].address());
      saved.push_back({known[index], std::vector<char>(bytes, bytes + known[index].bytes())});
    }
    return true;
  }
  /// Resets the tensors. `stream`: the stream for tensors of a GPU.
  void reset(void *stream) const {
    auto handle = static_cast<gpu::StreamHandle>(stream);
    for (const Argument &tensor : zero) {
      size_t bytes = static_cast<size_t>(tensor.bytes());
      if (tensor.device() < 0) {
        std::memset(tensor.address(), 0, bytes);
        continue;
      }
      Diagnostics ignored; // a device that fails here also fails the launch, which reports it
      const gpu::CudaDevice *device = gpu::CudaDevice::get(tensor.device(), ignored);
      if (!device) continue;
      gpu::ContextScope scope(*device);
      device->driver->fillBytes(reinterpret_cast<uint64_t>(tensor.address()), 0, bytes, handle);
    }
    for (const SavedTensor &each : savedOnDevice) {
      gpu::ContextScope scope(*each.device);
      each.device->driver->copyOnDevice(reinterpret_cast<uint64_t>(each.tensor.address()), each.copy,
                                        static_cast<size_t>(each.tensor.bytes()), handle);
    }
    for (const auto &[tensor, bytes] : saved)
      std::memcpy(tensor.address(), bytes.data(), bytes.size());
  }

  TensorGuard() = default;
  TensorGuard(const TensorGuard &) = delete;
  TensorGuard &operator=(const TensorGuard &) = delete;
  ~TensorGuard() {
    for (const SavedTensor &each : savedOnDevice) {
      gpu::ContextScope scope(*each.device);
      each.device->driver->release(each.copy); // waits for the device
    }
  }

private:
  /// True for a missing tensor, or one without elements.
  static bool isNothing(const Argument &argument) {
    std::optional<std::pair<uint64_t, uint64_t>> reach = argument.isPointer() ? argument.reach() : std::nullopt;
    return argument.kind() == Argument::Kind::none || (reach && reach->first == reach->second);
  }
  struct SavedTensor {
    const gpu::CudaDevice *device;
    Argument tensor;
    uint64_t copy;
  };
  bool saveOnDevice(const Argument &tensor, Diagnostics &diagnostics) {
    const gpu::CudaDevice *device = gpu::CudaDevice::get(tensor.device(), diagnostics);
    if (!device) return false;
    gpu::ContextScope scope(*device);
    uint64_t copy = 0;
    size_t bytes = static_cast<size_t>(tensor.bytes());
    gpu::DriverStatus state = device->driver->synchronizeContext(); // waits for all writes to the tensor
    if (state == gpu::status::success) state = device->driver->allocate(&copy, bytes);
    if (copy) savedOnDevice.push_back({device, tensor, copy});
    if (state == gpu::status::success)
      state = device->driver->copyOnDevice(copy, reinterpret_cast<uint64_t>(tensor.address()), bytes, nullptr);
    if (state == gpu::status::success) state = device->driver->synchronizeContext();
    if (state == gpu::status::success) return true;
    device->report(state, "copying a tensor", diagnostics);
    return false;
  }

  std::vector<SavedTensor> savedOnDevice;
  std::vector<Argument> zero;
  std::vector<std::pair<Argument, std::vector<char>>> saved;
};

} // namespace

// ---- on a GPU

void idleGpu() {
  std::this_thread::sleep_for(std::chrono::microseconds(500));
}

std::unique_ptr<GpuTimer> GpuTimer::create(int64_t ordinal, void *stream, Diagnostics &diagnostics) {
  std::unique_ptr<GpuTimer> timer(new GpuTimer);
  timer->device = gpu::CudaDevice::get(ordinal, diagnostics);
  if (!timer->device) return nullptr;
  timer->stream = stream;
  gpu::ContextScope scope(*timer->device);
  timer->bytes = static_cast<size_t>(std::max<int64_t>(4 * timer->device->l2Bytes, 1 << 20));
  if (timer->device->driver->allocate(&timer->memory, timer->bytes) != gpu::status::success)
    timer->memory = 0; // without memory, the cache
                       // stays warm
  return timer;
}

GpuTimer::~GpuTimer() {
  if (!memory) return;
  gpu::ContextScope scope(*device);
  device->driver->release(memory);
}

std::optional<TimedRun> GpuTimer::time(const std::function<bool()> &body, Diagnostics &diagnostics) {
  auto handle = static_cast<gpu::StreamHandle>(stream);
  for (int i = 0; memory && i < fills; ++i) {
    gpu::ContextScope scope(*device);
    device->driver->fillBytes(memory, 0, bytes, handle);
  }
  std::optional<gpu::GpuTime> found = device->time(handle, body, diagnostics);
  if (!found) return std::nullopt;
  if (found->waited) fills = std::min(2 * fills, maxFills);
  return TimedRun{found->seconds, !found->waited};
}

// ---- launches

/// Returns the CPU time of this thread.
static double threadSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double (*cpuClock(int64_t threads))() {
  return (threads > 0 ? threads : defaultThreads()) == 1 ? threadSeconds : secondsNow;
}

struct LaunchMeter::State {
  LaunchOptions options;
  double (*now)() = secondsNow; // for a CPU
  BoundArguments tensors;
  TensorGuard guard;
  std::unique_ptr<GpuTimer> gpu; // null for a CPU
};

LaunchMeter::LaunchMeter(std::unique_ptr<State> state) : state(std::move(state)) {}
LaunchMeter::~LaunchMeter() = default;

std::unique_ptr<LaunchMeter> LaunchMeter::create(const JitFunction &kernel, llvm::ArrayRef<Argument> known, llvm::ArrayRef<size_t> zeroed,
                                                 llvm::ArrayRef<size_t> restored, const LaunchOptions &options, Diagnostics &diagnostics) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->tensors.assign(known.begin(), known.end());
  if (!state->guard.prepare(kernel, known, zeroed, restored, diagnostics)) return nullptr;
  if (options.device >= 0) {
    state->gpu = GpuTimer::create(options.device, options.stream, diagnostics);
    if (!state->gpu) return nullptr;
  } else {
    state->now = cpuClock(options.threads);
  }
  return std::unique_ptr<LaunchMeter>(new LaunchMeter(std::move(state)));
}

void LaunchMeter::reset() {
  state->guard.reset(state->options.stream);
}

std::optional<TimedRun> LaunchMeter::once(const std::function<bool(Diagnostics &)> &launch, Diagnostics &diagnostics) {
  reset();
  if (state->gpu) return state->gpu->time([&] { return launch(diagnostics); }, diagnostics);
  return timeOnCpu(state->now, state->tensors, [&] { return launch(diagnostics); });
}

Measured LaunchMeter::measure(const std::function<bool(Diagnostics &)> &launch, std::optional<double> best, ResultCheck *check) {
  Diagnostics problems;
  size_t group = 0;
  auto checked = [&]() -> std::optional<TimedRun> {
    std::optional<TimedRun> run;
    do {
      if (check) check->restore();
      if (state->gpu && !best) idleGpu();
      run = once(launch, problems);
      if (run && check) group = check->compare().value_or(0);
    } while (run && check && check->isUnsure());
    check = nullptr; // only in the first run
    return run;
  };
  std::optional<std::vector<double>> times = measureRuns(checked, best, state->gpu ? onGpus : onCpus);
  return times ? Measured{std::move(*times), "", group} : Measured{{}, firstError(problems)};
}

/// Returns the median, the 20th and the 80th percentile.
static std::vector<double> percentiles(std::vector<double> times) {
  return quantilesOf(std::move(times), {0.5, 0.2, 0.8});
}

/// Returns the relative standard error of the median. It assumes normally distributed times, whose 20th and 80th percentiles differ by
/// 1.683 standard deviations.
static double errorOfMedian(const std::vector<double> &times) {
  std::vector<double> found = percentiles(times);
  double scatter = found[2] - found[1];
  if (scatter <= clockStep) return 0;
  return 1.2533 / 1.683 * scatter / std::sqrt(static_cast<double>(times.size())) / found[0];
}

std::optional<std::vector<double>> measureRuns(const RunOnce &once, std::optional<double> best, const MeasureEffort &effort,
                                               const std::function<double()> &now) {
  std::optional<TimedRun> first = once(); // also a warm-up, which compiles
  if (!first) return std::nullopt;
  if (best && first->isOfKernel && first->seconds > effort.farSlowerFactor * *best * 1e-3 + effort.chance)
    return std::vector<double>(3, first->seconds * 1e3);
  if (first->isOfKernel && first->seconds > veryLongRun) return std::vector<double>(3, first->seconds * 1e3);
  std::vector<double> times;
  double error = best ? effort.error : effort.errorOfDeciding;
  double start = now(), fastest = first->seconds * 1e3; // a slow run may be chance: all of them must be slow
  for (size_t late = 0; times.size() < maxRuns && (times.size() < effort.minRuns || now() - start < effort.seconds);) {
    std::optional<TimedRun> run = once();
    if (!run) return std::nullopt;
    if (!run->isOfKernel && late++ < maxLateRuns) continue;
    times.push_back(run->seconds * 1e3);
    fastest = std::min(fastest, times.back());
    if (times.back() > 1e3 * longRun) break;
    bool isTried = times.size() >= effort.triedRuns || (times.size() >= effort.minTried && now() - start > effort.triedSeconds);
    if (best && isTried && fastest > effort.farSlowerFactor * *best) break;
    if (times.size() % effort.fewRuns == 0 && now() - start > effort.minSeconds && errorOfMedian(times) <= error) break;
  }
  return percentiles(std::move(times));
}

std::optional<std::vector<double>> measureRuns(const RunOnce &once, std::optional<double> best, const MeasureEffort &effort) {
  return measureRuns(once, best, effort, secondsNow);
}

// ---- caches

static constexpr int64_t lineBytes = 64;

#if defined(__x86_64__)
__attribute__((target("clflushopt"))) static void dropLinesTogether(const char *line, const char *end) {
  for (; line < end; line += lineBytes)
    _mm_clflushopt(const_cast<char *>(line));
  _mm_mfence();
}

static void dropLines(uint64_t begin, uint64_t end) {
  static const bool together = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_CLFLUSHOPT);
  }();
  auto line = reinterpret_cast<const char *>(begin & ~uint64_t(lineBytes - 1)), last = reinterpret_cast<const char *>(end);
  if (together) return dropLinesTogether(line, last);
  for (; line < last; line += lineBytes)
    _mm_clflush(line);
  _mm_mfence();
}
#elif defined(__aarch64__)
static void dropLines(uint64_t begin, uint64_t end) {
  for (uint64_t line = begin & ~uint64_t(lineBytes - 1); line < end; line += lineBytes)
    asm volatile("dc civac, %0" : : "r"(line) : "memory"); // Linux permits it to programs
  asm volatile("dsb ish" : : : "memory");
}
#else
static void dropLines(uint64_t, uint64_t) {} // no such instruction: caches stay warm
#endif

static std::optional<std::pair<uint64_t, uint64_t>> reachOnHost(const Argument &argument) {
  return argument.device() < 0 && argument.memory() != Memory::absent ? argument.reach() : std::nullopt;
}

static uint64_t reachedBytes(llvm::ArrayRef<Argument> arguments) {
  uint64_t bytes = 0;
  for (const Argument &argument : arguments) {
    bytes += reachedBytes(argument.members());
    if (std::optional<std::pair<uint64_t, uint64_t>> reach = reachOnHost(argument)) bytes += reach->second - reach->first;
  }
  return bytes;
}

bool stayInCaches(llvm::ArrayRef<Argument> arguments) {
  return reachedBytes(arguments) <= static_cast<uint64_t>(hostCpu().l2Bytes) / 4 * 3; // the rest is for the launch's other data
}

void dropFromCaches(llvm::ArrayRef<Argument> arguments) {
  // Only a part of a tensor that is much larger than the caches is in them, so flushing the first bytes is enough.
  uint64_t maxBytes = 4 * static_cast<uint64_t>(hostCpu().llcBytes);
  for (const Argument &argument : arguments) {
    dropFromCaches(argument.members());
    std::optional<std::pair<uint64_t, uint64_t>> reach = reachOnHost(argument);
    if (reach && reach->second - reach->first <= maxBytes) dropLines(reach->first, reach->second);
  }
}

void prepareCaches(llvm::ArrayRef<Argument> arguments) {
  if (!stayInCaches(arguments)) dropFromCaches(arguments);
}

void flushCaches() {
  // Larger than the last-level cache, with a part for each worker that exceeds its core's own caches. The memory is read, not written:
  // written lines would be written back during the next measured run.
  static const std::vector<char> memory = [] {
    int64_t bytes = std::max(2 * hostCpu().llcBytes, 2 * hostCpu().l2Bytes * defaultThreads());
    return std::vector<char>(static_cast<size_t>(std::clamp<int64_t>(bytes, 8 << 20, 512 << 20)), 1);
  }();
  PoolJob job;
  job.programs = defaultThreads();
  job.context = const_cast<std::vector<char> *>(&memory);
  job.programNanoseconds = 1e6; // long enough for every worker to take part
  job.body = [](void *raw, int64_t first, int64_t last, char *) {
    const std::vector<char> &memory = *static_cast<const std::vector<char> *>(raw);
    size_t bytesPerThread = memory.size() / static_cast<size_t>(defaultThreads());
    for (size_t at = static_cast<size_t>(first) * bytesPerThread; at < static_cast<size_t>(last) * bytesPerThread; at += lineBytes)
      static_cast<void>(*static_cast<const volatile char *>(&memory[at]));
  };
  runOnPool(job);
}

int64_t tensorBytes(llvm::ArrayRef<Argument> arguments) {
  std::map<void *, int64_t> tensors; // by address: the largest size counts for arguments with one address
  for (const Argument &argument : arguments)
    if (argument.isPointer()) tensors[argument.address()] = std::max(tensors[argument.address()], argument.bytes());
  int64_t sum = 0;
  for (const auto &[address, bytes] : tensors)
    sum += bytes;
  return sum;
}

std::string firstError(const Diagnostics &diagnostics) {
  for (const Diagnostic &record : diagnostics.all())
    if (record.severity == Severity::error) return record.message;
  return "it has no reason";
}

} // namespace tilewright
