// Where tcgen05.ld, st and cp move each word, for every shape; cluster launch control; pairs of CTAs whose operands TMA brings.
#include "tensor_text.h"

using namespace tilewright;
using namespace tilewright::gpu;
using F = TensorFormat;

namespace {

/// A kernel of four warps that allocates 512 columns as %d, runs `body`, and frees them. %own: the address of the warp's lanes.
std::string withTensorMemory(const std::string &body, int64_t imageBytes = 16384) {
  MmaTest test;
  test.sharedBytes = imageBytes;
  return kernel(128, imageBytes + 32, "%image: i64, %words: i64, %out: i64",
                constant("c32lanes", 32 << 16) + prologue(test) + body + R"(  ptx.cluster_arrive
  ptx.cluster_wait
  scf.if %isFirst {
    ptx.tcgen05_dealloc %d, 512
  }
)");
}

/// Each thread stores `count` values of `value`, 4 bytes each, to its part of %out.
std::string storeOut(const std::string &value, int64_t count) {
  std::string text = constant("outBytes", 4 * count) +
                     "  %outOffset = arith.muli %t, %outBytes : i32\n  %outOffset64 = arith.extui %outOffset : i32 to i64\n"
                     "  %outBase = arith.addi %out, %outOffset64 : i64\n";
  for (int64_t i = 0; i < count; ++i)
    text += constant("outAt" + std::to_string(i), 4 * i, "i64") + "  %outPlace" + std::to_string(i) + " = arith.addi %outBase, %outAt" +
            std::to_string(i) + " : i64\n  ptx.store_global %outPlace" + std::to_string(i) + ", " + value + "#" + std::to_string(i) +
            " : i32\n";
  return text;
}

std::vector<uint32_t> runTensor(const std::string &text, int64_t count, std::vector<uint8_t> image = std::vector<uint8_t>(16384)) {
  std::vector<uint32_t> words(8 * 128), out(size_t(128 * count), 0xeeeeeeee);
  Launch launch;
  launch.pointer(image).pointer(words).pointer(out);
  EXPECT_EQ(simulateText(text, launch), "");
  return out;
}

/// Fills 64 columns: lane l, column c holds 1000 l + c.
std::string fillColumns() {
  std::string text = constant("c1000", 1000) + constant("c31", 31) + "  %rowValue = arith.muli %t, %c1000 : i32\n", values;
  for (int64_t c = 0; c < 64; ++c) {
    text +=
        constant("k" + std::to_string(c), c) + "  %x" + std::to_string(c) + " = arith.addi %rowValue, %k" + std::to_string(c) + " : i32\n";
    values += ", %x" + std::to_string(c);
  }
  return text + "  ptx.tcgen05_st m32x32b %own" + values + " : " + types("i32", 64) + "\n  ptx.tcgen05_wait st\n";
}

// The tables of docs/stages/gpu_blackwell.md, which are CUTLASS's and the ISA's figures 183 to 187 in formulas.
TEST(TensorRegisters, EveryShape) {
  struct Shape {
    const char *name;
    int64_t registers;
    std::function<std::pair<int64_t, int64_t>(int64_t, int64_t)> place;
  };
  const Shape shapes[] = {
      {"m32x32b", 16, [](int64_t t, int64_t r) { return std::pair(t, r); }},
      {"m16x64b", 8, [](int64_t t, int64_t r) { return std::pair(t / 4 + (t % 2 ? 8 : 0), t / 2 % 2 + 2 * r); }},
      {"m16x128b", 8, [](int64_t t, int64_t r) { return std::pair(t / 4 + (r % 2 ? 8 : 0), t % 4 + r / 2 * 4); }},
      {"m16x256b", 16, [](int64_t t, int64_t r) { return std::pair(t / 4 + (r / 2 % 2 ? 8 : 0), t % 4 * 2 + r % 2 + r / 4 * 8); }},
      {"m16x32bx2", 8, [](int64_t t, int64_t r) { return std::pair(t % 16, r + (t < 16 ? 0 : 20)); }},
  };
  for (const Shape &shape : shapes)
    for (int64_t lower : {0, 16}) {
      if (lower && shape.place(31, 0).first == 31) continue; // 32 lanes
      std::string address = constant("lower", lower << 16) + "  %place = arith.addi %own, %lower : i32\n";
      std::string half = std::string(shape.name) == "m16x32bx2" ? " {halfOffset = 20 : i32}" : "";
      std::string load = "  %v:" + std::to_string(shape.registers) + " = ptx.tcgen05_ld " + shape.name + " %place" + half + " -> " +
                         types("i32", shape.registers) + "\n  ptx.tcgen05_wait ld\n";
      std::vector<uint32_t> out =
          runTensor(withTensorMemory(fillColumns() + address + load + storeOut("%v", shape.registers)), shape.registers);
      for (int64_t thread = 0; thread < 128; ++thread)
        for (int64_t reg = 0; reg < shape.registers; ++reg) {
          auto [lane, column] = shape.place(thread % 32, reg);
          ASSERT_EQ(out[size_t(thread * shape.registers + reg)], uint32_t((thread / 32 * 32 + lower + lane) * 1000 + column))
              << shape.name << " " << thread << " " << reg;
        }
      // A store of the same shape is the inverse of the load.
      std::string add = constant("c500", 500);
      std::string values;
      for (int64_t i = 0; i < shape.registers; ++i) {
        add += "  %y" + std::to_string(i) + " = arith.addi %v#" + std::to_string(i) + ", %c500 : i32\n";
        values += ", %y" + std::to_string(i);
      }
      std::string back = add + std::string("  ptx.tcgen05_st ") + shape.name + " %place" + values + half + " : " +
                         types("i32", shape.registers) + "\n  ptx.tcgen05_wait st\n  %all:64 = ptx.tcgen05_ld m32x32b %own -> " +
                         types("i32", 64) + "\n  ptx.tcgen05_wait ld\n";
      out = runTensor(withTensorMemory(fillColumns() + address + load + back + storeOut("%all", 64)), 64);
      std::vector<uint32_t> expected(out.size());
      for (int64_t i = 0; i < 128 * 64; ++i)
        expected[size_t(i)] = uint32_t(i / 64 * 1000 + i % 64);
      for (int64_t thread = 0; thread < 128; ++thread)
        for (int64_t reg = 0; reg < shape.registers; ++reg) {
          auto [lane, column] = shape.place(thread % 32, reg);
          expected[size_t((thread / 32 * 32 + lower + lane) * 64 + column)] += 500;
        }
      ASSERT_EQ(out, expected) << shape.name;
    }
}

TEST(TensorRegisters, PackingTakesLowerHalves) {
  std::string load = "  %v:4 = ptx.tcgen05_ld m32x32b %own {pack} -> " + types("i32", 4) + "\n  ptx.tcgen05_wait ld\n";
  std::vector<uint32_t> out = runTensor(withTensorMemory(fillColumns() + load + storeOut("%v", 4)), 4);
  auto low = [](int64_t lane, int64_t column) { return uint32_t(lane * 1000 + column) & 0xffff; };
  for (int64_t thread = 0; thread < 128; ++thread)
    for (int64_t reg = 0; reg < 4; ++reg)
      ASSERT_EQ(out[size_t(thread * 4 + reg)], low(thread, 2 * reg) | low(thread, 2 * reg + 1) << 16);
  std::string store = "  ptx.tcgen05_st m32x32b %own, %v#0, %v#1, %v#2, %v#3 {unpack} : " + types("i32", 4) + "\n  ptx.tcgen05_wait st\n";
  std::string all = "  %w8:8 = ptx.tcgen05_ld m32x32b %own -> " + types("i32", 8) + "\n  ptx.tcgen05_wait ld\n";
  out = runTensor(withTensorMemory(fillColumns() + load + store + all + storeOut("%w8", 8)), 8);
  for (int64_t thread = 0; thread < 128; ++thread)
    for (int64_t column = 0; column < 8; ++column)
      ASSERT_EQ(out[size_t(thread * 8 + column)], low(thread, column));
}

// ---- cp

/// One copy of `shape` to column 0 and lane `lane`, then 8 columns of all lanes. Cells without data hold 1000 l + c.
std::vector<uint32_t> runCopy(const std::string &shape, const std::string &attributes, const MatrixDescriptor &source,
                              std::vector<uint8_t> image, int64_t lane = 0) {
  std::string text = fillColumns() + "  ptx.tcgen05_fence before\n  ptx.mbarrier_init_fence\n  ptx.barrier\n  ptx.tcgen05_fence after\n" +
                     descriptorText("source", source, 0) + constant("lane", lane << 16) + "  %place = arith.addi %d, %lane : i32\n" +
                     "  ptx.tcgen05_cp " + shape + " %place, %source if %one" + attributes + "\n  ptx.tcgen05_commit %bar if %one\n" +
                     "  ptx.mbarrier_wait %bar, %c0\n  ptx.tcgen05_fence after\n  %v:8 = ptx.tcgen05_ld m32x32b %own -> " +
                     types("i32", 8) + "\n  ptx.tcgen05_wait ld\n" + storeOut("%v", 8);
  return runTensor(withTensorMemory(text), 8, std::move(image));
}

TEST(TensorCopies, EveryShape) {
  std::vector<uint8_t> image(16384);
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = uint8_t(i * 7 + i / 256);
  struct Shape {
    const char *name;
    int64_t rows, bytes;
    std::function<std::vector<int64_t>(int64_t)> lanes;
  };
  const Shape shapes[] = {
      {"m128x256b", 128, 32, [](int64_t r) { return std::vector<int64_t>{r}; }},
      {"m4x256b", 4, 32, [](int64_t r) { return std::vector<int64_t>{31 + 32 * r}; }},
      {"m128x128b", 128, 16, [](int64_t r) { return std::vector<int64_t>{r}; }},
      {"m64x128b_02_13", 64, 16, [](int64_t r) { return std::vector<int64_t>{r, r + 64}; }},
      {"m64x128b_01_23", 64, 16, [](int64_t r) { return r < 32 ? std::vector<int64_t>{r, r + 32} : std::vector<int64_t>{r + 32, r + 64}; }},
      {"m32x128b", 32, 16, [](int64_t r) { return std::vector<int64_t>{r, r + 32, r + 64, r + 96}; }},
  };
  for (const Shape &shape : shapes) {
    MatrixDescriptor source{.start = 1024, .leading = 4096, .stride = 128};
    bool isFour = std::string(shape.name) == "m4x256b";
    std::vector<uint32_t> out = runCopy(shape.name, "", source, image, isFour ? 31 : 0), expected(128 * 8);
    for (int64_t i = 0; i < 128 * 8; ++i)
      expected[size_t(i)] = uint32_t(i / 8 * 1000 + i % 8);
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t lane : shape.lanes(row))
        for (int64_t column = 0; column < shape.bytes / 4; ++column) // 8 rows of 16 bytes, then the next 8; 4096 to the second 16 bytes
          std::memcpy(&expected[size_t(lane * 8 + column)], &image[size_t(1024 + row * 16 + column / 4 * 4096 + column % 4 * 4)], 4);
    ASSERT_EQ(out, expected) << shape.name;
  }
}

