// Loops of scaled dots that run in fp16 first: see scaled_dots.h.
#include "ir/passes/scaled_dots.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::scaled_dots;

namespace {

/// True if a value depends on results of `loop`, which is in the persistent loop `tiles`.
bool dependsOn(Value value, scf::ForOp loop, scf::ForOp tiles) {
  return tt::dependsOn(value, [&](Value source) {
    Operation *op = source.getDefiningOp();
    if (!op) return source.getParentBlock() == tiles.getBody() ? tt::Search::follow : tt::Search::skip;
    if (!tiles->isProperAncestor(op)) return tt::Search::skip;
    return op->getNumRegions() != 0 ? tt::Search::found : tt::Search::follow; // regions are not analyzed
  });
}

/// True if the address or the mask of a load may depend on the dot of its loop. In fp16, the dot may be infinite where it is a number in
/// bf16, so the address may be outside of the memory.
bool dependsOnDot(tt::LoadOp load, tt::DotScaledOp dot, scf::ForOp loop) {
  SmallVector<Value> values{load.getPtr()};
  if (load.getMask()) values.push_back(load.getMask());
  return tt::dependsOn(values, [&](Value source) {
    Operation *from = source.getDefiningOp();
    if (from == dot.getOperation()) return tt::Search::found;
    bool isInside = from ? loop->isProperAncestor(from) : source.getParentBlock() == loop.getBody();
    return isInside ? tt::Search::follow : tt::Search::skip;
  });
}

/// Returns the persistent loop around such a loop if it is to run twice as a whole, or null. It must not store to memory that it loads. The
/// addresses of its accesses, and what it carries, must not depend on the dots.
scf::ForOp repeatableTiles(tt::DotScaledOp op, scf::ForOp loop, const Assumptions &assumptions) {
  constexpr int64_t minElements = 256 * 128; // of a tile whose operands a separate warpgroup dequantizes
  auto tiles = dyn_cast<scf::ForOp>(loop->getParentOp());
  if (!assumptions.noAliasGuard || !tiles || tiles.getUnsignedCmp() || !isa<tt::FuncOp>(tiles->getParentOp())) return {};
  if (leftOf(op).outer() * rightOf(op).outer() < minElements) return {};
  SmallVector<tt::LoadOp> loads;
  SmallVector<tt::StoreOp> stores;
  std::vector<LaunchGuard> guards;
  auto isOfDots = [&](Value value) { return value && dependsOn(value, loop, tiles); };
  if (llvm::any_of(tiles.getYieldedValues(), isOfDots)) return {};
  for (Operation &each : tiles.getBody()->without_terminator()) {
    if (&each == loop) continue;
    auto load = dyn_cast<tt::LoadOp>(each);
    auto store = dyn_cast<tt::StoreOp>(each);
    if (load && !tt::isVolatileLoad(load) && !isOfDots(load.getPtr()) && !isOfDots(load.getMask()))
      loads.push_back(load);
    else if (store)
      stores.push_back(store);
    else if (!isMemoryEffectFree(&each))
      return {};
  }
  llvm::append_range(loads, loop.getBody()->getOps<tt::LoadOp>());
  for (tt::StoreOp store : stores) {
    if (isOfDots(store.getPtr()) || isOfDots(store.getMask())) return {};
    for (tt::LoadOp load : loads) {
      std::optional<LaunchGuard> guard = assumptions.noAliasGuard(load.getPtr(), store.getPtr());
      if (!guard) return {};
      guards.push_back(*guard);
    }
  }
  assumptions.relyOn(cast<tt::FuncOp>(tiles->getParentOp()), guards);
  return tiles;
}

Value isAbove(ImplicitLocOpBuilder &b, Value tile, int64_t bound) {
  Type word = b.getI32Type();
  auto type = cast<RankedTensorType>(tile.getType());
  Value limit = arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(b.getI32IntegerAttr(static_cast<int32_t>(bound)))));
  Value above = arith::ExtUIOp::create(b, type, arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, tile, limit));
  Value row = tt::ReshapeOp::create(b, RankedTensorType::get({type.getNumElements()}, word), above, false, false);
  auto largest = tt::ReduceOp::create(b, ValueRange{row}, 0);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&largest.getCombineOp(), {}, {word, word}, {b.getLoc(), b.getLoc()});
    Value larger = arith::MaxUIOp::create(b, block->getArgument(0), block->getArgument(1));
    tt::ReduceReturnOp::create(b, ValueRange{larger});
  }
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, largest.getResult()[0], zero);
}

/// Returns the same loop in fp16, which also carries the largest exponents. `above`: their initial values.
scf::ForOp loopInHalf(scf::ForOp loop, ValueRange above, UnpackE2m1 unpackE2m1) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  SmallVector<Value> inits(loop.getInitArgs());
  llvm::append_range(inits, above);
  auto fast = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  fast->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  fast.setUnsignedCmp(loop.getUnsignedCmp());
  IRMapping map;
  map.map(loop.getInductionVar(), fast.getInductionVar());
  size_t results = loop.getNumResults();
  for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), fast.getRegionIterArgs().take_front(results)))
    map.map(from, to);
  b.setInsertionPointToStart(fast.getBody());
  tt::DotScaledOp product;
  for (Operation &each : loop.getBody()->without_terminator())
    if (auto copy = dyn_cast<tt::DotScaledOp>(b.clone(each, map))) product = copy;
  HalfOperands operands = inHalf(product, unpackE2m1);
  b.setInsertionPointToEnd(fast.getBody());
  SmallVector<Value> yielded = llvm::map_to_vector(loop.getYieldedValues(), [&](Value value) { return map.lookupOrDefault(value); });
  for (auto [carried, exponents] : llvm::zip(fast.getRegionIterArgs().drop_front(results), operands.exponents))
    yielded.push_back(arith::MaxUIOp::create(b, carried, exponents));
  scf::YieldOp::create(b, yielded);
  b.setInsertionPoint(product);
  product.replaceAllUsesWith(
      tt::DotOp::create(b, product.getType(), operands.left, operands.right, product.getC(), tt::InputPrecision::IEEE, 0).getResult());
  product.erase();
  return fast;
}

