// The simulator of ptx kernels: results worked out by hand, and planted mistakes, each to be found at its line with its twin passing.
// In a kernel's text, `// HERE` marks the line of the expected error and `// OTHER` that of the access it collides with.
#include "simulate_text.h"

#include <bit>
#include <cmath>

using namespace tilewright;
using namespace tilewright::gpu;

namespace {

uint16_t half(double value) { // exact for the small integers used here
  if (value == 0) return 0;
  int exponent;
  double fraction = std::frexp(std::fabs(value), &exponent);
  return uint16_t((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | (int(fraction * 2048) & 0x3ff));
}

// ---- scalars and control flow

/// `%v : i32` of `body` of each of 64 threads, of 2 blocks.
std::vector<int32_t> perThread(const std::string &body, ApproximationError error = ApproximationError::none, bool mayFuse = true) {
  std::vector<int32_t> out(128, -1);
  std::string text = kernel(64, 0, "%out: i64", R"(
  %t = ptx.thread_id
  %lane = ptx.lane_id
  %b = ptx.block_id 0
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c64 = arith.constant 64 : i32
)" + body + R"(
  %row = arith.muli %b, %c64 : i32
  %i = arith.addi %row, %t : i32
  %i64 = arith.extui %i : i32 to i64
  %four = arith.constant 4 : i64
  %off = arith.muli %i64, %four : i64
  %at = arith.addi %out, %off : i64
  ptx.store_global %at, %v : i32)");
  Launch run;
  run.error = error;
  run.mayFuse = mayFuse;
  run.pointer(out).grid = {2, 1, 1};
  EXPECT_EQ(simulateText(text, run), "");
  return out;
}

TEST(Simulate, Scalars) {
  auto out = perThread("  %x = arith.muli %t, %c3 : i32\n  %v = arith.addi %x, %b : i32");
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(out[size_t(i)], i % 64 * 3 + i / 64);
  out = perThread(R"(
  %f = arith.sitofp %t : i32 to f32
  %third = arith.constant 0.333333343 : f32
  %g = arith.mulf %f, %third : f32
  %v = arith.bitcast %g : f32 to i32)");
  for (int i = 0; i < 64; ++i) {
    float expected = float(i) * 0.333333343f;
    EXPECT_EQ(std::memcmp(&out[size_t(i)], &expected, 4), 0);
  }
  out = perThread(R"(
  %low = arith.constant 1.5 : f32
  %high = arith.constant -2.0 : f32
  %v = ptx.convert_pair %low, %high f16 -> i32)");
  EXPECT_EQ(uint32_t(out[5]), uint32_t(half(-2)) << 16 | half(1.5));
  out = perThread("  %m1 = arith.constant -1 : i32\n  %w = arith.shrsi %m1, %c64 : i32\n  %u = arith.shli %m1, %c64 : i32\n  %v = "
                  "arith.subi %w, %u : i32");
  EXPECT_EQ(out[0], -1);
  out = perThread("  %v = ub.poison : i32"); // a conspicuous value
  EXPECT_EQ(uint32_t(out[0]), 0xdeadbeef);
}

TEST(Simulate, ErrorsOfApproximations) {
  std::string body = R"(
  %f = arith.sitofp %t : i32 to f32
  %r = ptx.special rcp %f : f32
  %v = arith.bitcast %r : f32 to i32)";
  auto exact = perThread(body), down = perThread(body, ApproximationError::down), up = perThread(body, ApproximationError::up),
       mixed = perThread(body, ApproximationError::mixed);
  EXPECT_EQ(up[0], 0x7f800000); // infinity
  EXPECT_EQ(exact[1], 0x3f800000);
  EXPECT_EQ(down[2], 0x3efffffe); // half a unit is a whole one below a power of 2
  EXPECT_EQ(up[2], 0x3f000001);
  EXPECT_EQ(exact[3], 0x3eaaaaab);
  EXPECT_EQ(down[3], 0x3eaaaaaa);
  EXPECT_EQ(up[3], 0x3eaaaaab); // the next one is more than a unit away
  bool isBelow = false, isAbove = false;
  for (size_t t = 1; t < 64; ++t) {
    EXPECT_TRUE(down[t] >= exact[t] - 2 && down[t] <= mixed[t] && mixed[t] <= up[t] && up[t] <= exact[t] + 1) << t;
    isBelow |= mixed[t] < exact[t];
    isAbove |= mixed[t] > exact[t];
  }
  EXPECT_TRUE(isBelow && isAbove);

  // Exact results have errors, too, if PTX bounds the absolute error.
  body = replaced(body, "special rcp", "special lg2");
  EXPECT_EQ(perThread(body)[1], 0);
  EXPECT_EQ(std::bit_cast<float>(perThread(body, ApproximationError::up)[1]), 0x1p-22F);
  EXPECT_EQ(perThread(replaced(body, "special lg2", "special sin"), ApproximationError::up)[0], 0);
}

TEST(Simulate, FusedSums) {
  auto sum = [](const std::string &sum, ApproximationError error, bool mayFuse = true) {
    return perThread(R"(
  %x = arith.constant 1.000244140625 : f32 // 1 + 2^-12, whose square has 2^-24
  %y = arith.constant 1.00048828125 : f32
  %p = arith.mulf %x, %x : f32
  %n = arith.negf %p : f32
)" + sum + "\n  %v = arith.bitcast %s : f32 to i32",
                     error, mayFuse)[0];
  };
  constexpr int32_t lost = 0x33800000, negative = int32_t(0xb3800000); // 2^-24
  const std::string difference = "  %s = arith.subf %p, %y : f32";
  EXPECT_EQ(sum(difference, ApproximationError::none), 0);
  EXPECT_EQ(sum(difference, ApproximationError::down, false), 0);
  EXPECT_EQ(sum(difference, ApproximationError::down), lost);
  EXPECT_EQ(sum("  %s = arith.subf %y, %p : f32", ApproximationError::up), negative);
  EXPECT_EQ(sum("  %s = arith.addf %n, %y : f32", ApproximationError::mixed), negative);
  EXPECT_EQ(sum("  %s = arith.addf %p, %n : f32", ApproximationError::down), lost);
  EXPECT_EQ(sum("  %s = arith.addf %p, %n : f32", ApproximationError::up), negative); // the second product
}

