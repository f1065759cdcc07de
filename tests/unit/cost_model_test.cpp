// Registers and occupancy on a GPU with 65536 registers per SM.
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/choose_occupancy.h"
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
    EXPECT_EQ(firstRegisters(each.warps, target, /*partitionGroups=*/1), each.first);
    EXPECT_EQ(consumerRegisters(each.warps, target, producerRegisters), each.consumer);
  }
  EXPECT_EQ(firstRegisters(8, target, /*partitionGroups=*/2), 128);
  EXPECT_EQ(consumerRegisters(8, target, {producerRegisters, dequantizeRegisters}), 208);
  EXPECT_EQ(consumerRegisters(8, target, {producerRegisters, loaderRegisters}), 200);
}

/// All partitions together must fit on an SM.
TEST(CostModel, PartitionsFitOnSM) {
  for (int64_t warps : {4, 8, 16})
    for (int64_t dequantizes : {int64_t(0), dequantizeRegisters, loaderRegisters}) {
      llvm::SmallVector<int64_t> kept = {producerRegisters};
      if (dequantizes) kept.push_back(dequantizes);
      int64_t groups = warps / warpsOfGroup, ctas = groups == 1 ? 2 : 1;
      int64_t registers = groups * consumerRegisters(warps, target, kept) + producerRegisters + dequantizes;
      EXPECT_TRUE(fitOnSM(ctas, threadsOfGroup, registers, target)) << warps << " warps, " << dequantizes << " kept";
    }
}

TEST(CostModel, SumsAtStart) {
  EXPECT_TRUE(sumsFitAtStart(256, 32, 8, target, /*partitionGroups=*/1));  // 154 of 168
  EXPECT_FALSE(sumsFitAtStart(256, 32, 8, target, /*partitionGroups=*/2)); // 154 of 128
  EXPECT_TRUE(sumsFitAtStart(128, 32, 8, target, /*partitionGroups=*/2));
  EXPECT_FALSE(sumsFitAtStart(256, 32, 16, target, /*partitionGroups=*/1)); // 154 of 96
}

/// Two CTAs of 256 threads fit with 128 registers; 147 without an eighth are 128.
TEST(CostModel, NearlyTwoCtas) {
  EXPECT_FALSE(nearlyTwoCtas(256, 128, target));
  EXPECT_TRUE(nearlyTwoCtas(256, 129, target));
  EXPECT_TRUE(nearlyTwoCtas(256, 147, target));
  EXPECT_FALSE(nearlyTwoCtas(256, 148, target));
  EXPECT_FALSE(nearlyTwoCtas(1024, 64, target));
}

/// The second run of ptxas counts only if it costs no memory.
TEST(CostModel, SuitsTwoCtas) {
  EXPECT_TRUE(suitsTwoCtas({0, 16}, {0, 16}));
  EXPECT_FALSE(suitsTwoCtas({0, 16}, {4, 16}));
  EXPECT_FALSE(suitsTwoCtas({0, 16}, {0, 24}));
}

/// 65536 registers hold the accumulators of 128x256 and its operands' registers, but not those of 256x256.
TEST(CostModel, AccumulatorsOfACta) {
  EXPECT_TRUE(accumulatorsFit(int64_t(128) * 256 * 32, /*warps=*/8, target));
  EXPECT_FALSE(accumulatorsFit(int64_t(128) * 256 * 32, /*warps=*/4, target));
  EXPECT_FALSE(accumulatorsFit(int64_t(256) * 256 * 32, /*warps=*/8, target));
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
