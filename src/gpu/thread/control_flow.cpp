// Loops and branches carry and yield the scalars of their tiles:
//   before: %r = scf.for iter_args(%x = %a) -> (tensor<256xf32, #l>)          after: %r0, %r1 = scf.for iter_args(%x0 = %a0, %x1 = %a1)
#include "gpu/thread/control_flow.h"

#include "gpu/schedule/program_loop.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory.h"
#include "gpu/thread/shared.h"

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

LogicalResult lowerPart(ThreadContext &t, Block &block) {
  if (failed(lowerBlock(t, block))) return failure();
  waitAtBarrier(t);
  return success();
}

/// For each value that a loop carries, whether it stays packed in 32-bit words: small elements that are loaded for a later iteration in
/// such words.
static SmallVector<bool> carriedInWords(ThreadContext &t, scf::ForOp loop) {
  return llvm::map_to_vector(loop.getYieldedValues(), [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value); // a value loaded several iterations ahead
    if (argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
      value = loop.getTiedLoopYieldedValue(argument)->get();
    auto load = value.getDefiningOp<tt::LoadOp>();
    if (!load || !isa<RankedTensorType>(value.getType())) return false;
    auto width = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
    Type element = t.scalarType(getElementTypeOrSelf(value.getType()));
    int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
    return (bits == 8 || bits == 16) && width && width.getInt() * bits % 32 == 0 && t.threadValueCount(value.getType()) * bits % 32 == 0;
  });
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
    auto count = static_cast<size_t>(t.threadValueCount(value.getType()));
    ThreadValues parts;
    while (parts.size() < count) {
      if (isInWords)
        llvm::append_range(parts, unpacked(t, scalars.front(), t.scalarType(getElementTypeOrSelf(value.getType()))));
      else
        parts.push_back(scalars.front());
      scalars = scalars.drop_front();
    }
    t.set(value, std::move(parts));
  }
}

static LogicalResult lowerFor(ThreadContext &t, scf::ForOp loop) {
  if (ttg::ClcProgramOp program = clcProgramOf(loop)) return lowerProgramLoop(t, loop, program);
  waitAtBarrier(t);
  AccessLog::Mark before = t.sinceBarrier.mark();
  expectIteration(t, loop);
  SmallVector<bool> inWords = carriedInWords(t, loop);
  auto fresh = scf::ForOp::create(t.b, t.getScalar(loop.getLowerBound()), t.getScalar(loop.getUpperBound()), t.getScalar(loop.getStep()),
                                  gatherCarried(t, loop.getInitArgs(), inWords));
  fresh.setUnsignedCmp(loop.getUnsignedCmp());
  t.set(loop.getInductionVar(), {fresh.getInductionVar()});
  {
    OpBuilder::InsertionGuard guard(t.b);
    if (!fresh.getBody()->empty()) fresh.getBody()->back().erase();
    t.b.setInsertionPointToEnd(fresh.getBody());
    scatterCarried(t, loop.getRegionIterArgs(), inWords, fresh.getRegionIterArgs());
    if (failed(lowerPart(t, *loop.getBody()))) return failure();
    scf::YieldOp::create(t.b, gatherCarried(t, loop.getBody()->getTerminator()->getOperands(), inWords));
  }
  t.sinceBarrier.add(t.sinceBarrier.takeSince(before)); // added to the accesses before the loop, which may have no iteration
  scatterCarried(t, loop.getResults(), inWords, fresh.getResults());
  return success();
}

static LogicalResult lowerIf(ThreadContext &t, scf::IfOp branch) {
  waitAtBarrier(t);
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes())
    t.appendTypes(type, types);
  auto fresh = scf::IfOp::create(t.b, types, t.getScalar(branch.getCondition()), /*withElseRegion=*/!branch.getElseRegion().empty());
  AccessLog::Mark before = t.sinceBarrier.mark();
  SmallVector<GlobalAccess> added;
  for (auto [from, to] : llvm::zip(branch->getRegions(), fresh->getRegions())) {
    if (from.empty()) continue;
    OpBuilder::InsertionGuard guard(t.b);
    if (!to.front().empty()) to.front().back().erase();
    t.b.setInsertionPointToEnd(&to.front());
    if (failed(lowerPart(t, from.front()))) return failure();
    scf::YieldOp::create(t.b, t.gather(from.front().getTerminator()->getOperands()));
    llvm::append_range(added, t.sinceBarrier.takeSince(before));
  }
  // After the branch, either region may have run, or none.
  t.sinceBarrier.add(added);
  t.scatter(branch.getResults(), fresh.getResults());
  return success();
}

static LogicalResult lowerWhile(ThreadContext &t, scf::WhileOp loop) {
  waitAtBarrier(t);
  if (Operation *attempt = triedBy(loop); attempt && t.config.getCtas() == 1) return lowerSpin(t, loop, attempt);
  AccessLog::Mark before = t.sinceBarrier.mark();
  expectIteration(t, loop);
  SmallVector<Type> types, beforeTypes;
  for (Type type : loop.getResultTypes())
    t.appendTypes(type, types);
  for (Value init : loop.getInits())
    t.appendTypes(init.getType(), beforeTypes);
  auto fresh = scf::WhileOp::create(t.b, types, t.gather(loop.getInits()));
  auto fill = [&](Region &to, Block &from, ArrayRef<Type> arguments) -> LogicalResult {
    OpBuilder::InsertionGuard guard(t.b);
    Block *block = t.b.createBlock(&to, to.end(), arguments, SmallVector<Location>(arguments.size(), t.b.getLoc()));
    t.scatter(from.getArguments(), block->getArguments());
    if (failed(lowerPart(t, from))) return failure();
    Operation *end = from.getTerminator();
    if (auto condition = dyn_cast<scf::ConditionOp>(end))
      scf::ConditionOp::create(t.b, t.getScalar(condition.getCondition()), t.gather(condition.getArgs()));
    else
      scf::YieldOp::create(t.b, t.gather(end->getOperands()));
    return success();
  };
  if (failed(fill(fresh.getBefore(), loop.getBefore().front(), beforeTypes)) ||
      failed(fill(fresh.getAfter(), loop.getAfter().front(), types)))
    return failure();
  t.sinceBarrier.add(t.sinceBarrier.takeSince(before)); // added to the accesses before the loop, which may have no iteration
  t.scatter(loop.getResults(), fresh.getResults());
  return success();
}

void addControlFlowLowerings(LoweringTable &table) {
  addLowerings<lowerFor, lowerIf, lowerWhile>(table);
}

} // namespace tilewright::gpu