TEST(Simulate, DivergentControlFlow) {
  auto out = perThread(R"(
  %v = scf.for %i = %c0 to %lane step %c1 iter_args(%s = %c0) -> (i32) : i32 {
    %odd = arith.andi %i, %c1 : i32
    %isOdd = arith.cmpi ne, %odd, %c0 : i32
    %n = scf.if %isOdd -> (i32) {
      %a = arith.addi %s, %i : i32
      scf.yield %a : i32
    } else {
      %a = arith.subi %s, %c1 : i32
      scf.yield %a : i32
    }
    scf.yield %n : i32
  })");
  for (int t = 0; t < 64; ++t) {
    int expected = 0;
    for (int i = 0; i < t % 32; ++i)
      expected = i % 2 ? expected + i : expected - 1;
    EXPECT_EQ(out[size_t(t)], expected);
  }
  out = perThread(R"(
  %v, %w = scf.while (%x = %lane, %y = %c0) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi sgt, %x, %c3 : i32
    scf.condition(%more) %y, %x : i32, i32
  } do {
  ^bb0(%y: i32, %x: i32):
    %x2 = arith.subi %x, %c3 : i32
    %y2 = arith.addi %y, %c1 : i32
    scf.yield %x2, %y2 : i32, i32
  })");
  for (int t = 0; t < 64; ++t) {
    int x = t % 32, y = 0;
    for (; x > 3; x -= 3)
      ++y;
    EXPECT_EQ(out[size_t(t)], y);
  }
}

TEST(Simulate, WarpWide) {
  auto out = perThread("  %v = ptx.shuffle bfly %t, %c3 : i32");
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(out[size_t(t)], t ^ 3);
  out = perThread("  %v = ptx.shuffle up %t, %c3 : i32");
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(out[size_t(t)], t % 32 < 3 ? t : t - 3);
  out = perThread("  %v = ptx.redux add %lane");
  EXPECT_EQ(out[40], 31 * 16);
  out = perThread("  %p = arith.cmpi slt, %lane, %c3 : i32\n  %v = ptx.ballot %p");
  EXPECT_EQ(out[9], 7);
  out = perThread("  %m = arith.andi %lane, %c1 : i32\n  %v = ptx.match_any %m");
  EXPECT_EQ(out[1], int32_t(0xaaaaaaaa));
  out = perThread("  %p = ptx.elect\n  %v = arith.extui %p : i1 to i32");
  EXPECT_EQ(std::count(out.begin(), out.end(), 1), 4);
  std::string lanes = kernel(32, 0, "%out: i64", R"(
  %lane = ptx.lane_id
  %p = ptx.elect
  %q = ptx.elect
  %both = arith.andi %p, %q : i1
  ptx.store_global %out, %lane if %both : i32)");
  for (uint64_t seed : {0, 5, 63}) { // any lane, but one for the whole kernel
    std::vector<int32_t> elected(1, -1);
    EXPECT_EQ(simulateOnce(lanes, Launch().pointer(elected), seed, AsyncTiming::random), "");
    EXPECT_EQ(elected[0], int32_t(seed % 32));
  }
  expectError(kernel(32, 0, "%out: i64", R"(
  %lane = ptx.lane_id
  %c3 = arith.constant 3 : i32
  %p = arith.cmpi slt, %lane, %c3 : i32
  scf.if %p {
    %v = ptx.shuffle idx %lane, %c3 : i32 // HERE
  })"),
              Launch{{0}, {}, {}}, "all lanes of the warp must take part, but only 3");
}

