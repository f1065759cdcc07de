// Each function reduces its argument to a small interval without rounding, evaluates a series there, and undoes the reduction. Selects
// handle infinities, zeros and NaN. The series are Taylor series, whose coefficients need no table; only erfc uses fitted coefficients.
//
// Trigonometric functions of large arguments are difficult: x mod pi/2 depends on bits of 2/pi far after the binary point. The bits that
// the exponent of x shifts to the point are selected, and multiplied by the 53 bits of x as integers. The part before the point drops
// out:
//     x = M * 2^E,  2/pi = 0.101000101111...   ->   (M * (192 bits of 2/pi from bit E on)) mod 2^192 = quadrant and fraction
#include "ir/double_math.h"

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
constexpr double ln2High = 0.6931471803691238,
                 ln2Low = 1.9082149292705877e-10; // the first has 32 bits: its products with exponents are exact

struct Angle {
  Value rest, quadrant; // |rest| <= pi/4 (a little more is possible), quadrant i64
};

struct Log {
  Value high, low;
};

/// 2/pi: a zero word, then the bits after the binary point.
constexpr std::array<uint64_t, 20> twoOverPi = {0,
                                                0xa2f9836e4e441529,
                                                0xfc2757d1f534ddc0,
                                                0xdb6295993c439041,
                                                0xfe5163abdebbc561,
                                                0xb7246e3a424dd2e0,
                                                0x06492eea09d1921c,
                                                0xfe1deb1cb129a73e,
                                                0xe88235f52ebb4484,
                                                0xe99c7026b45f7e41,
                                                0x3991d639835339f4,
                                                0x9c845f8bbdf9283b,
                                                0x1ff897ffde05980f,
                                                0xef2f118b5a0a6d1f,
                                                0x6d367ecf27cb09b7,
                                                0x4f463f669e5fea2d,
                                                0x7527bac7ebe5f17b,
                                                0x3d0739f78a5292ea,
                                                0x6bfb5fb11f8d5d08,
                                                0x56033046fc7b6bab};

class DoubleMath {
public:
  DoubleMath(ImplicitLocOpBuilder &b, const DoubleInstructions &instructions)
      : b(b), instructions(instructions), m(b, instructions.fused, b.getF64Type()) {}

  Value call(StringRef name, ValueRange x) {
    using Unary = Value (DoubleMath::*)(Value);
    using Binary = Value (DoubleMath::*)(Value, Value);
    if (x.size() == 1) {
      Unary function = llvm::StringSwitch<Unary>(name)
                           .Case("exp", &DoubleMath::exp)
                           .Case("exp2", &DoubleMath::exp2)
                           .Case("expm1", &DoubleMath::expm1)
                           .Case("log", &DoubleMath::log)
                           .Case("log2", &DoubleMath::log2)
                           .Case("log10", &DoubleMath::log10)
                           .Case("log1p", &DoubleMath::log1p)
                           .Case("sin", &DoubleMath::sin)
                           .Case("cos", &DoubleMath::cos)
                           .Case("tan", &DoubleMath::tan)
                           .Case("asin", &DoubleMath::asin)
                           .Case("acos", &DoubleMath::acos)
                           .Case("atan", &DoubleMath::atan)
                           .Case("sinh", &DoubleMath::sinh)
                           .Case("cosh", &DoubleMath::cosh)
                           .Case("tanh", &DoubleMath::tanh)
                           .Case("asinh", &DoubleMath::asinh)
                           .Case("acosh", &DoubleMath::acosh)
                           .Case("atanh", &DoubleMath::atanh)
                           .Case("erf", &DoubleMath::erf)
                           .Case("erfc", &DoubleMath::erfc)
                           .Case("cbrt", &DoubleMath::cbrt)
                           .Default(nullptr);
      return function ? (this->*function)(x[0]) : Value();
    }
    Binary function = llvm::StringSwitch<Binary>(name)
                          .Case("pow", &DoubleMath::pow)
                          .Case("atan2", &DoubleMath::atan2)
                          .Case("hypot", &DoubleMath::hypot)
                          .Default(nullptr);
    return function && x.size() == 2 ? (this->*function)(x[0], x[1]) : Value();
  }

private:
  Value sqrt(Value x) { return instructions.sqrt(b, x); }
  Value truncate(Value x) { return instructions.truncate(b, x); }

