// The GEMV path: dots of which only one row or one column is needed. See gemv.cpp.
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// A matrix-vector multiplication: sums[i] = sum over p of matrix(i, p) * factor(p).
struct Gemv {
  Value matrix, factor;   // tiles
  int64_t outerDim, kDim; // of the matrix
  int64_t factorK;        // of the factor
  int64_t size, k;        // elements along both
  Type element;           // the type of multiplications and additions
  Value count, length;    // number of sums, and of terms of each (i64); null: all
  Value target;           // sums[i] goes to target + i * stride elements
  int64_t stride;
  bool fromZero;      // the sums overwrite the target instead of being added to it
  Value isFirst = {}; // the same, known at run time (i1); null: never
  Value index = {};   // index along the factor's other dimension (i64); null: 0
};

void emitGemv(Context &ctx, const Gemv &gemv);

} // namespace tilewright::cpu