TEST(Simulate, GlobalMemory) {
  std::vector<int32_t> data(32), count(4);
  std::string text = kernel(64, 0, "%p: i64, %n: i64", R"(
  %t = ptx.thread_id
  %t64 = arith.extui %t : i32 to i64
  %c4 = arith.constant 4 : i64
  %c1 = arith.constant 1 : i32
  %off = arith.muli %t64, %c4 : i64
  %at = arith.addi %p, %off : i64
  %old = ptx.atomic add relaxed gpu %n, %c1 : i32 -> i32
  ptx.store_global %at, %t : i32 // HERE)");
  Launch run;
  run.pointer(data).pointer(count);
  expectError(text + "", run, "past the end of argument 0");
  data.resize(64);
  count[0] = 0;
  Launch right;
  right.pointer(data).pointer(count);
  EXPECT_EQ(simulateText(text, right), "");
  EXPECT_EQ(count[0], ordersOfText * 64);
  EXPECT_EQ(data[63], 63);
}

// ---- shared memory

const char *exchange = R"(
  %t = ptx.thread_id
  %base = ptx.shared_base
  %c4 = arith.constant 4 : i32
  %c60 = arith.constant 252 : i32
  %off = arith.muli %t, %c4 : i32
  %mine = arith.addi %base, %off : i32
  %far = arith.subi %c60, %off : i32
  %other = arith.addi %base, %far : i32
  ptx.store_shared %mine, %t : i32 // OTHER
  ptx.barrier
  %v = ptx.load_shared %other -> i32 // HERE
  %o64 = arith.extui %off : i32 to i64
  %at = arith.addi %out, %o64 : i64
  ptx.store_global %at, %v : i32)";

TEST(Simulate, SharedMemoryAndBarrier) {
  std::vector<int32_t> out(64);
  Launch run;
  run.pointer(out);
  std::string text = kernel(64, 256, "%out: i64", exchange);
  EXPECT_EQ(simulateText(text, run), "");
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(out[size_t(t)], 63 - t);
  expectError(without(text, "  ptx.barrier\n"), run, "race: ");
  // A second iteration needs a barrier between the reads and the writes that follow.
  std::string again = kernel(64, 256, "%out: i64",
                             replaced(unmarked(exchange), "%other -> i32", "%other -> i32 // OTHER") +
                                 "\n  ptx.barrier\n  ptx.store_shared %mine, %t : i32 // HERE\n");
  EXPECT_EQ(simulateText(again, run), "");
  std::string wrong = again;
  wrong.erase(wrong.rfind("  ptx.barrier\n"), std::strlen("  ptx.barrier\n"));
  expectError(wrong, run, "and nothing orders the two accesses");
  expectError(unmarked(kernel(64, 128, "%out: i64", exchange)), run, "outside of shared memory");
}

TEST(Simulate, NamedBarriersAndDeadlock) {
  auto text = [](const std::string &threads) {
    return kernel(64, 256, "%out: i64",
                  R"(
  %w = ptx.warp_id
  %c0 = arith.constant 0 : i32
  %base = ptx.shared_base
  %first = arith.cmpi eq, %w, %c0 : i32
  scf.if %first {
    ptx.store_shared %base, %w : i32
    ptx.barrier_arrive 1, 64
  } else {
    ptx.barrier {id = 1 : i32, threads = )" +
                      threads + R"( : i32} // HERE
    %v = ptx.load_shared %base -> i32
  })");
  };
  std::string right = replaced(text("64"), "ptx.barrier_arrive 1, 64", "ptx.barrier_arrive {id = 1 : i32, threads = 64 : i32}");
  Launch run{{0}, {}, {}};
  EXPECT_EQ(simulateText(right, run), "");
  expectError(without(right, "    ptx.barrier_arrive {id = 1 : i32, threads = 64 : i32}\n"), run, "deadlock: warp 1 waits for barrier 1");
}

TEST(Simulate, BarriersOfWarpGroups) {
  std::string right = kernel(256, 1024, "%out: i64", R"(
  %w = ptx.warp_id
  %t = ptx.thread_id
  %c4 = arith.constant 4 : i32
  %c128 = arith.constant 128 : i32
  %c512 = arith.constant 512 : i32
  %base = ptx.shared_base
  %offset = arith.muli %t, %c4 : i32
  %mine = arith.addi %base, %offset : i32
  %of_next = arith.xori %offset, %c128 : i32
  %next = arith.addi %base, %of_next : i32
  ptx.store_shared %mine, %t : i32
  ptx.barrier of %w {id = 4 : i32, perWarpGroup, threads = 128 : i32}
  %v = ptx.load_shared %next -> i32)");
  Launch run{{0}, {}, {}};
  EXPECT_EQ(simulateText(right, run), "");
  expectError(replaced(right, "of_next = arith.xori %offset, %c128", "of_next = arith.xori %offset, %c512"), run,
              "nothing orders the two accesses");
  expectError(replaced(right, "barrier of %w", "barrier of %t"), run, "the threads of a warp arrive at different barriers");
}

TEST(Simulate, WarpsMeetAtOneBarrier) {
  // A warp that leaves the loop an iteration earlier comes to the next barrier while the other one waits in the loop.
  std::string right = kernel(64, 0, "%out: i64", R"(
  %w = ptx.warp_id
  %c1 = arith.constant 1 : i32
  %count = arith.addi %c1, %c1 : i32
  scf.for %i = %c1 to %count step %c1 : i32 {
    ptx.barrier
  }
  ptx.barrier)");
  Launch run{{0}, {}, {}};
  EXPECT_EQ(simulateText(right, run), "");
  std::string error = simulateText(replaced(right, "arith.addi %c1, %c1", "arith.addi %w, %c1"), run);
  EXPECT_NE(error.find("control flow has diverged"), std::string::npos) << error; // whichever warp comes second finds it
}

