// Hoists the cross-thread part of a reduction out of a loop that accumulates one reduction per iteration:
//   before: for { %s = tt.reduce %x axis 0 : 128x64 -> 64 (over registers, lanes and warps)   %acc += %s }      use %acc
//   after:  for { %r = tt.reduce %x over registers alone : 128x64 -> 32x64                    %acc += %r }
//           use init + tt.reduce %acc axis 0
// The order of additions changes, unless numerics are strict: then sums of floats stay in the loop. A thread carries no more values than
// without the pass. The shuffles, the exchange between warps and its barriers run once after the loop instead of in every iteration. A sum
// that the loop reads or resets is not changed.
#include "gpu/passes.h"
#include "gpu/tiles/layouts/layout_cost.h"
#include "gpu/ttg/tile_shapes.h"
#include "gpu/ttg/ttg.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace tilewright::gpu {

static bool isAddReduction(tt::ReduceOp op) {
  Block &region = op.getCombineOp().front();
  if (op->getNumResults() != 1 || !llvm::hasNItems(region, 2)) return false;
  Operation &add = region.front();
  return isa<arith::AddFOp, arith::AddIOp>(add) && add.getOperand(0) == region.getArgument(0) &&
         add.getOperand(1) == region.getArgument(1) && region.getTerminator()->getOperand(0) == add.getResult(0);
}

namespace {
/// A run of bits along the dimension, all in threads or all in registers, the highest first.
struct Run {
  bool inRegisters = false;
  int64_t size = 1;
};

/// An accumulation acc += convert(reduce(x)) in a loop.
struct HoistedReduction {
  unsigned carried = 0;         ///< the index of acc among the loop-carried values
  Operation *add = nullptr;     ///< the addition to acc
  ttg::ConvertLayoutOp convert; ///< may be null
  tt::ReduceOp reduce;
  SmallVector<Run> runs;
};
} // namespace

/// Returns how registers and threads hold the bits along the dimension. Empty if no exchange between threads is needed, or the layout is
/// not a plain one.
static SmallVector<Run> runsAlong(const Layout &layout, int64_t dim) {
  std::optional<std::vector<AxisBit>> bits = scanOrder(layout, dim);
  if (!bits || !reductionPlan(layout, dim)) return {};
  SmallVector<Run> runs;
  for (const AxisBit &bit : llvm::reverse(*bits)) {
    bool inRegisters = bit.axis == Axis::reg;
    if (runs.empty() || runs.back().inRegisters != inRegisters) runs.push_back({inRegisters});
    runs.back().size *= 2;
  }
  bool isExchanged = llvm::any_of(runs, [](const Run &run) { return !run.inRegisters; });
  return isExchanged ? runs : SmallVector<Run>();
}

/// Returns the accumulation in loop-carried value number `carried`, if there is one.
static std::optional<HoistedReduction> hoistedReduction(scf::ForOp loop, unsigned carried) {
  BlockArgument acc = loop.getRegionIterArg(carried);
  bool isOrdered = loop->getParentOfType<tt::FuncOp>()->hasAttr(ttg::strictNumericsName) && isa<FloatType>(getElementTypeOrSelf(acc));
  if (!acc.hasOneUse() || isOrdered) return std::nullopt;
  HoistedReduction sum;
  sum.carried = carried;
  sum.add = loop.getYieldedValues()[carried].getDefiningOp();
  if (!sum.add || !isa<arith::AddFOp, arith::AddIOp>(sum.add) || sum.add != *acc.user_begin() || !sum.add->hasOneUse()) return std::nullopt;
  Value term = sum.add->getOperand(sum.add->getOperand(0) == acc ? 1 : 0);
  sum.convert = term.getDefiningOp<ttg::ConvertLayoutOp>();
  if (sum.convert && !term.hasOneUse()) return std::nullopt;
  if (sum.convert) term = sum.convert.getSrc();
  sum.reduce = term.getDefiningOp<tt::ReduceOp>();
  bool isPlain = sum.reduce && term.hasOneUse() && sum.reduce->getBlock() == loop.getBody() && isAddReduction(sum.reduce) &&
                 isa<arith::AddFOp>(sum.add) == isa<arith::AddFOp>(sum.reduce.getCombineOp().front().front());
  if (!isPlain) return std::nullopt;
  sum.runs = runsAlong(ttg::layoutOf(sum.reduce.getSrcs()[0].getType()), sum.reduce.getAxis());
  return sum.runs.empty() ? std::nullopt : std::optional(sum);
}

