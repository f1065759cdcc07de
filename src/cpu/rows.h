// Rows of a flat index. A kernel that runs over x in [0, R * n) and computes `x // n` and `x % n` has one quotient in each row of n
// indices, and remainders that move by one there. So the innermost loop of a root is split where a row begins:
//
//   for x in [from, to) step 16                      for row in [from / n, (to - 1) / n]
//     i = gather index[x / n]                          i = index[row]
//     v = gather w[i * n + x % n]           ->         for x in [max(from, row * n), min(to, (row + 1) * n)) step 16
//     store out[x], v                                    v = load w + i * n + (x - row * n)
//                                                        store out[x], v
//
// The last vector of a row is masked where the row ends. Short rows of whole vectors, which begin where vectors do, need no loop: each
// vector has one quotient. Where the divisor is known only at run time, so is whether rows are long enough.
#pragma once

#include "cpu/context.h"

namespace tilewright::cpu {

/// The rows of one root's innermost loop.
struct Rows {
  int64_t dim = -1;                // of the root: vectors lie along it
  Value dividend;                  // a tile that moves by 1 along `dim`; it is exact and not negative
  llvm::SmallVector<int64_t> dims; // the root's dimensions that the dividend's correspond to
  Value length;                    // i64: indices of a row, at least one vector's if `holds`
  std::optional<int64_t> constant; // `length`, if it is known
  bool ofVectors = false;          // no vector is in two rows, and the loop is not split
  Value holds;                     // i1; null: always
  TileAnalysis::Steps inside;      // of quotients and remainders, in a row
  TileAnalysis::Steps outside;     // of the remainders where the loop is not split
};

/// While this lives, loops along `vectorDim` that compute `tiles` (of one index space) are split into rows of at least `chunk` indices.
class RowScope {
public:
  /// With `split`, also where each vector could be a row of its own.
  RowScope(Context &ctx, ValueRange tiles, int64_t vectorDim, int64_t chunk, bool split = false);
  ~RowScope();
  /// Elements of a vector: more than were asked for, where wide numbers are the same in a row.
  int64_t chunk() const { return lanes; }
  RowScope(const RowScope &) = delete;
  RowScope &operator=(const RowScope &) = delete;

private:
  Context &ctx;
  int64_t lanes;
  std::optional<Rows> rows;
  const Rows *rowsBefore;
  TileAnalysis::Steps *stepsBefore;
};

/// A loop over the rows that [0, to) consists of at `place`, and `body` for each: the indices from its first one to its end. All of `masks`
/// hold.
void forEachRow(Context &ctx, const TileIndex &tileIndex, Value to, ValueRange masks, llvm::function_ref<void(Value from, Value end)> body);

/// `body` where each vector along the rows' dimension is a row of its own, and all of `masks` hold.
void inVectorRows(Context &ctx, ValueRange masks, llvm::function_ref<void()> body);

/// Whether all elements of a tile in one row along `dim` are equal where all of `masks` hold.
bool isOneInRow(Context &ctx, Value tile, int64_t dim, ValueRange masks);

/// Whether `op` is a signed quotient or remainder, by a positive constant, of the rows' dividend or of such a quotient.
bool isQuotientOfRow(Context &ctx, mlir::Operation *op);

/// The lanes at `place` that lie in its row (vector of i1); null: all.
Value lanesInRow(Context &ctx, const TileIndex &tileIndex);

} // namespace tilewright::cpu