TEST(TensorCopies, ExpandsSmallFloats) {
  for (int64_t bits : {4, 6}) {
    std::vector<uint8_t> image(16384);
    auto code = [&](int64_t row, int64_t i) { return uint32_t(row * 5 + i * 3) & ((1u << bits) - 1); };
    for (int64_t row = 0; row < 32; ++row)
      for (int64_t i = 0; i < 16; ++i)
        writeBits(image, uint64_t(row * 16), i * bits, bits, code(row, i));
    std::string source = bits == 4 ? " {source = 1 : i32}" : " {source = 0 : i32}";
    std::vector<uint32_t> out = runCopy("m32x128b", source, {.stride = 128}, image);
    for (int64_t lane = 0; lane < 128; ++lane)
      for (int64_t i = 0; i < 16; ++i)
        ASSERT_EQ(out[size_t(lane * 8 + i / 4)] >> (i % 4 * 8) & 0xff, bits == 4 ? code(lane % 32, i) << 2 : code(lane % 32, i));
  }
}

// ---- cluster launch control

/// Each CTA counts the blocks that it works on.
const std::string persistent = programLoop(R"(
    %offset = arith.muli %block, %c4 : i32
    %wide = arith.extui %offset : i32 to i64
    %place = arith.addi %out, %wide : i64
    %old = ptx.load_global %place -> i32
    %new = arith.addi %old, %c1 : i32
    ptx.store_global %place, %new if %one : i32)");

