// Each function of the language is one instruction (sqrt, rounding), inlined arithmetic (ir/float_functions.cpp), or a call to glibc's
// libmvec. libmvec's names follow the x86-64 vector function ABI: _ZGV, the level (b: 16 bytes, d: 32, e: 64), N, lanes, one v per
// argument, the scalar's name. Vectors are split or padded to the machine's (and the library's) size; scalars call libm. Targets without
// libmvec call libm for each lane.
#include "cpu/math.h"
#include "ir/float_math.h"
#include "support/cpu.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace tilewright::cpu {

using namespace floats;

static StringRef libmName(MathFunction function) {
  switch (function) {
  case MathFunction::exp:
  case MathFunction::expNotPositive:
  case MathFunction::expNormal: return "exp";
  case MathFunction::exp2:
  case MathFunction::exp2NotPositive:
  case MathFunction::exp2Normal: return "exp2";
  case MathFunction::expm1: return "expm1";
  case MathFunction::log: return "log";
  case MathFunction::log2: return "log2";
  case MathFunction::log10: return "log10";
  case MathFunction::log1p: return "log1p";
  case MathFunction::sin: return "sin";
  case MathFunction::cos: return "cos";
  case MathFunction::tan: return "tan";
  case MathFunction::asin: return "asin";
  case MathFunction::acos: return "acos";
  case MathFunction::atan: return "atan";
  case MathFunction::sinh: return "sinh";
  case MathFunction::cosh: return "cosh";
  case MathFunction::tanh: return "tanh";
  case MathFunction::asinh: return "asinh";
  case MathFunction::acosh: return "acosh";
  case MathFunction::atanh: return "atanh";
  case MathFunction::erf: return "erf";
  case MathFunction::erfc: return "erfc";
  case MathFunction::cbrt: return "cbrt";
  case MathFunction::pow: return "pow";
  case MathFunction::atan2: return "atan2";
  case MathFunction::hypot: return "hypot";
  case MathFunction::sqrt: return "sqrt";
  case MathFunction::rsqrt: return "rsqrt";
  case MathFunction::floor: return "floor";
  case MathFunction::ceil: return "ceil";
  case MathFunction::trunc: return "trunc";
  case MathFunction::round: return "round";
  case MathFunction::rint: return "rint";
  case MathFunction::abs: return "fabs";
  case MathFunction::fmod: return "fmod";
  }
  return "";
}

std::optional<MathFunction> mathFunctionBySymbol(StringRef symbol) {
  symbol.consume_front("__nv_");
  symbol.consume_front("fast_");
  if (symbol == "nearbyint" || symbol == "nearbyintf") return MathFunction::rint;
  for (int64_t attempt = 0; attempt < 2; ++attempt) {
    for (int64_t i = 0; i <= static_cast<int64_t>(MathFunction::fmod); ++i)
      if (symbol == libmName(static_cast<MathFunction>(i))) return static_cast<MathFunction>(i);
    if (!symbol.consume_back("f")) break; // erf is itself, erff its f32 form
  }
  return std::nullopt;
}

static Type elementOf(Type type) {
  return isa<VectorType>(type) ? cast<VectorType>(type).getElementType() : type;
}

static Value lanesFrom(ImplicitLocOpBuilder &b, Value vector, int64_t first, int64_t count) {
  SmallVector<int32_t> mask;
  int64_t lanes = lanesOf(vector.getType());
  for (int64_t i = 0; i < count; ++i)
    mask.push_back((first + i) % lanes);
  return shuffle(b, vector, vector, mask);
}

static Value concatenate(ImplicitLocOpBuilder &b, Value low, Value high) {
  SmallVector<int32_t> mask;
  for (int64_t i = 0; i < 2 * lanesOf(low.getType()); ++i)
    mask.push_back(i);
  return shuffle(b, low, high, mask);
}

/// Calls the C library's function for each lane.
static Value callForLanes(MathOps &m, StringRef scalarName, ValueRange operands) {
  Type element = elementOf(m.realType);
  Value result;
  for (int64_t lane = 0, lanes = lanesOf(m.realType); lane < lanes; ++lane) {
    SmallVector<Value> scalars;
    for (Value operand : operands)
      scalars.push_back(extractLane(m.b, operand, lane));
    Value one = callFunction(m.b, scalarName, element, scalars);
    result = result ? insertLane(m.b, result, one, lane) : splat(m.b, one, lanes);
  }
  return result;
}

