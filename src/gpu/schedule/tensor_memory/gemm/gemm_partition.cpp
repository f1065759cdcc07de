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
#include "gpu/schedule/tensor_memory/gemm/gemm_plan.h"

#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/stage_index.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {

class AccumulationExpansion {
public:
  AccumulationExpansion(tt::FuncOp function, ttg::ConfigAttr config, AccumulationPlan &plan)
      : function(function), config(config), plan(plan), memory(function, plan.columns, plan.paired), b(function.getContext()) {}

  LogicalResult run() {
    dropMmaWaits(function); // barriers replace them
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
    Value done = memory.barriers({1, config.getWarps() * ctasOfMmas()});
    b.setInsertionPoint(function.getBody().front().getTerminator());
    ttg::BarrierArriveOp::create(b, loc, done, zero, Value(), /*inAllCtas=*/true);
    waitForResults(b, loc, done, zero, zero);
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
    Value full = memory.barriers({its.depth()}), empty = memory.barriers({its.depth(), config.getWarps() * ctasOfMmas()});
    Value scalesRead = memory.barriers({its.scales ? setsOfScales : 0});
    SmallVector<Value> initial(its.scales ? 3 : 2, zero); // the number of MMAs comes last
    return LogicalResult(carryState(loop, initial, [&](ValueRange state) -> SmallVector<Value> {
      Location loc = loop.getLoc();
      if (its.scales) loop = withMoreCarried(loop, state.take_back());
      b.setInsertionPoint(loop);
      StageState stage(state, its.depth());
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

  /// The loop's MMAs add to the tiles, and those of the first iteration overwrite them. Their commits release the operands of
  /// their own iteration, whose MMAs all read one stage; the arrivals that they replace are those of the iteration before. With scales,
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
    for (auto [mma, number] : its.mmas) {
      b.setInsertionPoint(mma);
      if (its.scales) assignToMmas(ttg::Tcgen05WaitOp::create(b, mma.getLoc(), scalesRead, issued, setsOfScales - 1));
      Value accumulate = isa<BlockArgument>(mma.getC()) ? isLater : yes; // the first MMA of an iteration, or one after it
      Value set = mma.getScales() ? scaleSetOf(b, mma.getLoc(), issued, its.scales) : Value();
      ttg::Tcgen05MmaOp started = startMma(b, mma, mma.getA(), mma.getB(), tiles[number], accumulate, set);
      assignToMmas(started);
      if (!its.scales) continue;
      started.getBarriersMutable().assign(scalesRead);
      started.getIssuedMutable().assign(issued);
      issued = arith::AddIOp::create(b, mma.getLoc(), issued, one);
    }
    if (its.scales) appendYielded(loop, issued);
    for (Value barriers : released)
      assignToMmas(ttg::Tcgen05CommitOp::create(b, loop.getLoc(), barriers, stageIndexOf(its.mmas.back().first), plan.paired));
    for (auto [number, tile] : tiles)
      loop.getTiedLoopYieldedValue(loop.getRegionIterArg(number))->set(loop.getRegionIterArg(number));
    for (auto [mma, number] : llvm::reverse(its.mmas))
      mma->erase();
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

LogicalResult expandAccumulation(tt::FuncOp function, ttg::ConfigAttr config, AccumulationPlan plan) {
  return AccumulationExpansion(function, config, plan).run();
}

} // namespace tilewright::gpu
