// The parts of expand-scaled-dots: the operands of dots, and loops that run in fp16 first.
#pragma once

#include "ir/passes.h"
#include "ir/scaled_dot.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::scaled_dots {

/// True if the operand has scales of e8m0.
bool hasExponents(const tt::ScaledOperand &x);

/// The operands of a dot, dequantized in fp16.
struct HalfOperands {
  mlir::Value left, right;
  llvm::SmallVector<mlir::Value> exponents; ///< of the scales: how far they are above the smallest one that fp16 represents
};
HalfOperands inHalf(tt::DotScaledOp op, UnpackE2m1 unpackE2m1);
/// Returns how far above the smallest exponent scales may be, if fp16 must represent every number times its scale, for e4m3 or e2m1.
int64_t maxExponentRange(const tt::ScaledOperand &x);

/// Returns the loop that only accumulates this dot and may run twice, or null.
mlir::scf::ForOp repeatableLoop(tt::DotScaledOp op);

/// First runs the loop in fp16, which needs half the instructions, and records the largest exponent of the scales. If fp16 could not
/// represent all numbers, the original loop runs too.
///   before: %d = scf.for (%c) { tt.dot_scaled }
///   after:  %x, %above = scf.for (%c, 0) { tt.dot in fp16; the largest exponent }
///           %d = scf.if %above > 21 { scf.for (%c) { tt.dot_scaled } } else { %x }
/// A persistent loop around it runs as a whole if possible. Then no tile waits for the check of the previous tile.
///   before: scf.for { %d = scf.for (%c) { tt.dot_scaled }    tt.store %d }
///   after:  %above = scf.for (0) { %x, %largest = scf.for (%c, %above so far) { tt.dot in fp16; ... }    tt.store %x }
///           scf.if %above > 21 { scf.for { %d = scf.for (%c) { tt.dot_scaled }    tt.store %d {tt.overwrites} } }
void computeInHalfFirst(tt::DotScaledOp op, mlir::scf::ForOp loop, UnpackE2m1 unpackE2m1, const Assumptions &assumptions);

} // namespace tilewright::scaled_dots
