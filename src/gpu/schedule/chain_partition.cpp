// In a loop in which threads compute between dots, as in attention, a warp of its own issues the MMAs:
//   before: for i { wait: K is full   %s = mma_async %q, %k   wait for it   arrive: K is empty   %p = softmax %s
//                   wait: V is full   %o = mma_async %p, %v, scaled %o   wait for it   arrive: V is empty }
//   after:  arrive: operands from before the loop are ready
//           for i { MMA warp: wait: K of i + 1 is full   tcgen05_mma %q, %k, %s[(i + 1) % 2]   commit: %s is done   commit: K is empty
//                   wait: %s[i % 2] is done   tensor_load   softmax   wait: the product of i - 1 is done   scale %o
//                   tensor_store %p   arrive: %p and %o are ready
//                   MMA warp: wait: V is full   wait: %p and %o are ready   tcgen05_mma %p, %v, %o   commit: it is done   commit: V is
//                   empty }
// An MMA that needs nothing of the threads in its iteration is early: if its results have two tiles, it runs an iteration ahead, under the
// threads' computation. This is the pipeline of FlashAttention-4 (Zadouri et al., 2026) without its second tile of queries.
// Barriers: an early MMA overwrites what threads have read before they arrived at the barrier `ready` of a later MMA, which the MMA warp
// has waited for. Threads overwrite an operand after a wait for the last MMA that reads it. Each warp waits for each phase of a barrier.
#include "gpu/schedule/chain_partition.h"

#include "gpu/cost_model/hardware.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loop_schedule.h"
#include "gpu/schedule/shared_accesses.h"
#include "gpu/schedule/shared_plan.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/schedule/tensor_accumulators.h"
#include "ir/slice.h"
#include "ir/zeros.h"
#include "support/target.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"

#include <optional>
#include <tuple>

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// An MMA of the loop, in the order of the text.
struct ChainedMma {
  ttg::MmaAsyncOp op;
  bool isEarly = false;             ///< it needs nothing of the threads in its iteration
  std::optional<unsigned> inPlace;  ///< number of the sum that the loop carries and only MMAs change
  std::optional<unsigned> rescaled; ///< the same of one that threads change before this MMA adds to it
  Value factors;                    ///< if each row of that sum is multiplied by one number: the tile of these, in the rows' layout
  ttg::MmaAsyncWaitOp wait;         ///< which ends it, if threads need its result
  int64_t lastReader = 0;           ///< the last MMA that reads an operand that threads write for this one
  Value result, operand;            ///< tiles of tensor memory: of the result (of two stages, the one of this iteration), and of operand A
  Value done, ready;                ///< barriers: it is complete, threads have written its operands
  Value factorBuffer, factorsFull;  ///< of the correction partition: two tiles of factors, and barriers that they are there
};

/// A full barrier, as the loop waits for it.
struct FullWait {
  ttg::BarrierWaitOp op;
  Value stage, parity; ///< in the iteration for which an MMA is issued
  bool isDone = false; ///< the partition has waited
};

struct ChainLoop {
  SmallVector<ChainedMma> mmas;
  llvm::MapVector<Value, FullWait> fullWaits;                    ///< by barriers
  SmallVector<std::pair<ttg::BarrierArriveOp, size_t>> releases; ///< and the MMA after which it stands
  SmallVector<ttg::MmaAsyncWaitOp> waits;
  bool prefetches = false; ///< early MMAs run an iteration ahead
};

class ChainPartitioner {
public:
  ChainPartitioner(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target)
      : function(function), config(config), target(target), sums(function, config.getWarps()), b(function.getContext()) {}

  bool plan() {
    if (!function->hasAttr(ttg::warpSpecializedName) || function->hasAttr(ttg::operandRegistersName) || config.getCtas() != 1) return false;
    bool all = true;
    function.walk([&](ttg::MmaAsyncOp mma) {
      auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
      all &= loop && !mma.getScales();
      if (loop) loops[loop].mmas.emplace_back().op = mma;
    });
    function.walk([&](ttg::TmaLoadOp load) {
      if (ttg::partitionOf(load) == ttg::Partition::producer) fullBarriers[allocOf(load.getBuffer())] = load.getBarriers();
    });
    if (!all || loops.empty()) return false;
    for (auto &[op, its] : loops)
      if (!planLoop(cast<scf::ForOp>(op), its)) return false;
    return fits();
  }

