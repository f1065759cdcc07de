// Numbers of every element type as bit patterns. Floats are computed in double and rounded once to their own format. The result is
// correctly rounded for +, -, *, / and sqrt, because a double has more than twice the digits of f32. So no format needs its own arithmetic.
#include "ir/interpret/program.h"
#include "ir/interpret/scalar_ops.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace tilewright::interp {

bool isSupported(Type type) {
  if (isa<tt::TensorDescType>(type) || tt::isBlockPointer(type)) return true;
  Type element = getElementTypeOrSelf(type);
  if (isa<tt::PointerType, IndexType>(element)) return true;
  if (auto integer = dyn_cast<IntegerType>(element)) return integer.getWidth() >= 1 && integer.getWidth() <= 64;
  if (auto floating = dyn_cast<FloatType>(element)) return floating.getWidth() <= 32 || floating.isF64();
  return false;
}

Format formatOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  Format format;
  if (auto integer = dyn_cast<IntegerType>(element)) {
    format.bits = integer.getWidth();
    format.bytes = llvm::PowerOf2Ceil(llvm::divideCeil(format.bits, 8));
    return format;
  }
  auto floating = dyn_cast<FloatType>(element);
  if (!floating) return format; // an address
  format.bits = floating.getWidth();
  format.bytes = llvm::PowerOf2Ceil(llvm::divideCeil(format.bits, 8));
  format.semantics = &floating.getFloatSemantics();
  format.mantissa = llvm::APFloat::semanticsPrecision(*format.semantics) - 1;
  format.minExponent = llvm::APFloat::semanticsMinExponent(*format.semantics);
  if (floating.isF32())
    format.kind = Format::f32;
  else if (floating.isF64())
    format.kind = Format::f64;
  else if (isa<Float16Type, BFloat16Type, Float8E5M2Type, Float8E4M3Type, Float8E3M4Type>(element))
    format.kind = Format::ieee;
  else
    format.kind = Format::other;
  return format;
}

static double powerOfTwo(int64_t exponent) {
  return llvm::bit_cast<double>(uint64_t(exponent + 1023) << 52);
}

double decodeFloat(const Format &format, uint64_t bits) {
  switch (format.kind) {
  case Format::f32: return llvm::bit_cast<float>(uint32_t(bits));
  case Format::f64: return llvm::bit_cast<double>(bits);
  case Format::ieee: {
    bool negative = bits >> (format.bits - 1);
    uint64_t magnitude = bits & (format.mask() >> 1);
    uint64_t exponent = magnitude >> format.mantissa, fraction = magnitude & ((uint64_t(1) << format.mantissa) - 1);
    double value;
    if (exponent == (format.mask() >> 1) >> format.mantissa) // all ones
      value = fraction ? NAN : INFINITY;
    else if (exponent == 0) // subnormal
      value = double(fraction) * powerOfTwo(format.minExponent - format.mantissa);
    else
      value = double(fraction | uint64_t(1) << format.mantissa) * powerOfTwo(int64_t(exponent) - 1 + format.minExponent - format.mantissa);
    return negative ? -value : value;
  }
  default: {
    llvm::APFloat value(*format.semantics, llvm::APInt(format.bits, bits));
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }
  }
}

// After one rounding, the value in units of the format's last place is an integer. Its carry increments the exponent.
static uint64_t encodeIeee(const Format &format, double value) {
  uint64_t sign = uint64_t(std::signbit(value)) << (format.bits - 1);
  uint64_t infinity = (format.mask() >> 1) >> format.mantissa << format.mantissa;
  if (std::isnan(value)) return sign | infinity | uint64_t(1) << (format.mantissa - 1);
  double magnitude = std::fabs(value);
  uint64_t largest = format.bits == 8 ? infinity - 1 : infinity; // 8-bit formats saturate
  if (std::isinf(value)) return sign | largest;
  int64_t exponent = std::max<int64_t>(int64_t(llvm::bit_cast<uint64_t>(magnitude) >> 52) - 1023, format.minExponent);
  if (exponent > 200) return sign | largest; // larger than every small format, including bf16's 2^127
  double inUnits = magnitude * powerOfTwo(format.mantissa - exponent);
  constexpr double roundsToInteger = 0x1p52;
  uint64_t units = uint64_t((inUnits + roundsToInteger) - roundsToInteger);
  uint64_t result = (uint64_t(exponent - format.minExponent) << format.mantissa) + units;
  return sign | std::min(result, largest);
}

static uint64_t encodeOther(const Format &format, double value) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(*format.semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  bool finite = number.isFinite() && !std::isinf(value);
  if (!finite && !std::isnan(value)) number = llvm::APFloat::getLargest(*format.semantics, std::signbit(value));
  return number.bitcastToAPInt().getZExtValue();
}

uint64_t encodeFloat(const Format &format, double value) {
  switch (format.kind) {
  case Format::f32: return llvm::bit_cast<uint32_t>(float(value));
  case Format::f64: return llvm::bit_cast<uint64_t>(value);
  case Format::ieee: return encodeIeee(format, value);
  default: return encodeOther(format, value);
  }
}

uint64_t encodeTowardZero(const Format &format, double value) {
  uint64_t nearest = encodeFloat(format, value);
  // In every format here, the previous bit pattern is the next value toward zero.
  return std::fabs(decodeFloat(format, nearest)) > std::fabs(value) && std::isfinite(value) ? nearest - 1 : nearest;
}

double integerAsDouble(uint64_t magnitude, bool negative) {
  int64_t excess = int64_t(llvm::bit_width(magnitude)) - 53;
  if (excess > 0) { // keep 53 bits; the last one is sticky, so that the final rounding sees no false tie
    bool lost = magnitude & ((uint64_t(1) << excess) - 1);
    magnitude = ((magnitude >> excess) | uint64_t(lost)) << excess;
  }
  return negative ? -double(magnitude) : double(magnitude);
}

