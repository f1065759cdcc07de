// C += A * B in tile registers (AMX): what tt.dot becomes on processors that multiply whole matrices by one instruction.
#pragma once

#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Whether the machine multiplies numbers of this type in tiles, and whether whole tiles fill a product of these sizes.
/// Operands are bf16, fp16, i8, or i32 (isOfHalves).
bool fitsTiles(const CpuTarget &target, Type operand, int64_t m, int64_t n, int64_t k);

/// Whether the operand is a word of two numbers of bf16 whose sum is one of fp16: i32.
bool isOfHalves(Type operand);

/// How far along K one instruction reaches, and how many rows of A are read where `limit` (i64) rows are needed.
int64_t tileDepth(Type operand);
Value tileRowsRead(ImplicitLocOpBuilder &b, const DotPlan &plan, Value limit);

/// Tile registers have the shape that all products here use, from configureTiles to releaseTiles.
void configureTiles(ImplicitLocOpBuilder &b);
void releaseTiles(ImplicitLocOpBuilder &b);

/// Like emitDotLoops, for a plan with `tiles`: A's columns lie together, and all blocks of C have 16 or 32 rows.
DotBlocks emitTileLoops(ImplicitLocOpBuilder &b, const DotPlan &plan, Value a, Value bPanels, Value c, bool fromZero,
                        const DotLimits &limits);

} // namespace tilewright::cpu
