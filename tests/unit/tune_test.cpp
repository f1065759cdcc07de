// The tuner without kernels: which configuration wins, and what is stored. Tables of times replace the front ends.

#include "evaluate/module.h"
#include "support/files.h"
#include "support/half.h"
#include "support/target.h"
#include "syntax/parser.h"
#include "tune/estimate.h"
#include "tune/initial_config.h"
#include "tune/machine_peaks.h"
#include "tune/measure.h"
#include "tune/tuner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <sys/wait.h>
#include <thread>

using namespace tilewright;

namespace {

std::optional<TimedRun> ofKernel(double seconds) {
  return TimedRun{seconds, true};
}

class Tune : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("tilewright_tune_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    ::setenv("TILEWRIGHT_CACHE_DIR", (folder / "cache").c_str(), 1);
    ::unsetenv("TILEWRIGHT_CACHE");
    ::unsetenv("TILEWRIGHT_TUNED");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// A front end whose configurations take these times, one after the other where one is measured again.
  TunerCallbacks callbacks(std::vector<std::vector<Measured>> table) {
    times = std::move(table);
    calls.assign(times.size(), 0);
    TunerCallbacks made;
    made.measure = [this](size_t config, std::optional<double>) -> std::optional<Measured> {
      size_t sample = std::min(calls[config]++, times[config].size() - 1);
      return times[config][sample];
    };
    made.compile = [this](size_t config) { return config == broken ? std::optional<std::string>("broken") : std::nullopt; };
    return made;
  }
  static Measured quiet(double median) { return {{median, median * 0.99, median * 1.01}, ""}; }
  static Measured noisy(double median) { return {{median, median * 0.7, median * 2}, ""}; }
  static Measured failed(std::string why) { return {{}, std::move(why)}; }

  std::filesystem::path folder;
  std::vector<std::vector<Measured>> times;
  std::vector<size_t> calls;
  size_t broken = SIZE_MAX;
  TuneProblem problem{"kernel", "source", "device", "n=1"};
  std::vector<std::string> configs{"BLOCK=1", "BLOCK=2", "BLOCK=3"};
  Diagnostics diagnostics;
};

TEST_F(Tune, TheSmallestMedianWins) {
  std::optional<TuneOutcome> outcome = tune(&problem, configs, callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}}), diagnostics);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_TRUE(outcome->measured && outcome->worked);
  EXPECT_EQ(calls, (std::vector<size_t>{1, 1, 1}));
}

TEST_F(Tune, OfEqualsTheFirstWins) {
  EXPECT_EQ(tune(nullptr, configs, callbacks({{quiet(2)}, {quiet(1)}, {quiet(1)}}), diagnostics)->best, 1u);
}

TEST_F(Tune, FailingOnesArePassedOver) {
  std::optional<TuneOutcome> outcome = tune(&problem, configs, callbacks({{failed("no")}, {quiet(2)}, {failed("never")}}), diagnostics);
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_EQ(outcome->results[2].failure, "never");
}

TEST_F(Tune, WhereAllFailNothingIsKept) {
  std::optional<TuneOutcome> outcome = tune(&problem, configs, callbacks({{failed("a")}, {failed("b")}, {failed("c")}}), diagnostics);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->worked);
  EXPECT_EQ(outcome->best, 0u);
  EXPECT_FALSE(loadTuned(problem, configs, diagnostics));
}

TEST_F(Tune, ACallerMayEndIt) {
  TunerCallbacks made = callbacks({{quiet(1)}, {quiet(1)}, {quiet(1)}});
  made.measure = [](size_t, std::optional<double>) { return std::nullopt; };
  EXPECT_FALSE(tune(&problem, configs, made, diagnostics));
  EXPECT_FALSE(loadTuned(problem, configs, diagnostics));
}

TEST_F(Tune, NoiseIsMeasuredAgain) {
  // The second one is the fastest, but something disturbed its first measurement. The third is too slow to be in doubt.
  std::optional<TuneOutcome> outcome = tune(nullptr, configs, callbacks({{quiet(1.0)}, {noisy(1.2), quiet(0.5)}, {quiet(9)}}), diagnostics);
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_EQ(outcome->results[1].milliseconds.front(), 0.5);
  EXPECT_EQ(calls, (std::vector<size_t>{4, 4, 1}));
}

TEST_F(Tune, OneIsMeasuredForAllThatMeanTheSame) {
  TunerCallbacks made = callbacks({{quiet(2), quiet(1.1)}, {failed("its code is the first one's")}, {quiet(1.8), quiet(1.5)}});
  made.compileThreads = 2;
  made.compile = [](size_t config) { return config == 1 ? std::optional<std::string>("asked") : std::nullopt; };
  made.sameAs = {0, 0, 2};
  std::optional<TuneOutcome> outcome = tune(nullptr, configs, made, diagnostics);
  EXPECT_EQ(outcome->best, 0u);
  EXPECT_EQ(outcome->results[0].milliseconds, outcome->results[1].milliseconds);
  EXPECT_EQ(outcome->results[0].milliseconds.front(), 1.1); // measured again, among two that differ
  EXPECT_EQ(calls, (std::vector<size_t>{4, 0, 4}));
}

