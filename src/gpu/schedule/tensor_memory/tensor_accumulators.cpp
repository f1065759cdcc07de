#include "gpu/schedule/tensor_memory/tensor_accumulators.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/mma_waits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

TensorAccumulators::TensorAccumulators(tt::FuncOp function) {
  function.walk([&](scf::ForOp loop) {
    for (BlockArgument argument : loop.getRegionIterArgs())
      if (isInTensorMemory(argument.getType())) carried.insert(argument);
  });
  // A value leaves the set if one of its uses needs registers; then values that depend on it may leave, too.
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockArgument argument : SmallVector<BlockArgument>(carried.begin(), carried.end()))
      if (!staysInLoop(argument)) changed |= carried.remove(argument);
  }
}

bool TensorAccumulators::contains(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) return carried.contains(argument);
  auto result = cast<OpResult>(value);
  if (isa<ttg::MmaAsyncOp>(result.getOwner())) return true;
  if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(result.getOwner())) return contains(wait.getTiles()[result.getResultNumber()]);
  auto loop = dyn_cast<scf::ForOp>(result.getOwner());
  return loop && carried.contains(loop.getRegionIterArgs()[result.getResultNumber()]);
}

/// Returns the value before waits pass it on.
static Value beforeWaits(Value value) {
  while (auto wait = value.getDefiningOp<ttg::MmaAsyncWaitOp>())
    value = wait.getTiles()[cast<OpResult>(value).getResultNumber()];
  return value;
}

/// Returns the use by which an MMA or a loop takes another value for this result of it; null if it takes none.
static OpOperand *takenFor(Value value) {
  if (auto mma = value.getDefiningOp<ttg::MmaAsyncOp>()) return &mma.getCMutable();
  auto loop = value.getDefiningOp<scf::ForOp>();
  return loop ? loop.getTiedLoopInit(loop.getRegionIterArg(cast<OpResult>(value).getResultNumber())) : nullptr;
}

bool TensorAccumulators::isInPlace(OpOperand &use) const {
  if (!contains(use.get())) return false;
  if (isa<ttg::MmaAsyncWaitOp>(use.getOwner())) return true;
  return maySupersede(use) && countSuperseding(beforeWaits(use.get())) == 1;
}

SmallVector<OpOperand *> TensorAccumulators::readersOf(Value value) const {
  SmallVector<OpOperand *> readers;
  for (OpOperand &use : value.getUses())
    if (!isInPlace(use)) readers.push_back(&use);
  return readers;
}

/// True if something reads the value, or what waits pass on of it.
bool TensorAccumulators::isRead(Value value) const {
  return !readersOf(value).empty() || llvm::any_of(value.getUses(), [&](OpOperand &use) {
    auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(use.getOwner());
    return wait && isRead(wait.getResults()[use.getOperandNumber()]);
  });
}

BlockArgument TensorAccumulators::sumOf(ttg::MmaAsyncOp mma) const {
  OpOperand *before = &mma.getCMutable();
  while (before && isInPlace(*before)) {
    Value value = beforeWaits(before->get());
    if (auto argument = dyn_cast<BlockArgument>(value)) return argument;
    before = takenFor(value);
  }
  return {};
}

BlockArgument TensorAccumulators::rescaledSum(ttg::MmaAsyncOp mma) {
  Value passed = afterWait(mma);
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  bool isYielded = loop && passed && passed.hasOneUse() && *passed.user_begin() == loop.getBody()->getTerminator();
  if (!isYielded) return {};
  BlockArgument sum = loop.getRegionIterArg(passed.use_begin()->getOperandNumber());
  bool isReadBefore = !sum.use_empty() && llvm::all_of(sum.getUsers(), [&](Operation *user) {
    return user->getBlock() == loop.getBody() && user->isBeforeInBlock(mma);
  });
  return isReadBefore ? sum : BlockArgument();
}

/// Returns the number of uses that may supersede the value, also after waits.
int64_t TensorAccumulators::countSuperseding(Value value) const {
  int64_t count = 0;
  for (OpOperand &use : value.getUses()) {
    if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(use.getOwner()))
      count += countSuperseding(wait.getResults()[use.getOperandNumber()]);
    else
      count += maySupersede(use);
  }
  return count;
}

/// True if the value may have a later one in its place after this use. Only one use can have that, and only in the loop that defines the
/// value: in an inner loop, the use would take the result of the previous iteration.
bool TensorAccumulators::maySupersede(OpOperand &use) const {
  Operation *user = use.getOwner(), *from = use.get().getDefiningOp();
  auto loopAround = [](Operation *op) { return op->getParentOfType<LoopLikeOpInterface>().getOperation(); };
  Operation *defining = from ? loopAround(from) : cast<BlockArgument>(use.get()).getOwner()->getParentOp();
  if (defining != loopAround(user)) return false;
  if (auto mma = dyn_cast<ttg::MmaAsyncOp>(user)) return use.get() == mma.getC();
  if (auto loop = dyn_cast<scf::ForOp>(user)) {
    BlockArgument argument = loop.getTiedLoopRegionIterArg(&use);
    return argument && carried.contains(argument);
  }
  auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
  return isa<scf::YieldOp>(user) && loop && carried.contains(loop.getRegionIterArg(use.getOperandNumber()));
}

/// True if the value is the carried one after MMAs, waits and inner loops, each of which has taken the one before in its place.
bool TensorAccumulators::comesFrom(Value value, BlockArgument argument) const {
  while ((value = beforeWaits(value)) != argument) {
    OpOperand *before = takenFor(value);
    if (!before || !isInPlace(*before)) return false;
    value = before->get();
  }
  return true;
}

bool TensorAccumulators::staysInLoop(BlockArgument argument) const {
  auto loop = cast<scf::ForOp>(argument.getOwner()->getParentOp());
  OpOperand *yielded = loop.getTiedLoopYieldedValue(argument);
  return yielded->get() != argument && isInPlace(*yielded) && comesFrom(yielded->get(), argument) &&
         llvm::all_of(argument.getUses(), [&](OpOperand &use) { return isInPlace(use); });
}

unsigned numberOf(BlockArgument carried) {
  return carried.getArgNumber() - cast<scf::ForOp>(carried.getOwner()->getParentOp()).getNumInductionVars();
}

Value sumOrInit(OpBuilder &b, scf::ForOp loop, unsigned number, Value sum) {
  auto type = cast<RankedTensorType>(sum.getType());
  Value runs = LoopIterations(loop).existsIteration(b, 0);
  Value mask = tt::SplatOp::create(b, loop.getLoc(), RankedTensorType::get(type.getShape(), b.getI1Type(), type.getEncoding()), runs);
  return arith::SelectOp::create(b, loop.getLoc(), mask, sum, loop.getInitArgs()[number]);
}

} // namespace tilewright::gpu
