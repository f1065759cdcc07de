// tl.dot_scaled. ir/scaled_dot.h checks the operands as upstream does; ir/passes/expand_scaled_dots.cpp defines the result.
//   tl.dot_scaled(a, a_scale, "e2m1", b, b_scale, "e4m3")     a: uint8 [M, K / 2], two numbers in a byte, the first in the low half
//                                                             a_scale: uint8 [M, K / 32]; b: [K, N]; b_scale: uint8 [N, K / 32]

#include "frontend/builtin_emitters.h"
#include "ir/scaled_dot.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;
using Format = tt::ScaleDotElemType;

static std::optional<Format> formatNamed(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Format>>(name)
      .Case("e4m3", Format::E4M3)
      .Case("e5m2", Format::E5M2)
      .Case("e2m1", Format::E2M1)
      .Case("e2m3", Format::E2M3)
      .Case("e3m2", Format::E3M2)
      .Case("bf16", Format::BF16)
      .Case("fp16", Format::FP16)
      .Default(std::nullopt);
}

static Scalar scalarOf(Format format) {
  switch (format) {
  case Format::E4M3: return Scalar::fp8e4nv;
  case Format::E5M2: return Scalar::fp8e5;
  case Format::BF16: return Scalar::bf16;
  case Format::FP16: return Scalar::fp16;
  default: return Scalar::uint8;
  }
}

static std::nullopt_t invalid(Emitter &e, SourceRange range, const std::string &problem, const std::string &advice) {
  return e.ops.failAt(range, Diag::invalidArgument, {problem, advice});
}

/// Reads an operand whose tile, scale and format are the arguments from `first` on. Returns nothing after an error.
static std::optional<tt::ScaledOperand> readOperand(Emitter &e, Arguments &args, size_t first, size_t packing) {
  std::optional<std::string> name = args.string(first + 2);
  std::optional<bool> packedAlongK = name ? args.boolean(packing) : std::nullopt;
  Maybe tile = packedAlongK ? args.tile(first) : std::nullopt;
  if (!tile) return std::nullopt;
  std::optional<Format> format = formatNamed(*name);
  if (!format)
    return invalid(e, args.ranges[first + 2], "Invalid float format: " + *name + ".",
                   "use 'e2m1', 'e2m3', 'e3m2', 'e4m3', 'e5m2', 'bf16' or 'fp16'");
  Type number(scalarOf(*format)), element = tile->type.element();
  Type bits(bitWidth(number.scalar()) == 8 ? Scalar::uint8 : Scalar::uint16);
  if (element != number && element != bits)
    return invalid(e, args.ranges[first], "Unexpected dtype for " + *name + ". Got " + element.str(),
                   "pass " + number.str() + (number == bits ? "" : " or its bits as " + bits.str()));
  if (element != number) tile = e.ops.bitcast(*tile, number);
  if (!tile) return std::nullopt;
  mlir::Value scale;
  if (!args.isNone(first + 1)) {
    Maybe given = args.tile(first + 1);
    if (!given) return std::nullopt;
    scale = given->handle;
  }
  return tt::ScaledOperand{tile->handle, scale, *format, *packedAlongK, first == 0};
}

Maybe emitDotScaled(Emitter &e, Arguments &args) {
  if (!args.isNone(10)) {
    std::optional<Type> wanted = args.type(10);
    if (!wanted) return std::nullopt;
    if (*wanted != Type(Scalar::fp32))
      return invalid(e, args.ranges[10], "Only float32 is supported for out_dtype at the moment", "convert the result with .to(...)");
  }
  std::optional<bool> fastMath = args.boolean(7);
  std::optional<tt::ScaledOperand> left = fastMath ? readOperand(e, args, 0, 8) : std::nullopt;
  std::optional<tt::ScaledOperand> right = left ? readOperand(e, args, 3, 9) : std::nullopt;
  if (!right) return std::nullopt;
  std::string advice = "operands are [M, K] and [K, N], scales [M, K / 32] and [N, K / 32]; a byte holds two e2m1 numbers";
  if (std::string problem = problemOf(*left, *right); !problem.empty()) return invalid(e, args.range, problem, advice);
  llvm::SmallVector<int64_t> shape(cast<RankedTensorType>(left->tile.getType()).getShape().drop_back(2));
  shape.append({left->outer(), right->outer()});
  if (!e.ops.checkShape(shape)) return std::nullopt;
  Type type = Type::block(Type(Scalar::fp32), shape);
  Maybe acc = e.ops.splat(e.ops.scalarConstant(Value::floating(0), Scalar::fp32), shape);
  if (!args.isNone(6)) acc = args.tile(6);
  if (!acc) return std::nullopt;
  if (std::string problem = problemOf(*left, *right, acc->handle.getType()); !problem.empty())
    return invalid(e, args.ranges[6], problem, "");
  auto op = tt::DotScaledOp::create(e.ops.b, acc->handle.getType(), left->tile, right->tile, acc->handle, left->scale, right->scale,
                                    left->format, right->format, *fastMath, left->packedAlongK, right->packedAlongK);
  return Operand::of(op.getResult(), type);
}

} // namespace tilewright
