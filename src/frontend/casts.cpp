// Conversions between element types. The route is upstream's: 16-bit floats meet other types by way of fp32, fp8 types by tt.fp_to_fp,
// bool is "not equal to zero" on the way in and 0 or 1 on the way out.

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

Maybe Semantics::truth(const Operand &x) {
  Maybe tensor = toTensor(x);
  if (!tensor) return std::nullopt;
  return cast(*tensor, Type(Scalar::int1));
}

Maybe Semantics::cast(const Operand &x, const Type &type) {
  return castRounded(x, type, "");
}

/// Between addresses, and from and to integers of 64 bits.
Maybe Semantics::castPointer(const Operand &x, const Type &type) {
  Type from = x.type.scalarType(), to = type.scalarType();
  mlir::Type ir = irType(type);
  auto made = [&](mlir::Value handle) { return Operand::of(handle, type); };
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
  bool narrowing =
      from.isScalar() && to.isScalar() && isFloat(from.scalar()) && isFloat(to.scalar()) && bitWidth(to.scalar()) < bitWidth(from.scalar());
  if (!rounding.empty() && rounding != "rtne" && rounding != "rtz")
    return fail(Diag::badOption, {"'" + rounding.str() + "'", "fp_downcast_rounding", "'rtne' and 'rtz'"});
  if (!rounding.empty() && !narrowing) return fail(Diag::roundingUnused, {from.str(), to.str()});
  if (from == to) return x;
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
  if (source == custom || target == custom) return fail(Diag::refusedFeature, {"fp8e4b15", "not supported in this architecture"});
  if (isFloat(source) && isFloat(target)) {
    if (isFp8(source) || isFp8(target) || rounding == "rtz") {
      tt::RoundingModeAttr mode;
      if (narrowing) mode = tt::RoundingModeAttr::get(unit.context, rounding == "rtz" ? tt::RoundingMode::RTZ : tt::RoundingMode::RTNE);
      return made(tt::FpToFpOp::create(b, ir, x.handle, mode).getResult());
    }
    // fp16 and bf16 become one another, and fp64, by way of fp32.
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
