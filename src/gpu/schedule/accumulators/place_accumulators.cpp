// Gives the accumulators of tcgen05.mma their columns of tensor memory:
//   before: for iter_args(%c = zeros) { %d = mma_async %a, %b, %c    %e = mma_async_wait 0, %d    yield %e }
//   after:  %t = tensor_tile 0    tensor_store zeros, %t
//           for iter_args(%n = 0) { tcgen05_mma %a, %b, %t at %n    tcgen05_wait 0 at %n + 1    yield %n + 1 }    tensor_load %t
// A value that an MMA has computed is in tensor memory until something else than an MMA, a wait or the back edge needs it: then it is
// loaded after the wait. Values that are linked in this way share one tile. Tiles that are not live at the same time share columns.
// insert-barriers orders the accesses of threads and MMAs. An MMA arrives at the barrier of its number, and a wait for all but the latest n
// of the MMAs so far waits for the barrier of the one before these. The number is a value that loops and branches carry. Only the first
// warp, which issues the MMAs, waits: others may differ by more than the two phases of a barrier that can be told apart. It waits for each
// MMA, the oldest first: commits may arrive in any order, so the arrival of a later one does not tell that a barrier has reached its phase.
#include "gpu/cost_model/hardware.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/passes.h"
#include "gpu/schedule/accumulators/chain_partition.h"
#include "gpu/schedule/accumulators/mma_partition.h"
#include "gpu/schedule/accumulators/tensor_accumulators.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/shared_memory/operation_spans.h"
#include "gpu/ttg/ttg.h"
#include "ir/refusal.h"
#include "ir/zeros.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Values that share a tile of tensor memory: accumulators, or the operand A of one MMA.
struct Web {
  RankedTensorType type;
  int64_t first = INT64_MAX, last = 0; ///< operations from the first access to the last one
  int64_t column = 0;
  Value tile;

  int64_t columns() const { return tensorColumnsOf(type); }
};

class Placer {
public:
  Placer(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target)
      : function(function), target(target), accumulators(function, config.getWarps()), b(function.getContext()) {}

  LogicalResult run() {
    function.walk([&](Operation *op) {
      if (auto mma = dyn_cast<ttg::MmaAsyncOp>(op)) mmas.push_back(mma);
      if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op)) waits.push_back(wait);
    });
    if (mmas.empty()) return success();
    findWebs();
    int64_t columns = place();
    for (ttg::MmaAsyncOp mma : mmas)
      scales = std::max(scales, scaleColumnsOf(mma));
    scaleColumn = columns;
    columns += setsOfScales * scales;
    if (columns > target.tensorColumns)
      return refuse(function, Diag::outOfResources,
                    {"columns of tensor memory", std::to_string(columns), std::to_string(target.tensorColumns)});
    allocate(std::max<int64_t>(minTensorColumns, int64_t(llvm::PowerOf2Ceil(uint64_t(columns)))));
    storeInits();
    for (ttg::MmaAsyncOp mma : mmas)
      multiply(mma);
    if (failed(loadResults())) return failure();
    for (ttg::MmaAsyncWaitOp wait : waits)
      replaceWait(wait);
    b.setInsertionPoint(zero.getDefiningOp()->getBlock()->getTerminator());
    ttg::Tcgen05WaitOp::create(b, function.getLoc(), barriers, zero, 0);
    ttg::TensorFreeOp::create(b, function.getLoc(), address);
    int64_t ring = 1;
    countInFlight(function.getBody().front(), 0, ring);
    barriers.setType(ttg::BarriersType::get(b.getContext(), int64_t(llvm::PowerOf2Ceil(uint64_t(ring)))));
    numberMmas(function.getBody().front(), zero);
    // They use one another's results only.
    SmallVector<Operation *> replaced(mmas.begin(), mmas.end());
    replaced.append(dropped.begin(), dropped.end());
    for (Operation *op : replaced)
      op->dropAllReferences();
    for (Operation *op : replaced)
      op->erase();
    return success();
  }

