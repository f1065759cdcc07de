#include "tune/machine_peaks.h"

#include "runtime/cache.h"
#include "runtime/cpu_peaks.h"
#include "support/hash.h"
#include "support/json.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace tilewright {

static std::string keyOf(const std::string &machine) {
  constexpr int64_t format = 3; // of the stored numbers
  return Hasher().add("peaks").addInteger(format).add(machine).hex();
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
  llvm::json::Object stored{{"device", machine}, {"disturbed", peaks.isDisturbed}};
  for (const auto &[name, rate] : peaks.rates)
    stored[name] = rate;
  storeCached(keyOf(machine), CacheKind::kernel, llvm::formatv("{0}", llvm::json::Value(std::move(stored))).str(), diagnostics);
}

MachinePeaks higherPeaks(MachinePeaks peaks, const MachinePeaks &other) {
  for (const auto &[name, rate] : other.rates)
    peaks.rates[name] = std::max(peaks.rates[name], rate);
  return peaks;
}

std::optional<MachinePeaks> peaksOfMachine(const std::string &machine, const std::function<std::optional<MachinePeaks>()> &measure,
                                           bool remeasure, Diagnostics &diagnostics) {
  std::optional<MachinePeaks> stored = remeasure ? std::nullopt : storedPeaks(machine, diagnostics);
  if (stored && !stored->isDisturbed) return stored;
  std::optional<MachinePeaks> peaks = measure();
  if (!peaks) return std::nullopt;
  if (stored) peaks = higherPeaks(std::move(*peaks), *stored);
  storePeaks(machine, *peaks, diagnostics);
  return peaks;
}

} // namespace tilewright
