// Rules of mbarriers, TMA and the instructions of a warp as a reader of the PTX ISA finds them: each is broken once and reported, and the
// correct twin passes. docs/stages/gpu_rules.md has the table.
#include "simulate_text.h"

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

const Launch noArguments;

void expectText(const std::string &text, const Launch &run, const std::string &words) {
  std::string message = simulateText(text, run);
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

/// A kernel of two warps with an mbarrier at %bar that expects `count` arrivals; %one: the first thread.
std::string withBarrier(int64_t count, const std::string &body, int64_t ctas = 1) {
  std::string text = kernel(64, 4096, ctas > 1 ? "%out: i64" : "",
                            R"(
  %base = ptx.shared_base
  %w = ptx.warp_id
  %rank = ptx.cluster_rank
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c1024 = arith.constant 1024 : i32
  %bar = arith.addi %base, %c1024 : i32
  %isFirst = arith.cmpi eq, %w, %c0 : i32
  %isSecond = arith.cmpi eq, %w, %c1 : i32
  %leader = ptx.elect
  %one = arith.andi %isFirst, %leader : i1
  %other = arith.andi %isSecond, %leader : i1
  ptx.mbarrier_init %bar, )" + std::to_string(count) +
                                " if %one\n  ptx.mbarrier_init_fence\n  ptx.barrier // MEET\n" + body);
  return ctas == 1 ? text : replaced(text, "sharedBytes = ", "cluster = " + std::to_string(ctas) + ", sharedBytes = ");
}

// ---- mbarriers: PTX ISA 9.7.13.15

TEST(SimulateRules, CountsOfMbarriers) {
  std::string arrive = "  ptx.mbarrier_arrive %bar if %one\n  ptx.mbarrier_wait %bar, %c0\n";
  EXPECT_EQ(simulateText(withBarrier(1, arrive), noArguments), "");
  for (int64_t count : {0, 1 << 20})
    expectText(withBarrier(count, arrive), noArguments, "that is arrivals of a phase, 1 to 1048575");
  std::string both = replaced(arrive, "if %one\n", "if %one {count = 2 : i32}\n");
  EXPECT_EQ(simulateText(withBarrier(2, both), noArguments), "");
  expectText(withBarrier(1, both), noArguments, "more arrivals than the mbarrier's count of 1 in one phase");
  expectText(withBarrier(1, replaced(both, "count = 2", "count = 0")), noArguments, "that is arrivals of a phase, 1 to 1048575");
  std::string bytes = "  ptx.mbarrier_expect %bar, 1048575 if %one\n";
  EXPECT_EQ(simulateText(withBarrier(1, bytes), noArguments), "");
  expectText(withBarrier(1, replaced(bytes, "1048575", "1048576")), noArguments, "the mbarrier counts 1048576 bytes: at most 1048575");
}

TEST(SimulateRules, ParitiesAreZeroOrOne) {
  std::string text = withBarrier(1, "  ptx.mbarrier_arrive %bar if %one\n  ptx.mbarrier_wait %bar, %c2\n");
  expectText(text, noArguments, "the parity of a phase is 0 or 1, not 2");
}

TEST(SimulateRules, EachPhaseIsSeenBeforeAnArrivalInTheNextOne) {
  std::string twice =
      "  ptx.mbarrier_arrive %bar if %one\n  ptx.mbarrier_wait %bar, %c0\n  ptx.barrier\n  ptx.mbarrier_arrive %bar if %one\n"
      "  ptx.mbarrier_wait %bar, %c1\n";
  EXPECT_EQ(simulateText(withBarrier(1, twice), noArguments), "");
  std::string rule = "arrives in phase 1 of the mbarrier, and no wait has seen phase 0 complete";
  expectText(withBarrier(1, without(twice, "  ptx.mbarrier_wait %bar, %c0\n")), noArguments, rule);
  std::string thrice = twice + "  ptx.barrier\n  ptx.mbarrier_arrive %bar if %one\n  ptx.mbarrier_wait %bar, %c0\n";
  EXPECT_EQ(simulateText(withBarrier(1, thrice), noArguments), "");
  expectText(withBarrier(1, without(thrice, "  ptx.mbarrier_wait %bar, %c1\n")), noArguments, "arrives in phase 2 of the mbarrier");
  // Not even an arrival that does not complete the next phase may come first.
  std::string both = replaced(without(twice, "  ptx.mbarrier_wait %bar, %c0\n"), "if %one\n", "if %one {count = 2 : i32}\n");
  expectText(withBarrier(2, without(both, "  ptx.mbarrier_wait %bar, %c1\n")), noArguments, rule);
}

