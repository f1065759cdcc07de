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
#include "gpu/schedule/accumulators/chain_plan.h"
#include "gpu/schedule/accumulators/mma_partition.h"
#include "gpu/schedule/accumulators/tensor_accumulators.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/partitions/skeleton.h"
#include "gpu/schedule/shared_memory/operation_spans.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/buffer_accesses.h"
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
  OperationSpan live{INT64_MAX, 0}; ///< from the first access to the last one
  TensorTile tile;
  Value value;
};

class Placer {
public:
  Placer(tt::FuncOp function, const GpuTarget &target)
      : function(function), target(target), accumulators(function), b(function.getContext()) {}

  LogicalResult run() {
    function.walk([&](Operation *op) {
      if (auto mma = dyn_cast<ttg::MmaAsyncOp>(op)) mmas.push_back(mma);
      if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op)) waits.push_back(wait);
    });
    if (mmas.empty()) return success();
    synchronizeCopies();
    findWebs();
    TensorColumns columns = place();
    if (columns.used() > target.tensorColumns)
      return refuse(function, Diag::outOfResources,
                    {"columns of tensor memory", std::to_string(columns.used()), std::to_string(target.tensorColumns)});
    allocate(columns);
    storeInits();
    for (ttg::MmaAsyncOp mma : mmas)
      multiply(mma);
    if (failed(loadResults())) return failure();
    for (ttg::MmaAsyncWaitOp wait : waits)
      replaceWait(wait);
    b.setInsertionPoint(zero.getDefiningOp()->getBlock()->getTerminator());
    ttg::Tcgen05WaitOp::create(b, function.getLoc(), barriers, zero, 0);
    memory->free();
    int64_t ring = 1;
    countInFlight(function.getBody().front(), 0, ring);
    barriers.setType(ttg::BarriersType::get(b.getContext(), int64_t(llvm::PowerOf2Ceil(uint64_t(ring)))));
    eraseMmas();
    numberMmas(function.getBody().front(), zero);
    return success();
  }