/// libmvec reads whole registers: a short vector is widened by repeating its lanes (valid arguments, so no slow paths).
static Value callLibrary(MathOps &m, const CpuTarget &target, StringRef name, SmallVector<Value> operands) {
  Type element = elementOf(m.realType);
  int64_t lanes = lanesOf(m.realType), bytes = m.width / 8;
  std::string scalarName = (name + (m.width == 32 ? "f" : "")).str();
  if (lanes == 1) return callFunction(m.b, scalarName, m.realType, operands);
  if (!target.vectorMath) return callForLanes(m, scalarName, operands);
  int64_t wide = std::max(lanes, 16 / bytes);
  for (Value &operand : operands)
    if (wide != lanes) operand = lanesFrom(m.b, operand, 0, wide);
  StringRef level = wide * bytes == 64 ? "e" : wide * bytes == 32 ? "d" : "b";
  std::string vectorName = ("_ZGV" + level + "N" + Twine(wide) + std::string(operands.size(), 'v') + "_" + scalarName).str();
  Value result = callFunction(m.b, vectorName, vectorOf(element, wide), operands);
  return wide == lanes ? result : lanesFrom(m.b, result, 0, lanes);
}

/// Rounds to whole numbers without SSE4.1's instruction: adding and subtracting 2^23 (2^52) rounds; larger numbers are whole already.
static Value roundInSoftware(MathOps &m, MathFunction function, Value x) {
  Value large = m.real(m.width == 32 ? 0x1p23 : 0x1p52);
  Value magnitude = m.absolute(x);
  Value whole = m.subtract(m.add(magnitude, large), large);
  Value one = m.real(1), zero = m.real(0);
  if (function == MathFunction::trunc) {
    whole = m.subtract(whole, m.select(m.less(magnitude, whole), one, zero));
  } else if (function == MathFunction::floor || function == MathFunction::ceil) {
    // Rounds the magnitude down or up, depending on the sign.
    Value down = m.subtract(whole, m.select(m.less(magnitude, whole), one, zero));
    Value up = m.add(whole, m.select(m.less(whole, magnitude), one, zero));
    Value negative = m.less(x, zero);
    whole = function == MathFunction::floor ? m.select(negative, up, down) : m.select(negative, down, up);
  }
  return m.select(m.less(magnitude, large), m.withSignOf(whole, x), x);
}

static Value roundToWhole(MathOps &m, const CpuTarget &target, MathFunction function, Value x) {
  if (!target.rounding) return roundInSoftware(m, function, x);
  std::string name = ("llvm." + libmName(function)).str();
  return callIntrinsic(m.b, name, m.realType, {x});
}

/// Returns 1 (i1) if all lanes of a mask hold.
static Value holdsForAll(ImplicitLocOpBuilder &b, Value mask) {
  Type word = b.getIntegerType(lanesOf(mask.getType()));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, reinterpret(b, word, mask), constantInt(b, word, -1));
}

