#include "gpu/schedule/tensor_memory/chained_dots/chained_plan.h"

#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "gpu/ttg/element_sizes.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tilewright::gpu {

TensorTile operandTile(RankedTensorType operand, const TensorTile *shared) {
  if (!shared) return tensorTileOf(operand);
  auto type =
      ttg::TensorMemoryType::get(operand.getContext(), operand.getShape(), operand.getElementType(), shared->type.getBlockColumns());
  return {type, shared->depth, shared->column};
}

ttg::BufferType factorBufferOf(Value factors) {
  auto type = cast<RankedTensorType>(factors.getType());
  auto layout = SharedLayout::rowMajor(ttg::shapeOf(type), ttg::elementBits(type), {0});
  return ttg::BufferType::get(factorTiles, type.getElementType(), layout);
}

int64_t partStepOf(RankedTensorType operand) {
  return std::max(8 * mmaDepthBytes, registersOfStoredPart * registerBits) / ttg::elementBits(operand);
}

namespace {

/// True if threads compute operand A from special functions of as many elements.
bool computesSpecialFunctions(ChainedMma &mma) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getBlock() == mma.op->getBlock(); };
  (void)getBackwardSlice(mma.op.getA(), &slice, options);
  return llvm::any_of(slice, [&](Operation *op) {
    auto tile = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
    return isa<math::MathDialect>(op->getDialect()) && tile && tile.getShape() == mma.operandInRegisters().getShape();
  });
}

class ChainPlanner {
public:
  ChainPlanner(tt::FuncOp function, const GpuTarget &target, Chains chains)
      : function(function), target(target), plan{std::move(chains), 0, 1, {}} {}

  Result<ChainPlan> run() {
    // One group computes while another one's MMAs run.
    if (int64_t groups = plan.warps / warpsOfGroup; plan.haveRowGroups(groups)) plan.rowGroups = groups;
    if (!placeResults()) return Failure{"the results do not fit in tensor memory"};
    choosePingPong();
    chooseParts();
    planCorrection();
    return std::move(plan);
  }

private:
  //===--------------------------------------------------------------------------------------------------- tensor memory

  using Sharing = llvm::SmallPtrSet<const ChainedMma *, 4>; ///< early MMAs in whose columns an operand is

  /// Returns an early MMA in the columns of whose result an operand can be: threads have loaded that before, and a warp stores to the rows
  /// that it has loaded. Null if there is none.
  const ChainedMma *resultToShare(ChainLoop &its, ChainedMma &mma, const Sharing &taken) const {
    RankedTensorType operand = mma.operandInRegisters();
    const auto *found = llvm::find_if(its.mmas, [&](ChainedMma &each) {
      auto *early = std::get_if<EarlyMma>(&each.kind);
      RankedTensorType result = each.resultType();
      bool fits = operand.getDimSize(0) == result.getDimSize(0) &&
                  operand.getDimSize(1) * ttg::elementBits(operand) <= result.getDimSize(1) * registerBits;
      return early && fits && early->wait->isBeforeInBlock(mma.op) && !taken.contains(&each);
    });
    return found == its.mmas.end() || plan.rowGroups * warpsOfGroup != plan.warps ? nullptr : found;
  }

  /// Gives results and operands their columns. Returns the number of columns.
  int64_t placeTiles(ChainLoop &its, bool shares) const {
    TensorColumns columns;
    Sharing taken;
    for (ChainedMma &mma : its.mmas) {
      mma.result = tensorTileOf(mma.resultType(), mma.isEarly() && its.earlyMmas == ttg::EarlyMmas::prefetched ? 2 : 1);
      columns.take(mma.result);
      if (!mma.operandInRegisters()) continue;
      const ChainedMma *early = shares ? resultToShare(its, mma, taken) : nullptr;
      TensorOperand &stored = *mma.late()->operand;
      stored.sharesColumns = early != nullptr;
      stored.tile = operandTile(mma.operandInRegisters(), early ? &early->result : nullptr);
      if (early)
        taken.insert(early);
      else
        columns.take(stored.tile);
    }
    return columns.allocated();
  }

  /// Loops use the same columns, one after the other. True if there are not more than `limit`.
  bool place(bool prefetches, bool shares, int64_t limit) {
    plan.columns = 0;
    for (auto &[op, its] : plan.loops) {
      its.earlyMmas = prefetches           ? ttg::EarlyMmas::prefetched
                      : plan.rowGroups > 1 ? ttg::EarlyMmas::interleaved
                                           : ttg::EarlyMmas::in_iteration;
      plan.columns = std::max(plan.columns, placeTiles(its, shares));
    }
    return plan.columns <= limit;
  }

  /// Gives early results two tiles if these fit. A second CTA on the SM is worth more: it multiplies while this one computes.
  bool placeResults() {
    auto placeIn = [&](int64_t limit) {
      return place(/*prefetches=*/true, /*shares=*/false, limit) || place(/*prefetches=*/true, /*shares=*/true, limit) ||
             place(/*prefetches=*/false, /*shares=*/false, limit) || place(/*prefetches=*/false, /*shares=*/true, limit);
    };
    bool twoCtas = plan.warps == warpsOfGroup && 2 * planShared(function).bytes <= target.sharedBytes;
    return (twoCtas && placeIn(target.tensorColumns / 2)) || placeIn(target.tensorColumns);
  }

