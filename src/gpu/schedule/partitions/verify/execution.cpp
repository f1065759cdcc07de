#include "gpu/schedule/partitions/verify/execution.h"

#include <deque>
#include <limits>

using namespace mlir;

namespace tilewright::gpu {
namespace {

class Execution {
public:
  Execution(ArrayRef<std::vector<Event>> programs, const Resources &resources)
      : programs(programs), barriers(resources.arrivals.size() * size_t(resources.ctas)), stages(resources.stages * size_t(resources.ctas)),
        groups(programs.size()) {
    Clock start(barriers.size() + 2 * groups.size());
    for (auto [number, barrier] : llvm::enumerate(barriers)) {
      barrier.expected = resources.arrivals[number % resources.arrivals.size()];
      barrier.byGroup.resize(groups.size());
      barrier.waitedFor.resize(groups.size());
      barrier.arriving = barrier.passedOn = start;
    }
    for (Group &group : groups)
      group.learned = start;
  }

  std::optional<BrokenRule> broken;

  /// Returns false once it has found a broken rule.
  bool runWithLate(size_t late) {
    while (!hasEnded(late) || !groups[late].started.empty()) {
      if (hasEnded(late) || programs[late][groups[late].next].kind != Event::Kind::arrival) advanceOthers(late);
      if (broken) return false;
      if (!step(late) && !runTensorCore(late)) return reportDeadlock();
    }
    advanceOthers(late);
    for (size_t group = 0; group < programs.size() && !broken; ++group)
      if (!hasEnded(group)) return reportDeadlock();
    for (const Barrier &barrier : barriers)
      if (!broken && (barrier.arrived || barrier.bytes)) report(barrier.last, "the last phase of its barrier stays incomplete");
    return !broken;
  }

private:
  /// A vector clock: of each barrier, the phases that are known to be complete; of each warp group, its operations that are; and of each
  /// group, those of its tensor core.
  using Clock = std::vector<int64_t>;

  struct Barrier {
    int64_t expected = 0, phases = 0, arrived = 0, bytes = 0;
    SmallVector<int64_t> byGroup, before; ///< arrivals of each warp group, in this phase and in the one before
    SmallVector<int64_t> waitedFor;       ///< phases that each warp group has waited for
    Clock arriving, passedOn;             ///< what was known at the arrivals of this phase, and of the one before
    Operation *last = nullptr;            ///< arrival
  };

  /// An access of a stage is over when `component` of a clock is at least `end`.
  struct Access {
    size_t component;
    int64_t end;
    Operation *op;
    const Event *event;
    bool isOver(const Clock &known) const { return known[component] >= end; }
  };
  struct Stage {
    SmallVector<Access, 2> writes, reads; ///< that fill it, and those since
    bool isRefilled = false;              ///< the latest of `writes` followed others that were over
  };

  struct Group {
    size_t next = 0; ///< event
    Clock learned;
    struct Started {
      const Event *event;
      Clock learned;
    };
    std::deque<Started> started; ///< the tensor core has yet to do it
    int64_t executed = 0;        ///< by the tensor core
  };

  size_t groupComponent(size_t group) const { return barriers.size() + group; }
  size_t tensorCoreComponent(size_t group) const { return barriers.size() + groups.size() + group; }

  static void merge(Clock &known, const Clock &more) {
    for (auto [own, other] : llvm::zip_equal(known, more))
      own = std::max(own, other);
  }

  bool report(Operation *op, const std::string &what) {
    broken = {op, what};
    return false;
  }

  bool hasEnded(size_t group) const { return groups[group].next == programs[group].size(); }

  bool arrivesAt(size_t barrier) {
    auto arrives = [&](const Event &event) { return event.kind == Event::Kind::arrival && event.barrier == barrier; };
    return llvm::any_of(programs, [&](const auto &events) { return llvm::any_of(events, arrives); });
  }

  /// All warp groups wait, or have ended. The wait that misses some arrivals is reported rather than one that misses all of them.
  bool reportDeadlock() {
    const Event *reported = nullptr;
    for (size_t group = 0; group < programs.size(); ++group) {
      if (hasEnded(group)) continue;
      const Event &event = programs[group][groups[group].next];
      if (!arrivesAt(event.barrier)) return report(event.op, "no warp arrives at the barrier that it waits for");
      if (!reported || (barriers[reported->barrier].arrived == 0 && barriers[event.barrier].arrived > 0)) reported = &event;
    }
    const Barrier &barrier = barriers[reported->barrier];
    return report(reported->op, "it waits for a phase that has " + std::to_string(barrier.arrived) + " of " +
                                    std::to_string(barrier.expected) + " arrivals, and all other warps wait, too");
  }

  void advanceOthers(size_t late) {
    for (bool changed = true; changed && !broken;) {
      changed = false;
      for (size_t group = 0; group < programs.size(); ++group)
        while (group != late && !broken && (runTensorCore(group) || step(group)))
          changed = true;
    }
  }

