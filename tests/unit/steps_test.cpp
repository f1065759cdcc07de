// What other parts of the compiler repeat of the table of steps.
#include "driver/steps.h"

#include "gpu/schedule/decisions/attempts.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

/// The steps after one, up to another one.
llvm::ArrayRef<Step> stepsBetween(llvm::StringRef before, llvm::StringRef last) {
  llvm::ArrayRef<Step> all = allSteps();
  auto numberOf = [&](llvm::StringRef name) {
    const Step *step = llvm::find_if(all, [&](const Step &each) { return each.name == name; });
    return static_cast<size_t>(step - all.begin());
  };
  size_t first = numberOf(before) + 1, end = numberOf(last) + 1;
  EXPECT_LT(first, end);
  EXPECT_LE(end, all.size());
  return first < end && end <= all.size() ? all.slice(first, end - first) : llvm::ArrayRef<Step>();
}

TEST(Steps, ofAttempts) {
  auto passes = llvm::map_range(stepsBetween("schedule-loops", "place-accumulators"), [](const Step &step) { return step.pass; });
  EXPECT_TRUE(llvm::equal(passes, gpu::stepsOfAttempts()));
}

/// choose-cta-pairs runs them on a copy of the module, which has no compilation of its own.
TEST(Steps, ofChooseCtaPairs) {
  for (const Step &step : stepsBetween("choose-cta-pairs", "schedule-loops"))
    EXPECT_NE(step.pass, nullptr) << step.name.str();
}

} // namespace
