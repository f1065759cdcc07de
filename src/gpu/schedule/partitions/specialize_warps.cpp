// One warp starts the copies of a loop, the consumer warps multiply. A warp that does both lets the tensor cores wait while it computes
// addresses, and a barrier an iteration, for the stage that is filled again, keeps all warps in step: none computes while another
// multiplies.
//   before: for i { wait until stage is empty (producer)   start copies (producer)   wait until it is full   multiply   arrive: read }
//   after:  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24>}
//           default { for i { wait until it is full   multiply   arrive: read } }
//           partition0() num_warps(1) { for i { wait until stage is empty   start copies } }
// The producer's program is the kernel's without everything that its copies do not need: loops, bounds, coordinates. It takes part in the
// barriers that guard bytes of a circular buffer which had another use before (`allWarps`). It has a warp group to itself, because
// registers move between whole warp groups: it keeps few, and the consumers take what it leaves.
#include "gpu/cost_model/registers.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/machine/cluster_rank.h"
#include "gpu/passes.h"
#include "gpu/schedule/partitions/backward_slice.h"
#include "gpu/schedule/partitions/verify/verify_barriers.h"
#include "gpu/schedule/shared_memory/shared_accesses.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/refusal.h"
#include "support/gpu_hardware.h"
#include "support/settings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// A loop's initial value that is never used.
static Value anything(Value init) {
  Type element = getElementTypeOrSelf(init.getType());
  if (!isa<IntegerType, FloatType>(element)) return init;
  OpBuilder b(init.getContext());
  b.setInsertionPointAfterValue(init);
  return arith::ConstantOp::create(b, init.getLoc(), b.getZeroAttr(init.getType()));
}

/// True if an operation around `op` has a region of its own kind, such as scf.while.
static bool isInOtherRegion(Operation *op, Operation *within) {
  for (Operation *around = op->getParentOp(); around != within; around = around->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp>(around)) return true;
  return false;
}

/// Of what a loop carries, the values that only operations of other partitions need stay what they are. Everything in an scf.while is
/// needed.
static void keepUnneeded(ttg::WarpSpecializeOp partitions) {
  auto needed = BackwardSlice::ofWarpGroup(partitions);
  Region &consumers = partitions.getDefaultRegion();
  consumers.walk([&](Operation *op) {
    bool structure = isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op);
    if (!structure && op->getNumRegions() == 0 && !isMemoryEffectFree(op) && !wouldOpBeTriviallyDead(op)) needed.keep(op);
    if ((!structure && op->getNumRegions() != 0) || isInOtherRegion(op, partitions))
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

/// What only a branch needs is computed there: before it, and of the loop before it, it would take registers. What exchanges elements
/// through shared memory stays between its barriers.
static void sinkIntoBranches(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() || op.getNumRegions() != 0 || !isMemoryEffectFree(&op) || hasBarrierInside(&op)) continue;
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

/// Returns the registers per thread of the MMA that leaves the most results.
static int64_t accumulatorsOfThread(tt::FuncOp function, ttg::ConfigAttr config) {
  int64_t maxRegisters = 0;
  function.walk([&](ttg::MmaAsyncOp mma) {
    auto type = cast<RankedTensorType>(mma.getD().getType());
    maxRegisters =
        std::max(maxRegisters, registersOfElements(type.getNumElements(), ttg::elementBits(type), config.getWarps() << laneBits));
  });
  return maxRegisters;
}

/// True if it computes numbers, as of addresses and masks, from its operands alone.
static bool computesNumbers(Operation &op) {
  auto isNumbers = [](Type type) { return isa<RankedTensorType>(type) && !isa<FloatType>(getElementTypeOrSelf(type)); };
  if (op.use_empty() || op.getNumRegions() != 0 || !isMemoryEffectFree(&op) || hasBarrierInside(&op)) return false;
  return llvm::all_of(op.getResultTypes(), isNumbers);
}

static bool isBefore(Operation *op, Operation *point) {
  return point->getBlock()->findAncestorOpInBlock(*op)->isBeforeInBlock(point);
}

namespace {
/// Whether operations may move to a point after a loop. Each question is asked once for each operation.
class Sinking {
public:
  explicit Sinking(Operation *point) : point(point) {}

  /// True if the operation needs no tile to live until the point that would otherwise be dead there: its operands are scalars, constants,
  /// used there anyway, or computed from such values for what is used there.
  bool isFree(Operation *op) {
    auto known = free.find(op);
    if (known != free.end()) return known->second;
    bool isFreeOp = llvm::all_of(op->getOperands(), [&](Value operand) {
      if (!isa<RankedTensorType>(operand.getType()) || matchPattern(operand, m_Constant())) return true;
      if (llvm::any_of(operand.getUsers(), [&](Operation *user) { return !isBefore(user, point); })) return true;
      Operation *from = operand.getDefiningOp();
      return from && from->getBlock() == op->getBlock() && isUsedLater(from) && isFree(from);
    });
    return free[op] = isFreeOp;
  }

private:
  /// True if all that is computed from the operation is used from the point on, or computes only such numbers.
  bool isUsedLater(Operation *op) {
    auto known = usedLater.find(op);
    if (known != usedLater.end()) return known->second;
    bool isLater =
        computesNumbers(*op) && llvm::all_of(op->getUsers(), [&](Operation *user) { return !isBefore(user, point) || isUsedLater(user); });
    return usedLater[op] = isLater;
  }

  Operation *point;
  llvm::DenseMap<Operation *, bool> free, usedLater;
};
} // namespace

/// Addresses and masks that are computed before a loop and used after it alone, by stores, are computed there: before it, they
/// would take registers next to the accumulators.
static void sinkAfterLoops(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!computesNumbers(op)) continue;
    Operation *first = nullptr;
    for (Operation *user : op.getUsers())
      if (Operation *around = block.findAncestorOpInBlock(*user); !first || around->isBeforeInBlock(first)) first = around;
    bool isAfterLoop =
        std::any_of(std::next(op.getIterator()), first->getIterator(), [](Operation &between) { return isa<scf::ForOp>(between); });
    if (isAfterLoop && Sinking(first).isFree(&op)) op.moveBefore(first);
  }
}

