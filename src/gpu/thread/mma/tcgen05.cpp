// Dots by tcgen05.mma:
//   ttg.tcgen05_mma %a, %b, %d : 128x64 * 64x256 -> one thread: 4 tcgen05.mma m128n256k16, each 32 bytes further along K, and a commit
// docs/stages/gpu_blackwell.md has the layouts and the rules.
#include "gpu/machine/tcgen05.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/shared.h"
#include "gpu/thread/mma/matrix_registers.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------------- MMA

namespace {
/// An operand. In shared memory, a matrix descriptor is the start in units of 16 bytes, plus constants.
struct OperandMatrix {
  SharedLayout shared;
  bool alongK = true;
  uint64_t bits = 0; ///< of a descriptor whose address is 0
  Value start;
  ttg::TensorMemoryType tensorMemory; ///< of an operand that is there, from address `start` on

  /// The descriptor of the matrix whose first element is at `at`, or its address in tensor memory.
  Value at(ThreadContext &t, const Dims &at) const {
    if (tensorMemory) {
      int64_t column = at[0] / tensorMemoryLanes * tensorMemory.getBlockColumns() +
                       at[1] * tensorMemory.getElementType().getIntOrFloatBitWidth() / registerBits;
      return column ? Value(arith::AddIOp::create(t.b, start, t.i32(column))) : start;
    }
    int64_t offset = shared.inverse().apply(flatOf(shared.shape, at)) * shared.elementBytes();
    Value units = offset ? Value(arith::AddIOp::create(t.b, start, t.i32(offset >> 4))) : start;
    return arith::OrIOp::create(t.b, arith::ExtUIOp::create(t.b, t.b.getI64Type(), units), t.i64(static_cast<int64_t>(bits)));
  }
};
} // namespace

/// `kDim`: the K dimension. Nothing if tcgen05.mma cannot read the buffer.
static std::optional<OperandMatrix> matrixOf(ThreadContext &t, Value buffer, int64_t kDim) {
  OperandMatrix matrix;
  if (auto tile = dyn_cast<ttg::TensorMemoryType>(buffer.getType())) {
    matrix.tensorMemory = tile;
    matrix.start = t.getScalar(buffer);
    return matrix;
  }
  matrix.shared = cast<ttg::BufferType>(buffer.getType()).getLayout().layout();
  std::optional<TileSwizzle> swizzle = spanOf(matrix.shared);
  if (!swizzle || swizzle->spanBytes == 0) return std::nullopt;
  matrix.alongK = swizzle->order[0] == kDim;
  auto span = static_cast<uint64_t>(swizzle->spanBytes);
  MatrixDescriptor descriptor;
  descriptor.swizzle = span == 128 ? Swizzle::b128 : span == 64 ? Swizzle::b64 : Swizzle::b32;
  // Along K one instruction stays within a span. Otherwise the rows of a span are K, and blocks of columns follow one another.
  descriptor.leading = matrix.alongK ? 16 : static_cast<uint64_t>(matrix.shared.shape[static_cast<size_t>(kDim)]) * span;
  descriptor.stride = swizzleRows * span;
  matrix.bits = encode(descriptor);
  matrix.start = descriptorStart(t, t.getScalar(buffer));
  return matrix;
}

/// Null for elements that tcgen05.mma does not multiply.
static std::optional<TensorFormat> tensorFormatOf(Type element) {
  if (element.isF16()) return TensorFormat::f16;
  if (element.isBF16()) return TensorFormat::bf16;
  if (element.isF32()) return TensorFormat::tf32;
  if (isa<Float4E2M1FNType>(element)) return TensorFormat::e2m1;
  if (isa<Float6E2M3FNType>(element)) return TensorFormat::e2m3;
  if (isa<Float6E3M2FNType>(element)) return TensorFormat::e3m2;
  if (isa<Float8E4M3FNType>(element)) return TensorFormat::e4m3;
  if (isa<Float8E5M2Type>(element)) return TensorFormat::e5m2;
  return element.isInteger(8) ? std::optional(TensorFormat::s8) : std::nullopt;
}

