#include "cli/options.h"

namespace tilewright {

std::optional<KernelOptions> readCodeOptions(const CommandLine &line) {
  KernelOptions options;
  std::optional<int64_t> warps = line.integer("--num-warps", options.numWarps), stages = line.integer("--num-stages", options.numStages);
  if (!warps || !stages) return std::nullopt;
  options.numWarps = *warps;
  options.numStages = *stages;
  options.debug = line.has("--debug");
  options.fpFusion = !line.has("--no-fp-fusion");
  return options;
}

} // namespace tilewright
