// The clean-up for every target-neutral stage: folders, MLIR's canonicalization of arith and scf, the patterns below, loop-invariant code
// motion, and common subexpression elimination. Later passes must not rely on the form of the result.
//
// The patterns have one direction: uniform tiles become scalars, and scalars move towards the base of an address.
//   before: addptr (broadcast (addptr (splat %base), %rows)), (splat %distance)
//   after:  broadcast (addptr (splat (addptr %base, %distance)), %rows)
// An offset is sign-extended before it is added, so offsets of addptr may be swapped. Two offsets may only be added as i64.
#include "ir/passes.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

#include <map>
#include <vector>

using namespace mlir;
using namespace tilewright;

namespace {

bool isTile(Value v) {
  return isa<RankedTensorType>(v.getType());
}

bool isZeroTile(Value v) {
  return matchPattern(v, m_Zero()) || matchPattern(v, m_AnyZeroFloat());
}

/// True if a pattern can see that all elements of `v` are equal.
bool isSplat(Value v) {
  DenseElementsAttr constant;
  return v.getDefiningOp<tt::SplatOp>() || (matchPattern(v, m_Constant(&constant)) && constant.isSplat());
}

/// Returns the scalar of a value that isSplat accepts.
Value scalarOf(PatternRewriter &rewriter, Value v) {
  if (auto splat = v.getDefiningOp<tt::SplatOp>()) return splat.getSrc();
  DenseElementsAttr constant;
  matchPattern(v, m_Constant(&constant));
  return arith::ConstantOp::create(rewriter, v.getLoc(), cast<TypedAttr>(constant.getSplatValue<Attribute>()));
}

/// An element-wise operation on splats becomes the operation on the scalars, and one splat.
struct ScalarizeElementwise : RewritePattern {
  explicit ScalarizeElementwise(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1 || op->getNumRegions() != 0 || !isTile(op->getResult(0)) ||
        !isPure(op) || op->getNumOperands() == 0 || isa<tt::ElementwiseInlineAsmOp>(op))
      return failure();
    bool anySplat = false;
    for (Value operand : op->getOperands()) {
      if (isTile(operand) && !isSplat(operand)) return failure();
      anySplat |= bool(operand.getDefiningOp<tt::SplatOp>());
    }
    if (!anySplat) return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isTile(operand) ? scalarOf(rewriter, operand) : operand);
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addTypes(getElementTypeOrSelf(op->getResult(0).getType()));
    state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Operation *scalar = rewriter.create(state);
    rewriter.replaceOpWithNewOp<tt::SplatOp>(op, op->getResult(0).getType(), scalar->getResult(0));
    return success();
  }
};

/// A shape operation on a splat becomes a splat of the new shape.
template <typename Op> struct ShapeOfSplat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto splat = op.getSrc().template getDefiningOp<tt::SplatOp>();
    if (!splat) return failure();
    rewriter.replaceOpWithNewOp<tt::SplatOp>(op, op.getType(), splat.getSrc());
    return success();
  }
};

LogicalResult unsplatOfSplat(tt::UnsplatOp op, PatternRewriter &rewriter) {
  if (!isSplat(op.getSrc())) return failure();
  rewriter.replaceOp(op, scalarOf(rewriter, op.getSrc()));
  return success();
}

LogicalResult broadcastOfBroadcast(tt::BroadcastOp op, PatternRewriter &rewriter) {
  auto before = op.getSrc().getDefiningOp<tt::BroadcastOp>();
  if (!before) return failure();
  rewriter.replaceOpWithNewOp<tt::BroadcastOp>(op, op.getType(), before.getSrc());
  return success();
}

LogicalResult splitOfJoin(tt::SplitOp op, PatternRewriter &rewriter) {
  auto join = op.getSrc().getDefiningOp<tt::JoinOp>();
  if (!join) return failure();
  rewriter.replaceOp(op, {join.getLhs(), join.getRhs()});
  return success();
}

LogicalResult bitcastOfBitcast(tt::BitcastOp op, PatternRewriter &rewriter) {
  auto before = op.getSrc().getDefiningOp<tt::BitcastOp>();
  if (!before) return failure();
  rewriter.replaceOpWithNewOp<tt::BitcastOp>(op, op.getType(), before.getSrc());
  return success();
}