TEST(SimulateRules, BarriersAreInitializedFirst) {
  std::string text = withBarrier(1, "  ptx.mbarrier_arrive %bar if %other\n  ptx.mbarrier_wait %bar, %c0\n");
  EXPECT_EQ(simulateText(text, noArguments), "");
  bool found = false;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    std::string message = simulateOnce(without(text, "  ptx.barrier // MEET\n"), noArguments, seed, AsyncTiming::random);
    EXPECT_NE(message, "");
    found |= message.find("initialized this mbarrier (test.mlir:") != std::string::npos;
  }
  EXPECT_TRUE(found);
  expectText(withBarrier(1, "  ptx.store_shared %bar, %c0 if %one : i32\n"), noArguments, "touches the mbarrier at byte 1024");
  expectText(withBarrier(1, "  ptx.mbarrier_init %bar, 1 if %one\n"), noArguments, "touches the mbarrier at byte 1024"); // 9.7.13.15.9
}

// ---- clusters: PTX ISA 9.7.13.3

TEST(SimulateRules, RelaxedBarriersOrderFencedInitializationsOnly) {
  // Warp 1 of both CTAs arrives at both mbarriers.
  std::string meet = "  ptx.cluster_arrive {relaxed}\n  ptx.cluster_wait\n";
  std::string text = replaced(withBarrier(2,
                                          "  ptx.mbarrier_arrive %bar if %other {inCtas = 2 : i32}\n  ptx.mbarrier_wait %bar, %c0\n"
                                          "  ptx.cluster_arrive\n  ptx.cluster_wait\n",
                                          2),
                              "  ptx.barrier // MEET\n", meet);
  std::vector<int32_t> out(2);
  Launch run;
  run.pointer(out).grid = {2, 1, 1};
  EXPECT_EQ(simulateText(text, run), "");
  expectText(without(text, "  ptx.mbarrier_init_fence\n"), run, "initialized this mbarrier");
  EXPECT_EQ(simulateText(without(replaced(text, " {relaxed}", ""), "  ptx.mbarrier_init_fence\n"), run), "");
  std::string store = "  ptx.store_shared %base, %rank if %one : i32\n";
  std::string load = "  %there = arith.xori %rank, %c1 : i32\n  %v = ptx.load_block %base, %there -> i32\n";
  std::string data = replaced(text, meet, store + meet + load);
  EXPECT_EQ(simulateText(replaced(data, " {relaxed}", ""), run), "");
  expectText(data, run, "race: reads bytes that CTA");
}

// ---- TMA: PTX ISA 5.5.3, 5.5.7 and 9.7.9.27.1.2

/// A copy of a box of 64 x 8 f16 to byte 0, and then to %out from there.
const std::string tmaCopy = kernel(32, 4096, "%in: !ptx.tensor_map, %out: !ptx.tensor_map", R"(
  %base = ptx.shared_base
  %c0 = arith.constant 0 : i32
  %c2048 = arith.constant 2048 : i32
  %bar = arith.addi %base, %c2048 : i32
)" + std::string("  %one = ptx.elect\n") + loadByTma() + R"(  ptx.mbarrier_wait %bar, %c0
  ptx.tma_store %out [%c0, %c0] from %base if %one
  ptx.tma_commit
  ptx.tma_wait 0
)");

TEST(SimulateRules, TensorMaps) {
  struct alignas(64) Row {
    uint16_t numbers[64];
  };
  std::vector<Row> in(10), out(10);
  Launch right;
  right.map(in, MapElement::f16, {64, 8}, {64}, {64, 8}, 0).map(out, MapElement::f16, {64, 8}, {64}, {64, 8}, 0);
  ASSERT_EQ(simulateText(tmaCopy, right), "");
  auto says = [&](const std::string &words, auto change) {
    Launch run = right;
    change(run.maps[0]);
    expectText(tmaCopy, run, words);
  };
  using Map = SimulatedTensorMap;
  says("the tensor map and the coordinates have different ranks", [](Map &map) { map.dims.pop_back(); });
  says("the tensor map's box or strides do not match its rank", [](Map &map) { map.strides.clear(); });
  says("the tensor map's base is not a multiple of 16 bytes", [](Map &map) { map.base += 2; });
  says("a stride of the tensor map is not a multiple of 16 bytes", [](Map &map) { map.strides[0] = 65; });
  says("an extent of the tensor map's box is not 1 to 256", [](Map &map) { map.box[1] = 257; });
  says("the inner extent of the tensor map's box is not a multiple of 16 bytes", [](Map &map) { map.box[0] = 63; });
  says("the tensor map's swizzle is not 0, 32, 64 or 128", [](Map &map) { map.swizzle = 96; });
  says("the inner extent of the tensor map's box is larger than its swizzle", [](Map &map) { map.swizzle = 64; });
  auto pairs = [&](const std::string &words, auto change) {
    says(words, [&](Map &map) {
      map = {map.base, MapElement::paddedPairs, {64, 8}, {128}, {64, 8}, 0, false};
      change(map);
    });
  };
  pairs("the base of a tensor map of 4-bit numbers with padding is not a multiple of 32 bytes", [](Map &map) { map.base += 16; });
}

