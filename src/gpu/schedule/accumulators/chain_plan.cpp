#include "gpu/schedule/accumulators/chain_plan.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/accumulators/tensor_accumulators.h"
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/shared_memory/shared_accesses.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/slice.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {

/// Two tiles of the factors of a sum.
ttg::BufferType bufferOf(Value factors) {
  auto type = cast<RankedTensorType>(factors.getType());
  auto layout = SharedLayout::rowMajor(ttg::shapeOf(type), ttg::elementBits(type), {0});
  return ttg::BufferType::get(factorTiles, type.getElementType(), layout);
}

RankedTensorType operandInRegisters(const ChainedMma &mma) {
  return dyn_cast<RankedTensorType>(ttg::MmaAsyncOp(mma.op).getA().getType());
}

ttg::StageOp stageOf(Value buffer) {
  return tt::lookThrough<ttg::ViewOp>(buffer).getDefiningOp<ttg::StageOp>();
}

bool isCarriedOrInvariant(scf::ForOp loop, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  bool isCarried = argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar();
  return isCarried || loop.isDefinedOutsideOfLoop(value);
}

/// True if the copies of the next iteration can arrive before the late MMAs of this one have read theirs.
bool copiesCanPrefetch(ChainLoop &its) {
  auto isSingle = [](Value barriers) { return cast<ttg::BarriersType>(barriers.getType()).getCount() == 1; };
  bool lateRelease =
      llvm::any_of(its.releases, [&](auto &release) { return isSingle(release.first.getBarriers()) && !its.mmas[release.second].isEarly; });
  return !lateRelease || llvm::none_of(its.fullWaits, [&](auto &each) { return isSingle(each.first); });
}

class ChainPlanner {
public:
  ChainPlanner(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target)
      : function(function), config(config), target(target), sums(function) {}

  Result<ChainPlan> run() {
    bool hasScales = false;
    function.walk([&](ttg::MmaAsyncOp mma) {
      hasScales |= mma.getScales().has_value();
      plan.loops[mma->getParentOp()].mmas.emplace_back().op = mma;
    });
    if (hasScales) return Failure{"a dot has block scales"};
    function.walk([&](ttg::TmaLoadOp load) {
      if (ttg::partitionOf(load) == ttg::Partition::producer) plan.fullBarriers[allocOf(load.getBuffer())] = load.getBarriers();
    });
    for (auto &[op, its] : plan.loops)
      if (Result<void> planned = planLoop(cast<scf::ForOp>(op), its); !planned) return Failure{planned.error()};
    chooseRowGroups();
    if (!placeResults()) return Failure{"the results do not fit in tensor memory"};
    choosePingPong();
    chooseParts();
    planCorrection();
    return std::move(plan);
  }

private:
  Result<void> planLoop(scf::ForOp loop, ChainLoop &its) {
    for (Operation &op : *loop.getBody()) {
      if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op)) its.waits.push_back(wait);
      if (auto wait = dyn_cast<ttg::BarrierWaitOp>(op); wait && wait.getFirstWarp()) its.fullWaits[wait.getBarriers()] = wait;
      auto arrive = dyn_cast<ttg::BarrierArriveOp>(op);
      if (!arrive || !arrive.getFirstWarp()) continue;
      auto isLater = [&](ChainedMma &each) { return arrive->isBeforeInBlock(each.op); };
      auto after = static_cast<size_t>(llvm::find_if(its.mmas, isLater) - its.mmas.begin());
      if (after == 0 || arrive.getPredicate()) return Failure{"a loop releases stages that its previous iteration has read"};
      its.releases.push_back({arrive, after - 1});
    }
    for (auto &[barriers, full] : its.fullWaits)
      if (!isCarriedOrInvariant(loop, full.getIndex()) || !isCarriedOrInvariant(loop, full.getParity()))
        return Failure{"a loop reads several stages in an iteration"};
    for (size_t i = 0; i < its.mmas.size(); ++i)
      if (Result<void> planned = planMma(loop, its, i); !planned) return planned;
    // A late MMA is issued after the early ones of its iteration, wherever they stand.
    auto isLate = [](const ChainedMma &each) { return !each.isEarly; };
    for (auto [release, after] : its.releases)
      if (its.mmas[after].isEarly && llvm::any_of(ArrayRef(its.mmas).take_front(after), isLate))
        return Failure{"stages are released after a dot of copies alone, before which one has an operand or a sum of threads"};
    auto last = llvm::find_if(llvm::reverse(its.mmas), isLate);
    if (last == its.mmas.rend()) return Failure{"threads compute no operand and no sum of a loop's dots"};
    its.lastLate = static_cast<size_t>(&*last - its.mmas.begin());
    // The threads' arrival for the last late MMA also says that they have loaded the early results of the same iteration.
    bool precede =
        llvm::all_of(its.mmas, [&](ChainedMma &each) { return !each.isEarly || !each.wait || each.wait->isBeforeInBlock(last->op); });
    return precede ? Result<void>() : Failure{"threads need a result after the last dot that they compute an operand of"};
  }

  Result<void> planMma(scf::ForOp loop, ChainLoop &its, size_t number) {
    ChainedMma &mma = its.mmas[number];
    if (mma.op.getUseC()) return Failure{"a dot adds to its sum under a condition"};
    if (!isInTensorMemory(mma.op.getType())) return Failure{"the threads of a sum are not those of its lanes of tensor memory"};
    bool isInPlace = sums.isInPlace(mma.op.getCMutable());
    bool needsThreads = operandInRegisters(mma) || (!tt::isZeros(mma.op.getC()) && !isInPlace);
    mma.lastReader = number;
    for (Value buffer : mma.op.buffers()) {
      ttg::AllocOp alloc = allocOf(buffer);
      if (!alloc) return Failure{"an operand is in one of several buffers"};
      auto full = plan.fullBarriers.find(alloc);
      bool isCopied =
          full != plan.fullBarriers.end() && !loop.isDefinedOutsideOfLoop(stageOf(buffer)); // otherwise the threads wait before the loop
      if (isCopied) {
        auto wait = its.fullWaits.find(full->second); // none: threads read the buffer, too
        if (wait == its.fullWaits.end() || stageOf(buffer).getIndex() != wait->second.getIndex())
          return Failure{"threads read an operand that is copied"};
      }
      size_t lastReader = number;
      bool isWritten = false;
      for (Operation *access : accessesOf(alloc)) {
        if (!loop->isProperAncestor(access) || ttg::partitionOf(access) == ttg::Partition::producer) continue;
        if (access->getBlock() != loop.getBody()) return Failure{"an operand is written or read in a branch or an inner loop"};
        if (auto reader = dyn_cast<ttg::MmaAsyncOp>(access)) {
          auto isReader = [&](ChainedMma &each) { return each.op == reader; };
          lastReader = std::max<size_t>(lastReader, llvm::find_if(its.mmas, isReader) - its.mmas.begin());
          continue;
        }
        if (!isa<ttg::StoreSharedOp>(access) || full != plan.fullBarriers.end()) return Failure{"threads read an operand in shared memory"};
        isWritten = needsThreads = storesOperands = true;
      }
      if (isWritten) mma.lastReader = std::max(mma.lastReader, lastReader);
    }
    if (isInPlace && !needsThreads) return Failure{"a dot accumulates, and threads compute nothing for it"}; // that would tell their pace
    mma.isEarly = !needsThreads;
    return isInPlace ? planSumInPlace(loop, mma) : planSum(loop, mma);
  }

  /// A sum that only MMAs change.
  Result<void> planSumInPlace(scf::ForOp loop, ChainedMma &mma) {
    auto carried = dyn_cast<BlockArgument>(mma.op.getC());
    if (!carried || carried.getOwner() != loop.getBody()) return Failure{"a dot adds to the result of another one"};
    mma.carried = carried.getArgNumber() - loop.getNumInductionVars();
    if (sums.isRead(mma.op.getD())) return Failure{"threads read a sum in the loop that adds to it"};
    mma.storesInit = !tt::isZeros(loop.getTiedLoopInit(carried)->get());
    return {};
  }

  /// Finds where threads need the result, and whether the loop carries it in tensor memory.
  Result<void> planSum(scf::ForOp loop, ChainedMma &mma) {
    Value d = mma.op.getD();
    mma.wait = d.hasOneUse() ? dyn_cast<ttg::MmaAsyncWaitOp>(*d.getUsers().begin()) : ttg::MmaAsyncWaitOp();
    if (!mma.wait || mma.wait->getBlock() != loop.getBody()) return Failure{"a dot's result is not waited for once, in its iteration"};
    Value passed = mma.wait.getResults()[llvm::find(mma.wait.getTiles(), d) - mma.wait.getTiles().begin()];
    if (mma.isEarly || !passed.hasOneUse()) return {}; // an early MMA may run an iteration ahead
    auto yield = dyn_cast<scf::YieldOp>(*passed.getUsers().begin());
    if (!yield || yield->getParentOp() != loop) return {};
    unsigned number = passed.getUses().begin()->getOperandNumber();
    BlockArgument carried = loop.getRegionIterArg(number);
    bool isRescaled = !carried.use_empty() && llvm::all_of(carried.getUsers(), [&](Operation *user) {
      return user->getBlock() == loop.getBody() && user->isBeforeInBlock(mma.op);
    });
    if (!isRescaled) return {};
    mma.isRescaled = mma.storesInit = true;
    mma.carried = number;
    mma.factors = rowFactors(carried, mma.op.getC());
    return {};
  }

  /// The factors of the rows if the sum is nothing but the carried one times these; null otherwise.
  Value rowFactors(BlockArgument carried, Value sum) {
    auto product = sum.getDefiningOp<arith::MulFOp>();
    if (!product || !product->hasOneUse() || !carried.hasOneUse()) return {};
    Value factor = product.getLhs() == carried ? product.getRhs() : product.getRhs() == carried ? product.getLhs() : Value();
    auto spread = factor ? factor.getDefiningOp<tt::BroadcastOp>() : tt::BroadcastOp();
    auto column = spread ? spread.getSrc().getDefiningOp<tt::ExpandDimsOp>() : tt::ExpandDimsOp();
    if (!column || column.getAxis() != 1) return {};
    Layout layout = Layout::tensorMemory(ttg::shapeOf(sum.getType()), config.getWarps());
    Operation *from = column.getSrc().getDefiningOp();
    bool isInLoop = from && from->getBlock() == carried.getOwner();
    return isInLoop && ttg::layoutOf(column.getSrc().getType()) == layout.withoutDim(1) ? column.getSrc() : Value();
  }

  /// If each warp group has 128 rows of all tiles, its MMAs need not wait for other groups: one group computes while another one's MMAs
  /// run. What threads write to shared memory is read by the MMAs of all groups.
  void chooseRowGroups() {
    int64_t groups = config.getWarps() / warpsOfGroup;
    bool each = !storesOperands;
    for (auto &[op, its] : plan.loops)
      for (ChainedMma &mma : its.mmas)
        each &= cast<RankedTensorType>(mma.op.getType()).getDimSize(0) == groups * tensorMemoryLanes;
    plan.rowGroups = each ? groups : 1;
  }

  //===--------------------------------------------------------------------------------------------------- tensor memory

  /// Lets operands use the columns of results that threads have loaded before. A warp stores to the rows that it has loaded.
  void shareColumns(ChainLoop &its) {
    llvm::SmallDenseSet<size_t> taken;
    for (ChainedMma &mma : its.mmas) {
      RankedTensorType operand = operandInRegisters(mma);
      if (!operand || plan.rowGroups * warpsOfGroup != config.getWarps()) continue;
      for (auto [number, early] : llvm::enumerate(its.mmas)) {
        auto result = cast<RankedTensorType>(early.op.getType());
        bool fits = operand.getDimSize(0) == result.getDimSize(0) &&
                    operand.getDimSize(1) * ttg::elementBits(operand) <= result.getDimSize(1) * registerBits;
        if (!early.isEarly || !fits || !early.wait || !early.wait->isBeforeInBlock(mma.op) || !taken.insert(number).second) continue;
        mma.columnsOf = number;
        break;
      }
    }
  }

  /// Gives results and operands their columns. Returns the number of columns.
  static int64_t placeTiles(ChainLoop &its) {
    TensorColumns columns;
    for (ChainedMma &mma : its.mmas) {
      mma.result = tensorTileOf(mma.op.getType(), mma.isEarly && its.prefetches ? 2 : 1);
      columns.take(mma.result);
      RankedTensorType operand = operandInRegisters(mma);
      if (!operand) continue;
      mma.operand = tensorTileOf(operand);
      if (!mma.columnsOf) {
        columns.take(*mma.operand);
        continue;
      }
      const TensorTile &shared = its.mmas[*mma.columnsOf].result;
      auto type =
          ttg::TensorMemoryType::get(operand.getContext(), operand.getShape(), operand.getElementType(), shared.type.getBlockColumns());
      mma.operand = {type, shared.depth, shared.column};
    }
    return columns.allocated();
  }

  /// Loops use the same columns, one after the other. True if there are not more than `limit`.
  bool place(bool prefetches, bool shares, int64_t limit) {
    plan.columns = 0;
    for (auto &[op, its] : plan.loops) {
      bool canPrefetch = copiesCanPrefetch(its);
      its.prefetches = prefetches && canPrefetch;
      its.interleaves = !its.prefetches && canPrefetch && plan.rowGroups > 1;
      for (ChainedMma &mma : its.mmas)
        mma.columnsOf.reset();
      if (shares) shareColumns(its);
      plan.columns = std::max(plan.columns, placeTiles(its));
    }
    return plan.columns <= limit;
  }

  /// Gives early results two tiles if these fit. A second CTA on the SM is worth more: it multiplies while this one computes.
  bool placeResults() {
    auto placeIn = [&](int64_t limit) {
      return place(/*prefetches=*/true, /*shares=*/false, limit) || place(/*prefetches=*/true, /*shares=*/true, limit) ||
             place(/*prefetches=*/false, /*shares=*/false, limit) || place(/*prefetches=*/false, /*shares=*/true, limit);
    };
    bool twoCtas = config.getWarps() == warpsOfGroup && 2 * planShared(function).bytes <= target.sharedBytes;
    return (twoCtas && placeIn(target.tensorColumns / 2)) || placeIn(target.tensorColumns);
  }

  /// A second CTA on the SM would compute while this one corrects its sums. The correction partition's registers would make it impossible.
  void planCorrection() {
    int64_t sharedBytes = planShared(function).bytes, factorBytes = 0;
    if (2 * plan.columns <= target.tensorColumns && 2 * sharedBytes <= target.sharedBytes) return;
    llvm::SetVector<std::pair<ttg::BufferType, int64_t>> buffers; // by their number in a loop: loops use the same ones
    SmallVector<std::pair<ChainedMma *, size_t>> corrected;
    for (auto &[loop, its] : plan.loops) {
      int64_t number = 0;
      for (ChainedMma &mma : its.mmas) {
        if (!mma.factors) continue;
        std::pair<ttg::BufferType, int64_t> buffer(bufferOf(mma.factors), number++);
        buffers.insert(buffer);
        corrected.emplace_back(&mma, llvm::find(buffers, buffer) - buffers.begin());
      }
    }
    for (auto [type, number] : buffers)
      factorBytes += type.getDepth() * type.paddedTileBytes();
    for (auto [mma, buffer] : corrected)
      mma->factorBuffer = buffer;
    if (sharedBytes + factorBytes + plan.barrierBytes() <= target.sharedBytes)
      plan.factorBuffers = llvm::map_to_vector(buffers, [](auto buffer) { return buffer.first; });
    else
      for (auto [mma, buffer] : corrected)
        mma->factorBuffer.reset();
  }

  /// If threads wait for a late and an early MMA in each iteration, row groups that compute special functions at the same time slow each
  /// other down, and need their MMAs at the same time. With ping-pong scheduling, one group's MMAs run while another one computes.
  void choosePingPong() {
    for (auto &[op, its] : plan.loops)
      for (auto [number, mma] : llvm::enumerate(its.mmas))
        if (its.interleaves && !its.pingPong && computesSpecialFunctions(mma)) its.pingPong = number;
  }

  /// True if threads compute operand A from special functions of as many elements.
  static bool computesSpecialFunctions(const ChainedMma &mma) {
    RankedTensorType operand = operandInRegisters(mma);
    if (!operand) return false;
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    options.filter = [&](Operation *op) { return op->getBlock() == mma.op->getBlock(); };
    (void)getBackwardSlice(ttg::MmaAsyncOp(mma.op).getA(), &slice, options);
    return llvm::any_of(slice, [&](Operation *op) {
      auto tile = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
      return isa<math::MathDialect>(op->getDialect()) && tile && tile.getShape() == operand.getShape();
    });
  }

  /// If the early MMAs of the next iteration follow this one's late MMAs, the threads wait for both. So a late MMA starts when its threads
  /// have stored the first parts of an operand, and multiplies them while the last ones are computed. Each thread has a whole row of the
  /// operand, so a part of K is one of all rows.
  void chooseParts() {
    for (auto &[op, its] : plan.loops)
      for (ChainedMma &mma : its.mmas) {
        RankedTensorType operand = operandInRegisters(mma);
        if (!operand) continue;
        auto depth = static_cast<int32_t>(operand.getDimSize(1));
        int64_t bits = ttg::elementBits(operand), step = std::max(8 * mmaDepthBytes, registersOfStoredPart * registerBits) / bits;
        bool hasRows = plan.rowGroups * warpsOfGroup == config.getWarps() && operand.getDimSize(0) == plan.rowGroups * tensorMemoryLanes;
        auto first = static_cast<int32_t>(depth * partsBeforeMma / operandParts);
        if (its.interleaves && hasRows && first % step == 0 && depth % step == 0) mma.partEnds.push_back(first);
        mma.partEnds.push_back(depth);
      }
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  TensorAccumulators sums;
  ChainPlan plan;
  bool storesOperands = false; ///< threads write operands to shared memory
};

} // namespace

int64_t ChainPlan::barrierBytes() const {
  int64_t count = 1; // with the address of tensor memory
  for (const auto &[op, its] : loops) {
    count += barriersOfLoop;
    for (auto [number, mma] : llvm::enumerate(its.mmas))
      count += rowGroups * (mma.result.depth + mma.partCount() + int64_t(its.pingPong == number) + (mma.factorBuffer ? factorTiles : 0));
  }
  return mbarrierBytes * count;
}

Result<ChainPlan> planChains(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  return ChainPlanner(function, config, target).run();
}

} // namespace tilewright::gpu
