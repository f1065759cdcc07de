// Each function reduces its argument to a small interval, evaluates a polynomial there, and undoes the reduction. The polynomials are
// minimax approximations on that interval. A power of two at each is the largest relative error of the function's result before the
// coefficients are rounded to f32. Weighted least squares at Chebyshev nodes, with weights that grow with the error, find such sets.
// tools/chebyshev.py does not make them: its series are of f64 and not weighted. docs/libdevice.md has the errors of the whole functions.
//
// Most special values need no code: infinities, zeros and NaN pass through the arithmetic. Selects handle the others. A branch is taken
// only by arguments that are rare.
//
//     sin:  |x| < 105615 (common):  x - k pi/2 with pi/2 as the sum of three numbers
//           else (branch):          x = M * 2^E,  2/pi = 0.101000101111...
//                                   (M * (96 bits of 2/pi from bit E on)) mod 2^96 = quadrant and fraction
#include "ir/single_math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringSwitch.h"

#include <array>
#include <limits>

using namespace mlir;

namespace tilewright::floats {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double log2e = 1.4426950408889634, log2eHigh = 1.4426950216293335, log2eLow = log2e - log2eHigh;
constexpr double ln2 = 0.6931471805599453;
constexpr double halfPi = 1.5707963267948966, halfPiHigh = 1.5707963705062866, halfPiLow = halfPi - halfPiHigh;
/// Two f32 whose product is pi/2 with 42 bits.
constexpr double factorOfPi = 1.2184979915618896, otherOfHalfPi = 1.2891250848770142;
constexpr int64_t one = 0x3f800000, exponentMask = 0x7f800000;
/// Adding 1.5 * 2^23 leaves the nearest whole number in the low bits of the sum. With a bias, these bits are an exponent field.
constexpr double roundsToWhole = 0x1.8p23;

class SingleMath {
public:
  SingleMath(ImplicitLocOpBuilder &b, const SingleInstructions &instructions)
      : b(b), instructions(instructions), m(b, instructions.fused, b.getF32Type()) {}

  Value call(StringRef name, ValueRange x) {
    using Unary = Value (SingleMath::*)(Value);
    using Binary = Value (SingleMath::*)(Value, Value);
    if (x.size() == 1) {
      Unary function = llvm::StringSwitch<Unary>(name)
                           .Case("exp", &SingleMath::exp)
                           .Case("expm1", &SingleMath::expm1)
                           .Case("log", &SingleMath::log)
                           .Case("log2", &SingleMath::log2)
                           .Case("log10", &SingleMath::log10)
                           .Case("log1p", &SingleMath::log1p)
                           .Case("sin", &SingleMath::sin)
                           .Case("cos", &SingleMath::cos)
                           .Case("tan", &SingleMath::tan)
                           .Case("asin", &SingleMath::asin)
                           .Case("acos", &SingleMath::acos)
                           .Case("atan", &SingleMath::atan)
                           .Case("sinh", &SingleMath::sinh)
                           .Case("cosh", &SingleMath::cosh)
                           .Case("tanh", &SingleMath::tanh)
                           .Case("asinh", &SingleMath::asinh)
                           .Case("acosh", &SingleMath::acosh)
                           .Case("atanh", &SingleMath::atanh)
                           .Case("erf", &SingleMath::erf)
                           .Case("erfc", &SingleMath::erfc)
                           .Case("cbrt", &SingleMath::cbrt)
                           .Default(nullptr);
      return function ? (this->*function)(x[0]) : Value();
    }
    Binary function = llvm::StringSwitch<Binary>(name)
                          .Case("pow", &SingleMath::pow)
                          .Case("atan2", &SingleMath::atan2)
                          .Case("hypot", &SingleMath::hypot)
                          .Default(nullptr);
    return function && x.size() == 2 ? (this->*function)(x[0], x[1]) : Value();
  }

private:
  Value exp2(Value x) { return instructions.approximate(b, Approximation::exp2, x); }
  Value log2Approximately(Value x) { return instructions.approximate(b, Approximation::log2, x); }
  Value reciprocal(Value x) { return instructions.approximate(b, Approximation::reciprocal, x); }
  Value sqrt(Value x) { return instructions.approximate(b, Approximation::sqrt, x); }

