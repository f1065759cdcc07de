// Tensor memory, and dots by tcgen05.mma:
//   ttg.tcgen05_mma %a, %b, %d : 128x64 * 64x256 -> one thread: 4 tcgen05.mma m128n256k16, each 32 bytes further along K, and a commit
//   ttg.tensor_load %d : 128x256, 8 warps        -> each warp: tcgen05.ld of 32 lanes and 128 columns
// docs/stages/gpu_blackwell.md has the layouts and the rules.
#include "gpu/machine/tcgen05.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/mma/matrix_registers.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------- allocation

/// The CTAs of an operation. All operations of a kernel have the same.
static uint32_t ctaGroupOf(bool paired) {
  return paired ? 2 : 1;
}

static LogicalResult lowerTensorAlloc(ThreadContext &t, ttg::TensorAllocOp op) {
  auto offset = op->getAttrOfType<IntegerAttr>(ttg::offsetName);
  if (!offset) return bug(op, "the address of its tensor memory has no offset in shared memory");
  Value slot = arith::AddIOp::create(t.b, ptx::SharedBaseOp::create(t.b, t.b.getI32Type()), t.i32(offset.getInt()));
  inFirstWarp(t, [&] {
    ptx::Tcgen05AllocOp::create(t.b, slot, op.getColumns(), ctaGroupOf(op.getPaired()));
    ptx::Tcgen05RelinquishOp::create(t.b, ctaGroupOf(op.getPaired()));
  });
  if (op.getPaired()) { // before an MMA writes to the columns of both
    ptx::ClusterArriveOp::create(t.b, /*relaxed=*/false);
    ptx::ClusterWaitOp::create(t.b);
  } else {
    ptx::BarrierOp::create(t.b);
  }
  t.set(op.getResult(), {ptx::LoadSharedOp::create(t.b, TypeRange(t.b.getI32Type()), slot, Value(), 0).getValues()[0]});
  return success();
}

static LogicalResult lowerTensorFree(ThreadContext &t, ttg::TensorFreeOp op) {
  auto alloc = op.getAddress().getDefiningOp<ttg::TensorAllocOp>();
  inFirstWarp(t,
              [&] { ptx::Tcgen05DeallocOp::create(t.b, t.getScalar(op.getAddress()), alloc.getColumns(), ctaGroupOf(alloc.getPaired())); });
  return success();
}

static LogicalResult lowerTensorStage(ThreadContext &t, ttg::TensorStageOp op) {
  Value offset = arith::MulIOp::create(t.b, t.getScalar(op.getIndex()), t.i32(op.getType().columns()));
  t.set(op.getResult(), {arith::AddIOp::create(t.b, t.getScalar(op.getTile()), offset)});
  return success();
}

static LogicalResult lowerTensorTile(ThreadContext &t, ttg::TensorTileOp op) {
  t.set(op.getResult(), {arith::AddIOp::create(t.b, t.getScalar(op.getAddress()), t.i32(op.getColumn()))});
  return success();
}

//===---------------------------------------------------------------------------------------------------- registers and tensor memory

namespace {
/// How the warps access a tile: with `count` registers at a time, from the address of their first lane on.
struct TensorAccess {
  ptx::TensorShape shape = ptx::TensorShape::m32x32b;
  int64_t registers = 0, count = 0;
  IntegerAttr halfOffset;       ///< of M = 64: lanes 16 to 31 hold columns so much later
  Value start;                  ///< of register 0 of the thread's warp
  SmallVector<int64_t> columns; ///< of each group of `count` registers, relative to `start`
};
} // namespace

/// The column of an element within its tile. `ofColumn`: elements of one row in a column.
static int64_t columnOf(const Layout &layout, int64_t blockColumns, int64_t ofColumn, uint32_t flat) {
  Dims at = coordinatesOf(layout.shape, flat);
  return at[0] / tensorMemoryLanes * blockColumns + at[1] / ofColumn;
}

/// The adjacent elements of one row that a thread holds.
static int64_t elementsOfRow(const Layout &layout) {
  int64_t elements = 1;
  for (uint32_t basis : layout.basesOf(Axis::reg))
    if (basis < uint32_t(layout.shape[1])) elements *= 2;
  return elements;
}

static int64_t elementsOfColumn(Type tile) {
  return registerBits / getElementTypeOrSelf(tile).getIntOrFloatBitWidth();
}

