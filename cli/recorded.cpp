#include "cli/recorded.h"

#include "cli/command.h"
#include "cli/launch.h"
#include "support/files.h"
#include "tune/predict_launch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace tilewright {

namespace {

/// The GPU of a file.
struct RecordedGpu {
  std::string name;
  GpuTarget target;
};

/// A row: its measured and predicted time, and the fractions of the peak that these are.
struct Compared {
  std::string title;
  double measured = 0, predicted = 0; // seconds; measured: 0 if it has not been
  double best = 0;                    // seconds at the peak
  std::string limits;
  double error() const { return std::abs(predicted / measured - 1); }
};

} // namespace

static std::optional<CompileRequest> requestOf(const llvm::json::Object &launch, const GpuTarget &target, FileKernel &kernel,
                                               Diagnostics &diagnostics) {
  auto [file, name] = llvm::StringRef(launch.getString("kernel").value_or("")).rsplit(':');
  std::optional<FileKernel> found = loadKernel(file.str(), name.str(), diagnostics);
  if (!found) return std::nullopt;
  kernel = std::move(*found);
  std::optional<std::vector<ArgumentSpec>> specs =
      parseSignature(launch.getString("signature").value_or(""), *kernel.function, diagnostics);
  if (!specs) return std::nullopt;
  CompileRequest request;
  request.kernel = kernel.function.get();
  request.args = std::move(*specs);
  request.gpu = target;
  request.options.numWarps = launch.getInteger("num_warps").value_or(4);
  request.options.numStages = launch.getInteger("num_stages").value_or(3);
  request.options.numCtas = launch.getInteger("num_ctas").value_or(1);
  return request;
}

static gpu::ModeledLaunch modeledFrom(const llvm::json::Object &launch, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> specs) {
  static const llvm::json::Object none;
  const llvm::json::Object *values = launch.getObject("values"), *bytes = launch.getObject("bytes");
  gpu::ModeledLaunch modeled;
  for (auto [parameter, spec] : llvm::zip(kernel.parameters, specs))
    for (const std::string &slot : slotNames(parameter.name, spec)) {
      llvm::StringRef name = llvm::StringRef(slot).split('=').first;
      std::optional<int64_t> value = (values ? values : &none)->getInteger(name);
      modeled.arguments.push_back(value);
      modeled.tensorBytes.push_back((bytes ? bytes : &none)->getNumber(name).value_or(0));
    }
  if (const llvm::json::Array *grid = launch.getArray("grid"))
    for (size_t axis = 0; axis < std::min<size_t>(grid->size(), 3); ++axis)
      modeled.grid[axis] = (*grid)[axis].getAsInteger().value_or(1);
  if (int64_t registers = launch.getInteger("registers").value_or(0)) modeled.registers = registers; // 0: no assembler was there
  return modeled;
}

/// Returns the busiest unit of a prediction.
static std::string limitsOf(const gpu::LaunchPrediction &prediction) {
  auto [unit, fraction] = prediction.busyUnits().front();
  std::string text = unit + " " + std::to_string(std::lround(100 * std::min(fraction, 1.0))) + " %";
  return prediction.isComplete ? text : text + ", until a wait that the model cannot resolve";
}

static std::optional<Compared> compare(const llvm::json::Object &row, const RecordedGpu &gpu, Diagnostics &diagnostics) {
  Compared compared;
  compared.title =
      (row.getString("name").value_or("") + " " + row.getString("size").value_or("") + " " + row.getString("dtype").value_or("")).str();
  compared.measured = row.getNumber("us").value_or(0) * 1e-6;
  double work = row.getNumber("work").value_or(row.getNumber("rate").value_or(0) * compared.measured);
  compared.best = work / row.getNumber("peak").value_or(1);
  double longest = 0;
  for (const llvm::json::Value &each : *row.getArray("launches")) {
    const llvm::json::Object *launch = each.getAsObject();
    FileKernel kernel;
    std::optional<CompileRequest> request = launch ? requestOf(*launch, gpu.target, kernel, diagnostics) : std::nullopt;
    const gpu::SmRates *rates = request ? gpu::smRates(request->gpu->name, gpu.name) : nullptr;
    if (!rates) return std::nullopt;
    gpu::ModeledLaunch modeled = modeledFrom(*launch, *kernel.function, request->args);
    std::optional<gpu::LaunchPrediction> prediction =
        predictGpuLaunch(*request, std::move(modeled), *rates, /*compiled=*/nullptr, diagnostics);
    if (!prediction) return std::nullopt;
    compared.predicted += prediction->seconds;
    if (prediction->seconds > longest) longest = prediction->seconds, compared.limits = limitsOf(*prediction);
  }
  return compared;
}