TEST(LaunchControl, EveryBlockIsDoneOnce) {
  std::vector<int32_t> out(7);
  Launch run;
  run.pointer(out).grid = {7, 1, 1};
  ASSERT_EQ(simulateText(persistent, run), "");
  for (int32_t count : out)
    EXPECT_EQ(count, ordersOfText);
}

TEST(LaunchControl, ResponsesForAWholeCluster) {
  // The first CTA of a cluster asks; both CTAs get the block index of the first CTA of the canceled cluster, and add their ranks.
  std::string text = replaced(persistent, "sharedBytes = ", "cluster = 2, sharedBytes = ");
  text = replaced(
      text, "  ptx.warp_barrier\n  %first = ptx.block_id 0\n",
      "  ptx.cluster_arrive\n  ptx.cluster_wait\n  %first = ptx.block_id 0\n  %rank = ptx.cluster_rank\n  %isFirst = arith.cmpi eq, "
      "%rank, %c0 : i32\n  %asks = arith.andi %isFirst, %one : i1\n");
  text = replaced(text, "ptx.clc_try_cancel %base, %bar if %one", "ptx.clc_try_cancel %base, %bar if %asks {multicast}");
  text = replaced(text, "    ptx.warp_barrier\n    %next",
                  "    %block2 = arith.addi %x, %rank : i32\n    ptx.cluster_arrive\n    ptx.cluster_wait\n    %next");
  text = replaced(text, "scf.yield %x,", "scf.yield %block2,");
  std::vector<int32_t> out(8);
  Launch run;
  run.pointer(out).grid = {8, 1, 1};
  ASSERT_EQ(simulateText(unmarked(text), run), "");
  for (int32_t count : out)
    EXPECT_EQ(count, ordersOfText);
  expectError(unmarked(replaced(text, "    ptx.cluster_arrive\n    ptx.cluster_wait\n    %next", "    ptx.warp_barrier\n    %next")), run,
              "race: ");
  // Both CTAs ask, and a response would be written twice. Or the second one reads a response with its part of the bytes unexpected.
  expectError(unmarked(replaced(text, "if %asks {multicast}", "if %one {multicast}")), run, "race: ");
  expectError(unmarked(replaced(text, "ptx.mbarrier_expect %bar, 16 if %one", "ptx.mbarrier_expect %bar, 16 if %asks")), run, "deadlock");
  expectError(unmarked(replaced(text, "if %asks {multicast}", "if %asks")), run, "deadlock"); // only the first CTA gets a response
}