// ---- cp.async

TEST(Simulate, CopyAsync) {
  std::string text = kernel(64, 1024, "%in: i64, %out: i64", R"(
  %t = ptx.thread_id
  %base = ptx.shared_base
  %c16 = arith.constant 16 : i32
  %last = arith.constant 1008 : i32
  %off = arith.muli %t, %c16 : i32
  %o64 = arith.extui %off : i32 to i64
  %src = arith.addi %in, %o64 : i64
  %dst = arith.addi %base, %off : i32
  ptx.copy_async %dst, %src {bytes = 16 : i32} // OTHER
  ptx.copy_commit
  ptx.copy_wait 0
  ptx.barrier
  %far = arith.subi %last, %off : i32
  %other = arith.addi %base, %far : i32
  %v:4 = ptx.load_shared %other -> i32, i32, i32, i32 // HERE
  %at = arith.addi %out, %o64 : i64
  ptx.store_global %at, %v#0, %v#1, %v#2, %v#3 : i32, i32, i32, i32)");
  std::vector<int32_t> in(256), out(256);
  for (int i = 0; i < 256; ++i)
    in[size_t(i)] = i;
  Launch run;
  run.pointer(in).pointer(out);
  EXPECT_EQ(simulateText(text, run), "");
  EXPECT_EQ(out[1], 253);
  expectError(without(text, "  ptx.copy_wait 0\n"), run, "still fills these bytes");
  expectError(without(text, "  ptx.barrier\n"), run, "race: ");
}

// ---- matrices in registers

TEST(Simulate, LdmatrixMma) {
  // a[16][16] at 0, b as n, k [8][16] at 512, both f16; c = a * b.
  std::string text = kernel(32, 1024, "%a: i64, %out: i64", R"(
  %t = ptx.lane_id
  %base = ptx.shared_base
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %c15 = arith.constant 15 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %c24 = arith.constant 24 : i32
  %c32 = arith.constant 32 : i32
  %zero = arith.constant 0.0 : f32
  %off = arith.muli %t, %c24 : i32
  // 768 bytes in: 24 of each lane
  %o64 = arith.extui %off : i32 to i64
  %src = arith.addi %a, %o64 : i64
  %dst = arith.addi %base, %off : i32
  %x:2 = ptx.load_global %src -> i32, i32
  ptx.store_shared %dst, %x#0, %x#1 : i32, i32
  %c8l = arith.constant 8 : i64
  %c16l = arith.constant 16 : i64
  %src1 = arith.addi %src, %c8l : i64
  %src2 = arith.addi %src, %c16l : i64
  %y:2 = ptx.load_global %src1 -> i32, i32
  ptx.store_shared %dst, %y#0, %y#1 {offset = 8 : i32} : i32, i32
  %z:2 = ptx.load_global %src2 -> i32, i32
  ptx.store_shared %dst, %z#0, %z#1 {offset = 16 : i32} : i32, i32
  ptx.warp_barrier
  // matrices of a: rows 0-7 and 8-15 of columns 0-7, then of columns 8-15
  %row = arith.andi %t, %c15 : i32
  %half = arith.shrui %t, %c4 : i32
  %r32 = arith.muli %row, %c32 : i32
  %h16 = arith.muli %half, %c16 : i32
  %p0 = arith.addi %base, %r32 : i32
  %p = arith.addi %p0, %h16 : i32
  %af:4 = ptx.ldmatrix %p -> i32, i32, i32, i32
  %n = arith.andi %t, %c7 : i32
  %n32 = arith.muli %n, %c32 : i32
  %k = arith.shrui %t, %c3 : i32
  %k1 = arith.andi %k, %c1 : i32
  %k16 = arith.muli %k1, %c16 : i32
  %q0 = arith.addi %base, %n32 : i32
  %q = arith.addi %q0, %k16 : i32
  %bf:2 = ptx.ldmatrix %q {offset = 512 : i32} -> i32, i32
  %d:4 = "ptx.mma"(%af#0, %af#1, %af#2, %af#3, %bf#0, %bf#1, %zero, %zero, %zero, %zero)
    <{aFormat = 0 : i32, bFormat = 0 : i32, cFormat = 7 : i32, operandSegmentSizes = array<i32: 4, 2, 4>}>
    : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %c16b = arith.muli %t, %c16 : i32
  %w = arith.extui %c16b : i32 to i64
  %at = arith.addi %out, %w : i64
  ptx.store_global %at, %d#0, %d#1, %d#2, %d#3 : f32, f32, f32, f32)");
  std::vector<uint16_t> in(384);
  std::vector<double> value(384);
  for (int i = 0; i < 384; ++i) {
    value[size_t(i)] = (i * 7 + i / 16 * 3) % 11 - 5;
    in[size_t(i)] = half(value[size_t(i)]);
  }
  std::vector<float> out(128);
  Launch run;
  run.pointer(in).pointer(out);
  ASSERT_EQ(simulateText(text, run), "");
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 4; ++e) {
      int row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
      double sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += value[size_t(row * 16 + k)] * value[size_t(256 + column * 16 + k)];
      EXPECT_EQ(out[size_t(lane * 4 + e)], sum);
    }
}

// ---- TMA and mbarriers

/// Copies a box of 64 x 8 f16 in through the barrier at 8192, and out again.
const std::string tmaCopy = kernel(64, 16384, "%in: !ptx.tensor_map, %out: !ptx.tensor_map", R"(
  %base = ptx.shared_base
  %w = ptx.warp_id
  %c0 = arith.constant 0 : i32
  %c8192 = arith.constant 8192 : i32
  %c4096 = arith.constant 4096 : i32
  %bar = arith.addi %base, %c8192 : i32
  %stage = arith.addi %base, %c4096 : i32
  %isFirst = arith.cmpi eq, %w, %c0 : i32
  %leader = ptx.elect
  %one = arith.andi %isFirst, %leader : i1
)" + loadByTma("ptx.barrier") + R"(  ptx.mbarrier_wait %bar, %c0
  %t = ptx.thread_id
  %c16 = arith.constant 16 : i32
  %off = arith.muli %t, %c16 : i32
  %src = arith.addi %base, %off : i32
  %dst = arith.addi %stage, %off : i32
  %v:4 = ptx.load_shared %src -> i32, i32, i32, i32
  ptx.store_shared %dst, %v#0, %v#1, %v#2, %v#3 : i32, i32, i32, i32
  ptx.fence_async
  ptx.barrier
  ptx.tma_store %out [%c0, %c0] from %stage if %one
  ptx.tma_commit
  ptx.tma_wait 0
)");

TEST(Simulate, Tma) {
  std::vector<uint16_t> in(64 * 6), out(64 * 8, 9);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint16_t(i);
  for (int64_t swizzle : {0, 128}) {
    Launch run;
    run.map(in, MapElement::f16, {64, 6}, {64}, {64, 8}, swizzle).map(out, MapElement::f16, {64, 8}, {64}, {64, 8}, swizzle);
    ASSERT_EQ(simulateText(tmaCopy, run), "");
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], i < in.size() ? in[i] : 0) << i;

    expectError(without(tmaCopy, "  ptx.mbarrier_wait %bar, %c0\n"), run, "race: ");
    expectError(without(tmaCopy, "  ptx.fence_async\n"), run, " wrote these bytes (ptx.store_shared");
    expectError(without(tmaCopy, "  ptx.mbarrier_init_fence\n"), run, "mbarrier_init_fence is missing");
    expectError(without(tmaCopy, "  ptx.tma_wait 0\n"), run, "without a tma_wait");
    expectError(replaced(tmaCopy, "expect %bar, 1024 if", "expect %bar, 2048 if"), run,
                "deadlock: warp 0 waits for parity 0 of the mbarrier at byte 8192");
    std::string late = replaced(tmaCopy, "ptx.tma_commit", "ptx.tma_commit\n  ptx.store_shared %dst, %t if %one : i32 // HERE");
    expectError(late, run, "may still be reading");
    std::string wrongPhase = replaced(tmaCopy, "  ptx.fence_async\n",
                                      "  %c1 = arith.constant 1 : i32\n  ptx.fence_async\n  ptx.mbarrier_wait %bar, %c1 // HERE\n");
    expectError(wrongPhase, run, "deadlock");
  }
  // A wait for the wrong parity passes at once, and then nothing orders the reads.
  Launch run;
  run.map(in, MapElement::f16, {64, 6}, {64}, {64, 8}, 0).map(out, MapElement::f16, {64, 8}, {64}, {64, 8}, 0);
  std::string early = replaced(tmaCopy, "ptx.mbarrier_wait %bar, %c0", "%c1 = arith.constant 1 : i32\n  ptx.mbarrier_wait %bar, %c1");
  expectError(early, run, "race: ");
}

