// A launch that repeats an earlier one finds its choice by a few bytes of its arguments, without formatting or allocating. Other launches
// ask the tuner, with the arguments as text (tune/problem).

#include "tune/autotune.h"

#include "evaluate/evaluate.h"
#include "evaluate/module.h"
#include "evaluate/parameters.h"
#include "runtime/cache.h"
#include "runtime/cuda/device.h"
#include "runtime/interpreted.h"
#include "runtime/pool.h"
#include "support/settings.h"
#include "tune/estimate.h"
#include "tune/initial_config.h"
#include "tune/measure.h"
#include "tune/prune.h"
#include "tune/result_check.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <limits>

namespace tilewright {

/// Elements that the interpreter may compute for one configuration: a second or two.
static constexpr int64_t workToConfirm = int64_t(1) << 25;

bool cachesTunedConfigs() {
  return isSwitchedOn("TILEWRIGHT_CACHE_AUTOTUNING", true);
}

static SourceRange rangeOf(const JitFunction &kernel) {
  return kernel.decl ? kernel.decl->range : SourceRange();
}

static std::string parameterNames(const JitFunction &kernel) {
  std::string names;
  for (const JitFunction::Parameter &parameter : kernel.parameters)
    names += (names.empty() ? "" : ", ") + parameter.name;
  return names;
}

bool applyHeuristics(const JitFunction &kernel, BoundArguments &arguments, Diagnostics &diagnostics) {
  for (const auto &[name, rule] : kernel.heuristics) {
    std::optional<size_t> index = indexOfParameter(kernel, name);
    std::shared_ptr<const Callable> callable = rule.asCallable();
    if (!index || !callable) {
      diagnostics.error(rangeOf(kernel), Diag::heuristicResult, {name, kernel.name});
      return false;
    }
    std::optional<Value> value = callable->call({argumentDict(kernel, arguments)}, {}, rangeOf(kernel), diagnostics);
    if (!value) return false;
    arguments[*index] = Argument::constant(std::move(*value));
  }
  return true;
}

TunedKernel::TunedKernel(std::shared_ptr<const JitFunction> function) : plain(std::move(function)) {
  const JitFunction &kernel = plain.function();
  isKey = namedParameters(kernel, kernel.autotune ? kernel.autotune->key : std::vector<std::string>());
}

TunedKernel::TunedKernel(std::shared_ptr<const IrKernel> text) : plain(std::move(text)) {
  isKey.resize(plain.function().parameters.size());
}

/// True if a name in a configuration is a launch option: one with a field in Config, or one that has no effect here.
static bool isLaunchOption(llvm::StringRef name) {
  return name == "num_warps" || name == "num_stages" || name == "num_ctas" || name == "maxnreg" || name == "sanitize_overflow" ||
         isForeignOption(name);
}

// Reads the configurations. Called at the first launch, where an error can be reported.
bool TunedKernel::readConfigs(Diagnostics &diagnostics) {
  if (!candidates.empty()) return true;
  const JitFunction &kernel = plain.function();
  std::vector<Candidate> found;
  bool hasHook = false;
  for (const Config &config : kernel.autotune->configs) {
    Candidate &candidate = found.emplace_back();
    candidate.config = config;
    hasHook |= config.hasHook;
    for (const auto &[name, value] : config.kwargs) {
      std::optional<size_t> index = indexOfParameter(kernel, name);
      if (index) {
        candidate.values.push_back({*index, Argument::constant(value)});
      } else if (!isLaunchOption(name)) {
        diagnostics.error(rangeOf(kernel), Diag::configParameter, {kernel.name, name, parameterNames(kernel)});
        return false;
      }
    }
  }
  if (found.empty()) {
    diagnostics.error(rangeOf(kernel), Diag::noConfigs, {kernel.name});
    return false;
  }
  if (hasHook) diagnostics.warning(rangeOf(kernel), Diag::hookLeftOut, {kernel.name, "the pre_hook of a configuration"});
  if (!readTensorNames(diagnostics)) return false;
  candidates = std::move(found);
  return true;
}

/// Reads reset_to_zero and restore_value.
bool TunedKernel::readTensorNames(Diagnostics &diagnostics) {
  const JitFunction &kernel = plain.function();
  if (kernel.autotune->hasHook) diagnostics.warning(rangeOf(kernel), Diag::hookLeftOut, {kernel.name, "the hook of @triton.autotune"});
  auto readNames = [&](const char *list, const std::vector<std::string> &names, std::vector<size_t> &indices) {
    indices.clear();
    for (const std::string &name : names) {
      std::optional<size_t> index = indexOfParameter(kernel, name);
      if (index) indices.push_back(*index);
      if (!index) diagnostics.error(rangeOf(kernel), Diag::tensorNeeded, {kernel.name, list, name});
    }
  };
  readNames("reset_to_zero", kernel.autotune->resetToZero, resetParameters);
  readNames("restore_value", kernel.autotune->restoreValue, restoreParameters);
  return !diagnostics.hasErrors();
}

std::optional<TunedKernel::Choice> TunedKernel::apply(const Candidate &candidate, const BoundArguments &known, const LaunchOptions &options,
                                                      Diagnostics &diagnostics) const {
  Choice choice{known, options, nullptr};
  for (const auto &[index, value] : candidate.values) {
    // The configuration replaces a default value. A value from the caller would be ignored silently, so it is an error.
    const JitFunction::Parameter &parameter = plain.function().parameters[index];
    if (choice.arguments[index].kind() != Argument::Kind::missing && !parameter.defaultValue) {
      diagnostics.error(parameter.range, Diag::configConflict, {plain.function().name, parameter.name});
      return std::nullopt;
    }
    choice.arguments[index] = value;
  }
  KernelOptions &kernelOptions = choice.options.kernel;
  const KernelOptions plainOptions;
  for (auto [name, given, usual] : {std::tuple("num_warps", kernelOptions.numWarps, plainOptions.numWarps),
                                    std::tuple("num_stages", kernelOptions.numStages, plainOptions.numStages),
                                    std::tuple("num_ctas", kernelOptions.numCtas, plainOptions.numCtas)})
    if (given != usual) {
      diagnostics.error(rangeOf(plain.function()), Diag::configConflict, {plain.function().name, name});
      return std::nullopt;
    }
  kernelOptions.numWarps = candidate.config.numWarps;
  kernelOptions.numStages = candidate.config.numStages;
  kernelOptions.numCtas = candidate.config.numCtas;
  if (candidate.config.maxnreg) kernelOptions.maxnreg = candidate.config.maxnreg;
  return choice;
}

static bool checkComplete(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) {
  bool isComplete = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind() != Argument::Kind::missing) continue;
    diagnostics.error(kernel.parameters[i].range, Diag::missingArgument, {kernel.name, kernel.parameters[i].name});
    isComplete = false;
  }
  return isComplete;
}

