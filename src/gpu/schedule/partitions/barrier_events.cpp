#include "gpu/schedule/partitions/barrier_events.h"

#include "gpu/machine/ptx.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "ir/integer_value.h"
#include "ir/slice.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

Barriers::Barriers(tt::FuncOp function, int64_t ctas, int64_t consumerGroups, int64_t groups) : ctas(ctas) {
  function.walk([&](ttg::AllocBarriersOp alloc) {
    first[alloc] = arrivals.size();
    arrivals.append(static_cast<size_t>(alloc.getType().getCount()), alloc.getArrivals());
  });
  function.walk([&](ttg::TmaLoadOp load) {
    auto [found, isFirst] = copies.try_emplace(allocOf(load.getBuffer()), load);
    ttg::TmaLoadOp other = found->second;
    if (other && (other.getBarriers() != load.getBarriers() || other.getToLeader() != load.getToLeader())) found->second = {};
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

private:
  DenseMap<Value, Integer> known;
  DenseMap<Value, int64_t> fixed; ///< by the launch
};

/// The index of a buffer's stage, and a copy to it; null if it has none.
std::pair<Value, ttg::TmaLoadOp> copiedStage(Value buffer, const Barriers &barriers) {
  ttg::AllocOp alloc = isa<ttg::BufferType>(buffer.getType()) ? allocOf(buffer) : ttg::AllocOp();
  ttg::StageOp stage = stageOf(buffer);
  ttg::TmaLoadOp copy = alloc && stage ? barriers.copies.lookup(alloc) : ttg::TmaLoadOp();
  return {copy ? stage.getIndex() : Value(), copy};
}

/// True if an operation reads buffers.
bool readsBuffers(Operation *op) {
  return isa<ttg::LoadSharedOp, ttg::MmaAsyncOp, ttg::Tcgen05MmaOp>(op);
}

bool isEvent(Operation *op) {
  return isa<ttg::BarrierWaitOp, ttg::BarrierArriveOp, ttg::BarrierExpectOp, ttg::TmaLoadOp, ttg::Tcgen05CommitOp, ttg::Tcgen05MmaOp,
             ttg::Tcgen05WaitOp, ttg::CtaBarrierOp>(op);
}

/// The partitions that load a tile from shared memory: those whose operations need it. A load is not marked.
SmallVector<ttg::Partition, 2> partitionsOf(Operation *op) {
  if (!isa<ttg::LoadSharedOp>(op) || ttg::partitionOf(op) != ttg::Partition::consumers) return {ttg::partitionOf(op)};
  llvm::SmallSetVector<ttg::Partition, 2> partitions;
  llvm::SetVector<Value> values(op->result_begin(), op->result_end());
  for (size_t next = 0; next < values.size(); ++next)
    for (OpOperand &use : Value(values[next]).getUses()) {
      Operation *user = use.getOwner();
      if (ttg::partitionOf(user) != ttg::Partition::consumers)
        partitions.insert(ttg::partitionOf(user));
      else if (isa<RegionBranchOpInterface, RegionBranchTerminatorOpInterface>(user))
        values.insert_range(tt::receiversOf(use));
      else if (wouldOpBeTriviallyDead(user))
        values.insert_range(user->getResults());
      else
        partitions.insert(ttg::Partition::consumers);
    }
  return partitions.takeVector();
}

/// The operations that decide about events: these, what is around them, and the scalars that both depend on. Few of a kernel's operations
/// are, and loops execute them many times.
class Relevant {
public:
  Relevant(tt::FuncOp function, const Barriers &barriers) {
    function.walk([&](Operation *op) {
      bool reads = false;
      if (readsBuffers(op))
        for (Value operand : op->getOperands())
          if (Value index = copiedStage(operand, barriers).first) {
            reads = true;
            if (seen.insert(index).second) needed.push_back(index);
          }
      if (!isEvent(op) && !reads) return;
      if (reads) readers[op] = partitionsOf(op);
      for (Operation *outer = op; outer != function && decides.insert(outer).second; outer = outer->getParentOp())
        needOperands(outer);
    });
    around = decides;
    while (!needed.empty())
      need(needed.pop_back_val());
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (decides.contains(op)) ofBlock[op->getBlock()].push_back(op);
    });
  }

  ArrayRef<Operation *> operator[](Block &block) const {
    auto found = ofBlock.find(&block);
    return found == ofBlock.end() ? ArrayRef<Operation *>() : ArrayRef(found->second);
  }
  bool contains(Operation *op) const { return decides.contains(op); }
  bool contains(Value value) const { return seen.contains(value); }
  /// True if the partition runs an event or a read.
  bool isOf(Operation *op, ttg::Partition partition) const {
    auto found = readers.find(op);
    return found == readers.end() ? ttg::partitionOf(op) == partition : llvm::is_contained(found->second, partition);
  }
  /// True if the operation is an event or a read of a stage, or has one inside.
  bool hasEvents(Operation *op) const { return around.contains(op); }

private:
  /// Loops and branches need their bounds and conditions. What they pass on is needed value by value.
  void needOperands(Operation *op) {
    ValueRange operands = op->getOperands();
    for (Value operand : isa<scf::ForOp>(op) ? operands.take_front(cast<scf::ForOp>(op).getNumControlOperands()) : operands)
      if (operand.getType().isIntOrIndex() && seen.insert(operand).second) needed.push_back(operand);
  }

  void need(Value value) {
    auto pass = [&](Value from) {
      if (seen.insert(from).second) needed.push_back(from);
    };
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop = dyn_cast_or_null<scf::ForOp>(argument ? argument.getOwner()->getParentOp() : value.getDefiningOp());
    if (loop && around.contains(loop)) {
      if (value == loop.getInductionVar()) return;
      BlockArgument carried = argument ? argument : loop.getRegionIterArg(cast<OpResult>(value).getResultNumber());
      for (Value from : {Value(carried), loop.getTiedLoopInit(carried)->get(), loop.getTiedLoopYieldedValue(carried)->get()})
        pass(from);
      return;
    }
    if (argument) return;
    auto result = cast<OpResult>(value);
    if (auto branch = dyn_cast<scf::IfOp>(result.getOwner()); branch && around.contains(branch)) {
      for (Region &region : branch->getRegions())
        pass(region.front().getTerminator()->getOperand(result.getResultNumber()));
      return;
    }
    if (decides.insert(result.getOwner()).second && result.getOwner()->getNumRegions() == 0) needOperands(result.getOwner());
  }

  DenseSet<Operation *> decides, around; ///< and those of them that are events or reads, or have some
  DenseSet<Value> seen;
  SmallVector<Value> needed;
  DenseMap<Block *, SmallVector<Operation *>> ofBlock;
  DenseMap<Operation *, SmallVector<ttg::Partition, 2>> readers; ///< of reads of stages
};

