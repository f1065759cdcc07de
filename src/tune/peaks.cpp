#include "tune/peaks.h"

#include "runtime/cache.h"
#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "runtime/roof.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

double Peaks::productsOf(std::string_view type) const {
  auto found = products.find(type);
  return found == products.end() ? arithmetic : found->second;
}

/// The numbers of a roof that was kept by the name of its machine (runtime/roof.h).
static std::map<std::string, double, std::less<>> keptRoof(const std::string &machine, Diagnostics &diagnostics) {
  std::map<std::string, double, std::less<>> numbers;
  std::optional<std::string> text = cacheEnabled() ? loadCached(roofKey(machine), CacheKind::kernel, diagnostics) : std::nullopt;
  if (!text) return numbers;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(*text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return numbers;
  }
  if (const llvm::json::Object *object = value->getAsObject())
    for (const auto &[name, number] : *object)
      if (std::optional<double> rate = number.getAsNumber()) numbers[name.str()] = *rate;
  return numbers;
}

static Peaks peaksOf(std::string machine, std::map<std::string, double, std::less<>> numbers, int64_t workers) {
  Peaks peaks{std::move(machine), "measured", workers, numbers["bytes_per_second"], numbers["float32"], {}};
  numbers.erase("bytes_per_second");
  peaks.products = std::move(numbers);
  return peaks;
}

Peaks cpuPeaks(const CpuTarget &target, Diagnostics &diagnostics) {
  std::string machine = processorText();
  std::map<std::string, double, std::less<>> numbers = keptRoof(machine, diagnostics);
  if (numbers.empty()) {
    Roof roof = measureRoof();
    numbers = {{"bytes_per_second", roof.bytesPerSecond}, {"float32", roof.float32}, {"float64", roof.float64}};
    llvm::json::Object kept{{"device", machine}};
    for (const auto &[name, rate] : numbers)
      kept[name] = rate;
    if (cacheEnabled())
      storeCached(roofKey(machine), CacheKind::kernel, llvm::formatv("{0}", llvm::json::Value(std::move(kept))).str(), diagnostics);
  }
  Peaks peaks = peaksOf(machine, std::move(numbers), defaultThreads());
  // A level of shorter vectors does less in an instruction; instructions for bf16 and bytes do twice and four times as much.
  double share = static_cast<double>(target.vectorBytes) / static_cast<double>(hostCpu().vectorBytes);
  peaks.arithmetic *= share;
  for (auto &[type, rate] : peaks.products)
    rate *= share;
  if (target.bf16Dot) peaks.products["bfloat16"] = 2 * peaks.arithmetic;
  if (target.byteDot) peaks.products["int8"] = 4 * peaks.arithmetic;
  return peaks;
}

static constexpr struct {
  const char *target, *card;
  int64_t multiprocessors;
  double bytes, float32, tf32, float16, byte;
} sheets[] = {
#define GPU_PEAKS(...) {__VA_ARGS__},
#include "tune/gpu_peaks.def"
#undef GPU_PEAKS
};

Peaks gpuPeaks(const GpuTarget &target, Diagnostics &diagnostics) {
  Diagnostics ignored; // that there is no GPU is no error here
  const gpu::CudaDevice *device = gpu::cudaDeviceCount() > 0 ? gpu::CudaDevice::get(0, ignored) : nullptr;
  if (device && runsOn(target, device->major, device->minor)) {
    std::string machine = device->name + " " + std::to_string(device->multiprocessors) + " " + std::to_string(device->memoryBytes);
    std::map<std::string, double, std::less<>> numbers = keptRoof(machine, diagnostics);
    if (!numbers.empty()) {
      // PyTorch has no plain product of bytes to measure: tensor cores do twice as many of them as of halves, if they take them.
      numbers.try_emplace("float8", (target.fp8Mma ? 2 : 1) * numbers["float16"]);
      numbers.try_emplace("int8", 2 * numbers["float16"]);
      return peaksOf(device->name, std::move(numbers), device->multiprocessors);
    }
  }
  for (const auto &sheet : sheets) {
    if (sheet.target != target.name) continue;
    constexpr double tera = 1e12;
    return {sheet.card,
            "data sheet",
            sheet.multiprocessors,
            sheet.bytes * tera,
            sheet.float32 * tera,
            {{"float32", sheet.float32 * tera},
             {"tf32", sheet.tf32 * tera},
             {"float16", sheet.float16 * tera},
             {"bfloat16", sheet.float16 * tera},
             {"float8", sheet.byte * tera},
             {"int8", sheet.byte * tera}}};
  }
  return {};
}

} // namespace tilewright