TEST(Simulate, TmaPadsPairs) {
  struct alignas(32) Row {
    uint8_t bytes[64];
  };
  std::vector<Row> in(6);
  std::vector<uint8_t> out(8 * 128, 9);
  for (size_t i = 0; i < in.size() * 64; ++i)
    in[i / 64].bytes[i % 64] = uint8_t(i + i / 64);
  std::string text = replaced(tmaCopy, "expect %bar, 1024 if", "expect %bar, 512 if"); // padding does not count
  auto launch = [&](std::vector<int64_t> dims, std::vector<int64_t> strides, std::vector<int64_t> box, int64_t swizzle) {
    Launch run;
    run.map(in, MapElement::paddedPairs, std::move(dims), std::move(strides), std::move(box), swizzle);
    run.map(out, MapElement::u8, {128, 8}, {128}, {128, 8}, swizzle == 64 ? 0 : swizzle);
    return run;
  };
  for (int64_t swizzle : {0, 128}) {
    Launch run = launch({64, 6}, {64}, {64, 8}, swizzle);
    ASSERT_EQ(simulateText(text, run), "");
    for (size_t row = 0; row < 8; ++row)
      for (size_t byte = 0; byte < 64; ++byte)
        EXPECT_EQ(out[row * 128 + byte / 8 * 16 + byte % 8], row < in.size() ? in[row].bytes[byte] : 0) << row << " " << byte;
    expectError(tmaCopy, run, "deadlock");
    std::string middle = replaced(text, "  ptx.tma_load %in [%c0", "  %c64 = arith.constant 64 : i32\n  ptx.tma_load %in [%c64");
    expectError(middle, run, "the inner coordinate of a box of 4-bit numbers with padding is not a multiple of 128");
  }
  expectError(text, launch({32, 6}, {64}, {64, 8}, 0), "the inner extent of a tensor map of 4-bit numbers with padding is not");
  expectError(text, launch({64, 4}, {80}, {64, 8}, 0),
              "a stride of a tensor map of 4-bit numbers with padding is not a multiple of 32 bytes");
  expectError(text, launch({64, 6}, {64}, {32, 8}, 0), "the inner extent of a box of 4-bit numbers with padding is not 128 numbers");
  expectError(text, launch({64, 6}, {64}, {64, 8}, 64), "the inner extent of the tensor map's box is larger than its swizzle");
}