/// `start`: the address of the tile, a part of `memory`.
static FailureOr<TensorAccess> accessOf(ThreadContext &t, Operation *op, Type tile, ttg::TensorMemoryType memory, Value start) {
  Layout layout = ttg::layoutOf(tile);
  if (layout != Layout::tensorMemory(layout.shape, t.warps)) return bug(op, "this tile is not in the layout of tensor memory"), failure();
  TensorAccess access;
  constexpr int64_t maxRegisters = 32; // of one tcgen05.ld: a CTA with partitions starts with few, and ptxas needs all at once
  int64_t ofColumn = elementsOfColumn(tile), ofRow = llvm::divideCeil(elementsOfRow(layout), ofColumn);
  if (layout.shape[0] < tensorMemoryLanes) {
    access.shape = ptx::TensorShape::m16x32bx2;
    access.halfOffset = t.b.getI32IntegerAttr(static_cast<int32_t>(ofRow));
  }
  access.registers = layout.registersPerThread() / ofColumn;
  access.count = std::min(maxRegisters, ofRow);
  auto column = [&](uint32_t flat) { return columnOf(layout, memory.getBlockColumns(), ofColumn, flat); };
  for (int64_t reg = 0; reg < access.registers; reg += access.count)
    access.columns.push_back(column(layout.apply(reg * ofColumn, 0, 0)));
  std::vector<uint32_t> ofWarp;
  for (auto [bit, basis] : llvm::enumerate(layout.basesOf(Axis::warp)))
    ofWarp.push_back(bit < warpGroupBit ? 0 : static_cast<uint32_t>(column(basis)));
  Value lane = arith::ShLIOp::create(t.b, arith::AndIOp::create(t.b, t.warp, t.i32(warpsOfGroup - 1)), t.i32(16 + laneBits));
  access.start = arith::AddIOp::create(t.b, arith::AddIOp::create(t.b, start, lane), xorBases(t, t.warp, ofWarp));
  return access;
}

static Value addressAt(ThreadContext &t, const TensorAccess &access, int64_t column) {
  return column ? Value(arith::AddIOp::create(t.b, access.start, t.i32(column))) : access.start;
}

/// True for a tile in a loop whose rows are reduced: that starts with the half that is there first (overlapTensorLoads).
static bool isReduced(ttg::TensorLoadOp op) {
  return isa<scf::ForOp>(op->getParentOp()) && llvm::any_of(op->getUsers(), [](Operation *user) { return isa<tt::ReduceOp>(user); });
}

static LogicalResult lowerTensorLoad(ThreadContext &t, ttg::TensorLoadOp op) {
  FailureOr<TensorAccess> access = accessOf(t, op, op.getType(), op.getSource().getType(), t.getScalar(op.getSource()));
  if (failed(access)) return failure();
  SmallVector<Type> types(static_cast<size_t>(access->count), getElementTypeOrSelf(op.getType()));
  if (getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() != registerBits) return bug(op, "it loads elements that are no words");
  ThreadValues values;
  for (auto [number, column] : llvm::enumerate(access->columns)) {
    if (isReduced(op) && 2 * number == access->columns.size()) ptx::Tcgen05WaitOp::create(t.b, ptx::TensorWait::ld);
    Value address = addressAt(t, *access, column);
    auto load = ptx::Tcgen05LdOp::create(t.b, types, access->shape, address, /*pack=*/false, access->halfOffset);
    llvm::append_range(values, load.getValues());
  }
  ptx::Tcgen05WaitOp::create(t.b, ptx::TensorWait::ld);
  t.set(op.getResult(), std::move(values));
  return success();
}

static LogicalResult lowerTensorStore(ThreadContext &t, ttg::TensorStoreOp op) {
  FailureOr<TensorAccess> access = accessOf(t, op, op.getSrc().getType(), op.getTarget().getType(), t.getScalar(op.getTarget()));
  if (failed(access)) return failure();
  ttg::TensorMemoryType target = op.getTarget().getType();
  int64_t ofColumn = elementsOfColumn(op.getSrc().getType());
  std::optional<std::pair<int64_t, int64_t>> range; // of columns
  if (op.getRange()) range = {(*op.getRange())[0] / ofColumn, (*op.getRange())[1] / ofColumn};
  // Parts of a loop's computation are stored one after the other (pipelineTensorStores).
  int64_t ofPart = isa<scf::ForOp>(op->getParentOp()) ? registersOfStoredPart : access->count;
  if (range) ofPart = std::gcd(ofPart, std::gcd(range->first, range->second));
  if (access->count > ofPart) {
    SmallVector<int64_t> columns;
    for (int64_t column : access->columns)
      for (int64_t part = 0; part < access->count; part += ofPart)
        columns.push_back(column + part);
    access->columns = columns, access->count = ofPart;
  }
  SmallVector<int64_t> columns;
  ThreadValues stored;
  auto ofStore = static_cast<size_t>(access->count * ofColumn);
  for (auto [number, column] : llvm::enumerate(access->columns)) {
    int64_t inBlock = column % target.getBlockColumns();
    if (range && (inBlock < range->first || inBlock >= range->second)) continue;
    columns.push_back(column);
    llvm::append_range(stored, ArrayRef(t.get(op.getSrc())).slice(number * ofStore, ofStore));
  }
  ThreadValues words = asRegisters(t, stored, ofColumn);
  ValueRange values = words;
  for (int64_t column : columns) {
    Value address = addressAt(t, *access, column);
    ptx::Tcgen05StOp::create(t.b, access->shape, address, values.take_front(static_cast<size_t>(access->count)), /*unpack=*/false,
                             access->halfOffset);
    values = values.drop_front(static_cast<size_t>(access->count));
  }
  ptx::Tcgen05WaitOp::create(t.b, ptx::TensorWait::st);
  return success();
}

