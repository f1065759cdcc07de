// Partitions learn from mbarriers when a tile may be read or overwritten. A mistake there is a hang or a wrong number. So with
// TILEWRIGHT_VERIFY_BARRIERS=1 the programs of partitions prove themselves before specialize-warps separates them. The rules are stated
// independently of the steps that place barriers:
//   1. Warps arrive at each barrier that is waited for, and wait at each at which warps arrive.
//   2. Each wait ends, whichever warp group is late.
//   3. While a warp group has yet to wait for a phase, the next phase does not complete, however late the group is: parity tells a phase
//      only from the next one.
//   4. All phases of a barrier have the same arrivals of the same warp groups.
//   5. Each barrier has been allocated, and no phase stays incomplete at the kernel's end.
//   6. A warp group reads a stage after it has learned that the stage is filled. TMA or a partition fills it again after it has learned
//      that the read has ended.
// A wait passes on what the warps that arrived had learned (vector clocks), so a group need not wait at the barrier of a copy. If it never
// does, the copy that it reads is taken to be the latest of which it has learned. The first warp of a partition counts as a group of its
// own: what it learns where it waits alone, the others learn at the next barrier of all. A wgmma reads until a wait ends it, an MMA of
// tcgen05 until the tensor core has executed it, a TMA store until a wait for it. Rule 6 does not cover fences, nor what the consumers
// store. Rule 2 covers mbarriers and the CTA's barriers (ttg.cta_barrier). It does not cover named barriers (ptx.barrier) nor barriers of
// the cluster (ttg.cluster_arrive, ttg.cluster_wait, and ttg.cta_barrier with allCtas, which counts as a barrier of the CTA). Each warp
// group of each CTA becomes the list of its waits, arrivals and reads in a small launch: loops of unknown bounds have 0, 1 or several
// iterations, and unknown conditions are all true or all false. Several of them may exclude each other, so a launch that breaks a rule with
// two of them proves nothing. A long loop skips iterations that repeat those before them. Then the lists run against each other, each of
// them once as the late one, which continues only when all others wait, as does the tensor core with its MMAs. Arrivals and waits commute,
// so no other order reaches further. A program whose waits depend on data, or that has too many of them, is not verified, nor are the
// barriers of ttg.clc_program.
//   events.h               what warps do with barriers and stages, and which barriers there are
//   barrier_operations.h   what each operation does: a row for each kind
//   relevant_operations.h  which operations decide about that
//   launch_scalars.h, barrier_events.h   executes these, and lists the events of each warp group
//   execution.h            runs the lists, and checks the rules
#include "gpu/schedule/partitions/verify/verify_barriers.h"

#include "gpu/schedule/partitions/verify/barrier_events.h"
#include "gpu/schedule/partitions/verify/barrier_operations.h"
#include "gpu/schedule/partitions/verify/execution.h"
#include "ir/refusal.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns iterations after which each circular buffer has the same stage and parity again.
int64_t periodOf(tt::FuncOp function) {
  int64_t period = 2;
  function.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<ttg::AllocBarriersOp>(op)) period = std::lcm(period, 2 * alloc.getType().getCount());
  });
  return period;
}

/// Returns so many iterations of loops that stages are used again.
int64_t severalIterations(tt::FuncOp function) {
  constexpr int64_t maxStages = 16;
  int64_t stages = 1;
  bool isNested = false;
  function.walk([&](ttg::BarrierWaitOp wait) {
    auto loop = wait->getParentOfType<scf::ForOp>();
    isNested |= loop && loop->getParentOfType<scf::ForOp>();
    stages = std::max(stages, wait.getBarriers().getType().getCount());
  });
  return isNested ? 5 : 2 * std::min(stages, maxStages) + 1;
}

/// Returns an arrival at a barrier for which nothing waits; null if there is none.
Operation *uselessArrival(tt::FuncOp function) {
  Operation *found = nullptr;
  function.walk([&](ttg::AllocBarriersOp alloc) {
    auto users = alloc->getUsers();
    bool isWaitedFor = llvm::any_of(users, [](Operation *user) {
      const BarrierOperation *row = barrierOperation(user);
      return isa<ttg::ClcProgramOp>(user) || (row && row->waits);
    });
    if (!isWaitedFor && !users.empty()) found = *users.begin();
  });
  return found;
}

} // namespace

LogicalResult verifyBarriers(tt::FuncOp function, ttg::ConfigAttr config, ArrayRef<PartitionWarps> partitions) {
  if (Operation *arrival = uselessArrival(function)) return bug(arrival, "no warp waits at the barrier at which it arrives");
  WalkResult rows = function.walk([](Operation *op) -> WalkResult {
    return lacksRow(op) ? WalkResult(LogicalResult(bug(op, "the verifier of barriers has no row for it"))) : WalkResult::advance();
  });
  if (rows.wasInterrupted()) return failure();
  SmallVector<WarpGroup> groups;
  for (int64_t cta = 0; cta < config.getCtas(); ++cta)
    for (auto [partition, warps, onlyInFirstCta] : partitions)
      for (int64_t first = 0, end = 1; first < warps; first = end, end = llvm::alignTo(end + 1, warpsOfGroup))
        groups.push_back({partition, cta, first, std::min(end, warps) - first, /*isIdle=*/onlyInFirstCta && cta > 0});
  Resources resources(function, groups);
  int64_t several = severalIterations(function), period = periodOf(function);
  std::optional<BrokenRule> broken;
  Operation *unsure = nullptr;
  Launch launches[] = {{several, true, period}, {several, false, period}, {1, true, period}, {0, true, period}};
  Operation *unknown = listEvents(function, groups, resources, launches, [&](const ListedEvents &listed) {
    for (size_t late = 0; late < groups.size() && !broken; ++late)
      broken = executeWithLate(listed.programs, resources, late);
    if (broken && listed.assumed.size() > 1) unsure = broken->op, broken.reset();
    return !broken && !unsure;
  });
  if (broken) return bug(broken->op, broken->what);
  if (!unknown) unknown = unsure;
  if (unknown)
    ttg::remark(function, "specialize-warps", unknown->getLoc(),
                "the mbarriers of the partitions are not verified: a wait or an arrival depends on data, or there are too many");
  return success();
}

} // namespace tilewright::gpu
