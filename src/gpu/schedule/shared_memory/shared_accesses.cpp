#include "gpu/schedule/shared_memory/shared_accesses.h"

#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

bool SharedAccess::overlaps(const SharedAccess &other) const {
  if (inTensorMemory != other.inTensorMemory || first >= other.end || other.first >= end) return false;
  return owner != other.owner || stages.counter != other.stages.counter || stages.bits.intersects(other.stages.bits);
}

std::pair<Value, Value> carriedValues(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument != loop.getInductionVar())
    return {loop.getTiedLoopInit(argument)->get(), loop.getTiedLoopYieldedValue(argument)->get()};
  auto loop = dyn_cast<scf::WhileOp>(parent);
  if (!loop || argument.getOwner() != loop.getAfterBody()) return {};
  auto passed = dyn_cast<BlockArgument>(loop.getConditionOp().getArgs()[argument.getArgNumber()]);
  if (!passed || passed.getOwner() != loop.getBeforeBody()) return {};
  return {loop.getInits()[passed.getArgNumber()], loop.getYieldOp().getOperand(passed.getArgNumber())};
}

/// The value of a loop that an index is computed from; null if there is none.
static BlockArgument counterOf(Value index) {
  SmallVector<Value> pending{index};
  llvm::SmallDenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value.getType() != index.getType() || !seen.insert(value).second) continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (carriedValues(argument).first) return argument;
    } else if (Operation *op = value.getDefiningOp(); isa<arith::AddIOp, arith::SubIOp, arith::SelectOp>(op)) {
      llvm::append_range(pending, op->getOperands());
    }
  }
  return {};
}

namespace {

/// The values that expressions may have while the counter is `at`. A bit is 0 or 1.
class PossibleValues {
public:
  PossibleValues(BlockArgument counter, int64_t at) : counter(counter), at(at) {}

  /// In increasing order, each once; none if they are unknown.
  SmallVector<int64_t> of(Value value) {
    if (auto known = values.find(value); known != values.end()) return known->second;
    SmallVector<int64_t> found = compute(value);
    llvm::sort(found);
    found.erase(llvm::unique(found), found.end());
    if (found.empty() && value.getType().isInteger(1)) found = {0, 1};
    return values[value] = found;
  }

private:
  SmallVector<int64_t> compute(Value value) {
    APInt constant;
    if (value == counter) return {at};
    bool isBit = value.getType().isInteger(1);
    if (matchPattern(value, m_ConstantInt(&constant))) return {isBit ? int64_t(constant.getZExtValue()) : constant.getSExtValue()};
    Operation *op = value.getDefiningOp();
    if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) return ofSelect(select);
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::CmpIOp>(op)) return {};
    SmallVector<int64_t> found;
    for (int64_t x : of(op->getOperand(0)))
      for (int64_t y : of(op->getOperand(1))) {
        if (auto compare = dyn_cast<arith::CmpIOp>(op))
          found.push_back(compareValues(compare, x, y));
        else
          found.push_back((isa<arith::AddIOp>(op) ? x + y : x - y) & (isBit ? 1 : -1));
      }
    return found;
  }

  SmallVector<int64_t> ofSelect(arith::SelectOp select) {
    SmallVector<int64_t> found;
    for (int64_t condition : of(select.getCondition())) {
      SmallVector<int64_t> chosen = of(condition ? select.getTrueValue() : select.getFalseValue());
      if (chosen.empty()) return {};
      found.append(chosen);
    }
    return found;
  }

  static bool compareValues(arith::CmpIOp compare, int64_t x, int64_t y) {
    unsigned bits = compare.getLhs().getType().isInteger(1) ? 1 : 64; // the 1 of a bit is negative where the predicate is signed
    return arith::applyCmpPredicate(compare.getPredicate(), APInt(bits, uint64_t(x)), APInt(bits, uint64_t(y)));
  }

  BlockArgument counter;
  int64_t at;
  llvm::DenseMap<Value, SmallVector<int64_t>> values;
};

} // namespace

StageSet stagesOf(Value index, unsigned depth) {
  StageSet stages{counterOf(index), APInt::getZero(depth)};
  for (int64_t at = 0, count = depth; at < (stages.counter ? count : 1); ++at) {
    SmallVector<int64_t> values = PossibleValues(stages.counter, at).of(index);
    if (values.empty()) return {{}, APInt::getAllOnes(depth)};
    for (int64_t value : values)
      stages.bits.setBit(unsigned(((value - at) % count + count) % count));
  }
  return stages;
}

/// The stages that a buffer operand names.
static StageSet stagesOfBuffer(Value buffer, unsigned depth) {
  while (auto view = buffer.getDefiningOp<ttg::ViewOp>())
    buffer = view.getBuffer();
  auto stage = buffer.getDefiningOp<ttg::StageOp>();
  return stage ? stagesOf(stage.getIndex(), depth) : StageSet{{}, APInt::getAllOnes(depth)};
}

static int64_t offsetOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>(ttg::offsetName).getInt();
}

static SharedAccess accessOf(Operation *op, Value buffer, bool writes, Accessor accessor) {
  ttg::AllocOp alloc = allocOf(buffer);
  int64_t depth = alloc.getType().getDepth(), first = offsetOf(alloc);
  return {
      op, alloc, first, first + stageBytes(alloc) * depth, stagesOfBuffer(buffer, unsigned(depth)), writes, accessor, ttg::partitionOf(op)};
}

