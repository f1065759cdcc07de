// One warp starts the copies of a loop, the consumer warps multiply. A warp that does both lets the tensor cores wait while it computes
// addresses, and a barrier an iteration, for the stage that is filled again, keeps all warps in step: none computes while another
// multiplies.
//   before: for i { wait until stage is empty (producer)   start copies (producer)   wait until it is full   multiply   arrive: read }
//   after:  if warp < 8 { for i { wait until it is full   multiply   arrive: read } }
//           else if warp == 8 { for i { wait until stage is empty   start copies } }
// The producer's program is the kernel's without everything that its copies do not need: loops, bounds, coordinates. It takes part in the
// barriers that guard bytes of a circular buffer which had another use before (`all_warps`). It has a warpgroup to itself, because
// registers move between whole warpgroups: it keeps few, and the consumers take what it leaves.
#include "gpu/passes.h"
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/schedule/loop_schedule.h"
#include "gpu/schedule/skeleton.h"
#include "gpu/tiles/demanded_extent.h"
#include "ir/address/divisibility.h"
#include "ir/refusal.h"
#include "ir/volatile_load.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// The author has asked for it: tl.range(..., warp_specialize=True), of the loop or one around it.
static bool isAsked(const LoopSchedule &schedule) {
  for (Operation *op = schedule.loop; op; op = op->getParentOp())
    if (op->hasAttr(tt::warpSpecializeName)) return true;
  return false;
}

/// The same, of any loop of the kernel.
static bool isAskedSomewhere(tt::FuncOp function) {
  WalkResult walk = function.walk(
      [](scf::ForOp loop) { return loop->hasAttr(tt::warpSpecializeName) ? WalkResult::interrupt() : WalkResult::advance(); });
  return walk.wasInterrupted();
}

/// One warpgroup computes or stores while another multiplies: that is the gain of warp specialization, because warpgroups run decoupled.
/// Where nothing is computed between MMAs, and all synchronize to store, it costs a little. Where a second CTA fits on an SM, it already
/// fills the gaps. docs/heuristics.md has the numbers (Decisions without a number).
static std::optional<std::string> gainObstacle(ArrayRef<LoopSchedule> loops, ttg::ConfigAttr config, const GpuTarget &target) {
  if (llvm::any_of(loops, isAsked)) return {};
  if (llvm::any_of(loops, [](const LoopSchedule &schedule) { return schedule.runsDecoupled; })) return {};
  if (llvm::all_of(loops, [](const LoopSchedule &schedule) { return !schedule.edges.empty() && !schedule.drainsAtWait(); }))
    return "there is no computation between the dots to overlap with";
  if (llvm::none_of(loops, [&](const LoopSchedule &schedule) { return limitsToOneCtaPerSM(schedule.loop, config, target); }))
    return "a second CTA fits on the SM, and uses the tensor cores while this one computes";
  return {};
}

std::optional<std::string> warpSpecializationObstacle(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  if (!target.setmaxnreg || !target.tma) return "warps of " + target.name + " cannot reallocate registers between warps";
  if (config.getCtas() != 1)
    if (std::optional<std::string> reason = multicastObstacle(function)) return reason;
  if (config.getMaxRegisters() != 0) return "maxnreg sets the number of registers";
  int64_t warps = config.getWarps(), groups = warps / warpsOfGroup;
  if (groups == 0 || (groups + 1) * threadsOfGroup > target.threadsPerBlock)
    return "it needs num_warps of 4, 8 or 16, to leave space for the producer warpgroup";
  if (groups == 2 || config.getCtas() != 1 || isAskedSomewhere(function)) return {};
  if (groups == 1) return "a single warpgroup has no other one to overlap with";
  return "with so many warpgroups, none gains enough registers";
}