  struct Nearest {
    Value whole, integer;
  };
  /// The nearest integer for |x| < 2^51: after adding 1.5 * 2^52, the low bits hold it. For other x the result is meaningless.
  Nearest nearest(Value x) {
    Value anchor = m.real(0x1.8p52), shifted = m.add(x, anchor);
    return {m.subtract(shifted, anchor), m.subtractWords(m.bits(shifted), m.bits(anchor))};
  }
  Value negate(Value x) { return arith::NegFOp::create(b, x); }
  Value half(Value x) { return m.multiply(x, m.real(0.5)); }
  Value isNan(Value x) { return m.compare(arith::CmpFPredicate::UNO, x, x); }
  Value greater(Value x, double y) { return m.less(m.real(y), x); }
  Value isNegative(Value x) { return m.compareWords(arith::CmpIPredicate::slt, m.bits(x), m.word(0)); } // true for -0 also
  Value clamp(Value x, double low, double high) {                                                       // keeps NaN
    x = m.select(m.less(x, m.real(low)), m.real(low), x);
    return m.select(greater(x, high), m.real(high), x);
  }

  /// 2^k for an integer k of -1022 to 1023.
  Value powerOfTwo(Value k) { return m.fromBits(m.shiftLeft(m.addWords(k, m.word(1023)), 52)); }
  /// y * 2^k for k of -2044 to 2046, with one rounding at most.
  Value scale(Value y, Value k) {
    Value first = m.shiftRightSigned(k, 1);
    return m.multiply(m.multiply(y, powerOfTwo(first)), powerOfTwo(m.subtractWords(k, first)));
  }

  /// e^r - 1 for |r| <= ln 2 / 2.
  Value expm1OfRest(Value r) {
    SmallVector<double> coefficients;
    double factorial = 1;
    for (int64_t n = 2; n <= 14; ++n)
      coefficients.push_back(1 / (factorial *= static_cast<double>(n)));
    return m.multiplyAdd(m.multiply(r, r), m.polynomial(r, coefficients), r);
  }
  Value expOfRest(Value r) { return m.add(expm1OfRest(r), m.real(1)); }

  struct ExpParts {
    Value rest, exponent;
  };
  ExpParts splitExp(Value x) {
    Nearest k = nearest(m.multiply(x, m.real(1.4426950408889634)));
    Value minus = negate(k.whole);
    return {m.multiplyAdd(minus, ln2Low, m.multiplyAdd(minus, ln2High, x)), k.integer};
  }
  Value exp(Value x) {
    ExpParts parts = splitExp(clamp(x, -750, 710));
    return scale(expOfRest(parts.rest), parts.exponent);
  }
  Value exp2(Value x) {
    x = clamp(x, -1080, 1025);
    Nearest k = nearest(x);
    return scale(expOfRest(m.multiply(m.subtract(x, k.whole), m.real(0.6931471805599453))), k.integer);
  }
  /// 2^k (e^r - 1) + (2^k - 1): the last difference is exact where it matters.
  Value expm1(Value x) {
    ExpParts parts = splitExp(clamp(x, -50, 60));
    Value power = powerOfTwo(parts.exponent);
    Value middle = m.multiplyAdd(power, expm1OfRest(parts.rest), m.subtract(power, m.real(1)));
    // -0 keeps its sign.
    middle = m.select(m.equal(x, m.real(0)), x, middle);
    return m.select(greater(x, 50), exp(x), middle);
  }

