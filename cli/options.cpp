#include "cli/options.h"

#include <limits>

namespace tilewright {

std::optional<KernelOptions> readCodeOptions(const CommandLine &line) {
  KernelOptions options;
  constexpr int64_t min = std::numeric_limits<int64_t>::min(), max = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> warps = line.integer("--num-warps", options.numWarps, min, max),
                         ctas = line.integer("--num-ctas", options.numCtas, min, max),
                         stages = line.integer("--num-stages", options.numStages, min, max);
  if (!warps || !ctas || !stages) return std::nullopt;
  options.numWarps = *warps;
  options.numCtas = *ctas;
  options.numStages = *stages;
  options.debug = line.has("--debug");
  if (line.has("--numerics")) {
    std::optional<Numerics> numerics = numericsNamed(line.get("--numerics", ""));
    if (!numerics) return fail("--numerics is 3.9, 3.10 or strict, not '" + line.get("--numerics", "") + "'"), std::nullopt;
    options.setNumerics(*numerics);
  }
  if (line.has("--no-fp-fusion")) options.fpFusion = false;
  return options;
}

} // namespace tilewright