TEST_F(Tune, LongRunsAreNotMeasuredAgain) {
  double longest = 1e3 * longRun + 1;
  EXPECT_EQ(tune(nullptr, configs, callbacks({{quiet(longest + 1)}, {quiet(longest)}, {quiet(longest)}}), diagnostics)->best, 1u);
  EXPECT_EQ(calls, (std::vector<size_t>{1, 1, 1}));
  size_t runs = 0;
  auto once = [&] { return ++runs, ofKernel(2 * longRun); };
  std::optional<std::vector<double>> measured = measureRuns(once, std::nullopt, onCpus, [&] { return double(runs); });
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->front(), 2e3 * longRun);
  EXPECT_EQ(runs, 2u); // the first one warms up
  runs = 0;
  bool compiles = true;
  auto longer = [&]() -> std::optional<TimedRun> { return ++runs, TimedRun{2 * veryLongRun, !std::exchange(compiles, false)}; };
  ASSERT_TRUE(measureRuns(longer, std::nullopt, onCpus, [&] { return double(runs); }));
  EXPECT_EQ(runs, 2u); // something was compiled in the first one
  ASSERT_TRUE(measureRuns(longer, std::nullopt, onCpus, [&] { return double(runs); }));
  EXPECT_EQ(runs, 3u);
}

TEST_F(Tune, CpusIgnoreGpuOptions) {
  JitFunction kernel;
  kernel.parameters.emplace_back().name = "BLOCK";
  auto config = [](int64_t block, int64_t warps, int64_t stages) {
    Config made;
    made.kwargs.emplace_back("BLOCK", Value::integer(block));
    made.numWarps = warps, made.numStages = stages;
    return made;
  };
  std::vector<Config> all = {config(1, 4, 3), config(2, 4, 3), config(1, 8, 3), config(2, 4, 2), config(2, 4, 3)};
  EXPECT_EQ(firstAlike(kernel, all, true), (std::vector<size_t>{0, 1, 0, 1, 1}));
  EXPECT_EQ(firstAlike(kernel, all, false), (std::vector<size_t>{0, 1, 2, 3, 4}));
  all[2].hasHook = true;
  EXPECT_EQ(firstAlike(kernel, all, true), (std::vector<size_t>{0, 1, 2, 1, 1}));
  kernel.parameters.emplace_back().name = "num_warps"; // the kernel computes with it
  EXPECT_EQ(firstAlike(kernel, all, true), (std::vector<size_t>{0, 1, 2, 3, 4}));
}

TEST_F(Tune, AClockThatFallsDoesNotDecide) {
  // The first one was measured on a machine that had rested, the others later: each measurement is quiet, with another result.
  std::optional<TuneOutcome> outcome = tune(nullptr, configs, callbacks({{quiet(0.8), quiet(1.1)}, {quiet(1.0)}, {quiet(9)}}), diagnostics);
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_EQ(outcome->results[0].milliseconds.front(), 1.1);
  EXPECT_EQ(calls, (std::vector<size_t>{4, 4, 1}));
}

TEST_F(Tune, OneDisturbedRoundDoesNotDecide) {
  TunerCallbacks made = callbacks({{quiet(1.0), quiet(1.0), quiet(3.0), quiet(1.0)}, {quiet(1.1)}, {quiet(9)}});
  EXPECT_EQ(tune(nullptr, configs, made, diagnostics)->best, 0u);
}

TEST_F(Tune, AUsersBenchmarkIsCalledOnce) {
  TunerCallbacks made = callbacks({{quiet(1.0)}, {noisy(1.2), quiet(0.5)}, {quiet(9)}});
  made.mayRepeat = false;
  EXPECT_EQ(tune(nullptr, configs, made, diagnostics)->best, 0u);
  EXPECT_EQ(calls, (std::vector<size_t>{1, 1, 1}));
}

TEST_F(Tune, WinnersAreRememberedForTheirProblem) {
  tune(&problem, configs, callbacks({{quiet(3)}, {quiet(1)}, {failed("no")}}), diagnostics);
  TunerCallbacks other = callbacks({{quiet(1)}, {quiet(2)}, {quiet(3)}});
  std::optional<TuneOutcome> outcome = tune(&problem, configs, other, diagnostics);
  EXPECT_FALSE(outcome->measured);
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_EQ(outcome->results[2].failure, "no");
  EXPECT_EQ(calls, (std::vector<size_t>{0, 0, 0}));
  // Everything that a problem is made of counts, and so does the list of configurations.
  for (std::string TuneProblem::*field : {&TuneProblem::kernel, &TuneProblem::source, &TuneProblem::device, &TuneProblem::key}) {
    TuneProblem another = problem;
    another.*field += "'";
    EXPECT_TRUE(tune(&another, configs, other, diagnostics)->measured);
  }
  EXPECT_TRUE(tune(&problem, {"BLOCK=1", "BLOCK=2"}, other, diagnostics)->measured);
  other.usesCache = false;
  EXPECT_TRUE(tune(&problem, configs, other, diagnostics)->measured);
  EXPECT_FALSE(diagnostics.hasErrors()) << diagnostics.render();
}

