// A long row may be reduced several times, and between two reductions threads hold it: in 32 bits, even if its numbers in memory are
// narrower. So many registers leave few CTAs on an SM, and while a CTA waits for a reduction, too few loads are in flight. The row
// stays in shared memory instead, as in memory, and what is computed from it is rematerialized after each reduction:
//   before: %x = extf (load %p)    %m = reduce %x    %c = %x - %m    %v = reduce (%c * %c)    store (%c * ...)
//   after:  copy_async %p to %row    wait    %m = reduce (extf (load_shared %row))    %v = reduce ((extf (load_shared %row) - %m) ^ 2)
//           store ((extf (load_shared %row) - %m) * ...)
// Each thread reads only what it has copied itself, so it needs no barrier. If a held value cannot be rematerialized by additions and
// multiplications, nothing changes. Rows in loops are left alone: their loads run an iteration ahead.
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

#include <numeric>

using namespace mlir;

namespace tilewright::gpu {

/// Returns the dimensions of a tile, first the one along which a thread holds contiguous elements.
static Dims orderOf(const Layout &layout) {
  Dims order(layout.shape.size()), step = layout.coordinates(layout.basesOf(Axis::reg).front());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t x, int64_t y) { return step[static_cast<size_t>(x)] > step[static_cast<size_t>(y)]; });
  return order;
}

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
  /// True if a tile is made before a reduction and used after it by `user`. Masks and addresses follow from ranges and scalars, and are
  /// computed where they are used.
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

  /// True for a load of elements narrower than a register, which cp.async can do.
  static bool isRow(tt::LoadOp load) {
    auto tile = cast<RankedTensorType>(load.getType());
    int64_t bits = tile.getElementTypeBitWidth();
    auto vector = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
    bool zeros = !load.getOther() || tt::isZeros(load.getOther());
    Layout layout = ttg::layoutOf(tile);
    return bits < registerBits && vector && vector.getInt() * bits / 8 == maxAccessBytes && zeros && !tt::isVolatileLoad(load) &&
           !layout.freeMask(Axis::lane) && !layout.freeMask(Axis::warp);
  }

  bool canRematerialize(Value value) {
    if (auto known = rematerializable.find(value); known != rematerializable.end()) return known->second;
    bool can = computeRematerializable(value);
    rematerializable[value] = can;
    return can;
  }
  bool computeRematerializable(Value value) {
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
    std::pair<Value, int64_t> key = {value, regions.lookup(user)};
    if (Value known = made.lookup(key)) return known;
    OpBuilder b(user);
    if (auto load = dyn_cast<tt::LoadOp>(op))
      return made[key] = ttg::LoadSharedOp::create(b, load.getLoc(), load.getType(), bufferOf(load));
    return made[key] = tt::rematerialize(b, op, value.getType(), [&](Value operand) { return rematerialize(operand, user); });
  }

  ttg::AllocOp bufferOf(tt::LoadOp load) {
    ttg::AllocOp &buffer = buffers[load];
    if (buffer) return buffer;
    auto tile = cast<RankedTensorType>(load.getType());
    auto shared = SharedLayout::rowMajor(ttg::shapeOf(tile), tile.getElementTypeBitWidth(), orderOf(ttg::layoutOf(tile)));
    auto type = ttg::BufferType::get(load.getContext(), 1, tile.getElementType(), ttg::SharedAttr::get(load.getContext(), shared));
    OpBuilder b(load);
    return buffer = ttg::AllocOp::create(b, load.getLoc(), type);
  }

  /// The last place where a thread can wait for its copies of the row: before its first use, and before a possible write to memory.
  Operation *endOfCopy(tt::LoadOp load) {
    Operation *op = load->getNextNode();
    auto uses = [&](Operation *at) { return llvm::any_of(load->getUsers(), [&](Operation *user) { return at->isAncestor(user); }); };
    while (!uses(op) && (isMemoryEffectFree(op) || isa<tt::LoadOp, ttg::CopyAsyncOp, ttg::CopyCommitOp, ttg::AllocOp>(op)))
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
  DenseMap<Value, bool> rematerializable; // an operand may be used twice in each of many operations
  DenseMap<tt::LoadOp, ttg::AllocOp> buffers;
  DenseMap<std::pair<Value, int64_t>, Value> made;
};
} // namespace

static void stageRows(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  // Threads that read their rows again use fewer registers: one more CTA must fit on the SM than of threads with all registers.
  int64_t threads = config.getWarps() << laneBits, ctas = ctasByRegisters(threads, target.registersPerThread, target);
  if (!target.cpAsync || !fitOnSM(ctas + 1, threads, stagedCtaRegisters, target)) return;
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