/// Completes a configuration with the heuristics. Null after an error.
std::optional<TunedKernel::Choice> TunedKernel::complete(const Candidate &candidate, const Call &call, Diagnostics &diagnostics) const {
  std::optional<Choice> choice = apply(candidate, call.known, call.options, diagnostics);
  const JitFunction &kernel = plain.function();
  if (!choice || !applyRules(choice->arguments, diagnostics) || !checkComplete(kernel, choice->arguments, diagnostics)) return std::nullopt;
  return choice;
}

static void appendTypes(const Argument &argument, SpecializationKey &key) {
  key.push_back(static_cast<uint8_t>(argument.kind()));
  key.push_back(static_cast<uint8_t>(argument.element()));
  for (const Argument &member : argument.members())
    appendTypes(member, key);
}

// Appends the values of the key parameters and the types of all others.
static void appendTuneKey(llvm::ArrayRef<Argument> known, const std::vector<bool> &isKey, SpecializationKey &key) {
  for (size_t i = 0; i < known.size(); ++i) {
    appendTypes(known[i], key);
    if (!isKey[i]) continue;
    if (known[i].isNumber()) {
      uint64_t bits = static_cast<uint64_t>(known[i].asInteger());
      if (known[i].kind() == Argument::Kind::floating) {
        double value = known[i].asDouble();
        std::memcpy(&bits, &value, 8);
      }
      for (int byte = 0; byte < 8; ++byte)
        key.push_back(static_cast<uint8_t>(bits >> (8 * byte)));
    } else if (std::optional<Value> value = known[i].value()) {
      std::string text = value->repr();
      key.append(text.begin(), text.end());
      key.push_back(0);
    }
  }
}

