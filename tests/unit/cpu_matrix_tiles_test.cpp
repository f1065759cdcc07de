#include "cpu_harness.h"
#include "tile_emulator.h"

#include "cpu/matrix_tiles.h"

#include <bit>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace tilewright::cpu {
namespace {

struct Case {
  int64_t m, n, k;
  bool fromZero;
  bool limited; // only a part of it, known when the code runs
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

// Integers, so that every product and sum is exact and the order of additions cannot hide a mistake; bytes of all sizes.
template <typename Bits, typename Sum, Bits (*bitsOf)(int)> void checkProduct(Type operand, Type result, const Case &test) {
  CpuTarget target = tileTarget();
  ASSERT_TRUE(fitsTiles(target, operand, test.m, test.n, test.k));
  DotPlan plan;
  plan.m = test.m, plan.n = test.n, plan.k = test.k, plan.operand = operand, plan.result = result;
  plan.group = 4 / sizeof(Bits), plan.tiles = true;
  plan.aRow = test.k + 8, plan.aCol = 1, plan.panel = panelWidth(target, result, test.n), plan.cRow = test.n + 16;
  int64_t rows = test.limited ? test.m - 15 : test.m, columns = test.limited ? test.n - 15 : test.n;
  int64_t length = test.limited ? test.k / 2 + 1 : test.k;
  Compiled kernel(target, 3, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    DotLimits limits;
    if (test.limited) limits = {constantIndex(b, rows), constantIndex(b, columns), constantIndex(b, length)};
    DotPlan placed = plan;
    if (test.limited) placed.aRowBytes = constantIndex(b, plan.aRow * sizeof(Bits)); // as where A is read in memory
    configureTiles(b);
    emitDotLoops(b, target, placed, args[0], args[1], args[2], test.fromZero, limits);
    releaseTiles(b);
  });
  ASSERT_TRUE(kernel);

  std::mt19937 random(1);
  int range = sizeof(Bits) == 1 ? 256 : 17;
  auto number = [&] { return static_cast<int>(random() % range) - range / 2; };
  std::vector<int> left(test.m * test.k), right(test.k * test.n);
  Aligned<Bits> a(test.m * plan.aRow), b(test.k * test.n);
  Aligned<Sum> c(test.m * plan.cRow);
  for (int64_t i = 0; i < test.m; ++i)
    for (int64_t p = 0; p < test.k; ++p) {
      left[i * test.k + p] = p < length ? number() : 0;
      a[i * plan.aRow + p] = bitsOf(left[i * test.k + p]);
    }
  for (int64_t p = 0; p < test.k; ++p)
    for (int64_t j = 0; j < test.n; ++j) {
      right[p * test.n + j] = p < length ? number() : 0;
      int64_t panel = j / plan.panel * test.k * plan.panel, lane = j % plan.panel;
      b[panel + p / plan.group * plan.group * plan.panel + plan.group * lane + p % plan.group] = bitsOf(right[p * test.n + j]);
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
    checkProduct<uint8_t, int32_t, ofByte>(b.getI8Type(), b.getI32Type(), test);
    checkProduct<uint16_t, float, ofBf16>(b.getBF16Type(), b.getF32Type(), test);
    checkProduct<uint16_t, float, ofFp16>(b.getF16Type(), b.getF32Type(), test);
  }
}

TEST(MatrixTiles, OnlyWholeTilesOfWhatTheMachineHas) {
  Builder b(&testContext());
  CpuTarget target = *cpuTarget("amx");
  EXPECT_TRUE(fitsTiles(target, b.getBF16Type(), 16, 16, 32));
  EXPECT_TRUE(fitsTiles(target, b.getI8Type(), 16, 16, 64));
  EXPECT_FALSE(fitsTiles(target, b.getF16Type(), 16, 16, 32));
  EXPECT_FALSE(fitsTiles(target, b.getF32Type(), 16, 16, 32));
  EXPECT_FALSE(fitsTiles(target, b.getBF16Type(), 8, 16, 32));
  EXPECT_FALSE(fitsTiles(target, b.getBF16Type(), 16, 8, 32));
  EXPECT_FALSE(fitsTiles(target, b.getBF16Type(), 16, 16, 16));
  EXPECT_FALSE(fitsTiles(target, b.getI8Type(), 16, 16, 32));
  EXPECT_FALSE(fitsTiles(*cpuTarget("avx512-dot"), b.getBF16Type(), 16, 16, 32));
}

} // namespace
} // namespace tilewright::cpu
