// Configurations whose results differ: how results form groups, which group is right, and what is kept.

#include "support/half.h"
#include "tune/result_check.h"
#include "tune/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <unistd.h>

using namespace tilewright;

namespace {

TEST(ResultCheck, EqualResultsAreOneGroup) {
  std::vector<float> floats{1, 2, 3};
  std::vector<int32_t> integers{4, 5};
  ResultCheck check({{"x", Argument::pointer(floats.data(), Scalar::fp32, 12)},
                     {"nothing", Argument::none()},
                     {"pair", Argument::tuple({Argument::pointer(integers.data(), Scalar::int32, 8)}, {})}});
  float nan = std::numeric_limits<float>::quiet_NaN();
  floats = {10, nan, 30};
  EXPECT_EQ(check.compare(), 0u);
  check.restore();
  EXPECT_EQ(floats, (std::vector<float>{1, 2, 3}));
  // Sums in another order differ in their last bits, and NaN is NaN.
  floats = {10.00001f, -nan, 30};
  EXPECT_EQ(check.compare(), 0u);
  floats[0] = 11;
  EXPECT_EQ(check.compare(), 1u);
  EXPECT_EQ(check.difference(1, 0), "element 0 of 'x' is 11 instead of 10; 1 of 3 elements differ");
  floats = {std::numeric_limits<float>::infinity(), nan, 90};
  EXPECT_EQ(check.compare(), 2u);
  EXPECT_EQ(check.difference(2, 0), "element 0 of 'x' is inf instead of 10; 2 of 3 elements differ");
  floats = {10, 2, 30};
  EXPECT_EQ(check.compare(), 3u);
  EXPECT_EQ(check.difference(3, 0), "element 1 of 'x' is 2 instead of nan; 1 of 3 elements differ");
  floats = {10, nan, 30};
  integers = {4, -6};
  EXPECT_EQ(check.compare(), 4u);
  EXPECT_EQ(check.difference(4, 0), "element 1 of 'pair[0]' is -6 instead of 5; 1 of 2 elements differ");
  floats[0] = 11;
  integers[1] = 5;
  EXPECT_EQ(check.compare(), 1u) << "a second configuration with that result";
  EXPECT_TRUE(check.holdsResultsOf(1));
  EXPECT_FALSE(check.holdsResultsOf(0));
}

TEST(ResultCheck, OneGroupWritesMoreThanAnother) {
  std::vector<float> out(4, 0);
  ResultCheck check({{"out", Argument::pointer(out.data(), Scalar::fp32, 16)}});
  auto run = [&](std::vector<float> results) {
    check.restore();
    llvm::copy(results, out.begin()); // the tensor stays where it is
    return check.compare();
  };
  EXPECT_EQ(run({1, 2, 0, 0}), 0u);
  EXPECT_EQ(run({1, 2, 3, 4}), 1u);
  EXPECT_EQ(run({0, 9, 9, 9}), 2u);
  EXPECT_EQ(run({7, 7, 7, 7}), 3u);
  EXPECT_TRUE(check.isIncomplete(0, 1));
  EXPECT_FALSE(check.isIncomplete(1, 0));
  EXPECT_FALSE(check.isIncomplete(0, 2)) << "each writes what the other leaves";
  EXPECT_FALSE(check.isIncomplete(1, 3)) << "both write everything";
}

/// Runs `configuration` as the tuner does: again, where the comparison asks for it. The group of its results.
static size_t compared(ResultCheck &check, const std::function<void()> &configuration) {
  std::optional<size_t> group;
  do {
    check.restore();
    configuration();
    group = check.compare();
    EXPECT_EQ(check.isUnsure(), !group);
  } while (!group);
  return *group;
}

static ResultCheck::Written written(void *memory, Scalar element, int64_t bytes) {
  return {"out", Argument::pointer(memory, element, bytes)};
}

TEST(ResultCheck, FindsASmallElementThatIsNotWritten) {
  for (uint16_t before : {halfBits(0.0), halfBits(1.0), halfBits(-3.0)}) {
    std::vector<uint16_t> out(64, before);
    ResultCheck check({written(out.data(), Scalar::fp16, 128)});
    auto fill = [&](size_t count, double small) {
      for (size_t i = 0; i < count; ++i)
        out[i] = halfBits(i == 63 ? small : double(i));
    };
    double near = halfValue(before) + 0.01;
    EXPECT_EQ(0u, compared(check, [&] { fill(64, near); }));
    EXPECT_EQ(0u, compared(check, [&] { fill(64, near - 0.004); }));
    EXPECT_EQ(0u, compared(check, [&] { fill(64, halfValue(before)); })) << "it is written, with what was there by chance";
    EXPECT_EQ(1u, compared(check, [&] { fill(63, 0); }));
    EXPECT_EQ(check.difference(1, 0), "element 63 of 'out' is not written");
    EXPECT_EQ(1u, compared(check, [&] { fill(63, 0); })) << "the same mistake again";
    EXPECT_EQ(0u, compared(check, [&] { fill(64, near); }));
  }
}

TEST(ResultCheck, KernelsThatComputeFromTheirResultAreNoSuspects) {
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0.25f * (float(i) - 32);
  ResultCheck check({written(x.data(), Scalar::fp32, 256)});
  auto clip = [&](float minimum) { // in place; what is above is left as it is
    for (float &value : x)
      value = std::max(value, minimum);
  };
  EXPECT_EQ(0u, compared(check, [&] { clip(1e-4f); }));
  EXPECT_EQ(0u, compared(check, [&] { clip(0); }));
  EXPECT_EQ(1u, compared(check, [&] { clip(-1); }));
}

TEST(ResultCheck, SumsInAnotherOrderAreTheSame) {
  std::mt19937 random(0);
  std::normal_distribution<float> normal;
  for (Scalar type : {Scalar::fp16, Scalar::bf16}) {
    auto bits = [&](float value) { return type == Scalar::fp16 ? halfBits(value) : bfloatBits(value); };
    auto value = [&](uint16_t of) { return type == Scalar::fp16 ? halfValue(of) : bfloatValue(of); };
    std::vector<uint16_t> out(2000, 0);
    std::vector<float> terms(out.size() * 256);
    for (float &term : terms)
      term = normal(random);
    ResultCheck check({written(out.data(), type, 4000)});
    // Parts are added up in 16 bits, as atomic additions of several programs are.
    auto sum = [&](size_t parts) {
      for (size_t i = 0; i < out.size(); ++i)
        for (size_t part = 0; part < parts; ++part) {
          float *first = &terms[i * 256 + part * (256 / parts)];
          out[i] = bits(value(out[i]) + std::accumulate(first, first + 256 / parts, 0.0f));
        }
    };
    EXPECT_EQ(0u, compared(check, [&] { sum(1); }));
    for (size_t parts : {2, 4, 8})
      EXPECT_EQ(0u, compared(check, [&] { sum(parts); })) << parts;
    EXPECT_EQ(1u, compared(check, [&] { sum(1), out[7] = bits(value(out[7]) + 4); })) << "a fifth of a typical element";
  }
}

TEST(ResultCheck, FloatsOf8BitsHaveToBeWritten) {
  std::vector<uint8_t> out(16, 0);
  ResultCheck check({written(out.data(), Scalar::fp8e4nv, 16)});
  EXPECT_EQ(0u, compared(check, [&] { std::fill(out.begin(), out.end(), 0x3a); }));
  EXPECT_EQ(0u, compared(check, [&] { std::fill(out.begin(), out.end(), 0x3b); }));
  EXPECT_EQ(1u, compared(check, [&] { std::fill(out.begin(), out.end() - 1, 0x3a); }));
  EXPECT_EQ(check.difference(1, 0), "element 15 of 'out' is not written");
}

/// A table of configurations: their group, and milliseconds (0: it fails).
struct Row {
  size_t group;
  double milliseconds;
};

class TuneAgreement : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("tilewright_agreement_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    ::setenv("TILEWRIGHT_CACHE_DIR", (folder / "cache").c_str(), 1);
    ::unsetenv("TILEWRIGHT_CACHE");
    ::unsetenv("TILEWRIGHT_TUNED");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::optional<TuneOutcome> tuned(std::vector<Row> rows) {
    configs.clear();
    for (size_t i = 0; i < rows.size(); ++i)
      configs.push_back("BLOCK=" + std::to_string(i));
    TunerCallbacks callbacks;
    callbacks.measure = [this, rows](size_t config, std::optional<double> best) -> std::optional<Measured> {
      measured.emplace_back(config, best.value_or(0));
      double time = rows[config].milliseconds;
      if (time == 0) return Measured{{}, "it fails"};
      return Measured{{time, time, time}, "", rows[config].group};
    };
    callbacks.tryOut = [rows](size_t config) { return std::optional<size_t>(rows[config].group); };
    callbacks.compile = [](size_t) { return std::nullopt; };
    callbacks.groups = groups;
    callbacks.groups.difference = [](size_t group, size_t expected) {
      return "group " + std::to_string(group) + " is not group " + std::to_string(expected);
    };
    return tune(&problem, configs, callbacks, diagnostics);
  }
  bool isKept() { return loadTuned(problem, configs, diagnostics).has_value(); }

  std::filesystem::path folder;
  std::vector<std::string> configs;
  std::vector<std::pair<size_t, double>> measured; // and the best time so far
  GroupCallbacks groups;
  TuneProblem problem{"kernel", "source", "device", "n=1"};
  Diagnostics diagnostics;
};

TEST_F(TuneAgreement, TheMajorityIsRightWhicheverIsFirst) {
  for (size_t wrong = 0; wrong < 3; ++wrong) {
    problem.key = "wrong=" + std::to_string(wrong);
    std::vector<Row> rows{{1, 5}, {1, 6}, {1, 7}};
    rows[wrong] = {wrong == 0 ? 0u : 2u, 1}; // the fastest
    std::optional<TuneOutcome> outcome = tuned(rows);
    ASSERT_TRUE(outcome && outcome->worked);
    EXPECT_EQ(outcome->decision, Decision::majority);
    EXPECT_EQ(outcome->best, wrong == 0 ? 1u : 0u);
    size_t right = wrong == 0 ? 1 : 0;
    EXPECT_EQ(outcome->results[wrong].failure, "'BLOCK=" + std::to_string(wrong) +
                                                   "' computes other results than 'BLOCK=" + std::to_string(right) + "': group " +
                                                   std::to_string(rows[wrong].group) + " is not group 1");
    EXPECT_TRUE(isOtherResults(outcome->results[wrong].failure));
    ASSERT_TRUE(isKept());
    EXPECT_EQ(loadTuned(problem, configs, diagnostics)->best, outcome->best);
  }
}

TEST_F(TuneAgreement, WhatWasComparedWithAWrongTimeIsMeasuredAgain) {
  std::optional<TuneOutcome> outcome = tuned({{0, 1}, {1, 9}, {1, 8}});
  EXPECT_EQ(outcome->best, 2u);
  // The second one was much slower than a time that does not count.
  ASSERT_GE(measured.size(), 4u);
  EXPECT_EQ(measured[1], std::pair(size_t(1), 1.0));
  EXPECT_EQ(measured[3].first, 1u);
  EXPECT_EQ(measured[3].second, 8.0);
}

TEST_F(TuneAgreement, ASetOfConstantsHasOneVote) {
  groups.constants = {0, 0, 0, 3, 4}; // three differ in warps alone
  EXPECT_EQ(tuned({{0, 1}, {0, 1}, {0, 1}, {1, 5}, {1, 6}})->best, 3u);
  groups.constants = {0, 0, 0};
  EXPECT_EQ(tuned({{0, 1}, {1, 5}, {1, 6}})->best, 1u) << "one of three is compiled wrong";
}

TEST_F(TuneAgreement, FailuresHaveNoVote) {
  std::optional<TuneOutcome> outcome = tuned({{0, 0}, {0, 3}, {0, 0}});
  EXPECT_EQ(outcome->decision, Decision::agreed);
  EXPECT_EQ(outcome->best, 1u);
}

TEST_F(TuneAgreement, TheInterpreterBreaksTies) {
  std::vector<std::pair<size_t, size_t>> asked;
  groups.isConfirmed = [&](size_t config, size_t group) {
    asked.emplace_back(config, group);
    return std::optional(group == 1);
  };
  std::optional<TuneOutcome> outcome = tuned({{0, 1}, {1, 5}});
  EXPECT_EQ(outcome->decision, Decision::interpreter);
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_TRUE(isKept());
  EXPECT_EQ(asked, (std::vector<std::pair<size_t, size_t>>{{0, 0}, {1, 1}}));
}

TEST_F(TuneAgreement, WithoutAProofNothingIsKept) {
  groups.isConfirmed = [](size_t, size_t) { return std::optional<bool>(true); };
  groups.isIncomplete = [](size_t group, size_t other) { return group == 0 && other == 1; };
  std::optional<TuneOutcome> outcome = tuned({{0, 1}, {1, 5}});
  EXPECT_EQ(outcome->decision, Decision::coverage);
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_FALSE(isKept());
  groups.isIncomplete = [](size_t, size_t) { return false; };
  groups.isConfirmed = [](size_t, size_t) { return std::optional<bool>(); };
  outcome = tuned({{0, 5}, {1, 1}});
  EXPECT_EQ(outcome->decision, Decision::none);
  EXPECT_EQ(outcome->best, 0u);
  EXPECT_FALSE(isKept());
}

TEST_F(TuneAgreement, GroupsThatTheInterpreterRejectsAreOut) {
  groups.isConfirmed = [](size_t, size_t group) { return std::optional(group != 0); };
  groups.isIncomplete = [](size_t, size_t) { return false; };
  EXPECT_EQ(tuned({{0, 1}, {1, 5}, {2, 3}})->best, 1u) << "the first of those that are left";
}

TEST_F(TuneAgreement, WorkersThatDisagreeVoteInOneProcess) {
  ::setenv("TILEWRIGHT_SHARED_TUNING", "1", 1);
  std::optional<TuneOutcome> outcome = tuned({{0, 1}, {1, 5}, {1, 6}});
  ::unsetenv("TILEWRIGHT_SHARED_TUNING");
  EXPECT_EQ(outcome->decision, Decision::majority);
  EXPECT_EQ(outcome->best, 1u);
  EXPECT_EQ(loadTuned(problem, configs, diagnostics)->best, 1u);
}

} // namespace
