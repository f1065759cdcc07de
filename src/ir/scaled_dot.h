// Rules for products of operands in microscaling formats (tt.dot_scaled), for the code that makes them and the code that rewrites them.
#pragma once

#include "ir/tt.h"

namespace tilewright::tt {

/// On a tt.store (a unit attribute): a loop over tiles before it has stored the same tile in another format, which may be wrong.
constexpr llvm::StringLiteral overwritesName = "tt.overwrites";

/// One operand: a tile whose elements are numbers of the format, or their bits as integers. A byte holds two e2m1 numbers, the
/// first in the low half, along the inner dimension (K) or along the outer one. The scale is [outer, K / group] for both operands.
struct ScaledOperand {
  mlir::Value tile, scale; // scale: null where there is none
  ScaleDotElemType format;
  bool packedAlongK, isLeft;

  int64_t rank() const;
  int64_t depth() const; // elements along K
  int64_t outer() const; // elements along the other dimension
  /// How many elements share a scale; 0 where the scale does not say.
  int64_t group() const;
};

ScaledOperand leftOf(DotScaledOp op);
ScaledOperand rightOf(DotScaledOp op);

/// How many elements along K share a scale: 16 or 32.
int64_t scaleGroup(const ScaledOperand &left, const ScaledOperand &right);
/// What is wrong with the operands, in upstream's words; "" if nothing is.
std::string problemOf(const ScaledOperand &left, const ScaledOperand &right);
/// The same with the accumulator's type.
std::string problemOf(const ScaledOperand &left, const ScaledOperand &right, mlir::Type accumulator);

} // namespace tilewright::tt
