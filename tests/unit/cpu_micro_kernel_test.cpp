#include "cpu_harness.h"

#include "cpu/micro_kernel.h"

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
  bool columnMajorA;
};

// Small integers: all multiplications and sums are exact in every type, so the order of additions cannot hide a bug.
template <typename Operand, typename Result> void checkDot(const CpuTarget &target, Type operand, Type result, const Case &test) {
  DotPlan plan;
  plan.group = operand.isInteger(16) ? 2 : operand.isInteger(8) ? 4 : 1;
  plan.m = test.m, plan.n = test.n, plan.k = test.k;
  plan.operand = operand, plan.result = result;
  plan.aRow = test.columnMajorA ? 1 : test.k + 4;
  plan.aCol = test.columnMajorA ? test.m + 2 : 1;
  plan.panel = panelWidth(target, result, test.n);
  plan.cRow = test.n + 8;
  // Whole register blocks are computed, so elements slightly beyond these limits may change.
  int64_t rows = test.limited ? (test.m + 1) / 2 : test.m, columns = test.limited ? (test.n + 1) / 2 : test.n;
  int64_t length = test.limited ? (test.k + 1) / 2 : test.k;
  Compiled kernel(target, 4, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    DotLimits limits;
    plan.rowSums = args[3];
    if (test.limited) limits = {constantIndex(b, rows), constantIndex(b, columns), constantIndex(b, length)};
    emitDotLoops(b, target, plan, args[0], args[1], args[2], test.fromZero, limits);
  });
  ASSERT_TRUE(kernel);

  std::mt19937 random(1);
  auto small = [&] { return static_cast<int>(random() % 9) - 4; };
  // B's bytes have 128 added.
  constexpr int offset = std::is_same_v<Operand, int8_t> ? 128 : 0;
  Aligned<Operand> a((test.m + 4) * (test.k + 4)), b(test.n * test.k);
  Aligned<Result> c(test.m * plan.cRow);
  for (int64_t i = 0; i < a.size(); ++i)
    a[i] = Operand(small());
  for (int64_t i = 0; i < b.size(); ++i)
    b[i] = Operand(small() + offset);
  for (int64_t i = 0; i < c.size(); ++i)
    c[i] = Result(small());
  std::vector<Result> before(c.data(), c.data() + c.size()), expected = before;
  for (int64_t i = 0; i < test.m; ++i)
    for (int64_t j = 0; j < test.n; ++j) {
      Result &sum = expected[i * plan.cRow + j];
      if (test.fromZero) sum = Result(0);
      for (int64_t p = 0; p < test.k; ++p) {
        int64_t panel = j / plan.panel * test.k * plan.panel, lane = j % plan.panel;
        int64_t at = p / plan.group * plan.group * plan.panel + plan.group * lane + p % plan.group;
        Operand &left = a[i * plan.aRow + p * plan.aCol], &right = b[panel + at];
        if (p >= length) left = Operand(0), right = Operand(offset);
        sum += Result(left) * Result(Operand(right - offset));
      }
    }
  Aligned<Result> rowSums(test.m);
  kernel(a.data(), b.data(), c.data(), rowSums.data());
  for (int64_t i = 0; i < c.size(); ++i) {
    bool isWanted = i / plan.cRow < rows && i % plan.cRow < columns;
    bool isLeft = i / plan.cRow >= rows + 16 || (i % plan.cRow >= columns + plan.panel && i % plan.cRow < test.n);
    if (test.limited && isLeft) ASSERT_EQ(c[i], before[i]);
    if (isWanted)
      ASSERT_EQ(c[i], expected[i]) << target.name << " " << test.m << "x" << test.n << "x" << test.k << " row " << i / plan.cRow
                                   << " column " << i % plan.cRow;
  }
}