/// True if equal keys give equal results: the rules are functions of the kernel's file, and appendTuneKey writes all that they read of the
/// arguments.
static bool areRepeatable(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments) {
  auto isOfFile = [](const auto &rule) { return dynamic_cast<const PlainFunction *>(rule.second.asCallable().get()) != nullptr; };
  return llvm::all_of(kernel.heuristics, isOfFile) && llvm::all_of(arguments, [](const Argument &argument) {
           return argument.members().empty() && (argument.kind() != Argument::Kind::constant || argument.value()->asString());
         });
}

/// Like applyHeuristics, but a launch with the same arguments as the last one reuses its results. Evaluating the rules takes longer than
/// the rest of a launch.
bool TunedKernel::applyRules(BoundArguments &arguments, Diagnostics &diagnostics) const {
  const JitFunction &kernel = plain.function();
  if (kernel.heuristics.empty()) return true;
  if (!areRepeatable(kernel, arguments)) return applyHeuristics(kernel, arguments, diagnostics);
  SpecializationKey key;
  appendTuneKey(arguments, std::vector<bool>(arguments.size(), true), key);
  {
    std::lock_guard<std::mutex> guard(lock);
    if (key == lastRules.key) {
      for (const auto &[index, value] : lastRules.given)
        arguments[index] = value;
      return true;
    }
  }
  if (!applyHeuristics(kernel, arguments, diagnostics)) return false;
  RuleResults results{std::move(key), {}};
  for (const auto &[name, rule] : kernel.heuristics)
    results.given.push_back({*indexOfParameter(kernel, name), arguments[*indexOfParameter(kernel, name)]});
  std::lock_guard<std::mutex> guard(lock);
  lastRules = std::move(results);
  return true;
}

std::optional<std::vector<const TunedKernel::Candidate *>> TunedKernel::prune(const BoundArguments &known, Diagnostics &diagnostics) const {
  std::vector<const Candidate *> selected;
  const Autotune &autotune = *plain.function().autotune;
  if (autotune.earlyPrune.isNone() && autotune.perfModel.isNone()) {
    for (const Candidate &candidate : candidates)
      selected.push_back(&candidate);
    return selected;
  }
  std::optional<std::vector<size_t>> indices = prunedConfigs(plain.function(), autotune.configs, known, diagnostics);
  if (!indices) return std::nullopt;
  for (size_t index : *indices)
    selected.push_back(&candidates[index]);
  return selected;
}

/// Returns the estimated seconds; infinite for a configuration that does not work.
double TunedKernel::estimate(const Candidate &candidate, const Call &call) const {
  Diagnostics problems;
  double never = std::numeric_limits<double>::infinity();
  std::optional<Choice> choice = complete(candidate, call, problems);
  std::optional<Grid> grid = choice ? call.grid(choice->arguments, problems) : std::nullopt;
  if (!grid) return never;
  std::optional<double> seconds = estimateLaunch(plain.functionPointer(), choice->arguments, choice->options, *grid, problems);
  return seconds.value_or(never);
}

void TunedKernel::sortByEstimate(std::vector<const Candidate *> &selected, const Call &call) const {
  std::vector<std::pair<double, size_t>> byEstimate; // seconds, and the index, which orders equal estimates
  for (const Candidate *candidate : selected)
    byEstimate.emplace_back(estimate(*candidate, call), byEstimate.size());
  llvm::sort(byEstimate);
  std::vector<const Candidate *> sorted;
  for (auto [seconds, index] : byEstimate)
    sorted.push_back(selected[index]);
  selected = std::move(sorted);
}

std::optional<std::string> TunedKernel::prepareCheck(const Choice &choice, Bench &bench) {
  Diagnostics problems;
  std::shared_ptr<const CompiledKernel> compiled = plain.compile(choice.arguments, choice.options, problems);
  if (!compiled) return firstError(problems);
  if (bench.check) return bench.check->giveUp(), std::nullopt;
  std::vector<ResultCheck::Written> written; // empty if results are not compared
  std::vector<bool> isWritten = writtenParameters(*compiled);
  for (size_t i = 0; i < isWritten.size() && resultsAreChecked(); ++i)
    if (isWritten[i]) written.push_back({plain.function().parameters[i].name, choice.arguments[i]});
  bench.check = std::make_unique<ResultCheck>(written);
  return std::nullopt;
}

