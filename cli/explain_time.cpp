// A launch's work compared with the machine's peak. The bound counts each tensor once and needs only the machine's rates. The prediction
// adds the wasted bytes of accesses and the overhead of programs. Neither runs the kernel; measureTime does.
#include "cli/explain_time.h"

#include "cli/on_device.h"
#include "tune/estimate.h"
#include "tune/measure.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace tilewright {

std::optional<DescribedLaunch> readLaunch(const CommandLine &line, int &status, Diagnostics &diagnostics) {
  std::optional<Setup> setup = readSetup(line, "explain", status, diagnostics);
  if (!setup) return std::nullopt;
  TunedKernel tuned(setup->kernel.function);
  GridFunction grid = [&](llvm::ArrayRef<Argument> arguments, Diagnostics &problems) { return evaluateGrid(*setup, arguments, problems); };
  std::optional<TunedKernel::Choice> choice = tuned.choose(grid, {}, setup->named(), setup->options, diagnostics);
  std::optional<Grid> extents = choice ? grid(choice->arguments, diagnostics) : std::nullopt;
  if (!extents || !programCount(*extents, diagnostics)) {
    status = report(diagnostics, ourError);
    return std::nullopt;
  }
  return DescribedLaunch{std::move(*setup), std::move(*choice), *extents};
}

//===-------------------------------------------------------------------------------------------------------------- estimates

/// The lines that take the most time by estimate, the longest first. `fromMemory`: the fraction of loaded bytes that come from memory, not
/// from a cache.
static RemarkSection heavyLines(const ProgramWork &work, const std::map<SourceLine, double> &waste, const Peaks &peaks, double programs,
                                double fromMemory) {
  std::vector<std::pair<double, Remark>> lines;
  double all = 0, dotRate = 0;
  for (const auto &[type, operations] : work.dotOperations)
    dotRate = std::max(dotRate, peaks.dotOperationsPerSecond(type));
  for (const auto &[where, done] : work.lines) {
    auto found = waste.find(where);
    double ratio = found == waste.end() ? 1 : found->second;
    double seconds =
        done.arithmetic / (peaks.arithmetic / 2) + (dotRate > 0 ? done.dots / dotRate : 0) + done.bytes * ratio * fromMemory / peaks.bytes;
    std::vector<std::string> parts;
    if (done.dots > 0) parts.push_back(scaledText(done.dots * programs, "FLOP") + " of dots");
    if (done.arithmetic > 0) parts.push_back(scaledText(done.arithmetic * programs, "FLOP"));
    if (done.bytes > 0) parts.push_back(scaledText(done.bytes * programs, "B"));
    std::string text = llvm::join(parts, ", ");
    if (ratio >= 1.5) text += llvm::formatv(", for which {0} move", scaledText(done.bytes * ratio * programs, "B")).str();
    lines.push_back({seconds, {where, std::move(text)}});
    all += seconds;
  }
  llvm::sort(lines, [](const auto &a, const auto &b) { return std::tie(a.first, b.second.where) > std::tie(b.first, a.second.where); });
  RemarkSection section{"Where the time goes, by estimate", {}};
  constexpr double minFraction = 0.02;
  for (auto &[seconds, remark] : lines) {
    if (seconds < minFraction * all || remark.where.file.empty()) continue;
    remark.text = std::to_string(std::lround(100 * seconds / all)) + " %: " + remark.text;
    section.remarks.push_back(std::move(remark));
  }
  return section;
}

/// Replaces the estimate by the prediction of the model of an SM, if it has rates for the GPU. False after an error.
static bool predictBySm(const CompileRequest &request, const DescribedLaunch &launch, const ModeledVersion &compiled, LaunchTime &time,
                        Diagnostics &diagnostics) {
  const gpu::SmRates *rates = gpu::smRates(request.gpu->name, time.machine);
  if (!rates) return true;
  gpu::ModeledLaunch modeled = modeledLaunch(request.args, launch.choice.arguments, launch.grid.extent);
  std::optional<gpu::LaunchPrediction> prediction = predictGpuLaunch(request, std::move(modeled), *rates, &compiled, diagnostics);
  if (!prediction) return false;
  time.isComplete = prediction->isComplete;
  if (!time.isComplete) return true;
  time.predicted = prediction->seconds;
  time.busy = prediction->busyUnits();
  time.knowsRegisters = prediction->knowsRegisters;
  return true;
}

