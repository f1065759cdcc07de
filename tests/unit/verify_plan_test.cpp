// Plans of conversions prove themselves: every plan that is made holds, and one that was tampered with is caught.
#include "gpu/layout/verify_plan.h"

#include "layout_helpers.h"

#include <gtest/gtest.h>

using namespace tilewright::gpu;

namespace {

const Dims rows = {1, 0}, columns = {0, 1};

std::vector<Layout> layoutsOf(int64_t bits) {
  return {Layout::coalesced({64, 64}, 128 / bits, 4, rows),
          Layout::coalesced({64, 64}, 128 / bits, 4, columns),
          Layout::mmaAccumulator({64, 64}, 2, 2),
          Layout::wgmmaAccumulator({64, 64}, 4, 64),
          Layout::mmaOperand({64, 64}, 1, 2, 2, 2),
          Layout::mmaOperand({64, 64}, 0, 2, 2, 1),
          Layout::blocked({64, 64}, {1, 1}, {1, 32}, {4, 1}, rows),
          Layout::blocked({64, 64}, {2, 2}, {8, 4}, {2, 2}, columns)};
}

TEST(Proof, everyPlanHolds) {
  int64_t shuffles = 0, matrices = 0;
  for (int64_t bits : {8, 16, 32, 64})
    for (const Layout &src : layoutsOf(bits))
      for (const Layout &dst : layoutsOf(bits)) {
        if (classifyConversion(src, dst) < Conversion::shuffle)
          EXPECT_EQ(verifyRegisters(sameThreadRegisters(dst, src), src, dst), std::nullopt);
        if (std::optional<ShufflePlan> plan = planShuffle(src, dst)) {
          EXPECT_EQ(verifyShuffle(*plan, src, dst), std::nullopt) << textOf(src) << "\n" << textOf(dst);
          ++shuffles;
        }
        ScratchPlan plan = optimalScratch(src, dst, bits, {true, true});
        EXPECT_EQ(verifyBuffer(plan.shared), std::nullopt);
        EXPECT_EQ(verifyVectors(plan.store, src, plan.shared), std::nullopt);
        EXPECT_EQ(verifyVectors(plan.load, dst, plan.shared), std::nullopt);
        for (auto [matrix, layout] : {std::pair(plan.storeMatrix, src), std::pair(plan.loadMatrix, dst)})
          if (matrix) {
            EXPECT_EQ(verifyMatrices(*matrix, layout, plan.shared), std::nullopt);
            ++matrices;
          }
      }
  EXPECT_GT(shuffles, 20);
  EXPECT_GT(matrices, 5);
}

TEST(Proof, tamperedRegisters) {
  Layout src = Layout::coalesced({64, 64}, 4, 4, rows), dst = src;
  std::swap(dst.basesOf(Axis::reg)[0], dst.basesOf(Axis::reg)[1]);
  std::vector<std::optional<int64_t>> registers = sameThreadRegisters(dst, src);
  ASSERT_EQ(verifyRegisters(registers, src, dst), std::nullopt);
  for (size_t i = 0; i < registers.size(); ++i) {
    auto doctored = registers;
    doctored[i] = *registers[i] ^ 1;
    EXPECT_TRUE(verifyRegisters(doctored, src, dst));
    doctored[i] = std::nullopt;
    EXPECT_TRUE(verifyRegisters(doctored, src, dst));
  }
  Layout other = dst;
  std::swap(other.basesOf(Axis::lane)[0], other.basesOf(Axis::lane)[1]);
  EXPECT_TRUE(verifyRegisters(registers, src, other));
}

TEST(Proof, tamperedShuffles) {
  // One of each kind: by index with selections, and a butterfly.
  Layout across = Layout::blocked({32, 32}, {1, 32}, {32, 1}, {1, 1}, rows),
         along = Layout::blocked({32, 32}, {32, 1}, {1, 32}, {1, 1}, rows);
  Layout pairs = Layout::blocked({64}, {2}, {32}, {1}, {0}), halves = Layout::blocked({64}, {1}, {32}, {1}, {0});
  for (auto [src, dst] : {std::pair(across, along), std::pair(pairs, halves), std::pair(halves, pairs)}) {
    std::optional<ShufflePlan> plan = planShuffle(src, dst);
    ASSERT_TRUE(plan);
    ASSERT_EQ(verifyShuffle(*plan, src, dst), std::nullopt);
    auto caught = [&](auto change) {
      ShufflePlan doctored = *plan;
      change(doctored);
      EXPECT_TRUE(verifyShuffle(doctored, src, dst)) << textOf(src) << "\n" << textOf(dst);
    };
    for (size_t i = 0; i < plan->rounds.size(); ++i) {
      caught([&](ShufflePlan &p) {
        p.rounds[i].laneXor ^= 1;
        p.rounds[i].local = false;
      });
      caught([&](ShufflePlan &p) { p.rounds[i].send ^= 1; });
      caught([&](ShufflePlan &p) { p.rounds[i].receive ^= 1; });
    }
    caught([&](ShufflePlan &p) { p.rounds.pop_back(); });
    for (size_t bit = 0; bit < laneBits; ++bit) {
      caught([&](ShufflePlan &p) { p.receiveSelect[bit] ^= 1; });
      caught([&](ShufflePlan &p) { p.receiveSelect[bit] |= static_cast<uint32_t>(dst.registersPerThread()); });
      caught([&](ShufflePlan &p) { p.sendSelect[bit] |= static_cast<uint32_t>(src.registersPerThread()); });
      if (!plan->butterfly) caught([&](ShufflePlan &p) { p.laneFrom[bit] ^= 1; });
    }
    caught([&](ShufflePlan &p) { p.sendSelect[0] ^= 1; });
  }
}

TEST(Proof, tamperedAccesses) {
  Layout layout = Layout::mmaOperand({64, 64}, 0, 2, 2, 2);
  SharedLayout shared = SharedLayout::swizzled({64, 64}, 16, 128, rows);
  VectorAccess access = vectorAccess(layout, shared);
  ASSERT_EQ(verifyVectors(access, layout, shared), std::nullopt);
  auto caught = [&](auto change) {
    VectorAccess doctored = access;
    change(doctored);
    EXPECT_TRUE(verifyVectors(doctored, layout, shared));
  };
  for (size_t i = 0; i < access.vectors.size(); ++i) {
    caught([&](VectorAccess &a) { a.vectors[i].offset ^= 4; });
    caught([&](VectorAccess &a) { std::swap(a.vectors[i].registers.front(), a.vectors[i].registers.back()); });
  }
  caught([&](VectorAccess &a) { a.vectors.pop_back(); });
  caught([&](VectorAccess &a) { a.bytes *= 2; });
  for (size_t bit = 0; bit < laneBits; ++bit)
    caught([&](VectorAccess &a) { a.offsets[static_cast<size_t>(Axis::lane)][bit] ^= 16; });

  SharedLayout twice = shared;
  twice.bases[0] = twice.bases[1];
  EXPECT_TRUE(verifyBuffer(twice));
}

TEST(Proof, tamperedMatrices) {
  SharedLayout shared = SharedLayout::swizzled({64, 64}, 16, 128, rows);
  for (int64_t which : {0, 1}) { // plain, transposed
    Layout layout = Layout::mmaOperand({64, 64}, which, 2, 2, 2);
    std::optional<MatrixPlan> plan = ldmatrixPlan(layout, shared);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->transposed, which == 1);
    ASSERT_EQ(verifyMatrices(*plan, layout, shared), std::nullopt);
    auto caught = [&](auto change) {
      MatrixPlan doctored = *plan;
      change(doctored);
      EXPECT_TRUE(verifyMatrices(doctored, layout, shared));
    };
    for (size_t i = 0; i < plan->instructions.size(); ++i) {
      caught([&](MatrixPlan &p) { p.instructions[i].offset ^= 16; });
      caught([&](MatrixPlan &p) { p.instructions[i].firstRegister ^= 2; });
    }
    caught([&](MatrixPlan &p) { p.instructions.pop_back(); });
    caught([&](MatrixPlan &p) { p.transposed = !p.transposed; });
    for (size_t bit = 0; bit < laneBits; ++bit)
      caught([&](MatrixPlan &p) { p.laneOffsets[bit] ^= 16; });
    for (size_t bit = 0; bit < plan->warpOffsets.size(); ++bit)
      caught([&](MatrixPlan &p) { p.warpOffsets[bit] ^= 16; });
  }
}

} // namespace