/// True if the sums of each MMA's instruction fit in the registers with which a CTA starts.
static bool fitsAtFirst(scf::ForOp loop, ttg::ConfigAttr config, const GpuTarget &target) {
  WalkResult walk = loop.walk([&](ttg::WgmmaOp mma) {
    auto type = cast<RankedTensorType>(mma.getType());
    int64_t columns = Layout::wgmmaColumns(ttg::shapeOf(type), config.getWarps());
    if (!mmaExtent(mma).empty()) columns = std::min(columns, mmaExtent(mma)[1]);
    bool fits = sumsFitAtStart(columns, type.getElementTypeBitWidth(), config.getWarps(), target, /*dequantizes=*/false);
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

/// Whether rows of what is copied may begin within a sector of the L2: each line of a box then is one sector more, and what a
/// SM gets from there takes longer than the MMAs.
static bool mayStartWithinSector(const Copy &copy, tt::FuncOp function) {
  auto load = dyn_cast<ttg::DescriptorLoadOp>(copy.load);
  auto map = load ? dyn_cast<BlockArgument>(load.getMap()) : BlockArgument();
  auto recipe = map ? function.getArgAttrOfType<ttg::TensorMapAttr>(map.getArgNumber(), ttg::tensorMapName) : ttg::TensorMapAttr();
  if (!recipe) return false;
  auto isOdd = [&](Attribute term) {
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(term).asArrayRef(); // a coefficient, and arguments
    int64_t elementBytes = recipe.getElement().getIntOrFloatBitWidth() / 8;
    return address::divisorOfTerm(function, numbers.front(), numbers.drop_front()) * elementBytes % sectorBytes != 0;
  };
  return llvm::any_of(recipe.getStrides(), [&](Attribute stride) { return llvm::any_of(cast<ArrayAttr>(stride), isOdd); });
}

bool mayLearnOfWrites(tt::FuncOp function) {
  bool found = false;
  function.walk([&](Operation *op) {
    auto load = dyn_cast<tt::LoadOp>(op);
    auto assembly = dyn_cast<tt::ElementwiseInlineAsmOp>(op);
    found |= isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op) && !op->use_empty();
    found |= (load && tt::mayChangeMeanwhile(load)) || (assembly && !assembly.getPure());
  });
  return found;
}

std::optional<std::string> warpSpecializationObstacle(ArrayRef<LoopSchedule> loops, ttg::ConfigAttr config, const GpuTarget &target) {
  if (loops.empty()) return "no loop has a pipelined load";
  auto function = scf::ForOp(loops.front().loop)->getParentOfType<tt::FuncOp>();
  if (std::optional<std::string> reason = warpSpecializationObstacle(function, config, target)) return reason;
  if (mayLearnOfWrites(function)) return "the kernel may wait for data that another program writes";
  Skeleton producer(function);
  for (const LoopSchedule &schedule : loops)
    if (config.getWarps() != 2 * warpsOfGroup &&
        accumulatorsOf(schedule.loop) > registersForTiles(config, target, /*warpSpecialized=*/true))
      return "its accumulators do not fit in " + std::to_string(consumerRegisters(config.getWarps(), target, /*keptByDequantize=*/0)) +
             " registers per thread";
  for (const LoopSchedule &schedule : loops)
    if (!fitsAtFirst(schedule.loop, config, target))
      return "the accumulators of an MMA do not fit in the " +
             std::to_string(firstRegisters(config.getWarps(), target, /*dequantizes=*/false)) +
             " registers per thread at the start of a CTA";
  for (const LoopSchedule &schedule : loops)
    for (const CircularBuffer &circular : schedule.circularBuffers) {
      if (!circular.tma) return "a loop's tiles are not copied by TMA";
      bool isRow =
          llvm::all_of(circular.copies, [](const Copy &copy) { return ttg::AllocOp(copy.alloc).getType().getShape().size() == 1; });
      if (!circular.mmasRead && !isRow) return "a loop's tiles are not operands of a warpgroup MMA";
      for (const Copy &copy : circular.copies) {
        producer.keep(copy.load->getParentOp());
        for (Value operand : copy.load->getOperands())
          producer.need(operand);
      }
    }
  if (!producer.isComputable()) return "the addresses of the loads depend on earlier loads";
  auto sharesTiles = [&](const LoopSchedule &schedule) {
    return llvm::any_of(schedule.circularBuffers, [&](const CircularBuffer &circular) {
      return llvm::any_of(circular.copies, [&](const Copy &copy) { return isMulticastToAllCtas(circular, copy, config); });
    });
  };
  auto isOdd = [&](const LoopSchedule &schedule) {
    return llvm::any_of(schedule.circularBuffers, [&](const CircularBuffer &circular) {
      return llvm::any_of(circular.copies, [&](const Copy &copy) { return mayStartWithinSector(copy, function); });
    });
  };
  if (config.getCtas() != 1) {
    if (!llvm::all_of(loops, sharesTiles)) return "the program has several CTAs, and they have no tile in common";
    if (llvm::any_of(loops, isAsked) || llvm::any_of(loops, isOdd)) return {};
    return "the program has several CTAs, and all rows start at an L2 sector";
  }
  return gainObstacle(loops, config, target);
}

/// A partition's program: the skeleton of a block of operations, after the change of registers. `only`: the one warp that runs it; null:
/// all do.
static void fillPartition(OpBuilder &b, Location loc, const Skeleton &skeleton, Block &from, int64_t registers, int64_t first, Value warp,
                          Value only) {
  ptx::MaxRegistersOp::create(b, loc, registers > first, static_cast<uint32_t>(registers));
  OpBuilder::InsertionGuard guard(b);
  if (only) {
    auto one = scf::IfOp::create(b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp, only), /*withElseRegion=*/false);
    b.setInsertionPointToStart(one.thenBlock());
  }
  IRMapping map;
  skeleton.clone(from, b, map);
}

/// A loop's initial value that is never used.
static Value anything(Value init) {
  Type element = getElementTypeOrSelf(init.getType());
  if (!isa<IntegerType, FloatType>(element)) return init;
  OpBuilder b(init.getContext());
  b.setInsertionPointAfterValue(init);
  return arith::ConstantOp::create(b, init.getLoc(), b.getZeroAttr(init.getType()));
}

/// Of what a loop carries, the values that only operations of other partitions need stay what they are.
static void keepUnneeded(tt::FuncOp function, Block &consumers) {
  Skeleton needed(function, /*tiles=*/true);
  consumers.walk([&](Operation *op) {
    bool structure = isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op);
    if (!structure && op->getNumRegions() == 0 && !isMemoryEffectFree(op) && !wouldOpBeTriviallyDead(op)) needed.keep(op);
    if (!structure && op->getNumRegions() != 0) // its operands; what is inside needs nothing of a loop's
      for (Value operand : op->getOperands())
        needed.need(operand);
  });
  consumers.walk([&](scf::ForOp loop) {
    for (BlockArgument carried : loop.getRegionIterArgs()) {
      if (needed.needs(carried)) continue;
      loop.getTiedLoopYieldedValue(carried)->set(carried);
      loop.getTiedLoopInit(carried)->set(anything(loop.getTiedLoopInit(carried)->get()));
    }
  });
}

