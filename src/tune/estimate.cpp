#include "tune/estimate.h"

#include "runtime/cuda/device.h"
#include "runtime/pool.h"
#include "support/target.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {

namespace {
/// What a machine's workers (cores, multiprocessors) can do.
struct Workers {
  double count;
  double arithmetic, products; // operations a second of each
  double bytes;                // a second of each, from caches
  double memory;               // a second of all, from memory
  double start;                // seconds of a program's beginning and end
  double sums;                 // bytes a second of what products add to; on GPUs it stays in registers
  double iteration;            // seconds of overhead in each iteration
};
} // namespace

// For a Zen 5 core and an H100, rounded: a machine with half of all rates orders configurations in the same way.
static Workers workersOf(const GpuTarget *gpu) {
  if (gpu) return {132, 4e11, 6e12, 4e10, 3e12, 2e-6, 1e15, 1e-7};
  double lanes = static_cast<double>(hostCpu().vectorBytes) / 4;
  return {static_cast<double>(defaultThreads()), lanes * 6e9, lanes * 1.2e10, 3e10, 3e10, 2e-7, 2e11, 5e-8};
}

/// For one program, without memory.
static double secondsOfProgram(const ProgramWork &work, const Workers &workers) {
  return work.arithmetic / workers.arithmetic + std::max(work.products / workers.products, work.bytes / workers.bytes) +
         work.sumTraffic / workers.sums + work.iterations * workers.iteration + workers.start;
}

/// The work of one block where blocks split the sums of a program, which takes an exchange. The blocks of a program lie in one part of a
/// GPU, so that not all multiprocessors are reached: of an H200's 132 four and eight to a program use 120, and two use all.
static void shareAmong(double blocks, ProgramWork &work, Workers &workers) {
  constexpr double exchange = 1.5e-6, reached = 120.0 / 132.0;
  work.arithmetic /= blocks, work.products /= blocks, work.bytes /= blocks, work.tileBytes /= blocks;
  workers.start += exchange;
  if (blocks > 2) workers.count *= reached;
}

double estimateSeconds(ProgramWork work, int64_t programs, const KernelOptions &options, const GpuTarget *gpu) {
  Workers workers = workersOf(gpu);
  double blocks = work.splitsSums ? static_cast<double>(options.numCtas) : 1, all = blocks * static_cast<double>(programs);
  if (blocks > 1) shareAmong(blocks, work, workers);
  if (gpu) {
    // A ring of slots for what a loop loads; sums are in registers, at most 128 for each thread.
    bool fits = work.tileBytes * static_cast<double>(std::max<int64_t>(options.numStages, 1)) <= static_cast<double>(gpu->sharedBytes) &&
                work.sumBytes <= 128.0 * 4 * 32 * static_cast<double>(options.numWarps);
    if (!fits) return std::numeric_limits<double>::infinity();
  } else if (work.tileBytes + work.sumBytes > static_cast<double>(hostCpu().l2Bytes)) {
    workers.bytes /= 4; // tiles that do not fit the core's own cache
  }
  // Caches give most of the bytes again.
  return std::max(std::ceil(all / workers.count) * secondsOfProgram(work, workers), all * work.bytes / workers.memory / 4);
}

// For a launch on an H200, from an event before it to one after it: the time before memory is busy, and afterwards.
static constexpr double launchEnds = 4e-6;

double predictSeconds(ProgramWork work, int64_t programs, double memoryBytes, const Peaks &peaks, const GpuTarget *gpu) {
  constexpr double functionCost = 12; // operations of an exponential's polynomial, rounded
  Workers workers = workersOf(gpu);
  workers.count = static_cast<double>(peaks.workers);
  // A multiply-add counts as two, and an operation outside one takes its place.
  workers.arithmetic = peaks.arithmetic / workers.count / 2;
  work.arithmetic += (functionCost - 1) * work.functions;
  double productSeconds = 0;
  for (const auto &[type, operations] : work.dotOperations)
    productSeconds += operations / (peaks.lastingProducts * peaks.dotOperations(type) / workers.count);
  workers.products = productSeconds > 0 ? work.products / productSeconds : 1;
  if (gpu) {
    // Copies run ahead, and where programs need little shared memory one computes while others begin.
    workers.iteration = 0;
    if (work.products == 0) workers.start /= 32;
    workers.bytes = 9.2e10; // from L2: what products of 128x128 tiles get of it on an H200
  }
  double all = static_cast<double>(programs), ends = gpu ? launchEnds : 0;
  return ends +
         std::max(std::ceil(all / workers.count) * secondsOfProgram(work, workers), memoryBytes / (peaks.lastingBytes * peaks.bytes));
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
