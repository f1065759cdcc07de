#include "gpu/schedule/stage_index.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <cassert>

using namespace mlir;

namespace tilewright::gpu {

Value i32Constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

StageState StageState::next(OpBuilder &b, Location loc) const {
  Value following = arith::AddIOp::create(b, loc, index, i32Constant(b, loc, 1));
  Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, following, i32Constant(b, loc, stages));
  following = arith::SelectOp::create(b, loc, wraps, i32Constant(b, loc, 0), following);
  if (!parity) return {following, {}, stages};
  Value flip = arith::ExtUIOp::create(b, loc, b.getI32Type(), wraps);
  return {following, arith::XOrIOp::create(b, loc, parity, flip), stages};
}

bool StageState::advancesIn(scf::ForOp loop) const {
  auto yielded = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    OpOperand *yields = argument && argument.getOwner() == loop.getBody() ? loop.getTiedLoopYieldedValue(argument) : nullptr;
    return yields ? yields->get() : Value();
  };
  Value following = yielded(index), flipped = yielded(parity);
  auto wrapped = following ? following.getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  auto flip = flipped ? flipped.getDefiningOp<arith::XOrIOp>() : arith::XOrIOp();
  if (!wrapped || !flip) return false;
  auto sum = wrapped.getFalseValue().getDefiningOp<arith::AddIOp>();
  auto wraps = wrapped.getCondition().getDefiningOp<arith::CmpIOp>();
  auto bit = flip.getRhs().getDefiningOp<arith::ExtUIOp>();
  if (!sum || !wraps || !bit) return false;
  auto isNumber = [](Value value, int64_t number) { return getConstantIntValue(value) == number; };
  return sum.getLhs() == index && isNumber(sum.getRhs(), 1) && wraps.getPredicate() == arith::CmpIPredicate::eq && wraps.getLhs() == sum &&
         isNumber(wraps.getRhs(), stages) && isNumber(wrapped.getTrueValue(), 0) && flip.getLhs() == parity && bit.getIn() == wraps;
}

StageState StageState::after(OpBuilder &b, Location loc, Value iterations) const {
  Value total = arith::AddIOp::create(b, loc, index, iterations), around = i32Constant(b, loc, stages);
  if (!parity) return {arith::RemUIOp::create(b, loc, total, around), {}, stages};
  Value flips = arith::AndIOp::create(b, loc, arith::DivUIOp::create(b, loc, total, around), i32Constant(b, loc, 1));
  return {arith::RemUIOp::create(b, loc, total, around), arith::XOrIOp::create(b, loc, parity, flips), stages};
}

Value StageState::indexAfter(OpBuilder &b, Location loc, int64_t iterations) const {
  iterations = (iterations % stages + stages) % stages;
  if (iterations == 0) return index;
  Value sum = b.createOrFold<arith::AddIOp>(loc, index, i32Constant(b, loc, iterations)), limit = i32Constant(b, loc, stages);
  Value wraps = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, sum, limit);
  return b.createOrFold<arith::SelectOp>(loc, wraps, b.createOrFold<arith::SubIOp>(loc, sum, limit), sum);
}

Value StageState::previousParity(OpBuilder &b, Location loc) const {
  assert(parity && "no mbarriers belong to the stages");
  return arith::XOrIOp::create(b, loc, parity, i32Constant(b, loc, 1));
}

ttg::BufferType withDepth(ttg::BufferType type, int64_t depth) {
  return ttg::BufferType::get(type.getContext(), depth, type.getElementType(), type.getLayout());
}

void replaceByStages(OpBuilder &b, ttg::AllocOp alloc, scf::ForOp loop, const StageState &state) {
  Value stages = ttg::AllocOp::create(b, alloc.getLoc(), withDepth(alloc.getType(), state.stages));
  b.setInsertionPointToStart(loop.getBody());
  alloc.getResult().replaceAllUsesWith(ttg::StageOp::create(b, alloc.getLoc(), alloc.getType(), stages, state.index));
  alloc.erase();
}

} // namespace tilewright::gpu
