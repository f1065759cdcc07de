// Conversions between element types, with upstream's steps: 16-bit floats go through fp32, and fp8 types use tt.fp_to_fp. A conversion to
// bool compares with zero; a conversion from bool gives 0 or 1.

#include "frontend/semantics.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

static bool isStandardFloat(Scalar scalar) {
  return isFloat(scalar) && !isFp8(scalar);
}
static bool isSixteenBitFloat(Scalar scalar) {
  return scalar == Scalar::fp16 || scalar == Scalar::bf16;
}

// ---- fp8e4b15: a sign, four exponent bits with fp16's bias, three fraction bits, no infinity, no NaN. The IR has no type for it, so its
// conversions are arithmetic on bytes.

static Operand constantLike(Semantics &s, const Operand &x, int64_t value) {
  Operand constant = s.integerConstant(value, x.type.scalar());
  return x.isBlock() ? s.splat(constant, x.type.shape()) : constant;
}

/// Converts to fp16: shifts the bits without the sign to their position in fp16. This is right for subnormals too.
static Operand halfOfFp8e4b15(Semantics &s, const Operand &x) {
  auto &b = s.b;
  Operand byte = Operand::of(x.handle, x.type.withElement(Type(Scalar::uint8)));
  Operand bits = *s.cast(byte, Type(Scalar::uint16));
  auto moved = [&](int64_t mask, int64_t distance) {
    mlir::Value masked = arith::AndIOp::create(b, bits.handle, constantLike(s, bits, mask).handle);
    return arith::ShLIOp::create(b, masked, constantLike(s, bits, distance).handle).getResult();
  };
  mlir::Value joined = arith::OrIOp::create(b, moved(0x80, 8), moved(0x7f, 7));
  return *s.bitcast(Operand::of(joined, bits.type), Type(Scalar::fp16));
}

/// Converts as upstream's instructions do, through truncated fp16. The result is at most 1.75, also for infinities and NaN. Ties round away
/// from zero.
static Maybe fp8e4b15Of(Semantics &s, const Operand &x, bool truncates) {
  auto &b = s.b;
  Scalar source = x.type.scalar();
  if (source != Scalar::fp16 && source != Scalar::fp32 && source != Scalar::fp64) {
    Maybe wide = s.cast(x, Type(Scalar::fp32));
    return wide ? fp8e4b15Of(s, *wide, truncates) : std::nullopt;
  }
  Maybe half = source == Scalar::fp16 ? Maybe(x) : s.castRounded(x, Type(Scalar::fp16), "rtz");
  if (!half) return std::nullopt;
  Operand bits = *s.bitcast(*half, Type(Scalar::uint16));
  auto constant = [&](int64_t value) { return constantLike(s, bits, value).handle; };
  mlir::Value magnitude = arith::AndIOp::create(b, bits.handle, constant(0x7fff));
  mlir::Value bounded = arith::MinUIOp::create(b, magnitude, constant(0x3f00)); // 1.75
  if (!truncates) bounded = arith::AddIOp::create(b, bounded, constant(0x40));
  mlir::Value sign = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits.handle, constant(8)), constant(0x80));
  mlir::Value joined = arith::OrIOp::create(b, sign, arith::ShRUIOp::create(b, bounded, constant(7)));
  Operand byte = *s.cast(Operand::of(joined, bits.type), Type(Scalar::uint8));
  return Operand::of(byte.handle, x.type.withElement(Type(Scalar::fp8e4b15)));
}

Maybe Semantics::truth(const Operand &x) {
  Maybe tensor = toTensor(x);
  if (!tensor) return std::nullopt;
  return cast(*tensor, Type(Scalar::int1));
}

Maybe Semantics::castForMemory(const Operand &x, const Type &type) {
  if (type != Type(Scalar::int1)) return cast(x, type);
  Maybe truth_ = truth(x);
  return truth_ ? cast(*truth_, Type(Scalar::int8)) : std::nullopt;
}

Maybe Semantics::cast(const Operand &x, const Type &type) {
  return castRounded(x, type, "");
}

/// Converts between pointer types, and between pointers and integers of 64 bits.
Maybe Semantics::castPointer(const Operand &x, const Type &type) {
  Type from = x.type.scalarType(), to = type.scalarType();
  mlir::Type ir = irType(type);
  auto made = [&](mlir::Value handle) { return Operand::of(handle, type); };
  auto isBlockPointer = [](const Type &type) { return type.isPointer() && type.scalarType().element().isBlock(); };
  if (isBlockPointer(from) || isBlockPointer(to)) return fail(Diag::castImpossible, {from.str(), to.str()});
  if (from.isPointer() && to.isPointer()) return made(tt::BitcastOp::create(b, ir, x.handle).getResult());
  if (from.isPointer()) {
    if (!to.isScalar() || !isInteger(to.scalar())) return fail(Diag::castImpossible, {from.str(), to.str()});
    if (bitWidth(to.scalar()) == 64) return made(tt::PtrToIntOp::create(b, ir, x.handle).getResult());
    if (to.scalar() != Scalar::int1) return fail(Diag::castImpossible, {from.str(), to.str()});
    Maybe address = cast(x, Type(Scalar::int64));
    if (!address) return std::nullopt;
    return compare(ast::CompareOp::ne, *address, Operand::of(Value::integer(0)));
  }
  if (!from.isScalar() || !isInteger(from.scalar())) return fail(Diag::castImpossible, {from.str(), to.str()});
  Maybe address = cast(x, Type(Scalar::int64));
  if (!address) return std::nullopt;
  return made(tt::IntToPtrOp::create(b, ir, address->handle).getResult());
}