static Type elementOf(Value operand) {
  if (auto tile = dyn_cast<ttg::TensorMemoryType>(operand.getType())) return tile.getElementType();
  return cast<ttg::BufferType>(operand.getType()).getElementType();
}

/// The rows of A and the columns of D in this CTA. Of a pair with 64 rows, the two halves of the columns are in different lanes of D.
static Dims dotShapeOf(ttg::Tcgen05MmaOp op) {
  ArrayRef<int64_t> d = op.getD().getType().getShape();
  bool isSplit = op.getPaired() && ctaGroupOf(true) * op.getB().getType().getShape()[1] != d[1];
  return isSplit ? Dims{d[0] / 2, 2 * d[1]} : Dims(d.begin(), d.end());
}

/// What the instructions of a dot have in common. Null if tcgen05.mma does not multiply its elements.
static std::optional<InstructionDescriptor> instructionOf(ttg::Tcgen05MmaOp op, bool transposeA, bool transposeB) {
  std::optional<ttg::BlockScalesAttr> scales = op.getScales();
  Type a = scales ? scales->getA() : elementOf(op.getA()), b = scales ? scales->getB() : op.getB().getType().getElementType();
  Dims shape = dotShapeOf(op);
  std::optional<TensorFormat> first = tensorFormatOf(a), second = tensorFormatOf(b);
  if (!first || !second) return std::nullopt;
  InstructionDescriptor descriptor;
  descriptor.a = *first;
  descriptor.b = *second;
  if (scales) descriptor.scale = op.getAScale().getType().getElementType().isInteger() ? TensorFormat::ue8m0 : TensorFormat::ue4m3;
  descriptor.kind = kindOf(descriptor.a, descriptor.b, scales ? std::optional(descriptor.scale) : std::nullopt);
  descriptor.m = (scales ? tensorMemoryLanes : std::min(shape[0], tensorMemoryLanes)) * ctaGroupOf(op.getPaired());
  descriptor.n = std::min(shape[1], tcgen05MaxColumns);
  descriptor.d = a.isInteger() ? TensorFormat::s32 : TensorFormat::f32;
  descriptor.transposeA = transposeA;
  descriptor.transposeB = transposeB;
  return descriptor;
}

/// The barrier at which the MMA of this number arrives. `number` counts all MMAs, which use the barriers in a circle.
static Value barrierOfMma(ThreadContext &t, Value barriers, Value number) {
  int64_t count = cast<ttg::BarriersType>(barriers.getType()).getCount();
  Value base = t.getScalar(barriers);
  if (count == 1) return base;
  Value index = arith::AndIOp::create(t.b, number, t.i32(count - 1));
  return arith::AddIOp::create(t.b, base, arith::ShLIOp::create(t.b, index, t.i32(llvm::Log2_64(mbarrierBytes))));
}

//===---------------------------------------------------------------------------------------------------------------- scales

constexpr int64_t columnsOfBlock = 4; // of 128 rows

namespace {
/// The scales of an operand in tensor memory: for each four scales along K, four columns of each 128 rows.
struct Scales {
  Value buffer, columns; ///< columns: the address of the first one
  int64_t rows = 0, words = 0;
  bool isB = false; ///< one MMA reads the columns of all rows of B, but of 128 rows of A

  int64_t columnCount() const { return columnsOfBlock * words * (rows / tensorMemoryLanes); }
  /// The column of the scales of K from word `word` on, of rows from `row` on.
  int64_t column(int64_t row, int64_t word) const {
    int64_t block = row / tensorMemoryLanes;
    return columnsOfBlock * (isB ? word * (rows / tensorMemoryLanes) + block : block * words + word);
  }
  Value at(ThreadContext &t, int64_t row, int64_t word) const {
    int64_t offset = column(row, word);
    return offset ? Value(arith::AddIOp::create(t.b, columns, t.i32(offset))) : columns;
  }
};
} // namespace

static Scales scalesOf(Value buffer, Value columns, bool isB) {
  ArrayRef<int64_t> shape = cast<ttg::BufferType>(buffer.getType()).getShape();
  return {buffer, columns, shape[0], shape[1] / scalesOfWord, isB};
}

