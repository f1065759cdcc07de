// A fast dot holds a block of C in registers for the whole loop over k, and spills nothing. It uses every loaded element of A and B many
// times. The block is `rows` x one panel of B (two vectors wide if n allows):
//
//   for panel in B:                    one panel is k * panel elements: it stays in L1 while all rows of A are multiplied
//     for block of rows in A:          6 (16 registers) or 8 (32 registers), then the rest in blocks of 4, 2, 1
//       acc = C (or 0)
//       for p in k, unrolled:          2 loads of B; for each row one broadcast of A and two multiply-adds
//       C = acc
//
// Broadcasts read the rows of A in place, at constant offsets from one pointer: row strides are constants of the plan.
// During its multiply-adds a large block prefetches its part of the next panel of B, which may be in the last-level cache. It also
// prefetches the block of A that the next dot reads: hardware prefetchers do not follow rows that are pages apart. (GFLOP/s of 1024, 2048
// and 4096 by 256x256x256 on one thread of an Emerald Rapids: 139, 137 and 127 without, 144, 151 and 147 with it; peak from registers and
// L1 is 175.) A multiply-add has a latency of four cycles and two start per cycle, so with fewer than eight accumulators they would wait
// for each other. Blocks of few rows therefore have several partial sums over p, which are added at the end. Narrow types: a 32-bit lane
// holds two or four adjacent elements along k; one instruction multiplies them and adds the results to the sum (vdpbf16ps, vpdpbusd;
// vpmaddwd and an addition). vpdpbusd takes unsigned bytes on one side: panels hold b + 128, and sums start from -128 * (the sum of A's
// row), since sum a (b + 128) = sum a b + 128 sum a. So A is read in place; B is packed in any case.
#include "cpu/micro_kernel.h"

#include "cpu/amx_tiles.h"
#include "cpu/dot_instruction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cpu {

