// The simulator's clusters: blocks that read one another's shared memory, and fill it.
#include "simulate_text.h"

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

TEST(Simulate, Clusters) {
  // Each thread of a cluster's two CTAs gets the value of the thread with its number in the other CTA.
  std::string text = replaced(kernel(64, 256, "%out: i64", R"(
  %t = ptx.thread_id
  %b = ptx.block_id 0
  %r = ptx.cluster_rank
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c64 = arith.constant 64 : i32
  %base = ptx.shared_base
  %off = arith.muli %t, %c4 : i32
  %mine = arith.addi %base, %off : i32
  %row = arith.muli %b, %c64 : i32
  %i = arith.addi %row, %t : i32
  ptx.store_shared %mine, %i : i32 // OTHER
  ptx.cluster_arrive
  ptx.cluster_wait
  %o = arith.xori %r, %c1 : i32
  %v = ptx.load_block %mine, %o -> i32 // HERE
  ptx.cluster_arrive
  ptx.cluster_wait
  %at = arith.muli %i, %c4 : i32
  %at64 = arith.extui %at : i32 to i64
  %place = arith.addi %out, %at64 : i64
  ptx.store_global %place, %v : i32)"),
                              "sharedBytes = 256", "sharedBytes = 256, cluster = 2");
  std::vector<int32_t> out(256);
  Launch run;
  run.pointer(out).grid = {4, 1, 1};
  EXPECT_EQ(simulateText(text, run), "");
  for (int32_t i = 0; i < 256; ++i)
    EXPECT_EQ(out[size_t(i)], i ^ 64);
  std::string barrier = "  ptx.cluster_arrive\n  ptx.cluster_wait\n";
  expectError(replaced(text, barrier, "  ptx.barrier\n"), run, "race: ");
  // A block that ends takes its memory with it, and one that goes on must not write what others still read.
  std::string early = text.erase(text.rfind(barrier), barrier.size());
  expectError(unmarked(early), run, "has ended, and its shared memory with it");
  std::string overwriting = "  ptx.store_shared %mine, %t : i32\n" + barrier;
  expectError(replaced(unmarked(early), "  %at = ", overwriting + "  %at = "), run, "race: ");
  expectError(replaced(unmarked(early), "%mine, %o -> i32", "%mine, %c4 -> i32"), run, "the cluster has no CTA 4");
  run.grid = {3, 1, 1};
  expectError(unmarked(early), run, "the grid along x is a multiple of it");
}

/// Two blocks fill one another's slot, half of it each, three times over; each adds up what lies in its own.
const std::string multicast = replaced(kernel(32, 8224, "%in: !ptx.tensor_map, %out: i64", R"(
  %base = ptx.shared_base
  %t = ptx.thread_id
  %r = ptx.cluster_rank
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c128 = arith.constant 128 : i32
  %c512 = arith.constant 512 : i32
  %c8192 = arith.constant 8192 : i32
  %c8200 = arith.constant 8200 : i32
  %full = arith.addi %base, %c8192 : i32
  %empty = arith.addi %base, %c8200 : i32
  %half = arith.muli %r, %c512 : i32
  %mine = arith.addi %base, %half : i32
  %first = arith.muli %r, %c4 : i32
  %step = arith.muli %t, %c4 : i32
  %word = arith.addi %base, %step : i32
  %later = arith.addi %word, %c512 : i32
  %one = ptx.elect
  ptx.mbarrier_init %full, 1 if %one
  ptx.mbarrier_init %empty, 2 if %one
  ptx.mbarrier_init_fence
  ptx.cluster_arrive
  ptx.cluster_wait
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %c0) -> (i32) : i32 {
    %parity = arith.andi %i, %c1 : i32
    %other = arith.xori %parity, %c1 : i32
    ptx.mbarrier_wait %empty, %other scope cluster
    ptx.mbarrier_expect %full, 1024 if %one
    ptx.tma_load %in [%c0, %first] to %mine, %full if %one {multicast = 3 : i32} // HERE
    ptx.mbarrier_wait %full, %parity
    %a = ptx.load_shared %word -> i32
    %b = ptx.load_shared %later -> i32
    %ab = arith.addi %a, %b : i32
    %next = arith.addi %s, %ab : i32
    ptx.warp_barrier
    ptx.mbarrier_arrive %empty if %one scope cluster {inCtas = 2 : i32}
    scf.yield %next : i32
  }
  %row = arith.muli %r, %c128 : i32
  %at = arith.addi %row, %step : i32
  %at64 = arith.extui %at : i32 to i64
  %place = arith.addi %out, %at64 : i64
  ptx.store_global %place, %sum : i32
  ptx.cluster_arrive
  ptx.cluster_wait)"),
                                       "sharedBytes = 8224", "sharedBytes = 8224, cluster = 2");

