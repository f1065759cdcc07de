// C += A * B in registers: the loops of tt.dot after its operands are in the layout that the micro-kernel reads.
#pragma once

#include "cpu/emit.h"

#include <vector>

namespace tilewright::cpu {

/// One dot of static size. Strides count elements.
struct DotPlan {
  int64_t m, n, k;
  Type operand; // of A and B in scratch: f32, f64, bf16, i16, i8; in AMX tiles also f16, and i32 for f16 in two bf16 halves
  Type result;  // f32, f64, i32
  // Adjacent elements along k that one 32-bit lane multiplies at once; k is a multiple of it. 1: f32, f64. 2: bf16, f16, i16. 4: i8.
  // With `matrix`, those of 8 bytes: 4 bf16, 8 i8.
  int64_t group;
  // A(i, p) at a[i * aRow + p * aCol]; broadcast element by element, so any strides work. Constants fold into addresses.
  int64_t aRow, aCol;
  // B in panels of `panel` columns with interleaved groups of rows:
  // B(p, j) at b[(j / panel) * (k * panel) + (p / group) * (group * panel) + group * (j % panel) + p % group].
  int64_t panel;
  // C(i, j) at c[i * cRow + j].
  int64_t cRow;
  int64_t iterations = 1;   // loop iterations that are multiplied together; `k` is that of one, panels have iterations * `k` rows
  bool tiles = false;       // uses AMX tiles (amx_tiles.h)
  bool matrix = false;      // uses instructions for 2x2 blocks of C (emitMatrixInstruction)
  bool pairsRows = false;   // with `matrix`: A is copied with pairs of rows next to each other, 8 bytes each
  bool signedBytes = false; // the instruction multiplies signed bytes by signed bytes
  int64_t aPlaneBytes = 0;  // where isOfHalves(operand): from A to its second plane; the second plane of B follows all panels of the first
  Value aRowBytes = {};     // the distance of A's rows if it is known only at run time (i64); null: aRow elements
  Value aNext = {};         // byte distance (i64) from an element of A to the one that the next dot reads; null: nothing to prefetch
  Value isFirst = {};       // whether C is written instead of added to, if known only at run time (i1); null: never
  // The destination of results that bypass C, if it is known only at run time (direct_store.h); i64: the first result's address, or C's,
  // and the byte distance of rows. Null: all results go to C. `nonTemporal` (i1; null: never): use non-temporal stores.
  Value out = {}, outRowBytes = {}, nonTemporal = {};
  Value rowSums = {};  // scratch of m i32, if `addsOffset`
  Value rowPairs = {}; // scratch of m * k operands, if `pairsRows`

  /// True if panels hold B's bytes plus 128, as unsigned bytes: x86's vector instructions multiply unsigned by signed bytes.
  bool addsOffset() const { return operand.isInteger(8) && !tiles && !signedBytes; }
  /// Returns the plan of all iterations that are multiplied together.
  DotPlan together() const {
    DotPlan all = *this;
    all.k *= iterations, all.iterations = 1;
    return all;
  }
};

/// The part of a dot that is needed, known at run time (i64; null: all). Whole register blocks are computed, so slightly more.
struct DotLimits {
  Value rows, columns;                                    // other elements of C stay as they are
  Value length;                                           // A and B hold zeros from here on
  int64_t lengthDivisor = 1;                              // `length` is a multiple of it
  bool mayBeOneRow = false, mayBeOneColumn = false;       // possible in a launch like this one
  bool mayLeaveOneRow = false, mayLeaveOneColumn = false; // after whole register blocks, in a launch like this one
};

/// Returns how many rows of A are read if `limits` gives the number of needed rows (i64): whole register blocks.
Value rowsRead(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, const DotLimits &limits);
/// K is read up to its end in multiples of this number.
int64_t lengthUnit(const DotPlan &plan);

/// Returns the bytes of all panels of B.
int64_t panelBytes(const DotPlan &plan);

/// Returns a power of two such that every register block ends at its multiples, in a tile that is a multiple of it; 0: none exists.
int64_t rowUnit(const CpuTarget &target);

/// Returns the columns of one panel of B: two vectors, or fewer if n is small.
int64_t panelWidth(const CpuTarget &target, Type result, int64_t n);

/// The register blocks of a dot.
struct DotBlocks {
  const char *instruction;
  int64_t lanes, vectors; // of a row of a panel
  struct Rows {
    int64_t rows, count; // of a block, and the number of such blocks along M
    int64_t partials;    // independent partial sums of one element
  };
  std::vector<Rows> rows;
  bool tiles = false; // uses AMX tiles
};

/// for (i = 0; i < end and i + first < limit; i += step) body(i). Without a limit if it is null; without a loop if it runs once.
void forEach(ImplicitLocOpBuilder &b, int64_t end, int64_t step, int64_t first, Value limit, llvm::function_ref<void(Value)> body);

/// Emits the loops. `fromZero`: C is written instead of added to. No target spills registers.
DotBlocks emitDotLoops(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, Value a, Value bPanels, Value c,
                       bool fromZero, const DotLimits &limits);

/// Transposes a square of vectors in registers: rows[i] lane j becomes result[j] lane i. rows.size() == lanes, a power of two up to 16.
llvm::SmallVector<Value> transposeSquare(ImplicitLocOpBuilder &b, llvm::ArrayRef<Value> rows);

} // namespace tilewright::cpu
