// Decides what the lowering of an operation needs to know of other operations, and writes it down: as a property or attribute of the
// operation, or as an operation of its own. Then lower-to-threads reads each operation alone.
//   before: %b = ttg.alloc_barriers    %s = ttg.stage %x[%i]                    ttg.tma_load .. to %s        %e = math.exp (%y - %m)
//   after:  ..  ttg.init_barriers %b   %s = ttg.stage %x[%i] {distance = 8192}  {copiedExtent = [64, 152]}   {ttg.rounded}
#include "gpu/cost_model/thresholds.h"
#include "gpu/passes.h"
#include "gpu/tiles/specialize/row_length.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/mma_extent.h"
#include "gpu/ttg/tile_equivalence.h"
#include "ir/refusal.h"
#include "ir/volatile_load.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

//===-------------------------------------------------------------------------------------------------------- arithmetic

/// True if the numbers are f32 sums or products, so they are already rounded to half a unit in the last place. Such a unit of x changes
/// e^x by |x| 2^-24 of its value. A mask may have replaced numbers by constants.
static bool areRounded(Value numbers, int64_t deepest = 4) {
  Operation *from = numbers.getDefiningOp();
  if (!from || deepest == 0) return false;
  if (auto choice = dyn_cast<arith::SelectOp>(from)) {
    if (matchPattern(choice.getFalseValue(), m_Constant())) return areRounded(choice.getTrueValue(), deepest - 1);
    return matchPattern(choice.getTrueValue(), m_Constant()) && areRounded(choice.getFalseValue(), deepest - 1);
  }
  if (isa<ttg::ConvertLayoutOp>(from)) return areRounded(from->getOperand(0), deepest - 1);
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, math::FmaOp, tt::DotOp, ttg::MmaAsyncWaitOp>(from);
}

/// What is known of the length of a row, for the columns that are always inside or always outside in this version of the kernel.
static void boundRowLength(arith::CmpIOp compare) {
  std::optional<RowLength> row = rowLengthOf(compare);
  if (!row || row->isBroadcast) return;
  std::optional<int64_t> min = row->constant, max = row->constant;
  if (row->length) {
    auto function = cast<tt::FuncOp>(row->length.getOwner()->getParentOp());
    if (auto known = function.getArgAttrOfType<IntegerAttr>(row->length.getArgNumber(), ttg::maxValueName)) max = known.getInt();
  }
  if (min || max)
    compare->setAttr(ttg::rowLengthName, DenseI64ArrayAttr::get(compare.getContext(), {min.value_or(std::numeric_limits<int64_t>::min()),
                                                                                       max.value_or(std::numeric_limits<int64_t>::max())}));
}

//===------------------------------------------------------------------------------------------------------------- loops

