#include "ir/scaled_dot.h"

using namespace mlir;

namespace tilewright::tt {

static RankedTensorType typeOf(Value tile) {
  return cast<RankedTensorType>(tile.getType());
}

static std::string text(ArrayRef<int64_t> shape) {
  std::string list;
  for (int64_t size : shape)
    list += (list.empty() ? "[" : ", ") + std::to_string(size);
  return list + "]";
}

int64_t ScaledOperand::rank() const {
  return typeOf(tile).getRank();
}

int64_t ScaledOperand::depth() const {
  bool pairs = format == ScaleDotElemType::E2M1 && packedAlongK;
  return typeOf(tile).getDimSize(rank() - (isLeft ? 1 : 2)) * (pairs ? 2 : 1);
}

int64_t ScaledOperand::outer() const {
  return typeOf(tile).getDimSize(rank() - (isLeft ? 2 : 1)) * (packedAlongK ? 1 : 2);
}

int64_t ScaledOperand::group() const {
  if (!scale || typeOf(scale).getNumElements() == 1) return 0;
  return depth() / typeOf(scale).getShape().back();
}

bool isSixBits(ScaleDotElemType format) {
  return format == ScaleDotElemType::E2M3 || format == ScaleDotElemType::E3M2;
}

ScaledOperand leftOf(DotScaledOp op) {
  return {op.getA(), op.getAScale(), op.getAElemType(), op.getLhsKPack(), true};
}

ScaledOperand rightOf(DotScaledOp op) {
  return {op.getB(), op.getBScale(), op.getBElemType(), op.getRhsKPack(), false};
}

int64_t scaleGroup(const ScaledOperand &left, const ScaledOperand &right) {
  if (left.group()) return left.group();
  return right.group() ? right.group() : 32;
}

/// True if an element is a float of the format, or an integer with the bits of such a float.
static bool holds(Type element, ScaleDotElemType format) {
  switch (format) {
  case ScaleDotElemType::E4M3: return element.isInteger(8) || isa<Float8E4M3FNType>(element);
  case ScaleDotElemType::E5M2: return element.isInteger(8) || isa<Float8E5M2Type>(element);
  case ScaleDotElemType::E2M1:
  case ScaleDotElemType::E2M3:
  case ScaleDotElemType::E3M2: return element.isInteger(8);
  case ScaleDotElemType::BF16: return element.isInteger(16) || element.isBF16();
  case ScaleDotElemType::FP16: return element.isInteger(16) || element.isF16();
  }
}

static std::string problemOfOne(const ScaledOperand &operand) {
  std::string format = stringifyScaleDotElemType(operand.format).str();
  if (!holds(typeOf(operand.tile).getElementType(), operand.format)) return "Unexpected dtype for " + format;
  if (!operand.packedAlongK && operand.format != ScaleDotElemType::E2M1)
    return "only mxfp4 inputs can be packed along a dimension different than K";
  return "";
}

static std::string problemOfScale(const ScaledOperand &operand, int64_t group) {
  if (!operand.scale) return "";
  SmallVector<int64_t> wanted(typeOf(operand.tile).getShape().drop_back(2));
  wanted.append({operand.outer(), operand.depth() / group});
  ArrayRef<int64_t> shape = typeOf(operand.scale).getShape();
  if (shape != ArrayRef<int64_t>(wanted))
    return std::string(operand.isLeft ? "lhs" : "rhs") + "_scale must be a tensor of shape [..., " + std::to_string(operand.outer()) +
           ", " + std::to_string(operand.depth() / group) + "]. Got " + text(shape);
  Type element = typeOf(operand.scale).getElementType();
  if (!element.isInteger(8) && !isa<FloatType>(element)) return "scales are e8m0 as 8-bit integers, or floats";
  return "";
}

std::string problemOf(const ScaledOperand &left, const ScaledOperand &right) {
  ArrayRef<int64_t> a = typeOf(left.tile).getShape(), b = typeOf(right.tile).getShape();
  std::string shapes = "; (lhs: " + text(a) + " vs rhs: " + text(b) + ")";
  if (a.size() != b.size() || (a.size() != 2 && a.size() != 3)) return "Both inputs must be either 2D or 3D" + shapes;
  for (const ScaledOperand &operand : {left, right})
    if (std::string problem = problemOfOne(operand); !problem.empty()) return problem;
  if (left.depth() != right.depth()) return "Reduction dimension should pack the same number of elements" + shapes;
  if (a.size() == 3 && a[0] != b[0]) return "Both inputs must have the same number of batches" + shapes;
  for (const ScaledOperand &operand : {left, right})
    if (int64_t group = operand.group(); operand.scale && typeOf(operand.scale).getNumElements() > 1 && group != 16 && group != 32)
      return "scale factor must be 16 or 32. Got " + std::to_string(group);
  if (left.group() && right.group() && left.group() != right.group())
    return "Operands must have the same scale factor; (lhs: " + std::to_string(left.group()) + " vs rhs: " + std::to_string(right.group()) +
           ")";
  int64_t group = scaleGroup(left, right);
  std::string problem = problemOfScale(left, group);
  return problem.empty() ? problemOfScale(right, group) : problem;
}

std::string problemOf(const ScaledOperand &left, const ScaledOperand &right, Type accumulator) {
  if (std::string problem = problemOf(left, right); !problem.empty()) return problem;
  auto type = cast<RankedTensorType>(accumulator);
  SmallVector<int64_t> wanted(typeOf(left.tile).getShape().drop_back(2));
  wanted.append({left.outer(), right.outer()});
  if (type.getShape() != ArrayRef<int64_t>(wanted)) return "expected accumulator shape " + text(wanted) + ", got " + text(type.getShape());
  return type.getElementType().isF32() ? "" : "expected accumulator dtype fp32";
}

} // namespace tilewright::tt
