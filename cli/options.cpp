#include "cli/options.h"

namespace tilewright {

std::optional<KernelOptions> readCodeOptions(const CommandLine &line) {
  KernelOptions options;
  std::optional<int64_t> warps = line.integer("--num-warps", options.numWarps, 1, 32),
                         stages = line.integer("--num-stages", options.numStages, 0, 1024);
  if (!warps || !stages) return std::nullopt;
  if (*warps & (*warps - 1)) {
    fail("--num-warps wants a power of two, not " + std::to_string(*warps));
    return std::nullopt;
  }
  options.numWarps = *warps;
  options.numStages = *stages;
  options.debug = line.has("--debug");
  options.fpFusion = !line.has("--no-fp-fusion");
  return options;
}

} // namespace tilewright
