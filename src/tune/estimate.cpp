#include "tune/estimate.h"

#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "support/target.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {

namespace {
/// The rates of a machine's workers (cores, SMs).
struct Workers {
  double count;
  double arithmetic, dots; // operations per second of one worker
  double bytes;            // per second of one worker, from caches
  double memory;           // per second of all workers, from memory
  double start;            // seconds at a program's beginning and end
  double sums;             // bytes per second of the accumulators of dots; on GPUs they stay in registers
  double iteration;        // seconds of overhead in each iteration
};
} // namespace

// Rates of a Zen 5 core and an H100, rounded. If all rates are half as high, the order of configurations is the same.
static Workers workersOf(const GpuTarget *gpu) {
  if (gpu) return {132, 4e11, 6e12, 4e10, 3e12, 2e-6, 1e15, 1e-7};
  double lanes = static_cast<double>(hostCpu().vectorBytes) / 4;
  return {static_cast<double>(defaultThreads()), lanes * 6e9, lanes * 1.2e10, 3e10, 3e10, 2e-7, 2e11, 5e-8};
}

/// Returns the seconds of one program, without memory.
static double secondsOfProgram(const ProgramWork &work, const Workers &workers) {
  return work.arithmetic / workers.arithmetic + std::max(work.dots / workers.dots, work.bytes / workers.bytes) +
         work.sumTraffic / workers.sums + work.iterations * workers.iteration + workers.start;
}

/// Divides the work of a program among the CTAs of its cluster, which split K and exchange sums. A cluster lies in one GPC, so not all SMs
/// are reached: on an H200, clusters of four and eight use 120 of 132, and clusters of two use all.
static void splitAcrossCtas(double ctas, ProgramWork &work, Workers &workers) {
  constexpr double exchange = 1.5e-6, reached = 120.0 / 132.0;
  work.arithmetic /= ctas, work.dots /= ctas, work.bytes /= ctas, work.tileBytes /= ctas;
  workers.start += exchange;
  if (ctas > 2) workers.count *= reached;
}

double estimateSeconds(ProgramWork work, int64_t programs, const KernelOptions &options, const GpuTarget *gpu) {
  Workers workers = workersOf(gpu);
  double ctas = work.splitsSums ? static_cast<double>(options.numCtas) : 1, all = ctas * static_cast<double>(programs);
  if (ctas > 1) splitAcrossCtas(ctas, work, workers);
  if (gpu) {
    // Shared memory holds a circular buffer of stages; accumulators are in registers, at most 128 for each thread.
    bool fits = work.tileBytes * static_cast<double>(std::max<int64_t>(options.numStages, 1)) <= static_cast<double>(gpu->sharedBytes) &&
                work.sumBytes <= 128.0 * 4 * 32 * static_cast<double>(options.numWarps);
    if (!fits) return std::numeric_limits<double>::infinity();
  } else if (work.tileBytes + work.sumBytes > static_cast<double>(hostCpu().l2Bytes)) {
    workers.bytes /= 4; // tiles that do not fit into the core's own cache
  }
  // Repeated reads come from the caches.
  return std::max(std::ceil(all / workers.count) * secondsOfProgram(work, workers), all * work.bytes / workers.memory / 4);
}

// On an H200, from an event before the launch to one after it: the time during which memory is not busy.
static constexpr double launchEnds = 4e-6;

double predictSeconds(ProgramWork work, int64_t programs, double memoryBytes, const Peaks &peaks, const GpuTarget *gpu) {
  constexpr double functionCost = 12; // operations of an exponential's polynomial, rounded
  Workers workers = workersOf(gpu);
  workers.count = static_cast<double>(peaks.workers);
  // A multiply-add counts as two operations, and any other operation takes as long as a multiply-add.
  workers.arithmetic = peaks.arithmetic / workers.count / 2;
  work.arithmetic += (functionCost - 1) * work.functions;
  double dotSeconds = 0;
  for (const auto &[type, operations] : work.dotOperations)
    dotSeconds += operations / (peaks.sustainedDots * peaks.dotOperationsPerSecond(type) / workers.count);
  workers.dots = dotSeconds > 0 ? work.dots / dotSeconds : 1;
  if (gpu) {
    // Copies are asynchronous, and if programs need little shared memory, one computes while others begin.
    workers.iteration = 0;
    if (work.dots == 0) workers.start /= 32;
    workers.bytes = 9.2e10; // from L2: the rate for dots with tiles of 128x128 on an H200
  }
  double all = static_cast<double>(programs), ends = gpu ? launchEnds : 0;
  return ends +
         std::max(std::ceil(all / workers.count) * secondsOfProgram(work, workers), memoryBytes / (peaks.sustainedBytes * peaks.bytes));
}

std::optional<double> estimateLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                     const LaunchOptions &options, const Grid &grid, Diagnostics &diagnostics) {
  std::optional<int64_t> programs = programCount(grid, diagnostics);
  if (!programs) return std::nullopt;
  std::optional<ProgramWork> work = workOfLaunch(kernel, arguments, options, grid, diagnostics);
  if (!work) return std::nullopt;
  const gpu::CudaDevice *device = options.device >= 0 ? gpu::CudaDevice::get(options.device, diagnostics) : nullptr;
  return estimateSeconds(*work, *programs, options.kernel, device ? &device->target : nullptr);
}

} // namespace tilewright