namespace {
/// The program of warps that hold no accumulators.
struct PartitionProgram {
  ttg::Partition kind;
  BackwardSlice program;
  int32_t warps, registers;
  std::optional<BackwardSlice> ofPeer = std::nullopt; ///< what the second CTA of a pair runs instead: what all warps take part in
};
} // namespace

/// The part of the kernel that a partition runs. All partitions take part in the barriers of all warps.
static BackwardSlice programOf(tt::FuncOp function, ttg::Partition partition, int64_t warps) {
  BackwardSlice program = warps > 1 ? BackwardSlice::ofWarpGroup(function) : BackwardSlice::ofWarp(function);
  function.walk([&](Operation *op) {
    auto barrier = dyn_cast<ttg::CtaBarrierOp>(op);
    if (ttg::partitionOf(op) == partition || (barrier && barrier.getAllWarps())) program.keep(op);
  });
  return program;
}

/// The MMA partition's program in the second CTA of a pair; null if the CTAs are no pair.
static std::optional<BackwardSlice> programOfPeer(tt::FuncOp function) {
  auto allocs = function.getBody().front().getOps<ttg::TensorAllocOp>();
  if (llvm::none_of(allocs, [](ttg::TensorAllocOp alloc) { return alloc.getPaired(); })) return std::nullopt;
  auto program = BackwardSlice::ofWarp(function);
  function.walk([&](Operation *op) {
    auto barrier = dyn_cast<ttg::CtaBarrierOp>(op);
    if (isa<ttg::ClcProgramOp>(op) || (barrier && barrier.getAllWarps())) program.keep(op);
  });
  return program;
}

static SmallVector<PartitionProgram, 2> partitionsOf(tt::FuncOp function, ttg::ConfigAttr config) {
  bool multiplies = false, corrects = false;
  function.walk([&](Operation *op) {
    multiplies |= ttg::partitionOf(op) == ttg::Partition::mmas;
    corrects |= ttg::partitionOf(op) == ttg::Partition::correction;
  });
  auto registersOfOperands = function->getAttrOfType<IntegerAttr>(ttg::operandRegistersName);
  // The warps that start copies and MMAs share a warp group, which leaves the consumers more registers. A single consumer group next to a
  // correction partition cannot use them.
  bool shared = multiplies && !registersOfOperands && (config.getWarps() > warpsOfGroup || !corrects);
  SmallVector<PartitionProgram, 2> partitions;
  auto add = [&](ttg::Partition kind, int64_t warps, int64_t registers) {
    partitions.push_back({kind, programOf(function, kind, warps), static_cast<int32_t>(warps), static_cast<int32_t>(registers)});
    if (kind == ttg::Partition::mmas) partitions.back().ofPeer = programOfPeer(function);
  };
  add(ttg::Partition::producer, 1, producerRegisters);
  if (shared) add(ttg::Partition::mmas, 1, mmaPartitionRegisters);
  if (registersOfOperands) add(ttg::Partition::operands, warpsOfGroup, registersOfOperands.getInt());
  if (corrects) add(ttg::Partition::correction, warpsOfGroup, correctionRegisters);
  if (multiplies && !shared) add(ttg::Partition::mmas, 1, mmaPartitionRegisters);
  return partitions;
}

