// The instructions of the micro-kernels' inner loop, for each instruction set.
#pragma once

#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Names the instruction that emitDotInstruction emits, for `tilewright explain`.
const char *dotInstructionName(const CpuTarget &target, const DotPlan &plan);

/// Returns sum + x * y. Each lane adds the products of a group, or of one element if `plan.group` is 1. If `plan.addsOffset()`, x has the
/// unsigned bytes. `x` and `y` have as many bits as `sum`. Not for plans with `matrix`.
Value emitDotInstruction(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, Value x, Value y, Value sum);

/// The 2x2 form (BFMMLA, SMMLA): x holds 8 bytes along k of two rows, y of two columns. `sum` and the result hold the elements (0, 0),
/// (0, 1), (1, 0) and (1, 1) of a block of C.
Value emitMatrixInstruction(ImplicitLocOpBuilder &b, const DotPlan &plan, Value x, Value y, Value sum);

} // namespace tilewright::cpu
