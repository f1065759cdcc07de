#include "runtime/cpu_peaks.h"

#include "runtime/pool.h"
#include "support/target.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sys/times.h>
#include <unistd.h>
#include <vector>

namespace tilewright {

static constexpr int64_t rounds = 12; // the best one counts: other programs can only slow it down
static constexpr int64_t steps = 1 << 18;

static double secondsOf(const PoolJob &job) {
  auto start = std::chrono::steady_clock::now();
  runOnPool(job);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static double bestSeconds(PoolJob &job) {
  job.programs = defaultThreads();
  double best = secondsOf(job); // also wakes the workers
  for (int64_t round = 0; round < rounds; ++round)
    best = std::min(best, secondsOf(job));
  return best;
}

// ---- memory

namespace {
struct Copy {
  const char *from;
  char *to;
  size_t bytesPerThread; // of each thread
};
} // namespace

static double measureCopy() {
  int64_t threads = defaultThreads();
  size_t bytes = static_cast<size_t>(std::clamp<int64_t>(4 * hostCpu().llcBytes, 64 << 20, 512 << 20));
  size_t bytesPerThread = bytes / static_cast<size_t>(threads) & ~size_t(4095);
  std::vector<char> from(bytesPerThread * static_cast<size_t>(threads), 1), to(from.size(), 2);
  Copy copy{from.data(), to.data(), bytesPerThread};
  PoolJob job;
  job.context = &copy;
  job.body = [](void *raw, int64_t first, int64_t last, char *) {
    const Copy &copy = *static_cast<Copy *>(raw);
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i)
      std::memcpy(copy.to + i * copy.bytesPerThread, copy.from + i * copy.bytesPerThread, copy.bytesPerThread);
  };
  return 2 * static_cast<double>(from.size()) / bestSeconds(job);
}

// ---- arithmetic
//
// There are as many independent sums as registers, so that no addition waits for another: this measures only the throughput.

#define MULTIPLY_AND_ADD(name, features, number, bytes, sums, expression)                                                                  \
  __attribute__((target(features))) static void name(void *sink, int64_t first, int64_t last, char *) {                                    \
    typedef number Vector __attribute__((vector_size(bytes)));                                                                             \
    Vector sum[sums], factor = Vector{} + number(0.999), term = Vector{} + number(0.001);                                                  \
    for (int i = 0; i < sums; ++i)                                                                                                         \
      sum[i] = Vector{} + number(i);                                                                                                       \
    for (int64_t step = 0; step < steps * (last - first); ++step)                                                                          \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < sums; ++i) sum[i] = expression;                                               \
    for (int i = 1; i < sums; ++i)                                                                                                         \
      sum[0] += sum[i];                                                                                                                    \
    if (sum[0][0] == number(-1)) *static_cast<volatile char *>(sink) = 1; /* never true: stops dead code elimination */                    \
  }

#if defined(__x86_64__)
#define FUSED __builtin_elementwise_fma(sum[i], factor, term)
MULTIPLY_AND_ADD(floats512, "avx512f", float, 64, 24, FUSED)
MULTIPLY_AND_ADD(doubles512, "avx512f", double, 64, 24, FUSED)
MULTIPLY_AND_ADD(floats256, "avx2,fma", float, 32, 12, FUSED)
MULTIPLY_AND_ADD(doubles256, "avx2,fma", double, 32, 12, FUSED)
MULTIPLY_AND_ADD(floats128, "sse2", float, 16, 12, sum[i] * factor + term)
MULTIPLY_AND_ADD(doubles128, "sse2", double, 16, 12, sum[i] * factor + term)
#undef FUSED
#elif defined(__aarch64__)
MULTIPLY_AND_ADD(floats128, "neon", float, 16, 24, __builtin_elementwise_fma(sum[i], factor, term))
MULTIPLY_AND_ADD(doubles128, "neon", double, 16, 24, __builtin_elementwise_fma(sum[i], factor, term))
#endif
#undef MULTIPLY_AND_ADD

static double measureArithmetic(void (*body)(void *, int64_t, int64_t, char *), int64_t lanes, int64_t sums) {
  char sink = 0;
  PoolJob job;
  job.body = body;
  job.context = &sink;
  double seconds = bestSeconds(job);
  return 2 * static_cast<double>(steps * lanes * sums * defaultThreads()) / seconds;
}

// ---- other programs

namespace {
/// The CPU time so far, in seconds: of all programs, and of this one.
struct CpuTime {
  double all, own;
};
} // namespace

/// Null if the system does not report it.
static std::optional<CpuTime> cpuTime() {
  long long user = 0, nice = 0, system = 0;
  std::FILE *file = std::fopen("/proc/stat", "r");
  if (!file) return std::nullopt;
  bool read = std::fscanf(file, "cpu %lld %lld %lld", &user, &nice, &system) == 3;
  std::fclose(file);
  auto tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
  tms own{};
  if (!read || ::times(&own) == static_cast<clock_t>(-1)) return std::nullopt;
  return CpuTime{static_cast<double>(user + nice + system) / tick, static_cast<double>(own.tms_utime + own.tms_stime) / tick};
}

static bool wereDisturbed(const std::optional<CpuTime> &before, double seconds) {
  constexpr double quiet = 0.1; // fraction of the CPU time
  std::optional<CpuTime> after = cpuTime();
  if (!before || !after) return false;
  double others = (after->all - before->all) - (after->own - before->own);
  return others > quiet * seconds * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
}

CpuPeaks measurePeaks() {
  CpuPeaks peaks;
  std::optional<CpuTime> before = cpuTime();
  auto start = std::chrono::steady_clock::now();
  peaks.bytesPerSecond = measureCopy();
#if defined(__x86_64__)
  int64_t bytes = hostCpu().vectorBytes, sums = bytes == 64 ? 24 : 12;
  peaks.float32 = measureArithmetic(bytes == 64 ? floats512 : bytes == 32 ? floats256 : floats128, bytes / 4, sums);
  peaks.float64 = measureArithmetic(bytes == 64 ? doubles512 : bytes == 32 ? doubles256 : doubles128, bytes / 8, sums);
#elif defined(__aarch64__)
  peaks.float32 = measureArithmetic(floats128, 4, 24);
  peaks.float64 = measureArithmetic(doubles128, 2, 24);
#endif
  peaks.isDisturbed = wereDisturbed(before, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return peaks;
}

std::string cpuText() {
  return hostCpu().cpu + " " + hostCpu().name + " " + std::to_string(defaultThreads());
}

} // namespace tilewright
