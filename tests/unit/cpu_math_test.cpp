#include "cpu_harness.h"

#include "cpu/math.h"
#include "ir/float_math.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;

namespace tilewright::cpu {
namespace {

constexpr int64_t blockSize = 4096;

/// y[i] = function(x[i]) over a block, `lanes` at a time.
Compiled compileUnary(const CpuTarget &target, llvm::function_ref<Value(ImplicitLocOpBuilder &, Value)> function, Type element,
                      int64_t lanes) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  return Compiled(target, 2, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    auto loop = scf::ForOp::create(b, constantIndex(b, 0), constantIndex(b, blockSize), constantIndex(b, lanes));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value x = load(b, vectorOf(element, lanes), pointerAt(b, args[0], loop.getInductionVar(), bytes), bytes);
    store(b, function(b, x), pointerAt(b, args[1], loop.getInductionVar(), bytes), bytes, /*nonTemporal=*/false);
  });
}

Compiled compileUnary(const CpuTarget &target, MathFunction function, Type element, int64_t lanes) {
  auto emit = [&](ImplicitLocOpBuilder &b, Value x) { return emitMath(b, target, function, {x}); };
  return compileUnary(target, emit, element, lanes);
}

struct Unary {
  const char *name;
  MathFunction function;
  double (*reference)(double);
  double ulps; // documented bound
};

double inverseRoot(double x) {
  return 1 / std::sqrt(x);
}

const Unary unaries[] = {
    {"exp", MathFunction::exp, std::exp, 2},        {"exp2", MathFunction::exp2, std::exp2, 2},
    {"log", MathFunction::log, std::log, 2},        {"log2", MathFunction::log2, std::log2, 2},
    {"tanh", MathFunction::tanh, std::tanh, 2},     {"erf", MathFunction::erf, std::erf, 2},
    {"sin", MathFunction::sin, std::sin, 4},        {"cos", MathFunction::cos, std::cos, 4},
    {"tan", MathFunction::tan, std::tan, 4},        {"expm1", MathFunction::expm1, std::expm1, 4},
    {"log1p", MathFunction::log1p, std::log1p, 4},  {"atan", MathFunction::atan, std::atan, 4},
    {"asinh", MathFunction::asinh, std::asinh, 4},  {"erfc", MathFunction::erfc, std::erfc, 4},
    {"cbrt", MathFunction::cbrt, std::cbrt, 4},     {"sqrt", MathFunction::sqrt, std::sqrt, 0.5},
    {"rsqrt", MathFunction::rsqrt, inverseRoot, 2}, {"floor", MathFunction::floor, std::floor, 0},
    {"ceil", MathFunction::ceil, std::ceil, 0},     {"trunc", MathFunction::trunc, std::trunc, 0},
    {"round", MathFunction::round, std::round, 0},  {"rint", MathFunction::rint, std::rint, 0},
    {"abs", MathFunction::abs, std::fabs, 0},
};

