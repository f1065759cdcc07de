// Layout conversion. Elements that stay in their thread are renamed, and those that stay in their warp may use shuffles. Other elements
// go through shared memory, in an order with wide accesses and no bank conflicts on both sides:
//     ttg.convert_layout : #rows -> #columns      barrier; st.shared.v4 ...; barrier; ld.shared.v4 ...
#include "gpu/layout/verify_plan.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/exchange/exchange.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/shared.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// values[s ^ XOR of masks[bit] over the set bits of this thread's number], for all s.
static ThreadValues permuteByThread(ThreadContext &t, ThreadValues values, const std::vector<uint32_t> &masks) {
  for (size_t bit = 0; bit < masks.size(); ++bit) {
    if (!masks[bit]) continue;
    Value isSet = arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne,
                                        arith::AndIOp::create(t.b, t.threads.index, t.i32(int64_t(1) << bit)), t.i32(0));
    ThreadValues moved;
    for (size_t s = 0; s < values.size(); ++s)
      moved.push_back(arith::SelectOp::create(t.b, isSet, values[s ^ masks[bit]], values[s]));
    values = std::move(moved);
  }
  return values;
}

static ThreadValues shuffleThreadValues(ThreadContext &t, const ThreadValues &held, const ShufflePlan &plan) {
  ThreadValues sent = permuteByThread(t, held, plan.sendSelect), got(plan.rounds.size());
  Value from = plan.butterfly ? Value() : xorBases(t, t.threads.index, plan.laneFrom);
  for (const ShufflePlan::Round &round : plan.rounds) {
    Value value = sent[static_cast<size_t>(round.send)];
    if (!round.local) {
      Value sender = t.i32(round.laneXor);
      if (!plan.butterfly && round.laneXor) sender = arith::XOrIOp::create(t.b, from, sender);
      if (!plan.butterfly && !round.laneXor) sender = from;
      ptx::Shuffle kind = plan.butterfly ? ptx::Shuffle::bfly : ptx::Shuffle::idx;
      value = ptx::ShuffleOp::create(t.b, value.getType(), kind, value, sender);
    }
    got[static_cast<size_t>(round.receive)] = value;
  }
  return permuteByThread(t, std::move(got), plan.receiveSelect);
}

static FailureOr<ThreadValues> exchangeThreadValues(ThreadContext &t, Operation *op, const ThreadValues &held, const Layout &from,
                                                    const Layout &to, const ScratchPlan &plan) {
  Value base = scratch(t, op);
  ctaBarrier(t); // all threads have read the earlier contents of this scratch memory
  if (failed(storeTile(t, op, base, from, plan.shared, held, plan.storeMatrix.has_value(), Value()))) return failure();
  ctaBarrier(t);
  return loadTile(t, op, base, to, plan.shared, held.front().getType());
}

static FailureOr<ThreadValues> invalidPlan(Operation *op, const std::string &error) {
  return bug(op, "the plan of its layout conversion is invalid: " + error);
}

FailureOr<ThreadValues> convertThreadValues(ThreadContext &t, Operation *op, const ThreadValues &held, const Layout &from,
                                            const Layout &to) {
  Type type = held.front().getType();
  ConversionPlan plan = planConversion(from, to, type, t.kernel.target);
  ThreadValues results;
  if (plan.kind < Conversion::shuffle) {
    std::vector<std::optional<int64_t>> registers = sameThreadRegisters(to, from);
    if (std::optional<std::string> error = verifyRegisters(registers, from, to)) return invalidPlan(op, *error);
    for (std::optional<int64_t> reg : registers)
      results.push_back(held[static_cast<size_t>(*reg)]);
    return results;
  }
  ThreadValues stored;
  for (Value value : held)
    stored.push_back(toMemory(t, value));
  FailureOr<ThreadValues> loaded;
  if (plan.shuffle) {
    if (std::optional<std::string> error = verifyShuffle(*plan.shuffle, from, to)) return invalidPlan(op, *error);
    loaded = shuffleThreadValues(t, stored, *plan.shuffle);
  } else {
    loaded = exchangeThreadValues(t, op, stored, from, to, *plan.scratch);
    if (failed(loaded)) return failure();
  }
  for (Value value : *loaded)
    results.push_back(fromMemory(t, value, type));
  return results;
}

static LogicalResult lowerConvert(ThreadContext &t, ttg::ConvertLayoutOp op) {
  FailureOr<ThreadValues> results =
      convertThreadValues(t, op, t.get(op.getSrc()), ttg::layoutOf(op.getSrc().getType()), ttg::layoutOf(op.getType()));
  if (failed(results)) return failure();
  t.set(op.getResult(), std::move(*results));
  return success();
}

void addConvertLowerings(LoweringTable &table) {
  addLowerings<lowerConvert>(table);
}

} // namespace tilewright::gpu