/// What only a branch needs is computed there: before it, and of the loop before it, it would take registers.
static void sinkIntoBranches(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() || op.getNumRegions() != 0 || !isMemoryEffectFree(&op)) continue;
    Region *only = nullptr;
    bool one = llvm::all_of(op.getUsers(), [&](Operation *user) {
      Operation *around = block.findAncestorOpInBlock(*user);
      auto branch = dyn_cast<scf::IfOp>(around);
      if (!branch || around == user) return false;
      Region *region = branch.getThenRegion().isAncestor(user->getParentRegion()) ? &branch.getThenRegion() : &branch.getElseRegion();
      if (!only) only = region;
      return only == region;
    });
    if (one) op.moveBefore(&only->front(), only->front().begin());
  }
}

/// Of the MMA that leaves the most results in a thread.
static int64_t accumulatorsOfThread(tt::FuncOp function, ttg::ConfigAttr config) {
  int64_t maxRegisters = 0;
  function.walk([&](ttg::WgmmaOp mma) {
    auto type = cast<RankedTensorType>(mma.getD().getType());
    maxRegisters =
        std::max(maxRegisters, registersOfElements(type.getNumElements(), type.getElementTypeBitWidth(), config.getWarps() << laneBits));
  });
  return maxRegisters;
}

/// Addresses and masks that are computed before a loop and used after it alone, by stores, are computed there: before it, they
/// would take registers next to the accumulators.
static void sinkAfterLoops(Block &block) {
  auto isNumbers = [](Type type) { return isa<RankedTensorType>(type) && !isa<FloatType>(getElementTypeOrSelf(type)); };
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() || op.getNumRegions() != 0 || !isMemoryEffectFree(&op) || !llvm::all_of(op.getResultTypes(), isNumbers)) continue;
    Operation *first = nullptr;
    for (Operation *user : op.getUsers())
      if (Operation *around = block.findAncestorOpInBlock(*user); !first || around->isBeforeInBlock(first)) first = around;
    bool isAfterLoop =
        std::any_of(std::next(op.getIterator()), first->getIterator(), [](Operation &between) { return isa<scf::ForOp>(between); });
    if (isAfterLoop) op.moveBefore(first);
  }
}

namespace {
/// What the warps that hold no accumulators run.
struct Helpers {
  Skeleton producer, dequantize;
  bool hasDequantizePartition, loads; ///< whether one warpgroup dequantizes, and loads for the consumers
  int64_t registers() const { return !hasDequantizePartition ? 0 : loads ? loaderRegisters : dequantizeRegisters; }
};
} // namespace