/// Clones a partition's program, at the insertion point.
static void clonePartition(Block &kernel, const PartitionProgram &partition, OpBuilder &b, Location loc) {
  IRMapping map;
  if (!partition.ofPeer) return partition.program.clone(kernel, b, map);
  auto branch = scf::IfOp::create(b, loc, isFirstCta(b, loc), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  partition.program.clone(kernel, b, map);
  IRMapping ofPeer;
  b.setInsertionPointToStart(branch.elseBlock());
  partition.ofPeer->clone(kernel, b, ofPeer);
}

/// From the initialization of the barriers on, the kernel becomes the default region, and each partition a region with its own program.
static ttg::WarpSpecializeOp makeRegions(Operation *lastBarriers, ArrayRef<PartitionProgram> partitions) {
  Block *entry = lastBarriers->getBlock();
  OpBuilder b(entry->getTerminator());
  Location loc = lastBarriers->getParentOp()->getLoc();
  auto numbers = [&](int32_t PartitionProgram::*field) {
    return llvm::map_to_vector(partitions, [=](const PartitionProgram &p) { return p.*field; });
  };
  auto op = ttg::WarpSpecializeOp::create(b, loc, TypeRange(), ValueRange(), numbers(&PartitionProgram::warps),
                                          b.getDenseI32ArrayAttr(numbers(&PartitionProgram::registers)),
                                          static_cast<unsigned>(partitions.size()));
  Block &consumers = op.getDefaultRegion().emplaceBlock();
  consumers.getOperations().splice(consumers.end(), entry->getOperations(), std::next(lastBarriers->getIterator()), op->getIterator());
  b.setInsertionPointToEnd(&consumers);
  ttg::WarpYieldOp::create(b, loc, ValueRange());
  for (auto [region, partition] : llvm::zip(op.getPartitions(), partitions)) {
    b.createBlock(&region);
    clonePartition(consumers, partition, b, loc);
    ttg::WarpReturnOp::create(b, loc);
  }
  return op;
}

/// In a program loop the producer asks for programs, as the first partition to need them. The warps of all partitions read the responses.
static LogicalResult shareResponses(ttg::WarpSpecializeOp op, ttg::ConfigAttr config) {
  int64_t readers = 0;
  SmallVector<ttg::ClcProgramOp> programs;
  for (Region &region : op->getRegions()) {
    size_t before = programs.size();
    region.walk([&](ttg::ClcProgramOp program) {
      program.setAsks(region.getRegionNumber() == 1);
      programs.push_back(program);
    });
    if (programs.size() == before) continue;
    unsigned number = region.getRegionNumber();
    readers += number == 0 ? config.getWarps() : op.getPartitionNumWarps()[number - 1];
    bool readsOnce = llvm::all_of(ArrayRef(programs).drop_front(before + 1), [&](ttg::ClcProgramOp program) {
      return insideMutuallyExclusiveRegions(programs[before], program); // the CTAs of a pair
    });
    if (!readsOnce) return bug(programs.back(), "a partition reads the responses of a program loop twice");
  }
  if (programs.empty()) return success();
  if (llvm::none_of(programs, [](ttg::ClcProgramOp program) { return program.getAsks(); }))
    return bug(programs.front(), "the producer does not ask for the programs of the loop");
  auto empty = programs.front().getEmpty().getDefiningOp<ttg::AllocBarriersOp>();
  empty.setArrivals(static_cast<uint32_t>(readers * config.getCtas()));
  return success();
}

static bool isOfPartition(Operation *op) {
  return ttg::partitionOf(op) != ttg::Partition::consumers;
}

/// Such an operation, executed twice, takes two resources. An alloc has its address by now, so a second one names the same bytes.
static bool takesResource(Operation *op) {
  return isa<ttg::AllocBarriersOp, ttg::TensorAllocOp>(op);
}

/// Scratch memory is reserved for one use at a time, and partitions run at the same time as the consumers.
static LogicalResult checkPartition(Region &partition) {
  WalkResult checked = partition.walk([](Operation *op) -> WalkResult {
    if (hasBarrierInside(op)) return LogicalResult(bug(op, "a partition would use the scratch memory of the consumers"));
    if (takesResource(op)) return LogicalResult(bug(op, "a partition would allocate it a second time"));
    return WalkResult::advance();
  });
  return failure(checked.wasInterrupted());
}

/// Returns the last allocation of barriers, where the partitions begin; failure if there is none. All warps run what precedes it, so it
/// belongs to no partition, stores nothing and waits for nothing.
static FailureOr<Operation *> lastBarriers(tt::FuncOp function) {
  Operation *last = nullptr;
  for (auto barriers : function.getBody().front().getOps<ttg::AllocBarriersOp>())
    last = barriers;
  if (!last) return LogicalResult(bug(function, "a producer without barriers"));
  WalkResult checked = function.walk([&](Operation *op) -> WalkResult {
    if (!last->getBlock()->findAncestorOpInBlock(*op) || !last->getBlock()->findAncestorOpInBlock(*op)->isBeforeInBlock(last))
      return WalkResult::advance();
    bool isForAll = isMemoryEffectFree(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                    isa<ttg::AllocOp, ttg::AllocBarriersOp, ttg::TensorAllocOp, tt::LoadOp>(op);
    if (isForAll && !isOfPartition(op)) return WalkResult::advance();
    return LogicalResult(bug(op, "all warps would run it, because barriers are allocated after it"));
  });
  if (checked.wasInterrupted()) return failure();
  return last;
}

/// Under TILEWRIGHT_VERIFY_BARRIERS=1 the marked kernel is verified. It takes up to a fifth of the compile time, and checks the steps
/// before rather than the kernel.
static LogicalResult verifyMarked(tt::FuncOp function, ttg::ConfigAttr config, ArrayRef<PartitionProgram> partitions) {
  if (!isSwitchedOn("TILEWRIGHT_VERIFY_BARRIERS", /*byDefault=*/false)) return success();
  SmallVector<PartitionWarps> warps{{ttg::Partition::consumers, config.getWarps()}};
  for (const PartitionProgram &partition : partitions)
    warps.push_back({partition.kind, partition.warps, /*onlyInFirstCta=*/partition.ofPeer.has_value()});
  return verifyBarriers(function, config, warps);
}

static LogicalResult split(tt::FuncOp function, ttg::ConfigAttr config) {
  SmallVector<PartitionProgram, 2> partitions = partitionsOf(function, config);
  for (const PartitionProgram &partition : partitions) {
    Result<LaunchGuards> guards = partition.program.guardsToCompute();
    if (!guards) return bug(partition.program.obstacle(), "a partition cannot compute its operands: " + guards.error());
    ttg::relyOn(function, *guards);
  }
  FailureOr<Operation *> last = lastBarriers(function);
  if (failed(last) || failed(verifyMarked(function, config, partitions))) return failure();
  ttg::WarpSpecializeOp op = makeRegions(*last, partitions);
  for (Region &partition : op.getPartitions())
    if (failed(checkPartition(partition))) return failure();
  Block &consumers = op.getDefaultRegion().front();
  SmallVector<Operation *> ofPartitions;
  consumers.walk<WalkOrder::PreOrder>([&](Operation *inside) {
    if (!isOfPartition(inside)) return WalkResult::advance();
    ofPartitions.push_back(inside);
    return WalkResult::skip();
  });
  for (Operation *inside : llvm::reverse(ofPartitions)) // users first
    inside->erase();
  if (partitions.size() > 1) {
    keepUnneeded(op);
    ttg::eraseDead(function);
    sinkIntoBranches(consumers);
  }
  ttg::eraseDead(function);
  if (failed(shareResponses(op, config))) return failure();
  if (accumulatorsOfThread(function, config) > manyAccumulators) sinkAfterLoops(consumers);
  // The regions say it now.
  for (StringRef mark : {ttg::operandRegistersName, ttg::warpSpecializedName})
    function->removeAttr(mark);
  function.walk([](Operation *inside) { inside->removeAttr(ttg::partitionName); });
  return success();
}

LogicalResult specializeWarps(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &) {
    return function->hasAttr(ttg::warpSpecializedName) ? split(function, config) : success();
  });
}

} // namespace tilewright::gpu
