// Loops and branches carry and yield the scalars of their tiles:
//   before: %r = scf.for iter_args(%x = %a) -> (tensor<256xf32, #l>)          after: %r0, %r1 = scf.for iter_args(%x0 = %a0, %x1 = %a1)
#include "gpu/thread/control_flow.h"

#include "gpu/schedule/program_loop.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/refusal.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult lowerBlock(ThreadContext &t, Block &block) {
  for (Operation &op : block.without_terminator()) {
    t.b.setLoc(op.getLoc());
    if (failed(lowerOp(t, &op))) return failure();
  }
  return success();
}

/// For each value that a loop carries, whether it stays packed in 32-bit words.
static FailureOr<SmallVector<bool>> carriedInWords(scf::ForOp loop) {
  SmallVector<bool> inWords(loop.getNumRegionIterArgs());
  auto packed = loop->getAttrOfType<DenseI64ArrayAttr>(ttg::packedWordsName);
  for (int64_t number : packed ? packed.asArrayRef() : ArrayRef<int64_t>()) {
    bool isCarried = number >= 0 && number < static_cast<int64_t>(inWords.size());
    Type type = isCarried ? loop.getInitArgs()[static_cast<size_t>(number)].getType() : Type();
    int64_t bits = isCarried ? ttg::elementBits(type) : 0;
    if ((bits != 8 && bits != 16) || threadValueCount(type) * bits % 32 != 0)
      return bug(loop, "it does not carry a tile number " + std::to_string(number) + " of whole 32-bit words"), failure();
    inWords[static_cast<size_t>(number)] = true;
  }
  return inWords;
}

static ThreadValues gatherCarried(ThreadContext &t, ValueRange values, ArrayRef<bool> inWords) {
  ThreadValues all;
  for (auto [value, isInWords] : llvm::zip(values, inWords)) {
    ThreadValues parts = t.get(value);
    size_t each = isInWords ? 32 / parts.front().getType().getIntOrFloatBitWidth() : 1;
    for (size_t i = 0; i < parts.size(); i += each)
      all.push_back(isInWords ? packed(t, ValueRange(parts).slice(i, each)) : parts[i]);
  }
  return all;
}

static void scatterCarried(ThreadContext &t, ValueRange values, ArrayRef<bool> inWords, ValueRange scalars) {
  for (auto [value, isInWords] : llvm::zip(values, inWords)) {
    auto count = static_cast<size_t>(threadValueCount(value.getType()));
    ThreadValues parts;
    while (parts.size() < count) {
      if (isInWords)
        llvm::append_range(parts, unpacked(t, scalars.front(), scalarType(getElementTypeOrSelf(value.getType()))));
      else
        parts.push_back(scalars.front());
      scalars = scalars.drop_front();
    }
    t.set(value, std::move(parts));
  }
}

static LogicalResult lowerFor(ThreadContext &t, scf::ForOp loop) {
  if (ttg::ClcProgramOp program = clcProgramOf(loop)) return lowerProgramLoop(t, loop, program);
  FailureOr<SmallVector<bool>> carried = carriedInWords(loop);
  if (failed(carried)) return failure();
  const SmallVector<bool> &inWords = *carried;
  auto fresh = scf::ForOp::create(t.b, t.getScalar(loop.getLowerBound()), t.getScalar(loop.getUpperBound()), t.getScalar(loop.getStep()),
                                  gatherCarried(t, loop.getInitArgs(), inWords));
  fresh.setUnsignedCmp(loop.getUnsignedCmp());
  t.set(loop.getInductionVar(), {fresh.getInductionVar()});
  {
    OpBuilder::InsertionGuard guard(t.b);
    if (!fresh.getBody()->empty()) fresh.getBody()->back().erase();
    t.b.setInsertionPointToEnd(fresh.getBody());
    scatterCarried(t, loop.getRegionIterArgs(), inWords, fresh.getRegionIterArgs());
    if (failed(lowerBlock(t, *loop.getBody()))) return failure();
    scf::YieldOp::create(t.b, gatherCarried(t, loop.getBody()->getTerminator()->getOperands(), inWords));
  }
  scatterCarried(t, loop.getResults(), inWords, fresh.getResults());
  return success();
}

static LogicalResult lowerIf(ThreadContext &t, scf::IfOp branch) {
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes())
    appendTypes(type, types);
  auto fresh = scf::IfOp::create(t.b, types, t.getScalar(branch.getCondition()), /*withElseRegion=*/!branch.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(branch->getRegions(), fresh->getRegions())) {
    if (from.empty()) continue;
    OpBuilder::InsertionGuard guard(t.b);
    if (!to.front().empty()) to.front().back().erase();
    t.b.setInsertionPointToEnd(&to.front());
    if (failed(lowerBlock(t, from.front()))) return failure();
    scf::YieldOp::create(t.b, gather(t, from.front().getTerminator()->getOperands()));
  }
  scatter(t, branch.getResults(), fresh.getResults());
  return success();
}

static LogicalResult lowerWhile(ThreadContext &t, scf::WhileOp loop) {
  if (loop->hasAttr(ttg::spinName)) return lowerSpin(t, loop);
  SmallVector<Type> types, beforeTypes;
  for (Type type : loop.getResultTypes())
    appendTypes(type, types);
  for (Value init : loop.getInits())
    appendTypes(init.getType(), beforeTypes);
  auto fresh = scf::WhileOp::create(t.b, types, gather(t, loop.getInits()));
  auto fill = [&](Region &to, Block &from, ArrayRef<Type> arguments) -> LogicalResult {
    OpBuilder::InsertionGuard guard(t.b);
    Block *block = t.b.createBlock(&to, to.end(), arguments, SmallVector<Location>(arguments.size(), t.b.getLoc()));
    scatter(t, from.getArguments(), block->getArguments());
    if (failed(lowerBlock(t, from))) return failure();
    Operation *end = from.getTerminator();
    if (auto condition = dyn_cast<scf::ConditionOp>(end))
      scf::ConditionOp::create(t.b, t.getScalar(condition.getCondition()), gather(t, condition.getArgs()));
    else
      scf::YieldOp::create(t.b, gather(t, end->getOperands()));
    return success();
  };
  if (failed(fill(fresh.getBefore(), loop.getBefore().front(), beforeTypes)) ||
      failed(fill(fresh.getAfter(), loop.getAfter().front(), types)))
    return failure();
  scatter(t, loop.getResults(), fresh.getResults());
  return success();
}

void addControlFlowLowerings(LoweringTable &table) {
  addLowerings<lowerFor, lowerIf, lowerWhile>(table);
}

} // namespace tilewright::gpu
