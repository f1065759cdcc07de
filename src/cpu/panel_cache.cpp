// Programs that a worker runs one after another often multiply by the same B: those of one column of C, in grouped
// order, or those of one head in attention. Packing takes an eighth of a product's time, so each iteration's panels
// are kept, together with the scalars that B was made from, and a program packs only where its own scalars differ:
//
//   for k, the iteration of number s:
//     if (scalars of panels[s] != (first column, k, ...))
//       panels[s] = B, packed;  scalars of panels[s] = (first column, k, ...)
//     C += A * panels[s]
//
// Equal scalars mean equal tiles as long as memory does not change, and within one launch it does not: the order of two programs
// is undefined unless an operation of one waits for the other, and a program whose loop precedes all of its stores and atomic
// operations has neither changed memory nor waited for another program when it reads B. Each launch begins with nothing kept.
//
// Panels that are not needed again are better written to the same place in each iteration. So after two programs that have
// missed, only the first iteration's panels are kept, to see whether that changes. (Products of 1024 and 2048 by 64x256x256,
// one thread of a Zen 5: 229 and 218 GFLOP/s without, 253 and 249 with it; by 256x256x256 251 and 240, 257 and 253.)

#include "cpu/panel_cache.h"

#include "cpu/control_flow.h"
#include "cpu/evaluate.h"
#include "cpu/volatile_load.h"
#include "cpu/scratch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static constexpr int64_t line = sizeof(ArenaHead), word = sizeof(ArenaHead::begun);
static constexpr int64_t maxSlots = 64, maxHeaders = 128, maxWords = line / word; // of a header

/// Whether no program has changed memory, or waited for another one, when it reads what the loop loads.
static bool dominatesSideEffects(Context &ctx, scf::ForOp loop) {
  if (loop->getParentOp() != ctx.kernel || !ctx.kernel.getBody().hasOneBlock()) return false;
  for (Operation &op : *loop->getBlock()) {
    if (!onlyReads(&op)) return false;
    if (&op == loop) break;
  }
  return true;
}

/// The scalars that a tile is made from, except those that are the same in the whole launch. False if it is made from anything else.
static bool findScalars(Context &ctx, Value tile, llvm::SmallSetVector<Value, 8> &scalars) {
  Block *entry = &ctx.kernel.getBody().front();
  llvm::DenseSet<Value> seen;
  llvm::SmallVector<Value> work = {tile};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second || matchPattern(value, m_Constant())) continue;
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == entry) continue;
    if (!isTile(value)) {
      scalars.insert(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() != 0) return false;
    llvm::append_range(work, op->getOperands());
  }
  return true;
}

/// How many panels are kept, each of so many iterations; 0: none. All products of a kernel share the worker's part of the caches.
static int64_t slotsOf(Context &ctx, int64_t bytes, int64_t turns) {
  int64_t dots = 0;
  ctx.kernel.walk([&](DotOp) { ++dots; });
  constexpr int64_t most = 8 << 20;
  int64_t budget = std::min(most, std::max(ctx.target.l2Bytes, ctx.target.llcBytes / 2)) / dots;
  int64_t slots = std::min({budget / bytes, maxSlots, maxHeaders / turns});
  return slots < 2 ? 0 : slots;
}

static Value bitsOf(Context &ctx, Value value) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value known = scalar(ctx, value);
  if (isa<PointerType>(value.getType())) return pointerToInt(b, known);
  Type type = known.getType();
  if (isa<FloatType>(type)) known = arith::BitcastOp::create(b, b.getIntegerType(type.getIntOrFloatBitWidth()), known);
  return known.getType().isInteger(64) ? known : Value(arith::ExtUIOp::create(b, b.getI64Type(), known));
}

