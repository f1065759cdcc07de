#include "gpu/schedule/tensor_memory/chained_dots/chained_loop.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/schedule/tensor_memory/tensor_accumulators.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/slice.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

bool LateMma::isCorrected() const {
  const auto *rescaled = std::get_if<RescaledSum>(&sum);
  return rescaled && rescaled->factorBuffer;
}

RescaledSum *ChainedMma::scaledSum() {
  RescaledSum *rescaled = late() ? std::get_if<RescaledSum>(&late()->sum) : nullptr;
  return rescaled && rescaled->factors ? rescaled : nullptr;
}

std::optional<unsigned> ChainedMma::carriedSum() const {
  if (isEarly()) return std::nullopt;
  return std::visit(llvm::makeVisitor([](const LoadedSum &) -> std::optional<unsigned> { return std::nullopt; },
                                      [](const auto &carried) -> std::optional<unsigned> { return carried.number; }),
                    late()->sum);
}

bool ChainedMma::storesInit() const {
  if (isEarly()) return false;
  return std::visit(llvm::makeVisitor([](const LoadedSum &) { return false; }, [](const InPlaceSum &sum) { return sum.storesInit; },
                                      [](const RescaledSum &) { return true; }),
                    late()->sum);
}

RankedTensorType ChainedMma::resultType() const {
  return cast<RankedTensorType>(ttg::MmaAsyncOp(op).getType());
}

RankedTensorType ChainedMma::operandInRegisters() const {
  return dyn_cast<RankedTensorType>(ttg::MmaAsyncOp(op).getA().getType());
}

bool Chains::haveRowGroups(int64_t groups) const {
  auto hasRows = [&](const ChainedMma &mma) { return mma.resultType().getDimSize(0) == groups * tensorMemoryLanes; };
  return !storesOperands && llvm::all_of(loops, [&](const auto &each) { return llvm::all_of(each.second.mmas, hasRows); });
}

namespace {

class ChainFinder {
public:
  ChainFinder(tt::FuncOp function, ttg::ConfigAttr config) : function(function), config(config), sums(function) {
    chains.warps = config.getWarps();
  }

  Result<Chains> run() {
    if (config.getCtas() != 1) return Failure{"several CTAs run a program"};
    bool hasScales = false;
    function.walk([&](ttg::MmaAsyncOp mma) {
      hasScales |= mma.getScales().has_value();
      chains.loops[mma->getParentOp()].mmas.push_back({mma, EarlyMma()});
    });
    if (hasScales) return Failure{"a dot has block scales"};
    function.walk([&](ttg::TmaLoadOp load) {
      if (ttg::partitionOf(load) == ttg::Partition::producer) chains.fullBarriers[allocOf(load.getBuffer())] = load.getBarriers();
    });
    for (auto &[op, its] : chains.loops)
      if (Result<void> found = findLoop(cast<scf::ForOp>(op), its); !found) return Failure{found.error()};
    return std::move(chains);
  }

private:
  Result<void> findLoop(scf::ForOp loop, ChainLoop &its) {
    if (Result<void> found = findBarriers(loop, its); !found) return found;
    for (size_t i = 0; i < its.mmas.size(); ++i)
      if (Result<void> found = findKind(loop, its, i); !found) return found;
    // A late MMA is issued after the early ones of its iteration, wherever they stand.
    auto isLate = [](const ChainedMma &each) { return !each.isEarly(); };
    for (auto [release, after] : its.releases)
      if (its.mmas[after].isEarly() && llvm::any_of(ArrayRef(its.mmas).take_front(after), isLate))
        return Failure{"stages are released after a dot of copies alone, before which one has an operand or a sum of threads"};
    auto last = llvm::find_if(llvm::reverse(its.mmas), isLate);
    if (last == its.mmas.rend()) return Failure{"threads compute no operand and no sum of a loop's dots"};
    its.lastLate = static_cast<size_t>(&*last - its.mmas.begin());
    // The threads' arrival for the last late MMA also says that they have loaded the early results of the same iteration.
    bool precede = llvm::all_of(its.mmas, [&](ChainedMma &each) {
      auto *early = std::get_if<EarlyMma>(&each.kind);
      return !early || early->wait->isBeforeInBlock(last->op);
    });
    return precede ? Result<void>() : Failure{"threads need a result after the last dot that they compute an operand of"};
  }

