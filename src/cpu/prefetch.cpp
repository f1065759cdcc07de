// Asking for the next turn's data while this turn computes.
//
//   for row in range(first, rows, step):         the rows of one program do not follow each other in memory, so that no
//     x = load(row)                              hardware knows which one comes next: each begins with the whole way to memory
//     m = max(x)                                 reads x from memory
//     e = exp(x - m)                             reads it again, from the cache, while memory is idle
//       + prefetch(the same place of the next row)
//
// Only there, where a tile is read a second time: a first reading keeps memory busy by itself. What the next turn's address is, is found
// by computing the scalars of the loop's body that it needs once more, for the next value of the loop's variable.

#include "cpu/evaluate.h"
#include "cpu/operations.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

/// The scalars of the loop's body that `tile` is made from, in order; nothing if it is not made from the loop's variable, or from anything
/// whose next value is not known.
static std::optional<llvm::SmallVector<Operation *>> scalarsOfTurn(Value tile, scf::ForOp loop) {
  llvm::SmallVector<Value> work = {tile};
  llvm::SmallPtrSet<Operation *, 16> seen;
  bool depends = false;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    depends |= value == loop.getInductionVar();
    Operation *op = value.getDefiningOp();
    if (!op) {
      if (llvm::is_contained(loop.getRegionIterArgs(), value)) return std::nullopt;
      continue;
    }
    if (op->getBlock() != loop.getBody() || !seen.insert(op).second) continue;
    if (!isMemoryEffectFree(op) || op->getNumRegions() != 0 || op->getNumResults() != 1) return std::nullopt;
    llvm::append_range(work, op->getOperands());
  }
  if (!depends) return std::nullopt;
  llvm::SmallVector<Operation *> scalars;
  for (Operation &op : *loop.getBody())
    if (seen.contains(&op) && !isTile(op.getResult(0))) scalars.push_back(&op);
  return scalars;
}

void prefetchNextTurn(Context &ctx, LoadOp load, Value address) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  if (!loop) return;
  Readings &known = ctx.readings.try_emplace(load, Readings{ctx.currentRoot, 0}).first->second;
  if (known.first == ctx.currentRoot) return;
  if (known.second == 0) known.second = ctx.currentRoot;
  if (known.second != ctx.currentRoot) return;
  std::optional<llvm::SmallVector<Operation *>> needed = scalarsOfTurn(load.getPtr(), loop);
  if (!needed) return;

  // Once for all unrolled bodies. Keys of tiles are longer.
  std::vector<const void *> key = {load.getOperation()};
  Value distance;
  if (!ctx.levels.empty()) distance = ctx.levels.front().memo[key].value;
  Place origin;
  origin.at.assign(shapeOf(load.getResult()).size(), {ctx.zeroIndex, 0});
  if (!distance) {
    OpBuilder::InsertionGuard guard(b);
    if (!ctx.levels.empty() && ctx.levels.front().inner) b.setInsertionPoint(ctx.levels.front().inner);
    auto outer = std::move(ctx.levels);
    auto before = ctx.scalars;
    ctx.levels.clear();
    Value now = evaluateScalar(ctx, load.getPtr(), origin), variable = scalar(ctx, loop.getInductionVar());
    Value following = arith::AddIOp::create(b, variable, scalar(ctx, loop.getStep()));
    ctx.scalars[loop.getInductionVar()] = following;
    for (Operation *op : *needed)
      if (failed(lowerOp(ctx, op))) break;
    distance = arith::SubIOp::create(b, evaluateScalar(ctx, load.getPtr(), origin), now);
    // After the last turn there is nothing to ask for: what lies there would only take bandwidth.
    Value goesOn = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, following, scalar(ctx, loop.getUpperBound()));
    distance = arith::SelectOp::create(b, goesOn, distance, constantIndex(b, 0));
    ctx.scalars = std::move(before);
    ctx.levels = std::move(outer);
    if (!ctx.levels.empty()) ctx.levels.front().memo[key].value = distance;
  }
  Value next = intToPointer(b, arith::AddIOp::create(b, pointerToInt(b, address), distance));
  LLVM::Prefetch::create(b, next, /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

} // namespace tilewright::cpu
