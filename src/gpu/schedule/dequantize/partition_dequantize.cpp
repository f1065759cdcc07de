// Where threads dequantize both operands of an MMA, all that tensor cores read is written to shared memory and read again, and no warp
// multiplies while all dequantize. A partition, a warp group of its own, can dequantize the second operand, into a circular buffer. Two
// consumer warp groups then dequantize the first one, which goes from their registers into the MMA:
//   before: for i { a = dequantize (copied a)    b = dequantize (copied b)    store a, b    fence    multiply    wait }
//   after:  consumers:  for i { a = dequantize (copied a)   wait until b is made   multiply by registers   wait   arrive: read }
//           partition:  for i { b = dequantize (copied b)    store b    fence    arrive: b is made }
// Here the loop is rewritten as if all warps did all of it. The partition's operations are marked (`ttg.partition`), and specialize-warps
// moves them. Of a tile that the partition computes, each thread holds whole rows along K, and warps 4 to 7 hold copies of warps 0 to 3.
//
// Registers of the first operand hold pairs of adjacent elements along K, eight elements apart. So that a thread reads sixteen adjacent
// elements at a time, both operands use another order of K (k_order.h). Half of the first operand's rows are dequantized while MMAs of the
// other half run (operand_halves.h). The partition may load the scales of both (forwarded_scales.h), and reduce them
// (carried_reductions.h). All of it is planned before the first change.
#include "gpu/cost_model/hardware.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/dequantize/carried_reductions.h"
#include "gpu/schedule/dequantize/dequantize_candidate.h"
#include "gpu/schedule/dequantize/forwarded_scales.h"
#include "gpu/schedule/dequantize/k_order.h"
#include "gpu/schedule/dequantize/operand_halves.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/schedule/partitions/warp_specialization.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/slice.h"
#include "support/target.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Rewrites a candidate.
class Rewrite {
public:
  Rewrite(tt::FuncOp function, DequantizeCandidate &loop, ttg::ConfigAttr config)
      : function(function), c(loop), config(config), byConsumers(function), byPartition(function), scales(loop, byConsumers, byPartition),
        reductions(byConsumers, byPartition) {}

  /// Decides what is computed in which layout. Returns false if that is not possible, or does not fit in shared memory.
  bool plan(const GpuTarget &target) {
    evenOddInterleave = !c.first.isCopied() && unpacksPairs(c.first.store.getSrc()) && unpacksPairs(c.second.store.getSrc());
    if (!planSecond() || (!c.first.isCopied() && !planFirst())) return false;
    reductions.plan(c.loop);
    return fits(target);
  }