  LogicalResult run() {
    hasCorrection = paysCorrection();
    b.setInsertionPointToStart(&function.getBody().front());
    address = ttg::TensorAllocOp::create(b, function.getLoc(), b.getI32Type(), static_cast<uint32_t>(columns));
    zero = arith::ConstantOp::create(b, function.getLoc(), b.getI32IntegerAttr(0));
    SmallVector<Operation *> order(llvm::make_first_range(loops)); // a loop with MMAs is in no other one
    for (Operation *loop : order)
      if (failed(partition(cast<scf::ForOp>(loop), loops[loop]))) return failure();
    b.setInsertionPoint(function.getBody().front().getTerminator());
    ttg::TensorFreeOp::create(b, function.getLoc(), address);
    return success();
  }

private:
  //===-------------------------------------------------------------------------------------------------------------- plan

  bool planLoop(scf::ForOp loop, ChainLoop &its) {
    for (Operation &op : *loop.getBody()) {
      if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op)) its.waits.push_back(wait);
      if (auto wait = dyn_cast<ttg::BarrierWaitOp>(op); wait && wait.getFirstWarp()) its.fullWaits[wait.getBarriers()].op = wait;
      auto arrive = dyn_cast<ttg::BarrierArriveOp>(op);
      if (!arrive || !arrive.getFirstWarp()) continue;
      auto isLater = [&](ChainedMma &each) { return arrive->isBeforeInBlock(each.op); };
      auto after = static_cast<size_t>(llvm::find_if(its.mmas, isLater) - its.mmas.begin());
      if (after == 0 || arrive.getPredicate()) return false; // it releases what the previous iteration has read
      its.releases.push_back({arrive, after - 1});
    }
    for (auto &[barriers, full] : its.fullWaits)
      if (!isCarriedOrInvariant(loop, full.op.getIndex()) || !isCarriedOrInvariant(loop, full.op.getParity())) return false;
    for (size_t i = 0; i < its.mmas.size(); ++i)
      if (!planMma(loop, its, i)) return false;
    // The loads of early results come before a token to an MMA of the same iteration.
    auto last = llvm::find_if(llvm::reverse(its.mmas), [](ChainedMma &each) { return !each.isEarly; });
    if (last == its.mmas.rend()) return false;
    return llvm::all_of(its.mmas, [&](ChainedMma &each) { return !each.isEarly || !each.wait || each.wait->isBeforeInBlock(last->op); });
  }

  static bool isCarriedOrInvariant(scf::ForOp loop, Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    bool isCarried = argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar();
    return isCarried || loop.isDefinedOutsideOfLoop(value);
  }

  static ttg::StageOp stageOf(Value buffer) { return tt::lookThrough<ttg::ViewOp>(buffer).getDefiningOp<ttg::StageOp>(); }

  /// True if the copies of the next iteration can arrive before the late MMAs of this one have read theirs.
  bool canPrefetch(ChainLoop &its) {
    auto isSingle = [](Value barriers) { return cast<ttg::BarriersType>(barriers.getType()).getCount() == 1; };
    bool lateRelease = llvm::any_of(
        its.releases, [&](auto &release) { return isSingle(release.first.getBarriers()) && !its.mmas[release.second].isEarly; });
    return !lateRelease || llvm::none_of(its.fullWaits, [&](auto &each) { return isSingle(each.first); });
  }

  bool planMma(scf::ForOp loop, ChainLoop &its, size_t number) {
    ChainedMma &mma = its.mmas[number];
    if (mma.op.getUseC() || !planSum(loop, its, mma)) return false;
    bool needsThreads = isa<RankedTensorType>(mma.op.getA().getType()) || (!tt::isZeros(mma.op.getC()) && !mma.inPlace);
    mma.lastReader = int64_t(number);
    for (Value buffer : mma.op.buffers()) {
      ttg::AllocOp alloc = allocOf(buffer);
      if (!alloc) return false;
      auto full = fullBarriers.find(alloc);
      bool isCopied =
          full != fullBarriers.end() && !loop.isDefinedOutsideOfLoop(stageOf(buffer)); // otherwise the threads wait before the loop
      if (isCopied) {
        auto wait = its.fullWaits.find(full->second); // none: threads read the buffer, too
        if (wait == its.fullWaits.end() || stageOf(buffer).getIndex() != wait->second.op.getIndex()) return false;
      }
      for (Operation *access : accessesOf(alloc)) {
        if (!loop->isProperAncestor(access) || ttg::partitionOf(access) == ttg::Partition::producer) continue;
        if (access->getBlock() != loop.getBody()) return false;
        if (auto reader = dyn_cast<ttg::MmaAsyncOp>(access)) {
          auto isReader = [&](ChainedMma &each) { return each.op == reader; };
          mma.lastReader = std::max<int64_t>(mma.lastReader, llvm::find_if(its.mmas, isReader) - its.mmas.begin());
          continue;
        }
        if (!isa<ttg::StoreSharedOp>(access) || full != fullBarriers.end()) return false;
        needsThreads = true;
      }
    }
    mma.isEarly = !needsThreads && !mma.inPlace;
    if (mma.inPlace && !needsThreads) return false; // nothing tells the threads' pace
    return true;
  }

  /// Finds where the sum comes from, and where threads need it.
  bool planSum(scf::ForOp loop, ChainLoop &its, ChainedMma &mma) {
    Value d = mma.op.getD();
    auto type = cast<RankedTensorType>(d.getType());
    if (ttg::layoutOf(type) != Layout::tensorMemory(ttg::shapeOf(type), config.getWarps()) || type.getElementTypeBitWidth() != registerBits)
      return false;
    if (sums.isInPlace(mma.op.getCMutable())) {
      auto carried = dyn_cast<BlockArgument>(mma.op.getC());
      if (!carried || carried.getOwner() != loop.getBody()) return false;
      mma.inPlace = carried.getArgNumber() - loop.getNumInductionVars();
      return true;
    }
    if (!d.hasOneUse()) return false;
    mma.wait = dyn_cast<ttg::MmaAsyncWaitOp>(*d.getUsers().begin());
    if (!mma.wait || mma.wait->getBlock() != loop.getBody()) return false;
    Value passed = mma.wait.getResults()[llvm::find(mma.wait.getTiles(), d) - mma.wait.getTiles().begin()];
    if (!passed.hasOneUse()) return true;
    auto yield = dyn_cast<scf::YieldOp>(*passed.getUsers().begin());
    if (!yield || yield->getParentOp() != loop) return true;
    unsigned number = passed.getUses().begin()->getOperandNumber();
    BlockArgument carried = loop.getRegionIterArg(number);
    bool isRescaled = !carried.use_empty() && llvm::all_of(carried.getUsers(), [&](Operation *user) {
      return user->getBlock() == loop.getBody() && user->isBeforeInBlock(mma.op);
    });
    if (isRescaled) mma.rescaled = number;
    if (isRescaled) mma.factors = rowFactors(carried, mma.op.getC());
    return true;
  }

  /// The factors of the rows if the sum is nothing but the carried one times these; null otherwise.
  Value rowFactors(BlockArgument carried, Value sum) {
    auto product = sum.getDefiningOp<arith::MulFOp>();
    if (!product || !product->hasOneUse() || !carried.hasOneUse() || product.getLhs() == product.getRhs()) return {};
    auto spread = (product.getLhs() == carried ? product.getRhs() : product.getLhs()).getDefiningOp<tt::BroadcastOp>();
    auto column = spread ? spread.getSrc().getDefiningOp<tt::ExpandDimsOp>() : tt::ExpandDimsOp();
    if (!column || column.getAxis() != 1) return {};
    Layout layout = Layout::tensorMemory(ttg::shapeOf(sum.getType()), config.getWarps());
    Operation *from = column.getSrc().getDefiningOp();
    bool isInLoop = from && from->getBlock() == carried.getOwner();
    return isInLoop && ttg::layoutOf(column.getSrc().getType()) == layout.withoutDim(1) ? column.getSrc() : Value();
  }

  static int64_t columnsOf(const ChainLoop &its, bool prefetches) {
    int64_t all = 0;
    for (const ChainedMma &mma : its.mmas) {
      ttg::MmaAsyncOp op = mma.op;
      all += tensorColumnsOf(op.getType()) * (mma.isEarly && prefetches ? 2 : 1);
      if (isa<RankedTensorType>(op.getA().getType())) all += tensorColumnsOf(op.getA().getType());
    }
    return all;
  }

  /// The columns to allocate if loops prefetch, where they can, or if none does. Loops use the same ones, one after the other.
  int64_t allocatedColumns(bool prefetches) {
    int64_t most = minTensorColumns;
    for (auto &[op, its] : loops)
      most = std::max(most, columnsOf(its, prefetches && its.prefetches));
    return int64_t(llvm::PowerOf2Ceil(uint64_t(most)));
  }

  /// Gives early results two tiles if these fit. A second CTA on the SM is worth more: it multiplies while this one computes.
  bool fits() {
    for (auto &[op, its] : loops)
      its.prefetches = canPrefetch(its) && columnsOf(its, /*prefetches=*/true) <= target.tensorColumns;
    bool twoCtas = config.getWarps() == warpsOfGroup && 2 * planShared(function).bytes <= target.sharedBytes &&
                   2 * allocatedColumns(/*prefetches=*/false) <= target.tensorColumns;
    if (twoCtas && 2 * allocatedColumns(/*prefetches=*/true) > target.tensorColumns)
      for (auto &[op, its] : loops)
        its.prefetches = false;
    columns = allocatedColumns(/*prefetches=*/true);
    return columns <= target.tensorColumns;
  }

  /// Two tiles of factors.
  ttg::BufferType factorBuffer(ChainedMma &mma) {
    auto factors = cast<RankedTensorType>(mma.factors.getType());
    auto layout = SharedLayout::rowMajor(ttg::shapeOf(factors), factors.getElementTypeBitWidth(), {0});
    return ttg::BufferType::get(b.getContext(), 2, factors.getElementType(), ttg::SharedAttr::get(b.getContext(), layout));
  }

  /// A second CTA on the SM would compute while this one corrects its sums. The partition's registers would make it impossible.
  bool paysCorrection() {
    int64_t bytes = planShared(function).bytes;
    llvm::SetVector<std::pair<ttg::BufferType, int64_t>> buffers;
    for (auto &[loop, its] : loops) {
      int64_t number = 0;
      for (ChainedMma &mma : its.mmas)
        if (mma.factors) buffers.insert({factorBuffer(mma), number++});
    }
    int64_t factorBytes = 0;
    for (auto [type, number] : buffers)
      factorBytes += type.getDepth() * type.tileBytes();
    bool oneCta = 2 * columns > target.tensorColumns || 2 * bytes > target.sharedBytes;
    return factorBytes && oneCta && bytes + factorBytes + tensorBarrierBytes <= target.sharedBytes;
  }

  //===----------------------------------------------------------------------------------------------------------- rewrite

  void assign(Operation *op) { ttg::setPartition(op, ttg::Partition::mmas); }

  Value i32(Location loc, int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value))); }

  Value allocBarriers(int64_t count, int64_t arrivals) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(zero.getDefiningOp());
    return ttg::AllocBarriersOp::create(b, function.getLoc(), ttg::BarriersType::get(b.getContext(), count),
                                        static_cast<uint32_t>(arrivals));
  }

  void allocate(ChainLoop &its) {
    Location loc = function.getLoc();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(zero.getDefiningOp());
    int64_t column = 0, factors = 0;
    auto tile = [&](Type type, int64_t depth) -> Value {
      auto elements = cast<RankedTensorType>(type);
      auto memory = ttg::TensorMemoryType::get(b.getContext(), elements.getShape(), elements.getElementType());
      Value &made = tiles[{column, depth, memory}];
      if (!made) made = ttg::TensorTileOp::create(b, loc, memory, address, static_cast<uint32_t>(column), static_cast<uint32_t>(depth));
      column += depth * memory.columns();
      return made;
    };
    for (ChainedMma &mma : its.mmas) {
      int64_t depth = depthOf(its, mma);
      mma.result = tile(mma.op.getType(), depth);
      if (isa<RankedTensorType>(mma.op.getA().getType())) mma.operand = tile(mma.op.getA().getType(), 1);
      mma.done = allocBarriers(depth, 1);
      if (!mma.isEarly) mma.ready = allocBarriers(1, config.getWarps() + (hasCorrection && mma.factors ? warpsOfGroup : 0));
      if (!hasCorrection || !mma.factors) continue;
      Value &buffer = factorBuffers[{factorBuffer(mma), factors++}]; // loops use the same ones, one after the other
      if (!buffer) {
        buffer = ttg::AllocOp::create(b, loc, factorBuffer(mma));
        buffer.getDefiningOp()->setAttr(ttg::liveThroughoutName, b.getUnitAttr());
      }
      mma.factorBuffer = buffer;
      mma.factorsFull = allocBarriers(2, config.getWarps());
    }
  }

  static int64_t depthOf(const ChainLoop &its, const ChainedMma &mma) { return mma.isEarly && its.prefetches ? 2 : 1; }

  /// The barrier or tile of iteration `count`, and the phase's parity.
  std::pair<Value, Value> stageAt(Location loc, Value count, int64_t depth) {
    Value one = i32(loc, 1);
    if (depth == 1) return {zero, arith::AndIOp::create(b, loc, count, one)};
    Value lap = arith::ShRUIOp::create(b, loc, count, one);
    return {arith::AndIOp::create(b, loc, count, one), arith::AndIOp::create(b, loc, lap, one)};
  }

  LogicalResult partition(scf::ForOp loop, ChainLoop &its) {
    allocate(its);
    hoistBuffers(loop, its);
    // The counter of iterations, in all runs of the loop, and of these runs.
    Value start = allocBarriers(1, config.getWarps()), end = allocBarriers(1, 1);
    Operation *first = loop.getBody()->getTerminator();
    Value count;
    FailureOr<SmallVector<Value>> iterations = carryState(first, {zero}, [&](ValueRange state) -> SmallVector<Value> {
      count = state[0];
      b.setInsertionPoint(first);
      return {arith::AddIOp::create(b, first->getLoc(), count, i32(first->getLoc(), 1))};
    });
    if (failed(iterations)) return failure();
    loop = cast<scf::ForOp>(first->getParentOp());
    return LogicalResult(carryState(loop, {zero}, [&](ValueRange state) -> SmallVector<Value> {
      Location loc = loop.getLoc();
      b.setInsertionPoint(loop);
      storeInits(loop, its);
      ttg::BarrierArriveOp::create(b, loc, start, zero, Value());
      assign(ttg::BarrierWaitOp::create(b, loc, start, zero, state[0], /*firstWarp=*/false, /*tensorMemory=*/true));
      threads(loop, its, count);
      issue(loop, its, count);
      b.setInsertionPointAfter(loop);
      assign(ttg::Tcgen05CommitOp::create(b, loc, end, zero));
      ttg::BarrierWaitOp::create(b, loc, end, zero, state[0], /*firstWarp=*/false, /*tensorMemory=*/true);
      loadResults(loop, its);
      erase(loop, its);
      return {arith::XOrIOp::create(b, loc, state[0], i32(loc, 1))};
    }));
  }

  /// Buffers that threads write in the loop are in use in all of it, by MMAs of the previous iteration, too.
  void hoistBuffers(scf::ForOp loop, ChainLoop &its) {
    for (ChainedMma &mma : its.mmas)
      for (Value buffer : mma.op.buffers())
        if (ttg::AllocOp alloc = allocOf(buffer); loop->isProperAncestor(alloc)) alloc->moveBefore(loop);
  }

  //===----------------------------------------------------------------------------------------------------------- threads

  void storeInits(scf::ForOp loop, ChainLoop &its) {
    for (ChainedMma &mma : its.mmas) {
      if (!mma.rescaled && !(mma.inPlace && !startsFromZero(loop, mma))) continue;
      ttg::TensorStoreOp::create(b, loop.getLoc(), loop.getInitArgs()[mma.rescaled ? *mma.rescaled : *mma.inPlace], mma.result);
    }
  }

  static bool startsFromZero(scf::ForOp loop, const ChainedMma &mma) { return tt::isZeros(loop.getInitArgs()[*mma.inPlace]); }

  /// What threads do with operands and results, in a loop's body.
  void threads(scf::ForOp loop, ChainLoop &its, Value count) {
    waitForReaders(loop, its, count);
    for (ChainedMma &mma : its.mmas) {
      if (mma.factorBuffer)
        correctInPartition(loop, mma, count);
      else if (mma.rescaled)
        loadRescaled(loop, mma);
      else if (mma.wait)
        loadResult(its, mma, count);
      if (mma.isEarly) continue;
      b.setInsertionPoint(mma.op);
      if (mma.operand) ttg::TensorStoreOp::create(b, mma.op.getLoc(), mma.op.getA(), mma.operand);
      if (!mma.inPlace && !mma.factors && !tt::isZeros(mma.op.getC()))
        ttg::TensorStoreOp::create(b, mma.op.getLoc(), mma.op.getC(), mma.result);
      ttg::BarrierArriveOp::create(b, mma.op.getLoc(), mma.ready, zero, Value());
    }
    for (ttg::MmaAsyncWaitOp wait : its.waits) {
      wait.replaceAllUsesWith(wait.getTiles());
      wait.erase();
    }
  }

  /// Before threads change what an MMA reads or adds to, they wait for the last such MMA of the previous iteration.
  void waitForReaders(scf::ForOp loop, ChainLoop &its, Value count) {
    llvm::MapVector<size_t, Operation *> firsts; // by MMA: the first change
    auto change = [&](size_t number, Operation *op) {
      Operation *&first = firsts[number];
      if (!first || op->isBeforeInBlock(first)) first = op;
    };
    for (auto [number, mma] : llvm::enumerate(its.mmas)) {
      if (mma.isEarly) continue;
      change(number, mma.op);
      if (mma.rescaled && !mma.factorBuffer) change(number, firstUser(loop.getRegionIterArg(*mma.rescaled)));
      for (Value buffer : mma.op.buffers())
        for (Operation *access : accessesOf(allocOf(buffer)))
          if (loop->isProperAncestor(access) && isa<ttg::StoreSharedOp>(access)) change(size_t(mma.lastReader), access);
    }
    for (auto [number, op] : firsts) {
      b.setInsertionPoint(op);
      waitForPrevious(op->getLoc(), its.mmas[number], count);
    }
  }

  static Operation *firstUser(Value value) {
    Operation *first = nullptr;
    for (Operation *user : value.getUsers())
      if (!isa<scf::YieldOp>(user) && (!first || user->isBeforeInBlock(first))) first = user;
    return first;
  }

  /// Waits until a late MMA of the iteration before `count` is complete.
  Operation *waitForPrevious(Location loc, const ChainedMma &mma, Value count) {
    Value one = i32(loc, 1), before = arith::SubIOp::create(b, loc, count, one);
    auto [stage, parity] = stageAt(loc, before, 1);
    return ttg::BarrierWaitOp::create(b, loc, mma.done, stage, parity, /*firstWarp=*/false, /*tensorMemory=*/true);
  }

  /// Waits until the MMA of iteration `count` is complete. Returns the stage of its result.
  Value waitUntilDone(Location loc, const ChainedMma &mma, int64_t depth, Value count) {
    auto [stage, parity] = stageAt(loc, count, depth);
    ttg::BarrierWaitOp::create(b, loc, mma.done, stage, parity, /*firstWarp=*/false, /*tensorMemory=*/true);
    return stage;
  }

  /// The sum is in tensor memory from one iteration to the next one.
  void loadRescaled(scf::ForOp loop, ChainedMma &mma) {
    BlockArgument sum = loop.getRegionIterArg(*mma.rescaled);
    b.setInsertionPoint(firstUser(sum));
    if (mma.factors) {
      ttg::TensorScaleOp::create(b, mma.op.getLoc(), mma.factors, mma.result);
    } else {
      Value loaded = ttg::TensorLoadOp::create(b, mma.op.getLoc(), sum.getType(), mma.result);
      sum.replaceAllUsesWith(loaded);
    }
    loop.getTiedLoopYieldedValue(sum)->set(sum);
  }

  /// Of two tiles, the consumers fill one for this iteration. The correction partition has read what the previous but one left there: it
  /// arrived at `ready` afterwards, and the consumers have waited for that MMA.
  void correctInPartition(scf::ForOp loop, ChainedMma &mma, Value count) {
    Location loc = mma.op.getLoc();
    loop.getTiedLoopYieldedValue(loop.getRegionIterArg(*mma.rescaled))->set(loop.getRegionIterArg(*mma.rescaled));
    computeEarly(mma.factors, loop);
    b.setInsertionPointAfterValue(mma.factors);
    auto [stage, parity] = stageAt(loc, count, 2);
    auto buffer = cast<ttg::BufferType>(mma.factorBuffer.getType());
    Value tile = ttg::StageOp::create(b, loc, withDepth(buffer, 1), mma.factorBuffer, stage);
    ttg::StoreSharedOp::create(b, loc, mma.factors, tile);
    ttg::BarrierArriveOp::create(b, loc, mma.factorsFull, stage, Value());
    auto correct = [&](Operation *op) { ttg::setPartition(op, ttg::Partition::correction); };
    correct(ttg::BarrierWaitOp::create(b, loc, mma.factorsFull, stage, parity, /*firstWarp=*/false, /*tensorMemory=*/true));
    // The partition has one warp group; further warps would hold copies.
    Layout rows = Layout::tensorMemory(ttg::shapeOf(mma.op.getType()), warpsOfGroup).withoutDim(1);
    rows.basesOf(Axis::warp).resize(llvm::Log2_64(uint64_t(config.getWarps())), 0);
    auto type = ttg::withLayout(cast<RankedTensorType>(mma.factors.getType()), rows);
    Value factors = ttg::LoadSharedOp::create(b, loc, type, tile);
    correct(factors.getDefiningOp());
    correct(waitForPrevious(loc, mma, count));
    correct(ttg::TensorScaleOp::create(b, loc, factors, mma.result));
    correct(ttg::BarrierArriveOp::create(b, loc, mma.ready, zero, Value()));
  }

  /// Moves what a value is computed from to where its operands are known.
  static void computeEarly(Value value, scf::ForOp loop) {
    llvm::SetVector<Operation *> seen;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getBlock() == loop.getBody() && op->getNumRegions() == 0 && isMemoryEffectFree(op); };
    (void)getBackwardSlice(value, &seen, options);
    for (Operation *op : seen) { // operands first
      if (hasBarrierInside(op)) continue;
      Operation *last = nullptr;
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp(); from && from->getBlock() == op->getBlock() && (!last || last->isBeforeInBlock(from)))
          last = from;
      if (last)
        op->moveAfter(last);
      else
        op->moveBefore(&loop.getBody()->front());
    }
  }

  void loadResult(const ChainLoop &its, ChainedMma &mma, Value count) {
    Value d = mma.op.getD();
    b.setInsertionPoint(mma.wait);
    Value stage = waitUntilDone(mma.wait.getLoc(), mma, depthOf(its, mma), count);
    Value loaded = ttg::TensorLoadOp::create(b, mma.wait.getLoc(), d.getType(), tileAt(mma, stage, depthOf(its, mma)));
    for (auto [tile, passed] : llvm::zip(mma.wait.getTiles(), mma.wait.getResults()))
      if (tile == d) passed.replaceAllUsesWith(loaded);
  }

  Value tileAt(ChainedMma &mma, Value stage, int64_t depth) {
    return depth == 1 ? mma.result : Value(ttg::TensorStageOp::create(b, mma.op.getLoc(), mma.result, stage));
  }

  /// After the loop: its sums.
  void loadResults(scf::ForOp loop, ChainLoop &its) {
    for (ChainedMma &mma : its.mmas) {
      if (!mma.rescaled && !mma.inPlace) continue;
      Value result = loop.getResult(mma.rescaled ? *mma.rescaled : *mma.inPlace);
      if (result.use_empty()) continue;
      Value sum = ttg::TensorLoadOp::create(b, loop.getLoc(), result.getType(), mma.result);
      bool isStored = mma.rescaled || !startsFromZero(loop, mma); // before the loop
      result.replaceAllUsesWith(isStored ? sum : sumOrInit(b, loop, *mma.inPlace, sum));
    }
  }

  //===------------------------------------------------------------------------------------------------------- MMA partition

  /// Early MMAs of this iteration, or, if they run ahead, of the next one, and of the first one in it; then the others where their operands
  /// are ready. All of them are in the loop: a barrier of all warps may stand before it.
  void issue(scf::ForOp loop, ChainLoop &its, Value count) {
    Location loc = loop.getLoc();
    b.setInsertionPointToStart(loop.getBody());
    auto take = [&](bool next) {
      for (auto &[barriers, full] : its.fullWaits) {
        full = {full.op, full.op.getIndex(), full.op.getParity()};
        int64_t depth = cast<ttg::BarriersType>(barriers.getType()).getCount();
        if (next) std::tie(full.stage, full.parity) = stageAfter(b, loc, full.stage, full.parity, depth);
      }
    };
    auto issueIf = [&](Value condition, Value iteration) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false).thenBlock());
      issueEarly(its, iteration);
    };
    take(/*next=*/false);
    if (its.prefetches) {
      issueIf(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, loop.getInductionVar(), loop.getLowerBound()), count);
      take(/*next=*/true);
      Value next = arith::AddIOp::create(b, loc, count, i32(loc, 1));
      issueIf(LoopIterations(loop).existsLater(b, 1), next);
    } else {
      issueEarly(its, count);
    }
    Value isLater = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true)), no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    for (auto &[barriers, full] : its.fullWaits)
      full.stage = full.op.getIndex(), full.parity = full.op.getParity();
    for (auto [number, mma] : llvm::enumerate(its.mmas)) {
      if (mma.isEarly) continue;
      b.setInsertionPoint(mma.op);
      waitForCopies(its, mma);
      auto [stage, parity] = stageAt(loc, count, 1);
      assign(ttg::BarrierWaitOp::create(b, loc, mma.ready, stage, parity, /*firstWarp=*/false, /*tensorMemory=*/true));
      Value accumulate = mma.inPlace ? (startsFromZero(loop, mma) ? isLater : yes) : tt::isZeros(mma.op.getC()) ? no : yes;
      multiply(its, number, mma.result, accumulate, stage);
    }
  }

  /// The early MMAs of one iteration.
  void issueEarly(ChainLoop &its, Value count) {
    for (auto [number, mma] : llvm::enumerate(its.mmas)) {
      if (!mma.isEarly) continue;
      Location loc = mma.op.getLoc();
      waitForCopies(its, mma);
      int64_t depth = depthOf(its, mma);
      Value stage = stageAt(loc, count, depth).first, no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
      multiply(its, number, tileAt(mma, stage, depth), no, stage);
    }
  }

  /// Waits for what a producer copies, once for each full barrier.
  void waitForCopies(ChainLoop &its, ChainedMma &mma) {
    for (Value buffer : mma.op.buffers()) {
      auto barriers = fullBarriers.find(allocOf(buffer));
      if (barriers == fullBarriers.end() || !its.fullWaits.contains(barriers->second)) continue;
      FullWait &full = its.fullWaits[barriers->second];
      if (full.isDone) continue;
      full.isDone = true;
      assign(ttg::BarrierWaitOp::create(b, mma.op.getLoc(), barriers->second, full.stage, full.parity));
    }
  }

  /// Issues an MMA. Commits say that it is complete, and release the copies that it is the last to read.
  void multiply(ChainLoop &its, size_t number, Value result, Value accumulate, Value stage) {
    ChainedMma &mma = its.mmas[number];
    Location loc = mma.op.getLoc();
    Value first = mma.operand ? mma.operand : forIteration(its, mma.op.getA()), second = forIteration(its, mma.op.getB());
    assign(ttg::Tcgen05MmaOp::create(b, loc, first, second, result, accumulate, Value(), Value(), Value(), Value(), Value(),
                                     ttg::BlockScalesAttr()));
    assign(ttg::Tcgen05CommitOp::create(b, loc, mma.done, stage));
    for (auto [arrive, after] : its.releases)
      if (after == number) assign(ttg::Tcgen05CommitOp::create(b, loc, arrive.getBarriers(), stageFor(its, arrive.getIndex())));
  }

  /// The stage that an index names in the iteration for which MMAs are issued.
  static Value stageFor(ChainLoop &its, Value index) {
    for (auto &[barriers, full] : its.fullWaits)
      if (full.op.getIndex() == index) return full.stage;
    return index;
  }

  /// A buffer operand, at the stage of the iteration for which MMAs are issued.
  Value forIteration(ChainLoop &its, Value buffer) {
    Operation *op = buffer.getDefiningOp();
    if (!isa<ttg::ViewOp, ttg::StageOp>(op)) return buffer;
    IRMapping map;
    map.map(op->getOperand(0), forIteration(its, op->getOperand(0)));
    if (auto stage = dyn_cast<ttg::StageOp>(op)) map.map(stage.getIndex(), stageFor(its, stage.getIndex()));
    return b.clone(*op, map)->getResult(0);
  }

  void erase(scf::ForOp loop, ChainLoop &its) {
    for (ChainedMma &mma : llvm::reverse(its.mmas)) {
      if (mma.inPlace) loop.getTiedLoopYieldedValue(loop.getRegionIterArg(*mma.inPlace))->set(loop.getRegionIterArg(*mma.inPlace));
      mma.op.erase();
    }
    for (auto &[barriers, full] : its.fullWaits)
      full.op.erase();
    for (auto [arrive, after] : its.releases)
      arrive.erase();
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  TensorAccumulators sums;
  OpBuilder b;
  llvm::MapVector<Operation *, ChainLoop> loops;
  DenseMap<Operation *, Value> fullBarriers;                 ///< by the buffers that a producer fills
  DenseMap<std::tuple<int64_t, int64_t, Type>, Value> tiles; ///< by column, depth and type
  DenseMap<std::pair<Type, int64_t>, Value> factorBuffers;   ///< by type and number in the loop
  Value address, zero;
  int64_t columns = 0;
  bool hasCorrection = false;
};

} // namespace

FailureOr<bool> partitionChainedMmas(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  ChainPartitioner partitioner(function, config, target);
  if (!partitioner.plan()) return false;
  if (failed(partitioner.run())) return failure();
  return true;
}

} // namespace tilewright::gpu
