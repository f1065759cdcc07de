// Decides the schedule of every loop of a kernel, inner loops first, and writes it on the loop. Nothing else changes, but for marks on
// buffers that a producer of another CTA fills (`live`, of ttg.alloc):
//   before: scf.for %i { %a = ttg.descriptor_load %map[%i]    ttg.store_shared %a, %p    ttg.mma_async %p ... wait }
//   after:  the same loop, with ttg.id on its operations and {ttg.loop_schedule = #ttg.loop_schedule<policy "gemm" ...>}
// For the kernel: find the loads of each loop that may run ahead, and decide whether it gets a producer warp. Then schedule one loop after
// the other (schedule_loop.cpp). Then add stages that cost nothing, decide which warps wait for copies, verify the schedules, and write
// them.
#include "gpu/passes.h"
#include "gpu/schedule/decisions/attempts.h"
#include "gpu/schedule/decisions/free_stages.h"
#include "gpu/schedule/decisions/kernel_schedule.h"
#include "gpu/schedule/decisions/schedule_loop.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/partitions/warp_specialization.h"
#include "ir/refusal.h"
#include "support/target.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {

/// Finds the loads of all loops that may run ahead. Those of a loop that asks for one stage may not.
static llvm::MapVector<Operation *, LoopLoads> findLoads(tt::FuncOp function, const PolicyContext &context) {
  llvm::MapVector<Operation *, LoopLoads> found;
  function.walk([&](scf::ForOp loop) { // inner ones first
    int64_t requested = requestedStages(loop, context.config);
    LoopLoads &loads = found[loop];
    if (requested > 1) loads = findPrefetchableLoads(loop, context.target);
    loads.loop = loop;
    loads.requested = requested;
  });
  return found;
}

/// Returns why no producer warp starts the copies of all loops that have some; null if one does.
static std::optional<std::string> obstacleToProducer(const KernelLoops &kernel, const EarlierLoops &earlier) {
  std::vector<LoopSchedule> schedules;
  bool runsDecoupled = false;
  for (const LoopLoads &found : llvm::make_second_range(kernel.found)) {
    if (found.circularBuffers.empty()) continue;
    schedules.push_back(kernel.withPolicy(LoopSchedule(found), found.requested));
    runsDecoupled |= mayRunDecoupled(schedules.back(), kernel, earlier);
  }
  return warpSpecializationObstacle(schedules, runsDecoupled, kernel.context.config, kernel.context.target);
}

/// Decides whether a producer warp starts the copies of all loops. Returns why not; null if it does.
static std::optional<std::string> choosePartitions(KernelLoops &kernel, const EarlierLoops &earlier) {
  std::optional<std::string> obstacle;
  if (!kernel.function->hasAttr(ttg::operandRegistersName)) {
    obstacle = warpSpecializationObstacle(kernel.function, kernel.context.config, kernel.context.target);
    if (!obstacle) obstacle = obstacleToProducer(kernel, earlier);
  }
  kernel.warpSpecialized = !obstacle;
  return obstacle;
}

/// If one warp issues the MMAs, the others need not wait for copies that nothing else reads. With a producer, warps that wait also release
/// stages. A warp that waits for no copy of one loop may be far ahead, and then must not wait for one of another loop.
static void chooseWaitingWarps(MutableArrayRef<LoopSchedule> schedules, const GpuTarget &target) {
  if (!target.tcgen05) return;
  auto onlyMmasRead = [](const LoopSchedule &each) {
    return llvm::all_of(each.circularBuffers, std::mem_fn(&CircularBuffer::onlyMmasRead));
  };
  bool all = llvm::all_of(schedules, onlyMmasRead);
  for (LoopSchedule &schedule : schedules)
    for (CircularBuffer &circular : schedule.circularBuffers) {
      bool waitsInLoop = !schedule.warpSpecialized || all || !onlyMmasRead(schedule);
      circular.firstWarp = circular.tma && circular.onlyMmasRead() && waitsInLoop;
    }
}

Result<KernelSchedule> decideSchedule(tt::FuncOp function, const PolicyContext &context, ArrayRef<Policy> policies, int64_t later) {
  KernelLoops kernel{function, context, policies, findLoads(function, context)};
  EarlierLoops earlier(SharedBudget(function, context.target, later));
  KernelSchedule made;
  made.producerObstacle = choosePartitions(kernel, earlier);
  bool copies = false;
  for (const LoopLoads &found : llvm::make_second_range(kernel.found)) {
    Result<LoopDecision> decision = scheduleLoop(found, kernel, earlier);
    if (!decision) return Failure{decision.error()};
    copies |= decision->copies;
    earlier.add(*decision);
    made.loops.push_back(std::move(decision->schedule));
  }
  if (!copies) made.producerObstacle.reset();
  addFreeStages(made.loops, earlier.budget, kernel);
  chooseWaitingWarps(made.loops, context.target);
  for (LoopSchedule &schedule : made.loops) {
    schedule.storesInFlight = earlier.storesInFlight.contains(schedule.loop);
    schedule.storesPerWarpGroup = earlier.storesPerWarpGroup.contains(schedule.loop);
  }
  made.bytes = earlier.budget.bytes();
  return made;
}

static void write(const LoopSchedule &schedule, tt::FuncOp function, int64_t &nextId) {
  Builder b(function.getContext());
  for (const UnpipelinedLoad &each : schedule.unpipelined)
    each.load->setAttr(ttg::notPipelinedName, b.getStringAttr(each.reason));
  for (Copy copy : schedule.copies())
    copy.alloc.extendLifetime(copy.lifetime);
  if (schedule.warpSpecialized && schedule.stages > 1) function->setAttr(ttg::warpSpecializedName, b.getUnitAttr());
  bool changes = schedule.stages > 1 || !schedule.computed.empty() || !schedule.registerLoads.empty() || schedule.storesInFlight;
  if (changes || !schedule.reason.empty()) writeSchedule(schedule, nextId);
}

LogicalResult writeSchedule(const KernelSchedule &schedule, tt::FuncOp function) {
  for (const LoopSchedule &each : schedule.loops)
    if (Result<void> valid = verify(each); !valid) return bug(each.loop, "its schedule is invalid: " + valid.error());
  if (schedule.producerObstacle)
    function->setAttr(ttg::notWarpSpecializedName, StringAttr::get(function.getContext(), *schedule.producerObstacle));
  int64_t nextId = 0;
  for (const LoopSchedule &each : schedule.loops)
    write(each, function, nextId);
  return success();
}

LogicalResult scheduleLoops(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    return LogicalResult(scheduleToFit(function, {config, target}, allPolicies()));
  });
}

} // namespace tilewright::gpu