TEST(LaunchControl, LaunchesOverlap) {
  // A cluster that asks may be late: others ask before it, and some requests are refused though a cluster has not started. So CTAs do
  // different numbers of programs, and every program is done once.
  std::string text = replaced(persistent, "%old = ptx.load_global %place -> i32\n    %new = arith.addi %old, %c1 : i32",
                              "%new = arith.addi %first, %c1 : i32");
  std::set<int32_t> workers;
  std::vector<int32_t> out(24);
  Launch run;
  run.pointer(out).grid = {24, 1, 1};
  ASSERT_EQ(simulateText(unmarked(text), run), "");
  for (int32_t worker : out) {
    EXPECT_GT(worker, 0);
    workers.insert(worker);
  }
  EXPECT_GT(workers.size(), 1u);
  EXPECT_LT(workers.size(), 24u);
}

TEST(LaunchControl, BrokenRules) {
  std::vector<int32_t> out(7);
  Launch run;
  run.pointer(out).grid = {7, 1, 1};
  // The response is read too early, or its mbarrier does not expect it.
  expectError(unmarked(without(persistent, "    ptx.mbarrier_wait %bar, %parity\n")), run, "race: ");
  expectError(unmarked(without(persistent, "    ptx.mbarrier_expect %bar, 16 if %one\n")), run, "deadlock");
  // A CTA asks again after a refusal.
  std::string again =
      replaced(persistent, "scf.yield %x, %next, %canceled", "%last = arith.cmpi ult, %new, %c16 : i32\n    scf.yield %c0, %next, %last");
  expectError(unmarked(again), run, "has seen a request fail, and must not make another one");
  expectError(unmarked(replaced(persistent, "%bar = arith.addi %base, %c16", "%bar = arith.addi %base, %c4")), run, "not a multiple of 8");
  // The response is not aligned. The next one may come before this one has been read, or without a fence between the proxies.
  std::string odd =
      replaced(persistent, "%one = ptx.elect", "%c8 = arith.constant 8 : i32\n  %odd = arith.addi %base, %c8 : i32\n  %one = ptx.elect");
  odd = replaced(replaced(odd, "%bar = arith.addi %base, %c16", "%bar = arith.addi %base, %c32"), "%c16 = arith.constant 16 : i32",
                 "%c16 = arith.constant 16 : i32\n  %c32 = arith.constant 32 : i32");
  odd = replaced(replaced(odd, "clc_try_cancel %base", "clc_try_cancel %odd"), "clc_query %base", "clc_query %odd");
  expectError(unmarked(odd), run, "not a multiple of 16");
  expectError(unmarked(without(persistent, "    ptx.fence_async\n")), run,
              "fence_async is missing: warp 0, lane 0 has read the previous response");
  // After a response that says no, its block indices are undefined: as an address here, where the simulator's number is odd.
  std::string undefined =
      replaced(persistent, "scf.yield %x, %next, %canceled : i32, i32, i1\n  }",
               "scf.yield %x, %next, %canceled : i32, i32, i1\n  }\n  %offset = arith.extui %r#0 : i32 to i64\n  %place = "
               "arith.addi %out, %offset : i64\n  ptx.store_global %place, %c0 if %one : i32");
  expectError(unmarked(undefined), run, "is not a multiple of 4");
}