bool explainTime(const CompileRequest &request, const DescribedLaunch *launch, const std::optional<Grid> &grid,
                 const ModeledVersion &compiled, Explanation &explanation, Diagnostics &diagnostics) {
  CompileRequest plain = request;
  plain.onStep = nullptr, plain.onExplained = nullptr;
  llvm::ArrayRef<Argument> arguments = launch ? llvm::ArrayRef<Argument>(launch->choice.arguments) : llvm::ArrayRef<Argument>();
  std::optional<ProgramWork> work = workOfRequest(plain, arguments, grid, diagnostics);
  std::optional<int64_t> programs = grid ? programCount(*grid, diagnostics) : std::optional<int64_t>(0);
  if (!work || !programs) return false;
  LaunchTime time;
  time.programBytes = work->bytes, time.programOperations = work->arithmetic + work->dots, time.isExact = work->isExact;
  if (*programs > 0) {
    Peaks peaks = request.gpu ? gpuPeaks(*request.gpu, diagnostics) : cpuPeaks(request.target, diagnostics);
    auto all = static_cast<double>(*programs);
    std::map<SourceLine, double> waste;
    for (const AccessWaste &access : explanation.waste)
      waste[access.where] = std::max(waste[access.where], access.ratio);
    double touched = 0;
    for (const auto &[where, done] : work->lines)
      touched += done.bytes * (waste.count(where) ? waste[where] : 1);
    double dotSeconds = 0;
    for (const auto &[type, operations] : work->dotOperations)
      dotSeconds += all * operations / peaks.dotOperationsPerSecond(type);
    time.programs = *programs, time.machine = peaks.machine + ", " + peaks.source;
    time.tensorBytes = static_cast<double>(tensorBytes(arguments));
    double moved = time.tensorBytes > 0 ? time.tensorBytes : all * work->bytes;
    time.bytesPerSecond = peaks.bytes;
    time.memory = moved / peaks.bytes;
    time.arithmetic = dotSeconds + all * work->arithmetic / peaks.arithmetic;
    time.operationsPerSecond = time.arithmetic > 0 ? all * time.programOperations / time.arithmetic : peaks.arithmetic;
    // Each tensor once, with the wasted bytes of its accesses; or all bytes that programs load, if these are fewer.
    double fromMemory = work->bytes > 0 ? std::min(moved * std::max(1.0, touched / work->bytes), all * touched) : moved;
    time.predicted = std::max(
        {predictSeconds(*work, *programs, fromMemory, peaks, request.gpu ? &*request.gpu : nullptr), time.memory, time.arithmetic});
    if (request.gpu && launch && !predictBySm(request, *launch, compiled, time, diagnostics)) return false;
    explanation.sections.insert(explanation.sections.begin(),
                                heavyLines(*work, waste, peaks, all, std::min(1.0, moved / (all * work->bytes))));
  }
  explanation.time = std::move(time);
  return true;
}

//===--------------------------------------------------------------------------------------------------------------- measured

bool measureTime(const CompileRequest &request, DescribedLaunch &launch, Explanation &explanation, Diagnostics &diagnostics) {
  LaunchOptions options = launch.choice.options;
  std::unique_ptr<OnDevice> copies;
  if (request.gpu) {
    options.device = 0;
    copies = OnDevice::create(options.device, diagnostics);
    if (!copies) return false;
    for (Argument &argument : launch.choice.arguments) {
      std::optional<Argument> there = copies->copy(argument, static_cast<size_t>(argument.bytes()), diagnostics);
      if (!there) return false;
      argument = *there;
    }
  }
  Kernel kernel(launch.setup.kernel.function);
  auto run = [&](Diagnostics &problems) { return kernel.launch(launch.grid, launch.choice.arguments, options, problems); };
  if (!run(diagnostics)) return false; // compiles; an error shows here, as what it is
  std::unique_ptr<LaunchMeter> meter =
      LaunchMeter::create(*launch.setup.kernel.function, launch.choice.arguments, {}, {}, options, diagnostics);
  if (!meter) return false;
  Measured measured = meter->measure(run, std::nullopt, nullptr);
  for (double milliseconds : measured.milliseconds)
    explanation.time->measured.push_back(milliseconds / 1e3);
  return true;
}

} // namespace tilewright
