// The plan as attributes. Attention with two row groups:
//   scf.for { %s = ttg.mma_async %q, %k, %zeros {ttg.mma_plan = #ttg.mma_plan<early result <0>>}
//             %o = ttg.mma_async %p, %v, %scaled {ttg.mma_plan = #ttg.mma_plan<rescaled result <256> operand <0> parts [96, 128] ping_pong
//             true correction 0>} } {ttg.early_mmas = #ttg.early_mmas<interleaved>}
// The kernel has ttg.mma_partition = #ttg.mma_partition<chains columns 512 row_groups 2>. What the loops themselves say (which operands
// threads write, which barriers release copies) is found in them again.
#include "gpu/schedule/tensor_memory/mma_plan.h"

#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/partitions/backward_slice.h"

using namespace mlir;

namespace tilewright::gpu {

/// Fails if no warp of its own can issue the kernel's MMAs, however they depend on what threads compute.
static Result<void> checkMmaWarp(tt::FuncOp function) {
  if (!function->hasAttr(ttg::warpSpecializedName)) return Failure{"no warp of its own starts the copies"};
  if (function->hasAttr(ttg::operandRegistersName)) return Failure{"a partition computes an operand"};
  bool inLoops = true;
  function.walk([&](ttg::MmaAsyncOp mma) { inLoops &= isa<scf::ForOp>(mma->getParentOp()); });
  if (!inLoops) return Failure{"a dot stands outside a for loop"};
  llvm::SetVector<Operation *> loops = loopsWithMmas(function);
  if (loops.empty()) return Failure{"no loop has a dot"};
  auto program = BackwardSlice::ofWarp(function);
  for (Operation *loop : loops) {
    if (llvm::any_of(loops, [&](Operation *other) { return other->isProperAncestor(loop); }))
      return Failure{"a loop with dots is in another one"};
    program.keep(loop);
  }
  Result<LaunchGuards> guards = program.guardsToCompute();
  if (!guards) return Failure{"one warp alone cannot compute a loop's bounds, or a condition around a loop: " + guards.error()};
  return {};
}

Result<MmaPartitionPlan> planMmaPartition(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (Result<void> possible = checkMmaWarp(function); !possible) return Failure{possible.error()};
  Result<AccumulationPlan> accumulation = planAccumulation(function, config, target);
  if (accumulation) return MmaPartitionPlan(std::move(*accumulation));
  Result<ChainPlan> chains = planChains(function, config, target);
  if (chains) return MmaPartitionPlan(std::move(*chains));
  return Failure{accumulation.error() + "; " + chains.error()};
}

//===---------------------------------------------------------------------------------------------------------- attributes

using PlanAttribute = std::pair<Operation *, NamedAttribute>;

static ttg::TensorSpanAttr spanOf(MLIRContext *context, const TensorTile &tile) {
  return ttg::TensorSpanAttr::get(context, tile.column, tile.depth);
}

static ttg::MmaRole roleOf(const ChainedMma &mma) {
  auto ofSum =
      llvm::makeVisitor([](const LoadedSum &) { return ttg::MmaRole::late; }, [](const InPlaceSum &) { return ttg::MmaRole::in_place; },
                        [](const RescaledSum &) { return ttg::MmaRole::rescaled; });
  return mma.isEarly() ? ttg::MmaRole::early : std::visit(ofSum, mma.late()->sum);
}

static ttg::MmaPlanAttr attributeOf(MLIRContext *context, const ChainedMma &mma) {
  const TensorOperand *operand = mma.late() && mma.late()->operand ? &*mma.late()->operand : nullptr;
  const RescaledSum *sum = mma.late() ? std::get_if<RescaledSum>(&mma.late()->sum) : nullptr;
  return ttg::MmaPlanAttr::get(context, roleOf(mma), spanOf(context, mma.result),
                               operand ? spanOf(context, operand->tile) : ttg::TensorSpanAttr(),
                               operand ? ArrayRef(operand->partEnds) : ArrayRef<int32_t>(), operand && operand->pingPong,
                               sum && sum->factorBuffer ? std::optional<int64_t>(*sum->factorBuffer) : std::nullopt, std::nullopt);
}

static SmallVector<PlanAttribute> attributesOf(tt::FuncOp function, const AccumulationPlan &plan) {
  Builder b(function.getContext());
  auto partition = ttg::MmaPartitionAttr::get(b.getContext(), ttg::MmaPartitionKind::accumulation, plan.columns, 1);
  SmallVector<PlanAttribute> all{{function, b.getNamedAttr(ttg::mmaPartitionName, partition)}};
  for (const auto &[loop, its] : plan.loops)
    for (auto [mma, number] : its.mmas) {
      std::optional<int64_t> scales = its.scales ? std::optional(its.scales.first) : std::nullopt;
      ttg::TensorSpanAttr result = spanOf(b.getContext(), its.sums.at(number));
      auto made = ttg::MmaPlanAttr::get(b.getContext(), ttg::MmaRole::in_place, result, {}, {}, /*pingPong=*/false, std::nullopt, scales);
      all.emplace_back(mma, b.getNamedAttr(ttg::mmaPlanName, made));
    }
  return all;
}

static SmallVector<PlanAttribute> attributesOf(tt::FuncOp function, const ChainPlan &plan) {
  Builder b(function.getContext());
  auto partition = ttg::MmaPartitionAttr::get(b.getContext(), ttg::MmaPartitionKind::chains, plan.columns, plan.rowGroups);
  SmallVector<PlanAttribute> all{{function, b.getNamedAttr(ttg::mmaPartitionName, partition)}};
  for (const auto &[loop, its] : plan.loops) {
    all.emplace_back(loop, b.getNamedAttr(ttg::earlyMmasName, ttg::EarlyMmasAttr::get(b.getContext(), its.earlyMmas)));
    for (const ChainedMma &mma : its.mmas)
      all.emplace_back(ttg::MmaAsyncOp(mma.op), b.getNamedAttr(ttg::mmaPlanName, attributeOf(b.getContext(), mma)));
  }
  return all;
}

static SmallVector<PlanAttribute> attributesOf(tt::FuncOp function, const MmaPartitionPlan &plan) {
  return std::visit([&](const auto &each) { return attributesOf(function, each); }, plan);
}

void writeMmaPlan(tt::FuncOp function, const MmaPartitionPlan &plan) {
  for (auto [op, attribute] : attributesOf(function, plan))
    op->setAttr(attribute.getName(), attribute.getValue());
}

//===------------------------------------------------------------------------------------------------------------- reading

static Failure ofAnother() {
  return {"it is the plan of another kernel"};
}

static TensorTile at(TensorTile tile, ttg::TensorSpanAttr span) {
  return {tile.type, span.getDepth(), span.getColumn()};
}

static Result<void> read(AccumulationPlan &plan) {
  for (auto &[op, its] : plan.loops)
    for (auto [mma, number] : its.mmas) {
      auto made = mma->getAttrOfType<ttg::MmaPlanAttr>(ttg::mmaPlanName);
      if (!made) return ofAnother();
      its.sums[number] = at(sumTileOf(cast<RankedTensorType>(op->getResult(number).getType()), 1, plan.paired), made.getResult());
      its.scales.first = made.getScales().value_or(0);
    }
  return {};
}

/// Reads operand A of a late MMA, which may be in the columns of an early one's result.
static void readOperand(ChainLoop &its, ChainedMma &mma, ttg::MmaPlanAttr made) {
  TensorOperand &operand = *mma.late()->operand;
  int64_t column = made.getOperand().getColumn();
  auto *shared = llvm::find_if(its.mmas, [&](ChainedMma &each) { return each.isEarly() && each.result.column == column; });
  operand.sharesColumns = shared != its.mmas.end();
  operand.tile = at(operandTile(mma.operandInRegisters(), operand.sharesColumns ? &shared->result : nullptr), made.getOperand());
  operand.partEnds = SmallVector<int32_t>(made.getParts());
  operand.pingPong = made.getPingPong();
}

static Result<void> read(ChainPlan &plan, ChainLoop &its) {
  SmallVector<ttg::MmaPlanAttr> attributes;
  for (ChainedMma &mma : its.mmas) {
    auto made = mma.op->getAttrOfType<ttg::MmaPlanAttr>(ttg::mmaPlanName);
    bool hasOperand = mma.late() && mma.late()->operand;
    if (!made || bool(made.getOperand()) != hasOperand) return ofAnother();
    mma.result = at(tensorTileOf(mma.op.getType()), made.getResult());
    attributes.push_back(made);
  }
  for (auto [mma, made] : llvm::zip(its.mmas, attributes)) {
    if (made.getOperand()) readOperand(its, mma, made);
    if (!made.getCorrection()) continue;
    RescaledSum *sum = mma.scaledSum();
    auto number = static_cast<size_t>(*made.getCorrection());
    if (!sum || number > plan.factorBuffers.size()) return Failure{"a sum without factors is corrected"};
    sum->factorBuffer = number;
    if (number == plan.factorBuffers.size()) plan.factorBuffers.push_back(factorBufferOf(sum->factors));
  }
  return {};
}

static Result<MmaPartitionPlan> read(tt::FuncOp function, ttg::ConfigAttr config, ttg::MmaPartitionAttr made) {
  if (Result<void> possible = checkMmaWarp(function); !possible) return Failure{possible.error()};
  if (made.getKind() == ttg::MmaPartitionKind::accumulation) {
    Result<AccumulationPlan> plan = findAccumulation(function, config);
    if (!plan) return Failure{plan.error()};
    plan->columns = made.getColumns();
    if (Result<void> complete = read(*plan); !complete) return Failure{complete.error()};
    return MmaPartitionPlan(std::move(*plan));
  }
  Result<Chains> chains = findChains(function, config);
  if (!chains) return Failure{chains.error()};
  ChainPlan plan{std::move(*chains), made.getColumns(), made.getRowGroups(), {}};
  for (auto &[loop, its] : plan.loops) {
    auto early = loop->getAttrOfType<ttg::EarlyMmasAttr>(ttg::earlyMmasName);
    if (!early) return ofAnother();
    its.earlyMmas = early.getValue();
    if (Result<void> complete = read(plan, its); !complete) return Failure{complete.error()};
  }
  return MmaPartitionPlan(std::move(plan));
}

/// Fails unless the kernel can have the plan, and each attribute is the one that is written for it.
static Result<void> check(tt::FuncOp function, const MmaPartitionPlan &plan, const GpuTarget &target) {
  for (auto [op, attribute] : attributesOf(function, plan))
    if (op->getAttr(attribute.getName()) != attribute.getValue()) return ofAnother();
  return verify(plan, target);
}

FailureOr<MmaPartitionPlan> takeMmaPlan(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  auto made = function->getAttrOfType<ttg::MmaPartitionAttr>(ttg::mmaPartitionName);
  Result<MmaPartitionPlan> plan = read(function, config, made);
  Result<void> valid = plan ? check(function, *plan, target) : Failure{plan.error()};
  if (!valid) return function.emitError("ttg.mma_partition: ") << valid.error(), failure();
  for (auto [op, attribute] : attributesOf(function, *plan))
    op->removeAttr(attribute.getName());
  return std::move(*plan);
}

} // namespace tilewright::gpu