Result<size_t> TunedKernel::tryOut(const Candidate &candidate, const Choice &choice, const Grid &grid, Bench &bench) {
  if (std::optional<std::string> problem = prepareCheck(choice, bench)) return Failure{*problem};
  Diagnostics problems;
  std::optional<size_t> group;
  do {
    bench.check->restore();
    bench.meter->reset();
    if (!plain.launch(grid, choice.arguments, choice.options, problems)) return Failure{firstError(problems)};
    group = bench.check->compare();
  } while (!group);
  bench.groups[&candidate] = *group;
  return *group;
}

std::optional<bool> TunedKernel::isConfirmed(const Candidate &candidate, const Call &call, Bench &bench, size_t group) {
  Diagnostics problems;
  std::optional<Choice> choice = complete(candidate, call, problems);
  std::optional<Grid> grid = choice ? call.grid(choice->arguments, problems) : std::nullopt;
  if (!grid || call.options.device >= 0) return std::nullopt;
  CompileRequest request;
  request.kernel = KernelSource(&plain.function());
  std::optional<std::vector<ArgumentSpec>> specs = specialize(plain.function(), choice->arguments, problems);
  if (!specs) return std::nullopt;
  request.args = std::move(*specs), request.options = choice->options.kernel, request.target = hostCpu();
  std::shared_ptr<InterpretedKernel> program = InterpretedKernel::create(request, problems);
  if (!program) return std::nullopt;
  bench.check->restore();
  bench.meter->reset();
  SanitizedRun run = program->sanitize(*grid, choice->arguments, workToConfirm);
  if (run.outcome == SanitizedRun::unknown) return std::nullopt;
  return run.outcome == SanitizedRun::good && bench.check->holdsResultsOf(group);
}

GroupCallbacks TunedKernel::groupCallbacks(llvm::ArrayRef<const Candidate *> selected, const Call &call, Bench &bench) {
  std::vector<Config> configs;
  for (const Candidate *candidate : selected)
    configs.push_back(candidate->config);
  GroupCallbacks callbacks;
  callbacks.constants = sameConstants(configs);
  callbacks.difference = [&](size_t group, size_t expected) { return bench.check->difference(group, expected); };
  callbacks.isIncomplete = [&](size_t group, size_t other) { return bench.check->isIncomplete(group, other); };
  callbacks.isConfirmed = [=, this, &bench](size_t config, size_t group) { return isConfirmed(*selected[config], call, bench, group); };
  return callbacks;
}

/// Compiles and loads the kernel of the configuration's launch. Returns the reason for a failure, or null.
std::optional<std::string> TunedKernel::compileConfig(const Candidate &candidate, const Call &call, const std::optional<Grid> &grid) {
  Diagnostics problems;
  std::optional<Choice> choice = complete(candidate, call, problems);
  if (!choice) return firstError(problems);
  choice->options.isDryRun = true;
  bool works = grid ? plain.launch(*grid, choice->arguments, choice->options, problems)
                    : plain.compile(choice->arguments, choice->options, problems) != nullptr;
  return works ? std::nullopt : std::optional(firstError(problems));
}

/// Returns the times of a configuration, or its failure. A failed configuration is skipped, and the launch continues.
Measured TunedKernel::measure(const Candidate &candidate, const Call &call, Bench &bench, std::optional<double> best) {
  Diagnostics problems;
  std::optional<Choice> choice = complete(candidate, call, problems);
  std::optional<Grid> extents = choice ? call.grid(choice->arguments, problems) : std::nullopt;
  Measured result{{}, extents ? "" : firstError(problems)};
  std::optional<std::string> problem = extents ? prepareCheck(*choice, bench) : std::nullopt;
  if (problem) result.failure = std::move(*problem);
  if (extents && !problem) {
    auto [known, isNew] = bench.groups.try_emplace(&candidate, 0);
    auto launch = [&](Diagnostics &diagnostics) { return plain.launch(*extents, choice->arguments, choice->options, diagnostics); };
    result = bench.meter->measure(launch, best, isNew ? bench.check.get() : nullptr);
    if (isNew) known->second = result.group;
    result.group = known->second;
  }
  if (progress) progress(candidate.config, result);
  return result;
}