  Value negate(Value x) { return arith::NegFOp::create(b, x); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value greater(Value x, double y) { return m.less(m.real(y), x); }
  Value isNegative(Value x) { return m.compareWords(arith::CmpIPredicate::slt, m.bits(x), m.word(0)); } // true for -0 also
  Value isZero(Value x) { return m.equal(x, m.real(0)); }
  Value isPositiveFinite(Value x) { return both(greater(x, 0), m.less(x, m.real(infinity))); }
  Value atLeast(Value x, double low) { return arith::MaximumFOp::create(b, x, m.real(low)); } // keeps NaN
  Value atMost(Value x, double high) { return arith::MinimumFOp::create(b, x, m.real(high)); }
  Value signOf(Value x, Value magnitude) { return m.withSignOf(m.absolute(magnitude), x); }
  /// x + x square P(square), for odd functions.
  Value oddSeries(Value x, Value square, ArrayRef<double> coefficients) {
    return m.multiplyAdd(m.multiply(square, m.polynomial(square, coefficients)), x, x);
  }
  /// A product that code generation does not fuse with a sum; -0 becomes +0.
  Value multiplyRounded(Value x, Value y) { return m.multiplyAdd(x, y, m.real(0)); }
  Value bitOf(Value word, int64_t bit) { return m.compareWords(arith::CmpIPredicate::ne, m.bitAnd(word, int64_t(1) << bit), m.word(0)); }

  // ---- exponentials

  static constexpr double exponentBias = roundsToWhole + 127;
  /// n + exponentBias + shift with the whole number n next to scale * x, whose exponent n + shift is first clamped to -126..126: as a
  /// fraction of that range, so that ptxas emits fma.sat.
  Value biasedWhole(Value x, double scale, int64_t shift) {
    double range = 252, least = 126 + static_cast<double>(shift);
    Value part = m.multiplyAdd(x, m.real(scale / range), m.real(least / range));
    part = arith::MinNumFOp::create(b, arith::MaxNumFOp::create(b, part, m.real(0)), m.real(1));
    return m.multiplyAdd(part, m.real(range), m.real(exponentBias + static_cast<double>(shift) - least));
  }
  /// 2^(n + shift)
  Value powerOf(Value biased) { return m.fromBits(m.shiftLeft(m.bits(biased), m.fraction)); }

  /// e^x * 2^shift = 2^rest * power, with a rest of about -0.5..0.5. Beyond the range of powers the rest grows instead, so that overflow,
  /// denormals, infinities and NaN are right.
  struct SplitExp {
    Value rest, power;
  };
  SplitExp splitExp(Value x, int64_t shift) {
    Value biased = biasedWhole(x, log2e, shift), whole = m.subtract(biased, m.real(exponentBias + static_cast<double>(shift)));
    Value rest = m.multiplyAdd(x, m.real(log2eHigh), negate(whole));
    return {m.multiplyAdd(x, m.real(log2eLow), rest), powerOf(biased)};
  }
  Value scaledExp(Value x, int64_t shift) {
    SplitExp split = splitExp(x, shift);
    return m.multiply(exp2(split.rest), split.power);
  }
  Value exp(Value x) { return scaledExp(x, 0); }

  /// 2^k (e^r - 1) + (2^k - 1), with half the power: 2^128 is too large.
  Value expm1(Value x) {
    Value bounded = atMost(atLeast(x, -25), 89);
    // Rests of -0.29..0.41: with others, the sum below would lose digits.
    Value shifted = m.add(m.multiplyAdd(bounded, log2e, m.real(-0.0843)), m.real(roundsToWhole + 126));
    Value minus = m.subtract(m.real(roundsToWhole + 126), shifted);
    Value rest = m.multiplyAdd(minus, 0.693145751953125, bounded); // 17 bits: the product is exact
    rest = m.multiplyAdd(minus, 1.428606820309417e-06, rest);
    Value series = m.polynomial(rest, {0.5, 0.16666670143604279, 0.041666533797979355, 0.008332010358572006, 0.0013921955833211541,
                                       0.00020926420984324068}); // 2^-31.6
    series = m.multiplyAdd(m.multiply(rest, rest), series, rest);
    Value power = powerOf(shifted);
    Value half = m.multiplyAdd(power, series, m.subtract(power, m.real(0.5)));
    return signOf(x, m.add(half, half));
  }

  /// e^a / 4 for a >= 0: e^a itself is too large for the last results of sinh and cosh.
  Value quarterExp(Value a) { return scaledExp(a, -2); }
  /// Below 1.45 a series, 2^-28.5: there the error of the exponential would be largest in units of the result.
  Value sinh(Value x) {
    Value a = m.absolute(x), square = m.multiply(x, x);
    Value small = oddSeries(a, square, {0.16666662693023682, 0.008333513513207436, 0.0001981616806006059, 2.8921349439769983e-06});
    Value power = quarterExp(a);
    Value large = m.multiplyAdd(power, m.real(2), m.multiply(reciprocal(power), m.real(-0.125)));
    return signOf(x, m.select(m.less(a, m.real(1.45)), small, large));
  }
  Value cosh(Value x) {
    Value power = quarterExp(m.absolute(x));
    return m.multiplyAdd(power, m.real(2), m.multiply(reciprocal(power), m.real(0.125)));
  }
  /// Below 0.6 a series, 2^-28.4. Above, 1 - 2 / (e^2x + 1).
  Value tanh(Value x) {
    Value a = m.absolute(x), square = m.multiply(x, x);
    Value small = oddSeries(a, square,
                            {-0.33333298563957214, 0.13331958651542664, -0.053786683827638626, 0.02080538496375084, -0.005905868485569954});
    Value power = exp2(m.multiply(a, m.real(2 * log2e)));
    Value large = m.multiplyAdd(reciprocal(m.add(power, m.real(1))), m.real(-2), m.real(1));
    return signOf(x, m.select(m.less(a, m.real(0.6)), small, large));
  }

  // ---- logarithms

  struct Split {
    Value exponent, excess; // 2^exponent * (1 + excess), excess in [low - 1, 2 low - 1)
  };
  static constexpr int64_t threeQuarters = 0x3f400000, rootOfHalf = 0x3f3504f3;

  /// The exponent of a number whose mantissa is taken from [low, 2 low), in place.
  Value exponentBits(Value x, int64_t low) { return m.bitAnd(m.subtractWords(m.bits(x), m.word(low)), ~int64_t(0x7fffff)); }
  /// That exponent as a number, plus `more`.
  Value exponentOf(Value bits, Value more) { return m.multiplyAdd(arith::SIToFPOp::create(b, m.realType, bits), 0x1p-23, more); }
  Split split(Value x, int64_t low) {
    Value subnormal = m.less(x, m.real(0x1p-126));
    Value normal = m.select(subnormal, m.multiply(x, m.real(0x1p24)), x);
    Value bits = exponentBits(normal, low);
    Value mantissa = m.fromBits(m.subtractWords(m.bits(normal), bits));
    return {exponentOf(bits, m.select(subnormal, m.real(-24), m.real(0))), m.subtract(mantissa, m.real(1))};
  }
  /// scale * log(x), with the scale in two parts and the scaled logarithm of 2. log(1 + f) = f + f^2 P(f), degree 10, 2^-26.5 on [-0.293,
  /// 0.5].
  Value logarithm(Split x, double high, double low, double logOf2) {
    double coefficients[] = {-0.49999988079071045, 0.3333350419998169,  -0.2500171959400177, 0.19990748167037964, -0.16596807539463043,
                             0.14384320378303528,  -0.1353856921195984, 0.11781344562768936, -0.05592794716358185};
    for (double &coefficient : coefficients)
      coefficient *= high + low;
    Value f = x.excess, tail = m.multiply(f, m.polynomial(f, coefficients));
    if (low != 0) tail = m.add(tail, m.real(low));
    Value sum = high == 1 ? m.multiplyAdd(tail, f, f) : m.multiplyAdd(f, m.real(high), m.multiply(tail, f));
    return m.multiplyAdd(x.exponent, logOf2, sum);
  }
  /// Corrects a logarithm: -inf for zeros, NaN for negative numbers; infinity and NaN stay.
  Value logOfSpecial(Value x, Value result) {
    Value isPlain = m.compareWords(arith::CmpIPredicate::ult, m.bits(x), m.word(exponentMask));
    result = m.select(isPlain, result, m.multiplyAdd(x, m.real(infinity), m.real(infinity)));
    return m.select(isZero(x), m.real(-infinity), result);
  }
  Value log(Value x) { return logOfSpecial(x, logarithm(split(x, threeQuarters), 1, 0, ln2)); }
  Value log2(Value x) { return logOfSpecial(x, logarithm(split(x, rootOfHalf), log2eHigh, log2eLow, 1)); }
  Value log10(Value x) {
    constexpr double log10e = 0.4342944819032518, high = 0.4342944920063019;
    return logOfSpecial(x, logarithm(split(x, rootOfHalf), high, log10e - high, 0.3010299956639812));
  }
  /// log(1 + x) = k ln 2 + log(1 + f) with f = x 2^-k + (2^-k - 1), whose first part is exact. So is the sum: for the largest x below 0.5,
  /// 1 + x becomes 1.5, and k must be 0.
  Value plainLog1p(Value x) {
    Value bits = exponentBits(m.add(x, m.real(1)), threeQuarters + 1);
    Value fourTimes = m.fromBits(m.subtractWords(m.word(one + 0x1000000), bits)); // 2^(2 - k): 2^-128 is subnormal
    Value scaled = m.fromBits(m.subtractWords(m.bits(x), bits));
    Value excess = m.add(m.multiplyAdd(fourTimes, 0.25, m.real(-1)), scaled);
    return logarithm({exponentOf(bits, m.real(0)), excess}, 1, 0, ln2);
  }
  Value log1p(Value x) {
    Value isPlain = both(greater(x, -1), m.less(x, m.real(infinity)));
    return signOf(x, m.select(isPlain, plainLog1p(x), log2Approximately(m.add(x, m.real(1)))));
  }
  Value log1pOfPositive(Value x) { return m.select(m.less(x, m.real(infinity)), plainLog1p(x), x); }

  Value asinh(Value x) {
    Value a = m.absolute(x), square = m.multiply(a, a), isLarge = greater(a, 0x1p60);
    Value ratio = m.multiply(square, reciprocal(m.add(sqrt(m.multiplyAdd(a, a, m.real(1))), m.real(1))));
    Value logarithm = log1pOfPositive(m.select(isLarge, a, m.add(a, ratio)));
    return signOf(x, m.add(logarithm, m.select(isLarge, m.real(ln2), m.real(0))));
  }
  Value acosh(Value x) {
    Value t = m.subtract(x, m.real(1)), isLarge = greater(x, 0x1p60);
    Value z = m.add(t, sqrt(m.multiplyAdd(t, t, m.add(t, t))));
    Value logarithm = log1pOfPositive(m.select(isLarge, t, z));
    logarithm = m.add(logarithm, m.select(isLarge, m.real(ln2), m.real(0)));
    return m.select(m.less(x, m.real(1)), m.real(notANumber), logarithm);
  }
  Value atanh(Value x) {
    Value a = m.absolute(x);
    Value twice = m.add(a, a); // 2a / (1 - a) = 2a + 2a^2 / (1 - a)
    Value ratio = m.multiplyAdd(m.multiply(twice, a), reciprocal(m.subtract(m.real(1), a)), twice);
    Value logarithm = log1pOfPositive(m.select(greater(a, 1), m.real(notANumber), ratio));
    return signOf(x, m.multiply(logarithm, m.real(0.5)));
  }

  // ---- powers

  Value pow(Value x, Value y) {
    Value a = m.absolute(x);
    Split parts = split(a, rootOfHalf);
    Value k = parts.exponent, f = parts.excess;
    // log(1 + f) = 2 atanh(f / (f + 2)) = u + u^3 / 12 + ..., u = 2f / (f + 2) as the sum of two numbers; f in [-0.293, 0.415)
    Value inverse = reciprocal(m.add(f, m.real(2)));
    Value half = m.multiply(f, inverse), u = m.add(half, half);
    Value lost = m.subtract(f, u);
    lost = m.multiply(m.multiplyAdd(negate(u), f, m.add(lost, lost)), inverse);
    // u (1 + w), w = u^2 / 12 + ... in two parts
    Value square = m.multiply(u, u), squareLow = m.multiplyAdd(u, u, negate(square));
    squareLow = m.multiplyAdd(m.add(u, u), lost, squareLow);
    Value tail = m.polynomial(square, {0.12022458761930466, 0.018033839762210846, 0.003216438926756382, 0.0006645744433626533}); // 2^-37
    Value slope = m.multiplyAdd(square, tail, m.real(log2eHigh));
    Value slopeLow = m.multiplyAdd(square, tail, m.subtract(m.real(log2eHigh), slope));
    slopeLow = m.add(slopeLow, m.multiplyAdd(squareLow, tail, m.real(log2eLow)));
    // The product is rounded first: k - high is exact only if the bits of k + product are no finer than those of the product.
    Value high = m.add(k, multiplyRounded(u, slope));
    Value low = m.multiplyAdd(u, slope, m.subtract(k, high));
    low = m.multiplyAdd(u, slopeLow, m.multiplyAdd(lost, slope, low));
    Value sum = m.add(high, low);
    low = m.add(m.subtract(high, sum), low);
    // y log2 x, and 2^ of it
    Value product = m.multiply(sum, y);
    Value more = m.select(m.less(m.absolute(product), m.real(512)), m.multiply(low, y), m.real(0));
    Value biased = biasedWhole(product, 1, 0);
    // Not the rounded product and what it lost: code generation may fuse a multiplication and a sum, and would count that twice.
    Value rest = m.add(m.multiplyAdd(sum, y, m.subtract(m.real(exponentBias), biased)), more);
    Value power = m.multiply(exp2(rest), powerOf(biased));

    Value isPlain = both(isPositiveFinite(x), m.less(m.absolute(y), m.real(infinity)));
    auto branch = scf::IfOp::create(b, TypeRange{m.realType}, isPlain, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, ValueRange{power});
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{specialPower(x, y, power)});
    return branch.getResult(0);
  }
  /// `power`: |x|^y, if both are finite and x is not 0.
  Value specialPower(Value x, Value y, Value power) {
    Value a = m.absolute(x), exponent = m.absolute(y);
    Value grows = m.compareWords(arith::CmpIPredicate::eq, arith::ExtUIOp::create(b, m.wordType, greater(a, 1)),
                                 arith::ExtUIOp::create(b, m.wordType, greater(y, 0)));
    Value isExtreme = arith::XOrIOp::create(b, both(isPositiveFinite(a), m.less(exponent, m.real(infinity))), constantTrue());
    power = m.select(isExtreme, m.select(grows, m.real(infinity), m.real(0)), power);
    // The sign of an odd power; NaN for a negative number with a fractional exponent.
    auto isWhole = [&](Value value) {
      return either(m.equal(m.subtract(m.add(value, m.real(0x1p23)), m.real(0x1p23)), value), m.lessOrEqual(m.real(0x1p23), value));
    };
    Value whole = isWhole(exponent);
    Value isOdd = both(both(whole, m.less(exponent, m.real(0x1p24))),
                       arith::XOrIOp::create(b, isWhole(m.multiply(exponent, m.real(0.5))), constantTrue()));
    power = m.select(both(isNegative(x), isOdd), negate(power), power);
    Value isBroken = both(both(m.less(x, m.real(0)), m.less(a, m.real(infinity))), arith::XOrIOp::create(b, whole, constantTrue()));
    power = m.select(isBroken, m.real(notANumber), power);
    power = m.select(m.compare(arith::CmpFPredicate::UNO, x, y), m.add(x, y), power);
    Value isOne = either(either(m.equal(x, m.real(1)), isZero(y)), both(m.equal(x, m.real(-1)), m.equal(exponent, m.real(infinity))));
    return m.select(isOne, m.real(1), power);
  }
  Value constantTrue() { return arith::ConstantOp::create(b, b.getBoolAttr(true)); }