  struct LogParts {
    Value exponent, excess, tail; // log x = exponent * ln 2 + excess - tail
  };
  /// For normal and subnormal positive numbers.
  LogParts splitLog(Value x) {
    constexpr int64_t rootOfHalf = 0x3fe6a09e667f3bcd;
    Value subnormal = m.less(x, m.real(2.2250738585072014e-308));
    Value normal = m.select(subnormal, m.multiply(x, m.real(0x1p54)), x);
    Value offset = m.subtractWords(m.bits(normal), m.word(rootOfHalf));
    Value exponent = arith::SIToFPOp::create(b, m.realType, m.shiftRightSigned(offset, 52));
    exponent = m.add(exponent, m.select(subnormal, m.real(-54), m.real(0)));
    Value mantissa = m.fromBits(m.addWords(m.bitAnd(offset, 0xfffffffffffff), m.word(rootOfHalf)));
    // log(1 + f) = 2 atanh(s) with s = f / (2 + f), written so that f, which is exact, is its largest term.
    Value f = m.subtract(mantissa, m.real(1));
    Value s = m.divide(f, m.add(f, m.real(2)));
    Value square = m.multiply(s, s);
    SmallVector<double> coefficients;
    for (int64_t n = 1; n <= 11; ++n)
      coefficients.push_back(2.0 / static_cast<double>(2 * n + 1));
    Value series = m.multiply(square, m.polynomial(square, coefficients));
    Value halfSquare = m.multiply(half(f), f);
    return {exponent, f, m.subtract(halfSquare, m.multiply(s, m.add(halfSquare, series)))};
  }
  /// Corrects the logarithm for special arguments: -inf for zeros, NaN for negative numbers; infinity and NaN stay.
  Value logOfSpecial(Value x, Value result) {
    result = m.select(m.less(x, m.real(infinity)), result, x);
    Value outside = m.select(m.equal(x, m.real(0)), m.real(-infinity), m.real(notANumber));
    return m.select(m.lessOrEqual(x, m.real(0)), outside, result);
  }
  Value log(Value x) {
    LogParts parts = splitLog(x);
    Value low = m.subtract(parts.tail, m.multiply(parts.exponent, m.real(ln2Low)));
    return logOfSpecial(x, m.multiplyAdd(parts.exponent, ln2High, m.subtract(parts.excess, low)));
  }
  Value log2(Value x) {
    LogParts parts = splitLog(x);
    Value rest = m.subtract(parts.excess, parts.tail);
    Value low = m.multiply(rest, m.real(2.0355273740931033e-17));
    return logOfSpecial(x, m.add(parts.exponent, m.multiplyAdd(rest, 1.4426950408889634, low)));
  }
  Value log10(Value x) {
    LogParts parts = splitLog(x);
    Value rest = m.multiply(m.subtract(parts.excess, parts.tail), m.real(0.4342944819032518));
    Value low = m.multiplyAdd(parts.exponent, 1.1451100898021838e-10, rest);
    return logOfSpecial(x, m.multiplyAdd(parts.exponent, 0.3010299955494702, low));
  }
  /// log(u) for u = 1 + x rounded, plus a correction for the rounding.
  Value log1p(Value x) {
    Value u = m.add(x, m.real(1));
    Value lost = m.divide(m.subtract(x, m.subtract(u, m.real(1))), u);
    Value whole = m.less(m.absolute(u), m.real(infinity));
    Value special = m.compare(arith::CmpFPredicate::OLE, u, m.real(0)); // -inf or NaN, which `lost` must not change
    Value plain = log(u);
    Value result = m.select(whole, m.add(plain, lost), u);
    return m.select(m.equal(x, m.real(0)), x, m.select(special, plain, result));
  }
  /// The logarithm of a positive x as the sum of two numbers, for pow.
  Log wideLog(Value x) {
    LogParts parts = splitLog(x);
    Value main = m.multiply(parts.exponent, m.real(ln2High)); // exact
    Value high = m.add(main, parts.excess);
    Value back = m.subtract(high, main);
    Value lost = m.add(m.subtract(main, m.subtract(high, back)), m.subtract(parts.excess, back));
    Value low = m.add(lost, m.subtract(m.multiply(parts.exponent, m.real(ln2Low)), parts.tail));
    Value sum = m.add(high, low);
    return {sum, m.add(m.subtract(high, sum), low)};
  }

