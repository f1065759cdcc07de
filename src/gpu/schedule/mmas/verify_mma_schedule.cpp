// An order of MMAs proves itself before operations move, like a loop's schedule (verify_schedule.cpp). The iteration is right as it stands,
// so the rules are about what changes:
//   Values: an operation comes after those whose results it uses. What passes through a wait is there where that wait is in the end.
//   Intervals (mma_intervals.h): of what the interval of an MMA newly contains, nothing writes or releases what the MMA reads. The wait
//   that passes an accumulator through has ended its MMA. Swaps: of two operations that change places, the later one neither reads what the
//   earlier one waits for, nor is ordered by an mbarrier.
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/mma_intervals.h"
#include "gpu/schedule/mmas/mma_schedule.h"
#include "gpu/schedule/shared_memory/shared_accesses.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/written_memory.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------- what operations do

/// True if the operation, or one in its regions, is such a one. Operations of partitions other than the consumers' are none: mbarriers
/// order what two partitions do.
static bool anyIn(Operation *op, function_ref<bool(Operation *)> isMeant) {
  WalkResult walk = op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (ttg::partitionOf(inner) != ttg::Partition::consumers) return WalkResult::skip();
    return isMeant(inner) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// True if two indices may name the same of `depth` stages.
static bool mayBeSameStage(Value index, Value other, unsigned depth) {
  StageSet x = stagesOf(index, depth), y = stagesOf(other, depth);
  return x.counter != y.counter || x.bits.intersects(y.bits);
}

/// True if two operands may be the same stage of a circular buffer, or the same buffer.
static bool mayBeSame(Value buffer, Value other) {
  if (!isa<ttg::BufferType>(buffer.getType()) || !isa<ttg::BufferType>(other.getType()) || allocOf(buffer) != allocOf(other)) return false;
  ttg::StageOp x = stageOf(buffer), y = stageOf(other);
  return !x || !y || mayBeSameStage(x.getIndex(), y.getIndex(), static_cast<unsigned>(x.getBuffer().getType().getDepth()));
}

/// True if an operation may write what an MMA reads: any buffer, if the MMA reads one of several. `distance`: how many iterations it is
/// later than the MMA.
static bool mayWrite(Operation *op, ttg::MmaAsyncOp mma, int64_t distance) {
  return llvm::any_of(mma.buffers(), [&](Value buffer) {
    ttg::AllocOp alloc = allocOf(buffer);
    if (!alloc) return anyIn(op, writesBuffer);
    SmallVector<Operation *> writers = writersIn(op, alloc);
    return anyIn(op, [&](Operation *inner) {
      auto isWritten = [&](Value written) { return mayBeSame(buffer, written); };
      return llvm::is_contained(writers, inner) && (distance != 0 || llvm::any_of(inner->getOperands(), isWritten));
    });
  });
}

static bool releases(Operation *op) {
  return anyIn(op, llvm::IsaPred<ttg::BarrierArriveOp>);
}

static bool readsBuffer(Operation *op) {
  return anyIn(op, [](Operation *inner) {
    return !isa<ttg::StageOp, ttg::ViewOp>(inner) && llvm::any_of(inner->getOperandTypes(), llvm::IsaPred<ttg::BufferType>);
  });
}

/// True if threads write what an MMA reads. Then a fence makes it visible.
static bool readsThreads(ttg::MmaAsyncOp mma, scf::ForOp loop) {
  return llvm::any_of(mma.buffers(), [&](Value buffer) {
    ttg::AllocOp alloc = allocOf(buffer);
    return !alloc || llvm::any_of(writersIn(loop, alloc), llvm::IsaPred<ttg::StoreSharedOp>);
  });
}

/// True if a wait for an mbarrier must not change places with this one: it may complete or expect a phase of the same mbarrier, or release
/// the stage that the copy fills.
static bool isOrderedByBarrier(ttg::BarrierWaitOp wait, Operation *op) {
  auto isOrdered = [&](Value barriers, Value index) {
    unsigned depth = static_cast<unsigned>(wait.getBarriers().getType().getCount());
    bool isOther = barriers != wait.getBarriers() && barriers.getType() != wait.getBarriers().getType();
    return !isOther && mayBeSameStage(wait.getIndex(), index, depth);
  };
  return anyIn(op, [&](Operation *inner) {
    if (auto arrive = dyn_cast<ttg::BarrierArriveOp>(inner)) return isOrdered(arrive.getBarriers(), arrive.getIndex());
    if (!llvm::is_contained(inner->getOperands(), wait.getBarriers())) return false;
    if (auto expect = dyn_cast<ttg::BarrierExpectOp>(inner)) return isOrdered(expect.getBarriers(), expect.getIndex());
    if (auto load = dyn_cast<ttg::TmaLoadOp>(inner)) return isOrdered(load.getBarriers(), load.getIndex());
    if (auto other = dyn_cast<ttg::BarrierWaitOp>(inner)) return isOrdered(other.getBarriers(), other.getIndex());
    return true;
  });
}

//===------------------------------------------------------------------------------------------------------------ the rules

namespace {

/// Compares the order of the body before a schedule with the one after it.
class Verifier {
public:
  explicit Verifier(const MmaSchedule &schedule)
      : schedule(schedule), loop(schedule.loop), body(loop.getBody()), before(*body), after(before) {}

  Result<void> run() {
    if (Result<void> valid = moveOperations(); !valid) return valid;
    Result<MmaIntervals> planned = MmaIntervals::atEdges(loop, after, schedule.edges);
    if (!planned) return Failure{planned.error()};
    if (Result<void> valid = checkValues(*planned); !valid) return valid;
    if (Result<void> valid = checkSwaps(); !valid) return valid;
    return checkIntervals(*planned);
  }

private:
  /// Moves the operations of the order `after`, if they are such as may move.
  Result<void> moveOperations() {
    llvm::SmallPtrSet<Operation *, 8> named;
    Operation *last = nullptr;
    for (auto [op, moves] : schedule.ops) {
      if (!named.insert(op).second) return Failure{"an operation is listed twice"};
      bool isConsumers = ttg::partitionOf(op) == ttg::Partition::consumers;
      bool mayMove =
          isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp, ttg::BarrierWaitOp>(op) ? isConsumers : isa<tt::LoadOp>(op) || isMemoryEffectFree(op);
      if (moves && !mayMove) return Failure{"only MMAs and waits of the consumers, loads and arithmetic may move"};
      if (op->hasTrait<OpTrait::IsTerminator>()) return Failure{"the end of the loop's body is listed"};
      if (moves && last) after.moveAfter(op, last);
      if (moves && !last) after.moveBefore(op, after.all().front());
      if (last && !after.isBefore(last, op)) return Failure{"operations that do not move are not listed in their order"};
      last = op;
    }
    return {};
  }

  /// Results are there where something uses them. What a wait passes through is there where the wait is of which it becomes part.
  Result<void> checkValues(const MmaIntervals &planned) const {
    auto positionOf = [&](Operation *op) -> Operation * {
      auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(op);
      return wait ? planned.finalWait(wait).getOperation() : op;
    };
    auto isThere = [&](Value operand, Operation *user) {
      Operation *from = operand.getDefiningOp();
      if (!from || from->getBlock() != body) return true;
      return positionOf(from) != user && after.isBefore(positionOf(from), user);
    };
    Failure failure{"an operation uses a result that is not yet there"};
    for (Operation *op : after.all()) {
      auto usesLater = [&](Operation *inner) {
        bool valid = llvm::all_of(inner->getOperands(), [&](Value operand) { return isThere(operand, positionOf(op)); });
        return valid ? WalkResult::advance() : WalkResult::interrupt();
      };
      if (op->walk(usesLater).wasInterrupted()) return failure;
    }
    for (const MmaEdge &edge : schedule.edges)
      if (!isa<ttg::MmaAsyncOp>(edge.op) && !isThere(edge.op->getResult(0), edge.until)) return failure;
    return {};
  }

  /// Operations that a moved one has changed places with.
  Result<void> checkSwaps() const {
    for (auto [op, moves] : schedule.ops) {
      if (!moves) continue;
      auto load = dyn_cast<tt::LoadOp>(op);
      if (load)
        if (Result<LaunchGuards> guards = ttg::unwrittenGuards(load, loop); !guards)
          return Failure{"a load cannot move: " + guards.error()};
      for (Operation *other : before.all()) {
        if (before.isBefore(op, other) == after.isBefore(op, other)) continue;
        bool isFirst = before.isBefore(op, other);
        if (Result<void> valid = checkSwap(isFirst ? op : other, isFirst ? other : op); !valid) return valid;
      }
    }
    return {};
  }

  /// Checks that `second`, which has followed `first`, may stand before it.
  Result<void> checkSwap(Operation *first, Operation *second) const {
    if (ttg::partitionOf(first) != ttg::partitionOf(second)) return {};
    if (isa<ttg::BarrierWaitOp, ttg::CopyWaitOp>(first) && readsBuffer(second)) return Failure{"a copy is read before the wait for it"};
    for (auto [wait, other] : {std::pair(first, second), std::pair(second, first)})
      if (auto barrierWait = dyn_cast<ttg::BarrierWaitOp>(wait); barrierWait && isOrderedByBarrier(barrierWait, other))
        return Failure{"a wait for a copy passes the start of the copy, or the release of its stage"};
    auto early = dyn_cast<ttg::MmaAsyncOp>(second), late = dyn_cast<ttg::MmaAsyncOp>(first);
    if (early && (mayWrite(first, early, 0) || (anyIn(first, llvm::IsaPred<ttg::FenceAsyncOp>) && readsThreads(early, loop))))
      return Failure{"an MMA starts before its operand is written"};
    if (late && (releases(second) || mayWrite(second, late, 0))) return Failure{"an MMA starts after its stage is released"};
    if (isa<tt::LoadOp>(second) && contains(first, ProgramOrder::learnsWrites))
      return Failure{"a load moves before the program learns what another one has written"};
    if (isa<tt::LoadOp>(first) && contains(second, ~ProgramOrder::none))
      return Failure{"a load moves after the program may have told others that it has read"};
    return {};
  }

  /// What runs at the same time as an MMA, and what reads its accumulator.
  Result<void> checkIntervals(const MmaIntervals &planned) const {
    MmaIntervals current(before);
    for (auto mma : body->getOps<ttg::MmaAsyncOp>()) {
      MmaEdge was = current.intervalOf(mma), is = planned.intervalOf(mma);
      if (is.distance > was.distance) return Failure{"an MMA is in flight in more iterations than before"};
      for (int64_t distance = 0; distance <= is.distance; ++distance)
        for (Operation *op : before.all())
          if (planned.contains(is, op, distance) && !current.contains(was, op, distance))
            if (Result<void> valid = checkDuring(op, mma, distance); !valid) return valid;
    }
    for (auto wait : body->getOps<ttg::MmaAsyncWaitOp>())
      for (Value tile : wait.getTiles())
        if (!hasEnded(tile, planned.finalWait(wait), planned)) return Failure{"the accumulator of an MMA is read before the MMA has ended"};
    return {};
  }

  /// Checks an operation that runs while an MMA reads its operands, and has not done so before. Of those that the MMA has moved before,
  /// checkSwap knows more: what they release is not what the MMA reads.
  Result<void> checkDuring(Operation *op, ttg::MmaAsyncOp mma, int64_t distance) const {
    if (distance == 0 && before.isBefore(op, mma)) return {};
    if (mayWrite(op, mma, distance)) return Failure{"an operand is written while an MMA reads it"};
    if (releases(op)) return Failure{"a stage is released while an MMA reads it"};
    return {};
  }

  /// True if the MMA has ended whose accumulator passes through a wait.
  bool hasEnded(Value tile, ttg::MmaAsyncWaitOp wait, const MmaIntervals &planned) const {
    auto [mma, distance] = waitedMma(tile, loop);
    if (!mma || mma->getBlock() != body) return true;
    MmaEdge interval = planned.intervalOf(mma);
    return interval.until && (interval.distance < distance || (interval.distance == distance && after.isBefore(interval.until, wait)));
  }

  const MmaSchedule &schedule;
  scf::ForOp loop;
  Block *body;
  BlockOrder before, after; ///< of the body
};

} // namespace

Result<void> verify(const MmaSchedule &schedule) {
  return Verifier(schedule).run();
}

} // namespace tilewright::gpu
