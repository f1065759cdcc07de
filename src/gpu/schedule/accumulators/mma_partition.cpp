// While the consumers load a result from tensor memory and store it, a warp of its own multiplies the next tile:
//   before: for %tile { for %k iter_args(%c = zeros) { wait: full (first warp)   mma_async %a, %b, %c   arrive: empty }   store the sum }
//   after:  for %tile { wait: accumulator is empty (MMA warp)
//                       for %k { wait: full (MMA warp)   tcgen05_mma %a, %b, %t   commit: empty (MMA warp) }
//                       commit: accumulator is full (MMA warp)   wait: it is full   tensor_load %t   arrive: it is empty   store }
// The operations of the MMA warp have `ttg.partition` mmas; specialize-warps gives them a region. An accumulator has two tiles of
// tensor memory if these fit, which the runs of its loop use alternately. An iteration's MMAs release its operands by their commit, so that
// the MMA warp never waits for an MMA of its own, but for that before the last one where scales are copied to its columns.
// The MMAs of a pair of CTAs are started by the first one's MMA warp, whose commits arrive at the barriers of both. The consumers of both
// tell it when they have loaded an accumulator, and each other when they have loaded the last one.
#include "gpu/schedule/accumulators/mma_partition.h"

#include "gpu/schedule/accumulators/tensor_accumulators.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/partitions/skeleton.h"
#include "gpu/schedule/stage_index.h"
#include "ir/slice.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