TEST(Simulate, Multicast) {
  std::vector<uint16_t> in(64 * 8);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint16_t(i);
  std::vector<int32_t> out(64);
  Launch run;
  run.map(in, MapElement::u16, {64, 8}, {64}, {64, 4}, 0).pointer(out).grid = {2, 1, 1};
  ASSERT_EQ(simulateText(multicast, run), "");
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t pair = i % 32 * 2, a = pair | (pair + 1) << 16, later = pair + 256, b = later | (later + 1) << 16;
    EXPECT_EQ(uint32_t(out[i]), 3 * (a + b)) << i;
  }
  // The other CTA has not signaled that it has read the old values.
  std::string alone = replaced(without(multicast, " scope cluster {inCtas = 2 : i32}"), "init %empty, 2", "init %empty, 1");
  expectError(alone, run, "race: ");
  expectError(unmarked(without(multicast, " scope cluster {inCtas = 2 : i32}")), run, "deadlock");
  // Threads have read the old values: an arrival, or a wait, in the scope of a CTA does not order that for another CTA.
  expectError(unmarked(replaced(multicast, "%other scope cluster", "%other")), run, "race: writes bytes that warp 0 read");
  expectError(unmarked(replaced(multicast, "%one scope cluster", "%one")), run, "race: writes bytes that warp 0 read");
  std::string meeting = "  ptx.cluster_arrive\n  ptx.cluster_wait";
  std::string unmade = multicast, ended = multicast;
  expectError(unmarked(unmade.replace(unmade.find(meeting), meeting.size(), "  ptx.barrier")), run, "mbarrier");
  expectError(unmarked(ended.erase(ended.rfind(meeting), meeting.size())), run, "has ended, and its shared memory with it");
  expectError(replaced(multicast, "multicast = 3", "multicast = 7"), run, "the multicast names a CTA that the cluster does not have");
}

TEST(Simulate, AnArrivalInTheScopeOfTheClusterPublishesSharedMemory) {
  // The second CTA stores to its shared memory and arrives in the first one, which reads there.
  std::string text = replaced(kernel(32, 64, "%out: i64", R"(
  %base = ptx.shared_base
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %bar = arith.addi %base, %c16 : i32
  %rank = ptx.cluster_rank
  %isFirst = arith.cmpi eq, %rank, %c0 : i32
  %one = ptx.elect
  ptx.mbarrier_init %bar, 1 if %one
  ptx.mbarrier_init_fence
  ptx.cluster_arrive {relaxed}
  ptx.cluster_wait
  scf.if %isFirst {
    ptx.mbarrier_wait %bar, %c0 scope cluster
    %v = ptx.load_block %base, %c1 -> i32
    ptx.store_global %out, %v if %one : i32
  } else {
    ptx.store_shared %base, %c16 if %one : i32
    ptx.mbarrier_arrive %bar if %one scope cluster {inCtas = 2 : i32, toFirst}
  }
  ptx.cluster_arrive
  ptx.cluster_wait)"),
                              "sharedBytes = 64", "sharedBytes = 64, cluster = 2");
  std::vector<int32_t> out(1);
  Launch run;
  run.pointer(out).grid = {2, 1, 1};
  ASSERT_EQ(simulateText(text, run), "");
  EXPECT_EQ(out[0], 16);
  expectError(replaced(text, "%one scope cluster", "%one"), run, "race: reads bytes that CTA 1 of the cluster wrote");
  expectError(replaced(text, "%c0 scope cluster", "%c0"), run, "race: reads bytes that CTA 1 of the cluster wrote");
  EXPECT_EQ(simulateText(without(text, ", toFirst"), run), "");
  std::string refused = simulateText(replaced(text, "scope cluster\n    %v", "scope gpu\n    %v"), run);
  EXPECT_NE(refused.find("has the scope of a CTA or of a cluster"), std::string::npos) << refused;
}

/// Each CTA adds 2^24, 1 and -2^24 to its four words by TMA: 0 or 1, as the copies overtake each other.
TEST(Simulate, CtasHaveOrdersOfTheirOwn) {
  std::string text = replaced(kernel(32, 512, "%map: !ptx.tensor_map", R"(
  %base = ptx.shared_base
  %r = ptx.cluster_rank
  %c4 = arith.constant 4 : i32
  %c128 = arith.constant 128 : i32
  %column = arith.muli %r, %c4 : i32
  %second = arith.addi %base, %c128 : i32
  %third = arith.addi %second, %c128 : i32
  %large = arith.constant 16777216.0 : f32
  %small = arith.constant 1.0 : f32
  %negative = arith.constant -16777216.0 : f32
  %one = ptx.elect
  ptx.store_shared %base, %large, %large, %large, %large if %one : f32, f32, f32, f32
  ptx.store_shared %second, %small, %small, %small, %small if %one : f32, f32, f32, f32
  ptx.store_shared %third, %negative, %negative, %negative, %negative if %one : f32, f32, f32, f32
  ptx.fence_async
  ptx.tma_store %map [%column] from %base if %one {reduce = 0 : i32}
  ptx.tma_store %map [%column] from %second if %one {reduce = 0 : i32}
  ptx.tma_store %map [%column] from %third if %one {reduce = 0 : i32}
  ptx.tma_commit
  ptx.tma_wait 0)"),
                              "sharedBytes = 512", "sharedBytes = 512, cluster = 4");
  bool differ = false;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<float> out(16);
    Launch run;
    run.map(out, MapElement::f32, {16}, {}, {4}, 0).grid = {4, 1, 1};
    ASSERT_EQ(simulateOnce(text, run, seed, AsyncTiming::late), "");
    differ |= out[4] != out[8] || out[8] != out[12];
  }
  EXPECT_TRUE(differ);
}

} // namespace
