#include "cpu_harness.h"
#include "tile_emulator.h"

#include "cpu/amx_tiles.h"
#include "cpu/math.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace tilewright::cpu {
namespace {

struct Case {
  int64_t m, n, k;
  bool fromZero;
  bool limited; // only a part is needed, known at run time
};

CpuTarget tileTarget() {
  CpuTarget target = *cpuTarget("amx");
  target.features += ",+amx-fp16";
  target.fp16Tiles = true;
  return target;
}

/// The bits of a small integer, in each of the types.
uint8_t ofByte(int value) {
  return static_cast<uint8_t>(value);
}
uint16_t ofBf16(int value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}
uint16_t ofFp16(int value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}
/// Two numbers of bf16 whose sum is the integer.
uint32_t ofHalves(int value) {
  auto number = static_cast<float>(value);
  uint32_t high = std::bit_cast<uint32_t>(number) & 0xffff0000;
  return high | std::bit_cast<uint32_t>(number - std::bit_cast<float>(high)) >> 16;
}
uint32_t swapped(uint32_t word) {
  return word >> 16 | word << 16;
}

// Small integers: all multiplications and sums are exact, so the order of additions cannot hide a bug. Bytes cover their whole range.
template <typename Bits, typename Sum, Bits (*bitsOf)(int)> void checkDot(Type operand, Type result, const Case &test) {
  CpuTarget target = tileTarget();
  ASSERT_TRUE(fitsTiles(target, operand, test.m, test.n, test.k));
  bool isHalves = isOfHalves(operand);
  DotPlan plan;
  plan.m = test.m, plan.n = test.n, plan.k = test.k, plan.operand = operand, plan.result = result;
  plan.group = 4 / sizeof(Bits), plan.tiles = true;
  plan.aRow = test.k + 8, plan.aCol = 1, plan.aPlaneBytes = isHalves ? test.m * plan.aRow * sizeof(Bits) : 0;
  plan.panel = panelWidth(target, result, test.n), plan.cRow = test.n + 16;
  int64_t rows = test.limited ? test.m - 15 : test.m, columns = test.limited ? test.n - 15 : test.n;
  int64_t length = test.limited ? test.k / 2 + 1 : test.k;
  Compiled kernel(target, 3, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    DotLimits limits;
    if (test.limited) limits = {constantIndex(b, rows), constantIndex(b, columns), constantIndex(b, length)};
    DotPlan limitedPlan = plan;
    if (test.limited) limitedPlan.aRowBytes = constantIndex(b, plan.aRow * sizeof(Bits)); // as if A is read in memory
    configureTiles(b);
    emitDotLoops(b, target, limitedPlan, args[0], args[1], args[2], test.fromZero, limits);
    releaseTiles(b);
  });
  ASSERT_TRUE(kernel);

  std::mt19937 random(1);
  int range = sizeof(Bits) == 1 ? 256 : isHalves ? 601 : 17; // split numbers have 9 bits: more than bf16
  auto number = [&] { return static_cast<int>(random() % range) - range / 2; };
  std::vector<int> left(test.m * test.k), right(test.k * test.n);
  Aligned<Bits> a((isHalves ? 2 : 1) * test.m * plan.aRow), b((isHalves ? 2 : 1) * test.k * test.n);
  Aligned<Sum> c(test.m * plan.cRow);
  for (int64_t i = 0; i < test.m; ++i)
    for (int64_t p = 0; p < test.k; ++p) {
      left[i * test.k + p] = p < length ? number() : 0;
      a[i * plan.aRow + p] = bitsOf(left[i * test.k + p]);
      if constexpr (sizeof(Bits) == 4) a[(test.m + i) * plan.aRow + p] = swapped(a[i * plan.aRow + p]);
    }
  for (int64_t p = 0; p < test.k; ++p)
    for (int64_t j = 0; j < test.n; ++j) {
      right[p * test.n + j] = p < length ? number() : 0;
      int64_t panel = j / plan.panel * test.k * plan.panel, lane = j % plan.panel;
      int64_t at = panel + p / plan.group * plan.group * plan.panel + plan.group * lane + p % plan.group;
      b[at] = bitsOf(right[p * test.n + j]);
      if (isHalves) b[test.k * test.n + at] = b[at];
    }
  for (int64_t i = 0; i < c.size(); ++i)
    c[i] = Sum(number());
  std::vector<Sum> before(c.data(), c.data() + c.size());
  {
    TileEmulator emulator;
    kernel(a.data(), b.data(), c.data());
    EXPECT_FALSE(emulator.isConfigured());
  }
  for (int64_t i = 0; i < test.m; ++i)
    for (int64_t j = 0; j < plan.cRow; ++j) {
      Sum expected = before[i * plan.cRow + j], found = c[i * plan.cRow + j];
      if (i < rows && j < columns) {
        expected = test.fromZero ? Sum(0) : expected;
        for (int64_t p = 0; p < test.k; ++p)
          expected += Sum(left[i * test.k + p] * right[p * test.n + j]);
      } else if (j < test.n && i < (rows + 31) / 32 * 32) {
        continue; // whole blocks are computed
      }
      ASSERT_EQ(found, expected) << test.m << "x" << test.n << "x" << test.k << " row " << i << " column " << j;
    }
}

