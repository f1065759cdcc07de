// An AMX tile holds 16 rows of 64 bytes. One instruction takes a tile of A (16 rows, 64 bytes along k) and one of B (64 bytes along k, in
// groups of four, of 16 columns), and adds their dot to a tile of C (16 x 16 sums of 32 bits). That takes 16 cycles; AVX-512
// takes 128 with bf16 instructions and twice as many without.
//
// A tile load takes 8 cycles, so each tile must be used twice. Of the eight tiles, four are a block of C, two hold A, two hold B:
//
//   for block of 32 rows in A:          stays in the L1 cache
//     for panel in B:                   32 columns, two tiles next to each other
//       C00 C01 C10 C11 = C (or 0)
//       for p in k, 64 bytes at a time: loads A0 B0 B1 A1, four MMAs; the panel's next 64 bytes are prefetched
//       C = C00 C01 C10 C11
//
// Panels are streamed from the L2 cache. A thread that has its core to itself hardly waits for them; one that shares its core does. With
// 128x256x256 the same loops in C reach 1780 GFLOP/s if the inner loop runs over rows, and 1880 as above (2650 from tiles alone). With a
// busy sibling thread they reach 470 and 660. Prefetching A as well gives 1760, or 720 with a busy sibling thread.
//
// The rows of a tile have a constant distance in memory, so A is read in place in scratch. B's panels are those of the other micro-kernels
// (groups of adjacent elements along k). Rows of a copied A are one cache line longer than necessary: at a distance of a
// power of two, a tile's sixteen rows would map to a few sets of the L1 cache.
//
// fp16 numbers have 11 significant bits, bf16 numbers 8. If the CPU multiplies only bf16, each fp16 number is the exact sum of two bf16
// numbers, in one 32-bit word (`bf16Halves`). A tile of words (ah, al) times one of words (bh, bl) adds ah * bh + al * bl. Second planes of
// both operands, one of them with swapped halves, add al * bh + ah * bl: together a * b, each of the four terms exact. The second planes
// hold zeros in place of infinities and NaN, because those times a zero remainder would be NaN. This takes four times as many instructions
// as bf16, and a quarter of the cycles of fp32.
#include "cpu/amx_tiles.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cpu {

static constexpr int64_t tileRows = 16, tileBytes = 64;
static constexpr int64_t tileColumns = tileBytes / 4;   // of C, with 32-bit sums
static constexpr int64_t minPrefetchedBytes = 16 << 10; // bytes of a block of B

static int64_t bytesOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

bool fitsTiles(const CpuTarget &target, Type operand, int64_t m, int64_t n, int64_t k) {
  bool has = operand.isBF16() || isOfHalves(operand) ? target.bf16Tiles
             : operand.isF16()                       ? target.fp16Tiles
                                                     : operand.isInteger(8) && target.byteTiles;
  return has && m % tileRows == 0 && n % tileColumns == 0 && k * bytesOf(operand) % tileBytes == 0;
}

bool isOfHalves(Type operand) {
  return operand.isInteger(32);
}

int64_t tileDepth(Type operand) {
  return tileBytes / bytesOf(operand);
}

static int64_t blockRows(const DotPlan &plan) {
  return std::min<int64_t>(2, plan.m / tileRows) * tileRows;
}

Value tileRowsRead(ImplicitLocOpBuilder &b, const DotPlan &plan, Value limit) {
  int64_t rows = blockRows(plan);
  Value more = arith::AddIOp::create(b, limit, constantIndex(b, rows - 1));
  return arith::MinSIOp::create(b, arith::AndIOp::create(b, more, constantIndex(b, -rows)), constantIndex(b, plan.m));
}

void configureTiles(ImplicitLocOpBuilder &b) {
  constexpr size_t columnsAt = 16, rowsAt = 48; // in the 64 bytes that configure the eight tiles
  std::string shape(64, '\0');
  shape[0] = 1; // the only palette
  for (size_t tile = 0; tile < 8; ++tile)
    shape[columnsAt + 2 * tile] = tileBytes, shape[rowsAt + tile] = tileRows;
  callIntrinsic(b, "llvm.x86.ldtilecfg", nullptr, {constantText(b, shape)});
}

void releaseTiles(ImplicitLocOpBuilder &b) {
  callIntrinsic(b, "llvm.x86.tilerelease", nullptr, {});
}

static Value strideOfA(ImplicitLocOpBuilder &b, const DotPlan &plan) {
  return plan.aRowBytes ? plan.aRowBytes : constantIndex(b, plan.aRow * bytesOf(plan.operand));
}

static Value rowsOfA(ImplicitLocOpBuilder &b, const DotPlan &plan, Value a, Value row) {
  return pointerAt(b, a, arith::MulIOp::create(b, row, strideOfA(b, plan)), 1);
}

namespace {

/// Emits a block of C: `rows` x `columns` tiles, at most 2 x 2.
class TileEmitter {
public:
  TileEmitter(ImplicitLocOpBuilder &b, const DotPlan &plan)
      : b(b), plan(plan), rows(blockRows(plan) / tileRows), columns(plan.panel / tileColumns), operandBytes(bytesOf(plan.operand)),
        depth(tileDepth(plan.operand)) {}

