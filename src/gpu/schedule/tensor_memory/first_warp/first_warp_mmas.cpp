// The threads' first warp issues the MMAs, between what the threads compute:
//   before: for iter_args(%c = zeros) { %d = mma_async %a, %b, %c    %e = mma_async_wait 0, %d    yield %e }
//   after:  %t = tensor_tile 0    tensor_store zeros, %t
//           for { tcgen05_mma %a, %b, %t    tcgen05_wait 0 }    tensor_load %t
// Where something else than an MMA needs a result, it is loaded after the wait. insert-barriers orders the accesses of threads and MMAs.
#include "gpu/schedule/tensor_memory/first_warp/first_warp_mmas.h"

#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/tensor_memory/first_warp/accumulator_tiles.h"
#include "gpu/schedule/tensor_memory/first_warp/mma_numbers.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/refusal.h"
#include "ir/zeros.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class FirstWarpExpansion {
public:
  FirstWarpExpansion(tt::FuncOp function, const TensorAccumulators &accumulators, AccumulatorTiles &plan)
      : function(function), accumulators(accumulators), plan(plan), memory(function, plan.columns.allocated()), b(function.getContext()) {}

  LogicalResult run() {
    SmallVector<ttg::MmaAsyncOp> mmas;
    SmallVector<ttg::MmaAsyncWaitOp> waits;
    function.walk([&](ttg::MmaAsyncOp mma) { mmas.push_back(mma); });
    function.walk([&](ttg::MmaAsyncWaitOp wait) { waits.push_back(wait); });
    synchronizeCopies();
    for (const TensorTile &tile : plan.tiles)
      (void)memory.tile(tile);
    barriers = memory.barriers({1});
    memory.allocate(plan.scales); // before the barriers, which are initialized together
    storeInits();
    for (ttg::MmaAsyncOp mma : mmas)
      multiply(mma);
    if (failed(loadResults())) return failure();
    for (ttg::MmaAsyncWaitOp wait : waits)
      replaceWait(wait);
    b.setInsertionPoint(function.getBody().front().getTerminator());
    ttg::Tcgen05WaitOp::create(b, function.getLoc(), barriers, zero, 0);
    memory.free();
    // What loops carry for an accumulator is the value that it starts from, which nothing uses.
    for (ttg::MmaAsyncOp mma : mmas) {
      mma.getD().replaceAllUsesWith(mma.getC());
      mma.erase();
    }
    numberMmas(function, barriers, zero, plan.scales);
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

  Value tileOf(Value accumulator) { return memory.tile(plan.tiles[plan.accumulators.lookup(accumulator)]); }

  /// Stores what a carried accumulator starts from.
  void storeInits() {
    function.walk([&](scf::ForOp loop) {
      for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgsMutable()))
        if (accumulators.contains(argument) && !accumulators.isInPlace(init)) {
          b.setInsertionPoint(loop);
          ttg::TensorStoreOp::create(b, loop.getLoc(), init.get(), tileOf(argument), DenseI32ArrayAttr());
        }
    });
  }

  Value boolean(Location loc, bool value) { return arith::ConstantOp::create(b, loc, b.getBoolAttr(value)); }

  void multiply(ttg::MmaAsyncOp mma) {
    b.setInsertionPoint(mma);
    Value tile = tileOf(mma.getD()), accumulate = mma.getUseC();
    if (!accumulators.isInPlace(mma.getCMutable())) {
      if (tt::isZeros(mma.getC()) && !accumulate)
        accumulate = boolean(mma.getLoc(), false);
      else
        ttg::TensorStoreOp::create(b, mma.getLoc(), mma.getC(), tile, DenseI32ArrayAttr());
    }
    if (!accumulate) accumulate = boolean(mma.getLoc(), true);
    Value a = mma.getA();
    if (auto operandTile = plan.operands.find(mma); operandTile != plan.operands.end()) {
      Value operand = memory.tile(plan.tiles[operandTile->second]);
      if (!waitForAllAfter(mma)) ttg::Tcgen05WaitOp::create(b, mma.getLoc(), barriers, zero, 0);
      ttg::TensorStoreOp::create(b, mma.getLoc(), a, operand, DenseI32ArrayAttr());
      a = operand;
    }
    if (mma.getScales()) ttg::Tcgen05WaitOp::create(b, mma.getLoc(), barriers, zero, setsOfScales - 1);
    ttg::Tcgen05MmaOp started = startMma(b, mma, a, mma.getB(), tile, accumulate, mma.getScales() ? plan.scales.address : Value());
    started.getBarriersMutable().assign(barriers);
    started.getIssuedMutable().assign(zero);
  }

  /// Loads each value that something needs in registers, where it is complete.
  LogicalResult loadResults() {
    for (auto &[value, tile] : plan.accumulators) {
      SmallVector<OpOperand *> readers = accumulators.readersOf(value);
      if (readers.empty()) continue;
      Operation *from = value.getDefiningOp();
      if (!isa_and_nonnull<ttg::MmaAsyncWaitOp, scf::ForOp>(from))
        return bug(readers[0]->getOwner(), "it reads an MMA's result before a wait");
      b.setInsertionPointAfter(from);
      Value loaded = ttg::TensorLoadOp::create(b, from->getLoc(), value.getType(), memory.tile(plan.tiles[tile]));
      for (OpOperand *use : readers)
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

  tt::FuncOp function;
  const TensorAccumulators &accumulators;
  AccumulatorTiles &plan;
  TensorMemory memory;
  const Value zero = memory.zero();
  OpBuilder b;
  Value barriers;
};

} // namespace

LogicalResult issueInFirstWarp(tt::FuncOp function, const GpuTarget &target) {
  TensorAccumulators accumulators(function);
  AccumulatorTiles plan = planTiles(function, accumulators);
  if (plan.tiles.empty()) return success();
  if (plan.columns.used() > target.tensorColumns)
    return refuse(function, Diag::outOfResources,
                  {"columns of tensor memory", std::to_string(plan.columns.used()), std::to_string(target.tensorColumns)});
  return FirstWarpExpansion(function, accumulators, plan).run();
}

} // namespace tilewright::gpu
