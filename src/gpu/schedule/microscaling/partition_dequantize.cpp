// Where threads dequantize both operands of an MMA, all that tensor cores read is written to shared memory and read again, and no warp
// multiplies while all dequantize. A warpgroup of its own can dequantize the second operand, into a circular buffer, while two others
// dequantize the first one, which goes from their registers into the MMA:
//   before: for i { a = dequantize (copied a)    b = dequantize (copied b)    store a, b    fence    multiply    wait }
//   after:  warpgroups 0, 1:    for i { a = dequantize (copied a)   wait until b is made   multiply by registers   wait   arrive: read }
//           one more:           for i { b = dequantize (copied b)    store b    fence    arrive: b is made }
// Here the loop is rewritten as if all warps did all of it; what is the third warpgroup's is marked (`ttg.partition`), and
// specialize-warps splits it. Of a tile that the third one computes each thread holds whole rows along K, and warps 4 to 7 hold copies
// of what 0 to 3 hold.
//
// Registers of the first operand hold pairs of adjacent elements along K, eight numbers apart. So that a thread reads sixteen adjacent
// elements at a time, K is gone through in another order, by both operands (thread_value_groups.h). Of its rows one half is dequantized
// while MMAs of the other half run (operand_halves.h). The partition may load the scales of both (forwarded_scales.h). What the loop
// carries next to its sums is moved by carried_maxima.
#include "gpu/cost_model/hardware.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/microscaling/carried_maxima.h"
#include "gpu/schedule/microscaling/dequantize_candidate.h"
#include "gpu/schedule/microscaling/forwarded_scales.h"
#include "gpu/schedule/microscaling/operand_halves.h"
#include "gpu/schedule/microscaling/thread_value_groups.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/schedule/partitions/warp_specialization.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/slice.h"
#include "support/target.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Rewrites a loop that suits.
class Rewrite {
public:
  Rewrite(tt::FuncOp function, DequantizeCandidate &loop, ttg::ConfigAttr config)
      : function(function), c(loop), config(config), left(function), right(function), scales(loop, left, right), b(function.getContext()) {}

  /// Decides what is computed in which layout; false if that is not possible.
  bool plan() {
    auto rightTile = cast<RankedTensorType>(c.second.store.getSrc().getType());
    int64_t along = c.dimOf(c.second, 0);
    evenOddInterleave = !c.first.isCopied() && isOfSharedBytes(c.first.store.getSrc()) && isOfSharedBytes(c.second.store.getSrc());
    rowLayout = rowsOfThreads(ttg::shapeOf(rightTile), along);
    if (evenOddInterleave) std::swap(rowLayout.basesOf(Axis::reg)[0], rowLayout.basesOf(Axis::reg)[1]);
    if (!right.canMake(c.second.store.getSrc(), rowLayout)) return false;
    if (right.copied().size() != 1 || cast<ttg::DescriptorLoadOp>(right.copied().front()).getOrder()[0] != along) return false;
    if (c.first.isCopied()) return true;
    // Where a byte holds several numbers, dequantizing them is enough work for that warpgroup.
    auto copied = cast<RankedTensorType>(right.copied().front()->getResult(0).getType());
    if (copied.getNumElements() == rightTile.getNumElements()) scales.find(c.first.store.getSrc());
    auto leftTile = cast<RankedTensorType>(c.first.store.getSrc().getType());
    int64_t leftAlong = c.dimOf(c.first, 1);
    Layout operand = Layout::wgmmaOperandA(c.shapeOfFirst(), config.getWarps(), leftTile.getElementTypeBitWidth());
    if (leftAlong == 0) operand = operand.transposed({1, 0});
    operandLayout = Reorder(leftTile, leftAlong, evenOddInterleave).before(operand);
    if (!left.canMake(c.first.store.getSrc(), operandLayout) || left.copied().size() != 1) return false;
    return cast<ttg::DescriptorLoadOp>(left.copied().front()).getOrder()[0] == leftAlong;
  }

  /// Bytes of an iteration's scales that the partition loads for the consumers.
  int64_t bytesOfScales() const { return scales.bytes(); }

  void run() {
    ttg::relyOn(function, c.guards);
    Value dequantized = right.make(c.second.store.getSrc(), rowLayout);
    b.setInsertionPoint(c.second.store);
    scales.store(b);
    if (!c.first.isCopied()) {
      dequantized = Reorder(cast<RankedTensorType>(dequantized.getType()), c.dimOf(c.second, 0), evenOddInterleave).apply(b, dequantized);
      multiplyByHalves(c, left, operandLayout, evenOddInterleave);
    }
    c.second.store.getSrcMutable().assign(dequantized);
    for (Operation *op : {c.second.store.getOperation(), c.fence})
      markOperandPartition(op);
    c.loop = carryMaxima(c.loop, left, right);
    ttg::eraseDead(function);
    int64_t registers = scales.empty() ? dequantizeRegisters : loaderRegisters;
    function->setAttr(ttg::operandRegistersName, b.getI32IntegerAttr(static_cast<int32_t>(registers)));
  }

private:
  /// True if the tile is computed from small numbers that share bytes along K: every second one of them is dequantized faster.
  bool isOfSharedBytes(Value tile) {
    return tt::dependsOn(tile, [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != c.loop.getBody()) return tt::Search::skip;
      auto unpack = dyn_cast<ttg::UnpackE2m1Op>(op);
      return unpack && unpack.getSmall() ? tt::Search::found : tt::Search::follow;
    });
  }

  tt::FuncOp function;
  DequantizeCandidate &c;
  ttg::ConfigAttr config;
  Relayout left, right;
  ForwardedScales scales;
  bool evenOddInterleave = false; ///< which elements registers hold
  Layout rowLayout, operandLayout;
  OpBuilder b;
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
    if (!rewrite.plan()) continue;
    // The circular buffers must fit, what is copied and what is made of it.
    int64_t bytes = rewrite.bytesOfScales();
    loop.walk([&](ttg::DescriptorLoadOp load) { bytes += ttg::bytesOfTile(load.getType()); });
    ttg::AllocOp dequantized = candidate.second.alloc;
    int64_t depth =
        llvm::divideCeil(minDequantizedStages * (bytes + dequantized.getType().paddedTileBytes()), dequantized.getType().paddedTileBytes());
    if (planShared(function, {{dequantized, depth, loop}}).bytes > target.sharedBytes) continue;
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
