// The options of a kernel's code. Every front end (a call from Python, triton.Config, the C interface, the command line) fills the same
// fields and checks nothing itself: the compiler calls check() first.
#pragma once

#include "support/diagnostics.h"
#include "support/target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

/// The language rules where releases of Triton differ: those of 3.6 to 3.8, or those of 3.9. They differ in the result types of a tile and
/// a number, and of bf16 in minimum, maximum, clamp and scans (frontend/promotion.cpp).
enum class LanguageRules : uint8_t { triton36, triton39 };

/// The release that `triton.__version__` reports: that of TILEWRIGHT_TRITON_VERSION, or the newest one that is known. Read once.
struct TritonVersion {
  std::string text;
  LanguageRules rules;
};
const TritonVersion &tritonVersion();

/// The strictness of floating-point arithmetic.
///   triton39   a multiplication and an addition may become one operation; Triton's default up to 3.9
///   triton310  they may not, unless enable_fp_fusion is set; Triton's default from 3.10 on
///   strict     they never do by default, divisions and square roots of fp32 are rounded to nearest, exp2 gives denormals, and tl.dot of
///              fp32 is exact (ieee) unless the kernel names a precision
enum class Numerics : uint8_t { triton39, triton310, strict };
/// Returns the numerics of "3.9", "3.10" or "strict"; null for other words.
std::optional<Numerics> numericsNamed(std::string_view name);
std::string_view nameOf(Numerics numerics);
/// Returns the numerics of TILEWRIGHT_NUMERICS, or those of 3.9. Read once.
Numerics defaultNumerics();

/// Reports unknown values of TILEWRIGHT_TRITON_VERSION and TILEWRIGHT_NUMERICS; false after an error.
bool checkVersionSettings(Diagnostics &diagnostics);

struct KernelOptions {
  int64_t numWarps = 4, numStages = 3, numCtas = 1;
  std::optional<int64_t> maxnreg; // limit of the registers of a thread
  bool debug = false;             // device_assert, overflow checks
  bool sanitizeOverflow = true;   // with debug: integers are checked for overflow
  LanguageRules rules = tritonVersion().rules;
  Numerics numerics = defaultNumerics(); // changed by setNumerics
  bool fpFusion = numerics == Numerics::triton39;
  std::string backend = "cpu"; // tl.target_info, default precision of dot: "cpu" is ieee, "cuda" is tf32
  int64_t capability = 0;      // of the GPU, major * 10 + minor
  std::string dotPrecision =
      numerics == Numerics::strict ? "ieee" : "";  // of tl.dot with f32 operands and no precision; empty: the backend's default
  std::string ptxOptions;                          // more options for ptxas
  bool flushesExp2 = numerics != Numerics::strict; // exp2 on a GPU may flush a subnormal result to 0: Triton's enable_reflect_ftz

  using Libraries = std::vector<std::pair<std::string, std::string>>; // names and paths
  std::optional<Libraries> externLibs;                                // not linked, but part of the kernel's identity

  bool breakpoints = false; // breakpoint() stops the programs; on the interpreter only
  std::string overrideText; // tt IR or PTX that replaces the kernel's own: Triton's ir_override

  /// Sets the numerics and the options that follow from them. More specific options (enable_fp_fusion, ...) are set afterwards.
  void setNumerics(Numerics wanted);

  /// Checks the options; false after an error. `gpu` is null for CPUs, which ignore most options.
  bool check(const GpuTarget *gpu, Diagnostics &diagnostics) const;
};

/// True if other backends of Triton have an option of that name: it is accepted and has no effect.
bool isForeignOption(std::string_view name);

} // namespace tilewright