  void run() {
    OpBuilder b(c.second.store);
    ttg::relyOn(function, c.guards);
    Value dequantized = byPartition.make(c.second.store.getSrc(), rowLayout);
    scales.store(b);
    if (!c.first.isCopied()) {
      dequantized = KOrder(cast<RankedTensorType>(dequantized.getType()), c.dimOf(c.second, 0), evenOddInterleave).apply(b, dequantized);
      multiplyByHalves(c, byConsumers, operandLayout, evenOddInterleave);
    }
    c.second.store.getSrcMutable().assign(dequantized);
    markOperandPartition(c.second.store);
    markOperandPartition(c.fence);
    c.loop = reductions.move(c.loop);
    ttg::eraseDead(function);
    int64_t registers = scales.empty() ? dequantizeRegisters : loaderRegisters;
    function->setAttr(ttg::operandRegistersName, b.getI32IntegerAttr(static_cast<int32_t>(registers)));
  }

private:
  /// True if the tile is computed from small numbers, two of which share a byte along K: even and odd ones are dequantized apart.
  bool unpacksPairs(Value tile) {
    return tt::dependsOn(tile, [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != c.loop.getBody()) return tt::Search::skip;
      auto unpack = dyn_cast<ttg::UnpackE2m1Op>(op);
      return unpack && unpack.getSmall() ? tt::Search::found : tt::Search::follow;
    });
  }

  /// True if the operand is computed from one copied tile, contiguous along dimension `along`, that the loop does not use otherwise.
  static bool hasOwnCopy(const Relayout &operand, ttg::StoreSharedOp store, int64_t along) {
    ttg::DescriptorLoadOp copy = operand.copiedLoad();
    return copy && copy.getOrder()[0] == along && !tt::reaches(copy, [&](OpOperand &use) {
             Operation *user = use.getOwner();
             if (user == store) return tt::Search::skip;
             return user->getNumResults() != 0 && isMemoryEffectFree(user) ? tt::Search::follow : tt::Search::found;
           });
  }

  /// Plans the second operand, by rows of the partition's threads.
  bool planSecond() {
    Value tile = c.second.store.getSrc();
    int64_t along = c.dimOf(c.second, 0);
    rowLayout = rowsOfThreads(ttg::shapeOf(tile.getType()), along);
    if (evenOddInterleave) std::swap(rowLayout.basesOf(Axis::reg)[0], rowLayout.basesOf(Axis::reg)[1]);
    return byPartition.plan(tile, rowLayout) && hasOwnCopy(byPartition, c.second.store, along);
  }

  /// Plans the first operand, in the registers of the consumers. Where a byte holds several numbers, dequantizing the second operand is
  /// enough work for the partition; otherwise it loads the scales of both.
  bool planFirst() {
    auto tile = cast<RankedTensorType>(c.first.store.getSrc().getType());
    auto copied = cast<RankedTensorType>(byPartition.copiedLoad().getType());
    if (copied.getNumElements() == cast<RankedTensorType>(c.second.store.getSrc().getType()).getNumElements())
      scales.plan(c.first.store.getSrc());
    int64_t along = c.dimOf(c.first, 1);
    Layout operand = Layout::wgmmaOperandA(c.shapeOfFirst(), config.getWarps(), tile.getElementTypeBitWidth());
    if (along == 0) operand = operand.transposed({1, 0});
    operandLayout = KOrder(tile, along, evenOddInterleave).before(operand);
    return byConsumers.plan(c.first.store.getSrc(), operandLayout) && hasOwnCopy(byConsumers, c.first.store, along);
  }

  /// True if enough stages fit, planned as one buffer: of what is copied, what is made of it, and the forwarded scales. What the partition
  /// forwards after the loop stays in use all the time.
  bool fits(const GpuTarget &target) {
    int64_t bytes = scales.bytes(), dequantized = c.second.alloc.getType().paddedTileBytes();
    c.loop.walk([&](ttg::DescriptorLoadOp load) { bytes += ttg::bytesOfTile(load.getType()); });
    int64_t depth = llvm::divideCeil(minDequantizedStages * (bytes + dequantized), dequantized);
    return planShared(function, {{c.second.alloc, depth, c.loop}}).bytes + reductions.bytes() <= target.sharedBytes;
  }

  tt::FuncOp function;
  DequantizeCandidate &c;
  ttg::ConfigAttr config;
  Relayout byConsumers, byPartition;
  ForwardedScales scales;
  CarriedReductions reductions;
  bool evenOddInterleave = false;  ///< the order of K in registers
  Layout rowLayout, operandLayout; ///< of the second operand in the partition, of the first one in the consumers
};
} // namespace

/// Partitions the first loop of the kernel in which that pays.
static void partitionDequantize(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (!target.wgmma || config.getWarps() != 2 * warpsOfGroup || config.getCtas() != 1) return;
  if (warpSpecializationObstacle(function, config, target) || mayLearnOfWrites(function)) return;
  if (function.walk([](scf::WhileOp) { return WalkResult::interrupt(); }).wasInterrupted()) return;
  SmallVector<scf::ForOp> loops(function.getBody().getOps<scf::ForOp>());
  for (scf::ForOp tiles : SmallVector<scf::ForOp>(loops))
    llvm::append_range(loops, tiles.getBody()->getOps<scf::ForOp>());
  for (scf::ForOp loop : loops) {
    DequantizeCandidate candidate(loop, config, target);
    if (!candidate.match()) continue;
    Rewrite rewrite(function, candidate, config);
    if (!rewrite.plan(target)) continue;
    rewrite.run();
    return;
  }
}

LogicalResult partitionDequantize(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    partitionDequantize(function, config, target);
    return success();
  });
}

} // namespace tilewright::gpu
