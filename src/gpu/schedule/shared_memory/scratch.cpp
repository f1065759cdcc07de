#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/cost_model/exchange_cost.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/shared_memory/reduction_steps.h"
#include "gpu/tiles/cluster/split_k_in_cluster.h"

#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/ttg.h"
#include "ir/volatile_load.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace tilewright::gpu {

static ConversionPlan planWith(const Layout &from, const Layout &to, int64_t elementBits, MatrixInstructions available) {
  ConversionPlan plan;
  plan.kind = classifyConversion(from, to);
  if (plan.kind < Conversion::shuffle) return plan;
  // The choice does not depend on the target, so that the size is known without it.
  ScratchPlan scratch = optimalScratch(from, to, elementBits, {});
  if (plan.kind == Conversion::shuffle) {
    if (std::optional<ShufflePlan> shuffle = planShuffle(from, to))
      if (slotsOfShuffles(*shuffle, from, to, elementBits) <= slotsOfExchange(scratch)) {
        plan.shuffle = std::move(shuffle);
        return plan;
      }
  }
  plan.kind = Conversion::shared;
  bool hasMatrices = available.ldmatrix || available.stmatrix;
  plan.scratch = hasMatrices ? optimalScratch(from, to, elementBits, available) : std::move(scratch);
  return plan;
}

ConversionPlan planConversion(const Layout &from, const Layout &to, Type element, const GpuTarget &target) {
  return planWith(from, to, ttg::memoryBits(element), {.ldmatrix = true, .stmatrix = target.stmatrix});
}

static std::optional<MatrixPlan> ifWhole(std::optional<MatrixPlan> plan, Type element) {
  return plan && plan->matrices == 4 && !element.isInteger(1) ? plan : std::nullopt;
}

std::optional<MatrixPlan> matricesRead(const Layout &layout, const SharedLayout &shared, Type element) {
  return ifWhole(ldmatrixPlan(layout, shared), element);
}

std::optional<MatrixPlan> matricesWritten(const Layout &layout, const SharedLayout &shared, Type element, bool stmatrix) {
  if (!stmatrix || layout.freeMask(Axis::lane) || layout.freeMask(Axis::warp)) return std::nullopt;
  return ifWhole(stmatrixPlan(layout, shared), element);
}

/// Lanes and warps along the dimension first, registers where it is longer.
static Layout layoutAlong(const Layout &layout, int64_t dim) {
  size_t rank = layout.shape.size(), along = static_cast<size_t>(dim);
  Dims one(rank, 1), lanes(rank, 1), warps(rank, 1), order;
  int64_t lanesLeft = int64_t(1) << layout.bits(Axis::lane), warpsLeft = int64_t(1) << layout.bits(Axis::warp);
  order.push_back(dim);
  for (size_t i = rank; i-- > 0;)
    if (i != along) order.push_back(static_cast<int64_t>(i));
  for (int64_t i : order) {
    size_t d = static_cast<size_t>(i);
    lanes[d] = std::min(lanesLeft, layout.shape[d]);
    lanesLeft /= lanes[d];
  }
  for (size_t k = order.size(); k-- > 0;) {
    size_t d = static_cast<size_t>(order[k]);
    warps[d] = std::min(warpsLeft, layout.shape[d] / lanes[d]);
    warpsLeft /= warps[d];
  }
  // Threads beyond the tile hold copies.
  lanes[along] *= lanesLeft;
  warps[along] *= warpsLeft;
  return Layout::blocked(layout.shape, one, lanes, warps, order);
}

Layout scanLayout(const Layout &layout, int64_t dim) {
  return scanOrder(layout, dim) ? layout : layoutAlong(layout, dim);
}

Layout reductionLayout(const Layout &layout, int64_t dim) {
  return reductionPlan(layout, dim) ? layout : layoutAlong(layout, dim);
}

static int64_t conversionBytes(const Layout &from, const Layout &to, Type element) {
  int64_t bits = ttg::memoryBits(element);
  return planWith(from, to, bits, {}).kind == Conversion::shared ? elementCount(from.shape) * bits / 8 : 0;
}

/// What it costs to bring operands to the layout in which the work is done, and results to their own layouts, one by one.
template <typename Op> static int64_t conversionsAround(Op op, const Layout &working, const Layout &made) {
  int64_t bytes = 0;
  for (Value source : op.getSrcs())
    bytes = std::max(bytes, conversionBytes(ttg::layoutOf(source.getType()), working, getElementTypeOrSelf(source.getType())));
  for (Value result : op->getResults())
    if (auto tile = dyn_cast<RankedTensorType>(result.getType()))
      bytes = std::max(bytes, conversionBytes(made, ttg::layoutOf(tile), tile.getElementType()));
  return bytes;
}

