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

struct KernelOptions {
  int64_t numWarps = 4, numStages = 3, numCtas = 1;
  std::optional<int64_t> maxnreg; // the most registers of a thread
  bool debug = false;             // device_assert, overflow checks
  bool sanitizeOverflow = true;   // with debug: whether integers are checked for overflow
  bool fpFusion = true;
  std::string backend = "cpu"; // tl.target_info, default precision of dot: "cpu" is ieee, "cuda" is tf32
  int64_t capability = 0;      // of the GPU, major * 10 + minor
  std::string dotPrecision;    // of tl.dot's products of f32 that name none; empty: the backend's default
  std::string ptxOptions;      // more words for ptxas
  bool flushesExp2 = true;     // whether exp2 on a GPU may give 0 where its result is a denormal: upstream's enable_reflect_ftz

  using Libraries = std::vector<std::pair<std::string, std::string>>; // names and paths
  std::optional<Libraries> externLibs;                                // nothing is linked, but a kernel that has them is another kernel

  bool breakpoints = false; // whether breakpoint() stops the programs: on the interpreter only
  std::string overrideText; // tt IR or PTX that takes the place of the kernel's own: upstream's ir_override

  /// Whether code can be made with these options; false after an error. `gpu` is null for processors, which ignore most options.
  bool check(const GpuTarget *gpu, Diagnostics &diagnostics) const;
};

/// Whether other code generators and launchers have an option of that name: it is accepted, and has no effect here.
bool isForeignOption(std::string_view name);

} // namespace tilewright