// ---- a pair of CTAs with operands by TMA

/// D of 256 x 32 = A * B of f16 with K = 64: each CTA loads its rows of A and its columns of B, and reports to the even CTA's mbarrier.
std::string pairByTma() {
  MmaTest test;
  test.ctaGroup = 2;
  test.shape.m = 256;
  test.shape.n = 32;
  test.a = {.start = 0, .leading = 16, .stride = 1024, .swizzle = Swizzle::b128};
  test.b = {.start = 16384, .leading = 16, .stride = 1024, .swizzle = Swizzle::b128};
  test.steps = 4;
  std::string text = mmaKernel(test);
  text = replaced(text, "%image: i64, %words: i64, %out: i64", "%a: !ptx.tensor_map, %b: !ptx.tensor_map, %out: i64");
  size_t begin = text.find("  scf.for %i ="), end = text.find("  scf.if %isFirst {\n    ptx.tcgen05_alloc");
  text = text.erase(begin, end - begin);
  text = replaced(text, "  ptx.mbarrier_init_fence\n",
                  "  %full = arith.addi %bar, %c16 : i32\n  ptx.mbarrier_init %full, 1 if %one\n  ptx.mbarrier_init_fence\n");
  std::string loads = constant("ofB", 16384) + "  %placeOfB = arith.addi %base, %ofB : i32\n  %rowsOfA = arith.muli %rank, %c128 : i32\n"
                                               "  %rowsOfB = arith.muli %rank, %c16 : i32\n  %isEvenCta = arith.cmpi eq, %rank, %c0 : "
                                               "i32\n  %expects = arith.andi %isEvenCta, %one : i1\n"
                                               "  ptx.mbarrier_expect %full, 36864 if %expects\n"
                                               "  ptx.tma_load %a [%c0, %rowsOfA] to %base, %full if %one {toLeader}\n"
                                               "  ptx.tma_load %b [%c0, %rowsOfB] to %placeOfB, %full if %one {toLeader}\n";
  return replaced(text, "  scf.if %issues {\n", loads + "  scf.if %issues {\n  ptx.mbarrier_wait %full, %c0 // FULL\n");
}

TEST(TensorPairs, OperandsByTmaReportToTheEvenCta) {
  std::vector<uint16_t> a(256 * 64), b(32 * 64);
  std::vector<double> av(a.size()), bv(b.size());
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = uint16_t(encode(F::f16, av[i] = double((i * 5 + i / 64 * 3) % 13) - 6));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = uint16_t(encode(F::f16, bv[i] = double((i * 3 + i / 64) % 7) - 3));
  std::vector<float> out(256 * 32);
  Launch run;
  run.map(a, MapElement::f16, {64, 256}, {64}, {64, 128}, 128).map(b, MapElement::f16, {64, 32}, {64}, {64, 16}, 128).pointer(out).grid = {
      2, 1, 1};
  ASSERT_EQ(simulateText(pairByTma(), run), "");
  for (size_t row = 0; row < 256; ++row)
    for (size_t n = 0; n < 32; ++n) {
      double sum = 0;
      for (size_t k = 0; k < 64; ++k)
        sum += av[row * 64 + k] * bv[n * 64 + k];
      ASSERT_EQ(out[row * 32 + n], sum) << row << " " << n;
    }
  auto broken = [&](const std::string &text, const std::string &words) {
    std::string message = simulateText(text, run);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  broken(without(pairByTma(), "  ptx.mbarrier_wait %full, %c0 // FULL\n"), "race: an asynchronous copy");
  broken(replaced(pairByTma(), "to %placeOfB, %full if %one {toLeader}", "to %placeOfB, %full if %one"),
         "deadlock"); // the odd CTA's own mbarrier
}

} // namespace
