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
  warp.forLanes([&](int64_t lane) { result[size_t(lane)] = function(a[size_t(lane)], b[size_t(lane)], bits) & mask; });
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
    uint64_t a = warp.get(step, 0)[size_t(lane)], b = warp.get(step, 1)[size_t(lane)];
    unsigned __int128 product =
        isSigned ? (unsigned __int128)((__int128)signExtend(a, bits) * signExtend(b, bits)) : (unsigned __int128)a * b;
    warp.result(step, 0)[size_t(lane)] = uint64_t(product) & step.from.mask();
    warp.result(step, 1)[size_t(lane)] = uint64_t(product >> bits) & step.from.mask();
  });
  return true;
}
static bool addExtended(Warp &warp, const Step &step) {
  warp.forLanes([&](int64_t lane) {
    uint64_t a = warp.get(step, 0)[size_t(lane)], sum = (a + warp.get(step, 1)[size_t(lane)]) & step.from.mask();
    warp.result(step, 0)[size_t(lane)] = sum;
    warp.result(step, 1)[size_t(lane)] = sum < a;
  });
  return true;
}

// ---- floats

template <class Function> static bool floats(Warp &warp, const Step &step, Function function) {
  Lanes &result = warp.result(step, 0);
  const Lanes &a = warp.get(step, 0), &b = warp.get(step, step.operands.size() > 1 ? 1 : 0);
  warp.forLanes([&](int64_t lane) {
    result[size_t(lane)] = encodeFloat(step.to, function(decodeFloat(step.from, a[size_t(lane)]), decodeFloat(step.from, b[size_t(lane)])));
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
  warp.forLanes([&](int64_t lane) { warp.result(step, 0)[size_t(lane)] = bits; });
  return true;
}
static bool select(Warp &warp, const Step &step) {
  Lanes &result = warp.result(step, 0);
  warp.forLanes([&](int64_t lane) { result[size_t(lane)] = warp.get(step, warp.get(step, 0)[size_t(lane)] & 1 ? 1 : 2)[size_t(lane)]; });
  return true;
}
static bool permute(Warp &warp, const Step &step) {
  warp.forLanes([&](int64_t lane) {
    uint64_t bytes = warp.get(step, 1)[size_t(lane)] << 32 | warp.get(step, 0)[size_t(lane)], selector = warp.get(step, 2)[size_t(lane)];
    uint64_t value = 0;
    for (int64_t i = 0; i < 4; ++i) {
      uint64_t nibble = selector >> (4 * i) & 15, byte = bytes >> (8 * (nibble & 7)) & 0xff;
      if (nibble & 8) byte = byte & 0x80 ? 0xff : 0; // the replicated sign
      value |= byte << (8 * i);
    }
    warp.result(step, 0)[size_t(lane)] = value;
  });
  return true;
}
static bool pack(Warp &warp, const Step &step) {
  warp.forLanes([&](int64_t lane) {
    uint64_t value = 0;
    for (size_t i = 0; i < step.operands.size(); ++i)
      value |= warp.get(step, i)[size_t(lane)] << (int64_t(i) * step.from.bits);
    warp.result(step, 0)[size_t(lane)] = value & step.to.mask();
  });
  return true;
}
static bool unpack(Warp &warp, const Step &step) {
  warp.forLanes([&](int64_t lane) {
    uint64_t value = warp.get(step, 0)[size_t(lane)];
    for (size_t i = 0; i < step.results.size(); ++i)
      warp.result(step, i)[size_t(lane)] = value >> (int64_t(i) * step.to.bits) & step.to.mask();
  });
  return true;
}

// ---- special functions and conversions

static bool special(Warp &warp, const Step &step) {
  auto op = cast<ptx::SpecialOp>(step.op);
  ptx::Unit kind = op.getKind();
  auto compute = [&](double a) -> double {
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
  };
  auto flush = [flushes = op.getFlushes()](double a) { return flushes && std::abs(a) < 0x1p-126 ? std::copysign(0.0, a) : a; };
  return floats(warp, step, [&](double a, double) { return flush(compute(flush(a))); });
}

static bool fusedMultiplyAdd(Warp &warp, const Step &step) {
  warp.forLanes([&](int64_t lane) {
    auto of = [&](size_t operand) { return warp.get(step, operand)[size_t(lane)]; };
    warp.result(step, 0)[size_t(lane)] = interp::fusedMultiplyAdd(step.to, of(0), of(1), of(2));
  });
  return true;
}

static Format makeFormat(const llvm::fltSemantics &semantics, Format::Kind kind) {
  Format format;
  format.kind = kind;
  format.bits = llvm::APFloat::semanticsSizeInBits(semantics);
  format.bytes = format.bits / 8;
  format.semantics = &semantics;
  format.mantissa = llvm::APFloat::semanticsPrecision(semantics) - 1;
  format.minExponent = llvm::APFloat::semanticsMinExponent(semantics);
  return format;
}
const Format &numberFormat(ptx::Format format) {
  static const Format half = makeFormat(llvm::APFloat::IEEEhalf(), Format::ieee),
                      bfloat = makeFormat(llvm::APFloat::BFloat(), Format::ieee),
                      single = makeFormat(llvm::APFloat::IEEEsingle(), Format::f32),
                      wide = makeFormat(llvm::APFloat::IEEEdouble(), Format::f64),
                      e4m3 = makeFormat(llvm::APFloat::Float8E4M3FN(), Format::other),
                      e5m2 = makeFormat(llvm::APFloat::Float8E5M2(), Format::ieee), integer;
  switch (format) {
  case ptx::Format::f16: return half;
  case ptx::Format::bf16: return bfloat;
  case ptx::Format::tf32:
  case ptx::Format::f32: return single;
  case ptx::Format::f64: return wide;
  case ptx::Format::e4m3: return e4m3;
  case ptx::Format::e5m2: return e5m2;
  default: return integer;
  }
}

double decodeNumber(ptx::Format format, uint64_t bits) {
  switch (format) {
  case ptx::Format::s8: return double(int8_t(bits));
  case ptx::Format::u8: return double(uint8_t(bits));
  case ptx::Format::s32: return double(int32_t(bits));
  case ptx::Format::tf32: return llvm::bit_cast<float>(uint32_t(bits) & ~uint32_t(0x1fff)); // the tensor core reads 19 bits
  case ptx::Format::e4m3: {
    static const std::array<double, 256> known = [] { // APFloat is slow
      std::array<double, 256> values{};
      for (uint64_t i = 0; i < 256; ++i)
        values[i] = decodeFloat(numberFormat(ptx::Format::e4m3), i);
      return values;
    }();
    return known[bits & 0xff];
  }
  default: return decodeFloat(numberFormat(format), bits & numberFormat(format).mask());
  }
}

static bool convertPair(Warp &warp, const Step &step) {
  ptx::Format kind = cast<ptx::ConvertPairOp>(step.op).getFormat();
  if (kind != ptx::Format::f16 && kind != ptx::Format::bf16 && kind != ptx::Format::e4m3 && kind != ptx::Format::e5m2)
    return warp.fail(step, "unsupported conversion");
  const Format &format = numberFormat(kind);
  warp.forLanes([&](int64_t lane) {
    uint64_t low = encodeFloat(format, decodeFloat(step.from, warp.get(step, 0)[size_t(lane)]));
    uint64_t high = encodeFloat(format, decodeFloat(step.from, warp.get(step, 1)[size_t(lane)]));
    warp.result(step, 0)[size_t(lane)] = high << format.bits | low;
  });
  return true;
}
static bool convert(Warp &warp, const Step &step) {
  auto op = cast<ptx::ConvertOp>(step.op);
  ptx::Format from = op.getFrom(), to = op.getTo();
  bool toTf32 = from == ptx::Format::f32 && to == ptx::Format::tf32;
  bool fromEight = (from == ptx::Format::e4m3 || from == ptx::Format::e5m2) && to == ptx::Format::f16;
  if (!toTf32 && !fromEight) return warp.fail(step, "the simulator does not support this conversion");
  warp.forLanes([&](int64_t lane) {
    uint64_t bits = warp.get(step, 0)[size_t(lane)];
    Lanes &result = warp.result(step, 0);
    if (toTf32) { // ties away from zero: add half of the last mantissa bit to the magnitude
      bool finite = (bits & 0x7f800000) != 0x7f800000;
      result[size_t(lane)] = finite ? (bits + 0x1000) & 0xffffe000 : bits;
      return;
    }
    const Format &half = numberFormat(ptx::Format::f16);
    result[size_t(lane)] = encodeFloat(half, decodeNumber(from, bits & 0xff)) | encodeFloat(half, decodeNumber(from, bits >> 8 & 0xff))
                                                                                    << 16;
  });
  return true;
}

#define INTEGER(NAME, RESULT)                                                                                                              \
  table.handlers[NAME] = [](Warp &warp, const Step &step) {                                                                                \
    return integers(warp, step, []([[maybe_unused]] uint64_t a, [[maybe_unused]] uint64_t b, int64_t bits) -> uint64_t {                   \
      [[maybe_unused]] int64_t sa = signExtend(a, bits), sb = signExtend(b, bits);                                                         \
      return RESULT;                                                                                                                       \
    });                                                                                                                                    \
  };
#define INTEGER1(NAME, RESULT) INTEGER(NAME, RESULT)
#define DIVISION(NAME, AT_ZERO, RESULT) INTEGER(NAME, b == 0 ? AT_ZERO : RESULT)
#define FLOAT(NAME, RESULT)                                                                                                                \
  table.handlers[NAME] = [](Warp &warp, const Step &step) {                                                                                \
    return floats(warp, step, []([[maybe_unused]] double x, [[maybe_unused]] double y) -> double { return RESULT; });                      \
  };

static void addArithmetic(HandlerTable &table) {
  using namespace interp;
  INTEGER("arith.negf", a ^ uint64_t(1) << (bits - 1))
  FLOAT("ptx.divide", x / y)
  FLOAT("arith.extf", x)
  FLOAT("arith.truncf", x)
#include "ir/interpret/scalar_ops.def"
}

void addScalarHandlers(HandlerTable &table) {
  addArithmetic(table);
  table.handlers["arith.cmpi"] = compareIntegers;
  table.handlers["arith.cmpf"] = compareFloats;
  table.handlers["arith.mulsi_extended"] = multiplyExtended;
  table.handlers["arith.mului_extended"] = multiplyExtended;
  table.handlers["arith.addui_extended"] = addExtended;
  table.handlers["arith.fptosi"] = floatToInteger;
  table.handlers["arith.fptoui"] = floatToInteger;
  table.handlers["arith.sitofp"] = integerToFloat;
  table.handlers["arith.uitofp"] = integerToFloat;
  table.handlers["arith.constant"] = constant;
  table.handlers["arith.select"] = select;
  table.handlers["ub.poison"] = [](Warp &warp, const Step &step) { // a conspicuous value
    warp.forLanes([&](int64_t lane) { warp.result(step, 0)[size_t(lane)] = 0xdeadbeefdeadbeef & step.to.mask(); });
    return true;
  };
  table.handlers["ptx.permute"] = permute;
  table.handlers["ptx.pack"] = pack;
  table.handlers["ptx.unpack"] = unpack;
  table.handlers["ptx.special"] = special;
  table.handlers["ptx.fma"] = fusedMultiplyAdd;
  table.handlers["ptx.convert_pair"] = convertPair;
  table.handlers["ptx.convert"] = convert;
}

} // namespace tilewright::gpu::sim
