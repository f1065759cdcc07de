// Inline exp, log, tanh and erf of f32. Many kernels use them (softmax, GELU, cross entropy), and a call of a vector library would spill
// all registers around it. Each function reduces its argument to a small interval by exact arithmetic. There it evaluates a minimax
// polynomial (Remez, weighted by the relative error of the result, coefficients rounded to f32). Then it restores the exponent. Selects
// handle infinities, NaN, zeros and subnormals.
//
// The comment of each function has the largest error found, in units in the last place of the true value, with fused multiply-add and
// without. The inputs were every 13th bit pattern, for exp and exp2 every 29th.
#include "ir/float_math.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tilewright::floats {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

MathOps::MathOps(ImplicitLocOpBuilder &b, FusedMultiplyAdd fused, Type type) : b(b), fused(fused), realType(type) {
  auto vector = dyn_cast<VectorType>(type);
  width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  fraction = width == 64 ? 52 : 23;
  auto like = [&](Type element) { return vector ? Type(VectorType::get(vector.getShape(), element)) : element; };
  wordType = like(b.getIntegerType(static_cast<unsigned>(width)));
  maskType = like(b.getI1Type());
}

static Value constantOf(ImplicitLocOpBuilder &b, Type type, TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type)) return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(element)));
  return arith::ConstantOp::create(b, element);
}

Value MathOps::real(double value) {
  return constantOf(b, realType, FloatAttr::get(getElementTypeOrSelf(realType), value));
}

Value MathOps::word(int64_t value) {
  return constantOf(b, wordType,
                    IntegerAttr::get(getElementTypeOrSelf(wordType), APInt(static_cast<unsigned>(width), static_cast<uint64_t>(value),
                                                                           /*isSigned=*/true, /*implicitTrunc=*/true)));
}

Value MathOps::multiplyAdd(Value x, Value y, Value z) {
  return fused ? fused(b, x, y, z) : add(multiply(x, y), z);
}

Value MathOps::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = real(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = multiplyAdd(sum, x, real(coefficient));
  return sum;
}