double errorInUlps(float value, double expected) {
  int exponent = 0;
  std::frexp(expected, &exponent);
  return std::fabs(value - expected) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// True if both are NaN, the same zero or infinity, or within the error bound. One rounding away from overflow, both results are correct.
bool isNear(const Unary &unary, float x, float value) {
  double expected = unary.reference(x);
  float rounded = static_cast<float>(expected);
  if (std::isnan(expected)) return std::isnan(value);
  bool isSameSign = std::signbit(value) == std::signbit(expected);
  if (std::isinf(value) || std::isinf(rounded)) return std::fabs(expected) >= 3.40282e38 && isSameSign;
  if (rounded == 0 && value == 0 && !isSameSign) return false;
  return errorInUlps(value, expected) <= unary.ulps;
}

void expectNear(const Unary &unary, const CpuTarget &target, float x, float value) {
  EXPECT_TRUE(isNear(unary, x, value)) << unary.name << "(" << x << ") on " << target.name << ": " << value << ", not "
                                       << unary.reference(x);
}

/// Returns the stride through all bit patterns. CPU_MATH_STRIDE=1 tests every fp32 argument, which takes minutes per function.
uint64_t stride() {
  const char *text = std::getenv("CPU_MATH_STRIDE");
  return std::max<uint64_t>(1, text ? std::strtoull(text, nullptr, 10) : 65521);
}

TEST(CpuMath, ErrorOverBitPatternsOfAllMagnitudes) {
  Type f32 = Float32Type::get(&testContext());
  for (const CpuTarget &target : runnableTargets())
    for (const Unary &unary : unaries) {
      Compiled kernel = compileUnary(target, unary.function, f32, target.vectorBytes / 4);
      ASSERT_TRUE(kernel);
      std::vector<float> x(blockSize), y(blockSize);
      for (uint64_t first = 0; first < uint64_t(1) << 32; first += blockSize * stride()) {
        for (int64_t i = 0; i < blockSize; ++i)
          x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + static_cast<uint64_t>(i) * stride()));
        kernel(x.data(), y.data());
        for (int64_t i = 0; i < blockSize; ++i)
          expectNear(unary, target, x[i], y[i]);
        if (HasFailure()) return;
      }
    }
}

TEST(CpuMath, SpecialValues) {
  Type f32 = Float32Type::get(&testContext());
  float infinity = INFINITY, minusNan;
  uint32_t allOnes = 0xffffffff;
  std::memcpy(&minusNan, &allOnes, 4);
  for (const CpuTarget &target : runnableTargets())
    for (const Unary &unary : unaries) {
      Compiled kernel = compileUnary(target, unary.function, f32, target.vectorBytes / 4);
      ASSERT_TRUE(kernel);
      std::vector<float> x = {
          0.0f,    -0.0f,   infinity,  -infinity, NAN,     minusNan,   1e-45f,     -1e-45f,       1.1754942e-38f, 1.17549435e-38f,
          -1.0f,   1.0f,    88.72284f, 88.7229f,  -103.0f, -104.5f,    127.99f,    128.0f,        -126.0f,        -149.0f,
          -150.0f, -150.5f, 0.5f,      2.5f,      -2.5f,   8388607.5f, 8388609.0f, 3.4028235e38f, -3.4028235e38f, 0.49999997f};
      x.resize(blockSize, 0.75f);
      std::vector<float> y(blockSize);
      kernel(x.data(), y.data());
      for (int64_t i = 0; i < 40; ++i)
        expectNear(unary, target, x[i], y[i]);
    }
}

// CPUs with slow subnormal results compute them by another sequence.
TEST(CpuMath, SubnormalResultsHaveTheSameBitsOnEveryCpu) {
  using namespace floats;
  for (const CpuTarget &target : runnableTargets())
    for (auto *function : {inlineExp, inlineExp2, inlineExpNotPositive, inlineExp2NotPositive}) {
      std::vector<float> x(blockSize), slow(blockSize), atSpeed(blockSize);
      for (int64_t i = 0; i < blockSize; ++i)
        x[i] = -80 - i * (80.0f / blockSize); // from normal results to zero
      x[0] = -INFINITY, x[1] = NAN;
      for (Subnormals subnormals : {Subnormals::slow, Subnormals::atSpeed}) {
        auto emit = [&](ImplicitLocOpBuilder &b, Value value) {
          MathOps m(b, target.fma ? fma : nullptr, value.getType());
          return function(m, subnormals, value);
        };
        Compiled kernel = compileUnary(target, emit, Float32Type::get(&testContext()), target.vectorBytes / 4);
        ASSERT_TRUE(kernel);
        kernel(x.data(), (subnormals == Subnormals::slow ? slow : atSpeed).data());
      }
      EXPECT_EQ(std::memcmp(slow.data(), atSpeed.data(), blockSize * sizeof(float)), 0) << target.name;
      EXPECT_GT(llvm::count_if(slow, [](float value) { return value > 0 && value < 1.17549435e-38f; }), 100) << target.name;
    }
}