/// Returns Spearman's rank correlation.
static double rankCorrelation(llvm::ArrayRef<Compared> rows) {
  auto ranksOf = [&](auto key) {
    std::vector<size_t> order(rows.size()), ranks(rows.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](size_t a, size_t b) { return std::pair(key(rows[a]), a) < std::pair(key(rows[b]), b); });
    for (auto [rank, index] : llvm::enumerate(order))
      ranks[index] = rank;
    return ranks;
  };
  std::vector<size_t> measured = ranksOf([](const Compared &row) { return row.best / row.measured; });
  std::vector<size_t> predicted = ranksOf([](const Compared &row) { return row.best / row.predicted; });
  double sum = 0, n = static_cast<double>(rows.size());
  for (auto [a, b] : llvm::zip(measured, predicted))
    sum += std::pow(static_cast<double>(a) - static_cast<double>(b), 2);
  return 1 - 6 * sum / (n * (n * n - 1));
}

static void printSummary(std::vector<Compared> rows) {
  double correlation = rankCorrelation(rows);
  llvm::sort(rows, [](const Compared &a, const Compared &b) { return a.error() < b.error(); });
  std::printf("%zu rows: the median error is %.1f %%, and the rank correlation of the fractions of the peak %.3f\n", rows.size(),
              100 * rows[rows.size() / 2].error(), correlation);
}

static void print(const Compared &row) {
  if (row.measured > 0)
    std::printf("%-56s %12.1f %12.1f %6.2f  %s\n", row.title.c_str(), row.measured * 1e6, row.predicted * 1e6, row.predicted / row.measured,
                row.limits.c_str());
  else
    std::printf("%-56s %12s %12.1f %4ld %%  %s\n", row.title.c_str(), "not", row.predicted * 1e6,
                std::lround(100 * row.best / row.predicted), row.limits.c_str());
}

int predictRecorded(const std::string &path) {
  Result<std::string> text = readFile(path);
  if (!text) return fail("cannot read '" + path + "': " + text.error());
  RecordedGpu gpu{"", defaultGpuTarget()};
  std::vector<Compared> measured;
  bool hasRows = false;
  for (llvm::StringRef line : llvm::split(*text, '\n')) {
    if (line.trim().empty()) continue;
    llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(line);
    const llvm::json::Object *row = parsed ? parsed->getAsObject() : nullptr;
    if (!parsed) llvm::consumeError(parsed.takeError());
    if (!row) return fail("'" + path + "' does not have one JSON object a line");
    if (auto named = row->getString("card")) gpu.name = named->str();
    if (auto named = row->getString("target")) {
      std::optional<GpuTarget> target = gpuTarget(*named);
      if (!target) return fail("'" + path + "' names an unknown target '" + named->str() + "'");
      gpu.target = *target;
    }
    if (!row->getArray("launches") || !(row->getNumber("us") || row->getNumber("work"))) continue;
    if (gpu.name.empty()) return fail("'" + path + R"(' has launches before a line {"card": NAME, "target": TARGET} with their GPU)");
    Diagnostics diagnostics;
    std::optional<Compared> compared = compare(*row, gpu, diagnostics);
    if (!compared) return diagnostics.hasErrors() ? report(diagnostics, ourError) : fail("the model has no rates for '" + gpu.name + "'");
    if (!hasRows) std::printf("%-56s %12s %12s %6s  %s\n", "", "measured us", "predicted us", "ratio", "busiest");
    print(*compared);
    hasRows = true;
    if (compared->measured > 0) measured.push_back(std::move(*compared));
  }
  if (!hasRows) return fail("'" + path + "' has no recorded launches");
  if (!measured.empty()) printSummary(std::move(measured));
  return success;
}

} // namespace tilewright