void forEach(ImplicitLocOpBuilder &b, int64_t end, int64_t step, int64_t first, Value limit, llvm::function_ref<void(Value)> body) {
  if (end == 0) return;
  if (end == step && !limit) return body(constantIndex(b, 0));
  Value last = constantIndex(b, end);
  if (limit && first > 0) limit = arith::SubIOp::create(b, limit, constantIndex(b, first));
  if (limit) last = arith::MinSIOp::create(b, last, limit);
  auto loop = scf::ForOp::create(b, constantIndex(b, 0), last, constantIndex(b, step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

namespace {

constexpr int64_t maxBlockRows = 16; // per register block
constexpr int64_t maxUnroll = 8;     // steps of k: one row of one vector has as many partial sums

int64_t bytesOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

constexpr int64_t matrixBytes = 16;              // of a NEON register: two rows or columns of 8 bytes, or four lanes
constexpr int64_t line = 64;                     // bytes of a cache line
constexpr int64_t minPrefetchedBytes = 64 << 10; // bytes of a block of B

/// True if nothing is read beyond the needed length. Then rows of A may end there and need no copy (at 65x65x65 the copy of A took a tenth
/// of the time). Groups are read up to a multiple of the unrolled steps.
bool readsExactly(const DotPlan &plan) {
  return plan.group == 1 && !plan.tiles;
}

struct RowBlocks {
  int64_t rows, count;
};

/// Addresses that later blocks read: the next panel of B, and A's next block. Null: no prefetch.
struct PrefetchAddresses {
  Value panel, a;
};

/// Cuts m rows into blocks of `maxRows` rows and smaller ones of a power of two. A block of only two rows would leave the multiply-adds
/// waiting, so a rest below four takes one large block back: 128 = 20 * 6 + 2 * 4.
SmallVector<RowBlocks> cutRows(int64_t m, int64_t maxRows) {
  SmallVector<RowBlocks> blocks;
  int64_t count = m / maxRows, rest = m % maxRows;
  while (count > 0 && rest > 0 && rest < 4) {
    --count;
    rest += maxRows;
  }
  if (count > 0) blocks.push_back({maxRows, count});
  for (int64_t rows = 8; rows > 0; rows /= 2) {
    if (rows > maxRows || rest < rows) continue;
    blocks.push_back({rows, rest / rows});
    rest %= rows;
  }
  return blocks;
}

class DotEmitter {
public:
  DotEmitter(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, bool fromZero, const DotLimits &limits)
      : b(b), target(target), plan(plan), limits(limits), fromZero(fromZero) {
    lanes = std::min(plan.panel, (plan.matrix ? matrixBytes : target.vectorBytes) / bytesOf(plan.result));
    vectors = panelVectors = plan.panel / lanes;
    accumulator = vectorOf(plan.result, lanes);
    operandBytes = bytesOf(plan.operand);
    steps = plan.k / plan.group;
  }

  DotBlocks emit(Value a, Value bPanels, Value c) {
    DotBlocks made{dotInstructionName(target, plan), lanes, vectors, rowBlocks(), false};
    stepsEnd = limits.length;
    if (stepsEnd && plan.group > 1) {
      Value rounded = arith::AddIOp::create(b, stepsEnd, constantIndex(b, plan.group - 1));
      stepsEnd = arith::ShRUIOp::create(b, rounded, constantIndex(b, llvm::Log2_64(plan.group)));
    }
    if (stepsEnd && takesBytes()) { // all blocks read up to the end of the row sums
      stepsEnd = arith::AddIOp::create(b, stepsEnd, constantIndex(b, maxUnroll - 1));
      stepsEnd = arith::AndIOp::create(b, stepsEnd, constantIndex(b, -maxUnroll));
      stepsEnd = arith::MinSIOp::create(b, stepsEnd, constantIndex(b, steps));
    }
    if (takesBytes()) emitRowSums(a);
    for (int64_t row = 0; row < maxBlockRows && plan.aRowBytes; ++row)
      rowOffsets.push_back(arith::MulIOp::create(b, constantIndex(b, row), plan.aRowBytes));
    if (plan.pairsRows) pairRows(a);
    for (int64_t row = 0; row < maxBlockRows && plan.out; ++row)
      outOffsets.push_back(arith::MulIOp::create(b, constantIndex(b, row), plan.outRowBytes));
    forEach(b, plan.n, plan.panel, 0, limits.columns, [&](Value column) {
      Value panel = pointerAt(b, bPanels, column, plan.k * operandBytes);
      Value corner = pointerAt(b, c, column, bytesOf(plan.result));
      if (plan.out) outCorner = pointerAt(b, plan.out, column, bytesOf(plan.result));
      if (!limits.columns || panelVectors == 1) return emitPanel(a, panel, corner, column);
      // At run time, only the first vector of the last panel may be needed.
      Value left = arith::SubIOp::create(b, limits.columns, column);
      Value isNarrow = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, left, constantIndex(b, lanes));
      auto branch = scf::IfOp::create(b, TypeRange{}, isNarrow, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      vectors = 1;
      emitPanel(a, panel, corner, column);
      b.setInsertionPointToStart(branch.elseBlock());
      vectors = panelVectors;
      emitPanel(a, panel, corner, column);
    });
    return made;
  }

  /// Returns the end of the last block that contains a needed row.
  Value rowsRead() {
    Value maxEnd = constantIndex(b, 0);
    for (vectors = limits.columns ? 1 : panelVectors; vectors <= panelVectors; ++vectors) {
      int64_t first = 0;
      for (const DotBlocks::Rows &blocks : rowBlocks()) {
        Value left = arith::SubIOp::create(b, limits.rows, constantIndex(b, first));
        Value count = arith::AddIOp::create(b, left, constantIndex(b, blocks.rows - 1));
        count = arith::DivSIOp::create(b, count, constantIndex(b, blocks.rows));
        count = arith::MinSIOp::create(b, count, constantIndex(b, blocks.count));
        Value end = arith::AddIOp::create(b, arith::MulIOp::create(b, count, constantIndex(b, blocks.rows)), constantIndex(b, first));
        Value isReached = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, left, constantIndex(b, 0));
        maxEnd = arith::SelectOp::create(b, isReached, arith::MaxSIOp::create(b, maxEnd, end), maxEnd);
        first += blocks.count * blocks.rows;
      }
    }
    vectors = panelVectors;
    return maxEnd;
  }

private:
  ImplicitLocOpBuilder &b;
  const CpuTarget &target;
  DotPlan plan;
  const DotLimits &limits;
  SmallVector<Value> rowOffsets; // in bytes, of the rows of a block of A; empty: constants
  SmallVector<Value> outOffsets; // the same for the direct store's rows; empty: those of C
  Value outCorner, outBlock;     // the counterparts of `corner` and `cBlock` for the direct store
  Value stepsEnd;                // the end of the loop over k; null: all
  const bool fromZero;
  Value starts;           // for bytes: the initial sums of a block's rows; null: 0
  Value nextPanel, nextA; // the panel after this one; from an element of A to this panel's part of the next A (i64). Null: no prefetch
  int64_t lanes, operandBytes, steps;
  int64_t vectors, panelVectors; // computed vectors of a panel's row, and all of them
  Type accumulator;

  bool takesBytes() const { return plan.addsOffset(); }
  Type loadedType() const { return vectorOf(plan.operand, plan.group * lanes); }

  std::vector<DotBlocks::Rows> rowBlocks() const {
    std::vector<DotBlocks::Rows> rows;
    for (RowBlocks blocks : cutRows(plan.m, maxRows()))
      rows.push_back({blocks.rows, blocks.count, partialsOf(blocks.rows)});
    return rows;
  }

  /// Multiplies all rows of A by one panel, from `column` on.
  void emitPanel(Value a, Value panel, Value corner, Value column) {
    findNextAddresses(panel, column);
    int64_t first = 0;
    for (const DotBlocks::Rows &blocks : rowBlocks()) {
      forEach(b, blocks.count * blocks.rows, blocks.rows, first, limits.rows, [&](Value row) {
        Value aBlock = plan.pairsRows ? pairedBlock(row, first) : rowsOfA(a, row, first);
        Value cBlock =
            pointerAtConstant(b, pointerAt(b, corner, row, plan.cRow * bytesOf(plan.result)), first * plan.cRow * bytesOf(plan.result));
        if (plan.out) outBlock = pointerAt(b, outCorner, rowOfOut(row, first), 1);
        if (takesBytes()) starts = pointerAtConstant(b, pointerAt(b, plan.rowSums, row, 4), 4 * first);
        emitBlock(aBlock, panel, cBlock, blocks.rows, blocks.partials, prefetchAddresses(aBlock, row, first));
      });
      first += blocks.count * blocks.rows;
    }
  }

  Value rowOfOut(Value row, int64_t first) {
    if (first) row = arith::AddIOp::create(b, row, constantIndex(b, first));
    return arith::MulIOp::create(b, row, plan.outRowBytes);
  }

  /// Returns the address of row `row + more` of A.
  Value rowsOfA(Value a, Value row, int64_t more) {
    if (!plan.aRowBytes) return pointerAtConstant(b, pointerAt(b, a, row, plan.aRow * operandBytes), more * plan.aRow * operandBytes);
    if (more) row = arith::AddIOp::create(b, row, constantIndex(b, more));
    return pointerAt(b, a, arith::MulIOp::create(b, row, plan.aRowBytes), 1);
  }

  /// Stores -128 times the sum of each row of A, over the elements that the blocks read.
  void emitRowSums(Value a) {
    int64_t chunk = std::min(plan.k, limits.length ? lengthUnit(plan) : target.vectorBytes);
    bool isVector = plan.aCol == 1 && chunk >= 16; // the shortest vector of the instruction
    Type sumType = vectorOf(plan.result, chunk / plan.group), partType = vectorOf(plan.operand, chunk);
    Value end = limits.rows ? rowsRead() : constantIndex(b, plan.m), length = constantIndex(b, plan.k);
    if (stepsEnd) length = arith::MulIOp::create(b, stepsEnd, constantIndex(b, plan.group));
    auto rows = scf::ForOp::create(b, constantIndex(b, 0), end, constantIndex(b, 1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    Value row = rowsOfA(a, rows.getInductionVar(), 0);
    auto parts = scf::ForOp::create(b, constantIndex(b, 0), length, constantIndex(b, isVector ? chunk : plan.group),
                                    isVector ? constantInt(b, sumType, 0) : constantInt(b, accumulator, 0));
    {
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(parts.getBody());
      Value here = pointerAt(b, row, parts.getInductionVar(), plan.aCol * operandBytes), sum = parts.getRegionIterArg(0);
      if (isVector)
        sum = multiplyAccumulate(constantInt(b, partType, -128), load(b, partType, here, operandBytes), sum);
      else
        sum = multiplyAccumulate(constantInt(b, loadedType(), -128), broadcastGroup(here, 0, 0), sum);
      scf::YieldOp::create(b, sum);
    }
    Value sum = parts.getResult(0);
    for (int64_t half = lanesOf(sum.getType()) / 2; isVector && half > 0; half /= 2) {
      auto low = llvm::to_vector(llvm::seq<int32_t>(0, half)), high = llvm::to_vector(llvm::seq<int32_t>(half, 2 * half));
      sum = add(shuffle(b, sum, sum, low), shuffle(b, sum, sum, high));
    }
    sum = arith::SubIOp::create(b, constantInt(b, plan.result, 0), extractLane(b, sum, 0));
    store(b, sum, pointerAt(b, plan.rowSums, rows.getInductionVar(), bytesOf(plan.result)), bytesOf(plan.result), false);
  }

  /// The registers hold accumulators, one row of a panel, and a broadcast (and the result of a multiplication without fused multiply-add).
  /// GFLOP/s on a Zen 5 core, 128x128x32 and 128x256x256: AVX2 (peak 123) 6 rows 122 120, 4 rows 108 106; AVX-512 (peak 244) 8
  /// rows 233 238, 12 rows 219 237, 14 rows 219 237. Eight rows win because they divide tiles of powers of two evenly.
  int64_t maxRows() const {
    if (plan.pairsRows) return 12; // 24 sums leave 8 registers for A and B, which are loaded for each step
    if (vectors == 1) return target.registers >= 32 && !target.laneOperand ? 16 : 8; // lanes of A need a register for each row
    if (target.registers >= 32) return 8;
    return target.fma && !plan.operand.isInteger(16) ? 6 : 4;
  }

  /// Returns the steps of k per iteration. With AVX2 the loop's own instructions run in parallel with the multiply-adds, so four steps are
  /// no faster than two. With AVX-512 two are 1 % slower than four, and eight no faster. Each doubling doubles the code to compile. The
  /// many rows of a narrow panel need no unrolling. Without fused multiply-adds, more than four steps exceed the registers.
  int64_t maxSteps() const {
    if (!target.fma) return 4;
    if (target.laneOperand || plan.matrix) return 4; // vectors of A hold so many
    if (vectors < panelVectors) return 1;
    return target.registers >= 32 ? 4 : 2;
  }

  int64_t partialsOf(int64_t rows) const {
    int64_t partials = 1;
    while (rows * vectors * partials < target.fmaInFlight && steps % (2 * partials) == 0 && partials < maxUnroll)
      partials *= 2;
    return partials;
  }

  /// Emits one block of C, from its load to its store.
  void emitBlock(Value aBlock, Value panel, Value cBlock, int64_t rows, int64_t partials, const PrefetchAddresses &next) {
    int64_t unroll = partials;
    while (unroll < maxSteps() && steps % (2 * unroll) == 0)
      unroll *= 2;

    SmallVector<Value> sums = firstSums(cBlock, rows, partials);
    if (!stepsEnd && steps == unroll) {
      emitSteps(sums, aBlock, panel, rows, unroll);
    } else {
      bool hasRest = stepsEnd && limits.lengthDivisor % unroll != 0 && readsExactly(plan);
      Value end = !stepsEnd ? constantIndex(b, steps) : hasRest ? arith::AndIOp::create(b, stepsEnd, constantIndex(b, -unroll)) : stepsEnd;
      int64_t together = stepsPerPrefetch(next, unroll);
      sums = stepLoop(constantIndex(b, 0), end, together, sums, [&](Value first, SmallVector<Value> &now) {
        prefetch(next, first, rows, together);
        auto some = [&](Value step, SmallVector<Value> &inner) {
          Value here = pointerAt(b, aBlock, step, plan.pairsRows ? rows * matrixBytes / 2 : plan.group * plan.aCol * operandBytes);
          emitSteps(inner, here, pointerAt(b, panel, step, plan.group * plan.panel * operandBytes), rows, unroll);
        };
        if (together == unroll) return some(first, now);
        Value last = arith::AddIOp::create(b, first, constantIndex(b, together));
        if (stepsEnd) last = arith::MinSIOp::create(b, last, end);
        now = stepLoop(first, last, unroll, now, some);
      });
      if (hasRest)
        sums = stepLoop(end, stepsEnd, 1, sums, [&](Value step, SmallVector<Value> &now) {
          emitSteps(now, pointerAt(b, aBlock, step, plan.aCol * operandBytes), pointerAt(b, panel, step, plan.panel * operandBytes), rows,
                    1);
        });
    }
    storeSums(cBlock, sums, rows, partials);
  }

  /// Emits a loop along k that carries sums. Returns them.
  SmallVector<Value> stepLoop(Value begin, Value end, int64_t step, ArrayRef<Value> sums,
                              llvm::function_ref<void(Value, SmallVector<Value> &)> body) {
    auto loop = scf::ForOp::create(b, begin, end, constantIndex(b, step), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> inner(loop.getRegionIterArgs());
    body(loop.getInductionVar(), inner);
    scf::YieldOp::create(b, inner);
    return SmallVector<Value>(loop.getResults());
  }

  /// Returns how many steps of k share one group of prefetches. With 16 registers an iteration has few multiply-adds; address computations
  /// need half as many instructions and use the same ports, so 32 steps share them. (GFLOP/s of 1024 by 128x256x256 with AVX2, one thread
  /// of an Emerald Rapids: 74 with prefetches every two steps, 78 every 32, 80 without any.)
  int64_t stepsPerPrefetch(const PrefetchAddresses &next, int64_t unroll) const {
    int64_t together = unroll;
    while (next.panel && target.registers < 32 && together < 32 && steps % (2 * together) == 0)
      together *= 2;
    return together;
  }

  void findNextAddresses(Value panel, Value column) {
    nextPanel = nextA = {};
    bool isLarge = plan.k * plan.n * operandBytes >= minPrefetchedBytes && plan.m >= maxBlockRows;
    if (!isLarge || vectors < panelVectors) return;
    nextPanel = pointerAtConstant(b, panel, plan.k * plan.panel * operandBytes);
    if (!plan.aNext) return;
    Value share = arith::MulIOp::create(b, column, constantIndex(b, linesOfA() * line / plan.panel));
    nextA = arith::AddIOp::create(b, plan.aNext, share);
  }

  /// Returns the prefetch addresses for the block of rows at `row` + `first`.
  PrefetchAddresses prefetchAddresses(Value aBlock, Value row, int64_t first) {
    if (!nextPanel) return {};
    Value panel = pointerAt(b, pointerAtConstant(b, nextPanel, first * prefetchBytesPerRow()), row, prefetchBytesPerRow());
    return {panel, nextA ? pointerAt(b, aBlock, nextA, 1) : Value()};
  }

  /// Returns how many cache lines of a row of the next A are prefetched per panel: all of them over all panels.
  int64_t linesOfA() const {
    int64_t panels = std::max<int64_t>(1, plan.n / plan.panel), lines = (plan.k * operandBytes + line - 1) / line;
    return llvm::PowerOf2Ceil((lines + panels - 1) / panels);
  }

  /// Returns how many bytes of the next panel are prefetched per row of A: all of it over all rows.
  int64_t prefetchBytesPerRow() const { return (plan.k * plan.panel * operandBytes + plan.m - 1) / plan.m; }

  /// Prefetches during `unroll` steps of a block of rows.
  void prefetch(const PrefetchAddresses &next, Value step, int64_t rows, int64_t unroll) {
    if (!next.panel) return;
    auto fetch = [&](Value address) { LLVM::Prefetch::create(b, address, /*rw=*/0, /*hint=*/2, /*cache=*/1); }; // to L2
    int64_t bytes = llvm::PowerOf2Ceil((rows * prefetchBytesPerRow() + steps - 1) / steps);
    Value address = pointerAt(b, next.panel, step, bytes);
    for (int64_t offset = 0; offset < std::max(line, bytes * unroll); offset += line)
      fetch(pointerAtConstant(b, address, offset));
    if (!next.a || !llvm::isPowerOf2_64(steps)) return;
    // Lines are numbered row by row.
    int64_t lines = linesOfA(), all = rows * lines, iterations = steps / unroll;
    Value iteration = arith::ShRUIOp::create(b, step, constantIndex(b, llvm::Log2_64(unroll)));
    for (int64_t i = 0; i < std::max<int64_t>(1, all / iterations); ++i) {
      Value number = arith::MulIOp::create(b, iteration, constantIndex(b, all));
      number = arith::ShRUIOp::create(b, number, constantIndex(b, llvm::Log2_64(iterations)));
      if (i) number = arith::AddIOp::create(b, number, constantIndex(b, i));
      Value row = arith::ShRUIOp::create(b, number, constantIndex(b, llvm::Log2_64(lines)));
      Value within = arith::AndIOp::create(b, number, constantIndex(b, lines - 1));
      fetch(pointerAt(b, pointerAt(b, next.a, arith::MulIOp::create(b, row, plan.aRowBytes), 1), within, line));
    }
  }

  /// Returns C or zero as the first partial sums; the other partial sums start from zero.
  SmallVector<Value> firstSums(Value cBlock, int64_t rows, int64_t partials) {
    SmallVector<Value> sums;
    if (fromZero || !plan.isFirst) {
      sums = startOf(cBlock, rows, fromZero);
    } else {
      SmallVector<Type> types(rows * vectors, accumulator);
      auto branch = scf::IfOp::create(b, types, plan.isFirst, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      for (bool isFirst : {true, false}) {
        b.setInsertionPointToStart(isFirst ? branch.thenBlock() : branch.elseBlock());
        scf::YieldOp::create(b, startOf(cBlock, rows, isFirst));
      }
      sums = SmallVector<Value>(branch.getResults());
    }
    sums.resize(rows * vectors * partials, zero());
    return sums;
  }

  /// Returns the initial values of the first partial sums. `isFirst`: C holds no values yet.
  SmallVector<Value> startOf(Value cBlock, int64_t rows, bool isFirst) {
    SmallVector<Value> sums;
    for (int64_t row = 0; row < rows; ++row) {
      Value start = starts ? splat(b, load(b, plan.result, pointerAtConstant(b, starts, 4 * row), 4), lanes) : Value();
      for (int64_t vector = 0; vector < vectors; ++vector) {
        Value before = isFirst ? Value() : load(b, accumulator, cAddress(cBlock, row, vector), bytesOf(plan.result));
        sums.push_back(before && start ? add(before, start) : before ? before : start ? start : zero());
      }
    }
    blocksOfRows(sums, rows);
    return sums;
  }

  Value zero() { return isa<FloatType>(plan.result) ? constantFloat(b, accumulator, 0) : constantInt(b, accumulator, 0); }

  void storeSums(Value cBlock, SmallVector<Value> &sums, int64_t rows, int64_t partials) {
    int64_t count = rows * vectors;
    for (; partials > 1; partials /= 2)
      for (int64_t i = 0; i < count * partials / 2; ++i)
        sums[i] = add(sums[i], sums[i + count * partials / 2]);
    blocksOfRows(sums, rows);
    auto storeAll = [&](bool nonTemporal) {
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t vector = 0; vector < vectors; ++vector) {
          int64_t alignment = nonTemporal ? lanes * bytesOf(plan.result) : bytesOf(plan.result);
          store(b, sums[row * vectors + vector], resultAddress(cBlock, row, vector), alignment, nonTemporal);
        }
    };
    if (!plan.nonTemporal) return storeAll(false);
    auto branch = scf::IfOp::create(b, TypeRange{}, plan.nonTemporal, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (bool nonTemporal : {true, false}) {
      b.setInsertionPointToStart(nonTemporal ? branch.thenBlock() : branch.elseBlock());
      storeAll(nonTemporal);
    }
  }

  Value resultAddress(Value cBlock, int64_t row, int64_t vector) {
    if (!plan.out) return cAddress(cBlock, row, vector);
    return pointerAtConstant(b, row == 0 ? outBlock : pointerAt(b, outBlock, outOffsets[row], 1), vector * lanes * bytesOf(plan.result));
  }

  Value cAddress(Value cBlock, int64_t row, int64_t vector) {
    return pointerAtConstant(b, cBlock, (row * plan.cRow + vector * lanes) * bytesOf(plan.result));
  }

  /// Emits `count` consecutive steps of k. Step s adds to partial sum number s modulo the number of partial sums.
  void emitSteps(SmallVector<Value> &sums, Value aBlock, Value panel, int64_t rows, int64_t count) {
    int64_t inPartial = rows * vectors, partials = sums.size() / inPartial;
    SmallVector<Value> held; // several steps of A's rows
    for (int64_t step = 0; step < count; ++step) {
      MutableArrayRef<Value> ofStep = MutableArrayRef(sums).slice((step % partials) * inPartial, inPartial);
      if (plan.matrix) {
        emitMatrixStep(ofStep, aBlock, panel, rows, step, count, held);
        continue;
      }
      SmallVector<Value> columns = loadColumns(panel, step);
      holdLanes(held, aBlock, rows, step, count);
      for (int64_t row = 0; row < rows; ++row) {
        bool isReplicated = !held.empty() && isWide();
        Value element = held.empty() ? broadcastOf(aBlock, row, step) : isReplicated ? Value() : laneOf(held, row, step);
        bool columnsFirst = takesBytes() || (target.laneOperand && plan.group > 1);
        for (int64_t vector = 0; vector < vectors; ++vector) {
          Value &sum = ofStep[row * vectors + vector];
          if (isReplicated)
            sum = emitLaneInstruction(b, plan, columns[vector], heldOf(held, row), laneNumber(row, step), sum);
          else
            sum = columnsFirst ? multiplyAccumulate(columns[vector], element, sum) : multiplyAccumulate(element, columns[vector], sum);
        }
      }
    }
  }

  //===------------------------------------------------------------------------------------- lanes of registers as operands
  //
  // Where a broadcasting load takes the place of a multiply-add, A is loaded as vectors, and the multiply-adds take one lane each: either
  // `perVector` steps of one row, or, if the columns of A are contiguous, one step of as many rows.

  int64_t groupBytes() const { return plan.group * operandBytes; }
  int64_t perVector() const { return matrixBytes / groupBytes(); }
  bool areColumnsContiguous() const { return plan.group == 1 && plan.aRow == 1 && plan.aCol != 1 && !plan.aRowBytes; }

  /// True if a vector has more bytes than those whose lanes an instruction selects: SVE selects in each 16 bytes.
  bool isWide() const { return lanes * bytesOf(plan.result) > matrixBytes; }
  Value heldOf(ArrayRef<Value> held, int64_t row) const { return held[areColumnsContiguous() ? row / perVector() : row]; }
  int64_t laneNumber(int64_t row, int64_t step) const { return (areColumnsContiguous() ? row : step) % perVector(); }

  /// Loads the vectors of A that `step` begins. Leaves none if the broadcasts must be loads.
  void holdLanes(SmallVector<Value> &held, Value aBlock, int64_t rows, int64_t step, int64_t count) {
    bool byRows = areColumnsContiguous(), isPair = plan.group > 1 && plan.operand.isInteger(16);
    int64_t unit = byRows ? 1 : perVector(), taken = byRows ? rows : count, bytes = lanes * bytesOf(plan.result);
    bool isPossible = target.laneOperand && (bytes == matrixBytes || (bytes == target.vectorBytes && !isPair)) &&
                      taken % perVector() == 0 && (byRows || plan.aCol == 1);
    if (!isPossible) return held.clear();
    if (step % unit) return;
    held.clear();
    Type word = plan.group == 1 ? plan.operand : Type(b.getI32Type());
    for (int64_t row = 0; row < rows; row += byRows ? perVector() : 1) {
      Value address = addressOfA(aBlock, row, plan.group * step);
      held.push_back(isWide() ? loadReplicated(b, plan, accumulator, address)
                              : load(b, vectorOf(word, perVector()), address, operandBytes));
    }
  }

  Value laneOf(ArrayRef<Value> held, int64_t row, int64_t step) {
    Value vector = heldOf(held, row);
    auto lane = static_cast<int32_t>(laneNumber(row, step));
    Value all = shuffle(b, vector, vector, SmallVector<int32_t>(static_cast<size_t>(lanes), lane));
    return plan.group == 1 ? all : reinterpret(b, loadedType(), all);
  }

  Value broadcastOf(Value aBlock, int64_t row, int64_t step) {
    return plan.group > 1 ? broadcastGroup(aBlock, row, step) : broadcast(aBlock, row, step);
  }

  //===------------------------------------------------------------------------------------------------------ 2x2 blocks of C

  /// One step: 8 bytes along k. `sums` holds two blocks for each vector and pair of rows (blocksOfRows).
  void emitMatrixStep(MutableArrayRef<Value> sums, Value aBlock, Value panel, int64_t rows, int64_t step, int64_t count,
                      SmallVector<Value> &held) {
    Type pairs = vectorOf(plan.operand, 2 * plan.group);
    SmallVector<Value> columns;
    for (int64_t pair = 0; pair < 2 * vectors; ++pair) {
      Value address = pointerAtConstant(b, panel, step * plan.panel * groupBytes() + pair * matrixBytes);
      columns.push_back(load(b, pairs, address, matrixBytes));
    }
    if (!plan.pairsRows) holdRows(held, aBlock, rows, step, count);
    for (int64_t row = 0; row < rows; row += 2) {
      Value both = plan.pairsRows ? load(b, pairs, pointerAtConstant(b, aBlock, (step * rows + row) * matrixBytes / 2), matrixBytes)
                                  : pairOf(held[row], held[row + 1], step % 2);
      for (int64_t pair = 0; pair < 2 * vectors; ++pair) {
        Value &sum = sums[(row + pair % 2) * vectors + pair / 2];
        sum = emitMatrixInstruction(b, plan, both, columns[pair], sum);
      }
    }
  }

  /// Loads two steps of each row, if `count` is even; otherwise one.
  void holdRows(SmallVector<Value> &held, Value aBlock, int64_t rows, int64_t step, int64_t count) {
    if (count % 2 == 0 && step % 2 == 1) return;
    held.clear();
    Type type = VectorType::get({count % 2 == 0 ? 2 : 1}, b.getI64Type());
    for (int64_t row = 0; row < rows; ++row)
      held.push_back(load(b, type, addressOfA(aBlock, row, plan.group * step), operandBytes));
  }

  /// Returns the 8 bytes number `lane` (number 0, if there is only one) of both rows.
  Value pairOf(Value upper, Value lower, int64_t lane) {
    auto words = static_cast<int32_t>(lanesOf(upper.getType())), index = static_cast<int32_t>(lane % words);
    return reinterpret(b, vectorOf(plan.operand, 2 * plan.group), shuffle(b, upper, lower, {index, index + words}));
  }

  /// Copies A, because interleaving its rows for each panel would take a fifth of the inner loop. The blocks of rows follow each other. In
  /// a block, each step has all pairs of rows, 16 bytes each: steps next to each other would tempt LLVM to load them early, and to spill.
  void pairRows(Value a) {
    int64_t unit = steps % 2 == 0 ? 2 : 1, first = 0;
    for (const DotBlocks::Rows &blocks : rowBlocks()) {
      forEach(b, blocks.count * blocks.rows, blocks.rows, first, limits.rows, [&](Value row) {
        Value source = rowsOfA(a, row, first), block = pairedBlock(row, first);
        int64_t stepBytes = blocks.rows * matrixBytes / 2;
        forEach(b, steps, unit, 0, stepsEnd, [&](Value step) {
          SmallVector<Value> held;
          holdRows(held, pointerAt(b, source, step, groupBytes() * plan.aCol), blocks.rows, 0, unit);
          Value to = pointerAt(b, block, step, stepBytes);
          for (int64_t i = 0; i < unit; ++i)
            for (int64_t pair = 0; pair < blocks.rows; pair += 2)
              store(b, pairOf(held[pair], held[pair + 1], i), pointerAtConstant(b, to, i * stepBytes + pair / 2 * matrixBytes), matrixBytes,
                    false);
        });
      });
      first += blocks.count * blocks.rows;
    }
  }

  /// Returns the address of the block of row `row` + `first` in the copy.
  Value pairedBlock(Value row, int64_t first) {
    int64_t bytes = plan.k * operandBytes;
    return pointerAtConstant(b, pointerAt(b, plan.rowPairs, row, bytes), first * bytes);
  }

  /// Turns four columns of two rows into two blocks, or back: element 2 i + j of a block is (i, j).
  void blocksOfRows(MutableArrayRef<Value> sums, int64_t rows) {
    for (int64_t row = 0; plan.matrix && row < rows; row += 2)
      for (int64_t vector = 0; vector < vectors; ++vector) {
        Value &upper = sums[row * vectors + vector], &lower = sums[(row + 1) * vectors + vector];
        Value first = shuffle(b, upper, lower, {0, 1, 4, 5}), second = shuffle(b, upper, lower, {2, 3, 6, 7});
        upper = first, lower = second;
      }
  }

  SmallVector<Value> loadColumns(Value panel, int64_t step) {
    int64_t bytes = lanesOf(loadedType()) * operandBytes;
    SmallVector<Value> columns;
    for (int64_t vector = 0; vector < vectors; ++vector)
      columns.push_back(load(b, loadedType(), pointerAtConstant(b, panel, (step * panelVectors + vector) * bytes), bytes));
    return columns;
  }

  Value addressOfA(Value aBlock, int64_t row, int64_t p) {
    if (!plan.aRowBytes) return pointerAtConstant(b, aBlock, (row * plan.aRow + p * plan.aCol) * operandBytes);
    return pointerAtConstant(b, row == 0 ? aBlock : pointerAt(b, aBlock, rowOffsets[row], 1), p * plan.aCol * operandBytes);
  }

  Value broadcast(Value aBlock, int64_t row, int64_t step) {
    Value address = addressOfA(aBlock, row, step);
    return splat(b, load(b, plan.operand, address, operandBytes), lanes);
  }

  /// Broadcasts a group of adjacent elements along k to every 32-bit lane.
  Value broadcastGroup(Value aBlock, int64_t row, int64_t step) {
    Type word = b.getI32Type(), part = b.getIntegerType(static_cast<unsigned>(8 * operandBytes));
    Value address = addressOfA(aBlock, row, plan.group * step), all;
    if (plan.aCol == 1) all = load(b, word, address, operandBytes);
    for (int64_t i = 0; plan.aCol != 1 && i < plan.group; ++i) {
      Value element = load(b, part, pointerAtConstant(b, address, i * plan.aCol * operandBytes), operandBytes);
      Value shifted = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, word, element), constantInt(b, word, 8 * operandBytes * i));
      all = all ? Value(arith::OrIOp::create(b, all, shifted)) : shifted;
    }
    return reinterpret(b, loadedType(), splat(b, all, lanes));
  }

  Value multiplyAccumulate(Value x, Value y, Value sum) { return emitDotInstruction(b, target, plan, x, y, sum); }

  Value add(Value x, Value y) {
    if (isa<FloatType>(plan.result)) return arith::AddFOp::create(b, x, y);
    return arith::AddIOp::create(b, x, y);
  }
};

} // namespace

Value rowsRead(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, const DotLimits &limits) {
  if (!limits.rows) return constantIndex(b, plan.m);
  if (plan.tiles) return tileRowsRead(b, plan, limits.rows);
  return DotEmitter(b, target, plan, true, limits).rowsRead();
}

int64_t panelBytes(const DotPlan &plan) {
  int64_t planes = isOfHalves(plan.operand) ? 2 : 1;
  return planes * plan.k * std::max(plan.n, plan.panel) * plan.operand.getIntOrFloatBitWidth() / 8;
}

int64_t lengthUnit(const DotPlan &plan) {
  return plan.tiles ? tileDepth(plan.operand) : readsExactly(plan) ? 1 : maxUnroll * plan.group;
}

int64_t rowUnit(const CpuTarget &target) {
  return target.registers >= 32 ? maxBlockRows : 0;
}

int64_t panelWidth(const CpuTarget &target, Type result, int64_t n) {
  return std::min(n, 2 * target.vectorBytes / bytesOf(result));
}

DotBlocks emitDotLoops(ImplicitLocOpBuilder &b, const CpuTarget &target, const DotPlan &plan, Value a, Value bPanels, Value c,
                       bool fromZero, const DotLimits &limits) {
  if (plan.tiles) return emitTileLoops(b, plan, a, bPanels, c, fromZero, limits);
  return DotEmitter(b, target, plan, fromZero, limits).emit(a, bPanels, c);
}

// Reads the rows, one after another, as one array: element (i, j) has the index i * n + j, and its transpose swaps the two halves of the
// index's bits. Interleaving the first half of an array with its second rotates the bits by one, so log2(n) such steps swap the halves. x86
// interleaves within blocks of 16 bytes in one instruction, so this transposes the blocks first. Then whole blocks are swapped, one
// distance after another.
SmallVector<Value> transposeSquare(ImplicitLocOpBuilder &b, ArrayRef<Value> rows) {
  int64_t n = rows.size();
  SmallVector<Value> current(rows);
  if (n == 1) return current;
  int64_t block = std::min(n, 16 / std::max<int64_t>(1, bytesOf(cast<VectorType>(rows[0].getType()).getElementType())));
  for (int64_t step = 1; step < block; step *= 2) {
    SmallVector<Value> next(n);
    for (int64_t group = 0; group < n; group += block)
      for (int64_t i = 0; i < block / 2; ++i)
        for (int64_t half = 0; half < 2; ++half) {
          SmallVector<int32_t> mask;
          for (int64_t lane = 0; lane < n; ++lane)
            mask.push_back(lane / block * block + half * block / 2 + lane % block / 2 + (lane % 2) * n);
          next[group + 2 * i + half] = shuffle(b, current[group + i], current[group + i + block / 2], mask);
        }
    current = next;
  }
  for (int64_t distance = block; distance < n; distance *= 2) {
    for (int64_t i = 0; i < n; ++i) {
      if (i & distance) continue;
      SmallVector<int32_t> low, high;
      for (int64_t lane = 0; lane < n; ++lane) {
        low.push_back(lane & distance ? n + lane - distance : lane);
        high.push_back(lane & distance ? n + lane : lane + distance);
      }
      Value first = current[i], second = current[i + distance];
      current[i] = shuffle(b, first, second, low);
      current[i + distance] = shuffle(b, first, second, high);
    }
  }
  return current;
}

} // namespace tilewright::cpu
