// Rules for dots of operands in microscaling formats (tt.dot_scaled), for the front end and for expand_scaled_dots.
#pragma once

#include "ir/tt.h"

namespace tilewright::tt {

/// One operand: a tile whose elements are numbers of the format, or their bits as integers. A byte holds two e2m1 numbers, the
/// first in the low half, along the inner dimension (K) or along the outer one. Numbers of 6 bits are the low bits of a byte each. The
/// scale is [outer, K / group] for both operands.
struct ScaledOperand {
  mlir::Value tile, scale; // scale: null if there is none
  ScaleDotElemType format;
  bool packedAlongK, isLeft;

  int64_t rank() const;
  int64_t depth() const; // elements along K
  int64_t outer() const; // elements along the other dimension
  /// Returns the number of elements that share a scale; 0 if the scale does not determine it.
  int64_t group() const;
};

/// True for e2m3 and e3m2.
bool isSixBits(ScaleDotElemType format);

ScaledOperand leftOf(DotScaledOp op);
ScaledOperand rightOf(DotScaledOp op);

/// Returns the number of elements along K that share a scale: 16 or 32.
int64_t scaleGroup(const ScaledOperand &left, const ScaledOperand &right);
/// Returns the error in the operands, in upstream's words, or "".
std::string problemOf(const ScaledOperand &left, const ScaledOperand &right);
/// The same with the accumulator's type.
std::string problemOf(const ScaledOperand &left, const ScaledOperand &right, mlir::Type accumulator);

} // namespace tilewright::tt