// The tables are one vector of sixteen numbers or two of eight. Both give the same results, also for shorter vectors, and never exceed 1.
TEST(CpuMath, ErfByTablesIsRoundedNearlyOnce) {
  std::vector<float> ofFirstTarget;
  for (const CpuTarget &target : runnableTargets()) {
    if (target.vectorBytes < 32) continue;
    std::vector<float> x(blockSize), y(blockSize), fewer(blockSize);
    for (int64_t round = 0; round < 64; ++round) {
      for (int64_t i = 0; i < blockSize; ++i)
        x[i] = static_cast<float>(i * 64 + round) * (round % 2 == 0 ? 1.0f : -1.0f) * (4.1f / (blockSize * 64));
      if (round == 0) x[1] = INFINITY, x[2] = -INFINITY, x[3] = -0.0f, x[4] = 3.875f, x[5] = 3.87499976f;
      compileUnary(target, MathFunction::erf, Float32Type::get(&testContext()), 16)(x.data(), y.data());
      for (int64_t i = 0; i < blockSize; ++i) {
        ASSERT_LE(errorInUlps(y[i], std::erf(double(x[i]))), 0.85) << x[i];
        ASSERT_LE(std::fabs(y[i]), 1.0f) << x[i];
        ASSERT_EQ(std::signbit(y[i]), std::signbit(x[i])) << x[i];
      }
      if (round != 0) continue;
      EXPECT_EQ(y[1], 1.0f);
      EXPECT_EQ(y[2], -1.0f);
      if (ofFirstTarget.empty()) ofFirstTarget = y;
      EXPECT_EQ(std::memcmp(y.data(), ofFirstTarget.data(), blockSize * sizeof(float)), 0) << target.name;
      for (int64_t lanes : {1, 2, 4, 8, 32}) {
        compileUnary(target, MathFunction::erf, Float32Type::get(&testContext()), lanes)(x.data(), fewer.data());
        EXPECT_EQ(std::memcmp(y.data(), fewer.data(), blockSize * sizeof(float)), 0) << lanes;
      }
    }
  }
}

// Quotients close to a midpoint between two numbers come from fractions close to each other, and close to 1 and 2.
TEST(CpuMath, DivisionByOneNumberIsRoundedOnce) {
  std::mt19937_64 random(1);
  auto number = [&](int64_t min, int64_t max, uint64_t fraction) {
    uint64_t bits = random(), near = bits % 16 - 8;
    uint64_t fractions[] = {bits >> 20, fraction + near, near, fraction};
    uint64_t exponent = static_cast<uint64_t>(127 + min) + (bits >> 40) % static_cast<uint64_t>(max - min);
    return std::bit_cast<float>(static_cast<uint32_t>((bits >> 63) << 31 | exponent << 23 | (fractions[bits >> 8 & 3] & 0x7fffff)));
  };
  const float specials[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, 1.17549435e-38f, 3.4028235e38f, 1.0f, 1e-30f};
  for (const CpuTarget &target : runnableTargets()) {
    if (!target.fma) continue;
    int64_t lanes = target.vectorBytes / 4;
    float divisor = 0;
    auto divide = [&](ImplicitLocOpBuilder &b, Value x) {
      Value address = constantInt(b, b.getI64Type(), reinterpret_cast<int64_t>(&divisor));
      return divideBySame(b, x, load(b, b.getF32Type(), intToPointer(b, address), 4));
    };
    Compiled kernel = compileUnary(target, divide, Float32Type::get(&testContext()), lanes);
    ASSERT_TRUE(kernel);
    std::vector<float> x(blockSize), y(blockSize);
    for (int64_t round = 0; round < 200; ++round) {
      divisor = round < 10 ? specials[round] : round % 8 == 0 ? number(-126, 127, 0) : number(-20, 20, 0);
      uint64_t fraction = std::bit_cast<uint32_t>(divisor) & 0x7fffff;
      for (int64_t i = 0; i < blockSize; ++i)
        x[i] = i < 512 ? specials[i % 10] : i < 1024 ? number(-126, 127, fraction) : number(-79, 100, fraction);
      kernel(x.data(), y.data());
      for (int64_t i = 0; i < blockSize; ++i)
        if (float expected = x[i] / divisor; !std::isnan(expected) || !std::isnan(y[i])) {
          ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected)) << x[i] << " / " << divisor;
        }
    }
  }
}

