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

static bool isBlockSizeName(llvm::StringRef name) {
  return name == "num_ctas";
}

std::vector<OpenSize> openSizes(llvm::ArrayRef<std::string> names, bool isGpu, bool hasClusters) {
  int64_t blocks = std::count_if(names.begin(), names.end(), [](const std::string &name) { return !isOfGroup(name); });
  std::vector<OpenSize> open;
  for (const std::string &name : names) {
    if (isOfGroup(name))
      open.push_back({name, {1, 4, 8}}); // rows of programs that run side by side
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
/// Estimates that are already known.
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

/// Of equal ones, the smaller value is kept.
static std::vector<int64_t> descend(llvm::ArrayRef<OpenSize> open, std::vector<int64_t> sizes, Estimates &estimates) {
  constexpr int maxRounds = 4;
  for (int round = 0; round < maxRounds; ++round) {
    std::vector<int64_t> before = sizes;
    for (size_t i = 0; i < open.size(); ++i) {
      std::vector<int64_t> tried = sizes;
      for (int64_t value : open[i].values) {
        tried[i] = value;
        double cost = estimates.of(tried), least = estimates.of(sizes);
        if (cost < least || (cost == least && std::isfinite(cost) && value < sizes[i])) sizes = tried;
      }
    }
    if (sizes == before) break;
  }
  return sizes;
}

/// From the middle of all ladders; where that does not work, from the bottom.
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

/// Many small tiles with a block each and few large ones with several lie too far apart for steps of one parameter: each number of blocks
/// has a descent of its own, as long as more blocks are much cheaper. The estimate does not know what comes from memory in any case: on an
/// H200 products of 64x8192x8192 and 16x8192x8192, of which it promises a fifth and less, take 2 and 1 % longer in two blocks, and
/// 16x16384x1024 and 512x8192x512, a third and a quarter, 11 and 9 % less.
static std::vector<int64_t> cheapestBlockSizes(llvm::ArrayRef<OpenSize> open, Estimates &estimates) {
  auto blocks = llvm::find_if(open, [](const OpenSize &size) { return isBlockSizeName(size.name); });
  if (blocks == open.end()) return cheapest(open, estimates);
  constexpr double muchCheaper = 0.75;
  std::vector<int64_t> best;
  for (int64_t count : blocks->values) {
    std::vector<OpenSize> fixed(open);
    fixed[static_cast<size_t>(blocks - open.begin())].values = {count};
    std::vector<int64_t> found = cheapest(fixed, estimates);
    if (!best.empty() && !(estimates.of(found) <= muchCheaper * estimates.of(best))) break;
    best = std::move(found);
  }
  return best;
}

std::optional<InitialConfig> chooseInitialSizes(llvm::ArrayRef<OpenSize> open, llvm::function_ref<double(llvm::ArrayRef<int64_t>)> estimate) {
  Estimates estimates(estimate);
  InitialConfig best{cheapestBlockSizes(open, estimates), {}};
  if (!std::isfinite(estimates.of(best.sizes))) return std::nullopt;
  // The other one: each parameter a step away, up or down.
  double least = 0;
  for (int step : {-1, 1}) {
    std::vector<int64_t> other = best.sizes;
    for (size_t i = 0; i < open.size(); ++i) {
      const std::vector<int64_t> &values = open[i].values;
      if (isBlockSizeName(open[i].name)) continue; // it says nothing of what a parameter means
      auto at = std::find(values.begin(), values.end(), best.sizes[i]) - values.begin();
      auto last = static_cast<std::ptrdiff_t>(values.size()) - 1;
      other[i] = values[static_cast<size_t>(at + step < 0 || at + step > last ? at - step : at + step)];
    }
    double cost = estimates.of(other);
    if (!std::isfinite(cost) || (!best.other.empty() && cost >= least)) continue;
    least = cost;
    best.other = std::move(other);
  }
  return best;
}

} // namespace tilewright