TEST_F(Tune, AWinnerThatNoLongerCompilesIsMeasuredAgain) {
  tune(&problem, configs, callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}}), diagnostics);
  broken = 1;
  std::optional<TuneOutcome> outcome = tune(&problem, configs, callbacks({{quiet(3)}, {failed("no")}, {quiet(2)}}), diagnostics);
  EXPECT_TRUE(outcome->measured);
  EXPECT_EQ(outcome->best, 2u);
  EXPECT_EQ(loadTuned(problem, configs, diagnostics)->best, 2u);
}

TEST_F(Tune, ProcessesThatMeasureAtOnceAgree) {
  TunerCallbacks made = callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}});
  auto measure = made.measure;
  made.measure = [&](size_t config, std::optional<double> best) { // another process ends first, with another winner
    if (config == 2) storeTuned({problem, configs, {quiet(1), quiet(2), quiet(3)}, 0}, diagnostics);
    return measure(config, best);
  };
  EXPECT_EQ(tune(&problem, configs, made, diagnostics)->best, 0u);
  EXPECT_EQ(loadTuned(problem, configs, diagnostics)->best, 0u);
}

/// Measures a share of the configurations: each of them takes a moment.
static TunerCallbacks shared(std::vector<double> medians, std::atomic<int> &count) {
  TunerCallbacks made;
  made.measure = [medians, &count](size_t config, std::optional<double>) -> std::optional<Measured> {
    ++count;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Measured{{medians[config], medians[config], medians[config]}, ""};
  };
  made.tryOut = [](size_t) { return std::optional<size_t>(0); };
  made.compile = [](size_t) { return std::nullopt; };
  made.mayRepeat = false;
  return made;
}

TEST_F(Tune, WorkersShareASearch) {
  ::setenv("TILEWRIGHT_SHARED_TUNING", "1", 1);
  std::atomic<int> count = 0;
  std::vector<double> medians{9, 8, 7, 1, 6, 5, 4, 3};
  std::vector<std::string> many;
  for (size_t i = 0; i < medians.size(); ++i)
    many.push_back("BLOCK=" + std::to_string(i));
  std::vector<std::optional<TuneOutcome>> outcomes(3);
  std::vector<std::thread> workers;
  for (std::optional<TuneOutcome> &outcome : outcomes)
    workers.emplace_back([&] {
      Diagnostics own;
      outcome = tune(&problem, many, shared(medians, count), own);
    });
  for (std::thread &worker : workers)
    worker.join();
  ::unsetenv("TILEWRIGHT_SHARED_TUNING");
  for (const std::optional<TuneOutcome> &outcome : outcomes) {
    ASSERT_TRUE(outcome && outcome->worked);
    EXPECT_EQ(outcome->best, 3u);
    EXPECT_EQ(outcome->results.size(), many.size());
  }
  EXPECT_EQ(count, 8); // each was measured once, by whomever
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder / "cache"))
    EXPECT_TRUE(entry.is_directory() || entry.path().extension() == ".tuned") << entry.path();
}

TEST_F(Tune, TheShareOfADeadWorkerIsMeasuredByOthers) {
  ::setenv("WORLD_SIZE", "2", 1);
  pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> count = 0;
    TunerCallbacks made = shared({3, 1, 2}, count);
    auto measure = made.measure;
    made.measure = [measure](size_t config, std::optional<double> best) {
      if (config == 1) ::raise(SIGKILL); // with its claim in hand
      return measure(config, best);
    };
    tune(&problem, configs, made, diagnostics);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::atomic<int> count = 0;
  std::optional<TuneOutcome> outcome = tune(&problem, configs, shared({3, 1, 2}, count), diagnostics);
  ::unsetenv("WORLD_SIZE");
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_EQ(count, 2); // what the dead one has measured is kept
}

TEST_F(Tune, RemeasuredWinnersAreShared) {
  tune(&problem, configs, callbacks({{quiet(1)}, {quiet(2)}, {quiet(3)}}), diagnostics);
  ::setenv("TILEWRIGHT_SHARED_TUNING", "1", 1);
  std::atomic<int> count = 0;
  TunerCallbacks made = shared({3, 1, 2}, count);
  made.remeasure = true;
  std::optional<TuneOutcome> outcome = tune(&problem, configs, made, diagnostics);
  ::unsetenv("TILEWRIGHT_SHARED_TUNING");
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(loadTuned(problem, configs, diagnostics)->best, 1u);
}

TEST_F(Tune, MeasuringAgainReplacesTheWinner) {
  tune(&problem, configs, callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}}), diagnostics);
  TunerCallbacks made = callbacks({{quiet(3)}, {quiet(4)}, {quiet(2)}});
  made.remeasure = true;
  EXPECT_EQ(tune(&problem, configs, made, diagnostics)->best, 2u);
  EXPECT_EQ(loadTuned(problem, configs, diagnostics)->best, 2u);
}

