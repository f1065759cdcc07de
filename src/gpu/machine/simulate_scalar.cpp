// Arithmetic of one lane, with PTX's semantics. Integers wrap around. A shift by the width or more gives 0 (or the sign). A zero divisor
// gives all ones. Floats are rounded once to their format: a float of up to 32 bits is computed as a double, which is exact before that
// rounding. ir/interpret/scalar_ops.def has the semantics of arith's operations, for the interpreter and the simulator.
#include "gpu/machine/simulate_program.h"
#include "ir/interpret/scalar_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace tilewright::gpu::sim {

using interp::decodeFloat;
using interp::encodeFloat;
using interp::signExtend;

// ---- integers: f(a, b, bits)

template <class Function> static bool integers(Warp &warp, const Step &step, Function function) {
  Lanes &result = warp.result(step, 0);
  const Lanes &a = warp.get(step, 0), &b = warp.get(step, step.operands.size() > 1 ? 1 : 0);
  int64_t bits = step.from.bits;
  uint64_t mask = step.to.mask();
  warp.forLanes([&](int64_t lane) { result[lane] = function(a[lane], b[lane], bits) & mask; });
  return true;
}
static bool compareIntegers(Warp &warp, const Step &step) {
  arith::CmpIPredicate predicate = cast<arith::CmpIOp>(step.op).getPredicate();
  uint8_t accepted = interp::acceptedBy(predicate);
  return integers(warp, step, [&](uint64_t a, uint64_t b, int64_t bits) -> uint64_t {
    interp::Outcome outcome =
        interp::isUnsigned(predicate) ? interp::outcomeOf(a, b) : interp::outcomeOf(signExtend(a, bits), signExtend(b, bits));
    return (outcome & accepted) != 0;
  });
}

/// Two results: the low and the high half.
static bool multiplyExtended(Warp &warp, const Step &step) {
  bool isSigned = isa<arith::MulSIExtendedOp>(step.op);
  int64_t bits = step.from.bits;
  warp.forLanes([&](int64_t lane) {
    uint64_t a = warp.get(step, 0)[lane], b = warp.get(step, 1)[lane];
    unsigned __int128 product =
        isSigned ? (unsigned __int128)((__int128)signExtend(a, bits) * signExtend(b, bits)) : (unsigned __int128)a * b;
    warp.result(step, 0)[lane] = uint64_t(product) & step.from.mask();
    warp.result(step, 1)[lane] = uint64_t(product >> bits) & step.from.mask();
  });
  return true;
}
static bool addExtended(Warp &warp, const Step &step) {
  warp.forLanes([&](int64_t lane) {
    uint64_t a = warp.get(step, 0)[lane], sum = (a + warp.get(step, 1)[lane]) & step.from.mask();
    warp.result(step, 0)[lane] = sum;
    warp.result(step, 1)[lane] = sum < a;
  });
  return true;
}

// ---- floats

template <class Function> static bool floats(Warp &warp, const Step &step, Function function) {
  Lanes &result = warp.result(step, 0);
  const Lanes &a = warp.get(step, 0), &b = warp.get(step, step.operands.size() > 1 ? 1 : 0);
  warp.forLanes([&](int64_t lane) {
    result[lane] = encodeFloat(step.to, function(decodeFloat(step.from, a[lane]), decodeFloat(step.from, b[lane])));
  });
  return true;
}
static bool compareFloats(Warp &warp, const Step &step) {
  uint8_t accepted = interp::acceptedBy(cast<arith::CmpFOp>(step.op).getPredicate());
  return integers(warp, step, [&](uint64_t a, uint64_t b, int64_t) -> uint64_t {
    return (interp::outcomeOf(decodeFloat(step.from, a), decodeFloat(step.from, b)) & accepted) != 0;
  });
}

static bool floatToInteger(Warp &warp, const Step &step) {
  bool isSigned = isa<arith::FPToSIOp>(step.op);
  return integers(warp, step, [&](uint64_t a, uint64_t, int64_t) {
    double value = decodeFloat(step.from, a);
    return isSigned ? interp::floatToSigned(value, step.to.bits) : interp::floatToUnsigned(value, step.to.bits);
  });
}
static bool integerToFloat(Warp &warp, const Step &step) {
  bool isSigned = isa<arith::SIToFPOp>(step.op);
  return integers(warp, step, [&](uint64_t a, uint64_t, int64_t bits) {
    int64_t number = signExtend(a, bits);
    bool negative = isSigned && number < 0;
    return interp::integerToFloat(negative ? uint64_t(0) - uint64_t(number) : a, negative, step.to);
  });
}