namespace {

struct Reduced {
  Value word, rest; // x = whole * unit + rest; the low nine bits of `word` are the low bits of whole + bias
};

/// Adding 1.5 * 2^23 leaves the nearest whole number in the low bits of the sum. With a bias, these bits are an exponent field.
constexpr double roundsToWhole = 12582912.0;

constexpr int64_t lift = 24; // 2^-24 times the smallest normal number is below the smallest subnormal number

/// Biases for the three ways to multiply by 2^whole.
constexpr int64_t plain = 0, halved = 2 * 127, lifted = 127 + lift;

/// The result is below the smallest normal number if `argument` is less than `bound`. `subnormals` is the cost of such results.
struct Underflow {
  Subnormals subnormals;
  Value argument;
  double bound;
};

/// Returns x * y. An instruction with a subnormal result takes about a hundred cycles on Intel CPUs, and masked lanes often have such
/// results. There the fused multiply-add also adds 2^-126. The sum is a normal number with the last place of the subnormal numbers. The
/// integer difference of its bits and those of 2^-126 is the subnormal number's bits. Both ways give the same bits.
Value multiplyToSubnormal(MathOps &m, Value x, Value y, Underflow underflow) {
  if (underflow.subnormals == Subnormals::atSpeed) return m.multiply(x, y);
  Value base = m.select(m.less(underflow.argument, m.real(underflow.bound)), m.real(0x1p-126), m.real(0));
  return m.fromBits(m.subtractWords(m.bits(m.multiplyAdd(x, y, base)), m.bits(base)));
}

/// Returns 2^whole * fraction for a fraction near 1 and a whole number from -151 to 129. Multiplies in two steps, so that the result may
/// be subnormal or overflow. NaN in `fraction` stays NaN for any `word`.
Value scaleHalved(MathOps &m, Value fraction, Value word, Underflow underflow) {
  Value first = m.shiftRight(word, 1);
  Value second = m.subtractWords(word, first);
  Value partly = m.multiply(fraction, m.fromBits(m.shiftLeft(first, 23)));
  return multiplyToSubnormal(m, partly, m.fromBits(m.shiftLeft(second, 23)), underflow);
}

/// The same for a fraction already multiplied by 2^-24, and a whole number from -150 to 103. 2^(whole + 24) is a normal number, and only
/// the product rounds.
Value scaleLifted(MathOps &m, Value fraction, Value word, Underflow underflow) {
  return multiplyToSubnormal(m, fraction, m.fromBits(m.shiftLeft(word, 23)), underflow);
}

/// The same for a plain fraction and a normal result.
Value scaleNormal(MathOps &m, Value fraction, Value word) {
  return m.fromBits(m.addWords(m.bits(fraction), m.shiftLeft(word, 23)));
}

/// Returns max(x, low). NaN stays NaN.
Value atLeast(MathOps &m, Value x, double low) {
  return m.select(m.less(x, m.real(low)), m.real(low), x);
}

Value clamp(MathOps &m, Value x, double low, double high) {
  x = atLeast(m, x, low);
  return m.select(m.less(m.real(high), x), m.real(high), x);
}

/// Reduces x = whole * ln 2 + rest, |rest| <= ln 2 / 2. 355 / 512 is ln 2 in nine bits, so its products are exact.
Reduced reduceExp(MathOps &m, Value x, int64_t bias) {
  Value shifted = m.multiplyAdd(x, 1.4426950216293335, m.real(roundsToWhole + bias));
  Value whole = m.subtract(shifted, m.real(roundsToWhole + bias));
  Value rest = m.multiplyAdd(whole, -0.693359375, x);
  rest = m.multiplyAdd(whole, 2.12194440e-4, rest);
  return {m.bits(shifted), rest};
}

/// Returns unit * e^x for |x| <= ln 2 / 2 and a power of two `unit`: degree 6, 2^-28.2. The last two coefficients are 1, and Horner's rule
/// includes them. This needs one operation less than 1 + (x + x^2 P(x)) and is as exact.
Value expOfRest(MathOps &m, Value x, double unit = 1) {
  double coefficients[] = {1, 1, 0.4999999403953552, 0.16666515171527863, 0.04166845604777336, 0.008369418792426586, 0.001381317968480289};
  for (double &coefficient : coefficients)
    coefficient *= unit;
  return m.polynomial(x, coefficients);
}

Reduced reduceExp2(MathOps &m, Value x, int64_t bias) {
  Value shifted = m.add(x, m.real(roundsToWhole + bias));
  Value whole = m.subtract(shifted, m.real(roundsToWhole + bias));
  return {m.bits(shifted), m.subtract(x, whole)};
}

/// Returns unit * 2^x for |x| <= 1/2; degree 6, 2^-28.9.
Value exp2OfRest(MathOps &m, Value x, double unit = 1) {
  double coefficients[] = {
      1, 0.6931471824645996, 0.24022647738456726, 0.055503323674201965, 0.00961843691766262, 0.0013398873852565885, 0.00015353354683611542};
  for (double &coefficient : coefficients)
    coefficient *= unit;
  return m.polynomial(x, coefficients);
}

struct Split {
  Value exponent, excess; // x = 2^exponent * (1 + excess), excess in [-1/3, 1/3)
};

Split splitForLog(MathOps &m, Value x) {
  constexpr int64_t twoThirds = 0x3f2aaaab;
  Value subnormal = m.less(x, m.real(1.1754943508222875e-38));
  Value normal = m.select(subnormal, m.multiply(x, m.real(8388608)), x);
  Value offset = m.subtractWords(m.bits(normal), m.word(twoThirds));
  Value exponent = arith::SIToFPOp::create(m.b, m.realType, m.shiftRightSigned(offset, 23));
  exponent = m.add(exponent, m.select(subnormal, m.real(-23), m.real(0)));
  Value mantissa = m.fromBits(m.addWords(m.bitAnd(offset, 0x7fffff), m.word(twoThirds)));
  return {exponent, m.subtract(mantissa, m.real(1))};
}

/// Returns NaN for negative numbers and minus infinity for zeros. Infinity and NaN stay.
Value logOfSpecial(MathOps &m, Value x, Value result) {
  result = m.select(m.less(x, m.real(infinity)), result, x);
  Value outside = m.select(m.equal(x, m.real(0)), m.real(-infinity), m.real(notANumber));
  return m.select(m.lessOrEqual(x, m.real(0)), outside, result);
}

} // namespace

// 0.88 ULP, 1.17 without fused multiply-add; the same holds for the next function, for arguments up to zero.
Value inlineExp(MathOps &m, Subnormals subnormals, Value x) {
  Reduced reduced = reduceExp(m, clamp(m, x, -104, 89), halved); // beyond: zero and infinity
  return scaleHalved(m, expOfRest(m, reduced.rest), reduced.word, {subnormals, x, expTiny});
}

Value inlineExpNotPositive(MathOps &m, Subnormals subnormals, Value x) {
  Reduced reduced = reduceExp(m, atLeast(m, x, -104), lifted);
  return scaleLifted(m, expOfRest(m, reduced.rest, std::ldexp(1.0, -lift)), reduced.word, {subnormals, x, expTiny});
}

Value inlineExpNormal(MathOps &m, Value x) {
  Reduced reduced = reduceExp(m, x, lifted);
  return scaleLifted(m, expOfRest(m, reduced.rest, std::ldexp(1.0, -lift)), reduced.word, {Subnormals::atSpeed, x, expTiny});
}

