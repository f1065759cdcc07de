#include "gpu/schedule/partitions/barrier_events.h"

#include "gpu/cost_model/hardware.h"
#include "gpu/machine/ptx.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "ir/integer_value.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

Barriers::Barriers(tt::FuncOp function, int64_t ctas, int64_t consumerGroups, int64_t groups) : ctas(ctas) {
  function.walk([&](ttg::AllocBarriersOp alloc) {
    first[alloc] = arrivals.size();
    arrivals.append(static_cast<size_t>(alloc.getType().getCount()), alloc.getArrivals());
  });
  ofConsumers = arrivals.size();
  arrivals.append({consumerGroups, groups});
}

namespace {

constexpr size_t maxEvents = 1 << 13;

/// The scalars of a launch that are known.
class Scalars {
public:
  Integer of(Value value) const {
    if (auto found = fixed.find(value); found != fixed.end()) return found->second;
    return known.lookup(value);
  }
  void set(Value value, Integer number) { known[value] = number; }
  void fix(Value value, int64_t number) { fixed[value] = number; }

  /// Sets the results of an operation.
  void compute(Operation *op) {
    for (Value result : op->getResults())
      known[result] = std::nullopt;
    if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !op->getResult(0).getType().isIntOrIndex()) return;
    known[op->getResult(0)] = computeInteger(op, llvm::map_to_vector(op->getOperands(), [&](Value operand) { return of(operand); }));
  }

  void pass(ValueRange from, ValueRange to) {
    SmallVector<Integer> values = llvm::map_to_vector(from, [&](Value value) { return of(value); });
    for (auto [value, passed] : llvm::zip(values, to))
      known[passed] = value;
  }

private:
  DenseMap<Value, Integer> known;
  DenseMap<Value, int64_t> fixed; ///< by the launch
};

bool isEvent(Operation *op) {
  return isa<ttg::BarrierWaitOp, ttg::BarrierArriveOp, ttg::BarrierExpectOp, ttg::TmaLoadOp, ttg::Tcgen05CommitOp, ttg::Tcgen05MmaOp,
             ttg::Tcgen05WaitOp, ttg::CtaBarrierOp>(op);
}

bool hasEvents(Operation *op) {
  return op->walk([](Operation *inside) { return isEvent(inside) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
}

/// Gives loops with waits and arrivals their bounds.
Scalars boundsOf(tt::FuncOp function, const Launch &launch) {
  Scalars scalars;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    scalars.compute(op);
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || !hasEvents(loop)) return;
    Integer lower = scalars.of(loop.getLowerBound()), upper = scalars.of(loop.getUpperBound()), step = scalars.of(loop.getStep());
    if (!lower) scalars.fix(loop.getLowerBound(), *(lower = 0));
    if (!step) scalars.fix(loop.getStep(), *(step = 1));
    if (*step < 1) return;                                                             // it counts down: not verified
    if (!upper) scalars.fix(loop.getUpperBound(), *lower + launch.iterations * *step); // conditions have been folded by known ones
  });
  return scalars;
}

/// Lists the waits and arrivals of a warp group.
class Program {
public:
  Program(const WarpGroup &group, const Barriers &barriers, Launch launch, Scalars scalars, std::vector<Event> &events)
      : group(group), barriers(barriers), launch(launch), scalars(std::move(scalars)), events(events) {}