// ---- constants, choice, bits

static bool constant(Warp &warp, const Step &step) {
  Attribute value = cast<arith::ConstantOp>(step.op).getValue();
  uint64_t bits;
  if (auto integer = dyn_cast<IntegerAttr>(value))
    bits = integer.getValue().getZExtValue();
  else if (auto floating = dyn_cast<FloatAttr>(value))
    bits = floating.getValue().bitcastToAPInt().getZExtValue();
  else
    return warp.fail(step, "the simulator supports only scalars");
  warp.forLanes([&](int64_t lane) { warp.result(step, 0)[lane] = bits; });
  return true;
}
static bool select(Warp &warp, const Step &step) {
  Lanes &result = warp.result(step, 0);
  warp.forLanes([&](int64_t lane) { result[lane] = warp.get(step, warp.get(step, 0)[lane] & 1 ? 1 : 2)[lane]; });
  return true;
}
static bool permute(Warp &warp, const Step &step, ptx::PermuteOp) {
  warp.forLanes([&](int64_t lane) {
    uint64_t bytes = warp.get(step, 1)[lane] << 32 | warp.get(step, 0)[lane], selector = warp.get(step, 2)[lane];
    uint64_t value = 0;
    for (int64_t i = 0; i < 4; ++i) {
      uint64_t nibble = selector >> (4 * i) & 15, byte = bytes >> (8 * (nibble & 7)) & 0xff;
      if (nibble & 8) byte = byte & 0x80 ? 0xff : 0; // the replicated sign
      value |= byte << (8 * i);
    }
    warp.result(step, 0)[lane] = value;
  });
  return true;
}
static bool pack(Warp &warp, const Step &step, ptx::PackOp) {
  warp.forLanes([&](int64_t lane) {
    uint64_t value = 0;
    for (size_t i = 0; i < step.operands.size(); ++i)
      value |= warp.get(step, i)[lane] << (int64_t(i) * step.from.bits);
    warp.result(step, 0)[lane] = value & step.to.mask();
  });
  return true;
}
static bool unpack(Warp &warp, const Step &step, ptx::UnpackOp) {
  warp.forLanes([&](int64_t lane) {
    uint64_t value = warp.get(step, 0)[lane];
    for (size_t i = 0; i < step.results.size(); ++i)
      warp.result(step, i)[lane] = value >> (int64_t(i) * step.to.bits) & step.to.mask();
  });
  return true;
}

// ---- special functions and conversions

/// Returns the largest error that PTX allows for an approximation of f32 (PTX ISA 9.7.3.8 to 9.7.3.22).
static double maxError(ptx::Unit kind, double a, double result) {
  const double relative = std::abs(result), ulp = std::min(std::ldexp(1.0, std::max(std::ilogb(result), -126) - 23), relative);
  switch (kind) {
  case ptx::Unit::ex2: return std::min(2 * ulp, relative);
  case ptx::Unit::rcp: return ulp;
  case ptx::Unit::lg2: return 0x1p-22 * (a > 0.5 && a < 2 ? 1 : relative);
  case ptx::Unit::rsqrt: return std::exp2(-22.9) * relative;
  case ptx::Unit::sqrt: return 0x1p-23 * relative;
  case ptx::Unit::sin:
  case ptx::Unit::cos: return a == 0 ? 0 : std::exp2(std::abs(a) <= 2 * M_PI ? -20.5 : -14.7);
  case ptx::Unit::tanh: return 0x1p-11 * relative;
  default: return 0;
  }
}

/// Returns a number of f32 within `bound` of `exact`. `operands`: their bits.
static double withError(ApproximationError error, double exact, double bound, uint64_t operands) {
  if (error == ApproximationError::none || !std::isfinite(exact) || bound == 0) return exact;
  uint64_t hash = (operands + 1) * 0x9e3779b97f4a7c15;
  double part = error == ApproximationError::down ? -1 : error == ApproximationError::up ? 1 : double(int64_t(hash)) * 0x1p-63;
  auto result = float(exact + part * bound);
  return std::abs(result - exact) <= bound ? result : std::nextafter(result, float(exact));
}