static FailureOr<Helpers> helpersOf(tt::FuncOp function) {
  Helpers helpers{Skeleton(function), Skeleton(function, /*tiles=*/true), function->hasAttr(ttg::dequantizePartitionName),
                  function->hasAttr(ttg::forwardsScalesName)};
  function.walk([&](Operation *op) {
    auto sync = dyn_cast<ttg::CtaBarrierOp>(op);
    bool allWarps = sync && sync.getAllWarps();
    if (op->hasAttr(ttg::producerName) || allWarps) helpers.producer.keep(op);
    if (op != function && (op->hasAttr(ttg::dequantizePartitionName) || allWarps)) helpers.dequantize.keep(op);
  });
  if (!helpers.producer.isComputable()) return bug(function, "the producer cannot compute its addresses"), failure();
  if (helpers.hasDequantizePartition && !helpers.dequantize.isComputable())
    return bug(function, "the dequantize partition cannot compute its operands"), failure();
  return helpers;
}

/// The programs of the helpers, at the builder's insertion point.
static void fillPartitions(OpBuilder &b, Location loc, const Helpers &helpers, Block &from, ttg::ConfigAttr config, const GpuTarget &target,
                           Value warp, Value firstHelper) {
  int64_t first = firstRegisters(config.getWarps(), target, helpers.hasDequantizePartition);
  if (helpers.hasDequantizePartition) {
    Value second = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(config.getWarps() + warpsOfGroup)));
    Value isDequantizePartition = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, warp, second);
    auto role = scf::IfOp::create(b, loc, isDequantizePartition, /*withElseRegion=*/true);
    role->setAttr(ttg::dequantizePartitionName, b.getUnitAttr());
    b.setInsertionPointToStart(role.thenBlock());
    fillPartition(b, loc, helpers.dequantize, from, helpers.registers(), first, warp, Value());
    b.setInsertionPointToStart(role.elseBlock());
  }
  fillPartition(b, loc, helpers.producer, from, producerRegisters, first, warp, firstHelper);
}

/// The others are left with what is theirs.
static void leaveToConsumers(tt::FuncOp function, Block &consumers, bool hasDequantizePartition) {
  consumers.walk([](Operation *op) {
    if (op->hasAttr(ttg::producerName) || op->hasAttr(ttg::dequantizePartitionName)) op->erase();
  });
  if (!hasDequantizePartition) return;
  keepUnneeded(function, consumers);
  ttg::eraseDead(function);
  sinkIntoBranches(consumers);
}

static LogicalResult split(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  FailureOr<Helpers> helpers = helpersOf(function);
  if (failed(helpers)) return failure();

  // Barriers are made by all, before anybody parts.
  Block &entry = function.getBody().front();
  Operation *last = nullptr;
  for (auto barriers : entry.getOps<ttg::AllocBarriersOp>())
    last = barriers;
  if (!last) return bug(function, "a producer without barriers");
  OpBuilder b(entry.getTerminator());
  Location loc = function.getLoc();
  Value warp = ptx::WarpIdOp::create(b, loc, b.getI32Type());
  Value firstHelper = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(config.getWarps())));
  Value helps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, warp, firstHelper);
  auto parted = scf::IfOp::create(b, loc, helps, /*withElseRegion=*/true);
  Block *consumers = parted.elseBlock();
  auto begin = std::next(last->getIterator());
  consumers->getOperations().splice(consumers->begin(), entry.getOperations(), begin, warp.getDefiningOp()->getIterator());

  b.setInsertionPointToStart(parted.thenBlock());
  fillPartitions(b, loc, *helpers, *consumers, config, target, warp, firstHelper);
  leaveToConsumers(function, *consumers, helpers->hasDequantizePartition);
  ttg::eraseDead(function);
  if (accumulatorsOfThread(function, config) > manyAccumulators) sinkAfterLoops(*consumers);

  // More registers are there once the other partitions have given theirs away. What comes before any tile is read, the start of the first
  // copies, need not wait for that.
  auto readsTile = [](Operation *op) {
    bool tile = llvm::any_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
    return isa<ttg::BarrierWaitOp>(op) || (tile && !isMemoryEffectFree(op));
  };
  Operation *insertionPoint = &consumers->front();
  while (!readsTile(insertionPoint) && insertionPoint->getNumRegions() == 0 && !insertionPoint->hasTrait<OpTrait::IsTerminator>())
    insertionPoint = insertionPoint->getNextNode();
  b.setInsertionPoint(insertionPoint);
  ptx::MaxRegistersOp::create(b, loc, true, static_cast<uint32_t>(consumerRegisters(config.getWarps(), target, helpers->registers())));
  ttg::eraseDead(function);
  return success();
}

LogicalResult specializeWarps(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    return function->hasAttr(ttg::warpSpecializedName) ? split(function, config, target) : success();
  });
}

} // namespace tilewright::gpu
