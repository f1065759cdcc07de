// C += A * B in registers: the loops of tt.dot once its operands lie where a micro-kernel can read them.
#pragma once

#include "cpu/emit.h"

namespace tilewright::cpu {

/// One product of static size. Strides count elements.
struct DotPlan {
  int64_t m, n, k;
  Type operand; // of A and B in scratch: f32, f64; i16 for int8 inputs (then k is even and operands lie in pairs, below)
  Type result;  // f32, f64, i32
  // A(i, p) at a[i * aRow + p * aCol]; broadcast element by element, so any strides do. Constants fold into addresses.
  int64_t aRow, aCol;
  // B in panels of `panel` columns: B(p, j) at b[(j / panel) * (k * panel) + p * panel + j % panel].
  // i16: pairs of rows interleaved: B(p, j) at b[(j / panel) * (k * panel) + (p / 2) * (2 * panel) + 2 * (j % panel) + p % 2].
  int64_t panel;
  // C(i, j) at c[i * cRow + j].
  int64_t cRow;
};

/// How much of a product is wanted, known when the code runs (i64; null: all). What is computed is a little more: whole blocks of
/// registers.
struct DotLimits {
  Value rows, columns; // others of C are left as they are
  Value length;        // from here on A and B hold zeros
};

/// Columns in one panel of B: two vectors, or less where n is small.
int64_t panelWidth(const CpuTarget &target, Type result, int64_t n);

/// Emits the loops. `fromZero`: C is written, not added to. No register spills on any target.
void emitDotLoops(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, Value a, Value bPanels, Value c, bool fromZero,
                  const DotLimits &limits);

/// Transposes a square of vectors in registers: rows[i] lane j becomes result[j] lane i. rows.size() == lanes, a power of two up to 16.
llvm::SmallVector<Value> transposeSquare(ImplicitLocOpBuilder &b, llvm::ArrayRef<Value> rows);

} // namespace tilewright::cpu