// |x| - trunc(|x| / |y|) * |y| is exact with one rounding if the quotient fits in the fraction: the rounded quotient is the exact one or
// one more, and either remainder is a number of the type. Larger quotients (and infinities, and division by zero) call the C library.
static Value emitFmod(MathOps &m, const CpuTarget &target, Value x, Value y) {
  if (lanesOf(m.realType) == 1 || !target.fma) return arith::RemFOp::create(m.b, x, y);
  Value magnitude = m.absolute(x), divisor = m.absolute(y);
  Value quotient = roundToWhole(m, target, MathFunction::trunc, m.divide(magnitude, divisor));
  Value rest = m.multiplyAdd(m.subtract(m.real(0), quotient), divisor, magnitude);
  rest = m.select(m.less(rest, m.real(0)), m.add(rest, divisor), rest);
  Value fits = m.less(quotient, m.real(m.width == 32 ? 0x1p23 : 0x1p52));
  Value smaller = m.less(magnitude, divisor); // an infinite divisor too
  Value result = m.select(smaller, x, m.withSignOf(rest, x));
  Value safe = arith::OrIOp::create(m.b, fits, smaller);
  auto branch = scf::IfOp::create(m.b, TypeRange{m.realType}, holdsForAll(m.b, safe), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(m.b);
  m.b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(m.b, result);
  m.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(m.b, arith::RemFOp::create(m.b, x, y).getResult());
  return branch.getResult(0);
}

// With y the divisor's rounded inverse, q = x y differs from the quotient by less than 1.5 units in the last place. One fused operation
// gives x - q d exactly, and q + (x - q d) y, rounded once, is the correctly rounded quotient. Proof: for d in [1, 2) the sum before
// rounding differs from the quotient by less than |x / d - q| d 2^-25 units. A quotient of two 24-bit numbers is at least 2^-24 / d units
// away from the midpoint between two adjacent numbers. So it could be rounded to the wrong side only if |x / d - q| d d >= 2. But near a
// midpoint |x / d - q| is 1/2, so only x = d, with the largest fraction, would reach 1.5. (Brisebarre, Muller, Raina: "Accelerating
// correctly rounded floating-point division when the divisor is known in advance", 2004.) This holds if nothing overflows or underflows,
// which the ranges of x and d guarantee: x - q d is a multiple of 2^-111.
Value divideFast(ImplicitLocOpBuilder &b, Value x, Value divisor) {
  MathOps m(b, fma, x.getType()), one(b, fma, divisor.getType());
  Value inverse = splat(b, one.divide(one.real(1), divisor), lanesOf(x.getType()));
  Value near = m.multiply(x, inverse);
  Value rest = m.multiplyAdd(arith::NegFOp::create(b, near), splat(b, divisor, lanesOf(x.getType())), x);
  return m.multiplyAdd(rest, inverse, near);
}

/// Returns whether 2^minExponent <= |x| < 2^maxExponent for a scalar.
static Value isWithin(MathOps &m, Value x, int64_t minExponent, int64_t maxExponent) {
  Value magnitude = m.bitAnd(m.bits(x), m.magnitudeMask());
  return m.compareWords(arith::CmpIPredicate::ult, m.subtractWords(magnitude, m.word((127 + minExponent) << 23)),
                        m.word((maxExponent - minExponent) << 23));
}

/// Returns 1 (i1) if no lane of a vector of words has a bit set: one instruction if the vector fits a register.
static Value isZero(ImplicitLocOpBuilder &b, Value words) {
  Type type = b.getIntegerType(lanesOf(words.getType()) * 32);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, reinterpret(b, type, words), constantInt(b, type, 0));
}

// Subtract the bits of 2^-64 from those of a magnitude: the result is below 2^30 exactly for magnitudes from 2^-64 to 2^64. Smaller
// magnitudes give words in the last quarter, larger ones words in the second. Bit 30 distinguishes them for either sign. If all numbers are
// non-negative and below 2, bit 29 is set exactly for those that are at least 2^-63 (or NaN).
Value canDivideFast(ImplicitLocOpBuilder &b, ValueRange x, Value divisor, bool isBelowTwo) {
  MathOps m(b, fma, x.front().getType()), one(b, fma, divisor.getType());
  Value isFit = isWithin(one, divisor, -40, 40);
  int64_t lanes = lanesOf(x.front().getType());
  if (isBelowTwo) {
    Value all = splat(b, one.select(isFit, one.word(1 << 29), one.word(0)), lanes);
    for (Value value : x)
      all = m.bitAnd(all, m.bits(value));
    return isZero(b, m.bitXor(all, 1 << 29));
  }
  Value all = splat(b, one.select(isFit, one.word(0), one.word(1 << 30)), lanes);
  for (Value value : x)
    all = m.bitOr(all, m.subtractWords(m.bits(value), m.word((127 - 64) << 23)));
  return isZero(b, m.bitAnd(all, 1 << 30));
}

Value divideBySame(ImplicitLocOpBuilder &b, Value x, Value divisor) {
  auto branch = scf::IfOp::create(b, TypeRange{x.getType()}, canDivideFast(b, x, divisor, /*isBelowTwo=*/false), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, divideFast(b, x, divisor));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, arith::DivFOp::create(b, x, splat(b, divisor, lanesOf(x.getType()))).getResult());
  return branch.getResult(0);
}

// As unsigned words, negative numbers increase with their magnitude; zero and NaN without a sign bit are smaller than all of them.
Value hasNormalExp(ImplicitLocOpBuilder &b, MathFunction function, ValueRange x) {
  MathOps m(b, fma, x.front().getType());
  Value largest;
  for (Value value : x)
    largest = largest ? Value(arith::MaxUIOp::create(b, largest, m.bits(value))) : m.bits(value);
  Value minimum = m.bits(m.real(function == MathFunction::exp ? expTiny : exp2Tiny));
  return holdsForAll(b, m.compareWords(arith::CmpIPredicate::ule, largest, minimum));
}

//===------------------------------------------------------------------------------------------------------- erf by tables
// erf(x) = x g(x), where g is even and smooth: in each of sixteen intervals of length 1/4, g(c + r) = g(c) + r P(r), degree 5, error 2^-28.
// An AVX-512 vector is a table of sixteen numbers, and one instruction looks up all lanes. An AVX2 vector is half a table, and bit 3 of the
// lane's interval number selects the half. The points c are chosen such that g(c) is almost a number of the type, within 2^-36, so little
// but its product with x is rounded: 0.82 ULP, with neither a second polynomial nor an exponential. The last interval's P is adjusted such
// that it returns 1 at its end; from there on the result is 1.

