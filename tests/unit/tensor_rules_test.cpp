// Rules of tensor memory and tcgen05 as a reader of the PTX ISA finds them: each is broken once and reported by its section, and the
// correct twin passes. docs/stages/gpu_rules.md has the table.
#include "tensor_text.h"

using namespace tilewright;
using namespace tilewright::gpu;
using F = TensorFormat;

namespace {

std::string paired() {
  MmaTest test = smallTest();
  test.ctaGroup = 2;
  test.shape.m = 256;
  return mmaKernel(test);
}

struct Buffers {
  int64_t ctas = 1, ctasPerSM = 1;
  std::vector<uint8_t> image = std::vector<uint8_t>(size_t(32768 * ctas));
  std::vector<uint32_t> words = std::vector<uint32_t>(size_t(8 * 128 * ctas)), out = std::vector<uint32_t>(size_t(128 * 256 * ctas));
  Launch launch() {
    Launch run;
    run.pointer(image).pointer(words).pointer(out).grid = {ctas, 1, 1};
    run.ctasPerSM = ctasPerSM;
    return run;
  }
};

std::string messageOf(const std::string &text, Buffers run = {}) {
  return simulateText(text, run.launch());
}
void expectRule(const std::string &text, const std::string &rule, const Buffers &run = {}) {
  std::string message = messageOf(text, run);
  EXPECT_NE(message.find(rule), std::string::npos) << message;
}
/// True if the rule is reported in one of many orders of execution, and a rule in each of them.
void expectSometimes(const std::string &text, const std::string &rule, Buffers run) {
  bool found = false;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    std::string message = simulateOnce(text, run.launch(), seed, seed % 2 ? AsyncTiming::random : AsyncTiming::late);
    EXPECT_NE(message, "") << seed;
    found |= message.find(rule) != std::string::npos;
  }
  EXPECT_TRUE(found) << rule;
}

/// `text` in the place of the load of D's first columns.
std::string loading(const std::string &text) {
  return replaced(small(), "  %v0:8 = ptx.tcgen05_ld", text + "  ptx.tcgen05_wait ld\n  %v0:8 = ptx.tcgen05_ld");
}

// ---- loads and stores: PTX ISA 9.7.16.8.1

TEST(TensorRules, BothHalvesOfALoadAreInTheWarpsLanes) {
  std::string upper = constant("lanes16", 16 << 16) + "  %upper = arith.addi %own, %lanes16 : i32\n";
  EXPECT_EQ(messageOf(loading(upper + "  %x = ptx.tcgen05_ld m16x32bx2 %own {halfOffset = 1048576 : i32} -> i32\n")), "");
  EXPECT_EQ(messageOf(loading(upper + "  %x = ptx.tcgen05_ld m16x64b %upper -> i32\n")), "");
  expectRule(loading(upper + "  %x = ptx.tcgen05_ld m16x32bx2 %upper {halfOffset = 1048576 : i32} -> i32\n"),
             "but it accesses lanes 0 to 31 only");
  expectRule(loading(upper + "  %x = ptx.tcgen05_ld m32x32b %upper -> i32\n"), "only (PTX ISA 9.7.16.8.1)");
  std::string odd = constant("lanes8", 8 << 16) + "  %odd = arith.addi %own, %lanes8 : i32\n";
  expectRule(loading(odd + "  %x = ptx.tcgen05_ld m16x64b %odd -> i32\n"), "gives lane ");
}

// ---- operands of an MMA: PTX ISA 9.7.16.10.3 and 9.7.16.10.7

/// D = A * B of 128 x 32 x 8 tf32, one operand transposed (M- or N-major) with the swizzle `swizzle`.
std::string transposed(bool isA, Swizzle swizzle) {
  MmaTest test;
  test.shape = {.kind = MmaKind::tf32, .n = 32, .a = F::tf32, .b = F::tf32};
  (isA ? test.shape.transposeA : test.shape.transposeB) = true;
  MatrixDescriptor plain{.leading = 16, .stride = 256, .swizzle = Swizzle::b32}, other{.leading = 4096, .stride = 1024, .swizzle = swizzle};
  test.a = isA ? other : plain;
  test.b = isA ? plain : other;
  test.b.start = 16384;
  return mmaKernel(test);
}