Value packOnce(Context &ctx, DotOp op, const DotPlan &plan, Value scratch, const DotLimits &limits, llvm::function_ref<void(Value)> pack) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  int64_t turns = plan.turns, bytes = (panelBytes(plan.together()) + line - 1) / line * line;
  int64_t slots = slotsOf(ctx, bytes, turns), kept = slots * turns; // iterations
  llvm::SmallSetVector<Value, 8> scalars;
  std::optional<int64_t> step = loop ? getConstantIntValue(loop.getStep()) : std::nullopt;
  bool isBatch = shapeOf(op.getB()).size() > 2; // whose products would all have one place
  bool isKept =
      loop && slots > 0 && !isBatch && dominatesSideEffects(ctx, loop) && step.value_or(0) > 0 && findScalars(ctx, op.getB(), scalars);
  llvm::SmallVector<Value, maxWords> key = {constantIndex(b, 1)};
  for (Value limit : {limits.columns, limits.length})
    if (limit) key.push_back(limit);
  isKept = isKept && key.size() + scalars.size() <= size_t(maxWords);
  if (!isKept) {
    pack(scratch);
    return scratch;
  }
  // How many programs have missed, a header for each iteration that is kept and one for those that are not, the panels.
  Value headers = allocateCached(ctx, (kept + 2) * line + slots * bytes), panels = pointerAtConstant(b, headers, (kept + 2) * line);
  ctx.panelCacheHeaders.push_back({-ctx.panelCacheBytes, kept + 2});

  for (Value value : scalars)
    key.push_back(bitsOf(ctx, value));

  Type index = b.getI64Type();
  Value number = iterationNumber(ctx, loop), slot = arith::ShRUIOp::create(b, number, constantIndex(b, llvm::Log2_64(turns)));
  auto compare = [&](arith::CmpIPredicate how, Value first, Value second) -> Value { return arith::CmpIOp::create(b, how, first, second); };
  auto choose = [&](Value condition, Value first, Value second) -> Value { return arith::SelectOp::create(b, condition, first, second); };

  Value missed = cpu::load(b, index, headers, word), isFirst = compare(arith::CmpIPredicate::eq, number, constantIndex(b, 0));
  Value isFirstSlot = compare(arith::CmpIPredicate::eq, slot, constantIndex(b, 0));
  Value isWorthIt = arith::OrIOp::create(b, isFirstSlot, compare(arith::CmpIPredicate::slt, missed, constantIndex(b, 2)));
  Value keeps = arith::AndIOp::create(b, isWorthIt, compare(arith::CmpIPredicate::ult, slot, constantIndex(b, slots)));
  Value base = choose(keeps, pointerAt(b, panels, slot, bytes), scratch);
  Value header = pointerAt(b, pointerAtConstant(b, headers, line), choose(keeps, number, constantIndex(b, kept)), line);
  Value isThere = keeps;
  for (auto [i, part] : llvm::enumerate(key)) {
    Value left = cpu::load(b, index, pointerAtConstant(b, header, i * word), word);
    isThere = arith::AndIOp::create(b, isThere, compare(arith::CmpIPredicate::eq, left, part));
  }
  Value counted = choose(isThere, constantIndex(b, 0), arith::AddIOp::create(b, missed, constantIndex(b, 1)));
  cpu::store(b, choose(isFirst, counted, missed), headers, word, false);

  auto branch = scf::IfOp::create(b, TypeRange{}, arith::XOrIOp::create(b, isThere, constantInt(b, b.getI1Type(), 1)), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  pack(base);
  for (auto [i, part] : llvm::enumerate(key))
    cpu::store(b, part, pointerAtConstant(b, header, i * word), word, false);
  return base;
}

void forgetPanels(Context &ctx, Value arena, Value scratch) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value begun = cpu::load(b, b.getI64Type(), arena, word), zero = constantIndex(b, 0);
  auto branch = scf::IfOp::create(b, TypeRange{}, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, begun, zero), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  for (auto [offset, count] : ctx.panelCacheHeaders) {
    Value headers = pointerAtConstant(b, scratch, offset);
    forEach(b, count, 1, 0, {}, [&](Value header) { cpu::store(b, zero, pointerAt(b, headers, header, line), word, false); });
  }
  cpu::store(b, constantIndex(b, 1), arena, word, false);
}

} // namespace tilewright::cpu