  /// False if a value that decides is not known.
  bool run(Block &block) {
    return llvm::all_of(block.without_terminator(), [&](Operation &op) { return run(&op); });
  }

private:
  bool run(Operation *op) {
    if (isEvent(op)) return !isOfGroup(op) || runEvent(op);
    bool runs = op->getNumRegions() != 0 && hasEvents(op);
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && runs) return runLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && runs) return runBranch(branch);
    scalars.compute(op);
    if (isa<ptx::ClusterRankOp>(op)) scalars.set(op->getResult(0), group.cta);
    if (isa<ptx::WarpIdOp>(op) && group.partition == ttg::Partition::consumers) scalars.set(op->getResult(0), group.number * warpsOfGroup);
    return !runs;
  }

  bool runLoop(scf::ForOp loop) {
    Integer lower = scalars.of(loop.getLowerBound()), upper = scalars.of(loop.getUpperBound()), step = scalars.of(loop.getStep());
    if (!lower || !upper || !step || *step < 1) return false;
    scalars.pass(loop.getInitArgs(), loop.getRegionIterArgs());
    for (int64_t number = *lower; number < *upper; number += *step) {
      scalars.set(loop.getInductionVar(), number);
      if (!run(*loop.getBody()) || events.size() > maxEvents) return false;
      scalars.pass(loop.getYieldedValues(), loop.getRegionIterArgs());
    }
    scalars.pass(loop.getRegionIterArgs(), loop.getResults());
    return true;
  }

  bool runBranch(scf::IfOp branch) {
    Integer condition = scalars.of(branch.getCondition());
    if (!condition) scalars.set(branch.getCondition(), condition = launch.condition ? -1 : 0);
    Region &taken = *condition ? branch.getThenRegion() : branch.getElseRegion();
    if (taken.empty()) return true;
    if (!run(taken.front())) return false;
    scalars.pass(taken.front().getTerminator()->getOperands(), branch.getResults());
    return true;
  }

  //===----------------------------------------------------------------------------------------------------------- events

  enum class Ctas : uint8_t { own, first, all };

  /// All warps of a partition arrive or wait, and one thread of its first warp starts copies and MMAs.
  bool isOfGroup(Operation *op) {
    if (auto barrier = dyn_cast<ttg::CtaBarrierOp>(op)) return barrier.getAllWarps() || group.partition == ttg::Partition::consumers;
    if (ttg::partitionOf(op) != group.partition || group.isIdle) return false;
    auto wait = dyn_cast<ttg::BarrierWaitOp>(op);
    auto arrive = dyn_cast<ttg::BarrierArriveOp>(op);
    bool isFirstWarp = wait ? wait.getFirstWarp() : arrive ? arrive.getFirstWarp() : true;
    return !isFirstWarp || group.number == 0;
  }

  bool runEvent(Operation *op) {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case([&](ttg::BarrierWaitOp wait) {
          Integer parity = scalars.of(wait.getParity());
          return parity && at(wait.getBarriers(), indexOf(wait), [&](size_t barrier) { waitAt(wait, barrier, *parity); });
        })
        .Case([&](ttg::BarrierArriveOp arrive) {
          Ctas ctas = arrive.getToFirstCta() ? Ctas::first : arrive.getInAllCtas() ? Ctas::all : Ctas::own;
          return arriveAt(arrive, indexOf(arrive), arrive.getPredicate(), ctas, arrive.getFirstWarp() ? 1 : group.warps);
        })
        .Case([&](ttg::BarrierExpectOp expect) {
          return arriveAt(expect, scalars.of(expect.getIndex()), expect.getPredicate(), Ctas::own, 1, expect.getBytes());
        })
        .Case([&](ttg::TmaLoadOp load) { return runLoad(load); })
        .Case([&](ttg::Tcgen05CommitOp commit) {
          return arriveAt(commit, scalars.of(commit.getIndex()), Value(), commit.getPaired() ? Ctas::all : Ctas::own, 1);
        })
        .Case([&](ttg::Tcgen05MmaOp mma) {
          if (!mma.getBarriers()) return true;
          Integer number = scalars.of(mma.getIssued());
          if (number) *number &= mma.getBarriers().getType().getCount() - 1;
          return arriveAt(mma, number, Value(), mma.getPaired() ? Ctas::all : Ctas::own, 1);
        })
        .Case([&](ttg::Tcgen05WaitOp wait) {
          Integer issued = scalars.of(wait.getIssued());
          if (!issued) return false;
          int64_t count = wait.getBarriers().getType().getCount(), number = *issued - wait.getPending() - 1;
          return number < 0 || at(wait.getBarriers(), number % count, [&](size_t barrier) { waitAt(wait, barrier, number / count % 2); });
        })
        .Case([&](ttg::CtaBarrierOp barrier) {
          size_t number = barriers.ofConsumers + barrier.getAllWarps() + barriers.perCta() * size_t(group.cta);
          events.push_back({barrier, number, -1, 1});
          events.push_back({barrier, number, ++ctaBarriers[number]});
          return true;
        });
  }

  bool runLoad(ttg::TmaLoadOp load) {
    ttg::AllocOp alloc = allocOf(load.getBuffer());
    if (!alloc) return false;
    Ctas ctas = load.getToLeader() ? Ctas::first : load.getMulticast() ? Ctas::all : Ctas::own;
    int64_t bytes = copiedBytes(alloc);
    if (ctas == Ctas::all) bytes = bytes / barriers.ctas + (group.cta == 0 ? bytes % barriers.ctas : 0); // each CTA brings a part
    return arriveAt(load, scalars.of(load.getIndex()), load.getPredicate(), ctas, 0, -bytes);
  }

  template <typename Op> Integer indexOf(Op op) const {
    Integer index = scalars.of(op.getIndex());
    return index && op.getPerWarpGroup() ? *index + group.number : index;
  }

  /// Calls `emit` with the barrier of this CTA. False if it is not known.
  bool at(Value allocated, Integer index, function_ref<void(size_t)> emit) {
    auto found = barriers.first.find(allocated);
    if (!index || found == barriers.first.end()) return false;
    bool exists = *index >= 0 && *index < cast<ttg::BarriersType>(allocated.getType()).getCount();
    emit(exists ? found->second + size_t(*index) + barriers.perCta() * size_t(group.cta) : noBarrier);
    return true;
  }

  /// A fresh barrier has completed the phase of parity 1. Waits for the same parity one after the other are for the same phase.
  void waitAt(Operation *op, size_t barrier, int64_t parity) {
    auto [found, isFirst] = waited.try_emplace(barrier, 1 - parity);
    if (!isFirst && found->second % 2 == parity) ++found->second;
    events.push_back({op, barrier, found->second});
  }

  template <typename Op> bool arriveAt(Op op, Integer index, Value predicate, Ctas ctas, int64_t arrivals, int64_t bytes = 0) {
    Integer arrives = predicate ? scalars.of(predicate) : Integer(-1);
    if (!arrives) return false;
    return *arrives == 0 || at(op.getBarriers(), index, [&](size_t own) {
      for (int64_t cta = 0; cta < barriers.ctas; ++cta)
        if (ctas == Ctas::all || cta == (ctas == Ctas::own ? group.cta : 0))
          events.push_back({op, own == noBarrier ? own : own + barriers.perCta() * size_t(cta - group.cta), -1, arrivals, bytes});
    });
  }

  const WarpGroup &group;
  const Barriers &barriers;
  Launch launch;
  Scalars scalars;
  std::vector<Event> &events;
  DenseMap<size_t, int64_t> waited, ctaBarriers; ///< by barrier: the phases of the last wait
};

} // namespace

std::optional<std::vector<std::vector<Event>>> eventsOf(tt::FuncOp function, ArrayRef<WarpGroup> groups, const Barriers &barriers,
                                                        const Launch &launch) {
  Scalars bounds = boundsOf(function, launch);
  std::vector<std::vector<Event>> programs(groups.size());
  for (auto [group, events] : llvm::zip(groups, programs))
    if (!Program(group, barriers, launch, bounds, events).run(function.getBody().front())) return std::nullopt;
  return programs;
}

} // namespace tilewright::gpu