TEST(TensorRules, SwizzleOfWideTransposedOperands) {
  for (bool isA : {false, true}) {
    EXPECT_EQ(messageOf(transposed(isA, Swizzle::b128base32)), "");
    expectRule(transposed(isA, Swizzle::b128), "an MN-major matrix of 32-bit elements needs a 128-byte swizzle of 32-byte units");
    MmaTest test = smallTest();
    (isA ? test.a : test.b).swizzle = Swizzle::b128base32;
    expectRule(mmaKernel(test), "the 128-byte swizzle of 32-byte units is for MN-major matrices of 32-bit elements");
  }
}

TEST(TensorRules, ScalesStartAtLane0) {
  MmaTest test = smallTest();
  test.shape.kind = MmaKind::mxf8f6f4;
  test.shape.a = test.shape.b = F::e4m3;
  test.scaleBlock = 32;
  test.scaleOffset = 24576;
  std::string text = mmaKernel(test), higher = constant("lanes32", 32 << 16) + "  %higher = arith.addi %sb, %lanes32 : i32\n";
  EXPECT_EQ(messageOf(text), "");
  text = replaced(replaced(text, "  %columnA = ", higher + "  %columnA = "), "scales %sa, %sb", "scales %sa, %higher");
  expectRule(text, "the scales start at lane 0: they are in all four partitions");
}

TEST(TensorRules, CopiesStartAtLane0) {
  auto copying = [](const std::string &shape) {
    std::string copy = constant("lanes32", 32 << 16) + constant("c100", 100) + "  %column = arith.addi %d, %c100 : i32\n" +
                       "  %place = arith.addi %column, %lanes32 : i32\n" + descriptorText("source", {.leading = 16, .stride = 128}, 16384) +
                       "  ptx.tcgen05_cp " + shape + " %place, %source if %e\n";
    return replaced(small(), "  %columnA = ", copy + "  %columnA = ");
  };
  expectRule(copying("m32x128b"), "the copy starts at lane 32, not 0");
  expectRule(copying("m4x256b"), "lane 128, column 100 of tensor memory is not allocated"); // its fourth row
  EXPECT_EQ(messageOf(replaced(copying("m4x256b"), constant("lanes32", 32 << 16), constant("lanes32", 31 << 16))), "");
}

// ---- shift: PTX ISA 9.7.16.9.3