TEST_F(Tune, CompilesSeveralAtOnceAndMeasuresOne) {
  for (bool needsQuiet : {true, false}) {
    TunerCallbacks made = callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}});
    auto measure = made.measure;
    std::atomic<int64_t> compiled{0}, measuring{0};
    made.needsQuiet = needsQuiet;
    made.compileThreads = 2;
    made.compile = [&](size_t config) -> std::optional<std::string> {
      // On two threads the second one begins while the first is not done.
      for (int64_t i = 0; config == 0 && compiled == 0 && i < 2000; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++compiled;
      return config == 1 ? std::optional<std::string>("too large") : std::nullopt;
    };
    made.measure = [&](size_t config, std::optional<double> best) {
      EXPECT_EQ(measuring++, 0);
      EXPECT_GE(compiled, needsQuiet ? 3 : 1);
      std::optional<Measured> result = measure(config, best);
      --measuring;
      return result;
    };
    std::optional<TuneOutcome> outcome = tune(nullptr, configs, made, diagnostics);
    EXPECT_EQ(outcome->best, 2u);
    EXPECT_EQ(outcome->results[1].failure, "too large");
    EXPECT_EQ(calls, (std::vector<size_t>{1, 0, 1}));
    EXPECT_EQ(compiled, 3);
  }
}

TEST(BackgroundCompiler, KeepsItsFunction) {
  auto used = std::make_shared<std::atomic<int>>(0);
  std::weak_ptr<std::atomic<int>> watched = used;
  BackgroundCompiler ahead(4, 2, [used = std::move(used)](size_t) -> std::optional<std::string> { return ++*used, std::nullopt; });
  EXPECT_FALSE(watched.expired()); // the argument was a temporary
  for (size_t i = 0; i < 4; ++i)
    EXPECT_FALSE(ahead.wait(i));
}

TEST_F(Tune, ACallerMayEndItWhileOthersCompile) {
  configs.assign(100, "BLOCK=1");
  std::atomic<int64_t> compiled{0};
  TunerCallbacks made;
  made.needsQuiet = false;
  made.compileThreads = 4;
  made.compile = [&](size_t) -> std::optional<std::string> {
    ++compiled;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return std::nullopt;
  };
  made.measure = [](size_t, std::optional<double>) { return std::nullopt; };
  EXPECT_FALSE(tune(nullptr, configs, made, diagnostics));
  EXPECT_LT(compiled, 100);
}

TEST(Measure, AHopelessOneIsTriedAFewTimes) {
  std::vector<double> seconds;
  auto runs = [&](std::vector<double> table) {
    seconds = std::move(table);
    return [&, next = size_t(0)]() mutable { return ofKernel(seconds[std::min(next++, seconds.size() - 1)]); };
  };
  EXPECT_EQ(measureRuns(runs({0.9, 0.005}), 1.0, onCpus)->size(), 3u);
  auto slow = runs({0.9, 0.005});
  int64_t count = 0;
  measureRuns([&] { return ++count, slow(); }, 1.0, onCpus);
  EXPECT_EQ(count, 6); // the first run warms up
  // Slow runs before fast ones are chance.
  EXPECT_EQ(measureRuns(runs({0.9, 0.005, 0.005, 0.005, 0.001}), 1.0, onCpus)->front(), 1.0);
  EXPECT_FALSE(measureRuns([] { return std::optional<TimedRun>(); }, std::nullopt, onCpus));
}

TEST_F(Tune, PeaksAreStoredUnlessDisturbed) {
  int64_t measured = 0;
  auto measure = [&]() -> std::optional<MachinePeaks> {
    ++measured;
    return MachinePeaks{{{"bytes_per_second", measured == 1 ? 9.0 : 5.0}, {"float32", static_cast<double>(measured)}}, measured == 1};
  };
  EXPECT_FALSE(storedPeaks("here", diagnostics));
  EXPECT_TRUE(peaksOfMachine("here", measure, false, diagnostics)->isDisturbed);
  std::optional<MachinePeaks> again = peaksOfMachine("here", measure, false, diagnostics); // what is higher counts
  EXPECT_FALSE(again->isDisturbed);
  EXPECT_EQ(again->rates["bytes_per_second"], 9);
  EXPECT_EQ(again->rates["float32"], 2);
  EXPECT_EQ(peaksOfMachine("here", measure, false, diagnostics)->rates, again->rates);
  EXPECT_EQ(measured, 2);
  EXPECT_EQ(peaksOfMachine("here", measure, true, diagnostics)->rates["bytes_per_second"], 5); // of today alone
  EXPECT_FALSE(storedPeaks("there", diagnostics));
}