constexpr int64_t intervals = 16;
constexpr float erfTables[7][intervals] = {
    // the points c, g(c), then P's coefficients
    {0.06235504F, 0.2510128F, 0.49916244F, 0.7505901F, 1.0000558F, 1.2500932F, 1.4987347F, 1.749762F, 1.9993732F, 2.248776F, 2.5003903F,
     2.7490778F, 2.9988556F, 3.2487004F, 3.4985754F, 3.7511816F},
    {1.1269184F, 1.1051217F, 1.0412713F, 0.9479673F, 0.84267694F, 0.7382827F, 0.64451325F, 0.5638819F, 0.49781066F, 0.444032F, 0.39977515F,
     0.36372155F, 0.33345312F, 0.30781406F, 0.2858304F, 0.26658264F},
    {-0.046797477F, -0.18184468F, -0.32404888F, -0.40715337F, -0.4275919F, -0.4014234F, -0.3503828F, -0.29207566F, -0.23862068F,
     -0.19426136F, -0.15901563F, -0.1320924F, -0.1111467F, -0.094740845F, -0.08169752F, -0.07106606F},
    {-0.3734999F, -0.33503056F, -0.2303331F, -0.099919215F, 0.012505047F, 0.08464769F, 0.114403166F, 0.11410448F, 0.09862933F, 0.07920392F,
     0.06142242F, 0.047460496F, 0.03692282F, 0.02913324F, 0.023346188F, 0.018944375F},
    {0.028014105F, 0.10507811F, 0.16679212F, 0.16928548F, 0.12586874F, 0.0663017F, 0.016400043F, -0.01365906F, -0.02516799F, -0.025517194F,
     -0.02122971F, -0.016255956F, -0.012047159F, -0.008907256F, -0.0066611283F, -0.0050483844F},
    {0.11112946F, 0.08845522F, 0.03256851F, -0.024666373F, -0.05632934F, -0.057761963F, -0.04060115F, -0.019763948F, -0.0047521703F,
     0.0027705578F, 0.005019215F, 0.004715525F, 0.0036683248F, 0.0026558999F, 0.0018870645F, 0.0013362989F},
    {-0.009985417F, -0.035667848F, -0.04991473F, -0.037827626F, -0.012425705F, 0.008609129F, 0.016869212F, 0.014978476F, 0.008894468F,
     0.0034378362F, 3.8283653e-04F, -6.922489e-04F, -8.990302e-04F, -7.039954e-04F, -5.0262915e-04F, -3.2836563e-04F},
};

/// Computes erf of one vector of the machine.
class ErfByTables {
public:
  ErfByTables(ImplicitLocOpBuilder &b, FusedMultiplyAdd fused, int64_t lanes)
      : m(b, fused, VectorType::get(lanes, b.getF32Type())), lanes(lanes), isWhole(lanes == intervals) {}

  Value of(Value x) {
    Value magnitude = m.absolute(x), limit = m.real(3.8749998), q;
    magnitude = m.select(m.less(limit, magnitude), limit, magnitude); // NaN is preserved
    nearest = m.bits(m.add(magnitude, m.real(0x1p21)));               // in fourths: a fourth is the last place of numbers from 2^21 on
    if (!isWhole) {
      Value fourth = arith::ShLIOp::create(m.b, nearest, constantInt(m.b, nearest.getType(), 28));
      isHigh = arith::CmpIOp::create(m.b, arith::CmpIPredicate::slt, fourth, constantInt(m.b, nearest.getType(), 0));
    }
    Value rest = m.subtract(magnitude, lookUp(erfTables[0]));
    for (int64_t i = 6; i >= 2; --i) {
      Value coefficient = lookUp(erfTables[i]);
      q = q ? m.multiplyAdd(q, rest, coefficient) : coefficient;
    }
    q = m.multiply(q, m.multiply(magnitude, rest));
    return m.withSignOf(m.multiplyAdd(magnitude, lookUp(erfTables[1]), q), x);
  }

private:
  MathOps m;
  int64_t lanes;
  bool isWhole;          // a vector is a whole table
  Value nearest, isHigh; // the interval's number, in its lowest bits; whether it is in the second half