  Value pow(Value x, Value y) {
    Value magnitude = m.absolute(x);
    Log log = wideLog(magnitude);
    Value zeroOrInfinite = arith::OrIOp::create(b, m.equal(magnitude, m.real(0)), m.equal(magnitude, m.real(infinity)));
    Value logarithm = m.select(zeroOrInfinite, m.select(m.equal(magnitude, m.real(0)), m.real(-infinity), m.real(infinity)), log.high);
    Value product = m.multiply(logarithm, y);
    Value low = m.multiplyAdd(log.low, y, m.multiplyAdd(log.high, y, negate(product)));
    Value small = m.less(m.absolute(product), m.real(800));
    Value power = exp(product);
    Value result = m.select(small, m.multiplyAdd(power, low, power), power);
    // The sign of an odd power; NaN for a negative number with a fractional exponent.
    Value isWhole = m.equal(truncate(y), y);
    Value halved = half(y);
    Value isOdd = arith::AndIOp::create(
        b, isWhole,
        arith::AndIOp::create(b, m.compare(arith::CmpFPredicate::ONE, truncate(halved), halved), m.less(m.absolute(y), m.real(0x1p53))));
    Value negative = isNegative(x);
    result = m.select(arith::AndIOp::create(b, negative, isOdd), negate(result), result);
    Value finiteBase = arith::AndIOp::create(b, m.less(x, m.real(0)), m.less(magnitude, m.real(infinity)));
    Value broken = arith::AndIOp::create(b, finiteBase, arith::XOrIOp::create(b, isWhole, constantTrue()));
    result = m.select(broken, m.real(notANumber), result);
    result = m.select(arith::OrIOp::create(b, isNan(x), isNan(y)), m.add(x, y), result);
    Value farExponent = m.equal(m.absolute(y), m.real(infinity));
    Value one = arith::OrIOp::create(b, m.equal(x, m.real(1)), m.equal(y, m.real(0)));
    one = arith::OrIOp::create(b, one, arith::AndIOp::create(b, m.equal(magnitude, m.real(1)), farExponent));
    return m.select(one, m.real(1), result);
  }
  Value constantTrue() { return arith::ConstantOp::create(b, b.getBoolAttr(true)); }

  // ---- angles

  /// For |x| < 2^27: x - k pi/2 with pi/2 as the sum of three numbers. The first step is exact.
  Angle reduceNear(Value x) {
    Nearest k = nearest(m.multiply(x, m.real(0.6366197723675814)));
    Value minus = negate(k.whole);
    Value rest = m.multiplyAdd(minus, 1.5707963267948966, x);
    rest = m.multiplyAdd(minus, 6.123233995736766e-17, rest);
    rest = m.multiplyAdd(minus, -1.4973849048591698e-33, rest);
    return {rest, k.integer};
  }

