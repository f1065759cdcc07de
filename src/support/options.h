// What a launch may choose about the code of a kernel. Every door (a call from Python, triton.Config, the C interface, the command) fills
// the same fields and checks nothing itself: the compiler calls check() before it does anything else.
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

/// Whose rules the language follows where releases of Triton differ: those of 3.6 to 3.8, or those of 3.9. They give different types to
/// results of a tile and a number, and to bf16 in minimum, maximum, clamp and scans (frontend/promotion.cpp).
enum class LanguageRules : uint8_t { triton36, triton39 };

/// The release that `triton.__version__` reports: that of TILEWRIGHT_TRITON_VERSION, or the newest one that is known. Read once.
struct TritonVersion {
  std::string text;
  LanguageRules rules;
};
const TritonVersion &tritonVersion();

/// How exactly floating-point arithmetic follows the source.
///   triton39   a multiplication and an addition may become one operation; Triton's default up to 3.9
///   triton310  they may not, unless enable_fp_fusion says so; Triton's default from 3.10 on
///   strict     they never do by default, divisions and square roots of fp32 are rounded to nearest, exp2 gives denormals, and tl.dot of
///              fp32 is exact (ieee) where the kernel names no precision
enum class Numerics : uint8_t { triton39, triton310, strict };
/// "3.9", "3.10" or "strict"; null for other words.
std::optional<Numerics> numericsNamed(std::string_view name);
std::string_view nameOf(Numerics numerics);
/// The numerics of TILEWRIGHT_NUMERICS, or those of 3.9. Read once.
Numerics defaultNumerics();

/// Reports TILEWRIGHT_TRITON_VERSION and TILEWRIGHT_NUMERICS where their values are not known; false after an error.
bool checkVersionSettings(Diagnostics &diagnostics);

struct KernelOptions {
  int64_t numWarps = 4, numStages = 3, numCtas = 1;
  std::optional<int64_t> maxnreg; // the most registers of a thread
  bool debug = false;             // device_assert, overflow checks
  bool sanitizeOverflow = true;   // with debug: whether integers are checked for overflow
  LanguageRules rules = tritonVersion().rules;
  Numerics numerics = defaultNumerics(); // changed by setNumerics
  bool fpFusion = numerics == Numerics::triton39;
  std::string backend = "cpu"; // tl.target_info, default precision of dot: "cpu" is ieee, "cuda" is tf32
  int64_t capability = 0;      // of the GPU, major * 10 + minor
  std::string dotPrecision =
      numerics == Numerics::strict ? "ieee" : ""; // of tl.dot's products of f32 that name none; empty: the backend's default
  std::string ptxOptions;                         // more words for ptxas
  bool flushesExp2 =
      numerics != Numerics::strict; // whether exp2 on a GPU may give 0 where its result is a denormal: upstream's enable_reflect_ftz

  using Libraries = std::vector<std::pair<std::string, std::string>>; // names and paths
  std::optional<Libraries> externLibs;                                // nothing is linked, but a kernel that has them is another kernel

  bool breakpoints = false; // whether breakpoint() stops the programs: on the interpreter only
  std::string overrideText; // tt IR or PTX that takes the place of the kernel's own: upstream's ir_override

  /// Sets the numerics and what follows from them. Options that say more (enable_fp_fusion, ...) are set afterwards.
  void setNumerics(Numerics wanted);

  /// Whether code can be made with these options; false after an error. `gpu` is null for processors, which ignore most options.
  bool check(const GpuTarget *gpu, Diagnostics &diagnostics) const;
};

/// Whether other code generators and launchers have an option of that name: it is accepted, and has no effect here.
bool isForeignOption(std::string_view name);

} // namespace tilewright