private:
  /// The first warp waits for a copy that only MMAs read. If these are in a loop or a branch, they may not run. Then a barrier has to tell
  /// the other warps that the copy has arrived: they may use its bytes again.
  void synchronizeCopies() {
    auto mayBeSkipped = [](ttg::BarrierWaitOp wait, Operation *user) {
      auto load = dyn_cast<ttg::TmaLoadOp>(user);
      return load && llvm::any_of(accessesOf(allocOf(load.getBuffer())), [&](Operation *access) {
               return isa<ttg::MmaAsyncOp>(access) && access->getBlock() != wait->getBlock();
             });
    };
    function.walk([&](ttg::BarrierWaitOp wait) {
      bool isSkipped = llvm::any_of(wait.getBarriers().getUsers(), [&](Operation *user) { return mayBeSkipped(wait, user); });
      if (!wait.getFirstWarp() || !isSkipped) return;
      b.setInsertionPointAfter(wait);
      ttg::CtaBarrierOp::create(b, wait.getLoc());
    });
  }

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
    web.tile = tensorTileOf(mma.getA().getType());
    // Without a wait in its block, the MMA may still run in the next iteration of a loop.
    Operation *end = endOf(mma),
              *from = isa<ttg::MmaAsyncWaitOp>(end) ? mma.getOperation() : function.getBody().front().findAncestorOpInBlock(*mma);
    web.live = {spans.lookup(from).first, spans.lookup(end).last};
  }

  /// Lets a web live where the value is defined and used: in the whole loop if that carries it, and to the end if no wait names it.
  void extend(Value value) {
    Web &web = webOf(value);
    web.tile = tensorTileOf(value.getType());
    auto touch = [&](Operation *op) {
      web.live = {std::min(web.live.first, spans.lookup(op).first), std::max(web.live.last, spans.lookup(op).last)};
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

  /// Gives each web columns that no web has which is live at the same time, large webs first, and the scales columns of their own.
  TensorColumns place() {
    for (auto &[leader, web] : webs)
      order.push_back(&web);
    for (auto &[mma, web] : operands)
      order.push_back(&web);
    SmallVector<Web *> largest(order);
    llvm::sort(largest, [](Web *x, Web *y) {
      return std::tuple(-x->tile.columns(), x->live.first, x->live.last) < std::tuple(-y->tile.columns(), y->live.first, y->live.last);
    });
    TensorColumns columns;
    for (Web *web : largest)
      web->tile.column = columns.take(web->tile.columns(), web->live);
    for (ttg::MmaAsyncOp mma : mmas)
      scales = std::max(scales, scaleColumnsOf(mma));
    if (scales) scaleColumn = columns.take(setsOfScales * scales);
    return columns;
  }

  //===----------------------------------------------------------------------------------------------------------- operations

  void allocate(const TensorColumns &columns) {
    memory.emplace(function, columns.allocated());
    zero = memory->zero();
    for (Web *web : order)
      web->value = memory->tile(web->tile);
    barriers = memory->barriers(1);
    if (scales) scaleColumns = memory->addressOf(scaleColumn); // before the barriers, which are initialized together
  }

  /// Stores what a carried accumulator starts from.
  void storeInits() {
    function.walk([&](scf::ForOp loop) {
      for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgsMutable()))
        if (accumulators.contains(argument) && !accumulators.isInPlace(init)) {
          b.setInsertionPoint(loop);
          ttg::TensorStoreOp::create(b, loop.getLoc(), init.get(), webOf(argument).value, DenseI32ArrayAttr());
        }
    });
  }

  Value boolean(Location loc, bool value) { return arith::ConstantOp::create(b, loc, b.getBoolAttr(value)); }

  void multiply(ttg::MmaAsyncOp mma) {
    b.setInsertionPoint(mma);
    Value tile = webOf(mma.getD()).value, accumulate = mma.getUseC();
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
      ttg::TensorStoreOp::create(b, mma.getLoc(), a, operands[mma].value, DenseI32ArrayAttr());
      a = operands[mma].value;
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
      Value loaded = ttg::TensorLoadOp::create(b, from->getLoc(), value.getType(), webOf(value).value);
      for (OpOperand *use : needed)
        use->set(loaded);
    }
    return success();
  }

  void replaceWait(ttg::MmaAsyncWaitOp wait) {
    b.setInsertionPoint(wait);
    ttg::Tcgen05WaitOp::create(b, wait.getLoc(), barriers, zero, wait.getPending());
    for (auto [tile, result] : llvm::zip(wait.getTiles(), wait.getResults()))
      result.replaceAllUsesWith(tile); // the remaining uses of an accumulator go with the MMAs
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

  /// Erases the MMAs: what loops carry for an accumulator is the value that it starts from, which nothing uses.
  void eraseMmas() {
    for (ttg::MmaAsyncOp mma : mmas) {
      mma.getD().replaceAllUsesWith(mma.getC());
      mma.erase();
    }
  }

  static bool multiplies(Operation *op) {
    return op->walk([](ttg::Tcgen05MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  /// Numbers the MMAs of a block from `count` on. Returns the number of the next one.
  Value numberMmas(Block &block, Value count) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto wait = dyn_cast<ttg::Tcgen05WaitOp>(op))
        wait.getIssuedMutable().set(count);
      else if (auto mma = dyn_cast<ttg::Tcgen05MmaOp>(op))
        count = number(mma, count);
      else if (!multiplies(&op))
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            numberMmas(inner, count);
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        count = numberMmasOf(withMoreCarried(loop, count));
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        count = numberMmasOf(withMoreResults(branch, count.getType()), count);
      else
        count = numberMmasOf(withMoreCarried(cast<scf::WhileOp>(op), count));
    }
    return count;
  }

  Value number(ttg::Tcgen05MmaOp mma, Value count) {
    mma.getIssuedMutable().assign(count);
    b.setInsertionPoint(mma);
    if (mma.getScales()) mma.getScaleColumnsMutable().assign(scaleSetOf(b, mma.getLoc(), count, scaleColumns, scales));
    b.setInsertionPointAfter(mma);
    return b.createOrFold<arith::AddIOp>(mma.getLoc(), count, i32Constant(b, mma.getLoc(), 1));
  }

  Value numberMmasOf(scf::ForOp loop) {
    Value after = numberMmas(*loop.getBody(), loop.getRegionIterArgs().back());
    cast<scf::YieldOp>(loop.getBody()->getTerminator()).getResultsMutable().append(after);
    return loop.getResults().back();
  }

  Value numberMmasOf(scf::IfOp branch, Value count) {
    for (Region &region : branch->getRegions())
      cast<scf::YieldOp>(region.front().getTerminator()).getResultsMutable().append(numberMmas(region.front(), count));
    return branch.getResults().back();
  }

  Value numberMmasOf(scf::WhileOp loop) {
    Value before = numberMmas(*loop.getBeforeBody(), loop.getBeforeArguments().back());
    loop.getConditionOp()->setOperand(loop.getConditionOp()->getNumOperands() - 1, before);
    loop.getYieldOp().getResultsMutable().append(numberMmas(*loop.getAfterBody(), loop.getAfterArguments().back()));
    return loop.getResults().back();
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
  SmallVector<Web *> order;
  OperationSpans spans;
  std::optional<TensorMemory> memory;
  Value zero, barriers, scaleColumns;
  int64_t scaleColumn = 0, scales = 0; ///< the first column of scales, and the columns of a set
};

} // namespace

