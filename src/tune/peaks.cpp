#include "tune/peaks.h"

#include "runtime/cpu_peaks.h"
#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "tune/measure_gpu_peaks.h"

namespace tilewright {

double Peaks::dotOperationsPerSecond(std::string_view type) const {
  auto found = dots.find(type);
  return found == dots.end() ? arithmetic : found->second;
}

static Peaks peaksOf(std::string machine, const MachinePeaks &measured, int64_t workers) {
  Peaks peaks{std::move(machine), measured.isDisturbed ? "measured while other programs ran" : "measured", workers, 0, 0, measured.rates};
  peaks.bytes = peaks.dots["bytes_per_second"], peaks.arithmetic = peaks.dots["float32"];
  peaks.dots.erase("bytes_per_second");
  return peaks;
}

Peaks cpuPeaks(const CpuTarget &target, Diagnostics &diagnostics) {
  std::string machine = cpuText();
  std::optional<MachinePeaks> measured = peaksOfMachine(machine, measureCpu, /*remeasure=*/false, diagnostics);
  Peaks peaks = peaksOf(machine, *measured, defaultThreads());
  // A level with shorter vectors does less in one instruction. Instructions for bf16 and bytes do two and four times as much.
  double vectorRatio = static_cast<double>(target.vectorBytes) / static_cast<double>(hostCpu().vectorBytes);
  peaks.arithmetic *= vectorRatio;
  for (auto &[type, rate] : peaks.dots)
    rate *= vectorRatio;
  if (target.bf16Dot) peaks.dots["bfloat16"] = 2 * peaks.arithmetic;
  if (target.byteDot) peaks.dots["int8"] = 4 * peaks.arithmetic;
  return peaks;
}

static constexpr struct {
  const char *target, *gpu;
  int64_t multiprocessors;
  double bytes, float32, tf32, float16, byte;
} sheets[] = {
#define GPU_PEAKS(...) {__VA_ARGS__},
#include "tune/gpu_peaks.def"
#undef GPU_PEAKS
};

// On an H100 and an H200, cuBLAS reaches 700 to 760 of 989 TFLOP/s at 8192 x 8192, and copies 2.95 of 3.35 and 4.2 of 4.8 TB/s.
static constexpr double sustainedDots = 0.75, sustainedBytes = 0.88;

Peaks gpuPeaks(const GpuTarget &target, Diagnostics &diagnostics) {
  Diagnostics ignored; // a missing GPU is not an error here
  const gpu::CudaDevice *device = gpu::cudaDeviceCount() > 0 ? gpu::CudaDevice::get(0, ignored) : nullptr;
  if (device && runsOn(target, device->major, device->minor)) {
    if (std::optional<MachinePeaks> measured = storedPeaks(gpuText(*device), diagnostics)) {
      // 8-bit dots are not measured: tensor cores that support them have twice the rate of fp16.
      measured->rates.try_emplace("float8", (target.fp8Mma ? 2 : 1) * measured->rates["float16"]);
      measured->rates.try_emplace("int8", 2 * measured->rates["float16"]);
      return peaksOf(device->name, *measured, device->multiprocessors);
    }
  }
  for (const auto &sheet : sheets) {
    if (sheet.target != target.name) continue;
    constexpr double tera = 1e12;
    return {sheet.gpu,
            "data sheet",
            sheet.multiprocessors,
            sheet.bytes * tera,
            sheet.float32 * tera,
            {{"float32", sheet.float32 * tera},
             {"tf32", sheet.tf32 * tera},
             {"float16", sheet.float16 * tera},
             {"bfloat16", (target.bf16Mma ? sheet.float16 : sheet.float32) * tera},
             {"float8", sheet.byte * tera},
             {"int8", sheet.byte * tera}},
            sustainedDots,
            sustainedBytes};
  }
  return {};
}

} // namespace tilewright