// In groups like the bodies of an unrolled loop: one number that needs a true division is in a group with others that do not.
TEST(CpuMath, FastDivisionIsChosenOnlyIfExact) {
  std::mt19937_64 random(2);
  auto magnitude = [&](int64_t min, int64_t max) {
    uint64_t exponent = static_cast<uint64_t>(127 + min) + random() % static_cast<uint64_t>(max - min);
    return std::bit_cast<float>(static_cast<uint32_t>(exponent << 23 | (random() & 0x7fffff)));
  };
  const float specials[] = {0.0f,          -0.0f,    INFINITY, -INFINITY,       NAN,           1e-45f,
                            3.4028235e38f, 0x1p-64f, 0x1p64f,  0x1.fffffep-65f, 0x1.fffffep63f};
  const float smallSpecials[] = {0.0f, NAN, -NAN, 1e-45f, 0x1p-126f, 0x1p-63f, 0x1.fffffep-64f, 1.0f, 0x1.fffffep0f};
  for (const CpuTarget &target : runnableTargets())
    for (bool isBelowTwo : {false, true}) {
      if (!target.fma) continue;
      int64_t lanes = target.vectorBytes / 4, group = 4 * lanes;
      // args: x, divisor, quotients, whether each group takes the fast path
      Compiled kernel(target, 4, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        auto loop = scf::ForOp::create(b, constantIndex(b, 0), constantIndex(b, blockSize), constantIndex(b, group));
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        Value divisor = load(b, b.getF32Type(), args[1], 4), at = loop.getInductionVar();
        llvm::SmallVector<Value> x;
        for (int64_t i = 0; i < 4; ++i)
          x.push_back(load(b, vectorOf(b.getF32Type(), lanes), pointerAtConstant(b, pointerAt(b, args[0], at, 4), i * lanes * 4), 4));
        Value isFast = arith::ExtUIOp::create(b, b.getI32Type(), canDivideFast(b, x, divisor, isBelowTwo));
        store(b, isFast, pointerAt(b, args[3], at, 4), 4, /*nonTemporal=*/false);
        for (int64_t i = 0; i < 4; ++i)
          store(b, divideFast(b, x[i], divisor), pointerAtConstant(b, pointerAt(b, args[2], at, 4), i * lanes * 4), 4,
                /*nonTemporal=*/false);
      });
      ASSERT_TRUE(kernel);
      std::vector<float> x(blockSize), y(blockSize);
      std::vector<int32_t> isFast(blockSize);
      int64_t fastGroups = 0;
      for (int64_t round = 0; round < 300; ++round) {
        float divisor = round % 4 == 0 ? magnitude(-126, 128) : magnitude(-40, 40);
        if (round < 11) divisor = specials[round];
        if (round % 2 && !isBelowTwo) divisor = -divisor;
        for (float &value : x)
          value = isBelowTwo ? magnitude(-63, 1) : (random() % 2 ? 1.0f : -1.0f) * magnitude(-64, 64);
        for (int64_t first = 0; first < blockSize; first += 2 * group) // every second group
          x[first + static_cast<int64_t>(random() % static_cast<uint64_t>(group))] =
              isBelowTwo ? smallSpecials[random() % std::size(smallSpecials)] : specials[random() % std::size(specials)];
        kernel(x.data(), &divisor, y.data(), isFast.data());
        for (int64_t i = 0; i < blockSize; ++i) {
          if (!isFast[i - i % group]) continue;
          fastGroups += i % group == 0;
          if (float expected = x[i] / divisor; !std::isnan(expected) || !std::isnan(y[i])) {
            ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected)) << x[i] << " / " << divisor;
          }
        }
      }
      EXPECT_GT(fastGroups, 100 * blockSize / group) << target.name; // most groups of most divisors
    }
}

