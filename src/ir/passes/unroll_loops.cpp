// Unrolls loops whose author requests it (tl.range's loop_unroll_factor).
//   before: scf.for %i = %low to %high step %step { BODY(%i) } {tt.loop_unroll_factor = 2}
//   after:  scf.for %i = %low to %middle step 2 * %step { BODY(%i); BODY(%i + %step) }
//           scf.for %i = %middle to %high step %step { BODY(%i) } {tt.num_stages = 1}
// %middle is the end of the last whole group of iterations. A loop without iterations may have bounds in any order, and the difference of
// the bounds may overflow as a signed number. So the trip count is unsigned, and zero if there are no iterations. MLIR's scf unrolling
// assumes ordered bounds. If %middle would overflow its type, the second loop handles one more group. If 2 * %step would overflow, it
// handles all iterations.
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tilewright;

namespace {

constexpr int64_t maxOperations = 262144; // in all copies of a body

/// Returns the end of the last whole group of `factor` iterations.
Value endOfGroups(ImplicitLocOpBuilder &b, scf::ForOp loop, int64_t factor) {
  Type type = loop.getStep().getType();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, b.getIntegerAttr(type, value)); };
  Value low = loop.getLowerBound(), high = loop.getUpperBound(), one = constant(1);
  auto before = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value runs = b.createOrFold<arith::CmpIOp>(before, low, high);
  Value last = b.createOrFold<arith::SubIOp>(b.createOrFold<arith::SubIOp>(high, low), one);
  Value count = b.createOrFold<arith::AddIOp>(b.createOrFold<arith::DivUIOp>(last, loop.getStep()), one);
  count = b.createOrFold<arith::SelectOp>(runs, count, constant(0));
  Value whole = b.createOrFold<arith::SubIOp>(count, b.createOrFold<arith::RemUIOp>(count, constant(factor)));
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  int64_t longest = llvm::APInt::getSignedMaxValue(bits).getSExtValue() / factor;
  Value fits = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ule, loop.getStep(), constant(longest));
  whole = b.createOrFold<arith::SelectOp>(fits, whole, constant(0));
  Value end = b.createOrFold<arith::AddIOp>(low, b.createOrFold<arith::MulIOp>(whole, loop.getStep()));
  // The last group starts at a number of the type. Its end may be beyond.
  Value group = b.createOrFold<arith::MulIOp>(loop.getStep(), constant(factor));
  Value start = b.createOrFold<arith::SubIOp>(end, group);
  llvm::APInt largest = loop.getUnsignedCmp() ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits);
  Value left = b.createOrFold<arith::SubIOp>(constant(largest.getSExtValue()), start);
  Value isBeyond = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, left, group);
  Value isAny = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, whole, constant(0));
  return b.createOrFold<arith::SelectOp>(b.createOrFold<arith::AndIOp>(isAny, isBeyond), start, end);
}

/// Appends `factor` - 1 copies of the body to it. Each copy uses the values that the previous copy would have yielded.
void repeatBody(scf::ForOp loop, Value step, int64_t factor) {
  Block *body = loop.getBody();
  Operation *yield = body->getTerminator();
  ImplicitLocOpBuilder b(loop.getLoc(), yield);
  SmallVector<Operation *> once;
  for (Operation &op : body->without_terminator())
    once.push_back(&op);
  SmallVector<Value> ends(yield->getOperands());
  Value index = loop.getInductionVar();
  for (int64_t copy = 1; copy < factor; ++copy) {
    IRMapping mapping;
    index = b.createOrFold<arith::AddIOp>(index, step);
    mapping.map(loop.getInductionVar(), index);
    mapping.map(loop.getRegionIterArgs(), ends);
    for (Operation *op : once)
      b.clone(*op, mapping);
    for (auto [end, first] : llvm::zip(ends, yield->getOperands()))
      end = mapping.lookupOrDefault(first);
  }
  yield->setOperands(ends);
}

LogicalResult unroll(scf::ForOp loop, int64_t factor) {
  int64_t operations = 0;
  loop.getBody()->walk([&](Operation *) { ++operations; });
  if (factor > maxOperations / std::max<int64_t>(operations, 1))
    return refuse(loop, Diag::kernelTooLarge, {std::to_string(maxOperations), "this loop is unrolled"});
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value step = loop.getStep();
  Value middle = endOfGroups(b, loop, factor);
  b.setInsertionPointAfter(loop);
  auto rest = cast<scf::ForOp>(b.clone(*loop));
  loop.replaceAllUsesWith(rest.getResults());
  rest.getInitArgsMutable().assign(loop.getResults());
  rest.setLowerBound(middle);
  rest->setAttr(tt::numStagesName, b.getI32IntegerAttr(1));
  repeatBody(loop, step, factor);
  b.setInsertionPoint(loop);
  Value steps = arith::ConstantOp::create(b, b.getIntegerAttr(step.getType(), factor));
  loop.setStep(b.createOrFold<arith::MulIOp>(step, steps));
  loop.setUpperBound(middle);
  return success();
}

} // namespace

LogicalResult tilewright::unrollLoops(ModuleOp module) {
  SmallVector<std::pair<scf::ForOp, int64_t>> asked;
  module.walk([&](scf::ForOp loop) { // inner loops first
    auto factor = dyn_cast_or_null<IntegerAttr>(loop->removeAttr(tt::unrollFactorName));
    if (factor && factor.getInt() > 1) asked.push_back({loop, factor.getInt()});
  });
  for (auto [loop, factor] : asked)
    if (failed(unroll(loop, factor))) return failure();
  return success();
}
