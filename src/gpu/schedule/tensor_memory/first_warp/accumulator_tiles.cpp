#include "gpu/schedule/tensor_memory/first_warp/accumulator_tiles.h"

#include "gpu/schedule/mma_waits.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class TilePlanner {
public:
  TilePlanner(tt::FuncOp function, const TensorAccumulators &accumulators) : function(function), accumulators(accumulators) {
    function.walk([&](Operation *op) {
      if (auto mma = dyn_cast<ttg::MmaAsyncOp>(op)) mmas.push_back(mma);
      if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op)) waits.push_back(wait);
    });
    numberOperations(function.getBody(), spans);
  }

  AccumulatorTiles run() {
    linkValues();
    for (const auto &member : classes) {
      Value value = Value::getFromOpaquePointer(member->getData());
      auto [tile, isNew] = tileOfClass.try_emplace(classes.getLeaderValue(member->getData()), plan.tiles.size());
      if (isNew) addTile(value);
      plan.accumulators[value] = tile->second;
      keepLive(value, live[tile->second]);
    }
    for (ttg::MmaAsyncOp mma : mmas)
      if (isa<RankedTensorType>(mma.getA().getType())) addOperand(mma);
    place();
    return std::move(plan);
  }

private:
  void unite(Value one, Value other) { classes.unionSets(one.getAsOpaquePointer(), other.getAsOpaquePointer()); }

  void linkValues() {
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
  }

  void addTile(Value value) {
    plan.tiles.push_back(tensorTileOf(value.getType()));
    live.push_back({INT64_MAX, 0});
  }

  Operation *end() { return function.getBody().front().getTerminator(); }

  /// Lets a tile live from one operation to another, and in all of a loop or a branch that has only one of them.
  void extend(OperationSpan &span, Operation *from, Operation *to) {
    Operation *last = nullptr;
    while (!(last = from->getBlock()->findAncestorOpInBlock(*to)))
      from = from->getParentOp();
    span = {std::min(span.first, spans.lookup(from).first), std::max({span.last, spans.lookup(from).last, spans.lookup(last).last})};
  }

  /// Operand A of an MMA is in tensor memory from right before the MMA until the first wait in its block after which no MMA runs. Without
  /// one, the MMA may still run in the next iteration of a loop.
  void addOperand(ttg::MmaAsyncOp mma) {
    plan.operands[mma] = plan.tiles.size();
    addTile(mma.getA());
    ttg::MmaAsyncWaitOp wait = waitForAllAfter(mma);
    extend(live.back(), mma, wait ? wait.getOperation() : end());
  }

  /// Lets a tile live where the value is defined and used, and until its MMA has ended.
  void keepLive(Value value, OperationSpan &span) {
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *from = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    auto mma = dyn_cast<ttg::MmaAsyncOp>(from);
    extend(span, from, mma ? endOf(mma) : from);
    for (OpOperand &use : value.getUses())
      if (accumulators.isInPlace(use)) extend(span, from, use.getOwner());
  }

  /// Returns the first wait after which the MMA has ended, whichever branches are taken; the kernel's end if there is none.
  Operation *endOf(ttg::MmaAsyncOp mma) {
    int64_t later = 0; // MMAs that have started after it, at least
    for (Operation *around = mma; around != function; around = around->getParentOp())
      for (Operation *op = around->getNextNode(); op; op = op->getNextNode()) {
        later += isa<ttg::MmaAsyncOp>(op);
        if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op); wait && wait.getPending() <= later) return wait;
      }
    return end();
  }

  /// Gives each tile columns that no other has while it is live, large tiles first, and the scales columns of their own.
  void place() {
    auto largest = llvm::to_vector(llvm::seq<size_t>(plan.tiles.size()));
    llvm::sort(largest, [&](size_t x, size_t y) {
      return std::tuple(-plan.tiles[x].columns(), live[x].first, live[x].last) <
             std::tuple(-plan.tiles[y].columns(), live[y].first, live[y].last);
    });
    for (size_t tile : largest)
      plan.tiles[tile].column = plan.columns.take(plan.tiles[tile].columns(), live[tile]);
    for (ttg::MmaAsyncOp mma : mmas)
      plan.scales.columns = std::max(plan.scales.columns, scaleColumnsOf(mma));
    plan.columns.take(plan.scales);
  }

  tt::FuncOp function;
  const TensorAccumulators &accumulators;
  SmallVector<ttg::MmaAsyncOp> mmas;
  SmallVector<ttg::MmaAsyncWaitOp> waits;
  llvm::EquivalenceClasses<void *> classes;
  DenseMap<void *, size_t> tileOfClass;
  SmallVector<OperationSpan> live; ///< of each tile: from the first access to the last one
  OperationSpans spans;
  AccumulatorTiles plan;
};

} // namespace

AccumulatorTiles planTiles(tt::FuncOp function, const TensorAccumulators &accumulators) {
  return TilePlanner(function, accumulators).run();
}

} // namespace tilewright::gpu
