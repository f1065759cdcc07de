#include "support/target.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <vector>

namespace tilewright {

static const std::vector<GpuTarget> &gpuTargets() {
  static const std::vector<GpuTarget> targets = {
#define GPU_TARGET(...) GpuTarget{__VA_ARGS__},
#include "support/targets.def"
#undef GPU_TARGET
  };
  return targets;
}

std::pair<int64_t, int64_t> GpuTarget::ptxIsa() const {
  return {std::atoll(ptxVersion.c_str()), std::atoll(ptxVersion.c_str() + ptxVersion.find('.') + 1)};
}

std::string GpuTarget::llvmFeatures() const {
  std::string features = "+ptx";
  for (char c : ptxVersion)
    if (c != '.') features += c;
  return features;
}

const GpuTarget &defaultGpuTarget() {
  return *llvm::find_if(gpuTargets(), [](const GpuTarget &target) { return target.isDefault; });
}

static constexpr std::string_view gpuPrefix = "cuda:";

std::string defaultGpuText() {
  return std::string(gpuPrefix) + defaultGpuTarget().name;
}

std::optional<GpuTarget> gpuTargetOfText(std::string_view text) {
  if (text.substr(0, gpuPrefix.size()) != gpuPrefix) return std::nullopt;
  return gpuTarget(text.substr(gpuPrefix.size()));
}

std::optional<GpuTarget> gpuTarget(std::string_view name) {
  const GpuTarget *best = nullptr; // a number has several rows; the last one has the most features
  for (const GpuTarget &target : gpuTargets()) {
    if (name == target.name) return target;
    if (name == std::to_string(target.capability)) best = &target;
  }
  if (best) return *best;
  return std::nullopt;
}

bool runsOn(const GpuTarget &target, int64_t major, int64_t minor) {
  int64_t capability = major * 10 + minor;
  return target.ofOneGpu() ? target.capability == capability : target.capability <= capability;
}

std::optional<GpuTarget> gpuTargetFor(int64_t major, int64_t minor) {
  const GpuTarget *best = nullptr;
  for (const GpuTarget &target : gpuTargets())
    if (runsOn(target, major, minor)) best = &target;
  if (best) return *best;
  return std::nullopt;
}

std::string gpuTargetNames() {
  std::string names;
  for (const GpuTarget &target : gpuTargets())
    names += (names.empty() ? "" : ", ") + target.name;
  return names;
}

} // namespace tilewright