TEST(Measure, GpusTakeFewerSamples) {
  int64_t runs = 0;
  auto once = [&] { return ++runs, ofKernel(1e-5); };
  measureRuns(once, std::nullopt, onGpus, [&] { return 1e-4 * static_cast<double>(runs); }); // with what lies between runs
  EXPECT_EQ(runs, 21);                                                                       // the first run warms up
  // Of a long one few runs say enough.
  for (auto [best, expected] : {std::pair(9.0, 3), std::pair(5.0, 2)}) {
    runs = 0;
    auto slow = [&] { return ++runs, ofKernel(1e-2); };
    measureRuns(slow, best, onGpus, [&] { return 1e-2 * static_cast<double>(runs); });
    EXPECT_EQ(runs, expected);
  }
  // A configuration that is slower by more than noise runs once.
  runs = 0;
  auto hopeless = [&] { return ++runs, ofKernel(3e-2); };
  EXPECT_EQ(measureRuns(hopeless, 10.0, onGpus, [&] { return 3e-2 * static_cast<double>(runs); })->front(), 30);
  EXPECT_EQ(runs, 1);
  // One slow run is chance.
  runs = 0;
  auto hiccup = [&] { return ofKernel(++runs == 1 ? 7e-3 : 5e-6); };
  EXPECT_EQ(measureRuns(hiccup, 5e-3, onGpus, [&] { return 5e-3 * static_cast<double>(runs); })->front(), 5e-3);
  // What the clock cannot tell apart is quiet.
  runs = 0;
  auto coarse = [&] { return ++runs, ofKernel(runs % 2 ? 5.1e-6 : 5.5e-6); };
  measureRuns(coarse, std::nullopt, onGpus, [&] { return 1e-4 * static_cast<double>(runs); });
  EXPECT_EQ(runs, 21);
}

TEST(Measure, WhatAGpuWaitsForIsNotTheKernels) {
  // The first launch compiles another version of the kernel, and is not hopeless for that.
  int64_t runs = 0;
  auto clock = [&] { return 1e-4 * static_cast<double>(runs); };
  auto compiles = [&]() -> std::optional<TimedRun> { return ++runs == 1 ? TimedRun{0.15, false} : TimedRun{1e-5, true}; };
  EXPECT_EQ(measureRuns(compiles, 0.02, onGpus, clock)->front(), 1e-2);
  // Nor are runs for which the host is late because compiling threads use the CPU.
  runs = 0;
  auto disturbed = [&]() -> std::optional<TimedRun> { return ++runs <= 5 ? TimedRun{5e-3, false} : TimedRun{1e-5, true}; };
  EXPECT_EQ(measureRuns(disturbed, 0.02, onGpus, clock), (std::vector<double>(3, 1e-2)));
  // A host that is always late is measured as it is.
  runs = 0;
  auto late = [&]() -> std::optional<TimedRun> { return ++runs, TimedRun{5e-5, false}; };
  EXPECT_EQ(measureRuns(late, std::nullopt, onGpus, clock)->front(), 5e-2);
}

TEST(Measure, OnOneThreadOnlyItsOwnTimeCounts) {
  JitFunction kernel;
  auto waits = [](Diagnostics &) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
  };
  for (int64_t threads : {1, 2}) {
    Diagnostics diagnostics;
    LaunchOptions options;
    options.threads = threads;
    std::unique_ptr<LaunchMeter> meter = LaunchMeter::create(kernel, {}, {}, {}, options, diagnostics);
    ASSERT_TRUE(meter);
    double milliseconds = meter->measure(waits, std::nullopt, nullptr).milliseconds.front();
    if (threads == 1)
      EXPECT_LT(milliseconds, 10);
    else
      EXPECT_GE(milliseconds, 20);
  }
}

TEST_F(Tune, DamagedEntriesAreMeasuredAgain) {
  TunerCallbacks made = callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}});
  tune(&problem, configs, made, diagnostics);
  for (const auto &item : std::filesystem::recursive_directory_iterator(folder / "cache")) {
    if (item.path().extension() != ".tuned") continue;
    std::fstream file(item.path(), std::ios::in | std::ios::out);
    file.seekp(-3, std::ios::end);
    file << '7';
  }
  EXPECT_TRUE(tune(&problem, configs, made, diagnostics)->measured);
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].id, Diag::damagedCache);
  EXPECT_FALSE(tune(&problem, configs, made, diagnostics)->measured);
}

TEST_F(Tune, FilesPinWinners) {
  std::string path = folder / "tuned.json";
  TunedEntry entry{problem, configs, {quiet(1), quiet(2), failed("with \"quotes\" and \xff")}, 0};
  ASSERT_TRUE(writeFileAtomically(path, tunedText(entry)));
  Result<std::vector<TunedEntry>> read = readTunedFile(path);
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().problem, problem);
  EXPECT_EQ(read->front().configs, configs);
  EXPECT_EQ(read->front().results[1].milliseconds, quiet(2).milliseconds);

  ::setenv("TILEWRIGHT_TUNED", path.c_str(), 1);
  TunerCallbacks made = callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}});
  made.usesCache = false;
  std::optional<TuneOutcome> outcome = tune(&problem, configs, made, diagnostics);
  EXPECT_FALSE(outcome->measured);
  EXPECT_EQ(outcome->best, 0u);
  // The list may have changed, as long as the pinned one is in it.
  EXPECT_EQ(tune(&problem, {"BLOCK=5", "BLOCK=1"}, made, diagnostics)->best, 1u);
  EXPECT_TRUE(diagnostics.all().empty());
  EXPECT_TRUE(tune(&problem, {"BLOCK=5", "BLOCK=6"}, made, diagnostics)->measured);
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].id, Diag::tunedElsewhere);
  EXPECT_NE(diagnostics.all()[0].message.find("is not one of its configurations"), std::string::npos);
}

