// See masked_tail.h.
#include "cpu/masked_tail.h"

#include "cpu/loops.h"
#include "cpu/lower_volatile_load.h"
#include "support/stack.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

/// True if a mask ends along `axis`: one of its terms is `index < bound` there.
static bool endsAlong(Context &ctx, Value mask, int64_t axis) {
  llvm::SmallVector<BoxTerm> terms;
  if (!mask || !ctx.analysis->box(mask, terms)) return false;
  return llvm::any_of(terms, [&](const BoxTerm &term) { return term.dim == axis && !term.lower; });
}

static bool isEqualBeyond(Context &ctx, Value tile, int64_t axis, MaskedTail &tail, llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (!isTile(tile)) return true;
  Stride stride = ctx.analysis->strideOf(tile, axis);
  if (stride.isZero()) return true;
  Operation *op = tile.getDefiningOp();
  if (!op) return false;
  if (!seen.insert(op).second) return true;
  auto load = dyn_cast<LoadOp>(op);
  Value mask = load ? load.getMask() : tile;
  bool isMask = getElementTypeOrSelf(tile).isInteger(1) && endsAlong(ctx, tile, axis);
  if (load && (isVolatileLoad(load) || !endsAlong(ctx, mask, axis))) return false;
  if (load || isMask) {
    if (!llvm::is_contained(tail.masks, mask)) tail.masks.push_back(mask);
    return isMask || !load.getOther() || isEqualBeyond(ctx, load.getOther(), axis, tail, seen);
  }
  if (!isElementwise(op) || stackIsLow()) return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isEqualBeyond(ctx, operand, axis, tail, seen); });
}

std::optional<MaskedTail> maskedTail(Context &ctx, Value tile, int64_t axis) {
  MaskedTail tail;
  llvm::SmallPtrSet<Operation *, 16> seen;
  if (!isEqualBeyond(ctx, tile, axis, tail, seen) || tail.masks.empty()) return std::nullopt;
  return tail;
}

Value beginOfTail(Context &ctx, const MaskedTail &tail, int64_t axis, int64_t size) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value begin;
  for (Value mask : tail.masks) {
    llvm::SmallVector<BoxTerm> terms;
    ctx.analysis->box(mask, terms);
    Value end; // one false term is enough
    for (const BoxTerm &term : terms) {
      if (term.dim != axis || term.lower) continue;
      BoxCount box = boxCount(ctx, term, size);
      Value count = box.noWrap ? Value(arith::SelectOp::create(b, box.noWrap, box.count, constantIndex(b, size))) : box.count;
      end = end ? Value(arith::MinSIOp::create(b, end, count)) : count;
    }
    begin = begin ? Value(arith::MaxSIOp::create(b, begin, end)) : end;
  }
  return begin;
}

} // namespace tilewright::cpu