  /// Finds the waits for copies, and what releases stages.
  static Result<void> findBarriers(scf::ForOp loop, ChainLoop &its) {
    for (Operation &op : *loop.getBody()) {
      auto wait = dyn_cast<ttg::BarrierWaitOp>(op);
      if (wait && wait.getFirstWarp() && !its.fullWaits.insert({wait.getBarriers(), wait}).second)
        return Failure{"a loop reads several stages in an iteration"};
      auto arrive = dyn_cast<ttg::BarrierArriveOp>(op);
      if (!arrive || !arrive.getFirstWarp()) continue;
      auto isLater = [&](ChainedMma &each) { return arrive->isBeforeInBlock(each.op); };
      auto after = static_cast<size_t>(llvm::find_if(its.mmas, isLater) - its.mmas.begin());
      if (after == 0 || arrive.getPredicate()) return Failure{"a loop releases stages that its previous iteration has read"};
      its.releases.push_back({arrive, after - 1});
    }
    for (auto &[barriers, full] : its.fullWaits) {
      StageState stage(full.getIndex(), full.getParity(), full.getBarriers().getType().getCount());
      if (!stage.advancesIn(loop)) return Failure{"a loop does not read one stage in each iteration, and then the next one"};
      if (stage.stages < 2) return Failure{"a producer's copies have one stage"}; // it waits for MMAs that follow those of its next copies
    }
    for (auto [arrive, after] : its.releases)
      if (llvm::none_of(its.fullWaits, [&](auto &each) { return each.second.getIndex() == arrive.getIndex(); }))
        return Failure{"a loop releases stages that its iteration has not waited for"};
    return {};
  }

  Result<void> findKind(scf::ForOp loop, ChainLoop &its, size_t number) {
    ttg::MmaAsyncOp op = its.mmas[number].op;
    if (op.getUseC()) return Failure{"a dot adds to its sum under a condition"};
    if (!isInTensorMemory(op.getType())) return Failure{"the threads of a sum are not those of its lanes of tensor memory"};
    bool isInPlace = sums.isInPlace(op.getCMutable()), inRegisters = isa<RankedTensorType>(op.getA().getType());
    bool needsThreads = inRegisters || (!tt::isZeros(op.getC()) && !isInPlace);
    LateMma late{LoadedSum(), number};
    for (Value buffer : op.buffers())
      if (Result<void> found = findWriters(loop, its, buffer, needsThreads, late.lastReader); !found) return found;
    if (isInPlace && !needsThreads) return Failure{"a dot accumulates, and threads compute nothing for it"}; // that would tell their pace
    if (inRegisters) late.operand.emplace();
    return isInPlace ? findSumInPlace(loop, its.mmas[number], late) : findSum(loop, its.mmas[number], late, needsThreads);
  }