TEST_F(Tune, BadFilesAreToldOnce) {
  int64_t number = 0;
  for (const char *text :
       {"", "[]", "{\"tuned\": 1}", "{\"format\": 99, \"tuned\": []}", "{\"format\": 1, \"tuned\": [{}]}",
        "{\"format\": 1, \"tuned\": [{\"kernel\": \"k\", \"source\": \"\", \"device\": \"\", \"key\": \"\", \"best\": 1, "
        "\"configs\": [{\"config\": \"\", \"milliseconds\": [1]}]}]}"}) {
    std::string path = folder / (std::to_string(number++) + ".json");
    std::ofstream(path) << text;
    EXPECT_FALSE(readTunedFile(path)) << text;
    ::setenv("TILEWRIGHT_TUNED", path.c_str(), 1);
    for (int64_t time = 0; time < 2; ++time)
      tune(&problem, configs, callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}}), diagnostics);
    ASSERT_EQ(diagnostics.all().size(), static_cast<size_t>(number)) << text;
    EXPECT_EQ(diagnostics.all().back().id, Diag::tunedFile);
  }
}

TEST_F(Tune, AllEntriesAreListedInOrder) {
  for (const char *name : {"zeta", "alpha"}) {
    TuneProblem named = problem;
    named.kernel = name;
    tune(&named, configs, callbacks({{quiet(3)}, {quiet(1)}, {quiet(2)}}), diagnostics);
  }
  std::vector<TunedEntry> all = allTuned(diagnostics);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].problem.kernel, "alpha");
  EXPECT_EQ(all[1].problem.kernel, "zeta");
}

TEST(Measure, QuietRunsAreSoonEnough) {
  auto count = [](std::vector<double> table, std::optional<double> best, double between) {
    int64_t runs = 0;
    auto once = [&] { return ofKernel(table[static_cast<size_t>(runs++) % table.size()]); };
    measureRuns(once, best, onCpus, [&] { return between * static_cast<double>(runs); });
    return runs;
  };
  EXPECT_EQ(count({1e-5}, std::nullopt, 1e-3), 26); // the first run warms up
  EXPECT_GT(count({1e-5, 3e-5}, std::nullopt, 1e-3), 26);
  // Runs that scatter: a few show whether a configuration is much slower, more decide between the fast ones.
  std::vector<double> scattered{1.0e-5, 1.15e-5, 1.3e-5, 1.45e-5, 1.6e-5};
  EXPECT_EQ(count(scattered, 0.013, 2e-4), 26);
  EXPECT_EQ(count(scattered, std::nullopt, 2e-4), 51);
  EXPECT_EQ(count({1e-5, 3e-5}, std::nullopt, 1e-5), 201); // never certain
}