  /// A second CTA on the SM would compute while this one corrects its sums. The correction partition's registers would make it impossible.
  void planCorrection() {
    int64_t sharedBytes = planShared(function).bytes, factorBytes = 0;
    if (2 * plan.columns <= target.tensorColumns && 2 * sharedBytes <= target.sharedBytes) return;
    llvm::SetVector<std::pair<ttg::BufferType, int64_t>> buffers; // by their number in a loop: loops use the same ones
    SmallVector<RescaledSum *> corrected;
    for (auto &[loop, its] : plan.loops) {
      int64_t number = 0;
      for (ChainedMma &mma : its.mmas) {
        RescaledSum *sum = mma.scaledSum();
        if (!sum) continue;
        std::pair<ttg::BufferType, int64_t> buffer(factorBufferOf(sum->factors), number++);
        buffers.insert(buffer);
        sum->factorBuffer = llvm::find(buffers, buffer) - buffers.begin();
        corrected.push_back(sum);
      }
    }
    for (auto [type, number] : buffers)
      factorBytes += type.getDepth() * type.paddedTileBytes();
    if (sharedBytes + factorBytes + plan.barrierBytes() <= target.sharedBytes)
      plan.factorBuffers = llvm::map_to_vector(buffers, [](auto buffer) { return buffer.first; });
    else
      for (RescaledSum *sum : corrected)
        sum->factorBuffer.reset();
  }

  //===--------------------------------------------------------------------------------------------------------- operands

  /// If threads wait for a late and an early MMA in each iteration, row groups that compute special functions at the same time slow each
  /// other down, and need their MMAs at the same time. With ping-pong scheduling, one group's MMAs run while another one computes.
  void choosePingPong() {
    for (auto &[op, its] : plan.loops) {
      if (its.earlyMmas != ttg::EarlyMmas::interleaved) continue;
      auto *first = llvm::find_if(its.mmas, [](ChainedMma &mma) { return mma.operandInRegisters() && computesSpecialFunctions(mma); });
      if (first != its.mmas.end()) first->late()->operand->pingPong = true;
    }
  }

  /// If the early MMAs of the next iteration follow this one's late MMAs, the threads wait for both. So a late MMA starts when its threads
  /// have stored the first parts of an operand, and multiplies them while the last ones are computed. Each thread has a whole row of the
  /// operand, so a part of K is one of all rows.
  void chooseParts() {
    for (auto &[op, its] : plan.loops)
      for (ChainedMma &mma : its.mmas) {
        RankedTensorType operand = mma.operandInRegisters();
        if (!operand) continue;
        auto depth = static_cast<int32_t>(operand.getDimSize(1));
        int64_t step = partStepOf(operand);
        auto first = static_cast<int32_t>(depth * partsBeforeMma / operandParts);
        bool starts = its.earlyMmas == ttg::EarlyMmas::interleaved && first % step == 0 && depth % step == 0;
        SmallVector<int32_t> &ends = mma.late()->operand->partEnds;
        if (starts) ends.push_back(first);
        ends.push_back(depth);
      }
  }

  tt::FuncOp function;
  const GpuTarget &target;
  ChainPlan plan;
};

} // namespace

ChainLoopBarriers ChainPlan::loopBarriers() const {
  return {{.count = 1, .arrivals = warps}, {.count = 1}};
}

ChainedMmaBarriers ChainPlan::barriersOf(const ChainedMma &mma) const {
  const LateMma *late = mma.late();
  int64_t warpsOfRows = warps / rowGroups, tilesOfFactors = late && late->isCorrected() ? factorTiles : 0;
  ChainedMmaBarriers its;
  its.done.count = rowGroups * mma.result.depth;
  if (!late) return its;
  its.ready.assign(late->partCount(), {.count = rowGroups, .arrivals = warpsOfRows});
  if (tilesOfFactors) its.ready.front().arrivals += warpsOfGroup; // of the correction partition
  its.pingPong = {.count = late->operand && late->operand->pingPong ? rowGroups : 0, .arrivals = warpsOfRows};
  its.factorsFull = {.count = rowGroups * tilesOfFactors, .arrivals = warpsOfRows};
  return its;
}

int64_t ChainPlan::barrierBytes() const {
  int64_t count = 1; // the address of tensor memory takes as much as one
  for (const auto &[op, its] : loops) {
    count += loopBarriers().start.count + loopBarriers().end.count;
    for (const ChainedMma &mma : its.mmas) {
      ChainedMmaBarriers barriers = barriersOf(mma);
      count += barriers.done.count + barriers.pingPong.count + barriers.factorsFull.count;
      for (const BarrierSet &part : barriers.ready)
        count += part.count;
    }
  }
  return mbarrierBytes * count;
}

Result<ChainPlan> planChains(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  Result<Chains> chains = findChains(function, config);
  if (!chains) return Failure{chains.error()};
  return ChainPlanner(function, target, std::move(*chains)).run();
}

} // namespace tilewright::gpu