static double compute(ptx::Unit kind, double a) {
  switch (kind) {
  case ptx::Unit::ex2: return std::exp2(a);
  case ptx::Unit::lg2: return std::log2(a);
  case ptx::Unit::rsqrt: return 1 / std::sqrt(a);
  case ptx::Unit::rcp: return 1 / a;
  case ptx::Unit::sqrt:
  case ptx::Unit::sqrt_rn: return std::sqrt(a);
  case ptx::Unit::sin: return std::sin(a);
  case ptx::Unit::cos: return std::cos(a);
  case ptx::Unit::tanh: return std::tanh(a);
  case ptx::Unit::floor: return std::floor(a);
  case ptx::Unit::ceil: return std::ceil(a);
  case ptx::Unit::trunc: return std::trunc(a);
  case ptx::Unit::rint: return std::nearbyint(a);
  }
  return 0;
}

static bool special(Warp &warp, const Step &step, ptx::SpecialOp op) {
  ptx::Unit kind = op.getKind();
  ApproximationError error = step.to.kind == Format::f32 ? warp.cta.options.error : ApproximationError::none;
  auto flush = [flushes = op.getFlushes()](double a) { return flushes && std::abs(a) < 0x1p-126 ? std::copysign(0.0, a) : a; };
  return floats(warp, step, [&](double a, double) {
    a = flush(a);
    double result = compute(kind, a);
    bool isExact = error == ApproximationError::none || a == 0;     // PTX has a table of special values
    if (!isExact && kind == ptx::Unit::ex2) result = float(result); // its bound is from the correctly rounded result
    return flush(isExact ? result : withError(error, result, maxError(kind, a, result), llvm::bit_cast<uint64_t>(a)));
  });
}

/// x / y with an error of at most 2 ULP (PTX ISA 9.7.3.8).
static bool divide(Warp &warp, const Step &step, ptx::DivideOp) {
  return floats(warp, step, [error = warp.cta.options.error](double x, double y) {
    double result = x / y;
    if (error == ApproximationError::none) return result;
    return withError(error, result, maxError(ptx::Unit::ex2, x, result), llvm::bit_cast<uint64_t>(x) ^ llvm::bit_cast<uint64_t>(y));
  });
}

static bool fusedMultiplyAdd(Warp &warp, const Step &step) {
  uint64_t sign = uint64_t(1) << (step.to.bits - 1), product = step.negatesFactors ? sign : 0, addend = step.negatesAddend ? sign : 0;
  warp.forLanes([&](int64_t lane) {
    auto of = [&](size_t operand) { return warp.get(step, operand)[lane]; };
    warp.result(step, 0)[lane] = interp::fusedMultiplyAdd(step.to, of(0) ^ product, of(1), of(2) ^ addend);
  });
  return true;
}

/// Returns the product that an operand of a sum is, or null. ptxas negates it for free.
static arith::MulFOp multiplicationOf(Value operand, bool &isNegated) {
  if (auto negation = operand.getDefiningOp<arith::NegFOp>()) {
    isNegated = !isNegated;
    operand = negation.getOperand();
  }
  return operand.getDefiningOp<arith::MulFOp>();
}

std::optional<FusedSum> fusedSumOf(Operation *sum, const SimulateOptions &options) {
  if (options.error == ApproximationError::none || !isa<arith::AddFOp, arith::SubFOp>(sum)) return std::nullopt;
  auto mayFuse = [&](Operation *op) {
    auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
    return options.mayFuse || (flags && bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::contract));
  };
  // Of two products, either may be fused.
  std::array<unsigned, 2> order = {0, 1};
  if (options.error == ApproximationError::up) std::swap(order[0], order[1]);
  for (unsigned operand : order) {
    std::array<bool, 2> negates = {false, isa<arith::SubFOp>(sum)};
    arith::MulFOp product = multiplicationOf(sum->getOperand(operand), negates[operand]);
    if (product && mayFuse(sum) && mayFuse(product))
      return FusedSum{{product.getLhs(), product.getRhs(), sum->getOperand(1 - operand)}, negates[operand], negates[1 - operand]};
  }
  return std::nullopt;
}