TEST(CpuMath, FastExpHasTheSameBits) {
  for (const CpuTarget &target : runnableTargets())
    for (bool isBase2 : {false, true}) {
      if (!target.fma) continue;
      std::vector<float> x(blockSize), slowPath(blockSize), fastPath(blockSize), isFast(blockSize);
      float bound = isBase2 ? -126.0f : -87.33655f;
      for (int64_t i = 0; i < blockSize; ++i)
        x[i] = i < 64 ? bound + (i - 32) * 8e-6f : -i * (128.0f / blockSize);
      for (int64_t i = 0; const float special : {-INFINITY, -3.4028235e38f, -1e30f, -8.4e6f, NAN, -NAN, 0.0f, -0.0f, -1e-45f})
        x[128 * ++i] = special;
      Type f32 = Float32Type::get(&testContext());
      auto chosen = [&](ImplicitLocOpBuilder &b, Value value) {
        Value holds = hasNormalExp(b, isBase2 ? MathFunction::exp2 : MathFunction::exp, value);
        return splat(b, arith::UIToFPOp::create(b, b.getF32Type(), holds), lanesOf(value.getType()));
      };
      Compiled choice = compileUnary(target, chosen, f32, target.vectorBytes / 4);
      Compiled full =
          compileUnary(target, isBase2 ? MathFunction::exp2NotPositive : MathFunction::expNotPositive, f32, target.vectorBytes / 4);
      Compiled brief = compileUnary(target, isBase2 ? MathFunction::exp2Normal : MathFunction::expNormal, f32, target.vectorBytes / 4);
      ASSERT_TRUE(choice && full && brief);
      choice(x.data(), isFast.data()), full(x.data(), slowPath.data()), brief(x.data(), fastPath.data());
      int64_t count = 0;
      for (int64_t i = 0; i < blockSize; ++i) {
        if (!isFast[i]) continue;
        ++count;
        if (std::isnan(slowPath[i]) && std::isnan(fastPath[i])) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(fastPath[i]), std::bit_cast<uint32_t>(slowPath[i])) << x[i];
      }
      EXPECT_GT(count, blockSize / 2) << target.name;
    }
}

TEST(CpuMath, EveryNumberOfLanesAndDoubles) {
  for (const CpuTarget &target : runnableTargets())
    for (MathFunction function : {MathFunction::exp, MathFunction::sin, MathFunction::floor})
      for (int64_t lanes : {1, 2, 4, 8, 16, 32}) {
        Compiled kernel = compileUnary(target, function, Float64Type::get(&testContext()), lanes);
        Compiled single = compileUnary(target, function, Float32Type::get(&testContext()), lanes);
        ASSERT_TRUE(kernel && single);
        std::vector<double> x(blockSize), y(blockSize);
        std::vector<float> fx(blockSize), fy(blockSize);
        for (int64_t i = 0; i < blockSize; ++i)
          fx[i] = x[i] = (i - 2048) * 0.001953125;
        kernel(x.data(), y.data());
        single(fx.data(), fy.data());
        for (int64_t i = 0; i < blockSize; ++i) {
          double expected = function == MathFunction::exp   ? std::exp(x[i])
                            : function == MathFunction::sin ? std::sin(x[i])
                                                            : std::floor(x[i]);
          ASSERT_NEAR(y[i], expected, std::fabs(expected) * 1e-15) << target.name << " lanes " << lanes;
          ASSERT_NEAR(fy[i], expected, std::fabs(expected) * 5e-7) << target.name << " lanes " << lanes;
        }
      }
}

