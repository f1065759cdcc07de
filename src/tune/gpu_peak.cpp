#include "tune/gpu_peak.h"

#include "evaluate/module.h"
#include "runtime/cuda/device.h"
#include "runtime/element.h"
#include "runtime/kernel.h"
#include "syntax/parser.h"

#include <algorithm>

namespace tilewright {

std::string gpuText(const gpu::CudaDevice &device) {
  return device.name + " " + std::to_string(device.multiprocessors) + " " + std::to_string(device.memoryBytes);
}

static constexpr int runs = 8; // of each; the best counts

namespace {

/// Memory of a card for as long as this lives.
class DeviceMemory {
public:
  DeviceMemory(const gpu::CudaDevice &device, size_t bytes, Diagnostics &diagnostics) : device(device), size(bytes) {
    gpu::ContextScope scope(device);
    gpu::DriverStatus state = device.driver->allocate(&place, bytes);
    if (state == gpu::status::success) return;
    place = 0;
    device.report(state, "measuring what the GPU can do", diagnostics);
  }
  ~DeviceMemory() {
    if (!place) return;
    gpu::ContextScope scope(device);
    device.driver->release(place);
  }
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  uint64_t address() const { return place; }
  size_t bytes() const { return size; }
  Argument as(Scalar type) const {
    return Argument::pointer(reinterpret_cast<void *>(place), type, static_cast<int64_t>(size), device.ordinal);
  }

private:
  const gpu::CudaDevice &device;
  uint64_t place = 0;
  size_t size;
};

/// The kernels of gpu_peak.py, as long as it is measured.
class Meter {
public:
  Meter(const gpu::CudaDevice &device, Diagnostics &diagnostics) : device(device), diagnostics(diagnostics) {
    static const char source[] = {
#include "tune/gpu_peak.inc"
    };
    auto file = SourceFile::create("<gpu_peak>", std::string(source, sizeof(source)), 1);
    if (std::shared_ptr<const ast::Module> parsed = parse(file, diagnostics)) module = moduleScope(std::move(parsed));
  }

  /// Seconds of the best of some runs; nothing after an error. The first one does not count.
  std::optional<double> best(const std::function<bool()> &run) const {
    std::optional<double> least;
    for (int i = 0; i <= runs; ++i) {
      std::optional<gpu::GpuTime> time = device.time(nullptr, run, diagnostics);
      if (!time) return std::nullopt;
      if (i > 0) least = std::min(least.value_or(time->seconds), time->seconds);
    }
    return least;
  }

  std::optional<double> launch(llvm::StringRef name, std::vector<Argument> arguments, int64_t programs, int64_t warps,
                               int64_t stages) const {
    std::shared_ptr<const JitFunction> function = module ? findKernel(*module, name, diagnostics) : nullptr;
    if (!function) return std::nullopt;
    Kernel kernel(function);
    LaunchOptions options;
    options.device = device.ordinal, options.kernel.numWarps = warps, options.kernel.numStages = stages;
    std::optional<BoundArguments> bound = bindArguments(*function, arguments, {}, diagnostics);
    if (!bound) return std::nullopt;
    return best([&] { return kernel.launch(Grid(programs), *bound, options, diagnostics); });
  }

