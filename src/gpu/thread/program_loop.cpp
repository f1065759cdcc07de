// A program loop in one thread. Its condition is the answer to a request that is made an iteration before:
//   before: scf.for %i { %x, %y, %z = ttg.clc_program %i {asks}    A }
//   after:  scf.while %i = 0, %x, %y, %z = block ids, true { condition }
//           do { wait: response %i - 4 is read    clc_try_cancel    A    wait: response %i    clc_query    arrive: it is read }
// All warps of the CTA, and of its cluster, read the same response, so all of them execute the same programs. The first CTA of a cluster
// asks, and all get the response. So only its threads wait until all warps have read a response, and the warps arrive at its barriers.
#include "gpu/schedule/program_loop.h"
#include "gpu/machine/cluster_rank.h"
#include "gpu/machine/mbarrier_scope.h"
#include "gpu/thread/control_flow.h"
#include "gpu/thread/lowering_table.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The response of an iteration.
struct Response {
  Value address, full, empty, parity;
};

} // namespace

static Response responseOf(ThreadContext &t, ttg::ClcProgramOp op, Value iteration) {
  Value stage = arith::AndIOp::create(t.b, iteration, t.i32(clcStages - 1));
  Value round = arith::ShRUIOp::create(t.b, iteration, t.i32(llvm::Log2_64(clcStages)));
  auto at = [&](Value base, int64_t bytes) -> Value {
    return arith::AddIOp::create(t.b, t.getScalar(base), arith::MulIOp::create(t.b, stage, t.i32(bytes)));
  };
  return {at(op.getResponses(), clcResponseBytes), at(op.getFull(), mbarrierBytes), at(op.getEmpty(), mbarrierBytes),
          arith::AndIOp::create(t.b, round, t.i32(1))};
}

/// In a cluster: true in the first CTA. Null without one.
static Value isFirstOfCluster(ThreadContext &t) {
  return t.kernel.config.getCtas() == 1 ? Value() : isFirstCta(t.b, t.b.getLoc());
}

/// Waits until all warps of the cluster have read a response. The first CTA does.
static void waitUntilRead(ThreadContext &t, Value isFirst, Value empty, Value parity) {
  OpBuilder::InsertionGuard guard(t.b);
  ptx::Scope scope = ptx::Scope::cta;
  if (isFirst) {
    t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isFirst, /*withElseRegion=*/false).thenBlock());
    scope = ptx::scopeAcrossCtas(t.kernel.target);
  }
  ptx::MbarrierWaitOp::create(t.b, empty, parity, scope);
}

/// One thread asks for a program, once all warps have read the response that was there.
static void ask(ThreadContext &t, const Response &response) {
  Value isFirst = isFirstOfCluster(t);
  waitUntilRead(t, isFirst, response.empty, arith::XOrIOp::create(t.b, response.parity, t.i32(1)));
  Value asks = isFirstThread(t);
  ptx::MbarrierExpectOp::create(t.b, response.full, clcResponseBytes, asks);
  ptx::ClcTryCancelOp::create(t.b, response.address, response.full, logicalAnd(t, asks, isFirst), /*multicast=*/bool(isFirst));
}

/// Reads a response: whether there is another program, and its ids.
static SmallVector<Value> read(ThreadContext &t, const Response &response) {
  ptx::MbarrierWaitOp::create(t.b, response.full, response.parity);
  auto query = ptx::ClcQueryOp::create(t.b, response.address);
  SmallVector<Value> next{query.getX(), query.getY(), query.getZ(), query.getCanceled()};
  if (t.kernel.config.getCtas() != 1) next[0] = arith::DivUIOp::create(t.b, next[0], t.i32(t.kernel.config.getCtas()));
  ptx::FenceAsyncOp::create(t.b); // before the next response comes through the async proxy
  ptx::WarpBarrierOp::create(t.b);
  Value isFirstLane = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, t.threads.lane, t.i32(0));
  bool isCluster = t.kernel.config.getCtas() != 1;
  arriveAt(t, response.empty, isFirstLane, isCluster, /*toFirst=*/isCluster);
  return next;
}

LogicalResult lowerProgramLoop(ThreadContext &t, scf::ForOp loop, ttg::ClcProgramOp op) {
  SmallVector<Value> inits{t.i32(0)};
  for (int64_t axis = 0; axis < 3; ++axis)
    inits.push_back(programId(t, axis));
  inits.push_back(arith::ConstantOp::create(t.b, t.b.getBoolAttr(true)));
  size_t own = inits.size();
  llvm::append_range(inits, gather(t, loop.getInitArgs()));
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Location> locations(types.size(), t.b.getLoc());
  auto fresh = scf::WhileOp::create(t.b, types, inits);
  {
    OpBuilder::InsertionGuard guard(t.b);
    Block *condition = t.b.createBlock(&fresh.getBefore(), {}, types, locations);
    scf::ConditionOp::create(t.b, condition->getArgument(static_cast<unsigned>(own) - 1), condition->getArguments());
    Block *body = t.b.createBlock(&fresh.getAfter(), {}, types, locations);
    ValueRange arguments = body->getArguments();
    t.set(loop.getInductionVar(), {arguments[0]});
    t.program = {arguments[1], arguments[2], arguments[3]};
    scatter(t, loop.getRegionIterArgs(), arguments.drop_front(own));
    Response response = responseOf(t, op, arguments[0]);
    if (op.getAsks()) ask(t, response);
    if (failed(lowerBlock(t, *loop.getBody()))) return failure();
    SmallVector<Value> next{arith::AddIOp::create(t.b, arguments[0], t.i32(1))};
    llvm::append_range(next, read(t, response));
    llvm::append_range(next, gather(t, loop.getBody()->getTerminator()->getOperands()));
    scf::YieldOp::create(t.b, next);
    t.program = {};
  }
  scatter(t, loop.getResults(), fresh.getResults().drop_front(own));
  if (!op.getAsks() || t.kernel.config.getCtas() == 1) return success();
  // Other CTAs arrive at the barriers of the first one: it must not end before.
  Response last = responseOf(t, op, arith::SubIOp::create(t.b, fresh.getResult(0), t.i32(1)));
  waitUntilRead(t, isFirstOfCluster(t), last.empty, last.parity);
  return success();
}

static LogicalResult lowerClcProgram(ThreadContext &t, ttg::ClcProgramOp op) {
  for (auto [result, id] : llvm::zip(op.getResults(), t.program))
    t.set(result, {id});
  return success();
}

void addProgramLoopLowerings(LoweringTable &table) {
  addLowerings<lowerClcProgram>(table);
}

} // namespace tilewright::gpu
