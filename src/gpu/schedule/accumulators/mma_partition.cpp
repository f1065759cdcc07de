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

#include "gpu/cost_model/hardware.h"
#include "gpu/schedule/accumulators/tensor_accumulators.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/stage_index.h"
#include "ir/refusal.h"
#include "ir/zeros.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// A loop that only accumulates.
struct MmaLoop {
  SmallVector<ttg::MmaAsyncOp> mmas;
  SmallVector<Value> tiles; ///< of each result of the loop that is a sum; null for other results
  int64_t depth = 1;        ///< tiles of each sum
  int64_t scales = 0;       ///< columns of the scales of an MMA
  Value scaleColumns;       ///< the address of the first one
};

class MmaPartitioner {
public:
  MmaPartitioner(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target)
      : function(function), config(config), target(target), sums(function, config.getWarps()), b(function.getContext()) {}

  /// Plans the tiles of each sum: two, or one. Fails unless every loop with MMAs only accumulates.
  Result<void> plan() {
    if (!function->hasAttr(ttg::warpSpecializedName)) return Failure{"no warp of its own starts the copies"};
    if (function->hasAttr(ttg::operandRegistersName)) return Failure{"a partition computes an operand"};
    if (config.getCtas() != 1 && !isPaired()) return Failure{"the CTAs of the cluster do not multiply together"};
    bool all = true;
    function.walk([&](ttg::MmaAsyncOp mma) {
      auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
      all &= loop && sums.isInPlace(mma.getCMutable()) && stageIndexOf(mma);
      if (!loop) return;
      loops[loop].mmas.push_back(mma);
      loops[loop].scales = std::max(loops[loop].scales, scaleColumnsOf(mma));
    });
    if (!all) return Failure{"a dot does more than to accumulate copied operands in a loop"};
    int64_t columns = 0, alternating = 0;
    for (auto &[op, each] : loops) {
      auto loop = cast<scf::ForOp>(op);
      if (!onlyAccumulates(loop)) return Failure{"threads compute between the dots of a loop"};
      each.depth = isa<tt::FuncOp>(loop->getParentOp()) ? 1 : 2; // it may run once only
      columns += setsOfScales * each.scales;
      alternating += setsOfScales * each.scales;
      for (BlockArgument argument : loop.getRegionIterArgs()) {
        if (!sums.contains(argument)) continue;
        columns += tensorColumnsOf(argument.getType());
        alternating += each.depth * tensorColumnsOf(argument.getType());
      }
    }
    if (alternating > target.tensorColumns)
      for (auto &[op, each] : loops)
        each.depth = 1;
    if (loops.empty()) return Failure{"no loop has a dot"};
    if (columns > target.tensorColumns) return Failure{"the sums do not fit in tensor memory"};
    return {};
  }

  /// True if the MMAs are those of a pair of CTAs.
  bool isPaired() {
    return function.walk([](ttg::MmaAsyncOp mma) { return mma.getPaired() ? WalkResult::interrupt() : WalkResult::advance(); })
        .wasInterrupted();
  }

  LogicalResult run() {
    paired = isPaired();
    dropWaits();
    allocate();
    SmallVector<Operation *> order(llvm::make_first_range(loops)); // a loop with MMAs is in no other one
    for (Operation *loop : order)
      if (failed(partition(cast<scf::ForOp>(loop), loops[loop]))) return failure();
    function.walk([](ttg::BarrierArriveOp arrive) {
      if (arrive.getFirstWarp()) arrive.erase();
    });
    b.setInsertionPoint(function.getBody().front().getTerminator());
    if (paired) waitForPeer();
    ttg::TensorFreeOp::create(b, function.getLoc(), address);
    return success();
  }

private:
  /// The stage of the circular buffers that the MMA reads; null if it reads others.
  static Value stageIndexOf(ttg::MmaAsyncOp mma) {
    Value index;
    SmallVector<Value> operands{mma.getA(), mma.getB()};
    if (mma.getScales()) operands.append({mma.getAScale(), mma.getBScale()});
    for (Value buffer : operands) {
      if (auto view = buffer.getDefiningOp<ttg::ViewOp>()) buffer = view.getBuffer();
      auto stage = buffer.getDefiningOp<ttg::StageOp>();
      if (!stage || (index && index != stage.getIndex())) return {};
      index = stage.getIndex();
    }
    return index;
  }