  /// Finds whether threads write an operand in the loop, and the last MMA that reads what they write.
  Result<void> findWriters(scf::ForOp loop, ChainLoop &its, Value buffer, bool &needsThreads, size_t &lastReader) {
    ttg::AllocOp alloc = allocOf(buffer);
    if (!alloc) return Failure{"an operand is in one of several buffers"};
    auto full = chains.fullBarriers.find(alloc);
    bool hasProducer = full != chains.fullBarriers.end();
    ttg::StageOp stage = stageOf(buffer);
    if (hasProducer && !(stage && loop.isDefinedOutsideOfLoop(stage))) { // otherwise the threads wait before the loop
      auto wait = its.fullWaits.find(full->second);                      // none: threads read the buffer, too
      if (!stage || wait == its.fullWaits.end() || stage.getIndex() != wait->second.getIndex())
        return Failure{"threads read an operand that is copied"};
    }
    size_t first = its.mmas.size(), last = lastReader;
    SmallVector<Operation *> stores;
    for (Operation *access : accessesOf(alloc)) {
      if (!loop->isProperAncestor(access) || ttg::partitionOf(access) == ttg::Partition::producer) continue;
      if (access->getBlock() != loop.getBody()) return Failure{"an operand is written or read in a branch or an inner loop"};
      if (auto reader = dyn_cast<ttg::MmaAsyncOp>(access)) {
        auto isReader = [&](ChainedMma &each) { return each.op == reader; };
        auto number = static_cast<size_t>(llvm::find_if(its.mmas, isReader) - its.mmas.begin());
        first = std::min(first, number), last = std::max(last, number);
      } else if (isa<ttg::StoreSharedOp>(access) && !hasProducer) {
        stores.push_back(access);
      } else {
        return Failure{"threads read an operand in shared memory"};
      }
    }
    if (stores.empty()) return {};
    // Threads wait for the MMAs of the previous iteration only.
    auto isLater = [&](Operation *store) { return its.mmas[first].op->isBeforeInBlock(store); };
    if (llvm::any_of(stores, isLater)) return Failure{"threads write an operand after a dot that reads it"};
    needsThreads = chains.storesOperands = true;
    lastReader = last;
    return {};
  }

  /// A sum that only MMAs change.
  Result<void> findSumInPlace(scf::ForOp loop, ChainedMma &mma, LateMma &late) {
    BlockArgument carried = sums.sumOf(mma.op);
    if (!carried || carried != mma.op.getC()) return Failure{"a dot adds to the result of another one"};
    if (sums.isSumRead(mma.op)) return Failure{"threads read a sum in the loop that adds to it"};
    late.sum = InPlaceSum{numberOf(carried), !tt::isZeros(loop.getTiedLoopInit(carried)->get())};
    mma.kind = std::move(late);
    return {};
  }

  /// Finds where threads need the result, and whether the loop carries it in tensor memory. An early MMA may run an iteration ahead.
  Result<void> findSum(scf::ForOp loop, ChainedMma &mma, LateMma &late, bool needsThreads) {
    Value loaded = afterWait(mma.op);
    auto wait = loaded ? loaded.getDefiningOp<ttg::MmaAsyncWaitOp>() : ttg::MmaAsyncWaitOp();
    if (!wait || wait->getBlock() != loop.getBody()) return Failure{"a dot's result is not waited for once, in its iteration"};
    if (!needsThreads) {
      mma.kind = EarlyMma{wait};
      return {};
    }
    if (BlockArgument carried = TensorAccumulators::rescaledSum(mma.op))
      late.sum = RescaledSum{numberOf(carried), rowFactors(carried, mma.op.getC()), std::nullopt};
    else
      late.sum = LoadedSum{wait};
    mma.kind = std::move(late);
    return {};
  }

  /// The factors of the rows if the sum is nothing but the carried one times these; null otherwise.
  Value rowFactors(BlockArgument carried, Value sum) const {
    auto product = sum.getDefiningOp<arith::MulFOp>();
    if (!product || !product->hasOneUse() || !carried.hasOneUse()) return {};
    Value factor = product.getLhs() == carried ? product.getRhs() : product.getRhs() == carried ? product.getLhs() : Value();
    auto spread = factor ? factor.getDefiningOp<tt::BroadcastOp>() : tt::BroadcastOp();
    auto column = spread ? spread.getSrc().getDefiningOp<tt::ExpandDimsOp>() : tt::ExpandDimsOp();
    if (!column || column.getAxis() != 1) return {};
    Layout layout = Layout::tensorMemory(ttg::shapeOf(sum.getType()), chains.warps);
    Operation *from = column.getSrc().getDefiningOp();
    bool isInLoop = from && from->getBlock() == carried.getOwner();
    return isInLoop && ttg::layoutOf(column.getSrc().getType()) == layout.withoutDim(1) ? column.getSrc() : Value();
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  TensorAccumulators sums;
  Chains chains;
};

} // namespace

Result<Chains> findChains(tt::FuncOp function, ttg::ConfigAttr config) {
  return ChainFinder(function, config).run();
}

} // namespace tilewright::gpu
