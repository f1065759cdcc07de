// Splits a program across the CTAs of a cluster (num_ctas). Each CTA holds a slice of each tile along one dimension, so the later passes
// see the program of one CTA, with smaller tiles.
//   before: %i = tt.make_range {0, 128}                     %x = tt.load %p : tensor<128x!tt.ptr<f32>>
//   after:  %i = tt.make_range {0, 64} + rank * 64          %x = tt.load %p : tensor<64x!tt.ptr<f32>>        with two CTAs
//   before: %sum = tt.reduce %x                             after: %a, %b = ttg.read_cluster (tt.reduce %x);  %sum = %a + %b
// cta_split_plan.h decides the split of each tile. Every operation accepts replicated tiles, so the pass refuses nothing. If pad-tiles has
// padded columns, uneven_n_split.h splits the valid ones.
//
// Scalars are replicated. Memory operations on replicated tiles and scalars run in the first CTA only, and so does assembly that may access
// memory. Other assembly may be a barrier, and runs in each CTA. The first CTA sends results that may differ to the other ones (atomics,
// volatile loads, assembly that is not pure).
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/tiles/cluster/cta_split_plan.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/tile_shapes.h"
#include "gpu/ttg/ttg.h"
#include "gpu/ttg/unknown_code.h"
#include "ir/refusal.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class Splitter {
public:
  Splitter(tt::FuncOp function, const CtaSplitPlan &plan)
      : function(function), plan(plan), ctas(plan.getCtas()), uneven(plan.getUnevenSplit()), sums(plan.getSplitK().sums),
        b(function.getLoc(), function.getContext()) {}

  /// Rewrites the function according to the plan.
  void run() {
    SmallVector<OpSplits> wanted = llvm::map_to_vector(plan.getOps(), [&](Operation *op) { return plan.splitsOf(op); });
    for (Operation *op : plan.getOps())
      for (Value value : valuesOf(op))
        if (isTile(value) && !plan.isRematerializable(value)) current[value] = plan.splitOf(value);
    b.setInsertionPointToStart(&function.getBody().front());
    rank = ptx::ClusterRankOp::create(b, b.getI32Type());
    isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rank, i32(0));
    for (auto [op, its] : llvm::zip(plan.getOps(), wanted))
      rewrite(op, its);
  }

