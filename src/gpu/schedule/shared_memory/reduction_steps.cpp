#include "gpu/schedule/shared_memory/reduction_steps.h"
#include "gpu/cost_model/reduction_cost.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/kernel_target.h"
#include "gpu/ttg/ttg.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>

using namespace mlir;

namespace tilewright::gpu {

constexpr uint64_t allLanes = (uint64_t(1) << laneBits) - 1;

static int64_t operationsOf(tt::ReduceOp op) {
  return llvm::range_size(op.getCombineOp().front().without_terminator());
}

/// True if the operation combines two values by one commutative operation.
static bool isCommutative(tt::ReduceOp op) {
  Block &region = op.getCombineOp().front();
  Operation &first = region.front();
  return region.getNumArguments() == 2 && operationsOf(op) == 1 && first.hasTrait<OpTrait::IsCommutative>() &&
         (llvm::equal(first.getOperands(), region.getArguments()) ||
          llvm::equal(llvm::reverse(first.getOperands()), region.getArguments())) &&
         region.getTerminator()->getOperands() == first.getResults();
}

/// Lane bits that hold copies.
static uint64_t copiesIn(const Layout &layout) {
  uint64_t mask = 0;
  for (int64_t bit = 0; bit < laneBits; ++bit)
    if (layout.basesOf(Axis::lane)[static_cast<size_t>(bit)] == 0) mask |= uint64_t(1) << bit;
  return mask;
}

/// The instruction that combines an i32 of each lane of the mask, if these are all lanes of a warp.
static std::optional<ptx::Redux> reduxOf(tt::ReduceOp op, uint64_t laneMask) {
  std::optional<GpuTarget> target = ttg::targetOf(op);
  if (!target || !target->redux || laneMask != allLanes || !isCommutative(op) ||
      !getElementTypeOrSelf(op.getSrcs().front().getType()).isInteger(32))
    return std::nullopt;
  return llvm::TypeSwitch<Operation &, std::optional<ptx::Redux>>(op.getCombineOp().front().front())
      .Case<arith::AddIOp>([](auto) { return ptx::Redux::add; })
      .Case<arith::MaxSIOp>([](auto) { return ptx::Redux::max; })
      .Case<arith::MinSIOp>([](auto) { return ptx::Redux::min; })
      .Case<arith::MaxUIOp>([](auto) { return ptx::Redux::umax; })
      .Case<arith::MinUIOp>([](auto) { return ptx::Redux::umin; })
      .Case<arith::AndIOp>([](auto) { return ptx::Redux::and_; })
      .Case<arith::OrIOp>([](auto) { return ptx::Redux::or_; })
      .Case<arith::XOrIOp>([](auto) { return ptx::Redux::xor_; })
      .Default([](Operation &) { return std::nullopt; });
}

/// Adds a first dimension that runs along no bit yet.
static Layout withParts(Layout layout, int64_t parts) {
  layout.shape.insert(layout.shape.begin(), parts);
  return layout;
}

/// How the partial values are written, and how they are read. Lanes with copies of a result share what there is to combine, if that pays:
/// each has some of the registers, or some of the parts. Otherwise every lane reads all parts.
static void planParts(ReductionSteps &steps, const Layout &wanted, const Combination &combination) {
  int64_t bits = std::popcount(steps.plan.warpMask), parts = int64_t(1) << bits;
  uint32_t part = uint32_t(1) << wanted.elementBits();
  steps.writtenLayout = withParts(steps.result, parts);
  for (int64_t warp = 0, next = 0; warp < steps.writtenLayout.bits(Axis::warp); ++warp)
    if (steps.plan.warpMask >> warp & 1) steps.writtenLayout.basesOf(Axis::warp)[static_cast<size_t>(warp)] = part << next++;
  bool isShared = steps.argInWarps || paysToShareParts(parts, combination);
  steps.result = isShared && !steps.argInWarps ? wanted.withRegistersInLanes(copiesIn(wanted)) : wanted;
  steps.readLayout = withParts(steps.result, parts);
  uint64_t copies = isShared ? copiesIn(steps.result) : 0;
  int64_t next = 0;
  for (int64_t lane = 0; lane < laneBits && next < bits; ++lane)
    if (copies >> lane & 1) steps.readLayout.basesOf(Axis::lane)[static_cast<size_t>(lane)] = part << next++;
  for (; next < bits; ++next)
    steps.readLayout.basesOf(Axis::reg).push_back(part << next);
}

std::optional<ReductionSteps> reductionSteps(tt::ReduceOp op) {
  ReductionSteps steps;
  int64_t dim = op.getAxis();
  steps.source = reductionLayout(ttg::layoutOf(op.getSrcs().front().getType()), dim);
  std::optional<ReductionPlan> plan = reductionPlan(steps.source, dim);
  if (!plan) return std::nullopt;
  steps.plan = *plan;
  std::optional<ArgReduction> arg = argReduction(op);
  steps.isSymmetric = arg ? arg->isSymmetric : isCommutative(op);
  if (copiesIn(plan->result) == allLanes) steps.argInWarps = arg;
  steps.redux = reduxOf(op, plan->laneMask);
  Combination combination{static_cast<int64_t>(op.getSrcs().size()), operationsOf(op), steps.isSymmetric};
  steps.recursiveHalving = !steps.argInWarps && !steps.redux && paysToHalve(*plan, combination);
  steps.shuffles = steps.redux ? 0 : shufflesOf(*plan, combination.values, steps.recursiveHalving);
  steps.result = steps.recursiveHalving ? plan->result.withRegistersInLanes(plan->laneMask) : plan->result;
  if (!plan->warpMask) return steps;
  Type type = op->getResult(0).getType();
  bool isTile = isa<RankedTensorType>(type) && (!steps.argInWarps || copiesIn(ttg::layoutOf(type)) == allLanes);
  planParts(steps, isTile ? ttg::layoutOf(type) : plan->result, combination);
  std::optional<ReductionPlan> partPlan = reductionPlan(steps.readLayout, 0);
  if (!partPlan) return std::nullopt;
  steps.partPlan = *partPlan;
  steps.partRedux = reduxOf(op, partPlan->laneMask);
  return steps;
}

std::optional<std::string> verifyReduction(const ReductionSteps &steps) {
  if (!steps.source.isSurjective() || !steps.result.isSurjective()) return "a result is not computed";
  if (!steps.plan.warpMask) return {};
  if (steps.writtenLayout.shape != steps.readLayout.shape) return "other partial values are read than written";
  if (!steps.writtenLayout.isSurjective()) return "a partial value is not written";
  std::optional<ReductionPlan> written = reductionPlan(steps.writtenLayout, 0);
  if (!written || written->registerMask || written->laneMask || written->warpMask != steps.plan.warpMask)
    return "two warps write one partial value";
  if (!steps.readLayout.isSurjective() || steps.partPlan.warpMask) return "a thread does not read all partial values";
  if (steps.partPlan.result != steps.result) return "a thread reads partial values of other results";
  return {};
}

std::vector<int64_t> partialOffsets(tt::ReduceOp op, const ReductionSteps &steps) {
  std::vector<int64_t> offsets = {0};
  for (Value source : op.getSrcs()) {
    int64_t bytes = elementCount(steps.writtenLayout.shape) * ttg::memoryBits(source.getType()) / 8;
    offsets.push_back((offsets.back() + bytes + maxAccessBytes - 1) / maxAccessBytes * maxAccessBytes);
  }
  return offsets;
}

} // namespace tilewright::gpu
