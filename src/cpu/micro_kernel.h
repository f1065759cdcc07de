// C += A * B in registers: the loops of tt.dot once its operands lie where a micro-kernel can read them.
#pragma once

#include "cpu/emit.h"

#include <vector>

namespace tilewright::cpu {

/// One product of static size. Strides count elements.
struct DotPlan {
  int64_t m, n, k;
  Type operand; // of A and B in scratch: f32, f64, bf16, i16, i8; in tiles also f16, and i32 for numbers of f16 in two halves
  Type result;  // f32, f64, i32
  // Neighbors along k that one lane of 32 bits multiplies at once; k is a multiple of it. 1: f32, f64. 2: bf16, f16, i16. 4: i8.
  int64_t group;
  // A(i, p) at a[i * aRow + p * aCol]; broadcast element by element, so any strides do. Constants fold into addresses.
  int64_t aRow, aCol;
  // B in panels of `panel` columns, groups of rows interleaved:
  // B(p, j) at b[(j / panel) * (k * panel) + (p / group) * (group * panel) + group * (j % panel) + p % group].
  int64_t panel;
  // C(i, j) at c[i * cRow + j].
  int64_t cRow;
  int64_t iterations = 1;       // of a loop, `k` being the part of one, that are multiplied together: panels have so many times `k` rows
  bool tiles = false;      // by amx_tiles.h, in tile registers
  int64_t aPlaneBytes = 0; // where isOfHalves(operand): from A to its second plane; that of B's panels is behind all of them
  Value aRowBytes = {};    // the distance of A's rows where only the program knows it (i64); null: aRow elements
  Value aNext = {};        // from an element of A to what the next product reads in its place (i64, in bytes); null: nothing to prefetch
  Value isFirst = {};      // whether C is written, not added to, where only the program knows it (i1); null: never
  // Where results go to memory, and not to C, where only the program knows it (direct_store.h); i64, in bytes: the first one's address, or
  // C's, and the distance of rows. Null: all go to C. `streams` (i1; null: never): past the caches.
  Value out = {}, outRowBytes = {}, nonTemporal = {};
  Value rowSums = {}; // where `addsOffset` needs it: scratch of m i32

  /// Whether panels hold B's bytes plus 128, as unsigned ones: vectors multiply unsigned bytes with signed ones, tiles multiply signed
  /// ones.
  bool addsOffset() const { return operand.isInteger(8) && !tiles; }
  /// Of all turns that are multiplied together.
  DotPlan together() const {
    DotPlan all = *this;
    all.k *= iterations, all.iterations = 1;
    return all;
  }
};

/// How much of a product is needed, known when the code runs (i64;
/// null: all). A little more is computed: whole blocks of registers.
struct DotLimits {
  Value rows, columns;                                    // others of C are left as they are
  Value length;                                           // from here on A and B hold zeros
  int64_t lengthStride = 1;                                 // divides it
  bool mayBeOneRow = false, mayBeOneColumn = false;       // in a launch like this one
  bool mayLeaveOneRow = false, mayLeaveOneColumn = false; // behind whole blocks of registers, in a launch like this one
};

/// How many rows of A are read where `limits` says how many are needed (i64): whole blocks of registers.
Value rowsRead(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, const DotLimits &limits);
/// K is read in multiples of this, up to its end.
int64_t lengthUnit(const DotPlan &plan);

/// All panels of B, in bytes.
int64_t panelBytes(const DotPlan &plan);

/// A block of registers, however wide, ends at each multiple of so many rows of a tile that is one itself; 0: there is no such power of
/// two.
int64_t fullRows(const CpuTarget &target);

/// Columns in one panel of B: two vectors, or less where n is small.
int64_t panelWidth(const CpuTarget &target, Type result, int64_t n);

/// How a product was cut up.
struct DotBlocks {
  const char *instruction;
  int64_t lanes, vectors; // of a row of a panel
  struct Rows {
    int64_t rows, count; // of a block, and how many there are one below the other
    int64_t partials;    // sums of one element that are computed side by side
  };
  std::vector<Rows> rows;
  bool tiles = false; // in tile registers
};

/// for (i = 0; i < end and i + first < limit; i += step) body(i); without a limit (null) and a loop where it runs once.
void forEach(ImplicitLocOpBuilder &b, int64_t end, int64_t step, int64_t first, Value limit, llvm::function_ref<void(Value)> body);

/// Emits the loops. `fromZero`: C is written, not added to. No register spills on any target.
DotBlocks emitDotLoops(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, Value a, Value bPanels, Value c,
                       bool fromZero, const DotLimits &limits);

/// Transposes a square of vectors in registers: rows[i] lane j becomes result[j] lane i. rows.size() == lanes, a power of two up to 16.
llvm::SmallVector<Value> transposeSquare(ImplicitLocOpBuilder &b, llvm::ArrayRef<Value> rows);

} // namespace tilewright::cpu