// 0.95 ULP, 1.22 without.
Value inlineExp2(MathOps &m, Subnormals subnormals, Value x) {
  Reduced reduced = reduceExp2(m, clamp(m, x, -151, 129), halved);
  return scaleHalved(m, exp2OfRest(m, reduced.rest), reduced.word, {subnormals, x, exp2Tiny});
}

Value inlineExp2NotPositive(MathOps &m, Subnormals subnormals, Value x) {
  Reduced reduced = reduceExp2(m, atLeast(m, x, -150), lifted);
  return scaleLifted(m, exp2OfRest(m, reduced.rest, std::ldexp(1.0, -lift)), reduced.word, {subnormals, x, exp2Tiny});
}

Value inlineExp2Normal(MathOps &m, Value x) {
  Reduced reduced = reduceExp2(m, x, lifted);
  return scaleLifted(m, exp2OfRest(m, reduced.rest, std::ldexp(1.0, -lift)), reduced.word, {Subnormals::atSpeed, x, exp2Tiny});
}

// 0.87 ULP, 0.95 without.
// log(1 + f) = f + f^2 P(f), degree 10, 2^-27.7.
Value inlineLog(MathOps &m, Value x) {
  Split split = splitForLog(m, x);
  Value f = split.excess;
  Value tail = m.polynomial(f, {-0.5, 0.3333320915699005, -0.24999716877937317, 0.20010747015476227, -0.16682308912277222,
                                0.14001163840293884, -0.12167124450206757, 0.14004746079444885, -0.12949085235595703});
  Value result = m.multiplyAdd(m.multiply(f, f), tail, m.multiply(split.exponent, m.real(-2.12194440e-4)));
  result = m.multiplyAdd(split.exponent, 0.693359375, m.add(f, result));
  return logOfSpecial(m, x, result);
}

// 1.45 ULP, 1.86 without.
// log2(1 + f) = f / ln 2 + f^2 P(f), degree 10, 2^-27.7; 1 / ln 2 in two parts.
Value inlineLog2(MathOps &m, Value x) {
  Split split = splitForLog(m, x);
  Value f = split.excess;
  Value tail = m.polynomial(f, {-0.7213475108146667, 0.480896532535553, -0.36066967248916626, 0.2886940538883209, -0.24067483842372894,
                                0.20199409127235413, -0.17553450167179108, 0.2020457684993744, -0.1868157982826233});
  Value result = m.multiplyAdd(m.multiply(f, f), tail, m.multiply(f, m.real(1.925963033500011e-08)));
  result = m.add(m.multiplyAdd(f, 1.4426950216293335, result), split.exponent);
  return logOfSpecial(m, x, result);
}

// 1.33 ULP, 1.32 without.
// Below 0.625: x + x^3 P(x^2), degree 11, 2^-27.8. Above: 1 - 2 / (e^2x + 1); from 9.02 on that is 1.
Value inlineTanh(MathOps &m, Value x) {
  Value magnitude = m.absolute(x);
  Value square = m.multiply(x, x);
  Value tail =
      m.polynomial(square, {-0.3333328068256378, 0.13331441581249237, -0.05373971909284592, 0.020639099180698395, -0.005704998038709164});
  Value small = m.multiplyAdd(m.multiply(square, tail), magnitude, magnitude);

  Value bounded = m.select(m.less(magnitude, m.real(10)), magnitude, m.real(10));
  Reduced reduced = reduceExp(m, m.add(bounded, bounded), plain);
  Value power = scaleNormal(m, expOfRest(m, reduced.rest), reduced.word);
  Value large = m.subtract(m.real(1), m.divide(m.real(2), m.add(power, m.real(1))));
  Value isSmall = m.compare(arith::CmpFPredicate::ULT, magnitude, m.real(0.625)); // or NaN, which the polynomial keeps
  return m.withSignOf(m.select(isSmall, small, large), x);
}

// 1.34 ULP, 1.46 without.
// Below 0.925: x + x P(x^2), degree 13, 2^-31. Above: 1 - 2^Q(x), Q the logarithm of erfc, degree 7, 2^-34; from 4 on that is 1.
Value inlineErf(MathOps &m, Value x) {
  Value magnitude = m.absolute(x);
  Value square = m.multiply(x, x);
  Value tail = m.polynomial(square, {0.12837916612625122, -0.37612631916999817, 0.11283687502145767, -0.026858940720558167,
                                     0.00519990548491478, -0.0008130001951940358, 8.31673460197635e-05});
  Value small = m.multiplyAdd(tail, magnitude, magnitude);

  Value bounded = m.select(m.less(magnitude, m.real(4)), magnitude, m.real(4));
  Value logarithm = m.polynomial(bounded, {0.0002520194393582642, -1.6295455694198608, -0.9137263894081116, -0.15621517598628998,
                                           0.03623969480395317, -0.006017580628395081, 0.0006267988355830312, -3.043387914658524e-05});
  Reduced reduced = reduceExp2(m, logarithm, plain);
  Value large = m.subtract(m.real(1), scaleNormal(m, exp2OfRest(m, reduced.rest), reduced.word));
  Value isSmall = m.compare(arith::CmpFPredicate::ULT, magnitude, m.real(0.925)); // or NaN, which the polynomial keeps
  return m.withSignOf(m.select(isSmall, small, large), x);
}