/// Returns the persistent loop with its inner loop in fp16. It carries the largest exponents from tile to tile.
scf::ForOp tilesInHalf(scf::ForOp tiles, scf::ForOp loop, ValueRange above, UnpackE2m1 unpackE2m1) {
  IRRewriter rewriter(tiles.getContext());
  rewriter.setInsertionPoint(tiles);
  auto keep = [](OpBuilder &, Location, ArrayRef<BlockArgument> carried) { return SmallVector<Value>(carried.begin(), carried.end()); };
  DictionaryAttr attributes = tiles->getDiscardableAttrDictionary();
  auto fresh = cast<scf::ForOp>(*cast<LoopLikeOpInterface>(*tiles).replaceWithAdditionalYields(rewriter, above, false, keep));
  fresh->setDiscardableAttrs(attributes);
  scf::ForOp fast = loopInHalf(loop, fresh.getRegionIterArgs().take_back(above.size()), unpackE2m1);
  ValueRange results = fast.getResults();
  loop.replaceAllUsesWith(results.drop_back(above.size()));
  loop.erase();
  Operation *yield = fresh.getBody()->getTerminator();
  yield->setOperands(yield->getNumOperands() - static_cast<unsigned>(above.size()), static_cast<unsigned>(above.size()),
                     results.take_back(above.size()));
  return fresh;
}

} // namespace

scf::ForOp scaled_dots::repeatableLoop(tt::DotScaledOp op) {
  constexpr int64_t minRows = 64;
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  tt::ScaledOperand left = leftOf(op), right = rightOf(op);
  if (!loop || loop.getUnsignedCmp() || left.rank() != 2 || left.outer() < minRows || right.outer() < minRows) return {};
  if (!problemOf(left, right, op.getC().getType()).empty() || (!hasExponents(left) && !hasExponents(right))) return {};
  for (const tt::ScaledOperand &x : {left, right}) {
    if (x.format != tt::ScaleDotElemType::E4M3 && x.format != tt::ScaleDotElemType::E2M1) return {};
    if (x.scale && !hasExponents(x)) return {};
  }
  int64_t dots = 0;
  for (Operation &each : loop.getBody()->without_terminator()) {
    auto load = dyn_cast<tt::LoadOp>(each);
    dots += isa<tt::DotScaledOp>(each);
    bool isRepeatable = load && !tt::isVolatileLoad(load) && !dependsOnDot(load, op, loop);
    if (each.getNumRegions() != 0 || !(isMemoryEffectFree(&each) || isRepeatable)) return {};
  }
  return dots == 1 ? loop : scf::ForOp();
}

void scaled_dots::computeInHalfFirst(tt::DotScaledOp op, scf::ForOp loop, UnpackE2m1 unpackE2m1, const Assumptions &assumptions) {
  scf::ForOp tiles = repeatableTiles(op, loop, assumptions), whole = tiles ? tiles : loop;
  ImplicitLocOpBuilder b(whole.getLoc(), whole);
  SmallVector<Value> inits;
  SmallVector<int64_t> limits;
  for (const tt::ScaledOperand &x : {leftOf(op), rightOf(op)}) {
    if (!hasExponents(x)) continue;
    auto type = RankedTensorType::get(cast<RankedTensorType>(x.scale.getType()).getShape(), b.getI32Type());
    inits.push_back(arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(b.getI32IntegerAttr(0)))));
    limits.push_back(maxExponentRange(x));
  }
  scf::ForOp fast, slow = loop;
  if (tiles) {
    slow = tiles.clone();
    slow.walk([&](tt::StoreOp store) { store->setAttr(tt::overwritesName, b.getUnitAttr()); });
    whole = fast = tilesInHalf(tiles, loop, inits, unpackE2m1);
  } else {
    fast = loopInHalf(loop, inits, unpackE2m1);
  }
  size_t results = slow.getNumResults();
  b.setInsertionPointAfter(whole);
  Value again;
  for (auto [above, limit] : llvm::zip(fast.getResults().drop_front(results), limits)) {
    Value some = isAbove(b, above, limit);
    again = again ? Value(arith::OrIOp::create(b, again, some)) : some;
  }
  auto branch = scf::IfOp::create(b, slow.getResultTypes(), again, /*withElseRegion=*/results != 0);
  for (auto [result, chosen] : llvm::zip(tiles ? fast.getResults().take_front(results) : loop.getResults(), branch.getResults()))
    result.replaceAllUsesWith(chosen);
  if (results != 0) {
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, fast.getResults().take_front(results));
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, slow.getResults());
  }
  if (!tiles) slow->remove();
  branch.thenBlock()->getOperations().push_front(slow);
}
