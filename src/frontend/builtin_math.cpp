// Elementwise builtins: tl.where, named arithmetic, mathematical functions.

#include "frontend/builtin_emitters.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

Maybe emitWhere(Emitter &e, Arguments &args) {
  for (size_t i = 0; i < 3; ++i)
    if (!args[i].isRuntime() && !args[i].isNumber()) return args.typeError(i, "a tile or a number");
  if (const Type &condition = args[0].type; args[0].isRuntime() && condition.element() != Type(Scalar::int1))
    e.unit.diagnostics->warning(args.ranges[0], Diag::badValue,
                                {"the condition of tl.where is " + condition.element().str() + " and not a boolean: compare it with 0"});
  return e.ops.where_(args[0], args[1], args[2]);
}

// Emits named arithmetic such as tl.add. The result is a run-time value even for two constexprs.
static Maybe arithmetic(Emitter &e, Arguments &args, Maybe (Semantics::*operation)(Operand, Operand, bool)) {
  std::optional<bool> checked = args.boolean(2);
  if (!checked) return std::nullopt;
  return (e.ops.*operation)(args[0], args[1], *checked);
}
Maybe emitAdd(Emitter &e, Arguments &args) {
  return arithmetic(e, args, &Semantics::add);
}
Maybe emitSub(Emitter &e, Arguments &args) {
  return arithmetic(e, args, &Semantics::sub);
}
Maybe emitMul(Emitter &e, Arguments &args) {
  return arithmetic(e, args, &Semantics::mul);
}

// ---- minimum, maximum, clamp

static std::optional<tt::PropagateNan> nanRule(Arguments &args, size_t i) {
  std::optional<std::string> rule = args.string(i);
  if (!rule) return std::nullopt;
  if (*rule == "all") return tt::PropagateNan::ALL;
  if (*rule == "none") return tt::PropagateNan::NONE;
  return args.typeError(i, "tl.PropagateNan.NONE or tl.PropagateNan.ALL");
}

// Returns an operand of a builtin. With the rules of 3.9, a number stays a number until its type is decided. With the rules of 3.8, it has
// its own type.
static Maybe operandOf(Emitter &e, Arguments &args, size_t i) {
  if (e.ops.follows39() && args[i].isNumber()) return args[i];
  return args.tensor(i);
}

// Returns an operand of a comparison. With the rules of 3.8, bf16 is compared as fp32.
static Maybe comparedOf(Emitter &e, Arguments &args, size_t i) {
  Maybe x = operandOf(e, args, i);
  if (x && !e.ops.follows39() && x->type.scalarType() == Type(Scalar::bf16)) return e.ops.cast(*x, Type(Scalar::fp32));
  return x;
}

static Maybe extremumOf(Emitter &e, Operand a, Operand b, tt::PropagateNan rule, bool isMaximum) {
  if (!e.ops.promote(a, b, {}, isMaximum ? "maximum" : "minimum")) return std::nullopt;
  Scalar scalar = a.type.scalar();
  auto made = [&](auto op) { return Operand::of(op.getResult(), a.type); };
  auto &builder = e.ops.b;
  if (isFloat(scalar)) {
    if (rule == tt::PropagateNan::ALL)
      return isMaximum ? made(arith::MaximumFOp::create(builder, a.handle, b.handle))
                       : made(arith::MinimumFOp::create(builder, a.handle, b.handle));
    return isMaximum ? made(arith::MaxNumFOp::create(builder, a.handle, b.handle))
                     : made(arith::MinNumFOp::create(builder, a.handle, b.handle));
  }
  if (isSigned(scalar))
    return isMaximum ? made(arith::MaxSIOp::create(builder, a.handle, b.handle))
                     : made(arith::MinSIOp::create(builder, a.handle, b.handle));
  return isMaximum ? made(arith::MaxUIOp::create(builder, a.handle, b.handle)) : made(arith::MinUIOp::create(builder, a.handle, b.handle));
}

static Maybe extremum(Emitter &e, Arguments &args, bool isMaximum) {
  std::optional<tt::PropagateNan> rule = nanRule(args, 2);
  Maybe x = rule ? comparedOf(e, args, 0) : std::nullopt, y = x ? comparedOf(e, args, 1) : std::nullopt;
  return y ? extremumOf(e, *x, *y, *rule, isMaximum) : std::nullopt;
}
Maybe emitMinimum(Emitter &e, Arguments &args) {
  return extremum(e, args, false);
}
Maybe emitMaximum(Emitter &e, Arguments &args) {
  return extremum(e, args, true);
}