LogicalResult pointerOfAddress(tt::PtrToIntOp op, PatternRewriter &rewriter) {
  auto before = op.getSrc().getDefiningOp<tt::IntToPtrOp>();
  if (!before || before.getSrc().getType() != op.getType()) return failure();
  rewriter.replaceOp(op, before.getSrc());
  return success();
}

LogicalResult addOffsets(tt::AddPtrOp op, PatternRewriter &rewriter) {
  auto before = op.getPtr().getDefiningOp<tt::AddPtrOp>();
  if (!before || before.getOffset().getType() != op.getOffset().getType() || !getElementTypeOrSelf(op.getOffset().getType()).isInteger(64))
    return failure();
  if (isSplat(op.getOffset()) != isSplat(before.getOffset())) return failure(); // the uniform offset moves to the base instead
  Value sum = arith::AddIOp::create(rewriter, op.getLoc(), before.getOffset(), op.getOffset());
  rewriter.replaceOpWithNewOp<tt::AddPtrOp>(op, before.getPtr(), sum);
  return success();
}

LogicalResult uniformOffsetFirst(tt::AddPtrOp op, PatternRewriter &rewriter) {
  if (!isTile(op.getOffset()) || !isSplat(op.getOffset())) return failure();
  if (auto before = op.getPtr().getDefiningOp<tt::AddPtrOp>(); before && !isSplat(before.getOffset())) {
    Value moved = tt::AddPtrOp::create(rewriter, op.getLoc(), before.getPtr(), op.getOffset());
    rewriter.replaceOpWithNewOp<tt::AddPtrOp>(op, moved, before.getOffset());
    return success();
  }
  Operation *shape = op.getPtr().getDefiningOp();
  if (!isa_and_present<tt::BroadcastOp, tt::ExpandDimsOp>(shape)) return failure();
  Value source = shape->getOperand(0), offset = scalarOf(rewriter, op.getOffset());
  Value splat = tt::SplatOp::create(rewriter, op.getLoc(), tt::withElement(source.getType(), offset.getType()), offset);
  Value moved = tt::AddPtrOp::create(rewriter, op.getLoc(), source, splat);
  Operation *copy = rewriter.clone(*shape);
  rewriter.modifyOpInPlace(copy, [&] { copy->setOperand(0, moved); });
  rewriter.replaceOp(op, copy->getResults());
  return success();
}

/// dot(a, b, 0) + c -> dot(a, b, c), with the location of the dot, because it takes most of the time.
template <typename Add> struct AddToDot : OpRewritePattern<Add> {
  using OpRewritePattern<Add>::OpRewritePattern;
  LogicalResult matchAndRewrite(Add op, PatternRewriter &rewriter) const override {
    for (auto [product, addend] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto dot = product.template getDefiningOp<tt::DotOp>();
      if (!dot || !dot->hasOneUse() || dot->getBlock() != op->getBlock() || !isZeroTile(dot.getC()) || dot.getMaxNumImpreciseAcc() != 0)
        continue;
      auto sum = tt::DotOp::create(rewriter, dot.getLoc(), dot.getType(), dot.getA(), dot.getB(), addend, dot.getInputPrecision(),
                                   dot.getMaxNumImpreciseAcc());
      sum->setDiscardableAttrs(dot->getDiscardableAttrDictionary());
      rewriter.replaceOp(op, sum);
      return success();
    }
    return failure();
  }
};

/// True if `v` is defined before `op`. Does not look at other blocks.
bool isReadyBefore(Value v, Operation *op) {
  if (Operation *def = v.getDefiningOp(); def && def->getBlock() == op->getBlock()) return def->isBeforeInBlock(op);
  return v.getParentRegion()->isAncestor(op->getParentRegion());
}

/// select(m, load(p, m), x) -> load(p, m, x)
LogicalResult selectOfLoad(arith::SelectOp op, PatternRewriter &rewriter) {
  auto load = op.getTrueValue().getDefiningOp<tt::LoadOp>();
  if (!load || !load->hasOneUse() || load.getMask() != op.getCondition() || load.getIsVolatile() ||
      !isReadyBefore(op.getFalseValue(), load))
    return failure();
  rewriter.modifyOpInPlace(load, [&] { load.getOtherMutable().assign(op.getFalseValue()); });
  rewriter.replaceOp(op, load.getResult());
  return success();
}

