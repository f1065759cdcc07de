#include "tune/machine_roof.h"

#include "runtime/cache.h"
#include "runtime/roof.h"
#include "support/hash.h"
#include "support/json.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace tilewright {

static std::string keyOf(const std::string &machine) {
  constexpr int64_t form = 2; // of the numbers that are kept
  return Hasher().add("roof").addInteger(form).add(machine).hex();
}

MachineRoof measureProcessor() {
  Roof roof = measureRoof();
  return {{{"bytes_per_second", roof.bytesPerSecond}, {"float32", roof.float32}, {"float64", roof.float64}}, roof.isDisturbed};
}

std::optional<MachineRoof> keptRoof(const std::string &machine, Diagnostics &diagnostics) {
  std::optional<std::string> text = cacheEnabled() ? loadCached(keyOf(machine), CacheKind::kernel, diagnostics) : std::nullopt;
  if (!text) return std::nullopt;
  Result<llvm::json::Value> value = parseJson(*text);
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) return std::nullopt;
  MachineRoof roof;
  roof.isDisturbed = object->getBoolean("disturbed").value_or(false);
  for (const auto &[name, number] : *object)
    if (std::optional<double> rate = number.getAsNumber()) roof.rates[name.str()] = *rate;
  return roof;
}

void keepRoof(const std::string &machine, const MachineRoof &roof, Diagnostics &diagnostics) {
  if (!cacheEnabled()) return;
  llvm::json::Object kept{{"device", machine}, {"disturbed", roof.isDisturbed}};
  for (const auto &[name, rate] : roof.rates)
    kept[name] = rate;
  storeCached(keyOf(machine), CacheKind::kernel, llvm::formatv("{0}", llvm::json::Value(std::move(kept))).str(), diagnostics);
}

MachineRoof higherRoof(MachineRoof roof, const MachineRoof &other) {
  for (const auto &[name, rate] : other.rates)
    roof.rates[name] = std::max(roof.rates[name], rate);
  return roof;
}

std::optional<MachineRoof> roofOf(const std::string &machine, const std::function<std::optional<MachineRoof>()> &measure, bool anew,
                                  Diagnostics &diagnostics) {
  std::optional<MachineRoof> kept = anew ? std::nullopt : keptRoof(machine, diagnostics);
  if (kept && !kept->isDisturbed) return kept;
  std::optional<MachineRoof> roof = measure();
  if (!roof) return std::nullopt;
  if (kept) roof = higherRoof(std::move(*roof), *kept);
  keepRoof(machine, *roof, diagnostics);
  return roof;
}

} // namespace tilewright
