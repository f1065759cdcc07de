// A long row may be reduced several times, and between two reductions threads hold it: in 32 bits, even if its numbers in memory are
// narrower. So many registers leave few CTAs on an SM, and while a CTA waits for a reduction, too few loads are in flight. The row
// stays in shared memory instead, as in memory, and what is computed from it is rematerialized after each reduction:
//   before: %x = extf (load %p)    %m = reduce %x    %c = %x - %m    %v = reduce (%c * %c)    store (%c * ...)
//   after:  copy_async %p to %row    wait    %m = reduce (extf (load_shared %row))    %v = reduce ((extf (load_shared %row) - %m) ^ 2)
//           store ((extf (load_shared %row) - %m) * ...)
// Each thread reads only what it has copied itself, so it needs no barrier. If a held value cannot be rematerialized by additions and
// multiplications, or if shared memory does not suffice for all rows, nothing changes. Rows in loops are left alone: their loads run an
// iteration ahead.
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/registers.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "gpu/schedule/staging/stageable.h"
#include "ir/explanation.h"
#include "ir/slice.h"
#include "support/gpu_hardware.h"
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

  /// Returns how many registers threads hold across a reduction, at most. Finds the rows that these values are computed from.
  int64_t heldRegisters() {
    llvm::MapVector<Value, int64_t> held; // to the last region that uses it
    for (Operation &op : block)
      for (Value operand : op.getOperands())
        if (isHeld(operand, &op)) held[operand] = regions.lookup(&op);
    DenseMap<int64_t, int64_t> across; // registers, by the region after a reduction
    int64_t maxRegisters = 0;
    for (auto [each, last] : held) {
      canRematerialize(each);
      for (int64_t region = regions.lookup(each.getDefiningOp()) + 1; region <= last; ++region)
        maxRegisters = std::max(maxRegisters, across[region] += registersOf(each.getType()));
    }
    return maxRegisters;
  }

  /// Returns the first operation that keeps a held value from being rematerialized; null if all can be.
  Operation *obstacle() const { return firstObstacle; }
  bool empty() const { return rows.empty(); }

  /// Returns the bytes of shared memory that the rows take.
  int64_t bytes() const {
    int64_t bytes = 0;
    for (tt::LoadOp load : rows)
      bytes += llvm::alignTo(bufferOfRow(load).paddedTileBytes(), swizzleAlignment);
    return bytes;
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

  bool canRematerialize(Value value) {
    if (auto known = rematerializable.find(value); known != rematerializable.end()) return known->second;
    bool can = computeRematerializable(value);
    if (!can && !firstObstacle) firstObstacle = value.getDefiningOp();
    rematerializable[value] = can;
    return can;
  }
  bool computeRematerializable(Value value) {
    if (!isMadeHere(value)) return true;
    Operation *op = value.getDefiningOp();
    if (auto load = dyn_cast<tt::LoadOp>(op)) {
      if (isStageableRow(load)) rows.insert(load);
      return isStageableRow(load);
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
    OpBuilder b(load);
    if (!buffer) buffer = ttg::AllocOp::create(b, load.getLoc(), bufferOfRow(load));
    return buffer;
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
  Operation *firstObstacle = nullptr;
  DenseMap<Value, bool> rematerializable; // an operand may be used twice in each of many operations
  DenseMap<tt::LoadOp, ttg::AllocOp> buffers;
  DenseMap<std::pair<Value, int64_t>, Value> made;
};
} // namespace

static void stageRows(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (!target.cpAsync) return;
  RowStager stager(function.getBody().front());
  if (stager.heldRegisters() < minStagedRegisters) return;
  bool loads = isa_and_nonnull<tt::LoadOp>(stager.obstacle());
  if (stager.empty() && !loads) return; // no rows
  auto remark = [&](const Twine &text) { ttg::remark(function, "stage-rows", function.getLoc(), text.str()); };
  auto holds = [&](const Twine &reason) { remark("threads hold rows across reductions: " + reason); };
  if (Operation *op = stager.obstacle()) {
    int64_t line = sourceLineOf(op->getLoc(), sourceFileOf(function)).line;
    const char *why =
        loads ? "not narrow elements that each thread copies for itself, 16 bytes at a time" : "it would be computed again after each";
    return holds("'" + op->getName().getStringRef() + "' in line " + Twine(line) + ": " + why);
  }
  // Threads that read their rows again use fewer registers: one more CTA must fit on the SM than of threads with all registers.
  int64_t threads = config.getWarps() << laneBits, ctas = ctasByRegisters(threads, target.registersPerThread, target);
  if (!fitOnSM(ctas + 1, threads, stagedCtaRegisters, target)) return holds("with fewer registers, no further CTA fits on an SM");
  int64_t bytes = planShared(function).bytes + stager.bytes();
  if (bytes > target.sharedBytes)
    return holds("they need " + Twine(bytes) + " bytes of shared memory, and a CTA has " + Twine(target.sharedBytes));
  remark("rows stay in shared memory between reductions");
  stager.run();
}

LogicalResult stageRows(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    stageRows(function, config, target);
    return success();
  });
}

} // namespace tilewright::gpu
