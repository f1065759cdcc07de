#include "gpu/schedule/partitions/verify/barrier_events.h"

#include "gpu/machine/ptx.h"
#include "gpu/schedule/partitions/verify/barrier_operations.h"
#include "gpu/schedule/partitions/verify/relevant_operations.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr size_t maxEvents = 1 << 13;

/// Gives loops with waits and arrivals their bounds.
LaunchScalars boundsOf(tt::FuncOp function, const RelevantOperations &relevant, const Launch &launch) {
  LaunchScalars scalars;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!relevant.contains(op)) return;
    scalars.compute(op);
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || !relevant.hasEvents(loop)) return;
    Integer lower = scalars.of(loop.getLowerBound()), upper = scalars.of(loop.getUpperBound()), step = scalars.of(loop.getStep());
    if (!lower) scalars.fix(loop.getLowerBound(), *(lower = 0));
    if (!step) scalars.fix(loop.getStep(), *(step = 1));
    if (*step < 1) return;                                                             // it counts down: not verified
    if (!upper) scalars.fix(loop.getUpperBound(), *lower + launch.iterations * *step); // conditions have been folded by known ones
  });
  return scalars;
}

/// Executes the control flow of a warp group, and lists the events of its operations.
class Program {
public:
  Program(const WarpGroup &group, const Resources &resources, const RelevantOperations &relevant, Launch launch, LaunchScalars bounds,
          std::vector<Event> &list)
      : group(group), relevant(relevant), launch(launch), scalars(std::move(bounds)), events(group, resources, scalars, list) {}

  /// Returns the operation that depends on a value that is not known; null: there is none.
  Operation *run(Block &kernel) { return runBlock(kernel) ? nullptr : unknown; }

private:
  bool runBlock(Block &block) {
    for (Operation *op : relevant[block])
      if (!runOperation(op)) {
        if (!unknown) unknown = op;
        return false;
      }
    return true;
  }

  bool runOperation(Operation *op) {
    bool hasEvents = relevant.hasEvents(op);
    if (const BarrierOperation *row = hasEvents ? barrierOperation(op) : nullptr) return !isOfGroup(op, *row) || row->list(events, op);
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && hasEvents) return runLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && hasEvents) return runBranch(branch);
    scalars.compute(op);
    if (isa<ptx::ClusterRankOp>(op)) scalars.set(op->getResult(0), group.cta);
    if (isa<ptx::WarpIdOp>(op) && group.partition == ttg::Partition::consumers) scalars.set(op->getResult(0), group.firstWarp);
    return !hasEvents;
  }

  bool isOfGroup(Operation *op, const BarrierOperation &row) const {
    if (auto barrier = dyn_cast<ttg::CtaBarrierOp>(op)) return barrier.getAllWarps() || group.partition == ttg::Partition::consumers;
    return relevant.isOf(op, group.partition) && !group.isIdle && (group.firstWarp == 0 || !row.byFirstWarp(op));
  }

  bool runLoop(scf::ForOp loop) {
    Integer lower = scalars.of(loop.getLowerBound()), upper = scalars.of(loop.getUpperBound()), step = scalars.of(loop.getStep());
    if (!lower || !upper || !step || *step < 1) return false;
    pass(loop.getInitArgs(), loop.getRegionIterArgs());
    for (int64_t number = *lower; number < *upper; number += *step) {
      scalars.set(loop.getInductionVar(), number);
      if (!runBlock(*loop.getBody()) || events.size() > maxEvents) return false;
      pass(loop.getYieldedValues(), loop.getRegionIterArgs());
    }
    pass(loop.getRegionIterArgs(), loop.getResults());
    return true;
  }

  void pass(ValueRange from, ValueRange to) {
    SmallVector<std::pair<Value, Integer>> passed;
    for (auto [value, target] : llvm::zip(from, to))
      if (relevant.contains(target)) passed.emplace_back(target, scalars.of(value));
    for (auto [target, number] : passed)
      scalars.set(target, number);
  }

  bool runBranch(scf::IfOp branch) {
    Integer condition = scalars.of(branch.getCondition());
    if (!condition) scalars.set(branch.getCondition(), condition = launch.condition ? -1 : 0);
    Region &taken = *condition ? branch.getThenRegion() : branch.getElseRegion();
    if (taken.empty()) return true;
    if (!runBlock(taken.front())) return false;
    pass(taken.front().getTerminator()->getOperands(), branch.getResults());
    return true;
  }

  const WarpGroup &group;
  const RelevantOperations &relevant;
  Launch launch;
  LaunchScalars scalars;
  EventList events;
  Operation *unknown = nullptr;
};

} // namespace

Operation *listEvents(tt::FuncOp function, ArrayRef<WarpGroup> groups, const Resources &resources, ArrayRef<Launch> launches,
                      function_ref<bool(ArrayRef<std::vector<Event>>)> use) {
  RelevantOperations relevant(function, resources);
  for (const Launch &launch : launches) {
    LaunchScalars bounds = boundsOf(function, relevant, launch);
    std::vector<std::vector<Event>> programs(groups.size());
    for (auto [group, events] : llvm::zip(groups, programs))
      if (Operation *unknown = Program(group, resources, relevant, launch, bounds, events).run(function.getBody().front())) return unknown;
    if (!use(programs)) break;
  }
  return nullptr;
}

} // namespace tilewright::gpu