  /// `length`: the needed part of k (i64); null: all.
  void emitBlock(Value aBlock, Value panel, Value cBlock, Value outBlock, bool fromZero, Value length) {
    if (fromZero || !plan.isFirst) {
      startSums(cBlock, fromZero);
    } else {
      auto branch = scf::IfOp::create(b, TypeRange{}, plan.isFirst, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      for (bool isNew : {true, false}) {
        b.setInsertionPointToStart(isNew ? branch.thenBlock() : branch.elseBlock());
        startSums(cBlock, isNew);
      }
    }
    forEach(b, plan.k, depth, 0, length,
            [&](Value p) { emitStep(pointerAt(b, aBlock, p, operandBytes), pointerAt(b, panel, p, plan.panel * operandBytes)); });
    forTiles([&](int64_t row, int64_t column) {
      Value address = outBlock ? addressOfResult(outBlock, row, column) : addressOfC(cBlock, row, column);
      Value stride = outBlock ? plan.outRowBytes : strideOfC();
      callIntrinsic(b, "llvm.x86.tilestored64", nullptr, {number(sum(row, column)), address, stride});
    });
  }

  const char *instruction() const { return plan.operand.isF16() ? "tdpfp16ps" : plan.operand.isInteger(8) ? "tdpbssd" : "tdpbf16ps"; }

private:
  ImplicitLocOpBuilder &b;
  const DotPlan &plan;
  const int64_t rows, columns, operandBytes, depth;

  // The tiles by their contents: 0 to 3 C, 4 and 5 A, 6 and 7 B.
  static int64_t sum(int64_t row, int64_t column) { return 2 * row + column; }
  static int64_t ofA(int64_t row) { return 4 + row; }
  static int64_t ofB(int64_t column) { return 6 + column; }
  Value number(int64_t tile) { return constantInt(b, b.getI8Type(), tile); }

  void forTiles(llvm::function_ref<void(int64_t row, int64_t column)> body) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        body(row, column);
  }

  void startSums(Value cBlock, bool isNew) {
    forTiles([&](int64_t row, int64_t column) {
      Value tile = number(sum(row, column));
      if (isNew)
        callIntrinsic(b, "llvm.x86.tilezero", nullptr, {tile});
      else
        callIntrinsic(b, "llvm.x86.tileloadd64", nullptr, {tile, addressOfC(cBlock, row, column), strideOfC()});
    });
  }

  Value strideOfC() { return constantIndex(b, 4 * plan.cRow); }
  Value addressOfC(Value cBlock, int64_t row, int64_t column) {
    return pointerAtConstant(b, cBlock, 4 * (row * tileRows * plan.cRow + column * tileColumns));
  }

  Value addressOfResult(Value outBlock, int64_t row, int64_t column) {
    if (row) outBlock = pointerAt(b, outBlock, arith::MulIOp::create(b, constantIndex(b, tileRows), plan.outRowBytes), 1);
    return pointerAtConstant(b, outBlock, tileBytes * column);
  }

  /// Multiplies 64 bytes along k, in both planes if there are two. Each operand is loaded just before its first use.
  void emitStep(Value a, Value panel) {
    emitPlane(a, panel);
    if (isOfHalves(plan.operand)) emitPlane(pointerAtConstant(b, a, plan.aPlaneBytes), pointerAtConstant(b, panel, panelBytes(plan) / 2));
  }

  /// Prefetches one column's part of the panel's next step.
  void prefetchPart(Value panel, int64_t column) {
    if (panelBytes(plan) < minPrefetchedBytes) return;
    int64_t bytes = depth * tileColumns * operandBytes;
    for (int64_t offset = column * bytes; offset < (column + 1) * bytes; offset += tileBytes)
      LLVM::Prefetch::create(b, pointerAtConstant(b, panel, columns * bytes + offset), /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }

  void emitPlane(Value a, Value panel) {
    forTiles([&](int64_t row, int64_t column) {
      if (column == 0) {
        Value address = row == 0 ? a : rowsOfA(b, plan, a, constantIndex(b, row * tileRows));
        callIntrinsic(b, "llvm.x86.tileloadd64", nullptr, {number(ofA(row)), address, strideOfA(b, plan)});
      }
      if (row == 0) {
        Value address = pointerAtConstant(b, panel, column * tileBytes);
        callIntrinsic(b, "llvm.x86.tileloadd64", nullptr,
                      {number(ofB(column)), address, constantIndex(b, plan.panel * plan.group * operandBytes)});
        prefetchPart(panel, column);
      }
      std::string name = std::string("llvm.x86.") + instruction();
      callIntrinsic(b, name, nullptr, {number(sum(row, column)), number(ofA(row)), number(ofB(column))});
    });
  }
};

} // namespace

DotBlocks emitTileLoops(ImplicitLocOpBuilder &b, const DotPlan &plan, Value a, Value bPanels, Value c, bool fromZero,
                        const DotLimits &limits) {
  TileEmitter emitter(b, plan);
  int64_t bytes = bytesOf(plan.operand), rows = blockRows(plan);
  forEach(b, plan.m, rows, 0, limits.rows, [&](Value row) {
    Value aBlock = rowsOfA(b, plan, a, row), cRows = pointerAt(b, c, row, 4 * plan.cRow);
    Value outRows = plan.out ? pointerAt(b, plan.out, arith::MulIOp::create(b, row, plan.outRowBytes), 1) : Value();
    forEach(b, plan.n, plan.panel, 0, limits.columns, [&](Value column) {
      Value panel = pointerAt(b, bPanels, column, plan.k * bytes), cBlock = pointerAt(b, cRows, column, 4);
      emitter.emitBlock(aBlock, panel, cBlock, outRows ? pointerAt(b, outRows, column, 4) : Value(), fromZero, limits.length);
    });
  });
  return {emitter.instruction(), tileColumns, plan.panel / tileColumns, {{rows, plan.m / rows, 1}}, true};
}

} // namespace tilewright::cpu