TEST(SimulateRules, StoresStartInsideTheirTensor) {
  std::vector<uint16_t> in(64 * 8), out(64 * 8);
  Launch run;
  run.map(in, MapElement::f16, {64, 8}, {64}, {64, 8}, 0).map(out, MapElement::f16, {64, 8}, {64}, {64, 8}, 0);
  std::string before = "  %before = arith.constant -1 : i32\n";
  EXPECT_EQ(simulateText(replaced(tmaCopy, "  ptx.tma_load %in [%c0, %c0]", before + "  ptx.tma_load %in [%c0, %before]"), run), "");
  expectText(replaced(tmaCopy, "  ptx.tma_store %out [%c0, %c0]", before + "  ptx.tma_store %out [%c0, %before]"), run,
             "a store that starts before its tensor is an illegal instruction");
}

TEST(SimulateRules, MulticastsNameAlignedBytesOfTheCluster) {
  // The first CTA copies to the second one alone.
  std::string text = replaced(kernel(32, 4096, "%in: !ptx.tensor_map, %out: i64", R"(
  %base = ptx.shared_base
  %c0 = arith.constant 0 : i32
  %offset = arith.constant 0 : i32 // OFFSET
  %c2048 = arith.constant 2048 : i32
  %to = arith.addi %base, %offset : i32
  %bar = arith.addi %base, %c2048 : i32
  %rank = ptx.cluster_rank
  %leader = ptx.elect
  %isFirst = arith.cmpi eq, %rank, %c0 : i32
  %isOther = arith.cmpi ne, %rank, %c0 : i32
  %asks = arith.andi %isFirst, %leader : i1
  %gets = arith.andi %isOther, %leader : i1
  ptx.mbarrier_init %bar, 1 if %leader
  ptx.mbarrier_init_fence
  ptx.cluster_arrive
  ptx.cluster_wait
  ptx.mbarrier_expect %bar, 1024 if %gets
  ptx.tma_load %in [%c0, %c0] to %to, %bar if %asks {multicast = 2 : i32}
  scf.if %isOther {
    ptx.mbarrier_wait %bar, %c0
  }
  ptx.cluster_arrive
  ptx.cluster_wait
)"),
                              "sharedBytes = ", "cluster = 2, sharedBytes = ");
  std::vector<uint16_t> in(64 * 8);
  std::vector<int32_t> out(2);
  Launch run;
  run.map(in, MapElement::f16, {64, 8}, {64}, {64, 8}, 0).pointer(out).grid = {2, 1, 1};
  EXPECT_EQ(simulateText(text, run), "");
  expectText(replaced(text, "%offset = arith.constant 0 : i32 // OFFSET", "%offset = arith.constant 64 : i32"), run,
             "is not a multiple of 128");
  expectText(replaced(text, "multicast = 2", "multicast = 6"), run, "the multicast names a CTA that the cluster does not have");
}

// ---- programs of a launch

TEST(SimulateRules, ProgramsOfOneCtaRace) {
  // Each CTA does the work of more blocks by launch control. Block i stores to word i / 2: two blocks store to each word.
  std::string text = programLoop(R"(
    %shift = arith.constant 0 : i32 // SHIFT
    %word = arith.shrui %block, %shift : i32
    %offset = arith.muli %word, %c4 : i32
    %wide = arith.extui %offset : i32 to i64
    %place = arith.addi %out, %wide : i64
    ptx.store_global %place, %block if %one : i32)");
  std::vector<int32_t> out(2);
  Launch run;
  run.pointer(out).grid = {2, 1, 1};
  run.checkRaces = true;
  EXPECT_EQ(simulateText(text, run), "");
  std::string shared = replaced(text, "%shift = arith.constant 0 : i32 // SHIFT", "%shift = arith.constant 1 : i32");
  for (uint64_t seed = 0; seed < 16; ++seed) { // with most seeds the first CTA does both
    std::string message = simulateOnce(shared, run, seed, AsyncTiming::random);
    EXPECT_NE(message.find("and no atomics order the two"), std::string::npos) << seed << message;
  }
}

