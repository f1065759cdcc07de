// Products of which only one row, or one column, is needed: see gemv.cpp.
#pragma once

#include "cpu/context.h"
#include "cpu/micro_kernel.h"

namespace tilewright::cpu {

/// A product with a vector: sums[i] = sum over p of matrix(i, p) * factor(p).
struct Gemv {
  Value matrix, factor;   // tiles
  int64_t outerDim, kDim; // of the matrix
  int64_t factorK;        // of the factor
  int64_t size, k;        // elements along both
  Type element;           // in which numbers are multiplied and added
  Value wanted, length;   // so many sums, of so many products (i64); null: all
  Value target;           // sums[i] goes to target + i * stride elements
  int64_t stride;
  bool fromZero;      // written, not added
  Value isFirst = {}; // the same where only the program knows it (i1); null: never
  Value index = {};   // along the factor's other dimension (i64); null: 0
};

void emitGemv(Context &ctx, const Gemv &dot);

} // namespace tilewright::cpu
