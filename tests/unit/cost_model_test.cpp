// Registers and occupancy on a GPU with 65536 registers per SM.
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/choose_occupancy.h"
#include "gpu/cost_model/dequantize_partition.h"
#include "gpu/cost_model/reduction_cost.h"
#include "gpu/cost_model/registers.h"

#include <gtest/gtest.h>

namespace tilewright::gpu {
namespace {

const GpuTarget target = *gpuTarget("sm_90a");

TEST(CostModel, WarpSpecialization) {
  struct Case {
    int64_t warps, first, consumer;
  };
  for (Case each : {Case{4, 128, 232}, Case{8, 168, 240}, Case{16, 96, 112}}) {
    SCOPED_TRACE(each.warps);
    EXPECT_EQ(partitionRegisters(each.warps, target, producerRegisters).atStart, each.first);
    EXPECT_EQ(partitionRegisters(each.warps, target, producerRegisters).consumer, each.consumer);
  }
  PartitionRegisters dequantizes = partitionRegisters(8, target, {producerRegisters, dequantizeRegisters});
  EXPECT_EQ(dequantizes.atStart, 128);
  EXPECT_EQ(dequantizes.consumer, 216);
  EXPECT_EQ(partitionRegisters(8, target, {producerRegisters, loaderRegisters}).consumer, 200);
}

/// Two CTAs with one consumer group share an SM if its shared memory holds both.
TEST(CostModel, RegistersFollowSharedMemory) {
  int64_t half = target.sharedBytes / 2 - reservedSharedBytes;
  PartitionRegisters shared = partitionRegisters(4, target, producerRegisters, half);
  PartitionRegisters alone = partitionRegisters(4, target, producerRegisters, half + 2 * reservedSharedBytes);
  EXPECT_EQ(shared.ctas, 2);
  EXPECT_EQ(shared.atStart, 128);
  EXPECT_EQ(alone.ctas, 1);
  EXPECT_EQ(alone.atStart, 256);
  EXPECT_EQ(alone.consumer, maxConsumerRegisters);
}

/// All partitions together must fit on an SM.
TEST(CostModel, PartitionsFitOnSM) {
  for (int64_t warps : {4, 8, 16})
    for (int64_t dequantizes : {int64_t(0), dequantizeRegisters, loaderRegisters}) {
      llvm::SmallVector<int64_t> kept = {producerRegisters};
      if (dequantizes) kept.push_back(dequantizes);
      PartitionRegisters all = partitionRegisters(warps, target, kept);
      int64_t registers = warps / warpsOfGroup * all.consumer + producerRegisters + dequantizes;
      EXPECT_TRUE(fitOnSM(all.ctas, threadsOfGroup, registers, target)) << warps << " warps, " << dequantizes << " kept";
    }
}

/// 256x128 with 8 warps is the only tile whose second operand a partition can dequantize.
TEST(CostModel, DequantizePartition) {
  for (int64_t rows : {64, 128, 256, 512})
    for (int64_t columns : {32, 64, 128, 256})
      for (int64_t warps : {4, 8, 16})
        EXPECT_EQ(suitsDequantizePartition(rows, columns, /*depth=*/128, warps, target), rows == 256 && columns == 128 && warps == 8)
            << rows << "x" << columns << ", " << warps << " warps";
}

TEST(CostModel, SumsAtStart) {
  PartitionRegisters one = partitionRegisters(8, target, producerRegisters), four = partitionRegisters(16, target, producerRegisters);
  PartitionRegisters two = partitionRegisters(8, target, {producerRegisters, dequantizeRegisters});
  EXPECT_TRUE(sumsFitAtStart(256, 32, one));  // 154 of 168
  EXPECT_FALSE(sumsFitAtStart(256, 32, two)); // 154 of 128
  EXPECT_TRUE(sumsFitAtStart(128, 32, two));
  EXPECT_FALSE(sumsFitAtStart(256, 32, four)); // 154 of 96
}

/// Two CTAs of 256 threads fit with 128 registers, three with 80; 147 without an eighth are 128, and 92 are 80.
TEST(CostModel, CtasThatNearlyFit) {
  EXPECT_EQ(ctasThatNearlyFit({256, 128, 0}, target), 0);
  EXPECT_EQ(ctasThatNearlyFit({256, 129, 0}, target), 2);
  EXPECT_EQ(ctasThatNearlyFit({256, 147, 0}, target), 2);
  EXPECT_EQ(ctasThatNearlyFit({256, 148, 0}, target), 0);
  EXPECT_EQ(ctasThatNearlyFit({1024, 64, 0}, target), 0); // 2048 threads with 32 registers
  EXPECT_EQ(ctasThatNearlyFit({256, 92, 0}, target), 3);
  EXPECT_EQ(ctasThatNearlyFit({256, 80, 0}, target), 0);
  EXPECT_EQ(ctasThatNearlyFit({128, 177, 0}, target), 3); // 168 registers
}

/// No second run for CTAs that shared memory keeps apart.
TEST(CostModel, CtasThatShareSharedMemory) {
  EXPECT_EQ(ctasThatNearlyFit({256, 129, target.sharedBytes / 2 - 512}, target), 2);
  EXPECT_EQ(ctasThatNearlyFit({256, 129, target.sharedBytes / 2}, target), 0);
}

/// The second run of ptxas counts only if it costs no memory.
TEST(CostModel, SuitsMoreCtas) {
  EXPECT_TRUE(suitsMoreCtas({0, 16}, {0, 16}));
  EXPECT_FALSE(suitsMoreCtas({0, 16}, {4, 16}));
  EXPECT_FALSE(suitsMoreCtas({0, 16}, {0, 24}));
}

/// 65536 registers hold the accumulators of 128x256 and its operands' registers, but not those of 256x256.
TEST(CostModel, AccumulatorsOfACta) {
  EXPECT_TRUE(accumulatorsFit(int64_t(128) * 256 * 32, /*warps=*/8, target));
  EXPECT_FALSE(accumulatorsFit(int64_t(128) * 256 * 32, /*warps=*/4, target));
  EXPECT_FALSE(accumulatorsFit(int64_t(256) * 256 * 32, /*warps=*/8, target));
}

/// Rows of 16 numbers: a thread has 4 rows, and 4 numbers of each.
TEST(CostModel, Reductions) {
  Layout layout = Layout::blocked({32, 16}, {4, 4}, {8, 4}, {1, 1}, {1, 0});
  ReductionPlan plan = *reductionPlan(layout, 1);
  EXPECT_EQ(shufflesOf(plan, /*values=*/1, /*halves=*/false), 2 * 4);
  EXPECT_EQ(shufflesOf(plan, /*values=*/2, /*halves=*/true), 2 * (2 + 1 + 4)); // and all lanes get all results
  EXPECT_EQ(reductionCost(plan), shuffleCost * 2 * 4);
  EXPECT_FALSE(paysToHalve(plan, {.values = 1, .operations = 1}));
  EXPECT_TRUE(paysToHalve(plan, {.values = 1, .operations = 10})); // each of which is done once for two lanes
  plan = *reductionPlan(Layout::blocked({32, 32}, {4, 4}, {8, 4}, {1, 2}, {1, 0}), 1);
  EXPECT_EQ(shufflesOf(plan, /*values=*/1, /*halves=*/true), 2 + 1);
  EXPECT_EQ(reductionCost(plan), shuffleCost * 3 + exchangeCost + wavefrontCost);
  EXPECT_TRUE(paysToHalve(plan, {}));
  EXPECT_EQ(partialLoadsCost(plan.result, /*warps=*/2), 4 * 2);
  EXPECT_EQ(paysToShareParts(/*warps=*/2, {.operations = minCombinedOperations / 2}), true);
  EXPECT_EQ(paysToShareParts(/*warps=*/2, {.operations = minCombinedOperations / 2 - 1}), false);
}

TEST(CostModel, AvailableRegisters) {
  EXPECT_EQ(availableRegisters(128, 0, target), 255);
  EXPECT_EQ(availableRegisters(512, 0, target), 128);
  EXPECT_EQ(availableRegisters(512, 96, target), 96);
  EXPECT_EQ(registersOfElements(64 * 256, 32, 128), 128);
  EXPECT_EQ(registersOfElements(100, 16, 128), 1);
}

} // namespace
} // namespace tilewright::gpu
