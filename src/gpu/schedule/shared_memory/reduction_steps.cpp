#include "gpu/schedule/shared_memory/reduction_steps.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/tiles/arg_reduction.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/ttg.h"
#include "support/gpu_hardware.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>

using namespace mlir;

namespace tilewright::gpu {

constexpr uint64_t allLanes = (uint64_t(1) << laneBits) - 1;

static int64_t operationsOf(tt::ReduceOp op) {
  return llvm::range_size(op.getCombineOp().front().without_terminator());
}

bool isCommutative(tt::ReduceOp op) {
  Block &region = op.getCombineOp().front();
  Operation &first = region.front();
  return region.getNumArguments() == 2 && operationsOf(op) == 1 && first.hasTrait<OpTrait::IsCommutative>() &&
         llvm::equal(first.getOperands(), region.getArguments()) && region.getTerminator()->getOperands() == first.getResults();
}

/// Lane bits that hold copies.
static uint64_t copiesIn(const Layout &layout) {
  uint64_t mask = 0;
  for (int64_t bit = 0; bit < laneBits; ++bit)
    if (layout.basesOf(Axis::lane)[static_cast<size_t>(bit)] == 0) mask |= uint64_t(1) << bit;
  return mask;
}

/// The cost of combining lanes in so many steps, and of giving all lanes all results after recursive halving.
static int64_t laneCost(tt::ReduceOp op, int64_t registers, int64_t steps, bool halves) {
  constexpr int64_t selects = 2; // of what is sent and kept, or of what is first and second
  int64_t values = static_cast<int64_t>(op.getSrcs().size()), operations = operationsOf(op);
  int64_t exchange = values * shuffleCost, choice = halves || !isCommutative(op) ? values * selects : 0, cost = 0;
  if (halves) cost += dependentShuffleLatency + registers * exchange;
  for (int64_t step = 0; step < steps; ++step) {
    if (halves && registers > 1)
      registers /= 2;
    else if (halves && isCommutative(op))
      choice = 0;
    cost += registers * (exchange + choice + operations);
  }
  return cost;
}

/// True if one instruction may reduce a register over all lanes.
static bool isOneInstruction(tt::ReduceOp op, const ReductionPlan &plan) {
  return plan.laneMask == allLanes && isCommutative(op) && getElementTypeOrSelf(op.getSrcs()[0].getType()).isInteger(32);
}

static bool paysToHalve(tt::ReduceOp op, const ReductionPlan &plan) {
  int64_t registers = plan.result.registersPerThread(), steps = std::popcount(plan.laneMask);
  if (registers == 1 || !steps || plan.result.freeMask(Axis::reg) || isOneInstruction(op, plan)) return false;
  return plan.warpMask || laneCost(op, registers, steps, true) < laneCost(op, registers, steps, false);
}

/// Adds a first dimension that runs along no bit yet.
static Layout withParts(Layout layout, int64_t parts) {
  layout.shape.insert(layout.shape.begin(), parts);
  return layout;
}

/// How the partial values are written, and how they are read. Lanes with copies of a result share what there is to combine, if that takes
/// many operations: each has some of the registers, or some of the parts. Otherwise every lane reads all parts, because loads from shared
/// memory overlap, and dependent shuffles do not.
static void planParts(tt::ReduceOp op, ReductionSteps &steps, const Layout &wanted) {
  int64_t bits = std::popcount(steps.plan.warpMask), parts = int64_t(1) << bits;
  uint32_t part = uint32_t(1) << wanted.elementBits();
  steps.written = withParts(steps.result, parts);
  for (int64_t warp = 0, next = 0; warp < steps.written.bits(Axis::warp); ++warp)
    if (steps.plan.warpMask >> warp & 1) steps.written.basesOf(Axis::warp)[static_cast<size_t>(warp)] = part << next++;
  bool isShared = steps.inWarps || parts * operationsOf(op) >= minCombinedOperations;
  steps.result = isShared && !steps.inWarps && !wanted.freeMask(Axis::reg) ? wanted.withRegistersInLanes(copiesIn(wanted)) : wanted;
  steps.read = withParts(steps.result, parts);
  uint64_t copies = isShared ? copiesIn(steps.result) : 0;
  int64_t next = 0;
  for (int64_t lane = 0; lane < laneBits && next < bits; ++lane)
    if (copies >> lane & 1) {
      steps.read.basesOf(Axis::lane)[static_cast<size_t>(lane)] = part << next++;
      steps.partLanes |= uint64_t(1) << lane;
    }
  for (; next < bits; ++next) {
    steps.partRegisters |= uint64_t(1) << steps.read.bits(Axis::reg);
    steps.read.basesOf(Axis::reg).push_back(part << next);
  }
}

std::optional<ReductionSteps> reductionSteps(tt::ReduceOp op) {
  ReductionSteps steps;
  int64_t dim = op.getAxis();
  steps.source = reductionLayout(ttg::layoutOf(op.getSrcs().front().getType()), dim);
  std::optional<ReductionPlan> plan = reductionPlan(steps.source, dim);
  if (!plan) return std::nullopt;
  steps.plan = *plan;
  steps.inWarps = copiesIn(plan->result) == allLanes && argReduction(op);
  steps.halves = !steps.inWarps && paysToHalve(op, *plan);
  steps.result = steps.halves ? plan->result.withRegistersInLanes(plan->laneMask) : plan->result;
  if (plan->warpMask) {
    Type type = op->getResult(0).getType();
    bool isTile = isa<RankedTensorType>(type) && (!steps.inWarps || copiesIn(ttg::layoutOf(type)) == allLanes);
    planParts(op, steps, isTile ? ttg::layoutOf(type) : plan->result);
  }
  return steps;
}

std::vector<int64_t> partialOffsets(tt::ReduceOp op, const ReductionSteps &steps) {
  std::vector<int64_t> offsets = {0};
  for (Value source : op.getSrcs()) {
    int64_t bytes = elementCount(steps.written.shape) * ttg::memoryBits(source.getType()) / 8;
    offsets.push_back((offsets.back() + bytes + maxAccessBytes - 1) / maxAccessBytes * maxAccessBytes);
  }
  return offsets;
}

} // namespace tilewright::gpu