/// Warp 1's lanes of columns 0 to 7 hold 100 * lane + column, and are shifted; then `after`.
std::string shifting(const std::string &after, const std::string &group = "") {
  MmaTest test;
  test.ctaGroup = group.empty() ? 1 : 2;
  std::string text =
      constant("c32lanes", 32 << 16) + prologue(test) + constant("c100", 100) + constant("c7", 7) + "  %row = arith.muli %t, %c100 : i32\n";
  std::string values;
  for (int64_t c = 0; c < 16; ++c) {
    std::string n = std::to_string(c);
    text += constant("k" + n, c) + "  %x" + n + " = arith.addi %row, %k" + n + " : i32\n";
    values += ", %x" + n;
  }
  std::string meeting = "  ptx.tcgen05_fence before\n  ptx.cluster_arrive\n  ptx.cluster_wait\n  ptx.tcgen05_fence after\n";
  text += "  ptx.tcgen05_st m32x32b %own" + values + " : " + types("i32", 16) + "\n  ptx.tcgen05_wait st\n" + meeting +
          "  %of1 = arith.addi %d, %c32lanes : i32\n  %even = arith.cmpi eq, %rank, %c0 : i32\n  %asks = arith.andi %even, %one : i1\n"
          "  ptx.tcgen05_shift %of1 if %asks" +
          group + "\n" + after + "  %both = arith.constant " + (group.empty() ? "1" : "3") +
          " : i16\n  ptx.tcgen05_commit %bar to %both if %asks" + group +
          "\n  ptx.mbarrier_wait %bar, %c0\n  ptx.tcgen05_fence after\n"
          "  %v:16 = ptx.tcgen05_ld m32x32b %own -> " +
          types("i32", 16) + "\n  ptx.tcgen05_wait ld\n" + constant("rowBytes", 64) +
          "  %ofCta = arith.muli %rank, %c128 : i32\n  %thread = arith.addi %ofCta, %t : i32\n  %offset = arith.muli %thread, %rowBytes : "
          "i32\n  %wide = arith.extui %offset : i32 to i64\n  %place = arith.addi %out, %wide : i64\n";
  for (int64_t c = 0; c < 16; ++c) {
    std::string n = std::to_string(c);
    text += constant("at" + n, 4 * c, "i64") + "  %place" + n + " = arith.addi %place, %at" + n + " : i64\n  ptx.store_global %place" + n +
            ", %v#" + n + " : i32\n";
  }
  text += "  ptx.cluster_arrive\n  ptx.cluster_wait\n  scf.if %isFirst {\n    ptx.tcgen05_dealloc %d, 512" + group + "\n  }\n";
  std::string whole = kernel(128, test.sharedBytes + 32, "%image: i64, %words: i64, %out: i64", text);
  return group.empty() ? whole : replaced(whole, "sharedBytes = ", "cluster = 2, sharedBytes = ");
}

TEST(TensorRules, AShiftMovesRowsDown) {
  for (int64_t ctas : {1, 2}) {
    Buffers run{.ctas = ctas};
    ASSERT_EQ(simulateText(shifting("", ctas == 2 ? " {ctaGroup = 2 : i32}" : ""), run.launch()), "");
    for (uint32_t cta = 0; cta < ctas; ++cta)
      for (uint32_t lane = 0; lane < 128; ++lane)
        for (uint32_t column = 0; column < 16; ++column) {
          bool moves = lane >= 32 && lane < 63 && column < 8; // the last of the 32 rows keeps its values
          ASSERT_EQ(run.out[(cta * 128 + lane) * 16 + column], 100 * (lane + moves) + column) << cta << " " << lane << " " << column;
        }
  }
}

TEST(TensorRules, ACopyOfFourRowsFollowsAShift) {
  // Pipelined: the copy fills the last row of each warp's lanes, in which the shift has read.
  std::string place = constant("last", 31 << 16) + "  %lastRow = arith.addi %d, %last : i32\n" +
                      descriptorText("source", {.leading = 2048, .stride = 128}, 1024);
  std::string text = shifting(place + "  ptx.tcgen05_cp m4x256b %lastRow, %source if %asks\n");
  Buffers run;
  for (size_t i = 0; i < run.image.size(); ++i)
    run.image[i] = uint8_t(i * 7);
  ASSERT_EQ(simulateText(text, run.launch()), "");
  for (uint32_t column = 0; column < 8; ++column) {
    EXPECT_EQ(run.out[62 * 16 + column], 100 * 63 + column);
    uint32_t copied = 0; // row 1 of the source
    std::memcpy(&copied, &run.image[1024 + 16 + column / 4 * 2048 + column % 4 * 4], 4);
    EXPECT_EQ(run.out[63 * 16 + column], copied);
  }
  std::string wide = descriptorText("source", {.leading = 16, .stride = 128}, 1024);
  expectRule(shifting(wide + "  ptx.tcgen05_cp m128x256b %d, %source if %asks\n"), "the two are not a pipeline");
  expectRule(shifting("  ptx.tcgen05_shift %of1 if %asks\n"), "the two are not a pipeline");
}

// ---- pairs: PTX ISA 9.7.16.5 and 9.7.16.7.1