TEST(InitialConfig, GoesToTheLeastCost) {
  std::vector<OpenSize> open = openSizes({"BLOCK_M", "BLOCK_N", "GROUP_M"}, false, false);
  int64_t asked = 0;
  auto cost = [&](llvm::ArrayRef<int64_t> sizes) {
    ++asked;
    return std::abs(static_cast<double>(sizes[0]) - 128) + std::abs(static_cast<double>(sizes[1]) - 32) + static_cast<double>(sizes[2]);
  };
  std::optional<InitialConfig> guess = chooseInitialSizes(open, cost);
  ASSERT_TRUE(guess);
  EXPECT_EQ(guess->sizes, (std::vector<int64_t>{128, 32, 1}));
  ASSERT_EQ(guess->other.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NE(guess->other[i], guess->sizes[i]);
  EXPECT_LT(asked, 40); // of 75 combinations
}

TEST(InitialConfig, PassesOverWhatDoesNotWork) {
  double never = std::numeric_limits<double>::infinity();
  auto onlySmall = [&](llvm::ArrayRef<int64_t> sizes) { return sizes[0] * sizes[1] > 1024 ? never : 1.0 / static_cast<double>(sizes[0]); };
  std::optional<InitialConfig> guess = chooseInitialSizes(openSizes({"BLOCK_M", "BLOCK_N"}, false, false), onlySmall);
  ASSERT_TRUE(guess);
  EXPECT_LE(guess->sizes[0] * guess->sizes[1], 1024);
  EXPECT_FALSE(chooseInitialSizes(openSizes({"BLOCK"}, true, false), [&](llvm::ArrayRef<int64_t>) { return never; }));
}

TEST(InitialConfig, KnowsSizesByTheirNames) {
  for (const char *name : {"BLOCK_SIZE", "block_m", "TILE", "GROUP_SIZE_M", "XBLOCK"})
    EXPECT_TRUE(isSizeName(name)) << name;
  for (const char *name : {"CAUSAL", "HEAD_DIM", "SPLIT_K", "num_stages"})
    EXPECT_FALSE(isSizeName(name)) << name;
  EXPECT_EQ(openSizes({"BLOCK"}, true, false).back().name, "num_warps");
}

// A launch's tensors, of which two arguments may be parts of one.
TEST(Estimate, SharedMemoryCountsOnce) {
  float x[8], y[4];
  auto tensor = [](float *at, int64_t count) { return Argument::pointer(at, Scalar::fp32, 4 * count); };
  EXPECT_EQ(tensorBytes({tensor(x, 4), tensor(y, 4), tensor(x, 8), Argument::integer(1000)}), 48);
  EXPECT_EQ(tensorBytes({}), 0);
}

// What an H200 has taken, by events, in microseconds: dots of 128x128x64 tiles, an elementwise kernel, a softmax of 4096 columns.
TEST(Estimate, PredictsWhatWasMeasured) {
  GpuTarget target = *gpuTargetOfText("cuda:sm_90a");
  Peaks peaks{"NVIDIA H200", "measured", 132, 4.2e12, 5.08e13, {{"float16", 7.62e14}}};
  struct Row {
    double measured;
    int64_t programs;
    double dots, arithmetic, bytes, iterations, memory;
  };
  for (const Row &row :
       {Row{200.3, 1024, 2.0 * 128 * 128 * 4096, 0, 2.13e6, 64, 1.01e8}, Row{12.5, 64, 2.0 * 128 * 128 * 1024, 0, 5.57e5, 16, 6.29e6},
        Row{69.8, 32768, 0, 2050, 8190, 0, 2.68e8}, Row{38.2, 4096, 0, 20500, 32800, 0, 1.34e8}}) {
    ProgramWork work;
    work.dots = row.dots, work.arithmetic = row.arithmetic, work.bytes = row.bytes, work.iterations = row.iterations;
    if (row.dots > 0) work.dotOperations["float16"] = row.dots;
    double predicted = 1e6 * predictSeconds(work, row.programs, row.memory, peaks, &target);
    EXPECT_GT(predicted, 0.9 * row.measured);
    EXPECT_LT(predicted, 1.1 * row.measured);
  }
}

/// Of a program: a tile of m x n, in steps of k along K.
static ProgramWork product(double m, double n, double k, double length) {
  ProgramWork work;
  work.iterations = length / k;
  work.dots = 2 * m * n * length;
  work.bytes = (m + n) * k * 2 * work.iterations + m * n * 2;
  work.tileBytes = (m + n) * k * 2;
  work.sumBytes = m * n * 4;
  return work;
}

// Of an H100: what does not fit is never taken, and an idle half of the machine costs.
TEST(Estimate, OfAGpu) {
  GpuTarget target = *gpuTargetOfText("cuda:sm_90a");
  KernelOptions options;
  options.numWarps = 4, options.numStages = 3;
  EXPECT_TRUE(std::isinf(estimateSeconds(product(256, 256, 64, 1024), 16, options, &target)));  // registers
  EXPECT_TRUE(std::isinf(estimateSeconds(product(128, 128, 512, 1024), 64, options, &target))); // shared memory
  double large = estimateSeconds(product(128, 128, 64, 1024), 64, options, &target);
  double small = estimateSeconds(product(16, 16, 64, 1024), 4096, options, &target);
  EXPECT_LT(large, small);
  EXPECT_LT(estimateSeconds(product(64, 128, 64, 1024), 128, options, &target), large); // 64 programs leave half of it idle
}

// The estimate for fp16 matmuls of m x n and a long K: few tiles get several CTAs each (split-K); many tiles get one each.
TEST(InitialConfig, SplitsTheSumsOfFewTiles) {
  GpuTarget target = *gpuTargetOfText("cuda:sm_90a");
  auto guessed = [&](int64_t m, int64_t n, int64_t length, bool hasClusters) {
    std::vector<OpenSize> open = openSizes({"BLOCK_M", "BLOCK_N", "BLOCK_K"}, true, hasClusters);
    auto cost = [&](llvm::ArrayRef<int64_t> sizes) {
      KernelOptions options;
      options.numWarps = sizes[3], options.numStages = 3, options.numCtas = hasClusters ? sizes[4] : 1;
      auto as = [](int64_t number) { return static_cast<double>(number); };
      ProgramWork work = product(as(sizes[0]), as(sizes[1]), as(sizes[2]), as(length));
      work.splitsSums = options.numCtas > 1 && sizes[0] / options.numCtas < 64 && sizes[2] / options.numCtas >= 32;
      int64_t programs = (m + sizes[0] - 1) / sizes[0] * ((n + sizes[1] - 1) / sizes[1]);
      return estimateSeconds(work, programs, options, &target);
    };
    std::optional<InitialConfig> guess = chooseInitialSizes(open, cost);
    EXPECT_EQ(guess->other.size(), open.size());
    return std::pair(guess->sizes.back(), cost(guess->sizes));
  };
  for (auto [m, n, length] : {std::tuple(16, 1024, 16384), std::tuple(128, 1024, 8192), std::tuple(512, 512, 8192)}) {
    auto [blocks, seconds] = guessed(m, n, length, true);
    EXPECT_GT(blocks, 1);
    EXPECT_LT(seconds, guessed(m, n, length, false).second);
  }
  for (auto [m, n, length] : {std::tuple(1024, 1024, 1024), std::tuple(4096, 4096, 4096), std::tuple(64, 8192, 8192)})
    EXPECT_EQ(guessed(m, n, length, true).first, 1);
  EXPECT_EQ(openSizes({"BLOCK_M", "BLOCK_N"}, true, true).back().name, "num_ctas");
}

TEST(ProgramWork, FollowsTheArithmeticOfALoopsBounds) {
  auto workOf = [](const std::string &length) {
    Diagnostics diagnostics;
    std::string source = "import triton\nimport triton.language as tl\n@triton.jit\ndef copy(x, out, n):\n"
                         "    at = tl.arange(0, 64)\n    for i in range(0, " +
                         length + ", 64):\n        tl.store(out + i + at, tl.load(x + i + at))\n";
    std::shared_ptr<Namespace> scope = moduleScope(parse(SourceFile::create("work.py", source, 1), diagnostics));
    std::shared_ptr<const JitFunction> function = findKernel(*scope, "copy", diagnostics);
    if (!function) return ADD_FAILURE() << diagnostics.render(), ProgramWork();
    std::vector<char> memory(1 << 16);
    Argument tensor = Argument::pointer(memory.data(), Scalar::fp32, 1 << 16);
    std::vector<Argument> arguments = {tensor, tensor, Argument::integer(23488)};
    CompileRequest request;
    request.kernel = KernelSource(function);
    request.args = *specialize(*function, arguments, diagnostics);
    request.gpu = gpuTarget("sm_90a");
    std::optional<ProgramWork> work = workOfRequest(request, arguments, Grid(1), diagnostics);
    EXPECT_TRUE(work) << diagnostics.render();
    return work.value_or(ProgramWork());
  };
  ProgramWork known = workOf("tl.maximum(tl.minimum(24000 - n.to(tl.int64), 4096), 64)"); // 512
  EXPECT_TRUE(known.isExact);
  EXPECT_EQ(known.iterations, 8);
  EXPECT_EQ(known.bytes, 8 * 2 * 64 * 4);
  ProgramWork masked = workOf("n & 1023"); // 960
  EXPECT_TRUE(masked.isExact);
  EXPECT_EQ(masked.iterations, 15);
  ProgramWork unknown = workOf("tl.load(x).to(tl.int32)");
  EXPECT_FALSE(unknown.isExact);
  EXPECT_EQ(unknown.iterations, 1);
}

TEST(ProgramWork, SaysWhetherBlocksSplitItsSums) {
  auto isSplit = [](const std::string &rows, int64_t blocks) {
    Diagnostics diagnostics;
    std::string source = "import triton\nimport triton.language as tl\n@triton.jit\ndef product(a, b, c, K):\n"
                         "    m, n, k = tl.arange(0, " +
                         rows +
                         ")[:, None], tl.arange(0, 64), tl.arange(0, 256)\n"
                         "    acc = tl.zeros((" +
                         rows +
                         ", 64), tl.float32)\n"
                         "    for i in range(0, K, 256):\n"
                         "        acc = tl.dot(tl.load(a + m * K + i + k[None, :]), tl.load(b + (i + k[:, None]) * 64 + n[None, :]), acc)\n"
                         "    tl.store(c + m * 64 + n[None, :], acc)\n";
    std::shared_ptr<Namespace> scope = moduleScope(parse(SourceFile::create("work.py", source, 1), diagnostics));
    std::shared_ptr<const JitFunction> function = findKernel(*scope, "product", diagnostics);
    if (!function) return ADD_FAILURE() << diagnostics.render(), false;
    std::vector<char> memory(1 << 16);
    Argument halves = Argument::pointer(memory.data(), Scalar::fp16, 1 << 16),
             sums = Argument::pointer(memory.data(), Scalar::fp32, 1 << 16);
    std::vector<Argument> arguments = {halves, halves, sums, Argument::integer(512)};
    CompileRequest request;
    request.kernel = KernelSource(function);
    request.args = *specialize(*function, arguments, diagnostics);
    request.gpu = gpuTarget("sm_90a");
    request.options.numCtas = blocks;
    std::optional<ProgramWork> work = workOfRequest(request, arguments, Grid(1), diagnostics);
    EXPECT_TRUE(work) << diagnostics.render();
    return work && work->splitsSums;
  };
  EXPECT_TRUE(isSplit("64", 4));
  EXPECT_FALSE(isSplit("64", 1));
  EXPECT_FALSE(isSplit("128", 2)); // 64 rows for each: a warpgroup's
}

} // namespace
