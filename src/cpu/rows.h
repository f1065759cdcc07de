// Splits loops at the rows of a flat index. Consider a kernel that runs over x in [0, R * n) and computes `x // n` and `x % n`. Each row of
// n indices has one quotient, and remainders of stride 1. So the innermost loop of a root is split where a row begins:
//
//   for x in [from, to) step 16                      for row in [from / n, (to - 1) / n]
//     i = gather index[x / n]                          i = index[row]
//     v = gather w[i * n + x % n]           ->         for x in [max(from, row * n), min(to, (row + 1) * n)) step 16
//     store out[x], v                                    v = load w + i * n + (x - row * n)
//                                                        store out[x], v
//
// The last vector of a row is masked at the row's end. Short rows that consist of whole aligned vectors need no split: each vector has one
// quotient. If the divisor is known only at run time, a run-time check tells whether rows are long enough.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// The rows of one root's innermost loop.
struct Rows {
  int64_t dim = -1;                // the root's dimension that is vectorized
  Value dividend;                  // a tile of stride 1 along `dim`; exact and not negative
  llvm::SmallVector<int64_t> dims; // the root's dimensions that the dividend's correspond to
  Value length;                    // i64: indices of a row, at least one vector if `holds`
  std::optional<int64_t> constant; // `length`, if it is known
  bool ofVectors = false;          // no vector spans two rows, and the loop is not split
  Value holds;                     // i1; null: always
  TileAnalysis::Strides inside;    // strides of quotients and remainders inside a row
  TileAnalysis::Strides outside;   // strides of the remainders if the loop is not split
};

/// During its lifetime, loops along `vectorDim` that compute `tiles` (of one index space) are split into rows of at least `chunk` indices.
class RowScope {
public:
  /// With `split`, also splits where each vector could be a row of its own.
  RowScope(Context &ctx, ValueRange tiles, int64_t vectorDim, int64_t chunk, bool split = false);
  ~RowScope();
  /// Returns the elements of a vector: more than `chunk` if wide numbers are uniform in a row.
  int64_t chunk() const { return lanes; }
  RowScope(const RowScope &) = delete;
  RowScope &operator=(const RowScope &) = delete;

private:
  Context &ctx;
  int64_t lanes;
  std::optional<Rows> rows;
  const Rows *savedRows;
  TileAnalysis::Strides *savedStrides;
};

/// Emits a loop over the rows of [0, to) at `tileIndex`, and calls `body` for each row with its first index and its end. All of `masks`
/// hold.
void forEachRow(Context &ctx, const TileIndex &tileIndex, Value to, ValueRange masks, llvm::function_ref<void(Value from, Value end)> body);

/// Calls `body` where each vector along the rows' dimension is a row of its own and all of `masks` hold.
void inVectorRows(Context &ctx, ValueRange masks, llvm::function_ref<void()> body);

/// True if all elements of a tile in one row along `dim` are equal where all of `masks` hold.
bool isOneInRow(Context &ctx, Value tile, int64_t dim, ValueRange masks);

/// True if `op` is a signed quotient or remainder, by a positive constant, of the rows' dividend or of such a quotient.
bool isQuotientOfRow(Context &ctx, mlir::Operation *op);

/// Returns the lanes at `tileIndex` that lie in its row (vector of i1); null: all.
Value lanesInRow(Context &ctx, const TileIndex &tileIndex);

} // namespace tilewright::cpu