TEST(TensorRules, ThePeerIsActive) {
  // The odd CTA ends right after the allocation.
  std::string text =
      replaced(paired(), "  %even = arith.cmpi", "  %isEven = arith.cmpi eq, %rank, %c0 : i32\n  scf.if %isEven {\n  %even = arith.cmpi");
  size_t end = text.rfind("  tt.return");
  expectSometimes(text.insert(end, "  }\n"), "the peer CTA has ended: it must be active", {.ctas = 2});
}

TEST(TensorRules, BothCtasOfAPairAllocate) {
  std::string own = "    ptx.tcgen05_alloc %slot, 512 {ctaGroup = 2 : i32}";
  std::string text = replaced(paired(), own, "    %isEven = arith.cmpi eq, %rank, %c0 : i32\n    scf.if %isEven {\n  " + own + "\n    }");
  expectRule(text, "waits for the warp of the peer CTA to execute ptx.tcgen05_alloc", {.ctas = 2});
}

TEST(TensorRules, APairFreesTogether) {
  // No barrier of the cluster before dealloc: the odd CTA's warps may still load while the even CTA frees the columns of both.
  std::string meeting = "  ptx.cluster_arrive\n  ptx.cluster_wait\n", text = paired();
  size_t at = text.rfind(meeting);
  std::string own = text;
  own.replace(at, meeting.size(), "  ptx.barrier\n");
  EXPECT_EQ(messageOf(text, {.ctas = 2}), "");
  expectSometimes(own, "a tcgen05_dealloc has begun to free column", {.ctas = 2});
  expectSometimes(own, "race in tensor memory: writes", {.ctas = 2});
}

// ---- allocation: PTX ISA 9.7.16.7.1

TEST(TensorRules, CtasOfAnSMDoNotWaitForEachOther) {
  auto allocating = [](const std::string &columns) {
    std::string text =
        replaced(small(), "    ptx.tcgen05_alloc %slot, 512 {ctaGroup = 1 : i32}", "    ptx.tcgen05_alloc %slot, " + columns);
    return replaced(text, "    ptx.tcgen05_dealloc %d, 512 {ctaGroup = 1 : i32}", "    ptx.tcgen05_dealloc %d, " + columns);
  };
  std::string twice = replaced(replaced(allocating("128"), "    ptx.tcgen05_alloc %slot, 128\n",
                                        "    ptx.tcgen05_alloc %slot, 128\n    %d0 = ptx.load_shared %slot -> i32\n    "
                                        "ptx.tcgen05_alloc %slot, 128\n    %d1 = ptx.load_shared %slot -> i32\n    "
                                        "ptx.store_shared %slot, %d0 : i32\n    %lower = arith.constant 4 : i32\n    %slot2 = arith.addi "
                                        "%slot, %lower : i32\n    ptx.store_shared %slot2, %d1 : i32\n"),
                               "    ptx.tcgen05_dealloc %d, 128\n",
                               "    ptx.tcgen05_dealloc %d, 128\n    %lower = arith.constant 4 : i32\n    %slot2 = arith.addi %slot, "
                               "%lower : i32\n    %d1 = ptx.load_shared %slot2 -> i32\n    ptx.tcgen05_dealloc %d1, 128\n");
  std::string rule = "an SM holds 3 CTAs of this kernel with 256 columns of tensor memory each";
  EXPECT_EQ(messageOf(twice, {.ctasPerSM = 2}), "");
  expectRule(twice, rule, {.ctasPerSM = 3});                     // each holds 128 columns, and waits for 128
  EXPECT_EQ(messageOf(allocating("256"), {.ctasPerSM = 3}), ""); // the third waits until one of the others ends
  // In a cluster, CTAs wait for a CTA of another SM that has no columns yet.
  std::string cluster = replaced(allocating("256"), "sharedBytes = ", "cluster = 2, sharedBytes = ");
  EXPECT_EQ(messageOf(cluster, {.ctas = 2, .ctasPerSM = 2}), "");
  expectRule(cluster, rule, {.ctas = 2, .ctasPerSM = 3});
  EXPECT_EQ(messageOf(paired(), {.ctas = 2, .ctasPerSM = 3}), ""); // a pair gets its columns at once
}

} // namespace
