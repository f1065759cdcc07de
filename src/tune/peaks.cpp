#include "tune/peaks.h"

#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "runtime/cpu_peaks.h"
#include "tune/gpu_peak.h"

namespace tilewright {

double Peaks::dotOperations(std::string_view type) const {
  auto found = products.find(type);
  return found == products.end() ? arithmetic : found->second;
}

static Peaks peaksOf(std::string machine, const MachinePeaks &roof, int64_t workers) {
  Peaks peaks{std::move(machine), roof.isDisturbed ? "measured while other programs ran" : "measured", workers, 0, 0, roof.rates};
  peaks.bytes = peaks.products["bytes_per_second"], peaks.arithmetic = peaks.products["float32"];
  peaks.products.erase("bytes_per_second");
  return peaks;
}

Peaks cpuPeaks(const CpuTarget &target, Diagnostics &diagnostics) {
  std::string machine = cpuText();
  std::optional<MachinePeaks> roof = peaksOfMachine(machine, measureCpu, /*anew=*/false, diagnostics);
  Peaks peaks = peaksOf(machine, *roof, defaultThreads());
  // A level with shorter vectors does less in one instruction; instructions for bf16 and bytes do two and four times as much.
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

// For an H100 and an H200: cuBLAS's best of 8192 x 8192 is 700 to 760 of 989 TFLOP/s, a copy's 2.95 of 3.35 and 4.2 of 4.8 TB/s.
static constexpr double lastingProducts = 0.75, lastingBytes = 0.88;

Peaks gpuPeaks(const GpuTarget &target, Diagnostics &diagnostics) {
  Diagnostics ignored; // it is no error here that there is no GPU
  const gpu::CudaDevice *device = gpu::cudaDeviceCount() > 0 ? gpu::CudaDevice::get(0, ignored) : nullptr;
  if (device && runsOn(target, device->major, device->minor)) {
    if (std::optional<MachinePeaks> roof = storedPeaks(gpuText(*device), diagnostics)) {
      // Products of bytes are not measured: tensor cores do twice as many of them as of halves, if they take them.
      roof->rates.try_emplace("float8", (target.fp8Mma ? 2 : 1) * roof->rates["float16"]);
      roof->rates.try_emplace("int8", 2 * roof->rates["float16"]);
      return peaksOf(device->name, *roof, device->multiprocessors);
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
             {"int8", sheet.byte * tera}},
            lastingProducts,
            lastingBytes};
  }
  return {};
}

} // namespace tilewright