//===---------------------------------------------------------------------------------------------- rounding and remainders

/// The difference from the truncated value is exact.
Value roundHalfAway(MathOps &m, Truncate truncate, Value x) {
  Value magnitude = m.absolute(x), whole = truncate(magnitude);
  Value up = m.lessOrEqual(m.real(0.5), m.subtract(magnitude, whole));
  return m.withSignOf(m.add(whole, m.select(up, m.real(1), m.real(0))), x);
}

static int biasOf(const MathOps &m) {
  return m.width == 64 ? 1023 : 127;
}

/// The biased exponent of a positive number; subnormal numbers continue it below 1.
static Value exponentOf(MathOps &m, Value x) {
  Value isNormal = m.lessOrEqual(m.real(std::ldexp(1.0, 1 - biasOf(m))), x);
  Value field = m.shiftRight(m.bits(m.select(isNormal, x, m.multiply(x, m.real(std::ldexp(1.0, m.fraction))))), m.fraction);
  return m.select(isNormal, field, m.subtractWords(field, m.word(m.fraction)));
}

static Value powerOfTwo(MathOps &m, Value exponent) {
  return m.fromBits(m.shiftLeft(m.addWords(exponent, m.word(biasOf(m))), m.fraction));
}

/// Returns rest - n * divisor for a multiple that leaves at most as many bits as the fraction has, so that this is exact. 2^distance leaves
/// a quotient that fits. It is computed in two factors, because with a subnormal divisor it exceeds the largest number.
static Value reducedRemainder(MathOps &m, Truncate truncate, Value rest, Value divisor, Value exponent) {
  Value distance = m.subtractWords(m.subtractWords(exponentOf(m, rest), exponent), m.word(m.fraction - 1));
  distance = arith::MaxSIOp::create(m.b, distance, m.word(0));
  Value half = m.shiftRight(distance, 1);
  Value scaled = m.multiply(m.multiply(divisor, powerOfTwo(m, half)), powerOfTwo(m, m.subtractWords(distance, half)));
  Value quotient = truncate(m.divide(rest, scaled));
  Value next = m.multiplyAdd(arith::NegFOp::create(m.b, quotient), scaled, rest);
  return m.select(m.less(next, m.real(0)), m.add(next, scaled), next);
}

/// x - n y for the integer n that leaves a remainder below |y|. While the remainder is larger, a multiple of y times a power of two is
/// subtracted.
Value exactRemainder(MathOps &m, Truncate truncate, Value x, Value y) {
  ImplicitLocOpBuilder &b = m.b;
  Value divisor = m.absolute(y), start = m.absolute(x);
  Value broken = arith::OrIOp::create(b, m.equal(divisor, m.real(0)), m.compare(arith::CmpFPredicate::UEQ, start, m.real(infinity)));
  broken = arith::OrIOp::create(b, broken, m.compare(arith::CmpFPredicate::UNO, y, y));
  Value exponent = exponentOf(m, divisor);
  auto loop = scf::WhileOp::create(b, TypeRange{m.realType}, ValueRange{start});
  {
    OpBuilder::InsertionGuard guard(b);
    Block *test = b.createBlock(&loop.getBefore(), {}, TypeRange{m.realType}, {b.getLoc()});
    Value goesOn = m.lessOrEqual(divisor, test->getArgument(0));
    goesOn = arith::AndIOp::create(b, goesOn, arith::XOrIOp::create(b, broken, arith::ConstantOp::create(b, b.getBoolAttr(true))));
    scf::ConditionOp::create(b, goesOn, ValueRange{test->getArgument(0)});
    Block *body = b.createBlock(&loop.getAfter(), {}, TypeRange{m.realType}, {b.getLoc()});
    scf::YieldOp::create(b, ValueRange{reducedRemainder(m, truncate, body->getArgument(0), divisor, exponent)});
  }
  Value result = m.withSignOf(m.absolute(loop.getResult(0)), x);
  return m.select(broken, m.real(notANumber), result); // of infinity, by 0 ...
}

} // namespace tilewright::floats
