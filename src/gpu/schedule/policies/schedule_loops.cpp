// Decides the schedule of every loop of a kernel, inner loops first, and writes it on the loop. Nothing else changes, but for marks on
// buffers that a producer of another CTA fills (`live`, of ttg.alloc):
//   before: scf.for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.mma_async %p ... wait }
//   after:  the same loop, with ttg.id on its operations and {ttg.loop_schedule = #ttg.loop_schedule<policy "gemm" ...>}
// For each loop: find the loads that may run ahead; choose the depth of the circular buffers, as deep as shared memory permits; let the
// first policy that suits the loop schedule it; let copies continue from tile to tile if the loop around it is a persistent one.
// Later steps add barriers, buffers and scratch memory. So they rewrite a copy of the kernel first (attempts.cpp). If that takes too much
// shared memory, the loops are scheduled again, with as many bytes less.
#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/passes.h"
#include "gpu/schedule/loops/multicast.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/partitions/warp_specialization.h"
#include "gpu/schedule/policies/free_stages.h"
#include "gpu/schedule/policies/policies.h"
#include "gpu/schedule/policies/shared_budget.h"
#include "gpu/ttg/copied_boxes.h"
#include "ir/refusal.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// True if an iteration loads tiles itself, not in a loop of its own.
bool loadsTiles(scf::ForOp loop) {
  WalkResult walk = loop.getBody()->walk([&](Operation *op) {
    bool load = isa<tt::LoadOp, ttg::DescriptorLoadOp>(op) && isa<RankedTensorType>(op->getResult(0).getType());
    return load && op->getParentOfType<scf::ForOp>() == loop ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

class LoopScheduler {
public:
  /// `later`: bytes of shared memory that later steps add.
  LoopScheduler(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target, ArrayRef<Policy> policies, int64_t later)
      : function(function), config(config), target(target), policies(policies), budget(function, target, later) {}

  LogicalResult run() {
    function.walk([&](scf::ForOp loop) { loops.push_back(loop); }); // inner ones first
    isKernelWarpSpecialized = function->hasAttr(ttg::operandRegistersName) || choosePartitions();
    for (scf::ForOp loop : loops)
      if (failed(scheduleLoop(loop))) return failure();
    addFreeStages(decided, budget, {config, target}, policies);
    chooseWaitingWarps();
    for (const LoopSchedule &schedule : decided)
      if (Result<void> valid = verify(schedule); !valid) return bug(schedule.loop, "its schedule is invalid: " + valid.error());
    for (LoopSchedule &schedule : decided)
      write(schedule);
    return success();
  }

  /// The bytes of shared memory that the schedules need by themselves.
  int64_t plannedBytes() const { return budget.bytes(); }

private:
  /// Returns the loads of the loop that may run ahead. They may not if it asks for one stage.
  LoopSchedule findLoads(scf::ForOp loop) {
    LoopSchedule schedule;
    schedule.loop = loop;
    schedule.requested = requestedStages(loop, config);
    if (schedule.requested > 1) static_cast<LoopLoads &>(schedule) = findPrefetchableLoads(loop, target.cpAsync);
    return schedule;
  }

  /// Lets a policy schedule the loop with that many stages. Only MMAs in flight, or a partition, use computed operands.
  void usePolicies(LoopSchedule &schedule, int64_t stages) {
    applyPolicies(schedule, stages, {config, target}, policies);
    if ((schedule.edges.empty() || schedule.drainsAtWait()) && !schedule.operandPartition) schedule.computed.clear();
  }

  //===-------------------------------------------------------------------------------------------------------- partitions

  /// True if a producer warp starts the copies of all loops.
  bool choosePartitions() {
    notWarpSpecialized = warpSpecializationObstacle(function, config, target);
    if (notWarpSpecialized) return false; // reported for loops that load ahead
    std::vector<LoopSchedule> schedules;
    bool runsDecoupled = false;
    for (scf::ForOp loop : loops) {
      LoopSchedule schedule = findLoads(loop);
      if (schedule.circularBuffers.empty()) continue;
      usePolicies(schedule, schedule.requested);
      runsDecoupled |= mayRunDecoupled(schedule);
      schedules.push_back(std::move(schedule));
    }
    std::optional<std::string> reason = warpSpecializationObstacle(schedules, runsDecoupled, config, target);
    if (reason && !schedules.empty()) explainPartitions(*reason);
    return !reason;
  }

  void explainPartitions(StringRef reason) {
    function->setAttr(ttg::notWarpSpecializedName, StringAttr::get(function.getContext(), reason));
  }

  /// True if the warp groups of a kernel with warp specialization need no barrier from one tile of this loop to the next.
  bool mayRunDecoupled(const LoopSchedule &schedule) {
    scf::ForOp tiles = persistentLoop(schedule);
    if (!tiles || !perWarpGroupGuards(tiles)) return false;
    return affordableStages(schedule, schedule.stages, tiles, buffersHeldByStores(tiles)) >= std::min(schedule.stages, minCrossTileStages);
  }

  //===------------------------------------------------------------------------------------------------------------- depth

  /// Returns the greatest depth, up to `requested`, with which the circular buffers fit if they are in use throughout `around`. `others`:
  /// further buffers. What else is in shared memory meanwhile stays where it is.
  int64_t affordableStages(const LoopSchedule &schedule, int64_t requested, scf::ForOp around, ArrayRef<DeeperBuffer> others) {
    int64_t bytesOfStage = 1; // at least, so that a request for very many stages takes no time
    for (const Copy &copy : schedule.copies())
      bytesOfStage += stageBytes(copy.alloc);
    for (int64_t stages = std::min<int64_t>(requested, target.sharedBytes / bytesOfStage + 1); stages > 1; --stages) {
      LoopSchedule scheduled = schedule; // the policy decides which buffers and barriers there are
      usePolicies(scheduled, stages);
      SmallVector<DeeperBuffer> deeper(others);
      llvm::append_range(deeper, buffersOf(scheduled, stages, around));
      if (budget.fits(deeper, barriersOf(scheduled))) return stages;
    }
    return 1;
  }

  /// Returns the depth of buffers for computed operands alone; 1 if there is no space for more.
  int64_t affordableComputedStages(const LoopSchedule &schedule) {
    for (int64_t stages = stagesWithoutWaiting; stages > 1; --stages)
      if (budget.fits(computedBuffers(schedule, stages, schedule.loop))) return stages;
    return 1;
  }

  /// True if an iteration has a single barrier with a third buffer of each computed operand: all stages are released where threads have
  /// stored these operands. If registers leave space for a second CTA, a third buffer would take its shared memory.
  bool savesBarrier(const LoopSchedule &schedule) {
    LoopSchedule scheduled = schedule;
    usePolicies(scheduled, schedule.requested);
    auto atFence = [](const CircularBuffer &circular) { return isa_and_nonnull<ttg::FenceAsyncOp>(circular.releaseAfter); };
    return llvm::all_of(scheduled.circularBuffers, atFence) && limitsToOneCtaPerSM(schedule.loop, config, target);
  }

  /// Returns the depth of the circular buffers, 1 if there are none. Chooses the depth of the buffers of computed operands, or drops these.
  int64_t chooseStages(LoopSchedule &schedule) {
    if (schedule.circularBuffers.empty()) {
      schedule.computedStages = affordableComputedStages(schedule);
      if (schedule.computedStages < 2) schedule.computed.clear();
      return 1;
    }
    SmallVector<DeeperBuffer> stored = buffersHeldByStores(schedule.loop);
    int64_t requested = schedule.requested;
    if (schedule.operandPartition) return affordableStages(schedule, requested, schedule.loop, stored);
    if (savesBarrier(schedule)) {
      schedule.computedStages = stagesWithoutWaiting;
      int64_t stages = affordableStages(schedule, requested, schedule.loop, stored);
      if (stages >= std::min(requested, minCrossTileStages)) return stages;
      schedule.computedStages = 2;
    }
    int64_t stages = affordableStages(schedule, requested, schedule.loop, stored);
    if (stages > 1 || schedule.computed.empty()) return stages;
    schedule.computed.clear();
    return affordableStages(schedule, requested, schedule.loop, stored);
  }

  //===-------------------------------------------------------------------------------------------------------- across tiles

  /// Lets the TMA stores of the loop stay in flight.
  void keepStoresInFlight(scf::ForOp loop) {
    if (storesInFlight.contains(loop)) return;
    SmallVector<DeeperBuffer> held = buffersHeldByStores(loop);
    if (held.empty()) return;
    budget.reserve(held);
    storesInFlight.insert(loop);
  }

  /// Lets the copies of a loop without a producer continue in the next iteration of the persistent loop around it. Returns the stages that
  /// there are then: that may take one of many.
  int64_t prefetchAcrossTiles(LoopSchedule &schedule) {
    scf::ForOp tiles = persistentLoop(schedule);
    if (!tiles) return schedule.stages;
    int64_t stages = affordableStages(schedule, schedule.stages, tiles, heldBy(tiles));
    if (stages < std::min(schedule.stages, minCrossTileStages)) return schedule.stages;
    schedule.crossTile = true;
    keepStoresInFlight(tiles);
    usePolicies(schedule, stages);
    return stages;
  }

  /// The buffers that stores of the loop hold if they stay in flight and that are not yet reserved.
  SmallVector<DeeperBuffer> heldBy(scf::ForOp loop) {
    return storesInFlight.contains(loop) ? SmallVector<DeeperBuffer>() : buffersHeldByStores(loop);
  }

  /// The same for a loop whose copies have a producer: it fills the circular buffer for the next tile while this one is stored, if the
  /// circular buffer's bytes have no other use meanwhile.
  int64_t keepStagesAcrossTiles(LoopSchedule &schedule, int64_t stages) {
    scf::ForOp tiles = topLevelLoopAround(schedule.loop);
    if (!tiles) return stages;
    SmallVector<DeeperBuffer> shared; // by a loop after this one that continues with the circular buffers
    for (auto next : tiles.getBody()->getOps<scf::ForOp>()) {
      if (!schedule.loop->isBeforeInBlock(next)) continue;
      for (const Copy &copy : findLoads(next).copies())
        shared.push_back({copy.alloc, 0, next});
    }
    bool own = !storesInFlight.contains(tiles) && perWarpGroupGuards(tiles).has_value(), runs = own || schedule.operandPartition;
    if (runs) llvm::append_range(shared, heldBy(tiles));
    int64_t affordable = schedule.continues ? stages : affordableStages(schedule, stages, tiles, shared);
    schedule.crossTile = affordable >= std::min(stages, minCrossTileStages);
    if (!schedule.crossTile) return stages;
    if (runs) keepStoresInFlight(tiles);
    if (own) storesPerWarpGroup.insert(tiles);
    return affordable;
  }

  /// True if a loop's circular buffers may be those that an earlier loop has left. They stay in use up to this loop, so all of them must
  /// fit. If so, `reserved` gets them.
  bool mayContinue(const LoopSchedule &schedule, SmallVectorImpl<DeeperBuffer> &reserved) {
    if (left->loop->getBlock() != schedule.loop->getBlock() || schedule.requested < left->stages) return false;
    if (left->circularBuffers.size() != schedule.circularBuffers.size()) return false;
    reserved = buffersHeldByStores(schedule.loop);
    for (auto [circular, other] : llvm::zip(schedule.circularBuffers, left->circularBuffers)) {
      if (circular.copies.size() != other.copies.size()) return false;
      for (auto [copy, there] : llvm::zip(circular.copies, other.copies)) {
        ttg::AllocOp own = copy.alloc, earlier = there.alloc;
        bool isSame = own.getType().getElementType() == earlier.getType().getElementType() &&
                      own.getType().getLayout() == earlier.getType().getLayout();
        if (!isSame || own.getCopiedExtent() != earlier.getCopiedExtent()) return false;
        reserved.push_back({own, 0, schedule.loop});
        reserved.push_back({earlier, left->stages, schedule.loop});
      }
    }
    return budget.fits(reserved);
  }

  //===------------------------------------------------------------------------------------------------------------- a loop

  /// A producer copies to the stages of all CTAs of the cluster. It waits until all have read a stage, but not until they have done what
  /// they do between two loops. So if the kernel runs the loop again, or has another one, the stages share no bytes with other buffers.
  /// Nor does it wait until they have done what they do before a single loop.
  void keepForPeers(LoopSchedule &schedule) {
    for (CircularBuffer &circular : schedule.circularBuffers)
      for (Copy &copy : circular.copies) {
        copy.multicast = multicastParts(circular, copy, config, schedule.paired).has_value();
        if (loops.size() != 1) copy.alloc.extendLifetime(ttg::Lifetime::throughout);
        if (copy.multicast) copy.alloc.extendLifetime(ttg::Lifetime::fromStart);
      }
  }

  /// Takes that back: without circular buffers, each CTA copies for itself.
  static void forgetPeers(LoopSchedule &schedule) {
    for (Copy &copy : schedule.copies())
      copy.alloc.setLifetime(ttg::Lifetime::uses);
  }

  /// Chooses the depth, and how the circular buffers are used by other loops. Returns the depth.
  int64_t scheduleBuffers(LoopSchedule &schedule) {
    bool warpSpecialized = isKernelWarpSpecialized && (schedule.operandPartition || !function->hasAttr(ttg::operandRegistersName));
    schedule.warpSpecialized = warpSpecialized;
    bool prefetches = !schedule.circularBuffers.empty();
    if (warpSpecialized && config.getCtas() != 1) keepForPeers(schedule);
    SmallVector<DeeperBuffer> reserved;
    bool continues = warpSpecialized && left && prefetches && mayContinue(schedule, reserved);
    if (continues) schedule.continues = left->loop;
    if (prefetches && notWarpSpecialized) explainPartitions(*notWarpSpecialized);
    int64_t stages = continues ? left->stages : chooseStages(schedule);
    if (!continues && prefetches) left.reset();
    if (stages < 2) forgetPeers(schedule);
    if (warpSpecialized && stages > 1) stages = keepStagesAcrossTiles(schedule, stages);
    if (continues) budget.reserve(reserved);
    return stages;
  }

  LogicalResult scheduleLoop(scf::ForOp loop) {
    LoopSchedule schedule = findLoads(loop);
    int64_t stages = scheduleBuffers(schedule);
    if (schedule.operandPartition && stages < 2)
      return bug(loop, "the circular buffers of its operand partition do not fit in shared memory");
    if (schedule.requested > 1 && (stages > 1 || schedule.circularBuffers.empty()))
      usePolicies(schedule, stages);
    else
      schedule.computed.clear();
    if (schedule.operandPartition) schedule.computedStages = stages;
    if (stages > 1 && !schedule.warpSpecialized) stages = prefetchAcrossTiles(schedule);
    if (stages > 1) keepStoresInFlight(loop);
    scheduleRegisterLoads(schedule);
    if (loadsTiles(loop)) schedule.reason = reasonForStages(schedule, stages);
    if (stages < 2) schedule.circularBuffers.clear();
    reserveBuffers(schedule);
    decided.push_back(std::move(schedule));
    return success();
  }

  /// Loads to registers run an iteration ahead if threads multiply, or compute operands of MMAs, and if the registers suffice.
  void scheduleRegisterLoads(LoopSchedule &schedule) {
    bool byThreads = schedule.requested > 1 && !schedule.warpSpecialized && multipliesByThreads(schedule.loop);
    if (schedule.computed.empty() && !byThreads) return; // but for those of a policy
    int64_t registers = registersForTiles(config, target, isKernelWarpSpecialized) - accumulatorsOf(schedule.loop);
    if (schedule.computed.empty()) registers -= registersOfMmas(schedule.loop);
    addRegisterLoads(schedule, registers);
  }

  /// Why there are fewer stages than requested; empty if there are not.
  static std::string reasonForStages(const LoopSchedule &schedule, int64_t stages) {
    if (schedule.requested < 2) return "num_stages is " + std::to_string(schedule.requested);
    if (schedule.circularBuffers.empty() && schedule.computed.empty() && !schedule.registerLoads.empty()) return "";
    if (schedule.circularBuffers.empty())
      return schedule.unpipelined.empty() ? "it only loads to registers, and only copies to shared memory are pipelined"
                                          : "none of its loads can be pipelined";
    return stages < schedule.requested ? "shared memory is too small for more" : "";
  }

  void reserveBuffers(const LoopSchedule &schedule) {
    scf::ForOp loop = schedule.loop;
    auto around = schedule.crossTile ? cast<scf::ForOp>(loop->getParentOp()) : loop;
    budget.reserve(buffersOf(schedule, schedule.stages, around, /*copies=*/!schedule.continues),
                   schedule.continues ? 0 : barriersOf(schedule));
    if (!schedule.warpSpecialized || schedule.stages < 2) return;
    left.reset();
    if (isa<tt::FuncOp>(loop->getParentOp()) || schedule.crossTile) left = schedule;
  }

  /// If one warp issues the MMAs, the others need not wait for copies that nothing else reads. With a producer, all warps that wait also
  /// release stages: a warp that waits for no copy may be far ahead.
  void chooseWaitingWarps() {
    if (!target.tcgen05) return;
    auto onlyMmasRead = [](const CircularBuffer &circular) { return circular.mmasRead && !circular.threadsRead; };
    bool all = llvm::all_of(decided, [&](const LoopSchedule &each) { return llvm::all_of(each.circularBuffers, onlyMmasRead); });
    for (LoopSchedule &schedule : decided)
      for (CircularBuffer &circular : schedule.circularBuffers)
        circular.firstWarp = circular.tma && (schedule.warpSpecialized ? all : onlyMmasRead(circular));
  }

  void write(LoopSchedule &schedule) {
    scf::ForOp loop = schedule.loop;
    for (const UnpipelinedLoad &each : schedule.unpipelined)
      each.load->setAttr(ttg::notPipelinedName, StringAttr::get(loop.getContext(), each.reason));
    schedule.storesInFlight = storesInFlight.contains(loop);
    schedule.storesPerWarpGroup = storesPerWarpGroup.contains(loop);
    if (schedule.warpSpecialized && schedule.stages > 1) function->setAttr(ttg::warpSpecializedName, UnitAttr::get(loop.getContext()));
    bool changes = schedule.stages > 1 || !schedule.computed.empty() || !schedule.registerLoads.empty() || schedule.storesInFlight;
    if (changes || !schedule.reason.empty()) writeSchedule(schedule, nextId);
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  ArrayRef<Policy> policies;
  SharedBudget budget;
  SmallVector<scf::ForOp> loops;
  bool isKernelWarpSpecialized = false;
  std::optional<std::string> notWarpSpecialized; // why the machine, or the launch, has none
  std::optional<LoopSchedule> left;              // the last scheduled loop with a producer, if another one may continue with its buffers
  llvm::SmallPtrSet<Operation *, 4> storesInFlight, storesPerWarpGroup;
  std::vector<LoopSchedule> decided;
  int64_t nextId = 0;
};

} // namespace

LogicalResult scheduleLoops(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target, ArrayRef<Policy> policies,
                            function_ref<void(tt::FuncOp)> seeRewritten) {
  OwningOpRef<tt::FuncOp> unscheduled(cast<tt::FuncOp>(function->clone()));
  LoopScheduler first(function, config, target, policies, /*later=*/0);
  if (failed(first.run())) return failure();
  // Later steps may add more than fits. Then the depths leave as much space, until they do.
  for (int64_t later = 0, planned = first.plannedBytes();;) {
    FailureOr<int64_t> bytes = bytesOfRewritten(function, seeRewritten);
    // Nothing to gain: an error, which the step that reports it will meet again, or no stage that could be given up.
    if (failed(bytes) || *bytes <= target.sharedBytes || *bytes - planned <= later) return success();
    later = *bytes - planned;
    OwningOpRef<tt::FuncOp> copy(cast<tt::FuncOp>(unscheduled->clone()));
    LoopScheduler next(*copy, config, target, policies, later);
    ScopedDiagnosticHandler unreported(function.getContext(), [](mlir::Diagnostic &) {});
    if (failed(next.run())) return success(); // allocate-shared reports that the kernel does not fit
    planned = next.plannedBytes();
    function.getBody().takeBody(copy->getBody());
    function->setAttrs((*copy)->getAttrDictionary());
  }
}

LogicalResult scheduleLoops(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    return scheduleLoops(function, config, target, allPolicies());
  });
}

} // namespace tilewright::gpu