  /// Executes a warp group's next operation. False if it has to wait, or has none.
  bool step(size_t group) {
    if (hasEnded(group)) return false;
    Group &own = groups[group];
    const Event &event = programs[group][own.next];
    if (event.barrier == notAllocated) return !report(event.op, "it names a barrier that was not allocated");
    if (event.stage == notAllocated) return !report(event.op, "it names a stage that was not allocated");
    if (event.kind == Event::Kind::wait && event.phases > barriers[event.barrier].phases) return false;
    ++own.next;
    ++own.learned[groupComponent(group)];
    if (event.isAsync)
      own.started.push_back({&event, own.learned});
    else
      execute(event, group, own.learned, groupComponent(group));
    return true;
  }

  /// Executes the next operation of the group's MMAs. False if there is none.
  bool runTensorCore(size_t group) {
    if (groups[group].started.empty()) return false;
    auto [event, learned] = groups[group].started.front();
    groups[group].started.pop_front();
    learned[tensorCoreComponent(group)] = ++groups[group].executed;
    execute(*event, group, learned, tensorCoreComponent(group));
    return true;
  }

  void execute(const Event &event, size_t group, Clock &known, size_t component) {
    switch (event.kind) {
    case Event::Kind::arrival: return arrive(event, group, known);
    case Event::Kind::wait: return wait(event, group);
    case Event::Kind::read:
    case Event::Kind::beginRead: return read(event, group);
    case Event::Kind::endRead: return endRead(event, group, component, known[component]);
    case Event::Kind::write: return write(event, known, component, known[component]);
    }
  }

  void wait(const Event &event, size_t group) {
    Barrier &barrier = barriers[event.barrier];
    if (event.phases < barrier.phases) return (void)report(event.op, "the phase after the one that it waits for may already be complete");
    merge(groups[group].learned, barrier.passedOn);
    groups[group].learned[event.barrier] = barrier.waitedFor[group] = event.phases;
  }

  /// An access that fills the stage and comes before the read is over, and none has begun since the group waited for that one.
  void read(const Event &event, size_t group) {
    const Clock &known = groups[group].learned;
    Stage &stage = stages[event.stage];
    bool isFilled = stage.isRefilled || llvm::any_of(stage.writes, [&](const Access &write) { return write.isOver(known); });
    for (const Access &write : stage.writes) {
      isFilled &= known[write.component] > 0;
      int64_t waitedFor = write.component < barriers.size() ? barriers[write.component].waitedFor[group] : 0;
      if (isFilled && (!write.isOver(known) || (waitedFor != 0 && write.end > waitedFor)))
        return (void)report(event.op, "it reads a stage that may already be filled again");
    }
    if (!isFilled) return (void)report(event.op, "it reads a stage that it does not know to be filled");
    int64_t end = event.kind == Event::Kind::read ? known[groupComponent(group)] : std::numeric_limits<int64_t>::max();
    stage.reads.push_back({groupComponent(group), end, event.op, &event});
  }

  void endRead(const Event &event, size_t group, size_t component, int64_t end) {
    for (Access &read : stages[event.stage].reads)
      if (read.event == &programs[group][event.read]) read.component = component, read.end = end;
  }

  void write(const Event &event, const Clock &known, size_t component, int64_t end) {
    Stage &stage = stages[event.stage];
    for (const Access &read : stage.reads)
      if (!read.isOver(known)) return (void)report(read.op, "it reads a stage that may already be filled again");
    stage.reads.clear();
    size_t before = stage.writes.size();
    llvm::erase_if(stage.writes, [&](const Access &write) { return write.isOver(known); });
    stage.isRefilled |= stage.writes.size() < before;
    stage.writes.push_back({component, end, event.op, &event});
  }

  void arrive(const Event &event, size_t group, const Clock &known) {
    Barrier &barrier = barriers[event.barrier];
    if (event.stage != noIndex) write(event, known, event.barrier, barrier.phases + 1);
    barrier.last = event.op;
    barrier.arrived += event.arrivals;
    barrier.bytes += event.bytes;
    barrier.byGroup[group] += event.arrivals;
    merge(barrier.arriving, known);
    bool isFirst = barrier.before.empty(), isTooMany = barrier.arrived > barrier.expected;
    if (isTooMany || (!isFirst && barrier.byGroup[group] > barrier.before[group]))
      return (void)report(event.op, "a phase of its barrier has other arrivals than the phase before, or too many");
    if (barrier.arrived != barrier.expected || barrier.bytes != 0) return;
    barrier.before = barrier.byGroup;
    barrier.byGroup.assign(groups.size(), 0);
    barrier.arrived = 0;
    barrier.passedOn = std::exchange(barrier.arriving, Clock(known.size()));
    ++barrier.phases;
  }

  ArrayRef<std::vector<Event>> programs;
  std::vector<Barrier> barriers;
  std::vector<Stage> stages;
  std::vector<Group> groups;
};

} // namespace

std::optional<BrokenRule> executeWithLate(ArrayRef<std::vector<Event>> programs, const Resources &resources, size_t late) {
  Execution execution(programs, resources);
  execution.runWithLate(late);
  return execution.broken;
}

} // namespace tilewright::gpu
