// Whether a pair of CTAs computes dots in fewer cycles (gpu/cost_model/cta_pairs.h), and whether program loops pay (launch_control.h).
#include "gpu/cost_model/cta_pairs.h"
#include "gpu/cost_model/launch_control.h"

#include <gtest/gtest.h>

using namespace tilewright::gpu;

TEST(CtaPairs, CyclesOfOneDot) {
  DotShape dot{.rows = 128, .columns = 256, .depthBytes = 128};
  EXPECT_EQ(cyclesOfDots(dot, /*paired=*/false), 768); // 2 * 384 rows of 128 bytes, at 128 bytes a cycle
  EXPECT_EQ(cyclesOfDots(dot, /*paired=*/true), 512);  // shared memory and tensor cores take as long
}

TEST(CtaPairs, LargerTilesNeedLessOfSharedMemory) {
  // Two blocks of rows read the second operand, which is written once.
  DotShape dot{.rows = 256, .columns = 256, .depthBytes = 128};
  EXPECT_EQ(cyclesOfDots(dot, /*paired=*/false), 2 * 256 + 3 * 256);
  EXPECT_EQ(cyclesOfDots(dot, /*paired=*/true), 1024); // tensor cores: 2 * 512 cycles
}

TEST(CtaPairs, ScalesAreWrittenAndCopiedInEachCta) {
  DotShape dot{.rows = 128, .columns = 256, .depthBytes = 128, .scaleBytes = 6144};
  EXPECT_EQ(cyclesOfDots(dot, /*paired=*/false), 768 + 96);
  EXPECT_EQ(cyclesOfDots(dot, /*paired=*/true), 512 + 96);
}

TEST(CtaPairs, PairsPayWhereSharedMemoryIsTheLimit) {
  for (int64_t rows : {128, 256, 512})
    for (int64_t columns : {32, 64, 128, 256})
      EXPECT_TRUE(ctaPairPays(DotShape{rows, columns, 128})) << rows << "x" << columns;
  // Far more rows than tensor memory holds: tensor cores are the limit in both forms.
  EXPECT_FALSE(ctaPairPays(DotShape{1 << 20, 1 << 10, 128}));
}

TEST(LaunchControl, LostStagesAreNotMissed) {
  DotShape shallow{.rows = 256, .columns = 256, .depthBytes = 64}, deep{.rows = 256, .columns = 256, .depthBytes = 128};
  EXPECT_EQ(tensorCoreCycles(shallow), 512);
  EXPECT_TRUE(programLoopPays({{shallow}, /*stages=*/4, /*stagesInLoop=*/4}));
  EXPECT_FALSE(programLoopPays({{shallow}, /*stages=*/4, /*stagesInLoop=*/3})); // 1024 cycles until a copy is used
  EXPECT_TRUE(programLoopPays({{deep}, /*stages=*/4, /*stagesInLoop=*/3}));     // 2048
  EXPECT_TRUE(programLoopPays({{shallow}, /*stages=*/2, /*stagesInLoop=*/2}));  // no more without a program loop
}