// ---- global memory, between the warps of one program

/// Thread i of two warps stores to element i; after a barrier it loads (or stores to, or adds to) element 63 - i, which the other warp
/// wrote.
std::string inOtherOrder(const std::string &access) {
  return kernel(64, 0, "%x: i64, %out: i64", R"(
  %t = ptx.thread_id
  %c4 = arith.constant 4 : i32
  %c63 = arith.constant 63 : i32
  %one = arith.constant 1 : i32
  %rest = arith.subi %c63, %t : i32
  %mine = arith.muli %t, %c4 : i32
  %theirs = arith.muli %rest, %c4 : i32
  %mineWide = arith.extui %mine : i32 to i64
  %theirsWide = arith.extui %theirs : i32 to i64
  %at = arith.addi %x, %mineWide : i64
  %other = arith.addi %x, %theirsWide : i64
  %o = arith.addi %out, %mineWide : i64
  ptx.store_global %at, %t : i32 // OTHER
  ptx.barrier
)" + access);
}

TEST(Simulate, RacesInGlobalMemory) {
  std::vector<int32_t> x(64), out(64);
  Launch run;
  run.pointer(x).pointer(out);
  std::string load = inOtherOrder("  %v = ptx.load_global %other -> i32 // HERE\n  ptx.store_global %o, %v : i32");
  ASSERT_EQ(simulateText(load, run), "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[size_t(i)], 63 - i);
  std::string store = inOtherOrder("  ptx.store_global %other, %one : i32 // HERE");
  std::string add = inOtherOrder("  %v = ptx.atomic add acq_rel gpu %other, %one : i32 -> i32 // HERE");
  for (const std::string &text : {load, store, add}) {
    EXPECT_EQ(simulateText(text, run), "");
    expectError(without(text, "  ptx.barrier\n"), run, "and nothing orders the two accesses");
  }
  // A barrier of one warp alone orders nothing; an access of the same warp needs none.
  expectError(replaced(load, "  ptx.barrier\n", "  ptx.warp_barrier\n"), run, "and nothing orders the two accesses");
  EXPECT_EQ(simulateText(without(replaced(load, "load_global %other", "load_global %at"), "  ptx.barrier\n"), run), "");
  // Atomics do not race with each other, nor do stores of what is there already.
  std::string adds =
      replaced(without(add, "  ptx.barrier\n"), "ptx.store_global %at, %t : i32", "%w = ptx.atomic add relaxed gpu %at, %one : i32 -> i32");
  EXPECT_EQ(simulateText(adds, run), "");
  std::string same = without(store, "  ptx.barrier\n");
  EXPECT_EQ(simulateText(replaced(same, "ptx.store_global %at, %t", "ptx.store_global %at, %one"), run), "");
}

// What a TMA store writes is there after a wait for the whole of it; tma_wait.read frees its source alone.
TEST(Simulate, TmaStoresLandLate) {
  std::string text = kernel(32, 2048, "%map: !ptx.tensor_map, %out: i64, %x: i64", R"(
  %base = ptx.shared_base
  %t = ptx.lane_id
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %offset = arith.muli %t, %c4 : i32
  %wide = arith.extui %offset : i32 to i64
  %s = arith.addi %base, %offset : i32
  %at = arith.addi %x, %wide : i64
  %o = arith.addi %out, %wide : i64
  %one = ptx.elect
  ptx.store_shared %s, %t : i32
  ptx.fence_async
  ptx.warp_barrier
  ptx.tma_store %map [%c0] from %base if %one // OTHER
  ptx.tma_commit
  ptx.tma_wait 0 {read}
  ptx.store_shared %s, %c4 : i32
  ptx.fence_async
  ptx.tma_wait 0
  ptx.warp_barrier
  ptx.tma_store %map [%c0] from %base if %one // HERE
  ptx.tma_commit
  ptx.tma_wait 0 // THE LAST
  ptx.warp_barrier
  %v = ptx.load_global %at -> i32
  ptx.store_global %o, %v : i32)");
  std::vector<int32_t> x(32), out(32);
  Launch run;
  run.map(x, MapElement::u32, {32}, {}, {32}, 0).pointer(out).pointer(x);
  ASSERT_EQ(simulateText(text, run), "");
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(out[size_t(i)], 4);
  // Without the second store: what the first one left of its source, though that was written again at once.
  std::string once =
      without(text, "  ptx.tma_wait 0\n  ptx.warp_barrier\n  ptx.tma_store %map [%c0] from %base if %one // HERE\n  ptx.tma_commit\n");
  ASSERT_EQ(simulateText(once, run), "");
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(out[size_t(i)], i);
  expectError(without(text, "  ptx.tma_wait 0\n"), run, "may still be writing there");
  expectError(unmarked(replaced(text, "ptx.tma_wait 0 // THE LAST", "ptx.tma_wait 0 {read}")), run, "may still be writing there");
  expectError(unmarked(replaced(once, "ptx.tma_wait 0 // THE LAST", "ptx.tma_wait 0 {read}")), run, "may still be writing there");
}

// ---- wgmma

/// One tile of 64 x 16 x 64 f16, a and b by TMA with swizzle 128. b: N rows of K, or (transposed) K rows of N.
std::string wgmmaKernel(bool registerFence, bool wait) {
  std::string values, types, zeros, results;
  std::string text = R"(
  %base = ptx.shared_base
  %w = ptx.warp_id
  %c0 = arith.constant 0 : i32
  %c8192 = arith.constant 8192 : i32
  %c16384 = arith.constant 16384 : i32
  %bbase = arith.addi %base, %c8192 : i32
  %bar = arith.addi %base, %c16384 : i32
  %isFirst = arith.cmpi eq, %w, %c0 : i32
  %leader = ptx.elect
  %one = arith.andi %isFirst, %leader : i1
  ptx.mbarrier_init %bar, 1 if %one
  ptx.mbarrier_init_fence
  ptx.barrier
  ptx.mbarrier_expect %bar, 10240 if %one
  ptx.tma_load %a [%c0, %c0] to %base, %bar if %one
  ptx.tma_load %b [%c0, %c0] to %bbase, %bar if %one
  ptx.mbarrier_wait %bar, %c0
  %zero = arith.constant 0.0 : f32
  %high = arith.constant 4611686293305294848 : i64
  %c4 = arith.constant 4 : i32
  %sa = arith.shrui %base, %c4 : i32
  %sb = arith.shrui %bbase, %c4 : i32
  %al = arith.extui %sa : i32 to i64
  %bl = arith.extui %sb : i32 to i64
  %ad0 = arith.ori %al, %high : i64
  %bd0 = arith.ori %bl, %high : i64
)";
  if (registerFence) text += "  ptx.wgmma_fence\n";
  std::string previous = "%zero, %zero, %zero, %zero, %zero, %zero, %zero, %zero";
  for (int step = 0; step < 4; ++step) {
    std::string k = std::to_string(step);
    if (step)
      text += "  %two" + k + " = arith.constant " + std::to_string(2 * step) + " : i64\n  %ad" + k + " = arith.addi %ad0, %two" + k +
              " : i64\n  %bd" + k + " = arith.addi %bd0, %two" + k + " : i64\n";
    text += "  %d" + k + ":8 = \"ptx.wgmma\"(%ad" + k + ", %bd" + k + ", " + previous +
            ") <{n = 16 : i32, aFormat = 0 : i32, bFormat = 0 : i32, cFormat = 7 : i32, operandSegmentSizes = array<i32: 1, 1, 8, 0>}> : "
            "(i64, i64, "
            "f32, f32, f32, f32, f32, f32, f32, f32) -> (f32, f32, f32, f32, f32, f32, f32, f32)\n";
    previous = "";
    for (int i = 0; i < 8; ++i)
      previous += (i ? ", %d" : "%d") + k + "#" + std::to_string(i);
  }
  text += "  ptx.wgmma_commit\n";
  std::string result = "%d3";
  if (wait) {
    text +=
        "  %r:8 = ptx.wgmma_wait 0, " + previous + " : f32, f32, f32, f32, f32, f32, f32, f32 -> f32, f32, f32, f32, f32, f32, f32, f32\n";
    result = "%r";
  }
  text += R"(
  %t = ptx.thread_id
  %c32 = arith.constant 32 : i32
  %off = arith.muli %t, %c32 : i32
  %o64 = arith.extui %off : i32 to i64
  %at = arith.addi %out, %o64 : i64
  %c16l = arith.constant 16 : i64
  %at2 = arith.addi %at, %c16l : i64
)";
  auto four = [&](int first) {
    std::string list;
    for (int i = first; i < first + 4; ++i)
      list += (i > first ? ", " : "") + result + "#" + std::to_string(i);
    return list;
  };
  text += "  ptx.store_global %at, " + four(0) + " : f32, f32, f32, f32 // HERE\n  ptx.store_global %at2, " + four(4) +
          " : f32, f32, f32, f32\n";
  return kernel(128, 16384 + 8, "%out: i64, %a: !ptx.tensor_map, %b: !ptx.tensor_map", text);
}