private:
  //===-------------------------------------------------------------------------------------------------------------- webs

  void unite(Value one, Value other) { classes.unionSets(one.getAsOpaquePointer(), other.getAsOpaquePointer()); }

  void findWebs() {
    for (ttg::MmaAsyncOp mma : mmas) {
      classes.insert(mma.getD().getAsOpaquePointer());
      if (accumulators.isInPlace(mma.getCMutable())) unite(mma.getC(), mma.getD());
    }
    for (ttg::MmaAsyncWaitOp wait : waits)
      for (auto [tile, result] : llvm::zip(wait.getTiles(), wait.getResults()))
        if (accumulators.contains(tile)) unite(tile, result);
    function.walk([&](scf::ForOp loop) {
      for (auto [argument, init, result] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgsMutable(), loop.getResults())) {
        if (!accumulators.contains(argument)) continue;
        unite(argument, result);
        unite(argument, loop.getTiedLoopYieldedValue(argument)->get());
        if (accumulators.isInPlace(init)) unite(argument, init.get());
      }
    });
    numberOperations(function.getBody(), spans);
    for (const auto &member : classes)
      extend(Value::getFromOpaquePointer(member->getData()));
    for (ttg::MmaAsyncOp mma : mmas)
      if (isa<RankedTensorType>(mma.getA().getType())) addOperand(mma);
  }

  /// The first wait after which the MMA is complete, or the kernel's end.
  Operation *endOf(ttg::MmaAsyncOp mma) {
    ttg::MmaAsyncWaitOp wait = waitForAllAfter(mma);
    return wait ? wait.getOperation() : function.getBody().front().getTerminator();
  }

  /// Operand A of an MMA is in tensor memory from right before the MMA until this is complete.
  void addOperand(ttg::MmaAsyncOp mma) {
    Web &web = operands[mma];
    web.type = cast<RankedTensorType>(mma.getA().getType());
    // Without a wait in its block, the MMA may still run in the next iteration of a loop.
    Operation *end = endOf(mma),
              *from = isa<ttg::MmaAsyncWaitOp>(end) ? mma.getOperation() : function.getBody().front().findAncestorOpInBlock(*mma);
    web.first = spans.lookup(from).first;
    web.last = spans.lookup(end).last;
  }

  /// Lets a web live where the value is defined and used: in the whole loop if that carries it, and to the end if no wait names it.
  void extend(Value value) {
    Web &web = webOf(value);
    web.type = cast<RankedTensorType>(value.getType());
    auto touch = [&](Operation *op) {
      web.first = std::min(web.first, spans.lookup(op).first);
      web.last = std::max(web.last, spans.lookup(op).last);
    };
    touch(isa<BlockArgument>(value) ? cast<BlockArgument>(value).getOwner()->getParentOp() : value.getDefiningOp());
    for (OpOperand &use : value.getUses()) {
      if (!accumulators.isInPlace(use)) continue;
      touch(use.getOwner());
      auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(use.getOwner());
      if (wait && mayRunAfter(value, wait)) touch(nextWaitForAll(wait));
    }
    if (value.use_empty() && value.getDefiningOp<ttg::MmaAsyncOp>()) touch(function.getBody().front().getTerminator());
  }

  /// True if the MMA that computes the value may still run after the wait.
  static bool mayRunAfter(Value value, ttg::MmaAsyncWaitOp wait) {
    if (wait.getPending() == 0) return false;
    auto mma = value.getDefiningOp<ttg::MmaAsyncOp>();
    if (!mma || mma->getBlock() != wait->getBlock()) return true;
    int64_t later = 0;
    for (Operation *op = mma->getNextNode(); op != wait; op = op->getNextNode())
      later += isa<ttg::MmaAsyncOp>(op);
    return later < wait.getPending();
  }

  /// Returns the first wait for all MMAs that comes after this one, or the kernel's end.
  Operation *nextWaitForAll(ttg::MmaAsyncWaitOp wait) {
    Operation *next = function.getBody().front().getTerminator();
    for (ttg::MmaAsyncWaitOp other : llvm::reverse(waits)) { // in the text's order
      if (other == wait) break;
      if (other.getPending() == 0) next = other;
    }
    return next;
  }

  Web &webOf(Value value) { return webs[classes.getLeaderValue(value.getAsOpaquePointer())]; }

  /// Gives each web columns that no web has which is live at the same time, large webs first. Returns the number of columns.
  int64_t place() {
    SmallVector<Web *> order, placed;
    for (auto &[leader, web] : webs)
      order.push_back(&web);
    for (auto &[mma, web] : operands)
      order.push_back(&web);
    llvm::sort(order,
               [](Web *x, Web *y) { return std::tuple(-x->columns(), x->first, x->last) < std::tuple(-y->columns(), y->first, y->last); });
    int64_t columns = 0;
    for (Web *web : order) {
      for (Web *other : placed) // by column
        if (other->first <= web->last && web->first <= other->last && other->column < web->column + web->columns())
          web->column = std::max(web->column, other->column + other->columns());
      columns = std::max(columns, web->column + web->columns());
      placed.insert(llvm::upper_bound(placed, web, [](Web *x, Web *y) { return x->column < y->column; }), web);
    }
    return columns;
  }

  //===----------------------------------------------------------------------------------------------------------- operations

  void allocate(int64_t columns) {
    Location loc = function.getLoc();
    b.setInsertionPointToStart(&function.getBody().front());
    address = ttg::TensorAllocOp::create(b, loc, b.getI32Type(), static_cast<uint32_t>(columns));
    auto allocateTile = [&](Web &web) {
      auto type = ttg::TensorMemoryType::get(b.getContext(), web.type.getShape(), web.type.getElementType());
      web.tile = ttg::TensorTileOp::create(b, loc, type, address, static_cast<uint32_t>(web.column));
    };
    for (auto &[leader, web] : webs)
      allocateTile(web);
    for (auto &[mma, web] : operands)
      allocateTile(web);
    zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    if (scales) {
      Value column = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(scaleColumn)));
      scaleColumns = arith::AddIOp::create(b, loc, address, column);
    }
    barriers = ttg::AllocBarriersOp::create(b, loc, ttg::BarriersType::get(b.getContext(), 1));
  }

  /// Stores what a carried accumulator starts from.
  void storeInits() {
    function.walk([&](scf::ForOp loop) {
      for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgsMutable()))
        if (accumulators.contains(argument) && !accumulators.isInPlace(init)) {
          b.setInsertionPoint(loop);
          ttg::TensorStoreOp::create(b, loop.getLoc(), init.get(), webOf(argument).tile, DenseI32ArrayAttr());
        }
    });
  }

  Value boolean(Location loc, bool value) { return arith::ConstantOp::create(b, loc, b.getBoolAttr(value)); }

  void multiply(ttg::MmaAsyncOp mma) {
    b.setInsertionPoint(mma);
    Value tile = webOf(mma.getD()).tile, accumulate = mma.getUseC();
    if (!accumulators.isInPlace(mma.getCMutable())) {
      if (tt::isZeros(mma.getC()) && !accumulate)
        accumulate = boolean(mma.getLoc(), false);
      else
        ttg::TensorStoreOp::create(b, mma.getLoc(), mma.getC(), tile, DenseI32ArrayAttr());
    }
    if (!accumulate) accumulate = boolean(mma.getLoc(), true);
    Value a = mma.getA();
    if (isa<RankedTensorType>(a.getType())) {
      if (!isa<ttg::MmaAsyncWaitOp>(endOf(mma))) ttg::Tcgen05WaitOp::create(b, mma.getLoc(), barriers, zero, 0);
      ttg::TensorStoreOp::create(b, mma.getLoc(), a, operands[mma].tile, DenseI32ArrayAttr());
      a = operands[mma].tile;
    }
    if (mma.getScales()) ttg::Tcgen05WaitOp::create(b, mma.getLoc(), barriers, zero, setsOfScales - 1);
    ttg::Tcgen05MmaOp::create(b, mma.getLoc(), a, mma.getB(), tile, accumulate, barriers, zero, mma.getAScale(), mma.getBScale(),
                              mma.getScales() ? scaleColumns : Value(), mma.getScalesAttr(), /*paired=*/false, IntegerAttr(),
                              DenseI32ArrayAttr());
  }

  /// Loads each value that something needs in registers, where it is complete.
  LogicalResult loadResults() {
    for (const auto &member : classes) {
      Value value = Value::getFromOpaquePointer(member->getData());
      SmallVector<OpOperand *> needed;
      for (OpOperand &use : value.getUses())
        if (!accumulators.isInPlace(use)) needed.push_back(&use);
      if (needed.empty()) continue;
      Operation *from = value.getDefiningOp();
      if (!isa_and_nonnull<ttg::MmaAsyncWaitOp, scf::ForOp>(from))
        return bug(needed[0]->getOwner(), "it reads an MMA's result before a wait");
      b.setInsertionPointAfter(from);
      Value loaded = ttg::TensorLoadOp::create(b, from->getLoc(), value.getType(), webOf(value).tile);
      for (OpOperand *use : needed)
        use->set(loaded);
    }
    return success();
  }

  void replaceWait(ttg::MmaAsyncWaitOp wait) {
    b.setInsertionPoint(wait);
    ttg::Tcgen05WaitOp::create(b, wait.getLoc(), barriers, zero, wait.getPending());
    for (auto [tile, result] : llvm::zip(wait.getTiles(), wait.getResults()))
      result.replaceAllUsesWith(tile); // the remaining uses of an accumulator go when its loop is rebuilt
    wait.erase();
  }

  //===------------------------------------------------------------------------------------------------------------ in flight

  /// Inserts waits before an operation, so that of `count` MMAs all but `pending` have been waited for.
  void waitBefore(Operation *op, int64_t count, int64_t pending) {
    b.setInsertionPoint(op);
    for (int64_t left = count - 1; left >= pending; --left)
      ttg::Tcgen05WaitOp::create(b, op->getLoc(), barriers, zero, left);
  }

  /// Follows for how many MMAs no wait has come yet, from `count` at the block's start. Returns their number at its end. Inserts waits, so
  /// that each wait is for the oldest of them, and where too many would be in flight. A wait tells two phases of a barrier apart if the
  /// barriers outnumber the MMAs from its own on: `ring` becomes enough.
  int64_t countInFlight(Block &block, int64_t count, int64_t &ring) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto wait = dyn_cast<ttg::Tcgen05WaitOp>(op)) {
        int64_t pending = wait.getPending();
        ring = std::max({ring, count, pending + 1});
        waitBefore(wait, count, pending + 1);
        count = std::min(count, pending);
      }
      if (isa<ttg::Tcgen05MmaOp>(op) && ++count > maxMmasInFlight) {
        waitBefore(&op, count - 1, 0);
        ring = std::max(ring, count - 1);
        count = 1;
      }
      for (bool again = true; again;) {
        int64_t before = count;
        for (Region &region : op.getRegions())
          if (!region.empty()) count = std::max(count, countInFlight(region.front(), before, ring));
        again = isa<scf::ForOp, scf::WhileOp>(op) && count > before;
      }
    }
    return count;
  }

  //===-------------------------------------------------------------------------------------------------------------- numbers

  static bool multiplies(Operation *op) {
    return op->walk([](ttg::Tcgen05MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  /// Numbers the MMAs of a block from `count` on. Returns the number of the next one.
  Value numberMmas(Block &block, Value count) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto wait = dyn_cast<ttg::Tcgen05WaitOp>(op)) wait.getIssuedMutable().set(count);
      if (auto mma = dyn_cast<ttg::Tcgen05MmaOp>(op)) {
        mma.getIssuedMutable().assign(count);
        b.setInsertionPoint(mma);
        if (mma.getScales()) mma.getScaleColumnsMutable().assign(scaleSetOf(b, mma.getLoc(), count, scaleColumns, scales));
        b.setInsertionPointAfter(mma);
        Value one = arith::ConstantOp::create(b, mma.getLoc(), b.getI32IntegerAttr(1));
        count = b.createOrFold<arith::AddIOp>(mma.getLoc(), count, one);
      }
      if (auto loop = dyn_cast<scf::ForOp>(op)) count = numberLoop(loop, count);
      if (auto branch = dyn_cast<scf::IfOp>(op)) count = numberBranch(branch, count);
      if (auto loop = dyn_cast<scf::WhileOp>(op)) count = numberLoop(loop, count);
    }
    return count;
  }

  /// The loop without the accumulators that it carried, and with the number if it has MMAs.
  Value numberLoop(scf::ForOp loop, Value count) {
    bool counts = multiplies(loop);
    SmallVector<unsigned> kept;
    SmallVector<Value> inits;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (BlockArgument argument : loop.getRegionIterArgs()) {
      if (accumulators.contains(argument)) continue;
      unsigned i = argument.getArgNumber() - loop.getNumInductionVars();
      kept.push_back(i);
      inits.push_back(loop.getInitArgs()[i]);
    }
    if (!counts && kept.size() == loop.getNumRegionIterArgs()) return numberMmas(*loop.getBody(), count), count;
    if (counts) inits.push_back(count);
    b.setInsertionPoint(loop);
    auto made = scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
    made->setAttrs(loop->getAttrs());
    Block *body = made.getBody();
    body->clear();
    body->getOperations().splice(body->end(), loop.getBody()->getOperations());
    loop.getInductionVar().replaceAllUsesWith(made.getInductionVar());
    for (auto [i, old] : llvm::enumerate(kept)) {
      loop.getRegionIterArg(old).replaceAllUsesWith(made.getRegionIterArg(static_cast<unsigned>(i)));
      loop.getResult(old).replaceAllUsesWith(made.getResult(static_cast<unsigned>(i)));
    }
    dropped.push_back(loop);
    SmallVector<Value> yields = llvm::map_to_vector(kept, [&](unsigned i) -> Value { return yield.getOperand(i); });
    yield.getResultsMutable().assign(yields);
    Value after = numberMmas(*body, counts ? Value(made.getRegionIterArgs().back()) : count);
    if (!counts) return count;
    yield.getResultsMutable().append(after);
    return made.getResults().back();
  }

  Value numberBranch(scf::IfOp branch, Value count) {
    if (!multiplies(branch)) {
      for (Region *region : branch.getRegions())
        if (!region->empty()) numberMmas(region->front(), count);
      return count;
    }
    SmallVector<Type> types(branch.getResultTypes());
    types.push_back(b.getI32Type());
    b.setInsertionPoint(branch);
    auto made = scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(), /*addThenBlock=*/true, /*addElseBlock=*/true);
    made->setAttrs(branch->getAttrs());
    for (auto [from, to] : llvm::zip(branch.getRegions(), made.getRegions())) {
      Block &block = to->front();
      block.clear();
      if (!from->empty()) block.getOperations().splice(block.end(), from->front().getOperations());
      if (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>()) {
        b.setInsertionPointToEnd(&block);
        scf::YieldOp::create(b, branch.getLoc(), ValueRange());
      }
      Value after = numberMmas(block, count);
      cast<scf::YieldOp>(block.getTerminator()).getResultsMutable().append(after);
    }
    branch.replaceAllUsesWith(made.getResults().drop_back());
    branch.erase();
    return made.getResults().back();
  }

  Value numberLoop(scf::WhileOp loop, Value count) {
    SmallVector<Value> inits(loop.getInits());
    SmallVector<Type> types(loop.getResultTypes());
    inits.push_back(count);
    types.push_back(b.getI32Type());
    b.setInsertionPoint(loop);
    auto made = scf::WhileOp::create(b, loop.getLoc(), types, inits);
    made->setAttrs(loop->getAttrs());
    for (auto [from, to] : llvm::zip(loop.getRegions(), made.getRegions()))
      to->takeBody(*from);
    Value before = made.getBefore().front().addArgument(b.getI32Type(), loop.getLoc());
    Value after = made.getAfter().front().addArgument(b.getI32Type(), loop.getLoc());
    before = numberMmas(made.getBefore().front(), before);
    made.getConditionOp().getArgsMutable().append(before);
    after = numberMmas(made.getAfter().front(), after);
    made.getYieldOp().getResultsMutable().append(after);
    loop.replaceAllUsesWith(made.getResults().drop_back());
    loop.erase();
    return made.getResults().back();
  }

  tt::FuncOp function;
  const GpuTarget &target;
  TensorAccumulators accumulators;
  OpBuilder b;
  SmallVector<ttg::MmaAsyncOp> mmas;
  SmallVector<ttg::MmaAsyncWaitOp> waits;
  llvm::EquivalenceClasses<void *> classes;
  llvm::MapVector<void *, Web> webs;
  llvm::MapVector<Operation *, Web> operands;
  OperationSpans spans;
  SmallVector<scf::ForOp> dropped;
  Value address, zero, barriers, scaleColumns;
  int64_t scaleColumn = 0, scales = 0; ///< the first column of scales, and the columns of a set
};

} // namespace

/// Places the accumulators. Returns which warps start the MMAs, for explain.
static FailureOr<std::string> place(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  FailureOr<Result<void>> partitioned = partitionMmas(function, config, target);
  if (failed(partitioned)) return failure();
  if (*partitioned) return std::string("a warp of its own multiplies, while others store the last sums");
  FailureOr<Result<void>> chained = partitionChainedMmas(function, config, target);
  if (failed(chained)) return failure();
  if (*chained) return std::string("a warp of its own multiplies, while others compute between the dots");
  if (failed(Placer(function, config, target).run())) return failure();
  std::string reason = partitioned->error();
  if (chained->error() != reason) reason += "; " + chained->error();
  return "the first warp of the threads starts each dot: " + reason;
}

LogicalResult placeAccumulators(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    if (!target.tcgen05) return success();
    llvm::SetVector<Location> loops = locationsOfMmaLoops(function);
    FailureOr<std::string> text = place(function, config, target);
    if (failed(text)) return failure();
    remarkOnLoops(function, "place-accumulators", loops, *text);
    return success();
  });
}

} // namespace tilewright::gpu