/// Copies the scales to tensor memory: 512 bytes at a time, which are 32 rows of 16 bytes. In a pair, each CTA gets those in its own shared
/// memory.
static void copyScales(ThreadContext &t, const Scales &scales, uint32_t ctaGroup, Value one) {
  SharedLayout shared = cast<ttg::BufferType>(scales.buffer.getType()).getLayout().layout();
  LinearMap offsets = shared.inverse();
  Value start = descriptorStart(t, t.getScalar(scales.buffer));
  MatrixDescriptor descriptor;
  descriptor.leading = 16;
  descriptor.stride = swizzleRows * 16;
  for (int64_t row = 0; row < scales.rows; row += tensorMemoryLanes)
    for (int64_t word = 0; word < scales.words; ++word) {
      uint32_t offset = offsets.apply(flatOf(shared.shape, {row, word * scalesOfWord}));
      Value units = offset ? Value(arith::AddIOp::create(t.b, start, t.i32(offset >> 4))) : start;
      Value wide = arith::ExtUIOp::create(t.b, t.b.getI64Type(), units);
      Value matrix = arith::OrIOp::create(t.b, wide, t.i64(static_cast<int64_t>(encode(descriptor))));
      ptx::Tcgen05CpOp::create(t.b, ptx::TensorCopy::m32x128b, scales.at(t, row, word), matrix, one, ptx::TensorSourceAttr(), ctaGroup);
    }
}

namespace {
/// A dot, ready to be emitted.
struct Dot {
  OperandMatrix first, second;
  InstructionDescriptor instruction;
  int64_t scaleBlock = 0;           ///< numbers that share a scale; 0: there are none
  Scales firstScales, secondScales; ///< of the set of columns that this MMA uses
  Value d, accumulate;
};
} // namespace

/// The scales, those of A first.
static void addScales(ThreadContext &t, ttg::Tcgen05MmaOp op, Dot &dot) {
  dot.scaleBlock = op.getScales()->getBlock();
  dot.firstScales = scalesOf(op.getAScale(), Value(), /*isB=*/false);
  dot.secondScales = scalesOf(op.getBScale(), Value(), /*isB=*/true);
  dot.firstScales.columns = t.getScalar(op.getScaleColumns());
  dot.secondScales.columns = arith::AddIOp::create(t.b, dot.firstScales.columns, t.i32(dot.firstScales.columnCount()));
}

/// Emits the instructions of one 128 (or 64) rows and up to 256 columns from `row` and `column` on; of a pair, rows of each CTA.
static void multiplyTile(ThreadContext &t, ttg::Tcgen05MmaOp op, const Dot &dot, int64_t row, int64_t column, Value one) {
  ttg::BufferType second = op.getB().getType();
  int64_t at = row / tensorMemoryLanes * op.getD().getType().getBlockColumns() + column,
          step = mmaDepthBytes * 8 / second.getElementType().getIntOrFloatBitWidth();
  Value sums = at ? Value(arith::AddIOp::create(t.b, dot.d, t.i32(at))) : dot.d;
  InstructionDescriptor instruction = dot.instruction;
  std::pair<int64_t, int64_t> range{0, second.getShape()[0]};
  if (op.getKRange()) range = {(*op.getKRange())[0], (*op.getKRange())[1]};
  for (int64_t k = range.first, number = 0; k < range.second; k += step, number += depthOf(instruction.kind)) {
    Value scaleA, scaleB;
    IntegerAttr block;
    if (dot.scaleBlock) {
      int64_t scale = number / dot.scaleBlock;
      instruction.scaleIdA = instruction.scaleIdB = scale % scalesOfWord;
      scaleA = dot.firstScales.at(t, row, scale / scalesOfWord);
      scaleB = dot.secondScales.at(t, column, scale / scalesOfWord);
      block = t.b.getI32IntegerAttr(static_cast<int32_t>(dot.scaleBlock));
    }
    Value accumulate = k != range.first ? t.constant(t.b.getI1Type(), t.b.getBoolAttr(true)) : dot.accumulate;
    ptx::Tcgen05MmaOp::create(t.b, static_cast<ptx::MmaKind>(instruction.kind), sums, dot.first.at(t, {row, k}),
                              dot.second.at(t, {k, column}), t.i32(static_cast<int32_t>(encode(instruction))), accumulate, scaleA, scaleB,
                              ValueRange(), one, ctaGroupOf(op.getPaired()), block, IntegerAttr());
  }
}

