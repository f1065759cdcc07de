// A tile in another layout. What stays in its thread is renamed; what stays in its warp may go by shuffles; the rest goes through shared
// memory in an order that both sides reach with wide accesses and without bank conflicts:
//     ttg.convert_layout : #rows -> #columns      barrier; st.shared.v4 ...; barrier; ld.shared.v4 ...
#include "gpu/schedule/scratch.h"
#include "gpu/thread/thread_lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult ThreadLowering::lowerConvert(ttg::ConvertLayoutOp op) {
  FailureOr<Parts> results = convertParts(op, get(op.getSrc()), ttg::layoutOf(op.getSrc().getType()), ttg::layoutOf(op.getType()));
  if (failed(results)) return failure();
  set(op.getResult(), std::move(*results));
  return success();
}

FailureOr<Parts> ThreadLowering::convertParts(Operation *op, const Parts &held, const Layout &from, const Layout &to) {
  Type type = held.front().getType(), inMemory = memoryType(type);
  MatrixInstructions matrices{.ldmatrix = true, .stmatrix = target.stmatrix};
  ConversionPlan plan = planConversion(from, to, inMemory.getIntOrFloatBitWidth(), matrices);
  if (plan.kind == Conversion::cluster) return op->emitError("a conversion between the blocks of a cluster is not built for GPUs");
  Parts results;
  if (plan.kind < Conversion::shuffle) {
    for (std::optional<int64_t> reg : sameThreadRegisters(to, from)) {
      if (!reg) return op->emitError("the layouts of this conversion do not fit");
      results.push_back(held[static_cast<size_t>(*reg)]);
    }
    return results;
  }
  Parts stored;
  for (Value value : held)
    stored.push_back(toMemory(value));
  Parts loaded = plan.shuffle ? shuffleParts(stored, *plan.shuffle) : exchangeParts(op, stored, from, to, *plan.scratch);
  for (Value value : loaded)
    results.push_back(fromMemory(value, type));
  return results;
}

/// values[s ^ XOR of masks[bit] over the set bits of this thread's number], for all s.
Parts ThreadLowering::permuteByThread(Parts values, const std::vector<uint32_t> &masks) {
  for (size_t bit = 0; bit < masks.size(); ++bit) {
    if (!masks[bit]) continue;
    Value isSet = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, thread, i32(int64_t(1) << bit)), i32(0));
    Parts moved;
    for (size_t s = 0; s < values.size(); ++s)
      moved.push_back(arith::SelectOp::create(b, isSet, values[s ^ masks[bit]], values[s]));
    values = std::move(moved);
  }
  return values;
}

Parts ThreadLowering::shuffleParts(const Parts &held, const ShufflePlan &plan) {
  Parts sent = permuteByThread(held, plan.sendSelect), got(plan.rounds.size());
  Value from = plan.butterfly ? Value() : xorBases(thread, plan.laneFrom);
  for (const ShufflePlan::Round &round : plan.rounds) {
    Value value = sent[static_cast<size_t>(round.send)];
    if (!round.local) {
      Value lane_ = i32(round.laneXor);
      if (!plan.butterfly && round.laneXor) lane_ = arith::XOrIOp::create(b, from, lane_);
      if (!plan.butterfly && !round.laneXor) lane_ = from;
      ptx::Shuffle kind = plan.butterfly ? ptx::Shuffle::bfly : ptx::Shuffle::idx;
      value = ptx::ShuffleOp::create(b, value.getType(), kind, value, lane_);
    }
    got[static_cast<size_t>(round.receive)] = value;
  }
  return permuteByThread(std::move(got), plan.receiveSelect);
}

Parts ThreadLowering::exchangeParts(Operation *op, const Parts &held, const Layout &from, const Layout &to, const ScratchPlan &plan) {
  Value base = scratch(op);
  ptx::BarrierOp::create(b); // whoever used the room before has read it
  storeTile(base, from, plan.shared, held, plan.storeMatrix.has_value());
  ptx::BarrierOp::create(b);
  return loadTile(base, to, plan.shared, held.front().getType());
}

} // namespace tilewright::gpu
