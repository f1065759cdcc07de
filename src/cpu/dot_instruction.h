// The instructions of the micro-kernels' inner loop, for each instruction set.
#pragma once

#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Names the instruction that emitDotInstruction emits, for `tilewright explain`.
const char *dotInstructionName(const CpuTarget &target, const DotPlan &plan);

/// Returns sum + x * y. Each lane adds the products of a group, or of one element if `plan.group` is 1. If `plan.addsOffset()`, x has the
/// unsigned bytes. `x` and `y` have as many bits as `sum`. Not for plans with `matrix`.
Value emitDotInstruction(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, Value x, Value y, Value sum);

/// The form whose y is one lane of a vector of 16 bytes, as loadReplicated returns it: a 32-bit group, or an element of f32 or f64. For SVE
/// registers of more than 16 bytes.
Value emitLaneInstruction(ImplicitLocOpBuilder &b, const DotPlan &plan, Value x, Value replicated, int64_t lane, Value sum);

/// Loads 16 bytes into each 16 bytes of an SVE register (LD1RQ). Returns a vector with the elements of `plan` and as many bytes as `like`.
Value loadReplicated(ImplicitLocOpBuilder &b, const DotPlan &plan, Type like, Value address);

/// The 2x2 form (BFMMLA, SMMLA): x holds 8 bytes along k of two rows, y of two columns. `sum` and the result hold the elements (0, 0),
/// (0, 1), (1, 0) and (1, 1) of a block of C.
Value emitMatrixInstruction(ImplicitLocOpBuilder &b, const DotPlan &plan, Value x, Value y, Value sum);

} // namespace tilewright::cpu