/// Small elements that are loaded in 32-bit words for a later iteration are carried in such words.
static void packCarried(scf::ForOp loop) {
  SmallVector<int64_t> packed;
  for (auto [number, value] : llvm::enumerate(loop.getYieldedValues())) {
    auto argument = dyn_cast<BlockArgument>(value); // a value loaded several iterations ahead
    if (argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
      value = loop.getTiedLoopYieldedValue(argument)->get();
    auto load = value.getDefiningOp<tt::LoadOp>();
    if (!load || !isa<RankedTensorType>(value.getType())) continue;
    auto width = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
    int64_t bits = ttg::elementBits(value.getType()), registers = ttg::layoutOf(value.getType()).registersPerThread();
    if ((bits == 8 || bits == 16) && width && width.getInt() * bits % 32 == 0 && registers * bits % 32 == 0)
      packed.push_back(static_cast<int64_t>(number));
  }
  if (!packed.empty()) loop->setAttr(ttg::packedWordsName, DenseI64ArrayAttr::get(loop.getContext(), packed));
}

/// The atomic operation or volatile load of a scalar loop that does nothing but retry it; null for other loops.
static Operation *triedBy(scf::WhileOp loop) {
  auto isAttempt = [](Operation &op) {
    auto load = dyn_cast<tt::LoadOp>(op);
    return isa<tt::AtomicCASOp, tt::AtomicRMWOp>(op) || (load && tt::isVolatileLoad(load));
  };
  Block &test = loop.getBefore().front();
  auto attempt = llvm::find_if(test, isAttempt);
  if (attempt == test.end() || !loop.getInits().empty() || loop->getNumResults()) return nullptr;
  bool isPlain = llvm::all_of(test.without_terminator(), [&](Operation &op) {
    return &op == &*attempt || (isPure(&op) && op.getNumRegions() == 0 && !isa<RankedTensorType>(op.getResult(0).getType()));
  });
  bool isScalar = !isa<RankedTensorType>(attempt->getOperand(0).getType());
  return isPlain && isScalar && llvm::hasSingleElement(loop.getAfter().front()) ? &*attempt : nullptr;
}

/// True if each attempt tries to take a lock, and the loop continues while another program holds it. A failed attempt changes nothing.
static bool isSpinLock(scf::WhileOp loop, tt::AtomicCASOp swap) {
  auto compare = loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
  APInt expected, taken, seen;
  if (!swap || !compare || compare.getLhs() != swap.getResult() || !matchPattern(swap.getCmp(), m_ConstantInt(&expected)) ||
      !matchPattern(swap.getVal(), m_ConstantInt(&taken)) || !matchPattern(compare.getRhs(), m_ConstantInt(&seen)))
    return false;
  arith::CmpIPredicate goesOn = compare.getPredicate();
  return expected != taken &&
         (goesOn == arith::CmpIPredicate::ne ? seen == expected : goesOn == arith::CmpIPredicate::eq && seen != expected);
}

static void markSpin(scf::WhileOp loop, ttg::ConfigAttr config) {
  Operation *attempt = config.getCtas() == 1 ? triedBy(loop) : nullptr;
  if (!attempt) return;
  auto unit = UnitAttr::get(loop.getContext());
  loop->setAttr(ttg::spinName, unit);
  if (isSpinLock(loop, dyn_cast<tt::AtomicCASOp>(attempt))) loop->setAttr(ttg::spinLockName, unit);
}

//===---------------------------------------------------------------------------------------- buffers, copies and mbarriers

static LogicalResult setDistance(ttg::StageOp stage) {
  ttg::AllocOp alloc = allocOf(stage.getBuffer());
  if (!alloc) return bug(stage, "it is a stage of a buffer without an allocation");
  stage.setDistance(static_cast<uint32_t>(stageBytes(alloc)));
  return success();
}

template <typename Copy> static void setCopiedExtent(Copy copy) {
  if (ttg::AllocOp alloc = allocOf(copy.getBuffer())) copy.setCopiedExtent(alloc.getCopiedExtent());
}

/// Consecutive allocations are initialized together, after the last of them: ptxas inserts a fence before each branch.
static void initializeBarriers(ttg::AllocBarriersOp op, bool allCtas) {
  Operation *next = op->getNextNode();
  while (isa<arith::ConstantOp, ttg::TensorTileOp>(next))
    next = next->getNextNode();
  if (isa<ttg::AllocBarriersOp>(next)) return;
  SmallVector<Value> run;
  SmallVector<int32_t> arrivals;
  for (Operation *at = op; isa_and_nonnull<arith::ConstantOp, ttg::TensorTileOp, ttg::AllocBarriersOp>(at); at = at->getPrevNode())
    if (auto barriers = dyn_cast<ttg::AllocBarriersOp>(at)) {
      run.push_back(barriers);
      arrivals.push_back(static_cast<int32_t>(barriers.getArrivals()));
    }
  std::reverse(run.begin(), run.end());
  std::reverse(arrivals.begin(), arrivals.end());
  OpBuilder b(op.getContext());
  b.setInsertionPointAfter(op);
  ttg::InitBarriersOp::create(b, op.getLoc(), run, arrivals, allCtas);
}

static bool hasArrivalsOfOtherCtas(Value barriers) {
  return llvm::any_of(barriers.getUsers(), [](Operation *user) {
    auto arrive = dyn_cast<ttg::BarrierArriveOp>(user);
    return arrive && arrive.isForCluster();
  });
}

//===---------------------------------------------------------------------------------------------------------------- MMAs

/// The warps that run an operation.
static int64_t warpsOf(Operation *op, int64_t kernelWarps) {
  for (Region *region = op->getParentRegion(); region; region = region->getParentRegion())
    if (auto partitions = dyn_cast<ttg::WarpSpecializeOp>(region->getParentOp()); partitions && region != &partitions.getDefaultRegion())
      return partitions.getPartitionNumWarps()[region->getRegionNumber() - 1];
  return kernelWarps;
}

/// True if all iterations of the loop read the same bytes through the buffer.
static bool isConstant(Value buffer, scf::ForOp loop) {
  for (Operation *op = buffer.getDefiningOp(); op && loop->isAncestor(op); op = op->getOperand(0).getDefiningOp()) {
    if (isa<ttg::AllocOp>(op)) return true;
    auto stage = dyn_cast<ttg::StageOp>(op);
    if (stage ? !loop.isDefinedOutsideOfLoop(stage.getIndex()) : !isa<ttg::ViewOp>(op)) return false;
  }
  return true;
}

/// True if the MMAs of the loop have many loop-invariant descriptors. There is one for each step along K, and for each 64 rows of a
/// warpgroup or for all columns.
static bool hasManyConstantDescriptors(scf::ForOp loop, int64_t warps) {
  int64_t descriptors = 0;
  for (auto mma : loop.getBody()->getOps<ttg::MmaAsyncOp>()) {
    ttg::BufferType second = mma.getB().getType();
    int64_t steps = llvm::divideCeil(second.getShape()[0] * ttg::elementBits(second.getElementType()) / 8, mmaDepthBytes);
    auto first = dyn_cast<ttg::BufferType>(mma.getA().getType());
    if (first && isConstant(mma.getA(), loop))
      descriptors += steps * llvm::divideCeil(first.getShape()[0] / (warps / warpsOfGroup), wgmmaRows);
    if (isConstant(mma.getB(), loop)) descriptors += steps;
  }
  return descriptors >= minDescriptorsToRecompute;
}

/// Returns a loop-variant zero for an access to the buffer; null if the buffer changes with the loop, or if there are few such values.
static Value loopVariantZero(Operation *op, Value buffer, int64_t kernelWarps) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || !isConstant(buffer, loop) || !hasManyConstantDescriptors(loop, warpsOf(op, kernelWarps))) return {};
  OpBuilder b(op);
  for (auto stage : loop.getBody()->getOps<ttg::StageOp>())
    if (stage->isBeforeInBlock(op) && !isConstant(stage, loop)) return ttg::LoopVariantZeroOp::create(b, op->getLoc(), stage);
  return {};
}