  /// Looks up the table's number at each lane's interval.
  Value lookUp(llvm::ArrayRef<float> table) {
    auto half = [&](llvm::ArrayRef<float> numbers) {
      Value constants = arith::ConstantOp::create(m.b, DenseElementsAttr::get(cast<VectorType>(m.realType), numbers));
      return callIntrinsic(m.b, isWhole ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps", m.realType, {constants, nearest});
    };
    Value low = half(table.take_front(lanes));
    return isWhole ? low : m.select(isHigh, half(table.drop_front(lanes)), low);
  }
};

/// A shorter vector is padded to a whole vector, so a number's result does not depend on the vector's length.
static Value erfByTables(MathOps &m, Value x, int64_t fullLanes) {
  int64_t lanes = lanesOf(m.realType);
  ErfByTables whole(m.b, m.fused, fullLanes);
  if (lanes == fullLanes) return whole.of(x);
  Value wide = whole.of(lanes == 1 ? splat(m.b, x, fullLanes) : lanesFrom(m.b, x, 0, fullLanes));
  return lanes == 1 ? extractLane(m.b, wide, 0) : lanesFrom(m.b, wide, 0, lanes);
}

static std::optional<Value> emitInline(MathOps &m, const CpuTarget &target, MathFunction function, Value x) {
  if (m.width != 32) return std::nullopt;
  Subnormals subnormals = hasSlowSubnormals(target) ? Subnormals::slow : Subnormals::atSpeed;
  switch (function) {
  case MathFunction::exp: return inlineExp(m, subnormals, x);
  case MathFunction::exp2: return inlineExp2(m, subnormals, x);
  case MathFunction::expNotPositive: return inlineExpNotPositive(m, subnormals, x);
  case MathFunction::exp2NotPositive: return inlineExp2NotPositive(m, subnormals, x);
  case MathFunction::expNormal: return inlineExpNormal(m, x);
  case MathFunction::exp2Normal: return inlineExp2Normal(m, x);
  case MathFunction::log: return inlineLog(m, x);
  case MathFunction::log2: return inlineLog2(m, x);
  case MathFunction::tanh: return inlineTanh(m, x);
  case MathFunction::erf: return inlineErf(m, x);
  default: return std::nullopt;
  }
}

static Value emitFitting(MathOps &m, const CpuTarget &target, MathFunction function, ValueRange operands) {
  Value x = operands[0];
  switch (function) {
  case MathFunction::sqrt: return callIntrinsic(m.b, "llvm.sqrt", m.realType, {x});
  case MathFunction::rsqrt: return m.divide(m.real(1), callIntrinsic(m.b, "llvm.sqrt", m.realType, {x}));
  case MathFunction::abs: return callIntrinsic(m.b, "llvm.fabs", m.realType, {x});
  case MathFunction::floor:
  case MathFunction::ceil:
  case MathFunction::trunc:
  case MathFunction::rint: return roundToWhole(m, target, function, x);
  case MathFunction::round:
    return roundHalfAway(m, [&](Value magnitude) { return roundToWhole(m, target, MathFunction::trunc, magnitude); }, x);
  case MathFunction::fmod: return emitFmod(m, target, x, operands[1]);
  default: break;
  }
  if (function == MathFunction::erf && m.width == 32 && target.lanePermute) return erfByTables(m, x, target.vectorBytes / 4);
  if (std::optional<Value> result = emitInline(m, target, function, x)) return *result;
  return callLibrary(m, target, libmName(function), SmallVector<Value>(operands));
}

Value emitMath(ImplicitLocOpBuilder &b, const CpuTarget &target, MathFunction function, ValueRange operands) {
  Type type = operands[0].getType(), element = elementOf(type);
  int64_t bits = element.getIntOrFloatBitWidth(), lanes = lanesOf(type);
  if (bits < 32) {
    SmallVector<Value> wide;
    for (Value operand : operands)
      wide.push_back(convertFloat(b, target, operand, b.getF32Type(), /*truncate=*/false));
    return convertFloat(b, target, emitMath(b, target, function, wide), element, /*truncate=*/false);
  }
  if (lanes * bits / 8 > target.vectorBytes) {
    Value halves[2];
    for (int64_t half = 0; half < 2; ++half) {
      SmallVector<Value> parts;
      for (Value operand : operands)
        parts.push_back(lanesFrom(b, operand, half * lanes / 2, lanes / 2));
      halves[half] = emitMath(b, target, function, parts);
    }
    return concatenate(b, halves[0], halves[1]);
  }
  MathOps ops(b, target.fma ? fma : nullptr, type);
  return emitFitting(ops, target, function, operands);
}

} // namespace tilewright::cpu