static LogicalResult lowerMma(ThreadContext &t, ttg::Tcgen05MmaOp op) {
  std::optional<OperandMatrix> first = matrixOf(t, op.getA(), 1), second = matrixOf(t, op.getB(), 0);
  if (!first || !second) return bug(op, "tcgen05.mma cannot read this buffer");
  Dot dot;
  dot.first = *first, dot.second = *second;
  std::optional<InstructionDescriptor> instruction = instructionOf(op, !first->alongK, !second->alongK);
  if (!instruction) return bug(op, "tcgen05.mma does not multiply these elements");
  dot.instruction = *instruction;
  if (op.getScales()) addScales(t, op, dot);
  uint32_t ctaGroup = ctaGroupOf(op.getPaired());
  std::string broken = brokenRule(dot.instruction, {.ctaGroup = ctaGroup, .scaleBlock = dot.scaleBlock});
  if (!broken.empty()) return bug(op, "the MMA is invalid: " + broken);
  dot.d = t.getScalar(op.getD());
  dot.accumulate = t.getScalar(op.getAccumulate());
  Value barrier = op.getBarriers() ? barrierOfMma(t, op.getBarriers(), t.getScalar(op.getIssued())) : Value();
  inFirstWarp(t, [&] {
    Value one = ptx::ElectOp::create(t.b, t.b.getI1Type());
    if (op.getScales()) {
      copyScales(t, dot.firstScales, ctaGroup, one);
      copyScales(t, dot.secondScales, ctaGroup, one);
    }
    Dims shape = dotShapeOf(op);
    int64_t first = op.getRowBlock() ? *op.getRowBlock() * tensorMemoryLanes : 0,
            end = op.getRowBlock() ? first + tensorMemoryLanes : shape[0];
    for (int64_t row = first; row < end; row += dot.instruction.m / ctaGroup)
      for (int64_t column = 0; column < shape[1]; column += dot.instruction.n)
        multiplyTile(t, op, dot, row, column, one);
    if (barrier) ptx::Tcgen05CommitOp::create(t.b, barrier, Value(), one, ctaGroup);
  });
  return success();
}

static LogicalResult lowerCommit(ThreadContext &t, ttg::Tcgen05CommitOp op) {
  Value barrier = barrierAt(t, op.getBarriers(), op.getIndex());
  Value both = op.getPaired() ? t.constant(t.b.getI16Type(), t.b.getI16IntegerAttr(0b11)) : Value();
  inFirstWarp(
      t, [&] { ptx::Tcgen05CommitOp::create(t.b, barrier, both, ptx::ElectOp::create(t.b, t.b.getI1Type()), ctaGroupOf(op.getPaired())); });
  return success();
}

/// The first warp waits for the phase in which the last MMA that must be complete arrives. Before the first MMA, that of a barrier with no
/// arrival has parity 1, which counts as complete.
static LogicalResult lowerWait(ThreadContext &t, ttg::Tcgen05WaitOp op) {
  int64_t count = op.getBarriers().getType().getCount();
  Value number = arith::SubIOp::create(t.b, t.getScalar(op.getIssued()), t.i32(op.getPending() + 1));
  Value lap = arith::ShRUIOp::create(t.b, number, t.i32(llvm::Log2_64(static_cast<uint64_t>(count))));
  Value parity = arith::AndIOp::create(t.b, lap, t.i32(1)), barrier = barrierOfMma(t, op.getBarriers(), number);
  inFirstWarp(t, [&] {
    ptx::MbarrierWaitOp::create(t.b, barrier, parity);
    fenceTensorMemory(t, ptx::TensorFence::after);
  });
  return success();
}

void addTcgen05Lowerings(LoweringTable &table) {
  addLowerings<lowerMma, lowerCommit, lowerWait>(table);
}

} // namespace tilewright::gpu