  Angle reduceFar(Value x) {
    Value bits = m.bits(m.absolute(x));
    Value field = m.shiftRight(bits, 52);
    Value mantissa = m.shiftLeft(m.bitOr(m.bitAnd(bits, 0xfffffffffffff), m.word(int64_t(1) << 52)), 11);
    // x = mantissa * 2^(field - 1086). Bits of 2/pi that give multiples of 4 are left out.
    Value start = m.addWords(field, m.word(62 - 1086));
    Value word = m.shiftRight(start, 6), shift = m.bitAnd(start, 63);
    SmallVector<Value> window;
    for (uint64_t part : twoOverPi)
      window.push_back(m.word(static_cast<int64_t>(part)));
    for (int64_t bit = 3; bit >= 0; --bit) {
      Value isSet = m.compareWords(arith::CmpIPredicate::ne, m.bitAnd(word, int64_t(1) << bit), m.word(0));
      SmallVector<Value> moved;
      size_t distance = size_t(1) << bit, wanted = 4 + distance - 1;
      for (size_t i = 0; i < wanted && i < window.size(); ++i)
        moved.push_back(i + distance < window.size() ? m.select(isSet, window[i + distance], window[i]) : window[i]);
      window = moved;
    }
    Value isShifted = m.compareWords(arith::CmpIPredicate::ne, shift, m.word(0));
    Value back = m.bitAnd(m.subtractWords(m.word(64), shift), 63);
    std::array<Value, 3> v;
    for (size_t i = 0; i < 3; ++i) {
      Value carried = m.select(isShifted, arith::ShRUIOp::create(b, window[i + 1], back), m.word(0));
      v[i] = m.bitOr(arith::ShLIOp::create(b, window[i], shift), carried);
    }
    auto low = arith::MulUIExtendedOp::create(b, mantissa, v[2]), middle = arith::MulUIExtendedOp::create(b, mantissa, v[1]);
    auto second = arith::AddUIExtendedOp::create(b, low.getHigh(), middle.getLow());
    Value first = m.addWords(middle.getHigh(), arith::MulIOp::create(b, mantissa, v[0]));
    first = m.addWords(first, arith::ExtUIOp::create(b, m.wordType, second.getOverflow()));
    Value quadrant = m.shiftRight(first, 62);
    Value high = m.bitOr(m.shiftLeft(first, 2), m.shiftRight(second.getSum(), 62));
    // If the fraction is at least one half, it is negative and the quadrant is the next one.
    quadrant = m.addWords(quadrant, m.shiftRight(high, 63));
    Value fraction = m.multiply(arith::SIToFPOp::create(b, m.realType, high), m.real(0x1p-64));
    Value rest = m.shiftLeft(second.getSum(), 2);
    fraction = m.multiplyAdd(arith::UIToFPOp::create(b, m.realType, rest), 0x1p-128, fraction);
    Value angle = m.multiply(fraction, m.real(1.5707963267948966));
    Value negative = isNegative(x);
    return {m.select(negative, negate(angle), angle), m.select(negative, m.subtractWords(m.word(0), quadrant), quadrant)};
  }

