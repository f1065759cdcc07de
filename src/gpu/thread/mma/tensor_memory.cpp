// Tensor memory: its allocation, and tiles that threads load and store there.
//   ttg.tensor_load %d : 128x256, 8 warps        -> each warp: tcgen05.ld of 32 lanes and 128 columns
// docs/stages/gpu_blackwell.md has the layouts and the rules.
#include "gpu/cost_model/thresholds.h"
#include "gpu/machine/tcgen05.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/mma/matrix_registers.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------- allocation

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
  inFirstWarp(t, [&] { ptx::Tcgen05DeallocOp::create(t.b, t.getScalar(op.getAddress()), op.getColumns(), ctaGroupOf(op.getPaired())); });
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
  if (layout != Layout::tensorMemory(layout.shape, t.threads.warps))
    return bug(op, "this tile is not in the layout of tensor memory"), failure();
  TensorAccess access;
  int64_t ofColumn = elementsOfColumn(tile), ofRow = llvm::divideCeil(elementsOfRow(layout), ofColumn);
  if (layout.shape[0] < tensorMemoryLanes) {
    access.shape = ptx::TensorShape::m16x32bx2;
    access.halfOffset = t.b.getI32IntegerAttr(static_cast<int32_t>(ofRow));
  }
  access.registers = layout.registersPerThread() / ofColumn;
  access.count = std::min(registersOfTensorAccess, ofRow);
  auto column = [&](uint32_t flat) { return columnOf(layout, memory.getBlockColumns(), ofColumn, flat); };
  for (int64_t reg = 0; reg < access.registers; reg += access.count)
    access.columns.push_back(column(layout.apply(reg * ofColumn, 0, 0)));
  std::vector<uint32_t> ofWarp;
  for (auto [bit, basis] : llvm::enumerate(layout.basesOf(Axis::warp)))
    ofWarp.push_back(bit < warpGroupBit ? 0 : static_cast<uint32_t>(column(basis)));
  Value lane = arith::ShLIOp::create(t.b, arith::AndIOp::create(t.b, t.threads.warp, t.i32(warpsOfGroup - 1)), t.i32(16 + laneBits));
  access.start = arith::AddIOp::create(t.b, arith::AddIOp::create(t.b, start, lane), xorBases(t, t.threads.warp, ofWarp));
  return access;
}

static Value addressAt(ThreadContext &t, const TensorAccess &access, int64_t column) {
  return column ? Value(arith::AddIOp::create(t.b, access.start, t.i32(column))) : access.start;
}

static LogicalResult lowerTensorLoad(ThreadContext &t, ttg::TensorLoadOp op) {
  FailureOr<TensorAccess> access = accessOf(t, op, op.getType(), op.getSource().getType(), t.getScalar(op.getSource()));
  if (failed(access)) return failure();
  SmallVector<Type> types(static_cast<size_t>(access->count), getElementTypeOrSelf(op.getType()));
  if (getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() != registerBits) return bug(op, "it loads elements that are no words");
  ThreadValues values;
  for (auto [number, column] : llvm::enumerate(access->columns)) {
    if (op.getInHalves() && 2 * number == access->columns.size()) ptx::Tcgen05WaitOp::create(t.b, ptx::TensorWait::ld);
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
  int64_t ofPart = op.getInParts() ? registersOfStoredPart : access->count;
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
  Layout layout = Layout::tensorMemory(shape, t.threads.warps);
  auto tile = RankedTensorType::get(shape, memory.getElementType(), ttg::LayoutAttr::get(t.b.getContext(), layout));
  FailureOr<TensorAccess> access = accessOf(t, op, tile, memory, start);
  if (failed(access)) return failure();
  ThreadValues factors = t.get(op.getFactors());
  Layout rows = ttg::layoutOf(op.getFactors().getType());
  rows.basesOf(Axis::warp).resize(llvm::Log2_64(uint64_t(t.threads.warps))); // further warps would hold copies
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
  int64_t ofFactor = access->registers / static_cast<int64_t>(factors.size());
  for (size_t first = 0; first < access->columns.size(); first += scaledLoadsInFlight) {
    ArrayRef<int64_t> columns = ArrayRef(access->columns).slice(first).take_front(scaledLoadsInFlight);
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

void addTensorMemoryLowerings(LoweringTable &table) {
  addLowerings<lowerTensorAlloc, lowerTensorFree, lowerTensorTile, lowerTensorStage, lowerTensorLoad, lowerTensorStore, lowerTensorScale>(
      table);
}

} // namespace tilewright::gpu