TEST(MicroKernel, EveryShapeAndType) {
  Builder b(&testContext());
  for (const CpuTarget &target : runnableTargets())
    for (const Case &test :
         {Case{128, 32, 16, false, false, false}, Case{64, 64, 8, true, false, false}, Case{16, 16, 16, false, true, false},
          Case{8, 128, 4, false, false, true}, Case{1, 64, 32, false, false, false}, Case{2, 16, 64, false, true, true},
          Case{4, 8, 2, true, false, false}, Case{32, 4, 16, false, false, false}, Case{16, 2, 8, false, false, true},
          Case{8, 1, 16, false, true, false}, Case{1, 1, 2, false, false, false}}) {
      checkDot<float, float>(target, b.getF32Type(), b.getF32Type(), test);
      checkDot<double, double>(target, b.getF64Type(), b.getF64Type(), test);
      checkDot<int16_t, int32_t>(target, b.getI16Type(), b.getI32Type(), test);
      if (target.byteDot && test.n >= 4 && test.k % 4 == 0) checkDot<int8_t, int32_t>(target, b.getI8Type(), b.getI32Type(), test);
    }
}

TEST(MicroKernel, OneStepOfK) {
  Builder b(&testContext());
  for (const CpuTarget &target : runnableTargets()) {
    checkDot<float, float>(target, b.getF32Type(), b.getF32Type(), {16, 32, 1, false, false, false});
    checkDot<double, double>(target, b.getF64Type(), b.getF64Type(), {2, 2, 1, true, false, true});
  }
}

TEST(MicroKernel, NothingIsSpilled) {
  Builder builder(&testContext());
  for (const char *level : {"sse2", "avx2", "avx512", "avx512-dot"}) {
    std::optional<CpuTarget> target = cpuTarget(level);
    ASSERT_TRUE(target);
    llvm::SmallVector<Type> types = {builder.getF32Type(), builder.getF64Type()};
    if (target->byteDot) types.append({builder.getBF16Type(), builder.getI8Type()});
    for (Type type : types) {
      OwningOpRef<ModuleOp> module = buildModule(4, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        Type sum = type.isBF16() ? b.getF32Type() : type.isInteger(8) ? Type(b.getI32Type()) : type;
        int64_t group = type.isBF16() ? 2 : type.isInteger(8) ? 4 : 1;
        DotPlan plan{128, 128, 64, type, sum, group, 64, 1, panelWidth(*target, sum, 128), 128};
        plan.rowSums = args[3];
        emitDotLoops(b, *target, plan, args[0], args[1], args[2], /*fromZero=*/false, {});
      });
      ASSERT_TRUE(succeeded(lowerToLlvm(*module)));
      std::optional<std::string> text = generateCode(*module, *target, CodeKind::assembly);
      ASSERT_TRUE(text);
      EXPECT_EQ(text->find("Spill"), std::string::npos) << level;
      EXPECT_EQ(text->find("(%rsp)"), std::string::npos) << level;
    }
  }
}

template <typename T> void checkTranspose(const CpuTarget &target, Type element, int64_t n) {
  Compiled kernel(target, 2, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < n; ++i)
      rows.push_back(load(b, vectorOf(element, n), pointerAtConstant(b, args[0], i * n * sizeof(T)), sizeof(T)));
    SmallVector<Value> columns = transposeSquare(b, rows);
    for (int64_t i = 0; i < n; ++i)
      store(b, columns[i], pointerAtConstant(b, args[1], i * n * sizeof(T)), sizeof(T), /*nonTemporal=*/false);
  });
  ASSERT_TRUE(kernel);
  std::vector<T> in(n * n), out(n * n);
  for (int64_t i = 0; i < n * n; ++i)
    in[i] = T(i);
  kernel(in.data(), out.data());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      ASSERT_EQ(out[j * n + i], in[i * n + j]) << target.name << " n " << n;
}

TEST(MicroKernel, TransposeSquare) {
  Builder b(&testContext());
  for (const CpuTarget &target : runnableTargets())
    for (int64_t n : {2, 4, 8, 16}) {
      checkTranspose<float>(target, b.getF32Type(), n);
      checkTranspose<double>(target, b.getF64Type(), n);
      checkTranspose<int16_t>(target, b.getI16Type(), n);
      checkTranspose<uint8_t>(target, b.getI8Type(), n);
    }
}

} // namespace
} // namespace tilewright::cpu