static bool convertPair(Warp &warp, const Step &step, ptx::ConvertPairOp op) {
  using ptx::Format;
  if (!llvm::is_contained({Format::f16, Format::bf16, Format::e4m3, Format::e5m2}, op.getFormat()))
    return warp.fail(step, "unsupported conversion");
  TensorFormat format = tensorFormat(op.getFormat());
  warp.forLanes([&](int64_t lane) {
    auto half = [&](size_t operand) -> uint64_t { return encode(format, decodeFloat(step.from, warp.get(step, operand)[lane])); };
    warp.result(step, 0)[lane] = half(1) << bitsOf(format) | half(0);
  });
  return true;
}
static bool convert(Warp &warp, const Step &step, ptx::ConvertOp op) {
  ptx::Format from = op.getFrom(), to = op.getTo();
  bool toTf32 = from == ptx::Format::f32 && to == ptx::Format::tf32;
  bool fromEight = (from == ptx::Format::e4m3 || from == ptx::Format::e5m2) && to == ptx::Format::f16;
  if (!toTf32 && !fromEight) return warp.fail(step, "the simulator does not support this conversion");
  warp.forLanes([&](int64_t lane) {
    uint64_t bits = warp.get(step, 0)[lane], &result = warp.result(step, 0)[lane];
    auto half = [&](uint64_t code) -> uint64_t { return encode(TensorFormat::f16, decode(tensorFormat(from), uint32_t(code))); };
    bool isFinite = (bits & 0x7f800000) != 0x7f800000;
    if (fromEight)
      result = half(bits >> 8) << 16 | half(bits);
    else // ties away from zero: adds half of the last mantissa bit to the magnitude
      result = isFinite ? (bits + 0x1000) & 0xffffe000 : bits;
  });
  return true;
}

#define INTEGER(NAME, RESULT)                                                                                                              \
  table.rows[NAME].execute = [](Warp &warp, const Step &step) {                                                                            \
    return integers(warp, step, []([[maybe_unused]] uint64_t a, [[maybe_unused]] uint64_t b, int64_t bits) -> uint64_t {                   \
      [[maybe_unused]] int64_t sa = signExtend(a, bits), sb = signExtend(b, bits);                                                         \
      return RESULT;                                                                                                                       \
    });                                                                                                                                    \
  };
#define INTEGER1(NAME, RESULT) INTEGER(NAME, RESULT)
#define DIVISION(NAME, AT_ZERO, RESULT) INTEGER(NAME, b == 0 ? AT_ZERO : RESULT)
#define FLOAT(NAME, RESULT)                                                                                                                \
  table.rows[NAME].execute = [](Warp &warp, const Step &step) {                                                                            \
    return floats(warp, step, []([[maybe_unused]] double x, [[maybe_unused]] double y) -> double { return RESULT; });                      \
  };

static void addArithmetic(HandlerTable &table) {
  using namespace interp;
  INTEGER("arith.negf", a ^ uint64_t(1) << (bits - 1))
  FLOAT("arith.extf", x)
  FLOAT("arith.truncf", x)
#include "ir/interpret/scalar_ops.def"
}

void addScalarHandlers(HandlerTable &table) {
  table.add<permute, pack, unpack, special, divide, convertPair, convert>();
  addArithmetic(table);
  table.set("ptx.fma", fusedMultiplyAdd);
  table.set("arith.cmpi", compareIntegers);
  table.set("arith.cmpf", compareFloats);
  table.set("arith.mulsi_extended", multiplyExtended);
  table.set("arith.mului_extended", multiplyExtended);
  table.set("arith.addui_extended", addExtended);
  table.set("arith.fptosi", floatToInteger);
  table.set("arith.fptoui", floatToInteger);
  table.set("arith.sitofp", integerToFloat);
  table.set("arith.uitofp", integerToFloat);
  table.set("arith.constant", constant);
  table.set("arith.select", select);
  table.rows["ub.poison"].execute = [](Warp &warp, const Step &step) { // a conspicuous value
    warp.forLanes([&](int64_t lane) { warp.result(step, 0)[lane] = 0xdeadbeefdeadbeef & step.to.mask(); });
    return true;
  };
}

} // namespace tilewright::gpu::sim