static void prepareMma(ttg::MmaAsyncOp op, int64_t kernelWarps) {
  OpBuilder b(op);
  // An MMA that starts from zero does not read the accumulators, so no instruction has to clear them.
  if (!op.getUseC() && tt::isZeros(op.getC())) op.getUseCMutable().assign(arith::ConstantOp::create(b, op.getLoc(), b.getBoolAttr(false)));
  if (Value zero = loopVariantZero(op, op.getB(), kernelWarps)) op.getBZeroMutable().assign(zero);
  if (!isa<ttg::BufferType>(op.getA().getType())) return;
  if (Value zero = loopVariantZero(op, op.getA(), kernelWarps)) op.getAZeroMutable().assign(zero);
}

/// 16-bit accumulators share a register, and become separate values only when the MMA has completed: lower-to-threads waits for it there.
static bool isDoneAtOnce(Value sums) {
  bool isSum = !sums.getDefiningOp() || isa<ttg::MmaAsyncOp, scf::ForOp>(sums.getDefiningOp());
  return isSum && accumulatorsOfRegister(getElementTypeOrSelf(sums.getType())) > 1;
}

namespace {
/// A wait with its tiles in order: accumulators, then values to be computed before the wait, which do not come from an MMA.
struct PreparedWait {
  ttg::MmaAsyncWaitOp op;
  SmallVector<size_t> order; ///< positions in the wait's operands
  size_t computed = 0;       ///< of them, how many at the end are to be computed first
  ArrayAttr extents;         ///< null: MMAs in flight may write all registers
};
} // namespace

static PreparedWait preparedWait(ttg::MmaAsyncWaitOp op, const Sums &partial) {
  SmallVector<size_t> accumulators, values, reductions;
  for (auto [i, tile] : llvm::enumerate(op.getTiles())) {
    Operation *from = tile.getDefiningOp();
    bool isComputed = from && isElementwiseOnTiles(from), isReduction = isa_and_nonnull<tt::ReduceOp>(from);
    (isReduction ? reductions : isComputed ? values : accumulators).push_back(i);
  }
  // A sum or another reduction stands for all the values that it combines.
  size_t computed = reductions.empty() ? values.size() : reductions.size();
  PreparedWait wait{op, llvm::to_vector(llvm::concat<size_t>(accumulators, values, reductions)), computed, {}};
  Builder b(op.getContext());
  SmallVector<Attribute> extents;
  for (size_t number : wait.order) {
    Value tile = op.getTiles()[number];
    auto sum = partial.find(tile);
    SmallVector<int64_t> extent = isDoneAtOnce(tile)     ? SmallVector<int64_t>{0, 0}
                                  : sum == partial.end() ? SmallVector<int64_t>()
                                                         : sum->second;
    extents.push_back(b.getDenseI64ArrayAttr(extent));
  }
  bool isWhole = llvm::all_of(extents, [](Attribute extent) { return cast<DenseI64ArrayAttr>(extent).empty(); });
  if (!isWhole) wait.extents = b.getArrayAttr(extents);
  return wait;
}