Maybe emitClamp(Emitter &e, Arguments &args) {
  std::optional<tt::PropagateNan> rule = nanRule(args, 3);
  Operand values[3];
  for (size_t i = 0; i < 3; ++i) {
    Maybe value = rule ? comparedOf(e, args, i) : std::nullopt;
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  auto &[x, low, high] = values;
  if (e.ops.follows39()) {
    if (!e.ops.promoteThree(values, "clamp")) return std::nullopt;
    if (!isFloat(x.type.scalarType().scalar())) {
      Maybe raised = extremumOf(e, x, low, *rule, true);
      return raised ? extremumOf(e, *raised, high, *rule, false) : std::nullopt;
    }
  } else if (!e.ops.promote(low, high, {}, "clamp") || !e.ops.promote(x, low, {}, "clamp") || !e.ops.promote(x, high, {}, "clamp") ||
             !e.ops.promote(x, low, {}, "clamp")) {
    return std::nullopt;
  }
  if (!isFloat(x.type.scalar())) return e.ops.failAt(args.ranges[0], Diag::clampType, {x.describe()});
  return Operand::of(tt::ClampFOp::create(e.ops.b, x.handle, low.handle, high.handle, *rule).getResult(), x.type);
}

static Maybe logical(Emitter &e, Arguments &args, bool isAnd) {
  Maybe x = args.tensor(0), y = x ? args.tensor(1) : std::nullopt;
  return y ? e.ops.logical(isAnd, *x, *y) : std::nullopt;
}
Maybe emitLogicalAnd(Emitter &e, Arguments &args) {
  return logical(e, args, true);
}
Maybe emitLogicalOr(Emitter &e, Arguments &args) {
  return logical(e, args, false);
}

Maybe emitAbs(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0);
  if (!x) return std::nullopt;
  if (!x->type.scalarType().isScalar()) return args.typeError(0, "numbers");
  Scalar scalar = x->type.scalar();
  if (scalar == Scalar::fp8e4b15) {
    Maybe bits = e.ops.bitcast(*x, Type(Scalar::uint8));
    return e.ops.bitcast(*e.ops.bitwise(ast::BinaryOp::bitand_, *bits, Operand::of(Value::integer(0x7f))), x->type.scalarType());
  }
  if (isFloat(scalar)) return Operand::of(math::AbsFOp::create(e.ops.b, x->handle).getResult(), x->type);
  if (isSigned(scalar)) return Operand::of(math::AbsIOp::create(e.ops.b, x->handle).getResult(), x->type);
  return x;
}

// ---- division and multiplication with explicit rounding or width

static bool pairOf(Emitter &e, Arguments &args, Operand &x, Operand &y, Semantics::Promotion how) {
  Maybe left = operandOf(e, args, 0), right = left ? operandOf(e, args, 1) : std::nullopt;
  if (!right) return false;
  x = *left;
  y = *right;
  return e.ops.promote(x, y, how, ("tl." + args.builtin.path).str());
}

static std::nullopt_t wrongType(Emitter &e, Arguments &args, const Operand &x, llvm::StringRef wanted, llvm::StringRef fix) {
  return e.ops.failAt(args.ranges[0], Diag::mathType,
                      {("tl." + args.builtin.path).str(), wanted.str(), x.type.scalarType().str(), fix.str()});
}

Maybe emitFdiv(Emitter &e, Arguments &args) {
  Operand x, y;
  if (!pairOf(e, args, x, y, {.division = e.ops.follows39()})) return std::nullopt;
  std::optional<bool> rounds = args.boolean(2), approximate = rounds ? args.boolean(3) : std::nullopt;
  if (!approximate) return std::nullopt;
  if (*rounds && *approximate) return e.ops.fail(Diag::callArgumentType, {"tl.fdiv", "approx", "False with ieee_rounding=True", "True"});
  if (!isFloat(x.type.scalar())) return wrongType(e, args, x, "floats", ".to(tl.float32)");
  if (*rounds && x.type.scalar() == Scalar::fp32)
    return Operand::of(tt::PreciseDivFOp::create(e.ops.b, x.handle, y.handle).getResult(), x.type);
  return Operand::of(arith::DivFOp::create(e.ops.b, x.handle, y.handle).getResult(), x.type);
}

