// An order of MMAs proves itself before operations move, like a loop's schedule (verify_schedule.cpp). The rules are about two operations
// that change places, whatever the reason for that was:
//   before: ... first ... second ...    after: ... second ... first ...
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/mmas/block_order.h"
#include "gpu/schedule/mmas/mma_schedule.h"
#include "gpu/schedule/shared_memory/shared_accesses.h"
#include "gpu/ttg/buffer_accesses.h"
#include "ir/volatile_load.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

static bool usesResult(Operation *op, Operation *of) {
  return llvm::any_of(of->getUsers(), [&](Operation *user) { return op->isAncestor(user); });
}

/// True if two operands may be the same stage of a circular buffer, or the same buffer.
static bool mayBeSame(Value buffer, Value other) {
  if (!isa<ttg::BufferType>(buffer.getType()) || !isa<ttg::BufferType>(other.getType()) || allocOf(buffer) != allocOf(other)) return false;
  ttg::StageOp x = stageOf(buffer), y = stageOf(other);
  if (!x || !y) return true;
  auto depth = static_cast<unsigned>(cast<ttg::BufferType>(x.getBuffer().getType()).getDepth());
  StageSet mine = stagesOf(x.getIndex(), depth), its = stagesOf(y.getIndex(), depth);
  return mine.counter != its.counter || mine.bits.intersects(its.bits);
}

/// True if an operation may write what an MMA reads. `distance`: 1 for the MMA of the previous iteration.
static bool mayWrite(Operation *op, ttg::MmaAsyncOp mma, int64_t distance = 0) {
  return llvm::any_of(mma.buffers(), [&](Value buffer) {
    ttg::AllocOp alloc = allocOf(buffer);
    if (!alloc) return false;
    return llvm::any_of(writersIn(op, alloc), [&](Operation *writer) {
      return distance != 0 || llvm::any_of(writer->getOperands(), [&](Value written) { return mayBeSame(buffer, written); });
    });
  });
}

/// True if threads write what an MMA reads. Then a fence makes it visible.
static bool readsThreads(ttg::MmaAsyncOp mma, scf::ForOp loop) {
  return llvm::any_of(mma.buffers(), [&](Value buffer) {
    ttg::AllocOp alloc = allocOf(buffer);
    return alloc && llvm::any_of(writersIn(loop, alloc), llvm::IsaPred<ttg::StoreSharedOp>);
  });
}

/// Checks an operation that moves before the wait at which MMAs end.
static Result<void> checkBeforeWait(Operation *op, ttg::MmaAsyncWaitOp wait, scf::ForOp loop) {
  for (Value tile : wait.getTiles()) {
    auto [mma, distance] = waitedMma(tile, loop);
    if (mma && (isa<ttg::BarrierArriveOp>(op) || mayWrite(op, mma, distance))) return Failure{"a stage is released while an MMA reads it"};
  }
  return {};
}

/// Checks that `second` may stand before `first`, which it follows now.
static Result<void> checkSwap(Operation *first, Operation *second, scf::ForOp loop) {
  if (usesResult(second, first)) return Failure{"an operation uses a result that is not yet there"};
  auto isProducers = [](Operation *op) { return ttg::partitionOf(op) == ttg::Partition::producer; };
  if (isProducers(first) || isProducers(second)) return {}; // mbarriers order what two partitions do
  if (isa<ttg::BarrierWaitOp, ttg::CopyWaitOp>(first) && isa<ttg::MmaAsyncOp, ttg::LoadSharedOp>(second))
    return Failure{"a copy is read before the wait for it"};
  auto early = dyn_cast<ttg::MmaAsyncOp>(second), late = dyn_cast<ttg::MmaAsyncOp>(first);
  if (early && (mayWrite(first, early) || (isa<ttg::FenceAsyncOp>(first) && readsThreads(early, loop))))
    return Failure{"an MMA starts before its operand is written"};
  if (late && (isa<ttg::BarrierArriveOp>(second) || mayWrite(second, late))) return Failure{"an MMA starts after its stage is released"};
  if (auto ends = dyn_cast<ttg::MmaAsyncWaitOp>(first))
    if (Result<void> valid = checkBeforeWait(second, ends, loop); !valid) return valid;
  auto load = dyn_cast<tt::LoadOp>(second);
  if (load && (tt::isVolatileLoad(load) || contains(first, ProgramOrder::learnsWrites)))
    return Failure{"a load moves before the program learns what another one has written"};
  return {};
}

Result<void> verify(const MmaSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  BlockOrder now(*loop.getBody()), order = now;
  Operation *last = nullptr;
  for (auto [op, moves] : schedule.ops) {
    if (moves && last) order.moveAfter(op, last);
    if (moves && !last) order.moveBefore(op, order.all().front());
    last = op;
  }
  for (auto [op, moves] : schedule.ops) {
    if (!moves) continue;
    if (!isa<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp, ttg::BarrierWaitOp, tt::LoadOp>(op) && !isMemoryEffectFree(op))
      return Failure{"only MMAs, waits, loads and arithmetic may move"};
    for (Operation *other : now.all()) {
      if (now.isBefore(op, other) == order.isBefore(op, other)) continue;
      bool isFirst = now.isBefore(op, other);
      if (Result<void> valid = checkSwap(isFirst ? op : other, isFirst ? other : op, loop); !valid) return valid;
    }
  }
  return {};
}

} // namespace tilewright::gpu