TEST(Simulate, Wgmma) {
  std::vector<uint16_t> a(64 * 64), b(16 * 64);
  std::vector<double> av(a.size()), bv(b.size());
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = half(av[i] = double((i * 5 + i / 64 * 3) % 13) - 6);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = half(bv[i] = double((i * 3 + i / 64) % 7) - 3);
  std::vector<float> out(128 * 8);
  Launch run;
  run.pointer(out).map(a, MapElement::f16, {64, 64}, {64}, {64, 64}, 128).map(b, MapElement::f16, {64, 16}, {64}, {64, 16}, 128);
  // The high word: swizzle 128 (mode 1), strides of 1024 between groups of 8 rows.
  std::string text = wgmmaKernel(true, true);
  ASSERT_EQ(simulateText(text, run), "");
  for (int thread = 0; thread < 128; ++thread)
    for (int e = 0; e < 8; ++e) {
      int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (e / 2 % 2), column = thread % 4 * 2 + e % 2 + 8 * (e / 4);
      double sum = 0;
      for (int k = 0; k < 64; ++k)
        sum += av[size_t(row * 64 + k)] * bv[size_t(column * 64 + k)];
      ASSERT_EQ(out[size_t(thread * 8 + e)], sum) << thread << " " << e;
    }
  expectError(wgmmaKernel(true, false), run, "is used without a wgmma_wait");
  expectError(unmarked(wgmmaKernel(false, true)), run, "wgmma_fence is missing");
  expectError(without(unmarked(text), "  ptx.mbarrier_wait %bar, %c0\n"), run, "race: ");
  // One warp's wait speaks for the whole warpgroup; no wait, and the bytes are not free.
  std::string refill = "  ptx.mbarrier_expect %bar, 8192 if %one\n  ptx.tma_load %a [%c0, %c0] to %base, %bar if %one\n";
  std::string waited = refill + "  %c1 = arith.constant 1 : i32\n  ptx.mbarrier_wait %bar, %c1\n  %t = ptx.thread_id\n";
  EXPECT_EQ(simulateText(replaced(text, "  %t = ptx.thread_id\n", waited), run), "");
  expectError(unmarked(replaced(text, "  %r:8 =", refill + "  %r:8 =")), run, "may still be reading");
  // Bytes written by threads need their fence.
  std::string written =
      replaced(text, "  ptx.wgmma_fence\n", "  ptx.store_shared %base, %c0 if %one : i32 // OTHER\n  ptx.barrier\n  ptx.wgmma_fence\n");
  expectError(replaced(written, " // HERE", ""), run, "fence_async is missing");
}

