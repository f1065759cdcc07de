// Whether program loops pay (gpu/cost_model/launch_control.h).
#include "gpu/cost_model/launch_control.h"

#include <gtest/gtest.h>

using namespace tilewright::gpu;

TEST(LaunchControl, LostStagesAreNotMissed) {
  DotShape shallow{.rows = 256, .columns = 256, .depthBytes = 64}, deep{.rows = 256, .columns = 256, .depthBytes = 128};
  EXPECT_EQ(tensorCoreCycles(shallow), 512);
  EXPECT_FALSE(coverCopies(3, shallow));
  EXPECT_TRUE(coverCopies(4, shallow));
  EXPECT_TRUE(programLoopPays({{shallow}, /*stages=*/4, /*stagesInLoop=*/4}));
  EXPECT_FALSE(programLoopPays({{shallow}, /*stages=*/4, /*stagesInLoop=*/3})); // 1024 cycles until a copy is used
  EXPECT_TRUE(programLoopPays({{deep}, /*stages=*/4, /*stagesInLoop=*/3}));     // 2048
  EXPECT_TRUE(programLoopPays({{shallow}, /*stages=*/2, /*stagesInLoop=*/2}));  // no more without a program loop
}
