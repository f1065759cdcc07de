// What other parts of the compiler repeat of the table of steps.
#include "driver/steps.h"

#include "gpu/schedule/decisions/attempts.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

TEST(Steps, ofAttempts) {
  llvm::ArrayRef<Step> all = allSteps();
  auto numberOf = [&](llvm::StringRef name) {
    const Step *step = llvm::find_if(all, [&](const Step &each) { return each.name == name; });
    return static_cast<size_t>(step - all.begin());
  };
  size_t first = numberOf("schedule-loops") + 1, end = numberOf("place-accumulators") + 1;
  ASSERT_LT(first, end);
  auto passes = llvm::map_range(all.slice(first, end - first), [](const Step &step) { return step.pass; });
  EXPECT_TRUE(llvm::equal(passes, gpu::stepsOfAttempts()));
}

} // namespace
