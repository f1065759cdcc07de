// C += A * B in AMX tiles: the lowering of tt.dot on CPUs with matrix instructions.
#pragma once

#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// True if the target has an AMX instruction for this operand type and whole AMX tiles fill a dot of these sizes. Operands are bf16, fp16,
/// i8, or i32 (isOfHalves).
bool fitsTiles(const CpuTarget &target, Type operand, int64_t m, int64_t n, int64_t k);

/// True if the operand is i32: a word of two bf16 numbers whose sum is one fp16 number.
bool isOfHalves(Type operand);

/// Returns the elements along K that one instruction consumes.
int64_t tileDepth(Type operand);
/// Returns how many rows of A are read where `limit` (i64) rows are needed.
Value tileRowsRead(ImplicitLocOpBuilder &b, const DotPlan &plan, Value limit);

/// Configures the AMX tiles with the shape that all dots here use; releaseTiles ends this.
void configureTiles(ImplicitLocOpBuilder &b);
void releaseTiles(ImplicitLocOpBuilder &b);

/// Like emitDotLoops, for a plan with `tiles`: A's columns are contiguous, and all blocks of C have 16 or 32 rows.
DotBlocks emitTileLoops(ImplicitLocOpBuilder &b, const DotPlan &plan, Value a, Value bPanels, Value c, bool fromZero,
                        const DotLimits &limits);

} // namespace tilewright::cpu