TEST(CpuMath, TwoOperands) {
  constexpr int64_t count = 32;
  for (const CpuTarget &target : runnableTargets())
    for (MathFunction function : {MathFunction::pow, MathFunction::atan2, MathFunction::hypot, MathFunction::fmod}) {
      Compiled kernel(target, 3, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        Type type = vectorOf(b.getF32Type(), count);
        store(b, emitMath(b, target, function, {load(b, type, args[0], 4), load(b, type, args[1], 4)}), args[2], 4, /*nonTemporal=*/false);
      });
      ASSERT_TRUE(kernel);
      for (int64_t round = 0; round < 3; ++round) { // the last round holds quotients beyond the fraction's width
        std::vector<float> x(count), y(count), z(count);
        for (int64_t i = 0; i < count; ++i)
          x[i] = round == 2 ? 1e12f + i * 1e9f : 0.37f * (i + 1), y[i] = 0.1f * (i - 15.5f);
        if (round == 1) x[0] = y[5] = INFINITY, x[7] = -3, y[7] = 2, y[8] = 0;
        kernel(x.data(), y.data(), z.data());
        for (int64_t i = 0; i < count; ++i) {
          double expected = function == MathFunction::pow     ? std::pow(double(x[i]), double(y[i]))
                            : function == MathFunction::atan2 ? std::atan2(double(x[i]), double(y[i]))
                            : function == MathFunction::hypot ? std::hypot(double(x[i]), double(y[i]))
                                                              : std::fmod(double(x[i]), double(y[i]));
          if (std::isnan(expected) || std::isinf(expected))
            EXPECT_EQ(std::isnan(z[i]), std::isnan(expected)) << x[i] << " " << y[i];
          else if (function == MathFunction::fmod)
            EXPECT_EQ(z[i], float(expected)) << target.name << " " << x[i] << " " << y[i];
          else
            EXPECT_LE(errorInUlps(z[i], expected), 4) << target.name << " " << x[i] << " " << y[i];
        }
      }
    }
}

TEST(CpuMath, Symbols) {
  EXPECT_EQ(mathFunctionBySymbol("__nv_tanhf"), MathFunction::tanh);
  EXPECT_EQ(mathFunctionBySymbol("tanh"), MathFunction::tanh);
  EXPECT_EQ(mathFunctionBySymbol("erf"), MathFunction::erf);
  EXPECT_EQ(mathFunctionBySymbol("erff"), MathFunction::erf);
  EXPECT_EQ(mathFunctionBySymbol("__nv_fabsf"), MathFunction::abs);
  EXPECT_EQ(mathFunctionBySymbol("__nv_fast_expf"), MathFunction::exp);
  EXPECT_FALSE(mathFunctionBySymbol("__nv_popc"));
}

// ---- conversions

uint64_t reference(const llvm::fltSemantics &semantics, double value, bool truncate) {
  if (std::isnan(value)) return llvm::APFloat::getQNaN(semantics, std::signbit(value)).bitcastToAPInt().getZExtValue();
  llvm::APFloat number(value);
  bool inexact = false;
  number.convert(semantics, truncate ? llvm::APFloat::rmTowardZero : llvm::APFloat::rmNearestTiesToEven, &inexact);
  bool saturates = llvm::APFloat::semanticsSizeInBits(semantics) == 8;
  if (saturates && !number.isFinite()) number = llvm::APFloat::getLargest(semantics, std::signbit(value));
  return number.bitcastToAPInt().getZExtValue();
}