LogicalResult loadWithKnownMask(tt::LoadOp op, PatternRewriter &rewriter) {
  if (!op.getMask()) return failure();
  if (matchPattern(op.getMask(), m_One())) {
    rewriter.modifyOpInPlace(op, [&] {
      op.getMaskMutable().clear();
      op.getOtherMutable().clear();
    });
    return success();
  }
  if (!matchPattern(op.getMask(), m_Zero()) || op.getIsVolatile()) return failure();
  Type type = op.getType();
  if (!op.getOther() && !getElementTypeOrSelf(type).isIntOrFloat()) return failure();
  Value other = op.getOther();
  if (!other) other = arith::ConstantOp::create(rewriter, op.getLoc(), cast<TypedAttr>(rewriter.getZeroAttr(type)));
  rewriter.replaceOp(op, other);
  return success();
}

LogicalResult storeWithKnownMask(tt::StoreOp op, PatternRewriter &rewriter) {
  if (!op.getMask()) return failure();
  if (matchPattern(op.getMask(), m_One())) {
    rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
    return success();
  }
  if (!matchPattern(op.getMask(), m_Zero())) return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult atomicWithTrueMask(tt::AtomicRMWOp op, PatternRewriter &rewriter) {
  if (!op.getMask() || !matchPattern(op.getMask(), m_One())) return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
  return success();
}

/// Merges two results, or two arguments of a region, that always get the same values.
struct MergeEqualInputs : OpInterfaceRewritePattern<RegionBranchOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(RegionBranchOpInterface op, PatternRewriter &rewriter) const override {
    using Sources = std::vector<std::pair<Operation *, void *>>; // the terminator or operation that passes the value, and the value
    RegionBranchInverseSuccessorMapping operands;
    op.getSuccessorInputOperandMapping(operands);
    bool changed = false;
    auto merge = [&](ValueRange inputs) {
      std::map<Sources, Value> first;
      for (Value input : inputs) {
        auto found = operands.find(input);
        if (found == operands.end() || input.use_empty()) continue;
        Sources sources;
        for (OpOperand *operand : found->second)
          sources.emplace_back(operand->getOwner(), operand->get().getAsOpaquePointer());
        llvm::sort(sources);
        auto [entry, isNew] = first.try_emplace(std::move(sources), input);
        if (isNew) continue;
        rewriter.replaceAllUsesWith(input, entry->second);
        changed = true;
      }
    };
    merge(op->getResults());
    for (Region &region : op->getRegions())
      merge(region.getArguments());
    return success(changed);
  }
};

FrozenRewritePatternSet collectPatterns(MLIRContext *context) {
  RewritePatternSet patterns(context);
  for (StringRef name : {"arith", "math", "scf", "ub"})
    if (Dialect *dialect = context->getLoadedDialect(name)) dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (isa<arith::ArithDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect>(op.getDialect()))
      op.getCanonicalizationPatterns(patterns, context);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns); // back ends only divide toward zero
  patterns.add<ScalarizeElementwise, ShapeOfSplat<tt::BroadcastOp>, ShapeOfSplat<tt::ExpandDimsOp>, ShapeOfSplat<tt::ReshapeOp>,
               ShapeOfSplat<tt::TransOp>, AddToDot<arith::AddFOp>, AddToDot<arith::AddIOp>>(context);
  patterns.add(unsplatOfSplat).add(broadcastOfBroadcast).add(splitOfJoin).add(bitcastOfBitcast).add(pointerOfAddress).add(addOffsets);
  patterns.add(uniformOffsetFirst).add(selectOfLoad).add(loadWithKnownMask).add(storeWithKnownMask).add(atomicWithTrueMask);
  // Removes MLIR's pattern for this, which compares each pair and is slow for loops that carry a hundred values.
  llvm::erase_if(patterns.getNativePatterns(), [](const std::unique_ptr<RewritePattern> &pattern) {
    return pattern->getDebugName().ends_with("::RemoveDuplicateSuccessorInputUses");
  });
  patterns.add<MergeEqualInputs>(context);
  return std::move(patterns);
}

