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
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/dequantize/carried_reductions.h"
#include "gpu/schedule/dequantize/dequantize_candidate.h"
#include "gpu/schedule/dequantize/forwarded_scales.h"
#include "gpu/schedule/dequantize/k_order.h"
#include "gpu/schedule/dequantize/operand_halves.h"
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/schedule/partitions/warp_specialization.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/explanation.h"
#include "ir/slice.h"
#include "support/gpu_hardware.h"
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

  /// Decides what is computed in which layout, or returns the reason why that is not possible.
  Result<void> plan(const GpuTarget &target) {
    evenOddInterleave = !c.first.isCopied() && unpacksPairs(c.first.store.getSrc()) && unpacksPairs(c.second.store.getSrc());
    if (!planSecond()) return Failure{"its second operand is not computed from one tile that TMA copies for it alone"};
    if (!c.first.isCopied() && !planFirst()) return Failure{"its first operand is not computed from one tile that TMA copies for it alone"};
    reductions.plan(c.loop);
    return fits(target) ? Result<void>() : Failure{countText(minDequantizedStages, "stage") + " do not fit in shared memory"};
  }

  /// The plan, for people.
  std::string describe() const {
    std::string text = "a partition dequantizes the second operand";
    if (!c.first.isCopied()) text += ", and the consumers the first one, half of their rows at a time";
    if (evenOddInterleave) text += "; both in an order of K with even and odd elements apart";
    if (!scales.empty()) text += "; the partition loads the scales of both";
    return reductions.bytes() == 0 ? text : text + "; it reduces scales, and stores the result for the consumers";
  }

  void run() {
    ttg::remark(function, "partition-dequantize", c.loop.getLoc(), describe());
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
    // A release of their own for the copies does not pay if numbers are unpacked and scales reduced (docs/heuristics.md, Decisions without
    // a number).
    if (!unpacks || !reducesTiles(c.loop)) c.loop->setAttr(ttg::releasesCopiesName, b.getUnitAttr());
  }

private:
  /// True if a byte of the copied tile holds several elements of what is computed from it.
  static bool holdsSeveral(const Relayout &operand, ttg::StoreSharedOp store) {
    auto copied = cast<RankedTensorType>(operand.copiedLoad().getType());
    return copied.getNumElements() < cast<RankedTensorType>(store.getSrc().getType()).getNumElements();
  }

  /// True if the tile is computed from small numbers, two of which share a byte along K: even and odd ones are dequantized apart.
  bool unpacksPairs(Value tile) {
    return isComputedFrom(tile, c.loop.getBody(), [](Operation *op) {
      auto unpack = dyn_cast<ttg::UnpackE2m1Op>(op);
      return unpack && unpack.getSmall();
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
    if (!byPartition.plan(tile, rowLayout) || !hasOwnCopy(byPartition, c.second.store, along)) return false;
    unpacks = holdsSeveral(byPartition, c.second.store);
    return true;
  }

  /// Plans the first operand, in the registers of the consumers. Where a byte holds several numbers, dequantizing the second operand is
  /// enough work for the partition; otherwise it loads the scales of both.
  bool planFirst() {
    auto tile = cast<RankedTensorType>(c.first.store.getSrc().getType());
    if (!unpacks) scales.plan(c.first.store.getSrc());
    int64_t along = c.dimOf(c.first, 1);
    Layout operand = Layout::wgmmaOperandA(c.shapeOfFirst(), config.getWarps(), ttg::elementBits(tile));
    if (along == 0) operand = operand.transposed({1, 0});
    operandLayout = KOrder(tile, along, evenOddInterleave).before(operand);
    if (!byConsumers.plan(c.first.store.getSrc(), operandLayout) || !hasOwnCopy(byConsumers, c.first.store, along)) return false;
    unpacks |= holdsSeveral(byConsumers, c.first.store);
    return true;
  }

  /// True if enough stages fit, planned as one buffer: of what is copied, what is made of it, and the forwarded scales. What the partition
  /// forwards after the loop stays in use all the time.
  bool fits(const GpuTarget &target) {
    int64_t bytes = scales.bytes(), dequantized = c.second.alloc.getType().paddedTileBytes();
    c.loop.walk([&](ttg::DescriptorLoadOp load) { bytes += ttg::bytesOfTile(load.getType()); });
    int64_t depth = llvm::divideCeil(minDequantizedStages * (bytes + dequantized), dequantized);
    return SharedPlanner(function).plan({{c.second.alloc, depth, c.loop}}).bytes + reductions.bytes() <= target.sharedBytes;
  }

  tt::FuncOp function;
  DequantizeCandidate &c;
  ttg::ConfigAttr config;
  Relayout byConsumers, byPartition;
  ForwardedScales scales;
  CarriedReductions reductions;
  bool evenOddInterleave = false;  ///< the order of K in registers
  bool unpacks = false;            ///< a byte of a copied operand holds several elements
  Layout rowLayout, operandLayout; ///< of the second operand in the partition, of the first one in the consumers
};
} // namespace

/// Checks what the partition needs of the kernel, whatever its loops are.
static Result<void> checkKernel(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (config.getWarps() != 2 * warpsOfGroup || config.getCtas() != 1)
    return Failure{"it needs " + countText(2 * warpsOfGroup, "warp") + " in one CTA"};
  if (std::optional<std::string> obstacle = warpSpecializationObstacle(function, config, target)) return Failure{*obstacle};
  if (contains(function, ProgramOrder::waits | ProgramOrder::learnsWrites)) return Failure{"the kernel may wait for other programs"};
  return {};
}

/// Partitions the loop, or returns the reason why not.
static Result<void> partition(tt::FuncOp function, scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target) {
  Result<DequantizeCandidate> candidate = matchDequantize(loop, config, target);
  if (!candidate) return Failure{candidate.error()};
  Rewrite rewrite(function, *candidate, config);
  Result<void> planned = rewrite.plan(target);
  if (planned) rewrite.run();
  return planned;
}

/// Partitions the first loop of the kernel in which that pays. If there is none, remarks why no partition dequantizes what threads upcast.
static void partitionDequantize(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (!target.wgmma) return;
  SmallVector<scf::ForOp> loops(function.getBody().getOps<scf::ForOp>());
  for (scf::ForOp tiles : SmallVector<scf::ForOp>(loops))
    llvm::append_range(loops, tiles.getBody()->getOps<scf::ForOp>());
  Result<void> suits = checkKernel(function, config, target);
  SmallVector<std::pair<Location, std::string>> reasons;
  for (scf::ForOp loop : loops) {
    Result<void> done = suits ? partition(function, loop, config, target) : suits;
    if (done) return;
    if (upcastsOperand(loop)) reasons.push_back({loop.getLoc(), "no dequantize partition: " + done.error()});
  }
  for (const auto &[location, reason] : reasons)
    ttg::remark(function, "partition-dequantize", location, reason);
}

LogicalResult partitionDequantize(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    partitionDequantize(function, config, target);
    return success();
  });
}

} // namespace tilewright::gpu