/// Warps along the dimension write their partial values, one operand after the other.
static int64_t reductionBytes(tt::ReduceOp op) {
  std::optional<ReductionSteps> steps = reductionSteps(op);
  if (!steps) return 0;
  int64_t conversions = conversionsAround(op, steps->source, steps->result);
  return steps->plan.warpMask ? std::max(partialOffsets(op, *steps).back(), conversions) : conversions;
}

/// A warp's totals for the next warp: at most one for each thread and each run of registers.
static int64_t scanBytes(tt::ScanOp op) {
  Layout given = ttg::layoutOf(op.getSrcs().front().getType()), working = scanLayout(given, op.getAxis());
  int64_t threads = int64_t(1) << (working.bits(Axis::lane) + working.bits(Axis::warp));
  int64_t elements = 0, total = 0;
  if (std::optional<std::vector<AxisBit>> order = scanOrder(working, op.getAxis())) {
    bool crossesWarps = llvm::any_of(*order, [](const AxisBit &bit) { return bit.axis == Axis::warp; });
    int64_t run = 0; // elements that differ only in the lowest bits, which are registers, share a total
    while (run < static_cast<int64_t>(order->size()) && (*order)[static_cast<size_t>(run)].axis == Axis::reg)
      ++run;
    if (crossesWarps) elements = (working.registersPerThread() >> run) * threads;
  }
  for (Value source : op.getSrcs())
    total = (total + 7) / 8 * 8 + elements * ttg::memoryBits(source.getType()) / 8;
  return std::max(total, conversionsAround(op, working, working));
}

/// The result of one thread for those that hold copies of its element.
static int64_t atomicBytes(Operation *op, Type pointer) {
  if (op->getResult(0).use_empty()) return 0;
  auto tile = dyn_cast<RankedTensorType>(pointer);
  int64_t bytes = ttg::memoryBits(op->getResult(0).getType()) / 8;
  if (!tile) return bytes;
  Layout layout = ttg::layoutOf(tile);
  bool hasCopies = layout.freeMask(Axis::lane) || layout.freeMask(Axis::warp);
  return hasCopies ? tile.getNumElements() * bytes : 0;
}

int64_t scratchBytes(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](ttg::ConvertLayoutOp o) {
        return conversionBytes(ttg::layoutOf(o.getSrc().getType()), ttg::layoutOf(o.getType()), getElementTypeOrSelf(o.getType()));
      })
      .Case([](tt::ReduceOp o) { return reductionBytes(o); })
      .Case([](tt::ScanOp o) { return scanBytes(o); })
      .Case([](tt::GatherOp o) {
        Type indices = o.getIndices().getType();
        return std::max(ttg::bytesOfTile(o.getSrc().getType()),
                        conversionBytes(ttg::layoutOf(indices), ttg::layoutOf(o.getType()), getElementTypeOrSelf(indices)));
      })
      .Case([](tt::HistogramOp o) { return ttg::bytesOfTile(o.getType()); })
      .Case([](tt::CatOp o) {
        Layout half = ttg::layoutOf(o.getLhs().getType());
        return ttg::layoutOf(o.getType()) == half.concatenated(0) ? 0 : ttg::bytesOfTile(o.getType());
      })
      .Case([](ttg::ReadClusterOp o) {
        Layout layout = ttg::layoutOf(o.getSrc().getType());
        return ttg::memoryBits(o.getSrc().getType()) / 8 << (layout.bits(Axis::reg) + layout.bits(Axis::lane) + layout.bits(Axis::warp));
      })
      .Case([](tt::LoadOp o) { return tt::mayChangeMeanwhile(o) ? atomicBytes(o, o.getPtr().getType()) : 0; })
      .Case([](tt::AtomicRMWOp o) { return atomicBytes(o, o.getPtr().getType()); })
      .Case([](tt::AtomicCASOp o) { return atomicBytes(o, o.getPtr().getType()); })
      .Default([](Operation *) { return 0; });
}

ttg::ReadClusterOp nextOfSum(ttg::ReadClusterOp exchange) {
  if (!exchange.getPeer()) return {};
  for (Operation *op = exchange->getNextNode(); op && op->getNumRegions() == 0; op = op->getNextNode())
    if (auto next = dyn_cast<ttg::ReadClusterOp>(op)) return next.getPeer() ? next : ttg::ReadClusterOp();
  return {};
}

Operation *lastUseOfExchange(Operation *exchange) {
  if (ttg::ReadClusterOp next = nextOfSum(cast<ttg::ReadClusterOp>(exchange))) return lastUseOfExchange(next);
  if (scratchBytes(exchange) > maxReservedBytes) return exchange;
  for (Operation *op = exchange->getNextNode(); op; op = op->getNextNode())
    if (isa<ttg::ReadClusterOp, scf::ForOp, scf::WhileOp, scf::IfOp>(op) || op->hasTrait<OpTrait::IsTerminator>()) return op;
  return exchange;
}

} // namespace tilewright::gpu
