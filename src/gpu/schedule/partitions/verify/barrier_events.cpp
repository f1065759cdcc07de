#include "gpu/schedule/partitions/verify/barrier_events.h"

#include "gpu/machine/ptx.h"
#include "gpu/schedule/partitions/verify/barrier_operations.h"
#include "gpu/schedule/partitions/verify/relevant_operations.h"
#include "gpu/schedule/program_loop.h"

#include "llvm/Support/MathExtras.h"

#include <array>

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

/// Returns the conditions of branches with events. Those that are not known have the launch's value from where they are computed, so that
/// what depends on them agrees.
llvm::DenseSet<Value> conditionsOf(tt::FuncOp function, const RelevantOperations &relevant) {
  llvm::DenseSet<Value> conditions;
  function.walk([&](scf::IfOp branch) {
    if (relevant.hasEvents(branch)) conditions.insert(branch.getCondition());
  });
  return conditions;
}

/// Returns the iterations of a loop; nothing if they are not known.
Integer iterationsOf(scf::ForOp loop, const LaunchScalars &scalars) {
  Integer lower = scalars.of(loop.getLowerBound()), upper = scalars.of(loop.getUpperBound()), step = scalars.of(loop.getStep());
  if (!lower || !upper || !step || *step < 1) return std::nullopt;
  return *lower < *upper ? llvm::divideCeilSigned(*upper - *lower, *step) : 0;
}

/// Long loops skip iterations. Each skips as many, so that loops of different partitions still belong together.
struct Skips {
  int64_t period, periods = 0;
  llvm::DenseSet<Operation *> loops = {};
};

constexpr int64_t periodsExecuted = 4; ///< those before the skipped ones: three; and at least one after them

Skips skipsOf(tt::FuncOp function, const RelevantOperations &relevant, const LaunchScalars &bounds, int64_t period) {
  Skips skips{period};
  function.walk([&](scf::ForOp loop) {
    Integer iterations = relevant.hasEvents(loop) && !clcProgramOf(loop) ? iterationsOf(loop, bounds) : std::nullopt;
    if (!iterations || *iterations < periodsExecuted * period) return;
    int64_t periods = *iterations / period - periodsExecuted;
    skips.periods = skips.loops.empty() ? periods : std::min(skips.periods, periods);
    skips.loops.insert(loop);
  });
  return skips;
}

/// What a loop carries, and which events it has listed, before an iteration.
struct LoopState {
  SmallVector<Integer> carried;
  size_t events;
};

/// The iterations of a loop that repeat: its state before each of three iterations that are a period apart.
struct Period {
  std::array<LoopState, 3> states;

  /// Returns the carried values after further periods; nothing if the last two periods differ in more than the phases that they wait for.
  std::optional<SmallVector<Integer>> after(int64_t further, ArrayRef<Event> events) const {
    SmallVector<Integer> values;
    for (auto [first, second, third] : llvm::zip(states[0].carried, states[1].carried, states[2].carried)) {
      if (first.has_value() != second.has_value() || second.has_value() != third.has_value()) return std::nullopt;
      if (third && *third - *second != *second - *first) return std::nullopt;
      if (third && !llvm::isInt<31>(*third + further * (*third - *second))) return std::nullopt;
      values.push_back(third ? Integer(*third + further * (*third - *second)) : third);
    }
    ArrayRef<Event> before = events.slice(states[0].events, states[1].events - states[0].events);
    ArrayRef<Event> last = events.slice(states[1].events, states[2].events - states[1].events);
    bool repeats = llvm::equal(before, last, [](const Event &one, const Event &other) {
      return one.op == other.op && one.kind == other.kind && one.barrier == other.barrier && one.stage == other.stage &&
             one.arrivals == other.arrivals && one.bytes == other.bytes && (other.phases - one.phases) % 2 == 0;
    });
    return repeats ? std::optional(values) : std::nullopt;
  }
};

/// Executes the control flow of a warp group, and lists the events of its operations.
class Program {
public:
  Program(const WarpGroup &group, const Resources &resources, const RelevantOperations &relevant, const llvm::DenseSet<Value> &conditions,
          const Skips &skips, const Launch &launch, LaunchScalars bounds, ListedEvents &listed)
      : group(group), relevant(relevant), conditions(conditions), skips(skips), launch(launch), scalars(std::move(bounds)), listed(listed),
        list(listed.programs.emplace_back()), events(group, resources, scalars, list) {}