// ---- instructions of a warp

TEST(SimulateRules, InstructionsOfAWarp) {
  auto says = [](const std::string &op, const std::string &words) {
    std::string text = kernel(64, 4096, "%p: i64", R"(
  %base = ptx.shared_base
  %c0 = arith.constant 0 : i32
  %w = ptx.warp_id
  %f = arith.constant 0.0 : f32
)" + op);
    std::vector<int32_t> data(64);
    Launch run;
    run.pointer(data);
    std::string message = simulateText(text, run);
    EXPECT_NE(message.find(words), std::string::npos) << op << message;
  };
  says("  ptx.copy_async %base, %p {bytes = 12 : i32}", "that is 4, 8 or 16 bytes");
  says("  %x:3 = ptx.ldmatrix %base -> i32, i32, i32", "moves 1, 2 or 4 matrices at once");
  says("  ptx.stmatrix %base, %c0, %c0, %c0", "moves 1, 2 or 4 matrices at once");
  says("  %x = ptx.atomic fadd relaxed gpu %p, %c0 : i32 -> i32", "fadd of an integer");
  says("  ptx.barrier {id = 16 : i32}", "that is a named barrier, 0 to 15");
  says("  ptx.barrier {id = 1 : i32, threads = 48 : i32}", "that is the threads of whole warps");
  says("  ptx.barrier {id = 1 : i32, threads = 96 : i32}", "threads at most 64");
  says("  ptx.max_registers true 20", "that is a multiple of 8 from 24 to 256");
  says("  %x = ptx.block_id 3", "that is an axis of the grid, 0 to 2");
  says("  %isFirst = arith.cmpi eq, %w, %c0 : i32\n  scf.if %isFirst {\n    ptx.barrier_arrive {id = 1 : i32, threads = 64 : i32}\n    "
       "ptx.barrier {id = 2 : i32}\n"
       "  } else {\n    ptx.barrier {id = 2 : i32}\n    ptx.barrier {id = 1 : i32, threads = 32 : i32}\n  }",
       "other threads wait at barrier 1 for 64 threads, not 32");
  says("  %x = ptx.convert_pair %f, %f f32 -> i32", "unsupported conversion");
  says("  %x = arith.constant dense<0> : tensor<4xi32>", "the simulator supports only scalars");
}

TEST(SimulateRules, RowsOfOneStmatrixAgree) {
  std::string text = kernel(32, 4096, "", R"(
  %base = ptx.shared_base
  %c1 = arith.constant 1 : i32
  %lane = ptx.lane_id
  ptx.stmatrix %base, %c1)");
  EXPECT_EQ(simulateText(text, noArguments), "");
  expectText(replaced(text, "%base, %c1", "%base, %lane"), noArguments, "another lane writes another value to the same address");
}

TEST(SimulateRules, OneWarpGroupExecutesTheSameWgmmas) {
  // Warp 0 executes one wgmma more than the other warps.
  std::string wgmma =
      "    %d:4 = \"ptx.wgmma\"(%a, %a, %f, %f, %f, %f) <{n = 8 : i32, aFormat = 0 : i32, bFormat = 0 : i32, cFormat = 7 : i32, "
      "operandSegmentSizes = array<i32: 1, 1, 4, 0>}> : (i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)\n";
  auto text = [&](const std::string &more, const std::string &n, const std::string &format) {
    return replaced(replaced(kernel(128, 8192, "", R"(
  %w = ptx.warp_id
  %c0 = arith.constant 0 : i32
  %f = arith.constant 0.0 : f32
  %a = arith.constant 4611686293305294912 : i64
  %isFirst = arith.cmpi eq, %w, %c0 : i32
  ptx.wgmma_fence
)" + wgmma + "  scf.if %isFirst {\n" + more + "  }\n  ptx.wgmma_commit\n"),
                             "n = 8", "n = " + n),
                    "aFormat = 0", "aFormat = " + format);
  };
  EXPECT_EQ(simulateText(text("", "8", "0"), noArguments), "");
  expectText(text(replaced(wgmma, "%d:4", "%e:4"), "8", "0"), noArguments, "of one warpgroup did not execute the same wgmma instructions");
  expectText(text("", "12", "0"), noArguments, "cannot have n = 12 for this format");
  expectText(text("", "8", "7"), noArguments, "unsupported formats");
}

TEST(SimulateRules, KernelsAreMarked) {
  expectText("tt.func public @kernel() {\n  tt.return\n}\n", noArguments, "has no ptx.kernel attribute");
}

} // namespace
