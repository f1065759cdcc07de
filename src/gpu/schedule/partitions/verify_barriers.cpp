// Partitions learn from mbarriers when a tile may be read or overwritten. A mistake there is a hang or a wrong number. So with
// TILEWRIGHT_VERIFY_BARRIERS=1 the programs of partitions prove themselves before specialize-warps separates them. The rules are stated
// independently of the steps that place barriers:
//   1. Warps arrive at each barrier that is waited for, and wait at each at which warps arrive.
//   2. Each wait ends, whichever warp group is late.
//   3. While a warp group has yet to wait for a phase, the next phase does not complete, however late the group is: parity tells a phase
//      only from the next one.
//   4. All phases of a barrier have the same arrivals of the same warp groups.
//   5. Each barrier has been allocated, and no phase stays incomplete at the kernel's end.
//   6. A warp group reads a stage that TMA fills after it has learned that the copy is complete, and before a later copy starts.
// A wait passes on what the warps that arrived had learned, so a group need not wait at the copy's own barrier. If it never does, the copy
// that it reads is taken to be the latest of which it has learned. An MMA is taken to read where it is issued. Rule 6 does not cover stages
// that threads fill, nor buffers that are copied at several barriers.
// Each warp group of each CTA becomes the list of its waits, arrivals and reads in a small launch: loops of unknown bounds have 0, 1 or
// several iterations, and unknown conditions are all true or all false. Then the lists run against each other, each of them once as the
// late one, which continues only when all others wait. Arrivals and waits commute, so no other order reaches further. A program whose waits
// depend on data, or that has too many of them, is not verified, nor are the barriers of ttg.clc_program.
#include "gpu/schedule/partitions/verify_barriers.h"

#include "gpu/schedule/partitions/barrier_events.h"
#include "ir/refusal.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Runs the lists of all warp groups.
class Execution {
public:
  Execution(ArrayRef<std::vector<Event>> programs, const Barriers &barriers) : programs(programs), next(programs.size()) {
    for (size_t barrier = 0; barrier < barriers.perCta() * size_t(barriers.ctas); ++barrier) {
      State &state = states.emplace_back();
      state.expected = barriers.arrivals[barrier % barriers.perCta()];
      state.byGroup.resize(programs.size());
      state.waitedFor.resize(programs.size());
    }
    Clock start(states.size());
    learned.assign(programs.size(), start);
    for (State &state : states)
      state.arriving = state.passedOn = start;
  }

  /// Returns false once it has reported a broken rule.
  bool runWithLate(size_t late) {
    while (next[late] < programs[late].size()) {
      if (programs[late][next[late]].kind != Event::Kind::arrival) advanceOthers(late);
      if (isBroken) return false;
      if (!step(late)) return reportDeadlock();
    }
    advanceOthers(late);
    for (size_t group = 0; group < programs.size() && !isBroken; ++group)
      if (next[group] < programs[group].size()) return reportDeadlock();
    for (const State &state : states)
      if (!isBroken && (state.arrived || state.bytes)) report(state.last, "the last phase of its barrier stays incomplete");
    return !isBroken;
  }

private:
  using Clock = std::vector<int64_t>; ///< of each barrier, the phases that are known to be complete

  struct State {
    int64_t expected = 0, phases = 0, arrived = 0, bytes = 0;
    int64_t started = 0;                  ///< phases of which a copy has started
    SmallVector<int64_t> byGroup, before; ///< arrivals of each warp group, in this phase and in the one before
    SmallVector<int64_t> waitedFor;       ///< phases that each warp group has waited for
    Clock arriving, passedOn;             ///< what was known at the arrivals of this phase, and of the one before
    Operation *last = nullptr;            ///< arrival
  };

  static void merge(Clock &known, const Clock &more) {
    for (auto [own, other] : llvm::zip_equal(known, more))
      own = std::max(own, other);
  }

  bool report(Operation *op, const std::string &what) {
    bug(op, what);
    isBroken = true;
    return false;
  }

  bool arrivesAt(size_t barrier) {
    auto arrives = [&](const Event &event) { return event.kind == Event::Kind::arrival && event.barrier == barrier; };
    return llvm::any_of(programs, [&](const auto &events) { return llvm::any_of(events, arrives); });
  }

  /// All warp groups wait, or have ended. The wait that misses some arrivals is reported rather than one that misses all of them.
  bool reportDeadlock() {
    const Event *reported = nullptr;
    for (auto [events, position] : llvm::zip(programs, next)) {
      if (position == events.size()) continue;
      const Event &event = events[position];
      if (!arrivesAt(event.barrier)) return report(event.op, "no warp arrives at the barrier that it waits for");
      if (!reported || (states[reported->barrier].arrived == 0 && states[event.barrier].arrived > 0)) reported = &event;
    }
    const State &state = states[reported->barrier];
    return report(reported->op, "it waits for a phase that has " + std::to_string(state.arrived) + " of " + std::to_string(state.expected) +
                                    " arrivals, and all other warps wait, too");
  }

