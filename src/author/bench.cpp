#include "author/bench.h"

#include "author/numbers.h"
#include "author/roofline.h"
#include "support/json.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tilewright::author {

static constexpr const char *memoryRow = "bytes_per_second";

static double rateOf(const MachinePeaks &peaks, std::string_view name) {
  auto found = peaks.rates.find(name);
  return found == peaks.rates.end() ? 0 : found->second;
}

std::string peakName(const MachinePeaks &peaks, const Work &work) {
  if (work.hasDot && work.type == "float32" && peaks.rates.count("tf32")) return "tf32";
  bool hasRow = peaks.rates.count(work.type) && (work.hasDot || work.type == "float32" || work.type == "float64");
  return hasRow ? work.type : "float32";
}

MachinePeaks reachedBeyond(const MachinePeaks &peaks, const Work &work, double seconds, int64_t cacheBytes) {
  MachinePeaks reached;
  std::string name = peakName(peaks, work);
  if (work.operations / seconds > rateOf(peaks, name)) reached.rates[name] = work.operations / seconds;
  double moved = static_cast<double>(work.bytes) / seconds;
  if (moved > rateOf(peaks, memoryRow) && work.bytes > 2 * cacheBytes) reached.rates[memoryRow] = moved;
  return reached;
}

std::pair<double, double> spreadOf(std::vector<double> times) {
  if (times.empty()) return {0, 0};
  std::sort(times.begin(), times.end());
  return {times[times.size() / 5], times[times.size() * 4 / 5]};
}

double Measurement::bytesPerSecond() const {
  return static_cast<double>(work.bytes) / milliseconds() * 1e3;
}
double Measurement::operationsPerSecond() const {
  return work.operations / milliseconds() * 1e3;
}
double Measurement::intensity() const {
  return work.bytes ? work.operations / static_cast<double>(work.bytes) : 0;
}
double Measurement::peak() const {
  return rateOf(peaks, peakName(peaks, work));
}
double Measurement::memoryPeak() const {
  return rateOf(peaks, memoryRow);
}

/// Returns the seconds that an amount takes at a rate; 0 if the rate is not known.
static double allowed(double amount, double rate) {
  return rate > 0 ? amount / rate : 0;
}

bool Measurement::isBoundByMemory() const {
  return allowed(static_cast<double>(work.bytes), memoryPeak()) > allowed(work.operations, peak());
}

double Measurement::fractionOfPeak() const {
  double secondsAtPeak = std::max(allowed(static_cast<double>(work.bytes), memoryPeak()), allowed(work.operations, peak()));
  return secondsAtPeak / milliseconds() * 1e3;
}

static void writeTimes(llvm::json::OStream &json, llvm::StringRef name, const std::vector<double> &times) {
  auto [low, high] = spreadOf(times);
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  json.attributeObject(name, [&, low = low, high = high] {
    writeNumber(json, "median", medianOf(times));
    writeNumber(json, "p20", low);
    writeNumber(json, "p80", high);
    json.attributeArray("samples", [&] {
      for (double time : sorted)
        writeNumber(json, time);
    });
  });
}

std::string Measurement::json() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  double mine = milliseconds(), other = medianOf(reference);
  json.object([&] {
    writeNumber(json, "kernel_time_ms", mine);
    if (!reference.empty()) {
      writeNumber(json, "reference_time_ms", other);
      writeNumber(json, "speedup", other / mine);
    }
    json.attribute("warmup_iters", warmup);
    json.attribute("benchmark_iters", static_cast<int64_t>(kernel.size()));
    json.attribute("bytes", work.bytes);
    writeNumber(json, "flops", work.operations);
    json.attribute("has_dot", work.hasDot);
    json.attribute("dtype", work.type);
    writeNumber(json, "gb_per_s", bytesPerSecond() / 1e9);
    writeNumber(json, "tflop_per_s", operationsPerSecond() / 1e12);
    writeNumber(json, "arithmetic_intensity", intensity());
    json.attribute("bound", isBoundByMemory() ? "memory" : "arithmetic");
    writeNumber(json, "fraction_of_peak", fractionOfPeak());
    json.attributeObject("roofline", [&] {
      for (const auto &[name, rate] : peaks.rates)
        writeNumber(json, name, rate);
      json.attribute("disturbed", peaks.isDisturbed);
      json.attribute("device", machine);
      writeNumber(json, "peak", peak());
    });
    writeTimes(json, "kernel", kernel);
    if (!reference.empty()) writeTimes(json, "reference", reference);
    json.attribute("device", machine);
  });
  return text;
}

