#include "cli/options.h"

namespace tilewright {

std::optional<KernelOptions> readCodeOptions(const CommandLine &line) {
  KernelOptions options;
  std::optional<int64_t> warps = line.integer("--num-warps", options.numWarps, 1, 32),
                         ctas = line.integer("--num-ctas", options.numCtas, 1, 16),
                         stages = line.integer("--num-stages", options.numStages, 0, 1024);
  if (!warps || !ctas || !stages) return std::nullopt;
  for (auto [name, number] : {std::pair("--num-warps", *warps), std::pair("--num-ctas", *ctas)})
    if (number & (number - 1)) {
      fail(name + std::string(" wants a power of two, not ") + std::to_string(number));
      return std::nullopt;
    }
  options.numWarps = *warps;
  options.numCtas = *ctas;
  options.numStages = *stages;
  options.debug = line.has("--debug");
  options.fpFusion = !line.has("--no-fp-fusion");
  return options;
}

} // namespace tilewright
