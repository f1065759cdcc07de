// Waits for MMAs later in an iteration: before the first use of what a wait lets through.
//   before: s = QK    dp = GV    wait s    p = exp2(s)    dv += pG    wait dv    wait dp    ds = p * dp
//   after:  s = QK    dp = GV    wait s    p = exp2(s)    dv += pG    wait dp    ds = p * dp    ...    wait dv
// A wait does not move past a store or copy to shared memory, or an arrival at the producer's barrier. There is one exception: if a
// producer alone fills what its MMAs read, it may move past stores. If another wait on the way lets as many MMAs through, the two become
// one.
#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/mma_intervals.h"
#include "gpu/schedule/mmas/mma_order.h"
#include "gpu/schedule/mmas/mma_schedule.h"
#include "gpu/ttg/buffer_accesses.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class LateWaits {
public:
  LateWaits(scf::ForOp loop, BlockOrder &order, int64_t registers, bool warpSpecialized)
      : loop(loop), block(*loop.getBody()), order(order), registers(registers), warpSpecialized(warpSpecialized) {}

  SmallVector<MmaEdge> run() {
    SmallVector<ttg::MmaAsyncWaitOp> waits(block.getOps<ttg::MmaAsyncWaitOp>());
    for (ttg::MmaAsyncWaitOp wait : llvm::reverse(waits))
      if (operandsOf(wait) <= registers) sinkWait(wait);
    return std::move(edges);
  }

private:
  /// Registers that the MMAs which the wait lets through read their first operands from.
  static int64_t operandsOf(ttg::MmaAsyncWaitOp wait) {
    int64_t operands = 0;
    for (Value tile : wait.getTiles())
      if (auto mma = tile.getDefiningOp<ttg::MmaAsyncOp>(); mma && isa<RankedTensorType>(mma.getA().getType()))
        operands += registersOf(mma.getA().getType());
    return operands;
  }

  /// True if only a producer learns from threads that the MMAs which the wait lets through have read their buffers: threads do not store
  /// there.
  bool readsForProducer(ttg::MmaAsyncWaitOp wait) {
    auto isWrittenByThreads = [&](Value operand) {
      ttg::AllocOp alloc = allocOf(operand);
      return alloc && llvm::any_of(accessesOf(alloc), [&](Operation *access) {
               return block.findAncestorOpInBlock(*access) && !isa<ttg::MmaAsyncOp, ttg::LoadSharedOp>(access) &&
                      ttg::partitionOf(access) != ttg::Partition::producer;
             });
    };
    return warpSpecialized && llvm::none_of(wait.getTiles(), [&](Value tile) {
             auto mma = tile.getDefiningOp<ttg::MmaAsyncOp>();
             return !mma || llvm::any_of(mma.buffers(), isWrittenByThreads);
           });
  }

  /// The edge of the MMA of the block that a wait lets through: its own, or that of the iteration before. Null if there is none.
  std::optional<MmaEdge> edgeOf(Value tile, ttg::MmaAsyncWaitOp wait) {
    auto [mma, distance] = waitedMma(tile, loop);
    if (!mma || mma->getBlock() != &block) return std::nullopt;
    MmaEdge edge{mma, wait, distance};
    return waitFor(edge, loop) == wait ? std::optional(edge) : std::nullopt;
  }

  /// Moves the wait down to the first use of its tiles, or into a wait on the way that lets them through as well.
  void sinkWait(ttg::MmaAsyncWaitOp wait) {
    SmallVector<MmaEdge> own;
    for (Value tile : wait.getTiles())
      if (std::optional<MmaEdge> edge = edgeOf(tile, wait)) own.push_back(*edge);
    if (wait.getPending() != 0 || own.empty() || own.size() != wait.getTiles().size()) return;
    MmaIntervals planned = *MmaIntervals::atEdges(loop, order, edges);
    auto reads = [&](Operation *op) {
      return llvm::any_of(wait->getUsers(), [&](Operation *user) { return block.findAncestorOpInBlock(*user) == op; });
    };
    SmallVector<Value> tiles(wait.getTiles());
    bool passesStores = readsForProducer(wait);
    auto passes = [&](Operation *op) {
      return mayPass(op) || (passesStores && isa<ttg::AllocOp, ttg::FenceAsyncOp, ttg::StoreSharedOp, ttg::TmaStoreWaitOp>(op));
    };
    Operation *position = order.next(wait);
    for (; !position->hasTrait<OpTrait::IsTerminator>() && passes(position) && !reads(position); position = order.next(position))
      if (auto other = dyn_cast<ttg::MmaAsyncWaitOp>(position);
          other && planned.finalWait(other) == other && planned.pendingOf(other) <= pendingAt(tiles, other, order)) {
        for (const MmaEdge &edge : own)
          edges.push_back({edge.op, other, edge.distance});
        return;
      }
    order.moveBefore(wait, position);
    edges.append(own);
    if (Operation *computed = lastComputedTile(wait, planned)) edges.push_back({computed, wait, 0});
  }

  /// What is computed under the MMAs that the wait lets through, and used after it: the last such tile of numbers; null if there is
  /// none.
  Operation *lastComputedTile(ttg::MmaAsyncWaitOp wait, const MmaIntervals &planned) {
    for (Operation *op = order.previous(wait); op && !isa<ttg::MmaAsyncOp>(op); op = order.previous(op)) {
      if (auto other = dyn_cast<ttg::MmaAsyncWaitOp>(op); other && planned.finalWait(other) == other) return nullptr;
      if (isTileOfNumbers(op) &&
          llvm::any_of(op->getUsers(), [&](Operation *user) { return order.isBefore(wait, block.findAncestorOpInBlock(*user)); }))
        return op;
    }
    return nullptr;
  }

  scf::ForOp loop;
  Block &block;
  BlockOrder &order;
  const int64_t registers;
  const bool warpSpecialized;
  SmallVector<MmaEdge> edges;
};

} // namespace

SmallVector<MmaEdge> waitLate(scf::ForOp loop, BlockOrder &order, int64_t registers, bool warpSpecialized) {
  return LateWaits(loop, order, registers, warpSpecialized).run();
}

} // namespace tilewright::gpu