  /// One step of Newton's method from 2^(log2(a) / 3). Small numbers are scaled, since the step needs the differences of their cubes.
  Value cbrt(Value x) {
    Value a = m.absolute(x), isSmall = m.less(a, m.real(0x1p-100));
    Value scaled = m.select(isSmall, m.multiply(a, m.real(0x1p72)), a);
    Value root = exp2(m.multiply(log2Approximately(scaled), m.real(1.0 / 3)));
    Value square = m.multiply(root, root), inverse = reciprocal(square);
    Value excess = m.multiplyAdd(square, root, negate(scaled));
    root = m.multiplyAdd(m.multiply(excess, m.real(-1.0 / 3)), inverse, root);
    root = m.multiply(root, m.select(isSmall, m.real(0x1p-24), m.real(1)));
    return m.select(m.compare(arith::CmpFPredicate::UNE, m.add(x, x), x), signOf(x, root), x); // x is not 0 or infinity
  }

  /// A power of two near 1 / x, and its inverse. Extremes stay in range.
  struct Scale {
    Value factor, inverse;
  };
  Scale scaleOf(Value x) {
    Value field = m.bitAnd(m.bits(x), exponentMask);
    field = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, field, m.word(0x0d000000)), m.word(0x71800000)); // 2^-101, 2^100
    return {m.fromBits(m.subtractWords(m.word(2 * one), field)), m.fromBits(field)};
  }
  Value hypot(Value x, Value y) {
    Value large = arith::MaxNumFOp::create(b, m.absolute(x), m.absolute(y));
    Scale scale = scaleOf(large);
    Value first = m.multiply(x, scale.factor), second = m.multiply(y, scale.factor);
    Value result = m.multiply(sqrt(m.multiplyAdd(first, first, m.multiply(second, second))), scale.inverse);
    return m.select(m.equal(large, m.real(infinity)), m.real(infinity), result);
  }

  // ---- angles

  struct Angle {
    Value rest, quadrant; // |rest| <= pi/4 (a little more is possible)
  };

  /// The parts of pi/2 are positive, so that -0 stays.
  Angle reduceNear(Value x) {
    Value shifted = m.multiplyAdd(x, 0.6366197723675814, m.real(roundsToWhole));
    Value minus = m.subtract(shifted, m.real(roundsToWhole));
    Value rest = m.multiplyAdd(minus, -1.57079625129699707, x);
    rest = m.multiplyAdd(minus, -7.54978942e-08, rest);
    rest = m.multiplyAdd(minus, -5.39030253e-15, rest);
    return {rest, m.bits(shifted)};
  }

  Angle reduceFar(Value x) {
    // A zero word, then the bits of 2/pi after the binary point.
    constexpr std::array<int64_t, 8> twoOverPi = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    Value bits = m.bits(m.absolute(x));
    Value mantissa = m.bitOr(m.bitAnd(bits, 0x7fffff), m.word(0x800000));
    // x = mantissa * 2^(field - 150). Bits of 2/pi that give multiples of 4 are left out.
    Value start = m.subtractWords(m.shiftRight(bits, 23), m.word(120));
    Value word = m.shiftRight(start, 5), shift = m.bitAnd(start, 31);
    SmallVector<Value> window;
    for (int64_t part : twoOverPi)
      window.push_back(m.word(part));
    for (int64_t bit = 2; bit >= 0; --bit) {
      Value isSet = bitOf(word, bit);
      SmallVector<Value> moved;
      size_t distance = size_t(1) << bit, wanted = 4 + distance - 1;
      for (size_t i = 0; i < wanted && i < window.size(); ++i)
        moved.push_back(i + distance < window.size() ? m.select(isSet, window[i + distance], window[i]) : window[i]);
      window = moved;
    }
    std::array<Value, 3> v;
    for (size_t i = 0; i < 3; ++i) {
      Value carried = arith::ShRUIOp::create(b, m.shiftRight(window[i + 1], 1), m.subtractWords(m.word(31), shift));
      v[i] = m.bitOr(arith::ShLIOp::create(b, window[i], shift), carried);
    }
    auto low = arith::MulUIExtendedOp::create(b, mantissa, v[2]), middle = arith::MulUIExtendedOp::create(b, mantissa, v[1]);
    auto second = arith::AddUIExtendedOp::create(b, low.getHigh(), middle.getLow());
    Value first = m.addWords(middle.getHigh(), arith::MulIOp::create(b, mantissa, v[0]));
    first = m.addWords(first, arith::ExtUIOp::create(b, m.wordType, second.getOverflow()));
    // If the fraction is at least one half, it is negative and the quadrant is the next one.
    Value high = m.bitOr(m.shiftLeft(first, 2), m.shiftRight(second.getSum(), 30));
    Value rest = m.bitOr(m.shiftLeft(second.getSum(), 2), m.shiftRight(low.getLow(), 30));
    Value quadrant = m.addWords(m.shiftRight(first, 30), m.shiftRight(high, 31));
    // The fraction in three exact parts
    auto part = [&](Value bits, double unit) { return m.multiply(arith::SIToFPOp::create(b, m.realType, bits), m.real(unit)); };
    Value a = part(m.bitAnd(high, ~int64_t(0xff)), 0x1p-32);
    Value c = part(m.bitOr(m.shiftLeft(m.bitAnd(high, 0xff), 16), m.shiftRight(rest, 16)), 0x1p-48);
    Value d = part(m.bitAnd(rest, 0xffff), 0x1p-64);
    Value tail = m.multiplyAdd(a, halfPiLow, m.multiply(d, m.real(halfPiHigh)));
    Value angle = m.multiplyAdd(a, halfPiHigh, m.multiplyAdd(c, halfPiHigh, tail));
    Value negative = isNegative(x);
    return {m.select(negative, negate(angle), angle), m.select(negative, m.subtractWords(m.word(0), quadrant), quadrant)};
  }

  Angle reduce(Value x) {
    Angle near = reduceNear(x); // NaN for infinities
    Value isFar = both(greater(m.absolute(x), 105615), m.less(m.absolute(x), m.real(infinity)));
    auto branch = scf::IfOp::create(b, TypeRange{m.realType, m.wordType}, isFar, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Angle far = reduceFar(x);
    scf::YieldOp::create(b, ValueRange{far.rest, far.quadrant});
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{near.rest, near.quadrant});
    return {branch.getResult(0), branch.getResult(1)};
  }

  /// For |rest| <= pi/4 the sine's series has degree 7, 2^-28; the cosine's has degree 8, 2^-34. Adding +0 to the cube lets -0 stay.
  Value sinOrCos(Value x, int64_t quadrants) {
    Angle angle = reduce(x);
    Value quadrant = quadrants ? m.addWords(angle.quadrant, m.word(quadrants)) : angle.quadrant;
    Value square = m.multiply(angle.rest, angle.rest), cube = multiplyRounded(square, angle.rest);
    Value sine = m.polynomial(square, {-0.16666655242443085, 0.008332177996635437, -0.00019517235341481864});
    sine = m.multiplyAdd(cube, sine, angle.rest);
    Value cosine = m.polynomial(square, {1, -0.5, 0.04166662320494652, -0.0013886763481423259, 2.4390368707827292e-05});
    Value value = m.select(bitOf(quadrant, 0), cosine, sine);
    Value sign = m.bitAnd(m.shiftLeft(quadrant, 30), ~m.magnitudeMask());
    return m.fromBits(arith::XOrIOp::create(b, m.bits(value), sign));
  }
  Value sin(Value x) { return sinOrCos(x, 0); }
  Value cos(Value x) { return sinOrCos(x, 1); }
  Value tan(Value x) {
    Angle angle = reduce(x);
    Value tangent = oddSeries(
        angle.rest, m.multiply(angle.rest, angle.rest), // of |rest| <= pi/4, 2^-25.7
        {0.33333152532577515, 0.13338887691497803, 0.05340429022908211, 0.024453934282064438, 0.00308343768119812, 0.009406087920069695});
    return m.select(bitOf(angle.quadrant, 0), negate(reciprocal(tangent)), tangent);
  }

  /// asin of the square root of `square`, at most 0.55^2; 2^-29.5.
  Value asinOfRoot(Value root, Value square) {
    return oddSeries(
        root, square,
        {0.1666664034128189, 0.07501628249883652, 0.04431120306253433, 0.033439476042985916, 0.008596491999924183, 0.04526567459106445});
  }
  struct Arc {
    Value isLarge, angle; // asin |x|; if |x| > 0.55, half of acos |x|
  };
  Arc arcOf(Value a) {
    Value isLarge = greater(a, 0.55);
    Value square = m.select(isLarge, m.multiplyAdd(a, -0.5, m.real(0.5)), m.multiply(a, a));
    return {isLarge, asinOfRoot(m.select(isLarge, sqrt(square), a), square)};
  }
  Value asin(Value x) {
    Arc arc = arcOf(m.absolute(x));
    return signOf(x, m.select(arc.isLarge, fromPi(1, m.add(arc.angle, arc.angle)), arc.angle));
  }
  Value acos(Value x) {
    Arc arc = arcOf(m.absolute(x));
    Value negative = isNegative(x);
    Value signedAngle = m.select(negative, negate(arc.angle), arc.angle);
    Value twice = m.add(arc.angle, arc.angle);
    return m.select(arc.isLarge, m.select(negative, fromPi(2, twice), twice), fromPi(1, signedAngle));
  }
  /// Of 0 to 1, or NaN; 2^-28.4.
  Value atanOfRatio(Value ratio) {
    return oddSeries(ratio, m.multiply(ratio, ratio),
                     {-0.33333301544189453, 0.19998638331890106, -0.1426524519920349, 0.10957576334476471, -0.0841946005821228,
                      0.0582345575094223, -0.03145570680499077, 0.011064443737268448, -0.0018272135639563203});
  }
  /// quadrants * pi/2 - x, rounded once.
  Value fromPi(int64_t quadrants, Value x) {
    return m.multiplyAdd(m.real(factorOfPi), m.real(static_cast<double>(quadrants) * otherOfHalfPi), negate(x));
  }
  Value atan(Value x) {
    Value a = m.absolute(x), isLarge = greater(a, 1);
    Value angle = atanOfRatio(m.select(isLarge, reciprocal(a), a));
    return signOf(x, m.select(isLarge, fromPi(1, angle), angle));
  }
  Value atan2(Value y, Value x) {
    Value height = m.absolute(y), width = m.absolute(x), steep = m.less(width, height);
    Value large = atLeast(arith::MaximumFOp::create(b, width, height), 0x1p-149), small = arith::MinimumFOp::create(b, width, height);
    Value factor = m.select(m.less(large, m.real(0x1p-100)), m.real(0x1p30), m.real(1)); // the reciprocal must be a normal number
    factor = m.select(greater(large, 0x1p100), m.real(0x1p-30), factor);
    Value ratio = m.multiply(m.multiply(small, factor), reciprocal(m.multiply(large, factor)));
    ratio = m.select(m.equal(small, m.real(infinity)), m.real(1), ratio);
    Value angle = atanOfRatio(ratio);
    angle = m.select(steep, fromPi(1, angle), angle);
    angle = m.select(isNegative(x), fromPi(2, angle), angle);
    return signOf(y, angle);
  }

  // ---- error functions

  /// erf of |x| < 0.925: x + x P(x^2), degree 13, 2^-31.
  Value erfNearZero(Value x) {
    Value tail = m.polynomial(m.multiply(x, x), {0.12837916612625122, -0.37612631916999817, 0.11283687502145767, -0.026858940720558167,
                                                 0.00519990548491478, -0.0008130001951940358, 8.31673460197635e-05});
    return m.multiplyAdd(tail, x, x);
  }
  /// From 0.925 on: 1 - 2^Q(x), Q the logarithm of erfc, degree 7, 2^-34.
  Value erf(Value x) {
    Value a = m.absolute(x);
    Value logarithm = m.polynomial(a, {0.0002520194393582642, -1.6295455694198608, -0.9137263894081116, -0.15621517598628998,
                                       0.03623969480395317, -0.006017580628395081, 0.0006267988355830312, -3.043387914658524e-05});
    Value large = m.subtract(m.real(1), exp2(logarithm));
    return signOf(x, m.select(m.less(a, m.real(0.925)), erfNearZero(a), large));
  }
  /// For a = |x| from 0.477 on: e^(-a^2) g / (1 + 2a), with a polynomial g of (a - 3) / (a + 3); 2^-28.8. The error of an approximate
  /// exponential would be too large. The polynomial for it, 2^-28.3, needs a small rest, so the exponential is multiplied by 2^64.
  Value erfc(Value x) {
    Value a = atMost(m.absolute(x), 11); // from 10.1 on the result is 0
    Value ratio = m.multiply(m.add(a, m.real(-3)), reciprocal(m.add(a, m.real(3))));
    Value g = m.polynomial(ratio, {1.2530080080032349, -0.13562114536762238, -0.04756240174174309, 0.1296464055776596, -0.11927086859941483,
                                   0.0682959035038948, -0.023798193782567978, 0.0025662987027317286, 0.0020027465652674437,
                                   -0.0007751283119432628, -0.00026699379668571055});
    // The rounding errors of a^2 and 1 + 2a would be visible.
    Value square = m.multiply(negate(a), a), lost = m.multiplyAdd(negate(a), a, negate(square));
    SplitExp split = splitExp(square, 64);
    Value rest = m.multiplyAdd(lost, m.real(log2eHigh), split.rest);
    Value power = m.polynomial(rest, {1, 0.6931471824645996, 0.24022647738456726, 0.055503591895103455, 0.009618505835533142,
                                      0.001339124166406691, 0.0001532710448373109});
    Value divisor = m.multiplyAdd(a, m.real(2), m.real(1)), inverse = reciprocal(divisor);
    Value divisorLow = m.multiplyAdd(a, m.real(2), m.subtract(m.real(1), divisor));
    Value quotient = m.multiply(g, inverse), minus = negate(quotient);
    Value remainder = m.multiplyAdd(minus, divisorLow, m.multiplyAdd(minus, divisor, g));
    quotient = m.multiplyAdd(remainder, inverse, quotient);
    Value tail = m.multiply(m.multiply(m.multiply(power, split.power), quotient), m.real(0x1p-64));
    tail = m.select(m.less(x, m.real(0)), m.subtract(m.real(2), tail), tail);
    return m.select(m.less(a, m.real(0.477)), m.subtract(m.real(1), erfNearZero(x)), tail);
  }

  ImplicitLocOpBuilder &b;
  const SingleInstructions &instructions;
  MathOps m;
};

} // namespace

Value singleFunction(ImplicitLocOpBuilder &b, const SingleInstructions &instructions, StringRef name, ValueRange operands) {
  return SingleMath(b, instructions).call(name, operands);
}

} // namespace tilewright::floats