/// Gives loops with waits and arrivals their bounds.
Scalars boundsOf(tt::FuncOp function, const Relevant &relevant, const Launch &launch) {
  Scalars scalars;
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

/// Lists the waits, arrivals and reads of a warp group.
class Program {
public:
  Program(const WarpGroup &group, const Barriers &barriers, const Relevant &relevant, Launch launch, Scalars scalars,
          std::vector<Event> &events)
      : group(group), barriers(barriers), relevant(relevant), launch(launch), scalars(std::move(scalars)), events(events) {}

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
    if (readsBuffers(op) && isOfGroup(op)) read(op);
    if (isEvent(op)) return !isOfGroup(op) || runEvent(op);
    if (readsBuffers(op)) return true;
    bool runs = relevant.hasEvents(op);
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

  //===----------------------------------------------------------------------------------------------------------- events

  enum class Ctas : uint8_t { own, first, all };

  /// All warps of a partition arrive or wait, and one thread of its first warp starts copies and MMAs.
  bool isOfGroup(Operation *op) {
    if (auto barrier = dyn_cast<ttg::CtaBarrierOp>(op)) return barrier.getAllWarps() || group.partition == ttg::Partition::consumers;
    if (!relevant.isOf(op, group.partition) || group.isIdle) return false;
    auto wait = dyn_cast<ttg::BarrierWaitOp>(op);
    auto arrive = dyn_cast<ttg::BarrierArriveOp>(op);
    bool isFirstWarp = wait ? wait.getFirstWarp() : arrive ? arrive.getFirstWarp() : !isa<ttg::LoadSharedOp, ttg::MmaAsyncOp>(op);
    return !isFirstWarp || group.number == 0;
  }

  void read(Operation *op) {
    for (Value operand : op->getOperands())
      if (auto [index, copy] = copiedStage(operand, barriers); copy) {
        size_t ofOtherCtas = copy.getToLeader() ? barriers.perCta() * size_t(group.cta) : 0;
        at(copy.getBarriers(), scalars.of(index),
           [&](size_t own) { events.push_back({op, Event::Kind::read, own == noBarrier ? own : own - ofOtherCtas}); });
      }
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
          events.push_back({.op = barrier, .kind = Event::Kind::arrival, .barrier = number, .arrivals = 1});
          events.push_back({barrier, Event::Kind::wait, number, ++ctaBarriers[number]});
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
    events.push_back({op, Event::Kind::wait, barrier, found->second});
  }

  template <typename Op> bool arriveAt(Op op, Integer index, Value predicate, Ctas ctas, int64_t arrivals, int64_t bytes = 0) {
    Integer arrives = predicate ? scalars.of(predicate) : Integer(-1);
    if (!arrives) return false;
    return *arrives == 0 || at(op.getBarriers(), index, [&](size_t own) {
      for (int64_t cta = 0; cta < barriers.ctas; ++cta)
        if (ctas == Ctas::all || cta == (ctas == Ctas::own ? group.cta : 0))
          events.push_back({.op = op,
                            .kind = Event::Kind::arrival,
                            .barrier = own == noBarrier ? own : own + barriers.perCta() * size_t(cta - group.cta),
                            .arrivals = arrivals,
                            .bytes = bytes});
    });
  }

  const WarpGroup &group;
  const Barriers &barriers;
  const Relevant &relevant;
  Launch launch;
  Scalars scalars;
  std::vector<Event> &events;
  Operation *unknown = nullptr;
  DenseMap<size_t, int64_t> waited, ctaBarriers; ///< by barrier: the phases of the last wait
};

} // namespace

Operation *listEvents(tt::FuncOp function, ArrayRef<WarpGroup> groups, const Barriers &barriers, ArrayRef<Launch> launches,
                      function_ref<bool(ArrayRef<std::vector<Event>>)> use) {
  Relevant relevant(function, barriers);
  for (const Launch &launch : launches) {
    Scalars bounds = boundsOf(function, relevant, launch);
    std::vector<std::vector<Event>> programs(groups.size());
    for (auto [group, events] : llvm::zip(groups, programs))
      if (Operation *unknown = Program(group, barriers, relevant, launch, bounds, events).run(function.getBody().front())) return unknown;
    if (!use(programs)) break;
  }
  return nullptr;
}

} // namespace tilewright::gpu