/// Creates the same reduction of another tile.
static Value summed(OpBuilder &b, tt::ReduceOp like, Value tile, int64_t axis) {
  Layout layout = ttg::layoutOf(tile.getType()).withoutDim(axis);
  Type type = cast<RankedTensorType>(tile.getType()).getElementType();
  if (!layout.shape.empty()) type = ttg::withLayout(RankedTensorType::get(layout.shape, type), layout);
  Value sum = tt::cloneAs(b, like, tile, type);
  sum.getDefiningOp<tt::ReduceOp>().setAxis(static_cast<uint32_t>(axis));
  return sum;
}

/// Reduces the tile inside each thread: the dimension becomes as long as there are threads along it.
static Value summedInThreads(OpBuilder &b, HoistedReduction &sum) {
  Value tile = sum.reduce.getSrcs()[0];
  Dims shape = ttg::shapeOf(tile.getType());
  auto dim = static_cast<size_t>(sum.reduce.getAxis());
  Dims split(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(dim)), left = split;
  int64_t threads = 1;
  for (const Run &run : sum.runs) {
    split.push_back(run.size);
    if (!run.inRegisters) threads *= run.size;
  }
  left.push_back(threads);
  split.insert(split.end(), shape.begin() + static_cast<ptrdiff_t>(dim) + 1, shape.end());
  left.insert(left.end(), shape.begin() + static_cast<ptrdiff_t>(dim) + 1, shape.end());
  if (threads == shape[dim]) return tile;
  tile = reshaped(b, tile, split);
  for (size_t run = sum.runs.size(); run-- > 0;)
    if (sum.runs[run].inRegisters) tile = summed(b, sum.reduce, tile, static_cast<int64_t>(dim + run));
  return reshaped(b, tile, left);
}

/// Rewrites the loop to carry per-thread sums, and returns it.
static scf::ForOp hoist(IRRewriter &rewriter, scf::ForOp loop, HoistedReduction &sum) {
  Location loc = sum.add->getLoc();
  rewriter.setInsertionPoint(sum.reduce);
  Value inThreads = summedInThreads(rewriter, sum);
  auto type = cast<RankedTensorType>(inThreads.getType());
  rewriter.setInsertionPoint(loop);
  TypedAttr zero = rewriter.getZeroAttr(type.getElementType());
  if (isa<FloatType>(type.getElementType())) zero = rewriter.getFloatAttr(type.getElementType(), -0.0); // -0 + x is x, also for -0
  Value zeros = arith::ConstantOp::create(rewriter, loc, DenseElementsAttr::get(type, Attribute(zero)));
  Value init = loop.getInitArgs()[sum.carried];
  auto added = [&](OpBuilder &b, Value x, Value y) { return tt::cloneAs(b, sum.add, {x, y}, x.getType()); };
  auto yields = [&](OpBuilder &b, Location, ArrayRef<BlockArgument> carried) {
    return SmallVector<Value>{added(b, carried[0], inThreads)};
  };
  DictionaryAttr marks = loop->getDiscardableAttrDictionary();
  auto changed =
      cast<scf::ForOp>(loop.replaceWithAdditionalYields(rewriter, zeros, /*replaceInitOperandUsesInLoop=*/false, yields)->getOperation());
  changed->setDiscardableAttrs(marks);
  Operation *yield = changed.getBody()->getTerminator();
  yield->setOperand(sum.carried, changed.getRegionIterArg(sum.carried));
  rewriter.setInsertionPointAfter(changed);
  Value reduced = summed(rewriter, sum.reduce, changed.getResults().back(), sum.reduce.getAxis());
  Value result = changed.getResult(sum.carried);
  if (warpsOfReduction(ttg::layoutOf(type), sum.reduce.getAxis()) > 1 && isa<RankedTensorType>(result.getType()))
    reduced.setType(result.getType());
  if (reduced.getType() != result.getType()) reduced = ttg::ConvertLayoutOp::create(rewriter, loc, result.getType(), reduced);
  Value total = added(rewriter, init, reduced);
  rewriter.replaceAllUsesExcept(result, total, total.getDefiningOp());
  rewriter.eraseOp(sum.add);
  if (sum.convert) rewriter.eraseOp(sum.convert);
  rewriter.eraseOp(sum.reduce);
  return changed;
}

LogicalResult optimizeThreadLocality(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  SmallVector<scf::ForOp> loops;
  module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    for (unsigned carried = 0; carried < loop.getNumRegionIterArgs(); ++carried)
      if (std::optional<HoistedReduction> sum = hoistedReduction(loop, carried)) loop = hoist(rewriter, loop, *sum);
  return success();
}

} // namespace tilewright::gpu