Maybe emitDivRn(Emitter &e, Arguments &args) {
  Operand x, y;
  if (!pairOf(e, args, x, y, {})) return std::nullopt;
  if (x.type.scalarType() != Type(Scalar::fp32)) return wrongType(e, args, x, "fp32", ".to(tl.float32)");
  return Operand::of(tt::PreciseDivFOp::create(e.ops.b, x.handle, y.handle).getResult(), x.type);
}

Maybe emitUmulhi(Emitter &e, Arguments &args) {
  Operand x, y;
  if (!pairOf(e, args, x, y, {})) return std::nullopt;
  if (!isInteger(x.type.scalar()) || bitWidth(x.type.scalar()) < 32)
    return wrongType(e, args, x, "integers of 32 or 64 bits", ".to(tl.uint32)");
  return Operand::of(tt::MulhiUIOp::create(e.ops.b, x.handle, y.handle).getResult(), x.type);
}

Maybe emitFma(Emitter &e, Arguments &args) {
  Operand values[3];
  for (size_t i = 0; i < 3; ++i) {
    Maybe value = operandOf(e, args, i);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  auto &[x, y, z] = values;
  if (e.ops.follows39()) {
    if (!e.ops.promoteThree(values, "tl.fma")) return std::nullopt;
  } else if (!e.ops.promote(x, y, {}, "tl.fma") || !e.ops.promote(z, x, {}, "tl.fma") || !e.ops.promote(z, y, {}, "tl.fma") ||
             !e.ops.promote(z, x, {}, "tl.fma")) {
    return std::nullopt;
  }
  if (!isFloat(x.type.scalar())) return wrongType(e, args, x, "floats", "x * y + z");
  return Operand::of(math::FmaOp::create(e.ops.b, x.handle, y.handle, z.handle).getResult(), x.type);
}

// ---- functions of fp32 and fp64

static Maybe floatArgument(Emitter &e, Arguments &args, bool doubles) {
  Maybe x = args.tensor(0);
  if (!x) return std::nullopt;
  Type scalar = x->type.scalarType();
  if (scalar == Type(Scalar::fp32) || (doubles && scalar == Type(Scalar::fp64))) return x;
  return wrongType(e, args, *x, doubles ? "fp32 or fp64" : "fp32", ".to(tl.float32)");
}

template <typename Op> static Maybe function(Emitter &e, Arguments &args, bool doubles) {
  Maybe x = floatArgument(e, args, doubles);
  if (!x) return std::nullopt;
  return Operand::of(Op::create(e.ops.b, x->handle).getResult(), x->type);
}
Maybe emitExp(Emitter &e, Arguments &args) {
  return function<math::ExpOp>(e, args, true);
}
Maybe emitExp2(Emitter &e, Arguments &args) {
  return function<math::Exp2Op>(e, args, true);
}
Maybe emitLog(Emitter &e, Arguments &args) {
  return function<math::LogOp>(e, args, true);
}
Maybe emitLog2(Emitter &e, Arguments &args) {
  return function<math::Log2Op>(e, args, true);
}
Maybe emitSin(Emitter &e, Arguments &args) {
  return function<math::SinOp>(e, args, true);
}
Maybe emitCos(Emitter &e, Arguments &args) {
  return function<math::CosOp>(e, args, true);
}
Maybe emitSqrt(Emitter &e, Arguments &args) {
  return function<math::SqrtOp>(e, args, true);
}
Maybe emitRsqrt(Emitter &e, Arguments &args) {
  return function<math::RsqrtOp>(e, args, true);
}
Maybe emitErf(Emitter &e, Arguments &args) {
  return function<math::ErfOp>(e, args, true);
}
Maybe emitFloor(Emitter &e, Arguments &args) {
  return function<math::FloorOp>(e, args, true);
}
Maybe emitCeil(Emitter &e, Arguments &args) {
  return function<math::CeilOp>(e, args, true);
}
Maybe emitSqrtRn(Emitter &e, Arguments &args) {
  return function<tt::PreciseSqrtOp>(e, args, false);
}

} // namespace tilewright