template <typename Source> void checkNarrowing(const CpuTarget &target, Type source, Type element, bool truncate) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, lanes = 16;
  Compiled kernel(target, 2, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    auto loop = scf::ForOp::create(b, constantIndex(b, 0), constantIndex(b, blockSize), constantIndex(b, lanes));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value x = load(b, vectorOf(source, lanes), pointerAt(b, args[0], loop.getInductionVar(), sizeof(Source)), sizeof(Source));
    store(b, convertFloat(b, target, x, element, truncate), pointerAt(b, args[1], loop.getInductionVar(), bytes), 1, /*nonTemporal=*/false);
  });
  ASSERT_TRUE(kernel);
  const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
  std::vector<Source> x(blockSize);
  std::vector<uint8_t> y(blockSize * bytes);
  for (int64_t block = 0; block < 16; ++block) {
    for (int64_t i = 0; i < blockSize; ++i) {
      // The upper 16 bits in all patterns; the lower ones make ties, and values just above and just below them.
      static constexpr uint32_t low[] = {0, 1, 0x8000, 0x7fff, 0x8001, 0xffff, 0x1000, 0x3000};
      uint32_t bits = static_cast<uint32_t>(block * blockSize + i) << 16 | low[i * 5 % 8];
      float value;
      std::memcpy(&value, &bits, 4);
      x[i] = value;
      if (sizeof(Source) == 8 && i % 3 == 0 && std::isfinite(value))
        x[i] = std::nextafter(x[i], Source(INFINITY)); // a tie only after one rounding
    }
    kernel(x.data(), y.data());
    for (int64_t i = 0; i < blockSize; ++i) {
      uint64_t expected = reference(semantics, x[i], truncate), got = 0;
      std::memcpy(&got, &y[i * bytes], bytes);
      if (std::isnan(x[i]) && bytes == 2) {
        ASSERT_TRUE(llvm::APFloat(semantics, llvm::APInt(16, got)).isNaN());
        continue;
      }
      ASSERT_EQ(got, expected) << target.name << " value " << x[i] << " to " << llvm::APFloat::SemanticsToEnum(semantics) << " truncate "
                               << truncate;
    }
  }
}

SmallVector<Type> smallFloats() {
  MLIRContext *context = &testContext();
  return {Float16Type::get(context),        BFloat16Type::get(context),       Float8E5M2Type::get(context),
          Float8E4M3FNType::get(context),   Float8E4M3Type::get(context),     Float8E3M4Type::get(context),
          Float8E5M2FNUZType::get(context), Float8E4M3FNUZType::get(context), Float8E4M3B11FNUZType::get(context)};
}

TEST(CpuConvert, NarrowRoundsAsSpecified) {
  MLIRContext *context = &testContext();
  for (const CpuTarget &target : runnableTargets())
    for (Type element : smallFloats())
      for (bool truncate : {false, true}) {
        checkNarrowing<float>(target, Float32Type::get(context), element, truncate);
        checkNarrowing<double>(target, Float64Type::get(context), element, truncate);
        if (HasFatalFailure()) return;
      }
}

TEST(CpuConvert, WidenIsExactForEveryPattern) {
  for (const CpuTarget &target : runnableTargets())
    for (Type element : smallFloats()) {
      int64_t bytes = element.getIntOrFloatBitWidth() / 8, count = bytes == 1 ? 256 : 65536;
      Compiled kernel(target, 2, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        auto loop = scf::ForOp::create(b, constantIndex(b, 0), constantIndex(b, count), constantIndex(b, 8));
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        Value x = load(b, vectorOf(element, 8), pointerAt(b, args[0], loop.getInductionVar(), bytes), 1);
        store(b, convertFloat(b, target, x, b.getF32Type(), false), pointerAt(b, args[1], loop.getInductionVar(), 4), 4,
              /*nonTemporal=*/false);
      });
      ASSERT_TRUE(kernel);
      std::vector<uint8_t> x(count * bytes);
      std::vector<float> y(count);
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(&x[i * bytes], &i, bytes);
      kernel(x.data(), y.data());
      for (int64_t i = 0; i < count; ++i) {
        llvm::APFloat number(cast<FloatType>(element).getFloatSemantics(), llvm::APInt(8 * bytes, i));
        bool inexact = false;
        number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
        float expected = number.convertToFloat();
        if (std::isnan(expected))
          ASSERT_TRUE(std::isnan(y[i])) << target.name << " pattern " << i;
        else
          ASSERT_EQ(llvm::APFloat(y[i]).bitcastToAPInt(), number.bitcastToAPInt()) << target.name << " pattern " << i;
      }
    }
}

} // namespace
} // namespace tilewright::cpu
