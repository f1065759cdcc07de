// `tilewright tune`: measures the configurations of a kernel, and exports and imports the results.

#include "cli/json_output.h"
#include "cli/launch.h"
#include "cli/space.h"
#include "support/files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdio>
#include <set>

namespace tilewright {

const CommandSpec &tuneSpec() {
  static const CommandSpec spec = [] {
    CommandSpec result{
        "tune",
        "FILE[:KERNEL] [--space TEXT] [--budget TIME] --grid EXPR --arg NAME=VALUE ... | [--list] [--export FILE] [--import FILE]",
        "Measures the configurations of @triton.autotune and stores the best; lists, exports and imports stored results. The exit "
        "status is 1 if configurations compute different results.",
        launchDetails,
        {{"--space", "TEXT", "measure all combinations instead of the kernel's list: 'BLOCK_M=32,64,128 num_warps=4,8'"},
         {"--budget", "TIME", "start no further configuration after this time, such as 90s or 2m"},
         {"--list", "", "list the stored configurations of all front ends: command line, Python and C++"},
         {"--export", "FILE",
          "write stored configurations to a file, with --kernel those of one kernel; TILEWRIGHT_TUNED=FILE pins its winners"},
         {"--import", "FILE", "store the configurations of an exported file"},
         {"--json", "", "print the measurements, or with --list the stored configurations, as one JSON object"}}};
    result.options.push_back(deviceOption());
    for (const OptionSpec &option : launchOptions())
      result.options.push_back(option);
    return result;
  }();
  return spec;
}

static std::vector<TunedEntry> storedEntries(const CommandLine &line, Diagnostics &diagnostics) {
  std::vector<TunedEntry> entries = allTuned(diagnostics);
  std::string kernel = line.get("--kernel", "");
  llvm::erase_if(entries, [&](const TunedEntry &entry) { return !kernel.empty() && entry.problem.kernel != kernel; });
  return entries;
}

static int listEntries(llvm::ArrayRef<TunedEntry> entries, bool asJson) {
  if (asJson) {
    printJson(llvm::cantFail(llvm::json::parse(tunedText(entries))));
    return success;
  }
  for (const TunedEntry &entry : entries)
    std::printf("%s (%s) on %s\n%s\n", entry.problem.kernel.c_str(), entry.problem.key.c_str(), entry.problem.device.c_str(),
                timingText(entry.configs[entry.best], entry.results[entry.best], true).c_str());
  std::printf("stored: %zu\n", entries.size());
  return success;
}

static int importFile(const std::string &path, Diagnostics &diagnostics) {
  Result<std::vector<TunedEntry>> entries = readTunedFile(path);
  if (!entries) {
    diagnostics.error({}, Diag::tunedFile, {path, entries.error()});
    return report(diagnostics, userError);
  }
  for (const TunedEntry &entry : *entries)
    storeTuned(entry, diagnostics);
  std::printf("imported: %zu\n", entries->size());
  return report(diagnostics, success);
}

static int exportFile(const std::string &path, llvm::ArrayRef<TunedEntry> entries) {
  Result<void> done = writeOutputFile(path, tunedText(entries));
  if (!done) return fail("cannot write '" + path + "': " + done.error());
  std::printf("exported: %zu\n", entries.size());
  return success;
}

/// The kernel with the configurations of --space in place of its own. 0, or the exit status.
static int replaceConfigs(const std::string &text, Setup &setup) {
  const JitFunction &kernel = *setup.kernel.function;
  Result<std::vector<Config>> configs = readSpace(text, kernel);
  if (!configs) return fail("--space: " + configs.error());
  auto changed = std::make_shared<JitFunction>(kernel);
  if (!changed->autotune) changed->autotune.emplace();
  changed->autotune->configs = std::move(*configs);
  changed->autotune->isAuto = false;
  changed->autotune->earlyPrune = changed->autotune->perfModel = Value::none();
  setup.kernel.function = changed;
  return success;
}

/// Prints the initial configuration, which was not measured, or the fastest. `asSource`: also in the form that a kernel file needs.
static void printFound(const JitFunction &kernel, const TuneReport &found, bool asSource) {
  std::string about = kernel.name + " (" + found.problem.key + ") on " + found.problem.device;
  const Config &best = *found.best();
  if (kernel.autotune->isAuto) {
    std::printf("%s, by an estimate alone; --space measures\n%s\n", about.c_str(), configSource(best).c_str());
    return;
  }
  std::string time = timingText(configText(best), found.outcome.results[found.outcome.best], true);
  std::printf("%s, in %s\n%s\n", about.c_str(), secondsText(found.outcome.seconds).c_str(), time.c_str());
  if (asSource) std::printf("%s\n", configSource(best).c_str());
}

/// The same as JSON, with the times of all configurations.
static void printFoundAsJson(const JitFunction &kernel, const TuneReport *found) {
  llvm::json::Object answer{{"kernel", kernel.name}};
  if (found) {
    answer["key"] = found->problem.key, answer["device"] = found->problem.device, answer["best"] = configText(*found->best());
    answer["seconds"] = found->outcome.seconds, answer["guessed"] = kernel.autotune->isAuto;
    llvm::json::Array results;
    for (auto [config, result] : llvm::zip(found->configs, found->outcome.results)) {
      llvm::json::Object row{{"config", configText(*config)}, {"milliseconds", llvm::json::Array(result.milliseconds)}};
      if (!result.failure.empty()) row["failure"] = result.failure;
      results.push_back(std::move(row));
    }
    answer["results"] = std::move(results);
  }
  printJson(std::move(answer));
}

static int measureFile(CommandLine line, Diagnostics &diagnostics) {
  int status = success;
  std::optional<Setup> setup = readSetup(std::move(line), "tune", status, diagnostics);
  if (!setup) return status;
  if (setup->line.has("--space"))
    if (int failed = replaceConfigs(setup->line.get("--space", ""), *setup)) return failed;
  const JitFunction &kernel = *setup->kernel.function;
  if (!kernel.autotune)
    return fail("kernel '" + kernel.name +
                "' has no @triton.autotune, so it has one configuration; --space 'BLOCK=64,128' says what to try");
  TunedKernel tuned(setup->kernel.function);
  tuned.remeasures = true;
  tuned.triesInitialFirst = setup->line.has("--space");
  if (setup->line.has("--budget")) {
    Result<double> budget = readSeconds(setup->line.get("--budget", ""));
    if (!budget) return fail("--budget: " + budget.error());
    tuned.budget = *budget;
  }
  std::set<std::string> measured;
  tuned.progress = [&](const Config &config, const Measured &result) {
    bool isNew = measured.insert(configText(config)).second;
    std::printf("%s%s\n", timingText(configText(config), result, false).c_str(), isNew ? "" : " (again)");
    std::fflush(stdout);
  };
  GridFunction grid = [&](llvm::ArrayRef<Argument> arguments, Diagnostics &problems) { return evaluateGrid(*setup, arguments, problems); };
  std::optional<TunedKernel::Choice> choice = tuned.choose(grid, {}, setup->named(), setup->options, diagnostics);
  if (!choice) return report(diagnostics, ourError);
  const TuneReport *found = choice->report.get();
  int ending = found && found->outcome.decision != Decision::agreed ? userError : success; // configurations disagree: a warning says which
  if (setup->line.has("--json")) return printFoundAsJson(kernel, found), report(diagnostics, ending);
  if (!found) std::printf("kernel '%s' has one configuration, which needs no measuring\n", kernel.name.c_str());
  if (found) printFound(kernel, *found, setup->line.has("--space"));
  return report(diagnostics, ending);
}

int tuneMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(tuneSpec(), argc, argv, status);
  if (!line) return status;
  Diagnostics diagnostics;
  bool usesStore = line->has("--list") || line->has("--export") || line->has("--import") || (line->has("--json") && line->words.empty());
  if (!usesStore) return measureFile(std::move(*line), diagnostics);
  if (!line->words.empty()) return fail("--list, --export and --import take no FILE of kernels, but got '" + line->words.front() + "'");
  if (line->has("--import"))
    if (int failed = importFile(line->get("--import", ""), diagnostics)) return failed;
  std::vector<TunedEntry> entries = storedEntries(*line, diagnostics);
  if (line->has("--export"))
    if (int failed = exportFile(line->get("--export", ""), entries)) return failed;
  if (line->has("--list") || line->has("--json")) listEntries(entries, line->has("--json"));
  return report(diagnostics, success);
}

} // namespace tilewright