//===--------------------------------------------------------------------------------------------------------------- as text

static std::string timeText(double milliseconds) {
  if (milliseconds < 1) return llvm::formatv("{0:f2} us", milliseconds * 1e3);
  return llvm::formatv("{0:f3} ms", milliseconds);
}

static std::string line(const std::string &name, const std::vector<double> &times) {
  auto [low, high] = spreadOf(times);
  char text[120];
  std::snprintf(text, sizeof text, "%-10s %12s   20%% %s, 80%% %s\n", name.c_str(), timeText(medianOf(times)).c_str(),
                timeText(low).c_str(), timeText(high).c_str());
  return text;
}

std::string Measurement::text() const {
  std::string lines = line("kernel", kernel);
  if (!reference.empty()) {
    lines += line("reference", reference);
    lines += llvm::formatv("speedup    {0:f2}\n", medianOf(reference) / milliseconds()).str();
  }
  lines += llvm::formatv("memory     {0:f2} GB/s of {1:f1} ({2} bytes)\n", bytesPerSecond() / 1e9, memoryPeak() / 1e9, work.bytes).str();
  char arithmetic[160];
  std::snprintf(arithmetic, sizeof arithmetic, "arithmetic %.4f TFLOP/s of %.3f, %.3g operations a byte\n", operationsPerSecond() / 1e12,
                peak() / 1e12, intensity());
  lines += arithmetic;
  std::string note = fractionOfPeak() > 1 ? "; the data is in caches, which the memory peak excludes" : "";
  if (peaks.isDisturbed) note = "; other programs disturbed the measurement of the peaks, and the next bench repeats it";
  return lines + llvm::formatv("peak       {0}% of the {1} peak of {2}{3}\n", std::llround(100 * fractionOfPeak()),
                               isBoundByMemory() ? "memory" : "arithmetic", machine, note)
                     .str();
}

std::optional<std::string> Measurement::roofline(const std::string &title) const {
  if (!(work.operations > 0) || !(peak() > 0) || !(memoryPeak() > 0)) return std::nullopt;
  return drawRoofline({title + " on " + machine, intensity(), operationsPerSecond(), memoryPeak(), peak()});
}

//===------------------------------------------------------------------------------------------------------------- comparison

/// Returns the samples of that name; nothing if there are none.
static std::optional<std::vector<double>> samplesOf(const llvm::json::Object &results, llvm::StringRef name) {
  const llvm::json::Object *times = results.getObject(name);
  const llvm::json::Array *samples = times ? times->getArray("samples") : nullptr;
  if (!samples || samples->empty()) return std::nullopt;
  std::vector<double> found;
  for (const llvm::json::Value &sample : *samples) {
    std::optional<double> time = sample.getAsNumber();
    if (!time) return std::nullopt;
    found.push_back(*time);
  }
  return found;
}

namespace {
struct Read {
  std::string device;
  std::vector<double> kernel, reference;
};
} // namespace

static Result<Read> read(const std::string &text, const std::string &name) {
  Result<llvm::json::Value> value = parseJson(text);
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  std::optional<std::vector<double>> kernel = object ? samplesOf(*object, "kernel") : std::nullopt;
  if (!kernel) return Failure{"'" + name + "' has no results: 'tilewright bench KERNEL.py --output FILE' writes them"};
  std::vector<double> reference = samplesOf(*object, "reference").value_or(std::vector<double>());
  return Read{object->getString("device").value_or("").str(), std::move(*kernel), std::move(reference)};
}

Result<Change> compareResults(const std::string &before, const std::string &after, const std::string &beforeName,
                              const std::string &afterName) {
  Result<Read> old = read(before, beforeName);
  if (!old) return Failure{old.error()};
  Result<Read> fresh = read(after, afterName);
  if (!fresh) return Failure{fresh.error()};
  if (old->device != fresh->device)
    return Failure{"'" + beforeName + "' is of " + old->device + ", and '" + afterName + "' of " + fresh->device +
                   ": times of different machines cannot be compared"};
  return changeOf(old->kernel, fresh->kernel, old->reference, fresh->reference);
}

} // namespace tilewright::author