  void advanceOthers(size_t late) {
    for (bool changed = true; changed && !isBroken;) {
      changed = false;
      for (size_t group = 0; group < programs.size(); ++group)
        while (group != late && !isBroken && step(group))
          changed = true;
    }
  }

  /// Executes a warp group's next operation. False if it has to wait, or has none.
  bool step(size_t group) {
    if (next[group] == programs[group].size()) return false;
    const Event &event = programs[group][next[group]];
    if (event.barrier == noBarrier) return !report(event.op, "it names a barrier that was not allocated");
    State &state = states[event.barrier];
    if (event.kind == Event::Kind::wait && event.phases > state.phases) return false;
    ++next[group];
    switch (event.kind) {
    case Event::Kind::arrival: arrive(state, event, group); break;
    case Event::Kind::wait: wait(state, event, group); break;
    case Event::Kind::read: read(state, event, group); break;
    }
    return true;
  }

  void wait(State &state, const Event &event, size_t group) {
    if (event.phases < state.phases) return (void)report(event.op, "the phase after the one that it waits for may already be complete");
    merge(learned[group], state.passedOn);
    learned[group][event.barrier] = state.waitedFor[group] = event.phases;
  }

  void read(const State &state, const Event &event, size_t group) {
    int64_t waitedFor = state.waitedFor[group], complete = waitedFor != 0 ? waitedFor : learned[group][event.barrier];
    if (complete == 0) report(event.op, "it reads a stage whose copy it does not know to be complete");
    if (complete != 0 && state.started > complete) report(event.op, "it reads a stage that a later copy may already overwrite");
  }

  void arrive(State &state, const Event &event, size_t group) {
    state.last = event.op;
    if (event.bytes < 0) state.started = state.phases + 1;
    state.arrived += event.arrivals;
    state.bytes += event.bytes;
    state.byGroup[group] += event.arrivals;
    merge(state.arriving, learned[group]);
    bool isFirst = state.before.empty(), isTooMany = state.arrived > state.expected;
    if (isTooMany || (!isFirst && state.byGroup[group] > state.before[group]))
      return (void)report(event.op, "a phase of its barrier has other arrivals than the phase before, or too many");
    if (state.arrived != state.expected || state.bytes != 0) return;
    state.before = state.byGroup;
    state.byGroup.assign(programs.size(), 0);
    state.arrived = 0;
    state.passedOn = std::exchange(state.arriving, Clock(states.size()));
    ++state.phases;
  }

  ArrayRef<std::vector<Event>> programs;
  SmallVector<size_t> next; ///< by warp group
  std::vector<State> states;
  std::vector<Clock> learned; ///< by warp group
  bool isBroken = false;
};

/// Iterations of loops, so that stages are used again.
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
    bool isWaitedFor = llvm::any_of(users, llvm::IsaPred<ttg::BarrierWaitOp, ttg::Tcgen05WaitOp, ttg::ClcProgramOp>);
    if (!isWaitedFor && !users.empty()) found = *users.begin();
  });
  return found;
}

} // namespace

LogicalResult verifyBarriers(tt::FuncOp function, ttg::ConfigAttr config, ArrayRef<PartitionWarps> partitions) {
  if (Operation *arrival = uselessArrival(function)) return bug(arrival, "no warp waits at the barrier at which it arrives");
  SmallVector<WarpGroup> groups;
  for (int64_t cta = 0; cta < config.getCtas(); ++cta)
    for (auto [partition, warps, onlyInFirstCta] : partitions)
      for (int64_t warp = 0; warp < warps; warp += warpsOfGroup)
        groups.push_back({partition, cta, warp / warpsOfGroup, std::min(warps - warp, warpsOfGroup),
                          /*isIdle=*/onlyInFirstCta && cta > 0});
  auto groupsOfCta = static_cast<int64_t>(groups.size()) / config.getCtas();
  Barriers barriers(function, config.getCtas(), config.getWarps() / warpsOfGroup, groupsOfCta);
  int64_t several = severalIterations(function);
  bool isBroken = false;
  Launch launches[] = {{several, true}, {several, false}, {1, true}, {0, true}};
  Operation *unknown = listEvents(function, groups, barriers, launches, [&](ArrayRef<std::vector<Event>> programs) {
    for (size_t late = 0; late < groups.size() && !isBroken; ++late)
      isBroken = !Execution(programs, barriers).runWithLate(late);
    return !isBroken;
  });
  if (unknown)
    ttg::remark(function, "specialize-warps", unknown->getLoc(),
                "the mbarriers of the partitions are not verified: a wait or an arrival depends on data, or there are too many");
  return failure(isBroken);
}

} // namespace tilewright::gpu