bool multipliesInPairs(tt::FuncOp function) {
  return function.walk([](ttg::MmaAsyncOp mma) { return mma.getPaired() ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

Result<void> checkMmaWarp(tt::FuncOp function) {
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

namespace {

/// The stage of the circular buffers that the MMA reads; null if it reads others.
Value stageIndexOf(ttg::MmaAsyncOp mma) {
  Value index;
  for (Value buffer : mma.buffers()) {
    auto stage = tt::lookThrough<ttg::ViewOp>(buffer).getDefiningOp<ttg::StageOp>();
    if (!stage || (index && index != stage.getIndex())) return {};
    index = stage.getIndex();
  }
  return index;
}

/// Fails if the loop has other effects than its MMAs, or needs a sum in registers.
Result<void> checkLoop(scf::ForOp loop, const TensorAccumulators &sums) {
  for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (sums.contains(argument) && !tt::isZeros(init)) return Failure{"a sum starts from other numbers than zeros"};
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto wait = dyn_cast<ttg::BarrierWaitOp>(op);
    auto arrive = dyn_cast<ttg::BarrierArriveOp>(op);
    bool isOfFirstWarp = (wait && wait.getFirstWarp()) || (arrive && arrive.getFirstWarp());
    bool isKnown = isOfFirstWarp || isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp>(op) || ttg::partitionOf(&op) == ttg::Partition::producer;
    if (!isKnown && (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))) return Failure{"threads compute between the dots of a loop"};
    for (Value result : op.getResults())
      for (OpOperand &use : result.getUses())
        if (isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp>(op) && sums.contains(result) && !sums.isInPlace(use))
          return Failure{"threads read a sum in the loop that adds to it"};
  }
  return {};
}

/// Of a pair, 64 rows take all lanes: the second half of the columns is in the later ones (layout B).
TensorTile sumTileOf(RankedTensorType sum, int64_t depth, bool paired) {
  Dims shape = ttg::shapeOf(sum);
  if (paired && shape[0] < tensorMemoryLanes) shape = {2 * shape[0], shape[1] / 2};
  return tensorTileOf(RankedTensorType::get(shape, sum.getElementType()), depth);
}

/// Places up to `depth` tiles of each sum, and after these the scales.
void placeTiles(AccumulationPlan &plan, const TensorAccumulators &sums, int64_t depth) {
  TensorColumns columns;
  for (auto &[op, its] : plan.loops) {
    auto loop = cast<scf::ForOp>(op);
    its.depth = isa<tt::FuncOp>(loop->getParentOp()) ? 1 : depth; // it may run once only
    for (auto [number, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      if (!sums.contains(argument)) continue;
      TensorTile &tile = its.sums[unsigned(number)] = sumTileOf(cast<RankedTensorType>(argument.getType()), its.depth, plan.paired);
      columns.take(tile);
    }
  }
  for (auto &[op, its] : plan.loops)
    columns.take(its.scales);
  plan.columns = columns.allocated();
}

class AccumulationExpansion {
public:
  AccumulationExpansion(tt::FuncOp function, ttg::ConfigAttr config, AccumulationPlan &plan)
      : function(function), config(config), plan(plan), memory(function, plan.columns, plan.paired), b(function.getContext()) {}

  LogicalResult run() {
    dropWaits();
    for (auto &[op, its] : plan.loops)
      memory.allocate(its.scales);
    SmallVector<Operation *> order(llvm::make_first_range(plan.loops)); // a loop with MMAs is in no other one
    for (Operation *loop : order)
      if (failed(partition(cast<scf::ForOp>(loop), plan.loops[loop]))) return failure();
    function.walk([](ttg::BarrierArriveOp arrive) {
      if (arrive.getFirstWarp()) arrive.erase();
    });
    if (plan.paired) waitForPeer();
    memory.free();
    return success();
  }

private:
  int64_t ctasOfMmas() { return plan.paired ? config.getCtas() : 1; }

  /// Waits until the consumers of both CTAs have loaded all sums: then no CTA needs the other one's barriers or columns.
  void waitForPeer() {
    Location loc = function.getLoc();
    Value done = memory.barriers(1, config.getWarps() * ctasOfMmas());
    b.setInsertionPoint(function.getBody().front().getTerminator());
    ttg::BarrierArriveOp::create(b, loc, done, zero, Value(), /*inAllCtas=*/true);
    waitForResults(b, loc, done, zero, zero);
  }

  /// The accumulators' barriers replace the waits for MMAs.
  void dropWaits() {
    function.walk([](ttg::MmaAsyncWaitOp wait) {
      wait.replaceAllUsesWith(wait.getTiles());
      wait.erase();
    });
  }

  /// Loads a sum. That of a pair with 64 rows is loaded as [half of the columns * 64, N / 2].
  Value loadSum(Location loc, RankedTensorType type, Value tile) {
    Dims shape = ttg::shapeOf(type), lanes(cast<ttg::TensorMemoryType>(tile.getType()).getShape());
    if (lanes == shape) return ttg::TensorLoadOp::create(b, loc, type, tile);
    auto typeIn = [&](const Layout &layout) {
      return RankedTensorType::get(layout.shape, type.getElementType(), ttg::LayoutAttr::get(b.getContext(), layout));
    };
    Layout loaded = Layout::tensorMemory(lanes, config.getWarps()), halves = loaded.reshaped({2, shape[0], lanes[1]});
    Layout rows = halves.transposed({1, 0, 2}), whole = rows.reshaped(shape);
    Value sum = ttg::TensorLoadOp::create(b, loc, typeIn(loaded), tile);
    sum = tt::ReshapeOp::create(b, loc, typeIn(halves), sum, /*allowReorder=*/false, /*efficientLayout=*/false);
    sum = tt::TransOp::create(b, loc, typeIn(rows), sum, ArrayRef<int32_t>{1, 0, 2});
    sum = tt::ReshapeOp::create(b, loc, typeIn(whole), sum, /*allowReorder=*/false, /*efficientLayout=*/false);
    return ttg::ConvertLayoutOp::create(b, loc, type, sum);
  }

  LogicalResult partition(scf::ForOp loop, AccumulationLoop &its) {
    Value full = memory.barriers(its.depth), empty = memory.barriers(its.depth, config.getWarps() * ctasOfMmas());
    Value scalesRead = its.scales ? memory.barriers(setsOfScales) : Value();
    SmallVector<Value> initial(its.scales ? 3 : 2, zero); // the number of MMAs comes last
    return LogicalResult(carryState(loop, initial, [&](ValueRange state) -> SmallVector<Value> {
      Location loc = loop.getLoc();
      if (its.scales) loop = withMoreCarried(loop, state.take_back());
      b.setInsertionPoint(loop);
      StageState stage(state, its.depth);
      assignToMmas(waitForResults(b, loc, empty, stage.index, stage.previousParity(b, loc)));
      DenseMap<unsigned, Value> current; // the tile of each sum
      for (auto &[number, sum] : its.sums)
        current[number] = ttg::TensorStageOp::create(b, loc, memory.tile(sum), stage.index);
      multiply(loop, its, current, scalesRead);
      b.setInsertionPointAfter(loop);
      assignToMmas(ttg::Tcgen05CommitOp::create(b, loc, full, stage.index, plan.paired));
      waitForResults(b, loc, full, stage.index, stage.parity);
      load(loop, its, current);
      ttg::BarrierArriveOp::create(b, loc, empty, stage.index, Value(), /*inAllCtas=*/false, /*firstWarp=*/false, /*perWarpGroup=*/false,
                                   /*toFirstCta=*/plan.paired);
      SmallVector<Value> next = stage.next(b, loc).values();
      if (its.scales) next.push_back(loop.getResults().back());
      return next;
    }));
  }

  /// The loop's MMAs add to the tiles, and those of the first iteration overwrite them. Their commits release the operands. With scales,
  /// each arrives at its set's barrier of `scalesRead`, too, and the loop carries the number of the next one.
  void multiply(scf::ForOp loop, AccumulationLoop &its, DenseMap<unsigned, Value> &tiles, Value scalesRead) {
    llvm::SmallSetVector<Value, 2> released;
    for (Operation &op : *loop.getBody()) {
      if (auto arrive = dyn_cast<ttg::BarrierArriveOp>(op)) released.insert(arrive.getBarriers());
      if (auto wait = dyn_cast<ttg::BarrierWaitOp>(op); wait && wait.getFirstWarp()) assignToMmas(wait);
    }
    b.setInsertionPointToStart(loop.getBody());
    Value isLater = arith::CmpIOp::create(b, loop.getLoc(), arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
    Value yes = arith::ConstantOp::create(b, loop.getLoc(), b.getBoolAttr(true)), issued;
    Value one = its.scales ? i32Constant(b, loop.getLoc(), 1) : Value();
    if (its.scales) issued = loop.getRegionIterArgs().back();
    for (ttg::MmaAsyncOp mma : its.mmas) {
      b.setInsertionPoint(mma);
      if (its.scales) assignToMmas(ttg::Tcgen05WaitOp::create(b, mma.getLoc(), scalesRead, issued, setsOfScales - 1));
      Value sum = mma.getC();
      while (auto earlier = sum.getDefiningOp<ttg::MmaAsyncOp>())
        sum = earlier.getC();
      unsigned number = cast<BlockArgument>(sum).getArgNumber() - loop.getNumInductionVars();
      Value set = mma.getScales() ? scaleSetOf(b, mma.getLoc(), issued, its.scales) : Value();
      ttg::Tcgen05MmaOp started = startMma(b, mma, mma.getA(), mma.getB(), tiles[number], sum == mma.getC() ? isLater : yes, set);
      assignToMmas(started);
      if (!its.scales) continue;
      started.getBarriersMutable().assign(scalesRead);
      started.getIssuedMutable().assign(issued);
      issued = arith::AddIOp::create(b, mma.getLoc(), issued, one);
    }
    if (its.scales) appendYielded(loop, issued);
    for (Value barriers : released)
      assignToMmas(ttg::Tcgen05CommitOp::create(b, loop.getLoc(), barriers, stageIndexOf(its.mmas.back()), plan.paired));
    for (auto [number, tile] : tiles)
      loop.getTiedLoopYieldedValue(loop.getRegionIterArg(number))->set(loop.getRegionIterArg(number));
    for (ttg::MmaAsyncOp mma : llvm::reverse(its.mmas))
      mma.erase();
  }

  /// Loads the sums after the loop: zeros if it has had no iteration.
  void load(scf::ForOp loop, AccumulationLoop &its, DenseMap<unsigned, Value> &tiles) {
    for (unsigned number : llvm::make_first_range(its.sums)) {
      Value result = loop.getResult(number);
      if (result.use_empty()) continue;
      Value sum = loadSum(loop.getLoc(), cast<RankedTensorType>(result.getType()), tiles[number]);
      result.replaceAllUsesWith(sumOrInit(b, loop, number, sum));
    }
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  AccumulationPlan &plan;
  TensorMemory memory;
  const Value zero = memory.zero();
  OpBuilder b;
};

} // namespace

Result<AccumulationPlan> planAccumulation(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  TensorAccumulators sums(function);
  AccumulationPlan plan;
  plan.paired = multipliesInPairs(function);
  if (config.getCtas() != 1 && !plan.paired) return Failure{"the CTAs of the cluster do not multiply together"};
  bool all = true;
  function.walk([&](ttg::MmaAsyncOp mma) {
    all &= sums.isInPlace(mma.getCMutable()) && !mma.getUseC() && isa<ttg::BufferType>(mma.getA().getType()) && stageIndexOf(mma);
    AccumulationLoop &loop = plan.loops[mma->getParentOp()];
    loop.mmas.push_back(mma);
    loop.scales.columns = std::max(loop.scales.columns, scaleColumnsOf(mma));
  });
  if (!all) return Failure{"a dot does more than to accumulate copied operands in a loop"};
  for (auto &[loop, its] : plan.loops)
    if (Result<void> checked = checkLoop(cast<scf::ForOp>(loop), sums); !checked) return Failure{checked.error()};
  placeTiles(plan, sums, /*depth=*/2);
  if (plan.columns > target.tensorColumns) placeTiles(plan, sums, /*depth=*/1);
  if (plan.columns > target.tensorColumns) return Failure{"the sums do not fit in tensor memory"};
  return plan;
}

LogicalResult expandAccumulation(tt::FuncOp function, ttg::ConfigAttr config, AccumulationPlan plan) {
  return AccumulationExpansion(function, config, plan).run();
}

} // namespace tilewright::gpu