/// The warp's rows, 64 columns at a time. The factors of a thread's rows are those of its registers, in order.
static LogicalResult lowerTensorScale(ThreadContext &t, ttg::TensorScaleOp op) {
  ttg::TensorMemoryType memory = op.getTile().getType();
  Dims shape(memory.getShape());
  Value start = t.getScalar(op.getTile());
  if (std::optional<uint32_t> block = op.getRowBlock()) {
    shape[0] = tensorMemoryLanes;
    start = arith::AddIOp::create(t.b, start, t.i32(*block * memory.getBlockColumns()));
  }
  Layout layout = Layout::tensorMemory(shape, t.warps);
  auto tile = RankedTensorType::get(shape, memory.getElementType(), ttg::LayoutAttr::get(t.b.getContext(), layout));
  FailureOr<TensorAccess> access = accessOf(t, op, tile, memory, start);
  if (failed(access)) return failure();
  ThreadValues factors = t.get(op.getFactors());
  Layout rows = ttg::layoutOf(op.getFactors().getType());
  rows.basesOf(Axis::warp).resize(llvm::Log2_64(uint64_t(t.warps))); // further warps would hold copies
  if (rows != layout.withoutDim(1)) return bug(op, "its factors are not in the layout of the rows");
  Value one = t.constant(memory.getElementType(), t.b.getF32FloatAttr(1)), isChange;
  for (Value factor : factors) {
    Value differs = arith::CmpFOp::create(t.b, arith::CmpFPredicate::UNE, factor, one);
    isChange = isChange ? Value(arith::OrIOp::create(t.b, isChange, differs)) : differs;
  }
  Value lanes = ptx::BallotOp::create(t.b, t.b.getI32Type(), isChange);
  Value some = arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, lanes, t.i32(0));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, some, /*withElseRegion=*/false).thenBlock());
  SmallVector<Type> types(static_cast<size_t>(access->count), memory.getElementType());
  constexpr size_t inFlight = 2; // loads of 32 registers
  int64_t ofFactor = access->registers / static_cast<int64_t>(factors.size());
  for (size_t first = 0; first < access->columns.size(); first += inFlight) {
    ArrayRef<int64_t> columns = ArrayRef(access->columns).slice(first).take_front(inFlight);
    SmallVector<ThreadValues> loaded;
    for (int64_t column : columns)
      loaded.push_back(
          ptx::Tcgen05LdOp::create(t.b, types, access->shape, addressAt(t, *access, column), /*pack=*/false, access->halfOffset)
              .getValues());
    ptx::Tcgen05WaitOp::create(t.b, ptx::TensorWait::ld);
    for (auto [number, column] : llvm::enumerate(columns)) {
      auto of = static_cast<size_t>(int64_t(first + number) * access->count / ofFactor);
      for (Value &value : loaded[number])
        value = arith::MulFOp::create(t.b, value, factors[of]);
      ptx::Tcgen05StOp::create(t.b, access->shape, addressAt(t, *access, column), loaded[number], /*unpack=*/false, access->halfOffset);
    }
  }
  ptx::Tcgen05WaitOp::create(t.b, ptx::TensorWait::st);
  return success();
}

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

/// The start of a buffer in units of 16 bytes. In a cluster, higher bits of a shared address are the CTA's rank. A descriptor has other
/// fields there.
static Value descriptorStart(ThreadContext &t, Value buffer) {
  Value address = t.getScalar(buffer);
  if (t.config.getCtas() != 1) address = arith::AndIOp::create(t.b, address, t.i32((1 << descriptorAddressBits) - 1));
  return arith::ShRUIOp::create(t.b, address, t.i32(4));
}

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
  matrix.start = descriptorStart(t, buffer);
  return matrix;
}

/// Null for elements that tcgen05.mma does not multiply.
static std::optional<TensorFormat> tensorFormatOf(Type element) {
  if (element.isF16()) return TensorFormat::f16;
  if (element.isBF16()) return TensorFormat::bf16;
  if (element.isF32()) return TensorFormat::tf32;
  if (isa<Float4E2M1FNType>(element)) return TensorFormat::e2m1;
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
  Value start = descriptorStart(t, scales.buffer);
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
  Value offset = arith::ShLIOp::create(t.b, t.getScalar(op.getIndex()), t.i32(llvm::Log2_64(mbarrierBytes)));
  Value barrier = arith::AddIOp::create(t.b, t.getScalar(op.getBarriers()), offset);
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
  addLowerings<lowerTensorAlloc, lowerTensorFree, lowerTensorTile, lowerTensorStage, lowerTensorLoad, lowerTensorStore, lowerTensorScale,
               lowerMma, lowerCommit, lowerWait>(table);
}

} // namespace tilewright::gpu