/// Fails if no warp of its own can issue the kernel's MMAs, however they depend on what threads compute.
static Result<void> checkMmaWarp(tt::FuncOp function) {
  if (!function->hasAttr(ttg::warpSpecializedName)) return Failure{"no warp of its own starts the copies"};
  if (function->hasAttr(ttg::operandRegistersName)) return Failure{"a partition computes an operand"};
  bool inLoops = true;
  function.walk([&](ttg::MmaAsyncOp mma) { inLoops &= isa<scf::ForOp>(mma->getParentOp()); });
  if (!inLoops) return Failure{"a dot stands outside a for loop"};
  llvm::SetVector<Operation *> loops = loopsWithMmas(function);
  if (loops.empty()) return Failure{"no loop has a dot"};
  Skeleton program(function);
  for (Operation *loop : loops) {
    if (llvm::any_of(loops, [&](Operation *other) { return other->isProperAncestor(loop); }))
      return Failure{"a loop with dots is in another one"};
    program.keep(loop);
  }
  return program.isComputable() ? Result<void>() : Failure{"one warp alone cannot compute a loop's bounds, or a condition around a loop"};
}

/// Chooses which warp issues the MMAs, and places the accumulators. Returns the choice, for explain.
static FailureOr<std::string> place(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  std::string reason;
  if (Result<void> possible = checkMmaWarp(function); !possible) {
    reason = possible.error();
  } else if (Result<AccumulationPlan> accumulation = planAccumulation(function, config, target)) {
    if (failed(expandAccumulation(function, config, std::move(*accumulation)))) return failure();
    return std::string("a warp of its own multiplies, while others store the last sums");
  } else if (Result<ChainPlan> chains = planChains(function, config, target)) {
    if (failed(expandChains(function, config, std::move(*chains)))) return failure();
    return std::string("a warp of its own multiplies, while others compute between the dots");
  } else {
    reason = accumulation.error() + "; " + chains.error();
  }
  if (multipliesInPairs(function)) return bug(function, "the MMAs of its pair of CTAs get no partition: " + reason), failure();
  if (failed(Placer(function, target).run())) return failure();
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