TEST(MatrixTiles, EveryShapeAndType) {
  Builder b(&testContext());
  for (const Case &test : {Case{16, 16, 64, true, false}, Case{32, 32, 64, false, false}, Case{64, 16, 128, true, false},
                           Case{16, 64, 192, false, false}, Case{64, 64, 256, false, true}, Case{128, 32, 64, true, true}}) {
    checkDot<uint8_t, int32_t, ofByte>(b.getI8Type(), b.getI32Type(), test);
    checkDot<uint16_t, float, ofBf16>(b.getBF16Type(), b.getF32Type(), test);
    checkDot<uint16_t, float, ofFp16>(b.getF16Type(), b.getF32Type(), test);
    checkDot<uint32_t, float, ofHalves>(b.getI32Type(), b.getF32Type(), test);
  }
}

TEST(MatrixTiles, EveryHalfIsTheSumOfTwoNumbersOfBf16) {
  for (const CpuTarget &target : runnableTargets()) {
    constexpr int64_t count = 1 << 16, lanes = 4;
    Compiled kernel(target, 3, [&](ImplicitLocOpBuilder &b, ValueRange args) {
      forEach(b, count, lanes, 0, {}, [&](Value at) {
        Value halves = load(b, vectorOf(b.getF16Type(), lanes), pointerAt(b, args[0], at, 2), 8);
        Value words = bf16Halves(b, target, halves);
        store(b, words, pointerAt(b, args[1], at, 4), 16, false);
        store(b, finiteHalves(b, words, true), pointerAt(b, args[2], at, 4), 16, false);
      });
    });
    ASSERT_TRUE(kernel);
    Aligned<uint16_t> numbers(count);
    Aligned<uint32_t> words(count), second(count);
    for (int64_t i = 0; i < count; ++i)
      numbers[i] = static_cast<uint16_t>(i);
    kernel(numbers.data(), words.data(), second.data());
    for (int64_t i = 0; i < count; ++i) {
      auto number = static_cast<float>(std::bit_cast<_Float16>(numbers[i]));
      float high = std::bit_cast<float>(words[i] & 0xffff0000), low = std::bit_cast<float>(words[i] << 16);
      if (std::isnan(number)) {
        ASSERT_TRUE(std::isnan(high) && low == 0 && second[i] == 0) << i;
      } else {
        ASSERT_EQ(high + low, number) << i;
        ASSERT_TRUE(number == 0 || high != 0) << i;
        ASSERT_EQ(second[i], std::isfinite(number) ? swapped(words[i]) : 0) << i;
      }
    }
  }
}

TEST(MatrixTiles, OnlyWholeTilesOfSupportedTypes) {
  Builder b(&testContext());
  CpuTarget target = *cpuTarget("amx");
  EXPECT_TRUE(fitsTiles(target, b.getBF16Type(), 16, 16, 32));
  EXPECT_TRUE(fitsTiles(target, b.getI8Type(), 16, 16, 64));
  EXPECT_FALSE(fitsTiles(target, b.getF16Type(), 16, 16, 32));
  EXPECT_TRUE(fitsTiles(target, b.getI32Type(), 16, 16, 16)); // in two halves
  EXPECT_FALSE(fitsTiles(target, b.getI32Type(), 16, 16, 8));
  EXPECT_FALSE(fitsTiles(target, b.getF32Type(), 16, 16, 32));
  EXPECT_FALSE(fitsTiles(target, b.getBF16Type(), 8, 16, 32));
  EXPECT_FALSE(fitsTiles(target, b.getBF16Type(), 16, 8, 32));
  EXPECT_FALSE(fitsTiles(target, b.getBF16Type(), 16, 16, 16));
  EXPECT_FALSE(fitsTiles(target, b.getI8Type(), 16, 16, 32));
  EXPECT_FALSE(fitsTiles(*cpuTarget("avx512-dot"), b.getBF16Type(), 16, 16, 32));
}

} // namespace
} // namespace tilewright::cpu