  /// True if the loop has no other effect, and needs no sum in registers.
  bool onlyAccumulates(scf::ForOp loop) {
    for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
      if (sums.contains(argument) && !tt::isZeros(init)) return false;
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto wait = dyn_cast<ttg::BarrierWaitOp>(op);
      auto arrive = dyn_cast<ttg::BarrierArriveOp>(op);
      bool isOfFirstWarp = (wait && wait.getFirstWarp()) || (arrive && arrive.getFirstWarp());
      bool isKnown = isOfFirstWarp || isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp>(op) || ttg::partitionOf(&op) == ttg::Partition::producer;
      if (!isKnown && (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))) return false;
      for (Value result : op.getResults())
        for (OpOperand &use : result.getUses())
          if (isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp>(op) && sums.contains(result) && !sums.isInPlace(use)) return false;
    }
    return true;
  }

  int64_t ctasOfMmas() { return paired ? config.getCtas() : 1; }

  /// Waits until the consumers of both CTAs have loaded all sums: then no CTA needs the other one's barriers or columns.
  void waitForPeer() {
    Location loc = function.getLoc();
    Value done = allocBarriers(1, config.getWarps() * ctasOfMmas());
    ttg::BarrierArriveOp::create(b, loc, done, zero, Value(), /*inAllCtas=*/true);
    ttg::BarrierWaitOp::create(b, loc, done, zero, zero, /*firstWarp=*/false, /*tensorMemory=*/true);
  }

  /// The accumulators' barriers replace the waits for MMAs.
  void dropWaits() {
    function.walk([](ttg::MmaAsyncWaitOp wait) {
      wait.replaceAllUsesWith(wait.getTiles());
      wait.erase();
    });
  }

  void allocate() {
    Location loc = function.getLoc();
    b.setInsertionPointToStart(&function.getBody().front());
    auto alloc = ttg::TensorAllocOp::create(b, loc, b.getI32Type(), 1, paired);
    address = alloc;
    zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    int64_t column = 0;
    for (auto &[op, each] : loops)
      for (BlockArgument argument : cast<scf::ForOp>(op).getRegionIterArgs()) {
        Value &tile = each.tiles.emplace_back();
        if (!sums.contains(argument)) continue;
        auto sum = cast<RankedTensorType>(argument.getType());
        auto type = ttg::TensorMemoryType::get(b.getContext(), shapeInMemory(sum), sum.getElementType());
        tile = ttg::TensorTileOp::create(b, loc, type, address, static_cast<uint32_t>(column), static_cast<uint32_t>(each.depth));
        column += each.depth * type.columns();
      }
    for (auto &[op, each] : loops) {
      if (!each.scales) continue;
      Value first = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(column)));
      each.scaleColumns = arith::AddIOp::create(b, loc, address, first);
      column += setsOfScales * each.scales;
    }
    alloc.setColumns(static_cast<uint32_t>(std::max<int64_t>(minTensorColumns, int64_t(llvm::PowerOf2Ceil(uint64_t(column))))));
  }

  /// The lanes and columns of a sum. Of a pair, 64 rows take all lanes: the second half of the columns is in the later ones (layout B).
  Dims shapeInMemory(RankedTensorType sum) {
    Dims shape = ttg::shapeOf(sum);
    if (!paired || shape[0] >= tensorMemoryLanes) return shape;
    return {2 * shape[0], shape[1] / 2};
  }

  /// Loads a sum. That of a pair with 64 rows is loaded as [half of the columns * 64, N / 2].
  Value loadSum(Location loc, RankedTensorType type, Value tile) {
    Dims shape = ttg::shapeOf(type), lanes = shapeInMemory(type);
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

  void assign(Operation *op) { ttg::setPartition(op, ttg::Partition::mmas); }

  Value allocBarriers(int64_t count, int64_t arrivals) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(zero.getDefiningOp());
    return ttg::AllocBarriersOp::create(b, function.getLoc(), ttg::BarriersType::get(b.getContext(), count),
                                        static_cast<uint32_t>(arrivals));
  }

  LogicalResult partition(scf::ForOp loop, MmaLoop &its) {
    Value full = allocBarriers(its.depth, 1), empty = allocBarriers(its.depth, config.getWarps() * ctasOfMmas());
    Value scalesRead = its.scales ? allocBarriers(setsOfScales, 1) : Value();
    SmallVector<Value> initial(its.scales ? 3 : 2, zero); // the number of MMAs comes last
    return LogicalResult(carryState(loop, initial, [&](ValueRange state) -> SmallVector<Value> {
      Location loc = loop.getLoc();
      if (its.scales) loop = withMoreCarried(loop, state.take_back());
      b.setInsertionPoint(loop);
      Value one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1)), before = arith::XOrIOp::create(b, loc, state[1], one);
      assign(ttg::BarrierWaitOp::create(b, loc, empty, state[0], before, /*firstWarp=*/false, /*tensorMemory=*/true));
      SmallVector<Value> current(its.tiles.size());
      for (auto [tile, stage] : llvm::zip(its.tiles, current))
        if (tile) stage = ttg::TensorStageOp::create(b, loc, tile, state[0]);
      multiply(loop, its, current, scalesRead);
      b.setInsertionPointAfter(loop);
      assign(ttg::Tcgen05CommitOp::create(b, loc, full, state[0], paired));
      ttg::BarrierWaitOp::create(b, loc, full, state[0], state[1], /*firstWarp=*/false, /*tensorMemory=*/true);
      load(loop, current);
      ttg::BarrierArriveOp::create(b, loc, empty, state[0], Value(), /*inAllCtas=*/paired);
      SmallVector<Value> next = StageState(state, its.depth).next(b, loc).values();
      if (its.scales) next.push_back(loop.getResults().back());
      return next;
    }));
  }

  /// The loop's MMAs add to the tiles, and those of the first iteration overwrite them. Their commits release the operands. With scales,
  /// each arrives at its set's barrier of `scalesRead`, too, and the loop carries the number of the next one.
  void multiply(scf::ForOp loop, MmaLoop &its, ArrayRef<Value> tiles, Value scalesRead) {
    llvm::SmallSetVector<Value, 2> released;
    for (Operation &op : *loop.getBody()) {
      if (auto arrive = dyn_cast<ttg::BarrierArriveOp>(op)) released.insert(arrive.getBarriers());
      if (auto wait = dyn_cast<ttg::BarrierWaitOp>(op); wait && wait.getFirstWarp()) assign(wait);
    }
    b.setInsertionPointToStart(loop.getBody());
    Value isLater = arith::CmpIOp::create(b, loop.getLoc(), arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
    Value yes = arith::ConstantOp::create(b, loop.getLoc(), b.getBoolAttr(true)), issued;
    Value one = its.scales ? arith::ConstantOp::create(b, loop.getLoc(), b.getI32IntegerAttr(1)) : Value();
    if (its.scales) issued = loop.getRegionIterArgs().back();
    for (ttg::MmaAsyncOp mma : its.mmas) {
      b.setInsertionPoint(mma);
      if (its.scales) assign(ttg::Tcgen05WaitOp::create(b, mma.getLoc(), scalesRead, issued, setsOfScales - 1));
      Value sum = mma.getC();
      while (auto earlier = sum.getDefiningOp<ttg::MmaAsyncOp>())
        sum = earlier.getC();
      unsigned number = cast<BlockArgument>(sum).getArgNumber() - loop.getNumInductionVars();
      Value set = mma.getScales() ? scaleSetOf(b, mma.getLoc(), issued, its.scaleColumns, its.scales) : Value();
      assign(ttg::Tcgen05MmaOp::create(b, mma.getLoc(), mma.getA(), mma.getB(), tiles[number], sum == mma.getC() ? isLater : yes,
                                       scalesRead, issued, mma.getAScale(), mma.getBScale(), set, mma.getScalesAttr(), paired,
                                       IntegerAttr(), DenseI32ArrayAttr()));
      if (its.scales) issued = arith::AddIOp::create(b, mma.getLoc(), issued, one);
    }
    if (its.scales) {
      Operation *yield = loop.getBody()->getTerminator();
      yield->insertOperands(yield->getNumOperands(), issued);
    }
    for (Value barriers : released)
      assign(ttg::Tcgen05CommitOp::create(b, loop.getLoc(), barriers, stageIndexOf(its.mmas.back()), paired));
    for (auto [argument, tile] : llvm::zip(loop.getRegionIterArgs(), tiles))
      if (tile) loop.getTiedLoopYieldedValue(argument)->set(argument);
    for (ttg::MmaAsyncOp mma : llvm::reverse(its.mmas))
      mma.erase();
  }

  /// Loads the sums after the loop: zeros if it has had no iteration.
  void load(scf::ForOp loop, ArrayRef<Value> tiles) {
    for (auto [result, tile] : llvm::zip(loop.getResults(), tiles)) {
      if (!tile || result.use_empty()) continue;
      Value sum = loadSum(loop.getLoc(), cast<RankedTensorType>(result.getType()), tile);
      result.replaceAllUsesWith(sumOrInit(b, loop, result.getResultNumber(), sum));
    }
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  TensorAccumulators sums;
  OpBuilder b;
  llvm::MapVector<Operation *, MmaLoop> loops;
  Value address, zero;
  bool paired = false;
};

} // namespace

FailureOr<Result<void>> partitionMmas(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  MmaPartitioner partitioner(function, config, target);
  Result<void> planned = partitioner.plan();
  if (!planned && partitioner.isPaired())
    return bug(function, "the MMAs of its pair of CTAs get no partition: " + planned.error()), failure();
  if (planned && failed(partitioner.run())) return failure();
  return planned;
}

} // namespace tilewright::gpu