/// An operand in the columns of a result, row by row, belongs to the result's tile: a thread accesses the same rows of both.
static ttg::TensorTileOp ownerOf(ttg::TensorTileOp tile) {
  ttg::TensorMemoryType type = tile.getType();
  for (Operation *user : tile.getAddress().getUsers()) {
    auto other = dyn_cast<ttg::TensorTileOp>(user);
    if (!other || other.getColumn() != tile.getColumn()) continue;
    ttg::TensorMemoryType of = other.getType();
    bool isWider = of.getElementType().getIntOrFloatBitWidth() > type.getElementType().getIntOrFloatBitWidth();
    if (isWider && of.getShape()[0] == type.getShape()[0] && of.getBlockColumns() == type.getBlockColumns()) return other;
  }
  return tile;
}

static SharedAccess tensorAccessOf(Operation *op, Value tile, bool writes, Accessor accessor) {
  if (auto stage = tile.getDefiningOp<ttg::TensorStageOp>()) tile = stage.getTile();
  auto place = tile.getDefiningOp<ttg::TensorTileOp>();
  int64_t first = place.getColumn(), end = first + place.getDepth() * place.getType().columns();
  return {op, ownerOf(place), first, end, {}, writes, accessor, ttg::partitionOf(op), /*inTensorMemory=*/true};
}

bool hasBarrierInside(Operation *op) {
  return isa<ttg::AllocBarriersOp>(op) || (op->hasAttr(ttg::offsetName) && !isa<ttg::AllocOp>(op));
}

std::optional<SmallVector<SharedAccess>> sharedAccessesOf(Operation *op) {
  using Accesses = SmallVector<SharedAccess>;
  auto isUnknown = [](Value operand) { return isa<ttg::BufferType>(operand.getType()) && !allocOf(operand); };
  if (llvm::any_of(op->getOperands(), isUnknown)) return std::nullopt; // a buffer that is one of several
  if (auto load = dyn_cast<ttg::LoadSharedOp>(op)) return Accesses{accessOf(op, load.getBuffer(), false, Accessor::threads)};
  if (auto store = dyn_cast<ttg::StoreSharedOp>(op)) return Accesses{accessOf(op, store.getBuffer(), true, Accessor::threads)};
  if (auto copy = dyn_cast<ttg::CopyAsyncOp>(op)) return Accesses{accessOf(op, copy.getBuffer(), true, Accessor::copyAsync)};
  if (auto load = dyn_cast<ttg::TmaLoadOp>(op)) return Accesses{accessOf(op, load.getBuffer(), true, Accessor::tmaLoad)};
  if (auto store = dyn_cast<ttg::TmaStoreOp>(op)) return Accesses{accessOf(op, store.getBuffer(), false, Accessor::tmaStore)};
  if (auto load = dyn_cast<ttg::TensorLoadOp>(op)) return Accesses{tensorAccessOf(op, load.getSource(), false, Accessor::threads)};
  if (auto scale = dyn_cast<ttg::TensorScaleOp>(op)) return Accesses{tensorAccessOf(op, scale.getTile(), true, Accessor::threads)};
  if (auto store = dyn_cast<ttg::TensorStoreOp>(op)) return Accesses{tensorAccessOf(op, store.getTarget(), true, Accessor::threads)};
  if (auto free = dyn_cast<ttg::TensorFreeOp>(op)) {
    int64_t columns = free.getAddress().getDefiningOp<ttg::TensorAllocOp>().getColumns();
    return Accesses{{op, op, 0, columns, {}, true, Accessor::threads, ttg::Partition::consumers, /*inTensorMemory=*/true}};
  }
  Accesses accesses;
  if (auto mma = dyn_cast<ttg::Tcgen05MmaOp>(op)) {
    accesses.push_back(tensorAccessOf(op, mma.getD(), true, Accessor::mma));
    if (isa<ttg::TensorMemoryType>(mma.getA().getType())) accesses.push_back(tensorAccessOf(op, mma.getA(), false, Accessor::mma));
  }
  if (isa<ttg::MmaAsyncOp, ttg::Tcgen05MmaOp, ttg::FmaDotOp>(op)) {
    Accessor accessor = isa<ttg::FmaDotOp>(op) ? Accessor::threads : Accessor::mma;
    for (Value operand : op->getOperands())
      if (isa<ttg::BufferType>(operand.getType())) accesses.push_back(accessOf(op, operand, false, accessor));
    return accesses;
  }
  // Names of bytes, and what only mbarriers order.
  if (isa<ttg::StageOp, ttg::ViewOp, ttg::LoopVariantZeroOp, ttg::TensorStageOp, ttg::AllocBarriersOp, ttg::TensorAllocOp,
          ttg::ClcProgramOp>(op))
    return Accesses{};
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<ttg::BufferType, ttg::TensorMemoryType>)) return std::nullopt;
  if (!hasBarrierInside(op)) return Accesses{};
  int64_t first = offsetOf(op);
  return Accesses{{op, op, first, first + scratchBytes(op), {}, true, Accessor::threads, ttg::Partition::consumers}};
}

} // namespace tilewright::gpu
