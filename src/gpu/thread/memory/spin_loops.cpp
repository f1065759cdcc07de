// Spin locks and spin loops (ttg.spin):
//     while tl.atomic_cas(lock, 0, 1) == 1: pass
//     while tl.load(flag, volatile=True) == 0: pass
// An attempt by all threads takes three barriers to share the result of the first one. That delays taking a lock that has just become
// free. A release in each attempt does so as well, because it waits for all stores. So one thread runs the loop, and the others wait for
// it.
#include "gpu/cost_model/thresholds.h"
#include "gpu/machine/atomic_order.h"
#include "gpu/thread/control_flow.h"
#include "gpu/thread/memory/memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// The number of sleeps of the first pause; each further pause has half as many. So programs that have waited long retry often, and new
/// ones do not. Many programs on an SM that retry at once slow down each attempt, and also the release that they wait for.
static int64_t sleepsOf(ThreadContext &t) {
  int64_t ctas = t.kernel.target.threadsPerSM / (t.kernel.config.getWarps() << laneBits); // on an SM, at most
  return std::clamp<int64_t>(ctas, 1, maxLockSleeps);
}

/// The retry loop of a lock. A fence before it performs the release once, instead of one in each attempt.
static LogicalResult lowerSpinLock(ThreadContext &t, scf::WhileOp loop) {
  tt::AtomicCASOp swap = *loop.getBefore().front().getOps<tt::AtomicCASOp>().begin();
  ptx::Order order = orderOf(swap.getSem());
  bool releases = isRelease(order);
  if (releases) ptx::FenceOp::create(t.b, scopeOf(swap.getScope()));
  Type i32 = t.b.getI32Type();
  auto fresh = scf::WhileOp::create(t.b, TypeRange{i32}, ValueRange{t.i32(sleepsOf(t))});
  Block *attempt = t.b.createBlock(&fresh.getBefore(), {}, TypeRange{i32}, {t.b.getLoc()});
  if (failed(lowerBlock(t, loop.getBefore().front()))) return failure();
  if (releases) attempt->walk([&](ptx::CompareSwapOp op) { op.setAlreadyReleased(true); });
  scf::ConditionOp::create(t.b, t.getScalar(loop.getConditionOp().getCondition()), ValueRange{attempt->getArgument(0)});
  Block *pause = t.b.createBlock(&fresh.getAfter(), {}, TypeRange{i32}, {t.b.getLoc()});
  Value sleeps = pause->getArgument(0);
  auto repeated = scf::ForOp::create(t.b, t.i32(0), sleeps, t.i32(1));
  t.b.setInsertionPointToStart(repeated.getBody());
  ptx::SleepOp::create(t.b, static_cast<uint32_t>(lockSleepNanoseconds));
  t.b.setInsertionPointToEnd(pause);
  Value half = arith::ShRUIOp::create(t.b, sleeps, t.i32(1));
  scf::YieldOp::create(t.b, ValueRange{arith::MaxUIOp::create(t.b, half, t.i32(1))});
  return success();
}

static LogicalResult lowerAttempts(ThreadContext &t, scf::WhileOp loop) {
  auto fresh = scf::WhileOp::create(t.b, TypeRange(), ValueRange());
  t.b.createBlock(&fresh.getBefore());
  if (failed(lowerBlock(t, loop.getBefore().front()))) return failure();
  scf::ConditionOp::create(t.b, t.getScalar(loop.getConditionOp().getCondition()), ValueRange());
  t.b.createBlock(&fresh.getAfter());
  scf::YieldOp::create(t.b);
  return success();
}

LogicalResult lowerSpin(ThreadContext &t, scf::WhileOp loop) {
  {
    OpBuilder::InsertionGuard guard(t.b);
    auto alone = scf::IfOp::create(t.b, isFirstThread(t), /*withElseRegion=*/false);
    t.b.setInsertionPointToStart(alone.thenBlock());
    t.threads.isAlone = true;
    LogicalResult lowered = loop->hasAttr(ttg::spinLockName) ? lowerSpinLock(t, loop) : lowerAttempts(t, loop);
    t.threads.isAlone = false;
    if (failed(lowered)) return failure();
  }
  ctaBarrier(t);
  return success();
}

} // namespace tilewright::gpu
