// See k_blocking.h.
#include "cpu/k_blocking.h"

#include "cpu/amx_tiles.h"
#include "cpu/control_flow.h"
#include "cpu/debug_variables.h"
#include "cpu/evaluate.h"
#include "cpu/lower_volatile_load.h"
#include "cpu/scratch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static constexpr int64_t maxDepthBytes = 1024; // bytes along K: a panel of two AVX-512 vectors fills a 32 KiB L1 cache

/// True if the dot adds to a value that the loop carries, and nothing else reads that value or the result.
static bool isCarriedSum(DotOp dot, scf::ForOp loop) {
  if (!dot.getC().hasOneUse() || !dot.getD().hasOneUse()) return false;
  OpOperand &use = *dot.getD().use_begin();
  return use.getOwner() == loop.getBody()->getTerminator() && loop.getRegionIterArg(use.getOperandNumber()) == dot.getC();
}

/// True if each iteration computes A and does not store it in scratch, where the next iteration would overwrite it.
static bool isComputedInIteration(Context &ctx, Value a, scf::ForOp loop) {
  for (;;) {
    Operation *op = a.getDefiningOp();
    if (!op || op->getBlock() != loop.getBody() || ctx.buffers.contains(a)) return false;
    if (!isa<TransOp>(op)) return true;
    a = op->getOperand(0);
  }
}

int64_t iterationsTogether(Context &ctx, DotOp dot, const DotPlan &plan, const Buffer &c, const DotLimits &limits) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  int64_t bytes = elementBytes(plan.operand);
  if (!loop || shapeOf(dot.getD()).size() != 2 || namesVariables(ctx) || isOfHalves(plan.operand)) return 1;
  if (shapeOf(dot.getA())[1] != plan.k || plan.k % lengthUnit(plan) != 0 || !llvm::isPowerOf2_64(plan.k)) return 1;
  if (limits.mayBeOneRow || limits.mayBeOneColumn || limits.mayLeaveOneRow || limits.mayLeaveOneColumn)
    return 1; // the GEMV path multiplies these alone
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  auto carried = ctx.buffers.find(dot.getC());
  if (!step || *step <= 0 || carried == ctx.buffers.end() || carried->second.base != c.base) return 1;
  if (!isCarriedSum(dot, loop) || !isComputedInIteration(ctx, dot.getA(), loop) || !onlyReads(loop)) return 1;
  int64_t iterations = std::max<int64_t>(1, maxDepthBytes / (plan.k * bytes));
  std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound()), end = getConstantIntValue(loop.getUpperBound());
  if (!begin || !end) return iterations;
  int64_t trips = *begin < *end ? llvm::divideCeil(*end - *begin, *step) : 1;
  return std::min(iterations, int64_t(llvm::PowerOf2Ceil(trips)));
}

BlockedIteration iterationOf(Context &ctx, DotOp dot, const DotPlan &plan) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  Value first = arith::MulIOp::create(b, iterationNumber(ctx, loop), constantIndex(b, plan.k));
  Value within = arith::AndIOp::create(b, first, constantIndex(b, plan.k * plan.iterations - 1));
  Value isFull = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, within, constantIndex(b, plan.k * (plan.iterations - 1)));
  return {first, within, arith::OrIOp::create(b, isFull, isLastIteration(ctx, loop))};
}

void multiplyPendingBlock(Context &ctx, const BlockedIteration &iteration, const DotPlan &plan, const OperandA &a, const DotLimits &limits,
                          llvm::function_ref<void(const BlockRange &)> multiply) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto isSame = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y); };
  auto choose = [&](Value condition, Value x, Value y) -> Value { return arith::SelectOp::create(b, condition, x, y); };
  auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(b, x, y); };

  // The state of the pending block, in scratch.
  enum Word { base, begin, end, rowBytes, words };
  Value state = allocateCached(ctx, 64);
  auto wordOf = [&](int64_t word) { return pointerAtConstant(b, state, 8 * word); };
  Value iterationEnd = arith::AddIOp::create(b, iteration.first, limits.length ? limits.length : constantIndex(b, plan.k));
  Value now[words] = {pointerToInt(b, a.base), iteration.first, iterationEnd, a.rowBytes ? a.rowBytes : ctx.zeroIndex};
  Value pending[words];
  for (int64_t word = 0; word < words; ++word)
    pending[word] = cpu::load(b, b.getI64Type(), wordOf(word), 8);

  Value isEmpty = isSame(iteration.within, ctx.zeroIndex); // then no block is pending
  Value distance = arith::SubIOp::create(b, iteration.first, pending[begin]);
  Value nextBase = arith::AddIOp::create(b, pending[base], arith::MulIOp::create(b, distance, constantIndex(b, a.step)));
  Value isContiguous =
      both(both(isSame(nextBase, now[base]), isSame(pending[end], iteration.first)), isSame(pending[rowBytes], now[rowBytes]));
  Value one = constantInt(b, b.getI1Type(), 1);
  Value extends = both(isContiguous, arith::XOrIOp::create(b, isEmpty, one));
  // The pending block is multiplied without this iteration.
  Value isSeparate = arith::XOrIOp::create(b, arith::OrIOp::create(b, isEmpty, isContiguous), one);
  for (Word word : {base, begin})
    now[word] = choose(extends, pending[word], now[word]);
  for (int64_t word = 0; word < words; ++word)
    cpu::store(b, now[word], wordOf(word), 8, false);

  Value from = choose(isSeparate, constantIndex(b, 0), constantIndex(b, 1)),
        to = choose(iteration.isFlushed, constantIndex(b, 2), constantIndex(b, 1));
  auto loop = scf::ForOp::create(b, from, to, constantIndex(b, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  BlockRange range;
  range.isOld = isSame(loop.getInductionVar(), constantIndex(b, 0));
  auto chosen = [&](Word word) { return choose(range.isOld, pending[word], now[word]); };
  Value first = chosen(begin);
  range.a = {intToPointer(b, chosen(base)), a.rowBytes ? chosen(rowBytes) : Value(), a.step};
  range.within = arith::AndIOp::create(b, first, constantIndex(b, plan.k * plan.iterations - 1));
  range.isFirst = isSame(first, constantIndex(b, 0));
  range.limits = limits; // the rows and columns are those that are stored after the loop
  range.limits.length = arith::SubIOp::create(b, chosen(end), first);
  range.limits.lengthDivisor = limits.length ? 1 : plan.k;
  multiply(range);
}

} // namespace tilewright::cpu