static void replace(const PreparedWait &wait) {
  ttg::MmaAsyncWaitOp op = wait.op;
  OpBuilder b(op);
  SmallVector<Value> tiles = llvm::map_to_vector(wait.order, [&](size_t number) { return Value(op.getTiles()[number]); });
  auto fresh = ttg::MmaAsyncWaitOp::create(b, op.getLoc(), ValueRange(tiles).getTypes(), op.getPending(), tiles, op.getDrains(),
                                           op.getNamesAll(), static_cast<uint32_t>(wait.computed), wait.extents);
  for (auto [number, result] : llvm::zip(wait.order, fresh.getResults()))
    op.getResult(static_cast<unsigned>(number)).replaceAllUsesWith(result);
  op.erase();
}

static void prepareWaits(tt::FuncOp kernel) {
  Sums partial = partialSums(kernel);
  std::vector<PreparedWait> waits;
  kernel.walk([&](ttg::MmaAsyncWaitOp op) { waits.push_back(preparedWait(op, partial)); });
  for (const PreparedWait &wait : waits)
    replace(wait);
}

//===------------------------------------------------------------------------------------------------------------ the step

static LogicalResult prepare(Operation *op, ttg::ConfigAttr config, bool hasPartitions) {
  bool isInLoop = isa<scf::ForOp>(op->getParentOp());
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](math::ExpOp exp) {
        bool isRounded = getElementTypeOrSelf(exp.getType()).isF32() && areRounded(exp.getOperand());
        if (isRounded) exp->setAttr(ttg::roundedName, UnitAttr::get(exp.getContext()));
        return success();
      })
      .Case([&](arith::CmpIOp compare) { return boundRowLength(compare), success(); })
      .Case([&](scf::ForOp loop) { return packCarried(loop), success(); })
      .Case([&](scf::WhileOp loop) { return markSpin(loop, config), success(); })
      .Case([&](ttg::StageOp stage) { return setDistance(stage); })
      .Case<ttg::TmaLoadOp, ttg::TmaStoreOp>([&](auto copy) { return setCopiedExtent(copy), success(); })
      // CTAs arrive at each other's barriers
      .Case([&](ttg::AllocBarriersOp alloc) { return initializeBarriers(alloc, hasPartitions && config.getCtas() != 1), success(); })
      .Case([&](ttg::BarrierWaitOp wait) { return wait.setFromOtherCtas(hasArrivalsOfOtherCtas(wait.getBarriers())), success(); })
      .Case([&](ttg::StoreSharedOp store) {
        if (Value zero = loopVariantZero(store, store.getBuffer(), config.getWarps())) store.getZeroMutable().assign(zero);
        return success();
      })
      .Case([&](ttg::MmaAsyncOp mma) { return prepareMma(mma, config.getWarps()), success(); })
      .Case([&](ttg::TensorLoadOp load) {
        load.setInHalves(isInLoop && llvm::any_of(load->getUsers(), llvm::IsaPred<tt::ReduceOp>));
        return success();
      })
      .Case([&](ttg::TensorStoreOp store) { return store.setInParts(isInLoop), success(); })
      .Default([](Operation *) { return success(); });
}

LogicalResult prepareLowering(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp kernel, ttg::ConfigAttr config, const GpuTarget &) -> LogicalResult {
    auto partitions = ttg::partitionsAtEnd(kernel);
    if (partitions) partitions.captureImplicitly();
    prepareWaits(kernel);
    SmallVector<Operation *> all;
    kernel.walk([&](Operation *op) { all.push_back(op); });
    for (Operation *op : all)
      if (failed(prepare(op, config, bool(partitions)))) return failure();
    return success();
  });
}

} // namespace tilewright::gpu
