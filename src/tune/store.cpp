// An entry as JSON:
//   {"kernel": "add", "source": "5b1c...", "device": "cpu znver4 avx512, 8 threads", "key": "x_ptr=*fp32, n=1000", "best": 1,
//    "configs": [{"config": "BLOCK=32, ...", "failure": "..."}, {"config": "BLOCK=64, ...", "milliseconds": [0.012, 0.011, 0.014]}]}
// In the cache folder it is wrapped like all entries there (runtime/cache): a checksum, its own name, a private folder.

#include "tune/store.h"

#include "runtime/cache.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/json.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <tuple>
#include <unordered_map>

namespace json = llvm::json;

namespace tilewright {

/// The version of the format of entries and files. It is part of an entry's name, so entries of another version are not found.
static constexpr int64_t format = 1;
/// The version of the failures' texts, which isOtherResults tests.
static constexpr int64_t failureTexts = 2;

std::string tunedKey(const TuneProblem &problem, llvm::ArrayRef<std::string> configs) {
  Hasher hasher;
  hasher.add("tuned by agreement").addInteger(format).addInteger(failureTexts).add(TILEWRIGHT_VERSION);
  hasher.add(problem.kernel).add(problem.source).add(problem.device).add(problem.key);
  for (const std::string &config : configs)
    hasher.add(config);
  return hasher.hex();
}

static json::Object toJson(const Measured &result) {
  if (result.milliseconds.empty()) return json::Object{{"failure", json::fixUTF8(result.failure)}};
  return json::Object{{"milliseconds", json::Array(result.milliseconds)}};
}

static json::Value toJson(const TunedEntry &entry) {
  json::Array configs;
  for (size_t i = 0; i < entry.configs.size(); ++i) {
    json::Object config = toJson(entry.results[i]);
    config["config"] = entry.configs[i];
    configs.push_back(std::move(config));
  }
  const TuneProblem &problem = entry.problem;
  return json::Object{{"kernel", problem.kernel}, {"source", problem.source},      {"device", problem.device},
                      {"key", problem.key},       {"configs", std::move(configs)}, {"best", static_cast<int64_t>(entry.best)}};
}

static std::optional<Measured> resultOf(const json::Object &object) {
  Measured result;
  if (std::optional<llvm::StringRef> failure = object.getString("failure")) result.failure = failure->str();
  result.group = object.getBoolean("differs").value_or(false);
  const json::Array *times = object.getArray("milliseconds");
  for (const json::Value &time : times ? *times : json::Array()) {
    std::optional<double> number = time.getAsNumber();
    if (!number || !std::isfinite(*number)) return std::nullopt;
    result.milliseconds.push_back(*number);
  }
  return result;
}

/// Null if a field is missing or invalid.
static std::optional<TunedEntry> entryOf(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  const json::Array *configs = object ? object->getArray("configs") : nullptr;
  std::optional<int64_t> best = object ? object->getInteger("best") : std::nullopt;
  if (!configs || !best) return std::nullopt;
  TunedEntry entry;
  TuneProblem &problem = entry.problem;
  for (auto [name, field] : {std::pair("kernel", &problem.kernel), std::pair("source", &problem.source),
                             std::pair("device", &problem.device), std::pair("key", &problem.key)}) {
    std::optional<llvm::StringRef> text = object->getString(name);
    if (!text) return std::nullopt;
    *field = text->str();
  }
  for (const json::Value &item : *configs) {
    const json::Object *config = item.getAsObject();
    std::optional<llvm::StringRef> text = config ? config->getString("config") : std::nullopt;
    std::optional<Measured> result = config ? resultOf(*config) : std::nullopt;
    if (!text || !result) return std::nullopt;
    entry.configs.push_back(text->str());
    entry.results.push_back(std::move(*result));
  }
  if (*best < 0 || *best >= static_cast<int64_t>(entry.configs.size())) return std::nullopt;
  entry.best = static_cast<size_t>(*best);
  if (entry.results[entry.best].milliseconds.empty()) return std::nullopt; // a winner must have worked
  return entry;
}

static std::optional<TunedEntry> parseEntry(const std::string &text) {
  Result<json::Value> value = parseJson(text);
  return value ? entryOf(*value) : std::nullopt;
}

std::string measuredText(const Measured &result) {
  json::Object object = toJson(result);
  if (result.group != 0) object["differs"] = true; // from the results of the configuration that every process runs first
  return llvm::formatv("{0}", json::Value(std::move(object))).str();
}

std::optional<Measured> readMeasured(const std::string &text) {
  Result<json::Value> value = parseJson(text);
  return value && value->getAsObject() ? resultOf(*value->getAsObject()) : std::nullopt;
}

std::optional<TunedEntry> loadTuned(const TuneProblem &problem, llvm::ArrayRef<std::string> configs, Diagnostics &diagnostics) {
  std::optional<std::string> bytes = loadCached(tunedKey(problem, configs), CacheKind::tuned, diagnostics);
  std::optional<TunedEntry> entry = bytes ? parseEntry(*bytes) : std::nullopt;
  if (!entry || !(entry->problem == problem) || configs != llvm::ArrayRef<std::string>(entry->configs)) return std::nullopt;
  return entry;
}

void storeTuned(const TunedEntry &entry, Diagnostics &diagnostics) {
  storeCached(tunedKey(entry.problem, entry.configs), CacheKind::tuned, llvm::formatv("{0}", toJson(entry)).str(), diagnostics);
}

std::vector<TunedEntry> allTuned(Diagnostics &diagnostics) {
  std::vector<TunedEntry> entries;
  for (const std::string &bytes : allCached(CacheKind::tuned, diagnostics))
    if (std::optional<TunedEntry> entry = parseEntry(bytes)) entries.push_back(std::move(*entry));
  auto order = [](const TunedEntry &entry) {
    return std::tie(entry.problem.kernel, entry.problem.device, entry.problem.key, entry.problem.source, entry.configs);
  };
  std::sort(entries.begin(), entries.end(), [&](const TunedEntry &a, const TunedEntry &b) { return order(a) < order(b); });
  return entries;
}

// ---- files

std::string tunedText(llvm::ArrayRef<TunedEntry> entries) {
  json::Array tuned;
  for (const TunedEntry &entry : entries)
    tuned.push_back(toJson(entry));
  json::Value file = json::Object{{"format", format}, {"tilewright", TILEWRIGHT_VERSION}, {"tuned", std::move(tuned)}};
  return llvm::formatv("{0:2}\n", file).str();
}

Result<std::vector<TunedEntry>> readTunedFile(const std::string &path) {
  Result<std::string> bytes = readFile(path);
  if (!bytes) return Failure{bytes.error()};
  Result<json::Value> value = parseJson(*bytes);
  if (!value) return Failure{value.error()};
  const json::Object *file = value->getAsObject();
  const json::Array *tuned = file ? file->getArray("tuned") : nullptr;
  if (!tuned) return Failure{"it has no list \"tuned\""};
  if (file->getInteger("format") != format) return Failure{"its format is not " + std::to_string(format) + ", which this version reads"};
  std::vector<TunedEntry> entries;
  for (const json::Value &item : *tuned) {
    std::optional<TunedEntry> entry = entryOf(item);
    if (!entry) return Failure{"entry " + std::to_string(entries.size()) + " is incomplete or invalid"};
    entries.push_back(std::move(*entry));
  }
  return entries;
}

std::optional<size_t> pinnedConfig(const TuneProblem &problem, llvm::ArrayRef<std::string> configs, Diagnostics &diagnostics) {
  const char *path = std::getenv("TILEWRIGHT_TUNED");
  if (!path || !*path) return std::nullopt;
  // A file is read once, at the first launch that needs it.
  static std::mutex lock;
  static std::unordered_map<std::string, std::vector<TunedEntry>> files;
  std::lock_guard<std::mutex> guard(lock);
  auto found = files.find(path);
  if (found == files.end()) {
    Result<std::vector<TunedEntry>> read = readTunedFile(path);
    if (!read) diagnostics.warning({}, Diag::tunedFile, {path, read.error()});
    found = files.emplace(path, read ? std::move(*read) : std::vector<TunedEntry>()).first;
  }
  // A problem that was tuned over several lists occurs several times.
  const std::string *absent = nullptr;
  for (const TunedEntry &entry : found->second) {
    if (!(entry.problem == problem)) continue;
    const std::string &wanted = entry.configs[entry.best];
    auto position = llvm::find(configs, wanted);
    if (position != configs.end()) return static_cast<size_t>(position - configs.begin());
    absent = &wanted;
  }
  if (absent) diagnostics.warning({}, Diag::tunedElsewhere, {problem.kernel, *absent, path});
  return std::nullopt;
}

} // namespace tilewright