std::optional<TuneOutcome> TunedKernel::tuneAmong(llvm::ArrayRef<const Candidate *> selected, const Call &call, const TuneProblem &problem,
                                                  Diagnostics &diagnostics) {
  std::vector<Config> chosen;
  std::vector<std::string> texts;
  for (const Candidate *candidate : selected) {
    chosen.push_back(candidate->config);
    texts.push_back(configText(candidate->config));
  }
  bool hasHook = plain.function().autotune->hasHook || llvm::any_of(chosen, [](const Config &config) { return config.hasHook; });
  Bench bench;
  TunerCallbacks callbacks;
  // The meter copies tensors, so it is made only for a measurement.
  auto hasMeter = [&] {
    if (!bench.meter)
      bench.meter = LaunchMeter::create(plain.function(), call.known, resetParameters, restoreParameters, call.options, diagnostics);
    return bench.meter != nullptr;
  };
  callbacks.measure = [&](size_t config, std::optional<double> best) -> std::optional<Measured> {
    if (!hasMeter()) return std::nullopt;
    return measure(*selected[config], call, bench, best);
  };
  callbacks.tryOut = [&](size_t config) -> std::optional<size_t> {
    Diagnostics problems;
    std::optional<Choice> choice = complete(*selected[config], call, problems);
    std::optional<Grid> extents = choice ? call.grid(choice->arguments, problems) : std::nullopt;
    if (!extents || !hasMeter()) return std::nullopt;
    Result<size_t> group = tryOut(*selected[config], *choice, *extents, bench);
    return group ? std::optional(*group) : std::nullopt;
  };
  callbacks.groups = groupCallbacks(selected, call, bench);
  // The grids are computed on this thread: a grid function may launch this kernel and wait for the tuning, which would block a compile
  // thread.
  std::vector<std::optional<Grid>> grids;
  for (const Candidate *candidate : selected) {
    Diagnostics problems; // measuring reports them
    std::optional<Choice> choice = complete(*candidate, call, problems);
    grids.push_back(choice ? call.grid(choice->arguments, problems) : std::nullopt);
  }
  callbacks.compile = [&](size_t config) { return compileConfig(*selected[config], call, grids[config]); };
  callbacks.compileThreads = defaultThreads();
  callbacks.needsQuiet = call.options.device < 0;
  callbacks.sameAs = firstAlike(plain.function(), chosen, callbacks.needsQuiet);
  callbacks.remeasure = remeasures;
  callbacks.budget = budget;
  callbacks.usesCache = cachesTunedConfigs() && !hasHook; // measurements without the kernel's hooks are not stored
  std::optional<TuneOutcome> outcome = tune(&problem, texts, callbacks, diagnostics);
  if (bench.check) bench.check->restore();
  if (bench.meter) bench.meter->reset();
  if (outcome && outcome->measured) reportDifferences(*outcome, diagnostics);
  return outcome;
}

/// Warns about configurations with different results. A configuration that does not fit the machine gets no warning.
void TunedKernel::reportDifferences(const TuneOutcome &outcome, Diagnostics &diagnostics) const {
  for (const Measured &result : outcome.results)
    if (isOtherResults(result.failure))
      diagnostics.warning(
          rangeOf(plain.function()), Diag::badConfig,
          {"the configurations of kernel '" + plain.function().name + "' disagree: " + result.failure, decisionText(outcome.decision)});
}

void TunedKernel::reportFailures(const TuneOutcome &outcome, Diagnostics &diagnostics) const {
  const JitFunction &kernel = plain.function();
  diagnostics.error(rangeOf(kernel), Diag::configsFailed,
                    {kernel.name, std::to_string(outcome.results.size()), outcome.results.front().failure});
}

// ---- configs="auto"

/// Returns the constexpr parameters that a launch leaves open, that no rule sets, and whose names suggest sizes.
static std::vector<std::string> openParameters(const JitFunction &kernel, const BoundArguments &known) {
  std::vector<std::string> names;
  for (auto [parameter, argument] : llvm::zip(kernel.parameters, known)) {
    bool isRuled = llvm::any_of(kernel.heuristics, [&](const auto &rule) { return rule.first == parameter.name; });
    bool isOpen = argument.kind() == Argument::Kind::missing && parameter.isConstexpr && !isRuled && isSizeName(parameter.name);
    if (isOpen) names.push_back(parameter.name);
  }
  return names;
}

