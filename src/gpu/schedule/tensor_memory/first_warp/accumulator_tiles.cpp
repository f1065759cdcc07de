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
      extend(value, live[tile->second]);
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

  /// Operand A of an MMA is in tensor memory from right before the MMA until this is complete: until the first wait after which it is, or
  /// the kernel's end.
  void addOperand(ttg::MmaAsyncOp mma) {
    plan.operands[mma] = plan.tiles.size();
    addTile(mma.getA());
    // Without a wait in its block, the MMA may still run in the next iteration of a loop.
    ttg::MmaAsyncWaitOp wait = waitForAllAfter(mma);
    Operation *from = wait ? mma.getOperation() : function.getBody().front().findAncestorOpInBlock(*mma);
    live.back() = {spans.lookup(from).first, spans.lookup(wait ? wait.getOperation() : end()).last};
  }

  /// Lets a tile live where the value is defined and used: in the whole loop if that carries it, and to the end if no wait names it.
  void extend(Value value, OperationSpan &span) {
    auto touch = [&](Operation *op) { span = {std::min(span.first, spans.lookup(op).first), std::max(span.last, spans.lookup(op).last)}; };
    touch(isa<BlockArgument>(value) ? cast<BlockArgument>(value).getOwner()->getParentOp() : value.getDefiningOp());
    for (OpOperand &use : value.getUses()) {
      if (!accumulators.isInPlace(use)) continue;
      touch(use.getOwner());
      auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(use.getOwner());
      if (wait && mayRunAfter(value, wait)) touch(nextWaitForAll(wait));
    }
    if (value.use_empty() && value.getDefiningOp<ttg::MmaAsyncOp>()) touch(end());
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
    Operation *next = end();
    for (ttg::MmaAsyncWaitOp other : llvm::reverse(waits)) { // in the text's order
      if (other == wait) break;
      if (other.getPending() == 0) next = other;
    }
    return next;
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
