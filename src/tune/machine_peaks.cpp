#include "tune/machine_peaks.h"

#include "runtime/cache.h"
#include "runtime/cpu_peaks.h"
#include "support/hash.h"
#include "support/json.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace tilewright {

static std::string keyOf(const std::string &machine) {
  constexpr int64_t form = 2; // of the numbers that are kept
  return Hasher().add("roof").addInteger(form).add(machine).hex();
}

MachinePeaks measureCpu() {
  CpuPeaks peaks = measurePeaks();
  return {{{"bytes_per_second", peaks.bytesPerSecond}, {"float32", peaks.float32}, {"float64", peaks.float64}}, peaks.isDisturbed};
}

std::optional<MachinePeaks> storedPeaks(const std::string &machine, Diagnostics &diagnostics) {
  std::optional<std::string> text = cacheEnabled() ? loadCached(keyOf(machine), CacheKind::kernel, diagnostics) : std::nullopt;
  if (!text) return std::nullopt;
  Result<llvm::json::Value> value = parseJson(*text);
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) return std::nullopt;
  MachinePeaks peaks;
  peaks.isDisturbed = object->getBoolean("disturbed").value_or(false);
  for (const auto &[name, number] : *object)
    if (std::optional<double> rate = number.getAsNumber()) peaks.rates[name.str()] = *rate;
  return peaks;
}

void storePeaks(const std::string &machine, const MachinePeaks &peaks, Diagnostics &diagnostics) {
  if (!cacheEnabled()) return;
  llvm::json::Object kept{{"device", machine}, {"disturbed", peaks.isDisturbed}};
  for (const auto &[name, rate] : peaks.rates)
    kept[name] = rate;
  storeCached(keyOf(machine), CacheKind::kernel, llvm::formatv("{0}", llvm::json::Value(std::move(kept))).str(), diagnostics);
}

MachinePeaks higherPeaks(MachinePeaks peaks, const MachinePeaks &other) {
  for (const auto &[name, rate] : other.rates)
    peaks.rates[name] = std::max(peaks.rates[name], rate);
  return peaks;
}

std::optional<MachinePeaks> peaksOfMachine(const std::string &machine, const std::function<std::optional<MachinePeaks>()> &measure, bool anew,
                                  Diagnostics &diagnostics) {
  std::optional<MachinePeaks> kept = anew ? std::nullopt : storedPeaks(machine, diagnostics);
  if (kept && !kept->isDisturbed) return kept;
  std::optional<MachinePeaks> peaks = measure();
  if (!peaks) return std::nullopt;
  if (kept) peaks = higherPeaks(std::move(*peaks), *kept);
  storePeaks(machine, *peaks, diagnostics);
  return peaks;
}

} // namespace tilewright