Maybe Semantics::castRounded(const Operand &x, const Type &wanted, llvm::StringRef rounding) {
  Type from = x.type.scalarType(), to = wanted.scalarType();
  if (from == to) return x; // nothing is rounded, so the rounding mode does not matter
  bool narrowing =
      from.isScalar() && to.isScalar() && isFloat(from.scalar()) && isFloat(to.scalar()) && bitWidth(to.scalar()) < bitWidth(from.scalar());
  if (!rounding.empty() && rounding != "rtne" && rounding != "rtz")
    return fail(Diag::badOption, {"'" + rounding.str() + "'", "fp_downcast_rounding", "'rtne' and 'rtz'"});
  if (!rounding.empty() && !narrowing) return fail(Diag::roundingUnused, {from.str(), to.str()});
  Type type = x.type.withElement(to);
  mlir::Type ir = irType(type);
  auto made = [&](mlir::Value handle) { return Operand::of(handle, type); };
  auto throughFp32 = [&]() -> Maybe {
    Maybe wide = cast(x, Type(Scalar::fp32));
    return wide ? cast(*wide, to) : std::nullopt;
  };

  if (from.isPointer() || to.isPointer()) return castPointer(x, type);
  if (!from.isScalar() || !to.isScalar() || to.scalar() == Scalar::void_) return fail(Diag::castImpossible, {from.str(), to.str()});

  Scalar source = from.scalar(), target = to.scalar(), custom = Scalar::fp8e4b15;
  if (source == custom) return cast(halfOfFp8e4b15(*this, x), to);
  if (target == custom) return fp8e4b15Of(*this, x, rounding == "rtz");
  if (isFloat(source) && isFloat(target)) {
    if (isFp8(source) || isFp8(target) || rounding == "rtz") {
      tt::RoundingModeAttr mode;
      if (narrowing) mode = tt::RoundingModeAttr::get(unit.context, rounding == "rtz" ? tt::RoundingMode::RTZ : tt::RoundingMode::RTNE);
      return made(tt::FpToFpOp::create(b, ir, x.handle, mode).getResult());
    }
    // fp16 and bf16 are converted to one another, and to fp64, through fp32.
    if (bitWidth(source) == bitWidth(target) || (isSixteenBitFloat(source) && target != Scalar::fp32)) return throughFp32();
    if (narrowing) return made(arith::TruncFOp::create(b, ir, x.handle).getResult());
    return made(arith::ExtFOp::create(b, ir, x.handle).getResult());
  }
  if (target == Scalar::int1) { // x != 0
    if (isSixteenBitFloat(source) || isFp8(source)) {
      Maybe wide = cast(x, Type(Scalar::fp32));
      if (!wide) return std::nullopt;
      return compare(ast::CompareOp::ne, *wide, Operand::of(Value::integer(0)));
    }
    Operand zero = scalarConstant(Value::integer(0), source);
    return compare(ast::CompareOp::ne, x, zero);
  }
  if (isInteger(source) && isInteger(target)) {
    if (bitWidth(source) == bitWidth(target)) return made(x.handle);
    if (bitWidth(source) > bitWidth(target)) return made(arith::TruncIOp::create(b, ir, x.handle).getResult());
    if (isSigned(source)) return made(arith::ExtSIOp::create(b, ir, x.handle).getResult());
    return made(arith::ExtUIOp::create(b, ir, x.handle).getResult());
  }
  if ((isSixteenBitFloat(source) || isFp8(source)) && isInteger(target)) return throughFp32();
  if (isInteger(source) && isFp8(target)) return throughFp32();
  if (isStandardFloat(source)) {
    if (isSigned(target)) return made(arith::FPToSIOp::create(b, ir, x.handle).getResult());
    return made(arith::FPToUIOp::create(b, ir, x.handle).getResult());
  }
  if (isSigned(source)) return made(arith::SIToFPOp::create(b, ir, x.handle).getResult());
  return made(arith::UIToFPOp::create(b, ir, x.handle).getResult());
}

Maybe Semantics::bitcast(const Operand &x, const Type &wanted) {
  Type from = x.type.scalarType(), to = wanted.scalarType();
  if (from == to) return x;
  if (from.isPointer() || to.isPointer()) return cast(x, to);
  if (bitWidth(from.scalar()) != bitWidth(to.scalar()))
    return fail(Diag::bitcastSize, {from.str(), std::to_string(bitWidth(from.scalar())), to.str(), std::to_string(bitWidth(to.scalar()))});
  Type type = x.type.withElement(to);
  mlir::Type ir = irType(type);
  if (ir == x.handle.getType()) return Operand::of(x.handle, type);
  return Operand::of(tt::BitcastOp::create(b, ir, x.handle).getResult(), type);
}

} // namespace tilewright