/// Reports the parameters for which there is no initial configuration. Returns null.
static std::nullopt_t refuseInitial(const JitFunction &kernel, llvm::ArrayRef<std::string> names, const std::string &reason,
                                    Diagnostics &diagnostics) {
  diagnostics.error(rangeOf(kernel), Diag::noInitialConfig, {kernel.name, names.empty() ? "the sizes" : llvm::join(names, ", "), reason});
  return std::nullopt;
}

TunedKernel::Candidate TunedKernel::candidateOf(llvm::ArrayRef<OpenSize> open, llvm::ArrayRef<int64_t> sizes) const {
  Candidate candidate;
  for (auto [size, value] : llvm::zip(open, sizes)) {
    std::optional<size_t> parameter = indexOfParameter(plain.function(), size.name);
    if (!parameter) {
      (size.name == "num_ctas" ? candidate.config.numCtas : candidate.config.numWarps) = value; // not a parameter
      continue;
    }
    candidate.config.kwargs.emplace_back(size.name, Value::integer(value));
    candidate.values.push_back({*parameter, Argument::constant(Value::integer(value))});
  }
  return candidate;
}

/// Returns the reason why no combination works: the error of the smallest one.
std::string TunedKernel::reasonNoneWorks(llvm::ArrayRef<OpenSize> open, const Call &call) {
  std::vector<int64_t> smallest;
  for (const OpenSize &size : open)
    smallest.push_back(size.values.front());
  Diagnostics problems;
  std::optional<Choice> choice = complete(candidateOf(open, smallest), call, problems);
  if (choice) plain.compile(choice->arguments, choice->options, problems);
  return "no combination works; the smallest sizes fail: " + firstError(problems);
}

/// Returns the difference between the results of two configurations, or an empty text. Null after an error.
std::optional<std::string> TunedKernel::differenceBetween(const Candidate &initial, const Candidate &other, const Call &call,
                                                          Diagnostics &diagnostics) {
  Bench bench;
  bench.meter = LaunchMeter::create(plain.function(), call.known, resetParameters, restoreParameters, call.options, diagnostics);
  if (!bench.meter) return std::nullopt;
  std::string difference;
  std::optional<size_t> first;
  for (const Candidate *candidate : {&initial, &other}) {
    std::optional<Choice> choice = complete(*candidate, call, diagnostics);
    std::optional<Grid> grid = choice ? call.grid(choice->arguments, diagnostics) : std::nullopt;
    if (!grid) return std::nullopt;
    Result<size_t> group = tryOut(*candidate, *choice, *grid, bench);
    if (!group) continue; // it fails; its launch reports the error
    if (first && *group != *first)
      difference = otherResults(configText(other.config), configText(initial.config), bench.check->difference(*group, *first));
    if (!first) first = *group;
  }
  if (bench.check) bench.check->restore();
  bench.meter->reset();
  return difference;
}

std::optional<TunedKernel::Selected> TunedKernel::chooseInitial(const Call &call, Diagnostics &diagnostics) {
  const JitFunction &kernel = plain.function();
  if (!readTensorNames(diagnostics)) return std::nullopt;
  std::vector<std::string> names = openParameters(kernel, call.known);
  const gpu::CudaDevice *device = call.options.device >= 0 ? gpu::CudaDevice::get(call.options.device, diagnostics) : nullptr;
  bool mayShare = device && device->target.clusters && call.options.kernel.numCtas == 1;
  std::vector<OpenSize> open = openSizes(names, call.options.device >= 0, mayShare);
  std::optional<InitialConfig> found =
      chooseInitialSizes(open, [&](llvm::ArrayRef<int64_t> sizes) { return estimate(candidateOf(open, sizes), call); });
  if (!found) return refuseInitial(kernel, names, reasonNoneWorks(open, call), diagnostics);
  Candidate best = candidateOf(open, found->sizes);
  if (!found->other.empty() && !names.empty()) {
    std::optional<std::string> difference = differenceBetween(best, candidateOf(open, found->other), call, diagnostics);
    if (!difference) return std::nullopt;
    if (!difference->empty()) return refuseInitial(kernel, names, *difference, diagnostics);
  }
  auto report = std::make_shared<TuneReport>();
  report->problem = tuneProblem(kernel, dependencyHash(kernel), isKey, call.known, call.options);
  initialChoices.push_back(std::move(best));
  report->configs.push_back(&initialChoices.back().config);
  report->outcome.worked = true;
  return Selected{&initialChoices.back(), report};
}