/// Caches the patterns of a context, because collecting them takes a fifth of the time to simplify a small kernel.
class CachedPatterns : public DialectInterface::Base<CachedPatterns> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CachedPatterns)
  explicit CachedPatterns(Dialect *dialect) : Base(dialect) {}

  /// Collects the patterns again if a dialect has been loaded since.
  const FrozenRewritePatternSet &get() {
    MLIRContext *context = getDialect()->getContext();
    size_t now = context->getLoadedDialects().size();
    if (now != dialects) patterns = collectPatterns(context), dialects = now;
    return patterns;
  }

private:
  FrozenRewritePatternSet patterns;
  size_t dialects = 0;
};

const FrozenRewritePatternSet &patternsOf(MLIRContext *context) {
  auto *dialect = context->getOrLoadDialect<tt::TTDialect>();
  const auto *cached = dialect->getRegisteredInterface<CachedPatterns>();
  return (cached ? const_cast<CachedPatterns *>(cached) : &dialect->addInterface<CachedPatterns>())->get();
}

/// Replaces poison by zero, after the patterns have used it, because every back end supports zero.
bool replacePoison(ModuleOp module) {
  bool changed = false;
  module.walk([&changed](ub::PoisonOp op) {
    OpBuilder b(op);
    Type type = op.getType();
    bool isAddress = tt::isPointerOrTileOfPointers(type) && !tt::isBlockPointer(type);
    if (!isAddress && !getElementTypeOrSelf(type).isIntOrFloat()) return;
    changed = true;
    Type number = isAddress ? tt::withElement(type, b.getI64Type()) : type;
    Value zero = arith::ConstantOp::create(b, op.getLoc(), cast<TypedAttr>(b.getZeroAttr(number)));
    op.replaceAllUsesWith(isAddress ? tt::IntToPtrOp::create(b, op.getLoc(), type, zero).getResult() : zero);
    op.erase();
  });
  return changed;
}

bool isLong(Region &region) {
  int64_t left = 512; // bounds the time of the driver
  region.walk([&](Operation *) { return --left > 0 ? WalkResult::advance() : WalkResult::interrupt(); });
  return left == 0;
}

/// Shortens fused locations. MLIR's patterns fuse the locations of all operations that they match. A folded sum of ten thousand constants
/// would have ten thousand locations, so this keeps only the first few.
struct ShortLocations : RewriterBase::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint previous) override {
    constexpr size_t maxLocations = 8;
    auto fused = dyn_cast<FusedLoc>(op->getLoc());
    if (previous.isSet() || !fused || fused.getLocations().size() <= maxLocations) return;
    op->setLoc(FusedLoc::get(op->getContext(), fused.getLocations().take_front(maxLocations)));
  }
};

/// Applies the patterns. For each changed operation, the driver checks if the enclosing operations are dead, which visits their whole
/// bodies. So the long body of an `if` or a loop is simplified on its own first. Returns true if a fixed point is reached.
bool applyPatterns(ModuleOp module) {
  GreedyRewriteConfig config;
  ShortLocations locations;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled).setUseTopDownTraversal().setListener(&locations);
  const FrozenRewritePatternSet &patterns = patternsOf(module.getContext());
  // An unfinished simplification is still correct.
  module.walk([&](Operation *op) {
    if (!isa<scf::SCFDialect>(op->getDialect())) return;
    for (Region &region : op->getRegions())
      if (isLong(region)) (void)applyPatternsGreedily(region, patterns, config);
  });
  return succeeded(applyPatternsGreedily(module, patterns, config));
}

} // namespace

bool tilewright::simplifyAll(ModuleOp module) {
  bool finished = applyPatterns(module);
  if (replacePoison(module)) finished = false;
  module.walk([&](LoopLikeOpInterface loop) {
    if (moveLoopInvariantCode(loop) > 0) finished = false;
  });
  IRRewriter rewriter(module.getContext());
  DominanceInfo dominance(module);
  bool merged = false;
  eliminateCommonSubExpressions(rewriter, dominance, module, &merged);
  return finished && !merged;
}

LogicalResult tilewright::simplify(ModuleOp module) {
  simplifyAll(module);
  return success();
}
