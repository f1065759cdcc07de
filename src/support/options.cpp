// The rules are Triton's. The numbers of warps and of CTAs are powers of two, because layouts are linear maps over bits. num_stages = 0
// means the same as 1: a loop that is not pipelined.
#include "support/options.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace tilewright {

namespace {
struct Release {
  std::string_view text;
  LanguageRules rules;
};
constexpr Release releases[] = {
    {"3.6.0", LanguageRules::triton36},
    {"3.7.1", LanguageRules::triton36},
    {"3.8.0", LanguageRules::triton36},
    {"3.9.0", LanguageRules::triton39}, // the default
};
} // namespace

/// Finds a release: "3.9.0", or "3.9" for the newest release of that line.
static const Release *releaseNamed(std::string_view name) {
  for (const Release &release : releases)
    if (name == release.text || name == release.text.substr(0, release.text.rfind('.'))) return &release;
  return nullptr;
}

static std::string_view settingOf(const char *variable) {
  const char *word = std::getenv(variable);
  return word ? word : "";
}

const TritonVersion &tritonVersion() {
  static const TritonVersion version = [] {
    const Release *known = releaseNamed(settingOf("TILEWRIGHT_TRITON_VERSION"));
    const Release &release = known ? *known : *std::rbegin(releases);
    return TritonVersion{std::string(release.text), release.rules};
  }();
  return version;
}

static constexpr std::string_view numericsNames[] = {"3.9", "3.10", "strict"};

std::optional<Numerics> numericsNamed(std::string_view name) {
  for (size_t i = 0; i < std::size(numericsNames); ++i)
    if (name == numericsNames[i]) return static_cast<Numerics>(i);
  return std::nullopt;
}

std::string_view nameOf(Numerics numerics) {
  return numericsNames[static_cast<size_t>(numerics)];
}

Numerics defaultNumerics() {
  static const Numerics numerics = numericsNamed(settingOf("TILEWRIGHT_NUMERICS")).value_or(Numerics::triton39);
  return numerics;
}

bool checkVersionSettings(Diagnostics &diagnostics) {
  auto check = [&](const char *variable, bool isKnown, std::string_view values) {
    std::string_view word = settingOf(variable);
    if (word.empty() || isKnown) return true;
    diagnostics.error({}, Diag::badOption, {"'" + std::string(word) + "'", variable, std::string(values)});
    return false;
  };
  std::string names;
  for (const Release &release : releases)
    names += (names.empty() ? "" : ", ") + std::string(release.text);
  return check("TILEWRIGHT_TRITON_VERSION", releaseNamed(settingOf("TILEWRIGHT_TRITON_VERSION")), names) &&
         check("TILEWRIGHT_NUMERICS", numericsNamed(settingOf("TILEWRIGHT_NUMERICS")).has_value(), "'3.9', '3.10' and 'strict'");
}

void KernelOptions::setNumerics(Numerics wanted) {
  numerics = wanted;
  fpFusion = wanted == Numerics::triton39;
  flushesExp2 = wanted != Numerics::strict;
  if (wanted == Numerics::strict) dotPrecision = "ieee";
}

static bool isPowerOfTwo(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

static bool refuse(const char *name, int64_t value, const char *wanted, const char *advice, Diagnostics &diagnostics) {
  diagnostics.error({}, Diag::launchOption, {name, std::to_string(value), wanted, advice});
  return false;
}

bool KernelOptions::check(const GpuTarget *gpu, Diagnostics &diagnostics) const {
  if (!checkVersionSettings(diagnostics)) return false;
  constexpr int64_t maxStages = 65536, maxMaxnreg = 65536, lanes = 32;
  if (!isPowerOfTwo(numWarps)) return refuse("num_warps", numWarps, "a power of 2", "4 and 8 are usual", diagnostics);
  if (!isPowerOfTwo(numCtas) || numCtas > 16) return refuse("num_ctas", numCtas, "a power of 2 from 1 to 16", "1 is usual", diagnostics);
  if (numStages < 0 || numStages > maxStages)
    return refuse("num_stages", numStages, "from 0 to 65536", "0 and 1 turn pipelining off; 2 to 5 are usual", diagnostics);
  if (maxnreg && (*maxnreg < 1 || *maxnreg > maxMaxnreg))
    return refuse("maxnreg", *maxnreg, "from 1 to 65536", "a GPU's thread has 24 to 255 registers; None sets no limit", diagnostics);
  if (!gpu) return true; // a CPU runs a program on one core and ignores the numbers of warps and CTAs
  if (numWarps > gpu->threadsPerBlock / lanes) {
    // The number is valid, but too large for this GPU: a tuner continues with its next configuration.
    int64_t threads = 0;
    if (__builtin_mul_overflow(numWarps, lanes, &threads)) threads = INT64_MAX;
    diagnostics.error({}, Diag::outOfResources, {"threads", std::to_string(threads), std::to_string(gpu->threadsPerBlock)});
    return false;
  }
  if (numCtas > 1 && !gpu->clusters) {
    diagnostics.error({}, Diag::noClusters, {std::to_string(numCtas), gpu->name});
    return false;
  }
  return true;
}

bool isForeignOption(std::string_view name) {
  static constexpr std::string_view names[] = {"launch_cluster",
                                               "arch",
                                               "num_cpu_threads",
                                               "ptx_version",
                                               "supported_fp8_dtypes",
                                               "deprecated_fp8_dot_operand_dtypes",
                                               "default_dot_input_precision",
                                               "allowed_dot_input_precisions",
                                               "max_num_imprecise_acc_default",
                                               "backend_name",
                                               "instrumentation_mode",
                                               "cluster_dims",
                                               "min_shared_mem",
                                               "sched4reg",
                                               "clc",
                                               "fpsan_homomorphic_casts",
                                               "waves_per_eu",
                                               "matrix_instr_nonkdim",
                                               "kpack",
                                               "warp_size",
                                               "allow_flush_denorm"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

} // namespace tilewright
