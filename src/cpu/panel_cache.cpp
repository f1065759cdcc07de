// Programs that a worker runs one after another often multiply by the same B: programs of one column of C in grouped order, or of one head
// in attention. Packing takes 1/8 of the time of a dot. So the worker caches each iteration's panels with the scalars that B was computed
// from, and packs only if a program's scalars differ:
//
//   for k, the iteration of number s:
//     if (scalars of panels[s] != (first column, k, ...))
//       panels[s] = B, packed;  scalars of panels[s] = (first column, k, ...)
//     C += A * panels[s]
//
// Equal scalars mean equal tiles as long as memory does not change. Within one launch it does not: the order of two programs is undefined
// unless an operation of one waits for the other. A program whose loop precedes all of its stores and atomic operations has neither changed
// memory nor waited for another program when it reads B. Each launch starts with an empty cache.
//
// If panels are not reused, it is better to write each iteration's panels to the same memory. So after two programs that have missed, only
// the first iteration's panels are cached, to detect later hits. (Dots of 1024 and 2048 by 64x256x256, one thread of a Zen 5: 229 and 218
// GFLOP/s without, 253 and 249 with it; by 256x256x256 251 and 240, 257 and 253.)

#include "cpu/panel_cache.h"

#include "cpu/control_flow.h"
#include "cpu/evaluate.h"
#include "cpu/lower_volatile_load.h"
#include "cpu/scratch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

static constexpr int64_t line = sizeof(ArenaHead), word = sizeof(ArenaHead::begun);
static constexpr int64_t maxEntries = 64, maxHeaders = 128, maxWords = line / word; // per header

/// True if no program has changed memory, or waited for another one, when it reads the loads of the loop.
static bool dominatesSideEffects(Context &ctx, scf::ForOp loop) {
  if (loop->getParentOp() != ctx.kernel || !ctx.kernel.getBody().hasOneBlock()) return false;
  for (Operation &op : *loop->getBlock()) {
    if (!onlyReads(&op)) return false;
    if (&op == loop) break;
  }
  return true;
}

/// Finds the scalars that a tile is computed from, except those that are constant during the launch. False if it depends on anything else.
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

/// Returns how many blocks of `iterations` iterations have cached panels; 0: none. All dots of a kernel share the worker's part of the
/// caches.
static int64_t entriesOf(Context &ctx, int64_t bytes, int64_t iterations) {
  int64_t dots = 0;
  ctx.kernel.walk([&](DotOp) { ++dots; });
  constexpr int64_t maxBudget = 8 << 20;
  int64_t budget = std::min(maxBudget, std::max(ctx.target.l2Bytes, ctx.target.llcBytes / 2)) / dots;
  int64_t entries = std::min({budget / bytes, maxEntries, maxHeaders / iterations});
  return entries < 2 ? 0 : entries;
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
  int64_t iterations = plan.iterations, bytes = (panelBytes(plan.together()) + line - 1) / line * line;
  int64_t entries = entriesOf(ctx, bytes, iterations), cachedIterations = entries * iterations;
  llvm::SmallSetVector<Value, 8> scalars;
  std::optional<int64_t> step = loop ? getConstantIntValue(loop.getStep()) : std::nullopt;
  bool isBatch = shapeOf(op.getB()).size() > 2; // all dots of the batch would share one entry
  bool isCached =
      loop && entries > 0 && !isBatch && dominatesSideEffects(ctx, loop) && step.value_or(0) > 0 && findScalars(ctx, op.getB(), scalars);
  llvm::SmallVector<Value, maxWords> key = {constantIndex(b, 1)};
  for (Value limit : {limits.columns, limits.length})
    if (limit) key.push_back(limit);
  isCached = isCached && key.size() + scalars.size() <= size_t(maxWords);
  if (!isCached) {
    pack(scratch);
    return scratch;
  }
  // The cache: the number of programs in a row that missed, a header per cached iteration and one for the rest, the panels.
  Value headers = allocateCached(ctx, (cachedIterations + 2) * line + entries * bytes),
        panels = pointerAtConstant(b, headers, (cachedIterations + 2) * line);
  ctx.panelCacheHeaders.push_back({-ctx.panelCacheBytes, cachedIterations + 2});

  for (Value value : scalars)
    key.push_back(bitsOf(ctx, value));

  Type index = b.getI64Type();
  Value number = iterationNumber(ctx, loop), entryIndex = arith::ShRUIOp::create(b, number, constantIndex(b, llvm::Log2_64(iterations)));
  auto compare = [&](arith::CmpIPredicate how, Value first, Value second) -> Value { return arith::CmpIOp::create(b, how, first, second); };
  auto choose = [&](Value condition, Value first, Value second) -> Value { return arith::SelectOp::create(b, condition, first, second); };

  Value missed = cpu::load(b, index, headers, word), isFirst = compare(arith::CmpIPredicate::eq, number, constantIndex(b, 0));
  Value isFirstEntry = compare(arith::CmpIPredicate::eq, entryIndex, constantIndex(b, 0));
  Value isWorthCaching = arith::OrIOp::create(b, isFirstEntry, compare(arith::CmpIPredicate::slt, missed, constantIndex(b, 2)));
  Value isStored = arith::AndIOp::create(b, isWorthCaching, compare(arith::CmpIPredicate::ult, entryIndex, constantIndex(b, entries)));
  Value base = choose(isStored, pointerAt(b, panels, entryIndex, bytes), scratch);
  Value header = pointerAt(b, pointerAtConstant(b, headers, line), choose(isStored, number, constantIndex(b, cachedIterations)), line);
  Value isHit = isStored;
  for (auto [i, part] : llvm::enumerate(key)) {
    Value stored = cpu::load(b, index, pointerAtConstant(b, header, i * word), word);
    isHit = arith::AndIOp::create(b, isHit, compare(arith::CmpIPredicate::eq, stored, part));
  }
  Value counted = choose(isHit, constantIndex(b, 0), arith::AddIOp::create(b, missed, constantIndex(b, 1)));
  cpu::store(b, choose(isFirst, counted, missed), headers, word, false);

  auto branch = scf::IfOp::create(b, TypeRange{}, arith::XOrIOp::create(b, isHit, constantInt(b, b.getI1Type(), 1)), false);
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