  const gpu::CudaDevice &device;
  Diagnostics &diagnostics;

private:
  std::shared_ptr<Namespace> module;
};

} // namespace

static std::optional<double> copyRate(const Meter &meter) {
  constexpr size_t bytes = size_t(1) << 30;
  DeviceMemory source(meter.device, bytes, meter.diagnostics), target(meter.device, bytes, meter.diagnostics);
  if (!source.address() || !target.address()) return std::nullopt;
  std::optional<double> seconds = meter.best([&] {
    gpu::ContextScope scope(meter.device);
    return meter.device.driver->copyOnDevice(target.address(), source.address(), bytes, nullptr) == gpu::status::success;
  });
  return seconds ? std::optional(2.0 * bytes / *seconds) : std::nullopt;
}

/// Numbers whose bits vary as those of data do: a card that multiplies zeros takes less power, and is faster than it ever is at work.
static bool fill(const DeviceMemory &memory, Scalar type, const gpu::CudaDevice &device) {
  constexpr size_t period = size_t(1) << 20; // bytes, over and over: many rows
  auto width = static_cast<size_t>(byteSize(type));
  std::vector<char> bytes(std::min(period, memory.bytes()));
  uint64_t state = 1;
  for (size_t at = 0; at < bytes.size(); at += width) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    storeElement(type, &bytes[at], static_cast<double>(state >> 40) * 0x1p-23 - 1);
  }
  gpu::ContextScope scope(device);
  gpu::DriverStatus done = device.driver->copyToDevice(memory.address(), bytes.data(), bytes.size());
  for (size_t filled = bytes.size(); done == gpu::status::success && filled < memory.bytes(); filled *= 2)
    done = device.driver->copyOnDevice(memory.address() + filled, memory.address(), std::min(filled, memory.bytes() - filled), nullptr);
  return done == gpu::status::success;
}

/// Operations a second of products of this type: the best of a few tiles.
static std::optional<double> productRate(const Meter &meter, Scalar type) {
  struct Tile {
    int64_t m, n, k, warps, stages;
  };
  bool isWide = type == Scalar::fp32;
  constexpr int64_t size = 8192;
  size_t bytes = static_cast<size_t>(size * size * byteSize(type));
  DeviceMemory a(meter.device, bytes, meter.diagnostics), b(meter.device, bytes, meter.diagnostics),
      c(meter.device, bytes, meter.diagnostics);
  if (!a.address() || !b.address() || !c.address() || !fill(a, type, meter.device) || !fill(b, type, meter.device)) return std::nullopt;
  double found = 0;
  for (Tile tile : {Tile{128, 256, 64, 8, 4}, Tile{128, 256, 64, 8, 3}, Tile{128, 128, 32, 4, 4}}) {
    if (isWide) tile.k /= 2;
    Diagnostics tooLarge; // for this card; another tile is not
    Meter own(meter.device, tooLarge);
    std::optional<double> seconds = own.launch("product",
                                               {a.as(type), b.as(type), c.as(type), Argument::integer(size), Argument::integer(tile.m),
                                                Argument::integer(tile.n), Argument::integer(tile.k)},
                                               size / tile.m * (size / tile.n), tile.warps, tile.stages);
    constexpr auto extent = static_cast<double>(size);
    if (seconds) found = std::max(found, 2 * extent * extent * extent / *seconds);
  }
  return found > 0 ? std::optional(found) : std::nullopt;
}

static std::optional<double> arithmeticRate(const Meter &meter) {
  constexpr int64_t block = 1024, rounds = 2048, chains = 4, operations = 2;
  int64_t programs = 32 * meter.device.multiprocessors;
  DeviceMemory out(meter.device, static_cast<size_t>(programs * block * 4), meter.diagnostics);
  if (!out.address()) return std::nullopt;
  std::optional<double> seconds =
      meter.launch("multiply_add", {out.as(Scalar::fp32), Argument::integer(rounds), Argument::floating(0.999), Argument::integer(block)},
                   programs, 4, 1);
  return seconds ? std::optional(static_cast<double>(programs * block * rounds * chains * operations) / *seconds) : std::nullopt;
}

std::optional<MachinePeaks> measureGpu(const gpu::CudaDevice &device, Diagnostics &diagnostics) {
  Meter meter(device, diagnostics);
  MachinePeaks peaks;
  auto add = [&](const char *name, std::optional<double> rate) {
    if (rate) peaks.rates[name] = *rate;
    return rate.has_value();
  };
  bool found = add("bytes_per_second", copyRate(meter)) && add("float32", arithmeticRate(meter)) &&
               add("tf32", productRate(meter, Scalar::fp32)) && add("float16", productRate(meter, Scalar::fp16)) &&
               add("bfloat16", productRate(meter, Scalar::bf16));
  return found ? std::optional(std::move(peaks)) : std::nullopt;
}

} // namespace tilewright