  Angle reduce(Value x) {
    Value isFar = m.compare(arith::CmpFPredicate::OGT, m.absolute(x), m.real(0x1p27));
    auto branch = scf::IfOp::create(b, TypeRange{m.realType, m.wordType}, isFar, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Angle far = reduceFar(x);
    Value finite = m.less(m.absolute(x), m.real(infinity));
    scf::YieldOp::create(b, ValueRange{m.select(finite, far.rest, m.real(notANumber)), far.quadrant});
    b.setInsertionPointToStart(branch.elseBlock());
    Angle near = reduceNear(x);
    scf::YieldOp::create(b, ValueRange{near.rest, near.quadrant});
    return {branch.getResult(0), branch.getResult(1)};
  }

  /// 1 - x^2/2! + ... or 1 - x^2/3! + ..., in x^2.
  Value alternating(Value square, int64_t first, int64_t terms) {
    SmallVector<double> coefficients;
    double factorial = 1;
    for (int64_t n = 1; n <= first; ++n)
      factorial *= static_cast<double>(n);
    for (int64_t i = 0; i < terms; ++i) {
      coefficients.push_back((i % 2 ? -1 : 1) / factorial);
      int64_t n = first + 2 * i;
      factorial *= static_cast<double>((n + 1) * (n + 2));
    }
    return m.polynomial(square, coefficients);
  }
  Value sinOfRest(Value x) {
    Value square = m.multiply(x, x);
    Value tail = alternating(square, 3, 8);
    return m.multiplyAdd(negate(m.multiply(square, x)), tail, x);
  }
  Value cosOfRest(Value x) {
    Value square = m.multiply(x, x);
    Value tail = alternating(square, 2, 8);
    return m.multiplyAdd(negate(square), tail, m.real(1));
  }
  Value oddBit(Value number, int64_t bit) {
    return m.compareWords(arith::CmpIPredicate::ne, m.bitAnd(number, int64_t(1) << bit), m.word(0));
  }
  Value sinOrCos(Angle angle, Value quadrant) {
    Value value = m.select(oddBit(quadrant, 0), cosOfRest(angle.rest), sinOfRest(angle.rest));
    return m.select(oddBit(quadrant, 1), negate(value), value);
  }
  Value sin(Value x) {
    Angle angle = reduce(x);
    return keepZero(x, sinOrCos(angle, angle.quadrant));
  }
  Value cos(Value x) {
    Angle angle = reduce(x);
    return sinOrCos(angle, m.addWords(angle.quadrant, m.word(1)));
  }
  Value tan(Value x) {
    Angle angle = reduce(x);
    Value sine = sinOfRest(angle.rest), cosine = cosOfRest(angle.rest), odd = oddBit(angle.quadrant, 0);
    return keepZero(x, m.divide(m.select(odd, cosine, sine), m.select(odd, negate(sine), cosine)));
  }
  /// Returns x itself if it is zero, because the argument reduction loses the sign of zero.
  Value keepZero(Value x, Value value) { return m.select(m.equal(x, m.real(0)), x, value); }

  /// From 0 to infinity: the reciprocal reduces to [0, 1], the difference from pi/4 to |z| <= tan(pi/8).
  Value atanOfPositive(Value x) {
    Value isLarge = greater(x, 1);
    Value z = m.select(isLarge, m.divide(m.real(1), x), x);
    Value isMiddle = greater(z, 0.41421356237309503);
    z = m.select(isMiddle, m.divide(m.subtract(z, m.real(1)), m.add(z, m.real(1))), z);
    Value square = m.multiply(z, z);
    SmallVector<double> coefficients;
    for (int64_t n = 1; n <= 21; ++n)
      coefficients.push_back((n % 2 ? -1.0 : 1.0) / static_cast<double>(2 * n + 1));
    Value angle = m.multiplyAdd(m.multiply(square, z), m.polynomial(square, coefficients), z);
    angle = m.select(isMiddle, m.add(m.add(angle, m.real(3.061616997868383e-17)), m.real(0.7853981633974483)), angle);
    return m.select(isLarge, fromRightAngle(angle), angle);
  }
  Value fromRightAngle(Value x) { return m.add(m.subtract(m.real(6.123233995736766e-17), x), m.real(1.5707963267948966)); }
  Value atan(Value x) { return m.withSignOf(m.absolute(atanOfPositive(m.absolute(x))), x); }
  Value asin(Value x) {
    Value a = m.absolute(x);
    Value opposite = sqrt(m.multiply(m.subtract(m.real(1), a), m.add(m.real(1), a)));
    return m.withSignOf(m.absolute(atanOfPositive(m.divide(a, opposite))), x);
  }
  Value acos(Value x) {
    Value ratio = m.divide(m.subtract(m.real(1), x), m.add(m.real(1), x));
    Value angle = atanOfPositive(sqrt(ratio));
    return m.add(angle, angle);
  }
  Value atan2(Value y, Value x) {
    Value height = m.absolute(y), width = m.absolute(x);
    Value steep = m.less(width, height);
    Value large = m.select(steep, height, width), small = m.select(steep, width, height);
    Value ratio = m.divide(small, large);
    ratio = m.select(m.equal(large, m.real(0)), m.real(0), ratio);
    ratio = m.select(m.equal(small, m.real(infinity)), m.real(1), ratio);
    Value angle = atanOfPositive(ratio);
    angle = m.select(steep, fromRightAngle(angle), angle);
    Value left = m.add(m.subtract(m.real(1.2246467991473532e-16), angle), m.real(3.141592653589793));
    angle = m.select(isNegative(x), left, angle);
    angle = m.withSignOf(m.absolute(angle), y);
    return m.select(arith::OrIOp::create(b, isNan(x), isNan(y)), m.add(x, y), angle);
  }

  // ---- hyperbolic

  Value sinh(Value x) {
    Value a = m.absolute(x);
    Value t = expm1(a);
    Value middle = half(m.add(t, m.divide(t, m.add(t, m.real(1)))));
    Value root = exp(half(a));
    Value large = m.multiply(half(root), root);
    return m.withSignOf(m.absolute(m.select(greater(a, 700), large, middle)), x);
  }
  Value cosh(Value x) {
    Value a = m.absolute(x);
    Value power = exp(a);
    Value root = exp(half(a));
    Value middle = m.add(half(power), m.divide(m.real(0.5), power));
    return m.select(greater(a, 700), m.multiply(half(root), root), middle);
  }
  Value tanh(Value x) {
    Value a = m.absolute(x);
    a = m.select(greater(a, 22), m.real(22), a);
    Value t = expm1(m.add(a, a));
    return m.withSignOf(m.absolute(m.divide(t, m.add(t, m.real(2)))), x);
  }
  Value asinh(Value x) {
    Value a = m.absolute(x), square = m.multiply(a, a);
    Value middle = log1p(m.add(a, m.divide(square, m.add(m.real(1), sqrt(m.add(square, m.real(1)))))));
    Value large = m.add(log(a), m.real(0.6931471805599453));
    return m.withSignOf(m.absolute(m.select(greater(a, 1e150), large, middle)), x);
  }
  Value acosh(Value x) {
    Value t = m.subtract(x, m.real(1));
    Value middle = log1p(m.add(t, sqrt(m.multiplyAdd(t, t, m.add(t, t)))));
    Value result = m.select(greater(x, 1e150), m.add(log(x), m.real(0.6931471805599453)), middle);
    return m.select(m.less(x, m.real(1)), m.real(notANumber), result);
  }
  Value atanh(Value x) {
    Value a = m.absolute(x);
    Value value = half(log1p(m.divide(m.add(a, a), m.subtract(m.real(1), a))));
    Value isBad = arith::OrIOp::create(b, greater(a, 1), isNan(x));
    return m.select(isBad, m.real(notANumber), m.withSignOf(m.absolute(value), x));
  }

  // ---- erf

  /// For |x| < 1: the series of the integral.
  Value erfNearZero(Value x) {
    Value square = m.multiply(x, x);
    SmallVector<double> coefficients;
    double factorial = 1;
    for (int64_t n = 0; n <= 20; ++n) {
      if (n) factorial *= static_cast<double>(n);
      coefficients.push_back((n % 2 ? -1 : 1) * 1.1283791670955126 / (factorial * static_cast<double>(2 * n + 1)));
    }
    return m.multiply(x, m.polynomial(square, coefficients));
  }
  /// erfc of x >= 0.5: e^(-x^2) g / (1 + 2x). g is close to 1.1, and is a sum of Chebyshev polynomials of (x - 2.5) / (x + 2.5).
  Value erfcOfPositive(Value x) {
    static constexpr double coefficients[] = {
        1.1771189339755783,      0.01421274082732332,    -0.10037710257743795,   0.04838422197495771,    -0.012607425531069104,
        0.0016421555334706595,   5.2927052289800504e-05, -5.106088378409827e-05, 2.371428558502003e-06,  1.5839410905182581e-06,
        -1.2483958211750847e-07, -6.04565732133604e-08,  4.0925941245210135e-09, 2.7374094237187243e-09, -4.5886933716003754e-11,
        -1.3187750369729465e-10, -8.268090806120331e-12, 5.9379251241790284e-12, 1.0596357288540175e-12, -1.9892259921437084e-13,
        -8.474653109110982e-14,  -2.518334370166951e-16, 4.974971993791261e-15,  7.988345428788568e-16,  -1.7595071895673927e-16,
        -8.156341907511675e-17};
    x = m.select(greater(x, 40), m.real(40), x); // erfc is 0 from 27.3 on
    Value t = m.divide(m.subtract(x, m.real(2.5)), m.add(x, m.real(2.5)));
    Value twice = m.add(t, t), last = m.real(0), beforeLast = m.real(0);
    for (size_t i = std::size(coefficients); i-- > 1;) {
      Value next = m.subtract(m.multiplyAdd(twice, last, m.real(coefficients[i])), beforeLast);
      beforeLast = last;
      last = next;
    }
    Value g = m.subtract(m.multiplyAdd(t, last, m.real(coefficients[0])), beforeLast);
    // The rounding error of x^2 would be visible in its exponential.
    Value square = m.multiply(x, x), lost = m.multiplyAdd(x, x, negate(square));
    Value power = exp(negate(square));
    power = m.multiplyAdd(power, negate(lost), power);
    return m.divide(m.multiply(power, g), m.multiplyAdd(x, m.real(2), m.real(1)));
  }
  Value erf(Value x) {
    Value a = m.absolute(x);
    Value large = m.subtract(m.real(1), erfcOfPositive(a));
    Value isSmall = m.compare(arith::CmpFPredicate::ULT, a, m.real(1)); // or NaN, which the series keeps
    return m.withSignOf(m.absolute(m.select(isSmall, erfNearZero(a), large)), x);
  }
  Value erfc(Value x) {
    Value a = m.absolute(x), tail = erfcOfPositive(a);
    tail = m.select(m.less(x, m.real(0)), m.subtract(m.real(2), tail), tail);
    Value isSmall = m.compare(arith::CmpFPredicate::ULT, a, m.real(0.5));
    return m.select(isSmall, m.subtract(m.real(1), erfNearZero(x)), tail);
  }

  // ---- roots

  Value cbrt(Value x) {
    Value a = m.absolute(x);
    Value root = exp(m.multiply(log(a), m.real(1.0 / 3)));
    Value square = m.multiply(root, root);
    Value step = m.divide(m.multiplyAdd(square, root, negate(a)), m.multiply(square, m.real(3)));
    root = m.subtract(root, step);
    Value isPlain = arith::AndIOp::create(b, greater(a, 0), m.less(a, m.real(infinity)));
    return m.select(isPlain, m.withSignOf(m.absolute(root), x), x);
  }
  Value hypot(Value x, Value y) {
    Value first = m.absolute(x), second = m.absolute(y);
    Value swap = m.less(first, second);
    Value large = m.select(swap, second, first), small = m.select(swap, first, second);
    Value ratio = m.divide(small, large);
    Value result = m.multiply(large, sqrt(m.multiplyAdd(ratio, ratio, m.real(1))));
    result = m.select(m.equal(large, m.real(0)), m.real(0), result);
    Value isInfinite = arith::OrIOp::create(b, m.equal(first, m.real(infinity)), m.equal(second, m.real(infinity)));
    return m.select(isInfinite, m.real(infinity), result);
  }

  ImplicitLocOpBuilder &b;
  const DoubleInstructions &instructions;
  MathOps m;
};

} // namespace

Value doubleFunction(ImplicitLocOpBuilder &b, const DoubleInstructions &instructions, StringRef name, ValueRange operands) {
  return DoubleMath(b, instructions).call(name, operands);
}

} // namespace tilewright::floats