TEST(Simulate, WgmmaTransposed) {
  // b as 64 rows of K with 16 columns of N: swizzle 32 (mode 3), 256 bytes to the next 8 rows, 512 (32 encoded) to the next instruction.
  std::string text = replaced(wgmmaKernel(true, true), "%bd0 = arith.ori %bl, %high : i64",
                              "%bhigh = arith.constant -4611685949707911168 : i64\n  %bd0 = arith.ori %bl, %bhigh : i64");
  for (int step = 0; step < 4; ++step) {
    std::string k = std::to_string(step);
    if (step)
      text = replaced(text, "%bd" + k + " = arith.addi %bd0, %two" + k,
                      "%n" + k + " = arith.constant " + std::to_string(32 * step) + " : i64\n  %bd" + k + " = arith.addi %bd0, %n" + k);
    text = replaced(text, "bFormat = 0 : i32, cFormat", "bFormat = 0 : i32, bTransposed, cFormat");
  }
  std::vector<uint16_t> a(64 * 64), b(64 * 16);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = half(double((i * 5 + i / 64 * 3) % 13) - 6);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = half(double((i * 3 + i / 16) % 7) - 3);
  std::vector<float> out(128 * 8);
  Launch run;
  run.pointer(out).map(a, MapElement::f16, {64, 64}, {64}, {64, 64}, 128).map(b, MapElement::f16, {16, 64}, {16}, {16, 64}, 32);
  ASSERT_EQ(simulateText(text, run), "");
  for (int thread = 0; thread < 128; ++thread)
    for (int e = 0; e < 8; ++e) {
      int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (e / 2 % 2), column = thread % 4 * 2 + e % 2 + 8 * (e / 4);
      double sum = 0;
      for (int k = 0; k < 64; ++k)
        sum += double(((row * 64 + k) * 5 + row * 3) % 13 - 6) * double(((k * 16 + column) * 3 + k) % 7 - 3);
      ASSERT_EQ(out[size_t(thread * 8 + e)], sum) << thread << " " << e;
    }
}

TEST(Simulate, RefusesByName) {
  expectError(kernel(32, 0, "", "  %r = ptx.inline \"mov\", \"=r\" true () : () -> i32 // HERE"), {},
              "ptx.inline is not supported by the simulator");
}

} // namespace
