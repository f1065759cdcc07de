#include "gpu/schedule/stage_index.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

Value i32Constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value stageAround(OpBuilder &b, Location loc, Value stageIndex, int64_t by, int64_t stages) {
  by = (by % stages + stages) % stages;
  if (by == 0) return stageIndex;
  Value sum = b.createOrFold<arith::AddIOp>(loc, stageIndex, i32Constant(b, loc, by)), limit = i32Constant(b, loc, stages);
  Value wraps = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, sum, limit);
  return b.createOrFold<arith::SelectOp>(loc, wraps, b.createOrFold<arith::SubIOp>(loc, sum, limit), sum);
}

/// The stage after one, and whether it is the first one again.
static std::pair<Value, Value> following(OpBuilder &b, Location loc, Value stageIndex, int64_t stages) {
  Value next = arith::AddIOp::create(b, loc, stageIndex, i32Constant(b, loc, 1));
  Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next, i32Constant(b, loc, stages));
  return {arith::SelectOp::create(b, loc, wraps, i32Constant(b, loc, 0), next), wraps};
}

Value nextStage(OpBuilder &b, Location loc, Value stageIndex, int64_t stages) {
  return following(b, loc, stageIndex, stages).first;
}

std::pair<Value, Value> stageAfter(OpBuilder &b, Location loc, Value stageIndex, Value parity, int64_t stages) {
  auto [next, wraps] = following(b, loc, stageIndex, stages);
  Value flip = arith::ExtUIOp::create(b, loc, b.getI32Type(), wraps);
  return {next, arith::XOrIOp::create(b, loc, parity, flip)};
}

ttg::BufferType withDepth(ttg::BufferType type, int64_t depth) {
  return ttg::BufferType::get(type.getContext(), depth, type.getElementType(), type.getLayout());
}

void replaceByStages(OpBuilder &b, ttg::AllocOp alloc, int64_t depth, scf::ForOp loop, Value stageIndex) {
  Value stages = ttg::AllocOp::create(b, alloc.getLoc(), withDepth(alloc.getType(), depth));
  b.setInsertionPointToStart(loop.getBody());
  alloc.getResult().replaceAllUsesWith(ttg::StageOp::create(b, alloc.getLoc(), alloc.getType(), stages, stageIndex));
  alloc.erase();
}

} // namespace tilewright::gpu