int64_t signExtend(uint64_t value, int64_t bits) {
  return int64_t(value << (64 - bits)) >> (64 - bits);
}

std::string printElement(const Format &format, bool isPointer, bool isSigned, bool hex, uint64_t bits) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (isPointer)
    out << llvm::format_hex(bits, 1);
  else if (hex)
    out << llvm::format_hex(bits, 2 + format.bits / 4);
  else if (format.kind != Format::integer)
    out << llvm::format("%f", decodeFloat(format, bits));
  else if (isSigned)
    out << signExtend(bits, format.bits);
  else
    out << bits;
  return text;
}

std::string describe(Type type, const Tile &tile) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (tile.block) {
    out << "block at " << llvm::format_hex(tile.block->base, 1) << ", shape [";
    llvm::interleaveComma(tile.block->shape, out);
    out << "], strides [";
    llvm::interleaveComma(tile.block->strides, out);
    out << "], offsets [";
    llvm::interleaveComma(tile.block->offsets, out);
    out << "]";
    return text;
  }
  Format format = formatOf(type);
  bool isPointer = isa<tt::PointerType>(getElementTypeOrSelf(type));
  auto element = [&](uint64_t bits) {
    if (isPointer)
      out << llvm::format_hex(bits, 1);
    else if (format.kind != Format::integer)
      out << llvm::format(format.kind == Format::f64 ? "%.17g" : "%.9g", decodeFloat(format, bits));
    else if (format.bits == 1)
      out << (bits ? "true" : "false");
    else
      out << signExtend(bits, format.bits);
  };
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (!shaped || tile.size() == 0) {
    if (tile.size()) element(tile.scalar());
    return text;
  }
  constexpr int64_t maxShown = 64; // a few lines of a terminal
  int64_t shown = std::min(tile.size(), maxShown);
  for (int64_t i = 0; i < shown; ++i) {
    int64_t opened = 0;
    for (int64_t dim = shaped.getRank() - 1, run = 1; dim >= 0; --dim) {
      run *= shaped.getDimSize(dim);
      if (i % run == 0) ++opened;
    }
    if (i) {
      for (int64_t closed = 0; closed < opened; ++closed)
        out << ']';
      out << ", ";
    }
    for (int64_t open = 0; open < opened; ++open)
      out << '[';
    element(tile.elements[i]);
  }
  if (shown < tile.size()) out << ", ...";
  for (int64_t dim = 0; dim < shaped.getRank(); ++dim)
    out << ']';
  return text;
}

// ---- comparisons, conversions, multiply-add

uint8_t acceptedBy(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq: return equal;
  case P::ne: return less | greater;
  case P::slt:
  case P::ult: return less;
  case P::sle:
  case P::ule: return less | equal;
  case P::sgt:
  case P::ugt: return greater;
  case P::sge:
  case P::uge: return greater | equal;
  }
  return 0;
}

bool isUnsigned(arith::CmpIPredicate predicate) {
  return predicate >= arith::CmpIPredicate::ult;
}

uint8_t acceptedBy(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse: return 0;
  case P::OEQ: return equal;
  case P::OGT: return greater;
  case P::OGE: return greater | equal;
  case P::OLT: return less;
  case P::OLE: return less | equal;
  case P::ONE: return less | greater;
  case P::ORD: return less | equal | greater;
  case P::UEQ: return unordered | equal;
  case P::UGT: return unordered | greater;
  case P::UGE: return unordered | greater | equal;
  case P::ULT: return unordered | less;
  case P::ULE: return unordered | less | equal;
  case P::UNE: return unordered | less | greater;
  case P::UNO: return unordered;
  case P::AlwaysTrue: return unordered | less | equal | greater;
  }
  return 0;
}

uint64_t floatToSigned(double value, int64_t bits) {
  if (std::isnan(value)) return 0;
  double limit = std::ldexp(1.0, bits - 1);
  if (value >= limit) return (uint64_t(1) << (bits - 1)) - 1;
  if (value < -limit) return uint64_t(1) << (bits - 1);
  return uint64_t(int64_t(value));
}
uint64_t floatToUnsigned(double value, int64_t bits) {
  if (std::isnan(value) || value <= -1) return 0;
  if (value >= std::ldexp(1.0, bits)) return ~uint64_t(0);
  return uint64_t(value);
}
uint64_t integerToFloat(uint64_t magnitude, bool negative, const Format &to) {
  if (to.kind == Format::f64) return encodeFloat(to, negative ? -double(magnitude) : double(magnitude));
  return encodeFloat(to, integerAsDouble(magnitude, negative));
}

uint64_t fusedMultiplyAdd(const Format &format, uint64_t x, uint64_t y, uint64_t z) {
  if (format.kind == Format::f64)
    return llvm::bit_cast<uint64_t>(std::fma(llvm::bit_cast<double>(x), llvm::bit_cast<double>(y), llvm::bit_cast<double>(z)));
  auto asFloat = [](uint64_t bits) { return llvm::bit_cast<float>(uint32_t(bits)); };
  if (format.kind == Format::f32) return llvm::bit_cast<uint32_t>(std::fmaf(asFloat(x), asFloat(y), asFloat(z)));
  auto number = [&](uint64_t bits) { return llvm::APFloat(*format.semantics, llvm::APInt(unsigned(format.bits), bits)); };
  llvm::APFloat value = number(x); // an fma in double precision would round twice
  value.fusedMultiplyAdd(number(y), number(z), llvm::APFloat::rmNearestTiesToEven);
  return value.bitcastToAPInt().getZExtValue();
}

} // namespace tilewright::interp