std::optional<TunedKernel::Selected> TunedKernel::selectByMeasuring(const Call &call, std::string_view key, Diagnostics &diagnostics) {
  if (plain.function().autotune->isAuto) return chooseInitial(call, diagnostics);
  if (!readConfigs(diagnostics)) return std::nullopt;
  if (candidates.size() == 1) return Selected{&candidates.front(), nullptr};
  cacheTakesEntries(diagnostics); // reports a read-only cache folder here, because reports of trials are dropped
  // A value given twice is an error of the call, not of one configuration.
  for (const Candidate &candidate : candidates)
    if (!apply(candidate, call.known, call.options, diagnostics)) return std::nullopt;
  const JitFunction &kernel = plain.function();
  auto report = std::make_shared<TuneReport>();
  report->problem = tuneProblem(kernel, dependencyHash(kernel), isKey, call.known, call.options);
  auto [mine, isNew] = underWay.emplace(key);
  if (!isNew) {
    diagnostics.error(rangeOf(kernel), Diag::tunedWhileTuned, {kernel.name, report->problem.key});
    return std::nullopt;
  }
  std::optional<std::vector<const Candidate *>> selected = prune(call.known, diagnostics);
  if (selected && triesInitialFirst) sortByEstimate(*selected, call);
  std::optional<TuneOutcome> outcome = selected ? tuneAmong(*selected, call, report->problem, diagnostics) : std::nullopt;
  underWay.erase(mine);
  if (!outcome) return std::nullopt;
  for (const Candidate *candidate : *selected)
    report->configs.push_back(&candidate->config);
  report->outcome = std::move(*outcome);
  if (report->outcome.worked) return Selected{(*selected)[report->outcome.best], report};
  reportFailures(report->outcome, diagnostics);
  return std::nullopt;
}

/// Returns bytes that are equal if one choice fits both calls.
SpecializationKey TunedKernel::chosenKey(const Call &call) const {
  SpecializationKey bytes;
  bytes.push_back(static_cast<uint8_t>(call.options.device + 1)); // each GPU, and the CPU, has its own best configuration
  // So has each number of threads.
  int64_t threads = call.options.device >= 0 ? 0 : call.options.threads > 0 ? call.options.threads : defaultThreads();
  for (int byte = 0; byte < 4; ++byte)
    bytes.push_back(static_cast<uint8_t>(threads >> (8 * byte)));
  appendTuneKey(call.known, isKey, bytes);
  return bytes;
}

