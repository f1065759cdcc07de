// A long row is reduced several times, and between two reductions threads hold it: in 32 bits, although it came in 16. So many
// registers leave few CTAs on an SM, and while one CTA waits for a reduction, too few loads are in flight. The
// row stays in shared memory instead, as it came, and what is computed from it is computed again after each reduction:
//   before: %x = extf (load %p)    %m = reduce %x    %c = %x - %m    %v = reduce (%c * %c)    store (%c * ...)
//   after:  copy_async %p to %row    wait    %m = reduce (extf (load_shared %row))    %v = reduce ((extf (load_shared %row) - %m) ^ 2)
//           store ((extf (load_shared %row) - %m) * ...)
// Each thread reads only what it has copied itself, so no threads need to meet. If something is held that cannot be computed
// again, or that costs more than additions and multiplications, nothing would be gained, and everything stays as it is.
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/hardware.h"
#include "gpu/cost_model/registers.h"
#include "gpu/cost_model/thresholds.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"
#include "ir/zeros.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {
class RowStager {
public:
  explicit RowStager(Block &block) : block(block) {
    int64_t region = 0;
    for (Operation &op : block) {
      regions[&op] = region;
      region += isa<tt::ReduceOp>(op);
    }
  }

  /// True if threads hold much across some reduction, and all of it comes from rows that could stay in shared memory.
  bool pays() {
    llvm::MapVector<Value, int64_t> held; // to the last region that uses it
    for (Operation &op : block)
      for (Value operand : op.getOperands())
        if (isHeld(operand, &op)) held[operand] = regions.lookup(&op);
    DenseMap<int64_t, int64_t> across; // registers, by the region after a reduction
    int64_t maxRegisters = 0;
    for (auto [each, last] : held) {
      if (!canRematerialize(each)) return false;
      for (int64_t region = regions.lookup(each.getDefiningOp()) + 1; region <= last; ++region)
        maxRegisters = std::max(maxRegisters, across[region] += registersOf(each.getType()));
    }
    return maxRegisters >= minStagedRegisters && !rows.empty();
  }

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block))
      for (OpOperand &operand : op.getOpOperands())
        if (regions.contains(&op) && isHeld(operand.get(), &op)) operand.set(rematerialize(operand.get(), &op));
    for (tt::LoadOp load : rows)
      copy(load);
  }

private:
  /// True if a tile is made before a reduction and used after it by `user`. What follows
  /// only from numbers (masks, addresses) is not held but computed where it is used.
  bool isHeld(Value value, Operation *user) {
    return isMadeHere(value) && regions.lookup(value.getDefiningOp()) != regions.lookup(user) && registersOf(value.getType()) > 1;
  }

  /// True if the block makes a tile of floats of other tiles, or loads it.
  bool isMadeHere(Value value) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    Operation *op = value.getDefiningOp();
    return tile && isa<FloatType>(tile.getElementType()) && op && op->getBlock() == &block && !isa<tt::SplatOp>(op) &&
           !op->hasTrait<OpTrait::ConstantLike>();
  }

  /// A load whose elements are narrow, and which cp.async can do.
  bool isRow(tt::LoadOp load) {
    auto tile = cast<RankedTensorType>(load.getType());
    constexpr unsigned narrow = 16;
    auto vector = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
    bool zeros = !load.getOther() || tt::isZeros(load.getOther());
    Layout layout = ttg::layoutOf(tile);
    return tile.getRank() == 1 && tile.getElementTypeBitWidth() == narrow && vector && vector.getInt() * narrow / 8 == maxAccessBytes &&
           zeros && !tt::isVolatileLoad(load) && !layout.freeMask(Axis::lane) && !layout.freeMask(Axis::warp);
  }

  bool canRematerialize(Value value) {
    if (!isMadeHere(value)) return true;
    Operation *op = value.getDefiningOp();
    if (auto load = dyn_cast<tt::LoadOp>(op)) {
      if (isRow(load)) rows.insert(load);
      return isRow(load);
    }
    if (!isa<arith::ExtFOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::SelectOp>(op)) return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return canRematerialize(operand); });
  }

  /// The same value, computed before `user` from what is in shared memory.
  Value rematerialize(Value value, Operation *user) {
    if (!isMadeHere(value)) return value;
    Operation *op = value.getDefiningOp();
    if (regions.contains(op) && regions.lookup(op) == regions.lookup(user)) return value;
    Value &known = made[{value, regions.lookup(user)}];
    if (known) return known;
    OpBuilder b(user);
    Value fresh;
    if (auto load = dyn_cast<tt::LoadOp>(op)) {
      fresh = ttg::LoadSharedOp::create(b, load.getLoc(), load.getType(), bufferOf(load));
    } else {
      fresh = tt::rematerialize(b, op, value.getType(), [&](Value operand) { return rematerialize(operand, user); });
    }
    return made[{value, regions.lookup(user)}] = fresh;
  }

  ttg::AllocOp bufferOf(tt::LoadOp load) {
    ttg::AllocOp &buffer = buffers[load];
    if (buffer) return buffer;
    auto tile = cast<RankedTensorType>(load.getType());
    auto shared = SharedLayout::rowMajor(ttg::shapeOf(tile), tile.getElementTypeBitWidth(), {0});
    MLIRContext *context = load.getContext();
    OpBuilder b(load);
    return buffer = ttg::AllocOp::create(b, load.getLoc(),
                                         ttg::BufferType::get(context, 1, tile.getElementType(), ttg::SharedAttr::get(context, shared)));
  }

  /// The last place where a thread can wait for its copies of the row: before its first use, and before a possible write to memory.
  Operation *endOfCopy(tt::LoadOp load) {
    Operation *op = load->getNextNode();
    while (!llvm::is_contained(op->getOperands(), load.getResult()) &&
           (isMemoryEffectFree(op) || isa<tt::LoadOp, ttg::CopyAsyncOp, ttg::CopyCommitOp, ttg::AllocOp>(op)))
      op = op->getNextNode();
    return op;
  }

  /// The load becomes a copy, and uses before the first reduction read its elements from there.
  void copy(tt::LoadOp load) {
    ttg::AllocOp buffer = bufferOf(load);
    OpBuilder b(load);
    Location loc = load.getLoc();
    auto async = ttg::CopyAsyncOp::create(b, loc, load.getPtr(), buffer, load.getMask());
    for (NamedAttribute attribute : load->getDiscardableAttrs())
      async->setAttr(attribute.getName(), attribute.getValue());
    ttg::CopyCommitOp::create(b, loc);
    b.setInsertionPoint(endOfCopy(load));
    ttg::CopyWaitOp::create(b, loc, 0);
    load.getResult().replaceAllUsesWith(ttg::LoadSharedOp::create(b, loc, load.getType(), buffer));
    load.erase();
  }

  Block &block;
  DenseMap<Operation *, int64_t> regions; ///< how many reductions precede an operation
  llvm::SetVector<tt::LoadOp> rows;
  DenseMap<tt::LoadOp, ttg::AllocOp> buffers;
  DenseMap<std::pair<Value, int64_t>, Value> made;
};
} // namespace

static void stageRows(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  // Threads that read their rows again use fewer registers, so a third CTA must fit on the SM, where two had 255.
  if (!target.cpAsync || !fitOnSM(stagedCtas, config.getWarps() << laneBits, stagedCtaRegisters, target)) return;
  RowStager stager(function.getBody().front());
  if (stager.pays()) stager.run();
}

LogicalResult stageRows(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    stageRows(function, config, target);
    return success();
  });
}

} // namespace tilewright::gpu
