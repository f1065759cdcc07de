#include "tune/initial_config.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {

static bool isOfGroup(llvm::StringRef name) {
  return name.contains_insensitive("group");
}

bool isSizeName(llvm::StringRef name) {
  return name.contains_insensitive("block") || name.contains_insensitive("tile") || isOfGroup(name);
}

static bool isCtaCountName(llvm::StringRef name) {
  return name == "num_ctas";
}

std::vector<OpenSize> openSizes(llvm::ArrayRef<std::string> names, bool isGpu, bool hasClusters) {
  int64_t blocks = std::count_if(names.begin(), names.end(), [](const std::string &name) { return !isOfGroup(name); });
  std::vector<OpenSize> open;
  for (const std::string &name : names) {
    if (isOfGroup(name))
      open.push_back({name, {1, 4, 8}}); // rows of programs that run next to each other
    else if (blocks == 1)
      open.push_back({name, {64, 128, 256, 512, 1024, 2048, 4096, 8192}});
    else
      open.push_back({name, {16, 32, 64, 128, 256}});
  }
  if (isGpu) open.push_back({"num_warps", {4, 8}});
  if (hasClusters && blocks > 1) open.push_back({"num_ctas", {1, 2, 4, 8}});
  return open;
}

namespace {
/// Caches estimates.
class Estimates {
public:
  explicit Estimates(llvm::function_ref<double(llvm::ArrayRef<int64_t>)> estimate) : estimate(estimate) {}
  double of(const std::vector<int64_t> &sizes) {
    auto [at, isNew] = known.try_emplace(sizes);
    if (isNew) at->second = estimate(sizes);
    return at->second;
  }

private:
  llvm::function_ref<double(llvm::ArrayRef<int64_t>)> estimate;
  std::map<std::vector<int64_t>, double> known;
};
} // namespace

/// Descends along one parameter at a time. Of equal estimates, the smaller value wins.
static std::vector<int64_t> descend(llvm::ArrayRef<OpenSize> open, std::vector<int64_t> sizes, Estimates &estimates) {
  constexpr int maxRounds = 4;
  for (int round = 0; round < maxRounds; ++round) {
    std::vector<int64_t> before = sizes;
    for (size_t i = 0; i < open.size(); ++i) {
      std::vector<int64_t> tried = sizes;
      for (int64_t value : open[i].values) {
        tried[i] = value;
        double cost = estimates.of(tried), best = estimates.of(sizes);
        if (cost < best || (cost == best && std::isfinite(cost) && value < sizes[i])) sizes = tried;
      }
    }
    if (sizes == before) break;
  }
  return sizes;
}

/// Starts from the middle values, or from the smallest ones if those do not work.
static std::vector<int64_t> cheapest(llvm::ArrayRef<OpenSize> open, Estimates &estimates) {
  std::vector<int64_t> found;
  for (bool fromMiddle : {true, false}) {
    std::vector<int64_t> start;
    for (const OpenSize &size : open)
      start.push_back(size.values[fromMiddle ? size.values.size() / 2 : 0]);
    found = descend(open, std::move(start), estimates);
    if (std::isfinite(estimates.of(found))) break;
  }
  return found;
}

/// Searches each number of CTAs separately, as long as more CTAs are much cheaper. Many small tiles with one CTA each and few large tiles
/// with several CTAs are too far from each other for steps of one parameter. The estimate ignores memory time, so a small predicted gain
/// may not exist. On an H200, matmuls of 64x8192x8192 and 16x8192x8192, with a predicted gain of a fifth and less, take 2 and 1 % longer
/// with two CTAs. Those of 16x16384x1024 and 512x8192x512, with a third and a quarter, take 11 and 9 % less.
static std::vector<int64_t> cheapestPerCtaCount(llvm::ArrayRef<OpenSize> open, Estimates &estimates) {
  auto ctas = llvm::find_if(open, [](const OpenSize &size) { return isCtaCountName(size.name); });
  if (ctas == open.end()) return cheapest(open, estimates);
  constexpr double muchCheaper = 0.75;
  std::vector<int64_t> best;
  for (int64_t count : ctas->values) {
    std::vector<OpenSize> fixed(open);
    fixed[static_cast<size_t>(ctas - open.begin())].values = {count};
    std::vector<int64_t> found = cheapest(fixed, estimates);
    if (!best.empty() && !(estimates.of(found) <= muchCheaper * estimates.of(best))) break;
    best = std::move(found);
  }
  return best;
}

std::optional<InitialConfig> chooseInitialSizes(llvm::ArrayRef<OpenSize> open,
                                                llvm::function_ref<double(llvm::ArrayRef<int64_t>)> estimate) {
  Estimates estimates(estimate);
  InitialConfig best{cheapestPerCtaCount(open, estimates), {}};
  if (!std::isfinite(estimates.of(best.sizes))) return std::nullopt;
  // The second combination changes each parameter by one step, up or down.
  double lowest = 0;
  for (int step : {-1, 1}) {
    std::vector<int64_t> other = best.sizes;
    for (size_t i = 0; i < open.size(); ++i) {
      const std::vector<int64_t> &values = open[i].values;
      if (isCtaCountName(open[i].name)) continue; // the number of CTAs does not show whether a parameter is a free choice
      auto at = std::find(values.begin(), values.end(), best.sizes[i]) - values.begin();
      auto last = static_cast<std::ptrdiff_t>(values.size()) - 1;
      other[i] = values[static_cast<size_t>(at + step < 0 || at + step > last ? at - step : at + step)];
    }
    double cost = estimates.of(other);
    if (!std::isfinite(cost) || (!best.other.empty() && cost >= lowest)) continue;
    lowest = cost;
    best.other = std::move(other);
  }
  return best;
}

} // namespace tilewright