static std::string_view textOf(const SpecializationKey &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::optional<TunedKernel::Selected> TunedKernel::chosenFor(std::string_view key) const {
  std::lock_guard<std::mutex> guard(lock);
  auto found = chosen.find(key);
  return found == chosen.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TunedKernel::Selected> TunedKernel::select(const Call &call, Diagnostics &diagnostics) {
  SpecializationKey bytes = chosenKey(call);
  std::string_view key = textOf(bytes);
  if (std::optional<Selected> selected = chosenFor(key)) return selected;
  std::lock_guard<std::recursive_mutex> guard(tuning);
  if (std::optional<Selected> selected = chosenFor(key)) return selected; // another thread has tuned it meanwhile
  std::optional<Selected> selected = selectByMeasuring(call, key, diagnostics);
  if (!selected) return std::nullopt;
  std::lock_guard<std::mutex> brief(lock);
  chosen.emplace(key, *selected);
  return selected;
}

std::optional<TunedKernel::Choice> TunedKernel::choose(const GridFunction &grid, llvm::ArrayRef<Argument> positional,
                                                       llvm::ArrayRef<NamedArgument> named, const LaunchOptions &options,
                                                       Diagnostics &diagnostics) {
  const JitFunction &kernel = plain.function();
  std::optional<BoundArguments> known = bindKnownArguments(kernel, positional, named, diagnostics);
  if (!known || (options.checksTypes && !fitsDeclarations(kernel, *known, diagnostics))) return std::nullopt;
  // Made where it is returned, by one statement: arguments and options are large, and each launch comes here.
  std::optional<Choice> choice(std::in_place, std::move(*known), options, nullptr);
  auto tunedChoice = [&]() -> std::optional<Choice> {
    Call call{grid, choice->arguments, choice->options};
    std::optional<Selected> selected = select(call, diagnostics);
    std::optional<Choice> tuned = selected ? complete(*selected->candidate, call, diagnostics) : std::nullopt;
    if (tuned) tuned->report = selected->report;
    return tuned;
  };
  bool isReady = chooseDevice(kernel, choice->arguments, choice->options, diagnostics);
  if (isReady && kernel.autotune)
    choice = tunedChoice();
  else if (!isReady || !applyRules(choice->arguments, diagnostics) || !checkComplete(kernel, choice->arguments, diagnostics))
    choice.reset();
  return choice;
}

bool TunedKernel::prepareChoice(const Choice &choice, const std::optional<Grid> &grid, Diagnostics &diagnostics) {
  LaunchOptions options = choice.options;
  options.isDryRun = true;
  return grid ? plain.launch(*grid, choice.arguments, options, diagnostics)
              : plain.compile(choice.arguments, options, diagnostics) != nullptr;
}

/// Compiles all configurations. Fails if none compiles.
bool TunedKernel::prepareAll(const Call &call, bool hasGrid, Diagnostics &diagnostics) {
  const JitFunction &kernel = plain.function();
  if (kernel.autotune->isAuto) {
    refuseInitial(kernel, openParameters(kernel, call.known), "only a launch chooses them, because it compares results", diagnostics);
    return false;
  }
  std::lock_guard<std::recursive_mutex> guard(tuning);
  if (!readConfigs(diagnostics)) return false;
  std::optional<std::vector<const Candidate *>> selected = prune(call.known, diagnostics);
  if (!selected) return false;
  std::string failure;
  bool works = false;
  for (const Candidate *candidate : *selected) {
    Diagnostics problems;
    std::optional<Choice> choice = complete(*candidate, call, problems);
    std::optional<Grid> grid = choice && hasGrid ? call.grid(choice->arguments, problems) : std::nullopt;
    bool isReady = choice && !problems.hasErrors() && prepareChoice(*choice, grid, problems);
    works |= isReady;
    if (!isReady && failure.empty()) failure = firstError(problems);
    if (const WorkControl *control = currentControl(); control && !control->mayContinue()) {
      diagnostics.error({}, Diag::invalidOption, {"the compilation of the configurations stops: " + control->describe(), ""});
      return false;
    }
  }
  if (!works) diagnostics.error(rangeOf(kernel), Diag::configsFailed, {kernel.name, std::to_string(selected->size()), failure});
  return works;
}

bool TunedKernel::prepare(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
                          const LaunchOptions &options, Diagnostics &diagnostics) {
  const JitFunction &kernel = plain.function();
  std::optional<BoundArguments> known = bindKnownArguments(kernel, positional, named, diagnostics);
  LaunchOptions launchOptions = options;
  if (!known || (options.checksTypes && !fitsDeclarations(kernel, *known, diagnostics))) return false;
  if (!chooseDevice(kernel, *known, launchOptions, diagnostics)) return false;
  Call call{grid, *known, launchOptions};
  std::optional<Choice> choice;
  if (kernel.autotune) {
    std::optional<Selected> selected = chosenFor(textOf(chosenKey(call)));
    if (!selected) return prepareAll(call, grid != nullptr, diagnostics);
    choice = complete(*selected->candidate, call, diagnostics);
  } else {
    choice = Choice{*known, launchOptions, nullptr};
    if (!applyRules(choice->arguments, diagnostics) || !checkComplete(kernel, choice->arguments, diagnostics)) return false;
  }
  if (!choice) return false;
  std::optional<Grid> extents = grid ? grid(choice->arguments, diagnostics) : std::nullopt;
  return !diagnostics.hasErrors() && prepareChoice(*choice, extents, diagnostics);
}

bool TunedKernel::launch(const GridFunction &grid, llvm::ArrayRef<Argument> positional, llvm::ArrayRef<NamedArgument> named,
                         const LaunchOptions &options, Diagnostics &diagnostics) {
  std::optional<Choice> choice = choose(grid, positional, named, options, diagnostics);
  if (!choice) return false;
  std::optional<Grid> extents = grid(choice->arguments, diagnostics);
  return extents && plain.launchOn(*extents, choice->arguments, choice->options, diagnostics);
}

} // namespace tilewright