private:
  //===------------------------------------------------------------------------------------------------- changes of the split

  Value i32(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value))); }

  RankedTensorType typeIn(RankedTensorType type, CtaSplit split) {
    if (split.isReplicated()) return type;
    SmallVector<int64_t> shape(type.getShape());
    shape[size_t(*split.dim)] /= ctas;
    return RankedTensorType::get(shape, type.getElementType());
  }

  Value inSplit(Value value, CtaSplit want) {
    if (plan.isRematerializable(value)) return want == replicated ? value : sliceOfRematerializable(value, want);
    CtaSplit has = current.lookup(value);
    if (has == want) return value;
    Value &copy = copies[{value, want.dim}];
    if (copy) return copy;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(value);
    Value all = has == replicated ? value : gathered(value, has);
    Value made = want == replicated ? all : sliced(all, want);
    current[made] = want;
    return copies[{value, want.dim}] = made;
  }

  Value sliceOfRematerializable(Value value, CtaSplit split) {
    if (Value copy = copies.lookup({value, split.dim})) return copy;
    Operation *op = value.getDefiningOp();
    auto type = cast<RankedTensorType>(value.getType());
    RankedTensorType part = typeIn(type, split);
    CtaSplit source = split;
    if (isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp>(op)) source = sourceSplit(op, split);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(op);
    if (uneven && type.getDimSize(unsigned(*split.dim)) == uneven->extent && statesValidExtent(op, *split.dim, *uneven)) {
      Value own = ownedElements(b, part.getShape(), *split.dim, *uneven);
      current[own] = split;
      return copies[{value, split.dim}] = own;
    }
    Value result = tt::rematerialize(b, op, part, [&](Value operand) { return isTile(operand) ? inSplit(operand, source) : operand; });
    if (auto range = result.getDefiningOp<tt::MakeRangeOp>()) {
      int64_t extent = part.getNumElements(), own = uneven && type.getNumElements() == uneven->extent ? uneven->own : extent;
      range.setEnd(static_cast<uint32_t>(range.getStart() + extent));
      range->removeAttr(tt::validExtentName);                        // of a slice
      Value bounded = arith::AndIOp::create(b, rank, i32(ctas - 1)); // a no-op that gives range analysis the bounds
      Value start = arith::MulIOp::create(b, bounded, i32(own));
      result = arith::AddIOp::create(b, result, tt::SplatOp::create(b, part, start));
    }
    current[result] = split;
    return copies[{value, split.dim}] = result;
  }

  SmallVector<Value> readAllCtas(Value tile) {
    SmallVector<Type> types(size_t(ctas), tile.getType());
    return SmallVector<Value>(ttg::ReadClusterOp::create(b, types, tile, /*peer=*/IntegerAttr()).getResults());
  }

  /// Returns the whole tile: the concatenated slices of all CTAs.
  Value gathered(Value slice, CtaSplit split) {
    SmallVector<Value> parts = readAllCtas(slice);
    size_t dim = size_t(*split.dim);
    while (parts.size() > 1) {
      SmallVector<Value> pairs;
      for (size_t i = 0; i < parts.size(); i += 2) {
        auto type = cast<RankedTensorType>(parts[i].getType());
        SmallVector<int64_t> shape(type.getShape());
        shape[dim] *= 2;
        pairs.push_back(reshaped(b, moved(b, joined(b, parts[i], parts[i + 1]), size_t(type.getRank()), dim), shape));
      }
      parts = std::move(pairs);
    }
    return parts.front();
  }

  /// Returns the half of a tile that is selected by a bit of this CTA's rank, and the other half.
  std::pair<Value, Value> halved(Value all, size_t dim, int64_t bit) {
    SmallVector<int64_t> halves(cast<RankedTensorType>(all.getType()).getShape());
    halves[dim] /= 2;
    halves.insert(halves.begin() + int64_t(dim), 2);
    auto [low, high] = halvesOf(b, moved(b, reshaped(b, all, halves), dim, halves.size() - 1));
    Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, rank, i32(bit)), i32(0));
    return {arith::SelectOp::create(b, isLater, high, low), arith::SelectOp::create(b, isLater, low, high)};
  }

  /// Returns this CTA's slice by repeated halving.
  Value sliced(Value all, CtaSplit split) {
    for (int64_t bit = ctas / 2; bit; bit /= 2)
      all = halved(all, size_t(*split.dim), bit).first;
    return all;
  }

  /// Returns this CTA's slice of the sum of all CTAs' tiles. In each step two CTAs exchange halves and add. The order of the additions is
  /// the same in all CTAs.
  Value summed(Value part, CtaSplit split) {
    for (int64_t bit = ctas / 2; bit; bit /= 2) {
      auto [own, given] = halved(part, size_t(*split.dim), bit);
      auto other = ttg::ReadClusterOp::create(b, given.getType(), given, /*peer=*/b.getI32IntegerAttr(int32_t(bit)));
      part = added(b, own, other.getResult(0));
    }
    return part;
  }

  //===------------------------------------------------------------------------------------------------------------- rewriting

  Value asTile(Value value) {
    return isTile(value) ? value : Value(tt::SplatOp::create(b, RankedTensorType::get({1}, value.getType()), value));
  }
  Value asIn(Value tile, Type type) { return isa<RankedTensorType>(type) ? tile : Value(tt::UnsplatOp::create(b, tile)); }

  /// Combines the partial results of all CTAs, in rank order.
  SmallVector<Value> combined(tt::ReduceOp op) {
    SmallVector<SmallVector<Value>> parts(static_cast<size_t>(ctas));
    for (Value result : op.getResult())
      for (auto [cta, tile] : llvm::enumerate(readAllCtas(asTile(result))))
        parts[cta].push_back(tile);
    while (parts.size() > 1) {
      SmallVector<SmallVector<Value>> pairs;
      for (size_t i = 0; i < parts.size(); i += 2) {
        SmallVector<Value> sources;
        for (auto [x, y] : llvm::zip(parts[i], parts[i + 1]))
          sources.push_back(joined(b, x, y));
        int64_t last = cast<RankedTensorType>(sources[0].getType()).getRank() - 1;
        auto both = tt::ReduceOp::create(b, sources, int32_t(last));
        IRMapping mapping;
        op.getCombineOp().cloneInto(&both.getCombineOp(), mapping);
        SmallVector<Value> &results = pairs.emplace_back();
        for (auto [result, part] : llvm::zip(both.getResult(), parts[i]))
          results.push_back(result.getType() == part.getType() ? result : asTile(result));
      }
      parts = std::move(pairs);
    }
    SmallVector<Value> results;
    for (auto [tile, result] : llvm::zip(parts.front(), op.getResult()))
      results.push_back(asIn(tile, result.getType()));
    return results;
  }

  static SmallVector<OpOperand *> usesOf(Value value) {
    return llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  }

  /// Masks a memory operation so that only the first CTA executes it.
  void maskOtherCtas(MutableOperandRange mask, Type pointer) {
    Value only = isFirst;
    if (auto tile = dyn_cast<RankedTensorType>(pointer)) only = tt::SplatOp::create(b, tile.clone(b.getI1Type()), isFirst);
    mask.assign(mask.empty() ? only : Value(arith::AndIOp::create(b, mask[0].get(), only)));
  }

  /// Restricts a memory operation on replicated operands to one CTA, and sends its result to the other ones.
  void guard(Operation *op) {
    b.setInsertionPoint(op);
    if (auto store = dyn_cast<tt::StoreOp>(op)) maskOtherCtas(store.getMaskMutable(), store.getPtr().getType());
    if (auto atomic = dyn_cast<tt::AtomicRMWOp>(op)) maskOtherCtas(atomic.getMaskMutable(), atomic.getPtr().getType());
    if (isa<tt::AtomicCASOp>(op)) op->setAttr(ttg::firstCtaName, b.getUnitAttr());
    SmallVector<Value> results(op->getResults());
    if (isa<tt::PrintOp>(op) || ttg::mayAccessAnyMemory(op)) results = onlyInFirst(op);
    auto load = dyn_cast<tt::LoadOp>(op);
    bool isShared = (load && tt::mayChangeMeanwhile(load)) || isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op) || isImpureCode(op);
    if (!isShared) return;
    for (Value result : results) {
      SmallVector<OpOperand *> uses = usesOf(result);
      if (uses.empty()) continue;
      b.setInsertionPointAfterValue(result);
      Value shared = asIn(readAllCtas(asTile(result)).front(), result.getType());
      current[shared] = replicated;
      for (OpOperand *use : uses)
        use->set(shared);
    }
  }

  /// True for code whose results may differ between the CTAs.
  static bool isImpureCode(Operation *op) {
    return isa<tt::ElementwiseInlineAsmOp, tt::ExternElementwiseOp>(op) && !isMemoryEffectFree(op);
  }

  Value zeroOf(Type type) {
    if (!isa<tt::PointerType>(getElementTypeOrSelf(type))) return arith::ConstantOp::create(b, b.getZeroAttr(type));
    auto tile = dyn_cast<RankedTensorType>(type);
    Type bits = tile ? Type(tile.clone(b.getI64Type())) : b.getI64Type();
    return tt::IntToPtrOp::create(b, type, arith::ConstantOp::create(b, b.getZeroAttr(bits)));
  }

  /// Moves the operation into a branch that only the first CTA takes. Returns its results after the branch; 0 in the other CTAs.
  SmallVector<Value> onlyInFirst(Operation *op) {
    bool isUsed = !op->use_empty();
    auto branch = isUsed ? scf::IfOp::create(b, op->getResultTypes(), isFirst, /*withElseRegion=*/true)
                         : scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    op->replaceAllUsesWith(branch);
    if (!isUsed) {
      op->moveBefore(branch.thenBlock()->getTerminator());
      return {};
    }
    OpBuilder::InsertionGuard guard(b);
    op->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, op->getResults());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, llvm::map_to_vector(op->getResultTypes(), [&](Type type) { return zeroOf(type); }));
    for (Value result : branch.getResults())
      current[result] = replicated;
    return SmallVector<Value>(branch.getResults());
  }

  /// Records the split of operations that `explain` reports.
  void remarkSplit(Operation *op, const OpSplits &its) {
    if (!isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::DotOp, tt::DotScaledOp, tt::ReduceOp>(op)) return;
    bool consumes = isa<tt::StoreOp, tt::ReduceOp>(op);
    if (!isTile(consumes ? op->getOperand(0) : op->getResult(0))) return;
    CtaSplit split = (consumes ? its.operands : its.results)[0];
    std::string text = plan.getSplitK().dots.contains(op) ? "each CTA computes a part of K, and the CTAs add their sums after the loop"
                       : split.dim                        ? "split across CTAs along dimension " + std::to_string(*split.dim)
                                                          : "replicated in every CTA";
    ttg::remark(function, "split-ctas", op->getLoc(), text);
  }

  void rewriteSum(Operation *op, CtaSplit split) {
    b.setInsertionPoint(op);
    Value sum = summed(op->getOperand(0), split);
    current[sum] = split;
    op->getResult(0).replaceAllUsesWith(sum);
    sums.erase(op);
    op->erase();
  }

  void rewrite(Operation *op, const OpSplits &its) {
    if (op->getNumResults() == 1 && plan.isRematerializable(op->getResult(0))) return; // each user has its own copy
    b.setLoc(op->getLoc());
    if (sums.contains(op)) return rewriteSum(op, its.results[0]);
    for (auto [operand, split] : llvm::zip(op->getOpOperands(), its.operands))
      if (isTile(operand.get())) operand.set(inSplit(operand.get(), split));
    b.setLoc(op->getLoc());
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        if (isTile(argument)) argument.setType(typeIn(cast<RankedTensorType>(argument.getType()), plan.splitOf(argument)));
    for (auto [result, split] : llvm::zip(op->getResults(), its.results))
      if (isTile(result)) {
        result.setType(typeIn(cast<RankedTensorType>(result.getType()), split));
        current[result] = split;
      }
    if (auto dot = dyn_cast<tt::DotOp>(op); dot && its.results[0].dim)
      splitValidExtent(dot, *its.results[0].dim, ctas, uneven ? std::optional(uneven->own) : std::nullopt);
    b.setInsertionPoint(op);
    if (auto store = dyn_cast<tt::StoreOp>(op); store && uneven && its.operands[0].dim) storeOwn(b, store, *its.operands[0].dim, *uneven);
    bool onMemory = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::PrintOp>(op) || isImpureCode(op);
    if (onMemory && (its.operands.empty() || its.operands[0] == replicated)) guard(op);
    remarkSplit(op, its);
    auto reduce = dyn_cast<tt::ReduceOp>(op);
    bool isPart = reduce && its.operands[0].isShardedAlong(reduce.getAxis());
    SmallVector<SmallVector<OpOperand *>> uses;
    for (Value result : op->getResults())
      uses.push_back(usesOf(result));
    SmallVector<Value> results(op->getResults());
    b.setInsertionPointAfter(op);
    if (isPart) results = combined(reduce);
    for (auto [result, replacement, users] : llvm::zip(op->getResults(), results, uses)) {
      if (isTile(result) && !users.empty()) {
        current.try_emplace(replacement, replicated);
        replacement = inSplit(replacement, plan.splitOf(result));
      }
      if (replacement != result)
        for (OpOperand *user : users)
          user->set(replacement);
    }
  }

  tt::FuncOp function;
  const CtaSplitPlan &plan;
  int64_t ctas;
  const std::optional<UnevenSplit> &uneven;
  llvm::SmallPtrSet<Operation *, 2> sums; // of SplitK, that are not rewritten yet
  ImplicitLocOpBuilder b;
  Value rank, isFirst;
  DenseMap<Value, CtaSplit> current;                                // splits during the rewrite
  DenseMap<std::pair<Value, std::optional<int64_t>>, Value> copies; // by tile and split
};

} // namespace

LogicalResult splitCtas(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) -> LogicalResult {
    if (config.getCtas() == 1) return success();
    if (!target.clusters) return refuse(function, Diag::noClusters, {std::to_string(config.getCtas()), target.name});
    if (config.getCtas() > target.blocksPerCluster) return bug(function, "num_ctas is larger than a cluster");
    CtaSplitPlan plan(function, config.getWarps(), config.getCtas(), splitK(function, config.getCtas(), target), target);
    Splitter(function, plan).run();
    return success();
  });
}

} // namespace tilewright::gpu