  /// Returns the operation that depends on a value that is not known; null: there is none.
  Operation *run(Block &kernel) {
    for (Value condition : conditions)
      if (isa<BlockArgument>(condition) && condition.getParentBlock() == &kernel) assumeIfUnknown(condition);
    return runBlock(kernel) ? nullptr : unknown;
  }

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
    for (Value result : op->getResults())
      if (conditions.contains(result)) assumeIfUnknown(result);
    return !hasEvents;
  }

  Integer assumeIfUnknown(Value condition) {
    if (!scalars.of(condition)) {
      scalars.set(condition, launch.condition ? -1 : 0);
      listed.assumed.insert(condition);
    }
    return scalars.of(condition);
  }

  bool isOfGroup(Operation *op, const BarrierOperation &row) const {
    if (auto barrier = dyn_cast<ttg::CtaBarrierOp>(op)) return barrier.getAllWarps() || group.partition == ttg::Partition::consumers;
    if (!relevant.isOf(op, group.partition) || group.isIdle) return false;
    switch (row.by(op)) {
    case BarrierOperation::Warps::all: return true;
    case BarrierOperation::Warps::first: return group.firstWarp == 0;
    case BarrierOperation::Warps::firstOfEachGroup: return group.firstWarp % warpsOfGroup == 0;
    }
  }

  bool runLoop(scf::ForOp loop) {
    Integer iterations = iterationsOf(loop, scalars);
    if (!iterations) return false;
    int64_t lower = *scalars.of(loop.getLowerBound()), step = *scalars.of(loop.getStep());
    bool skipsSome = skips.periods > 0 && skips.loops.contains(loop);
    Period repeated;
    pass(loop.getInitArgs(), loop.getRegionIterArgs());
    for (int64_t iteration = 0; iteration < *iterations; ++iteration) {
      if (skipsSome && iteration > 0 && iteration <= 3 * skips.period && iteration % skips.period == 0) {
        repeated.states[size_t(iteration / skips.period - 1)] = {
            llvm::map_to_vector(loop.getRegionIterArgs(), [&](Value carried) { return scalars.of(carried); }), list.size()};
        if (iteration == 3 * skips.period) iteration += skip(loop, repeated);
      }
      scalars.set(loop.getInductionVar(), lower + iteration * step);
      if (!runBlock(*loop.getBody()) || events.size() > maxEvents) return false;
      pass(loop.getYieldedValues(), loop.getRegionIterArgs());
    }
    pass(loop.getRegionIterArgs(), loop.getResults());
    return true;
  }

  /// Skips iterations that repeat those before them, and returns how many.
  int64_t skip(scf::ForOp loop, const Period &repeated) {
    std::optional<SmallVector<Integer>> values = repeated.after(skips.periods, list);
    if (!values) {
      listed.isIrregular = true;
      return 0;
    }
    for (auto [carried, value] : llvm::zip(loop.getRegionIterArgs(), *values))
      if (relevant.contains(carried)) scalars.set(carried, value);
    return skips.periods * skips.period;
  }

  void pass(ValueRange from, ValueRange to) {
    SmallVector<std::pair<Value, Integer>> passed;
    for (auto [value, target] : llvm::zip(from, to))
      if (relevant.contains(target)) passed.emplace_back(target, scalars.of(value));
    for (auto [target, number] : passed)
      scalars.set(target, number);
  }

  bool runBranch(scf::IfOp branch) {
    Region &taken = *assumeIfUnknown(branch.getCondition()) ? branch.getThenRegion() : branch.getElseRegion();
    if (taken.empty()) return true;
    if (!runBlock(taken.front())) return false;
    pass(taken.front().getTerminator()->getOperands(), branch.getResults());
    return true;
  }

  const WarpGroup &group;
  const RelevantOperations &relevant;
  const llvm::DenseSet<Value> &conditions;
  const Skips &skips;
  const Launch &launch;
  LaunchScalars scalars;
  ListedEvents &listed;
  std::vector<Event> &list;
  EventList events;
  Operation *unknown = nullptr;
};

} // namespace

Operation *listEvents(tt::FuncOp function, ArrayRef<WarpGroup> groups, const Resources &resources, ArrayRef<Launch> launches,
                      function_ref<bool(const ListedEvents &)> use) {
  RelevantOperations relevant(function, resources);
  llvm::DenseSet<Value> conditions = conditionsOf(function, relevant);
  for (const Launch &launch : launches) {
    LaunchScalars bounds = boundsOf(function, relevant, launch);
    Skips skips = skipsOf(function, relevant, bounds, launch.period);
    ListedEvents listed;
    auto list = [&]() -> Operation * {
      listed = {};
      listed.programs.reserve(groups.size());
      for (const WarpGroup &group : groups) {
        Program program(group, resources, relevant, conditions, skips, launch, bounds, listed);
        if (Operation *unknown = program.run(function.getBody().front())) return unknown;
      }
      return nullptr;
    };
    Operation *unknown = list();
    if (listed.isIrregular) {
      skips.periods = 0;
      unknown = list();
    }
    if (unknown) return unknown;
    if (!use(listed)) break;
  }
  return nullptr;
}

} // namespace tilewright::gpu
