// Writes the decisions of LayoutPlan into the types: which thread holds which element of a tile. It inserts a conversion if an operation
// needs or produces a layout other than that of the tile's class:
//   before: %row = tt.reduce %x axis 1 : tensor<64x64xf32> -> tensor<64xf32>
//   after:  %row = tt.reduce %x axis 1 : tensor<64x64xf32, #a> -> tensor<64xf32, #a without dim 1>
//           %r = ttg.convert_layout %row : -> tensor<64xf32, #b>       only if the class of %r is in #b
// Rematerializable values (addresses, masks) are computed once in each layout that a user needs, at the position of the original. Loads and
// stores get `ttg.vector`: the number of contiguous elements in one access. `ttg.dot_choice` and remarks record the reasons.
#include "gpu/cost_model/thresholds.h"
#include "gpu/passes.h"
#include "gpu/tiles/layouts/layout_plan.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/ttg/ttg.h"
#include "ir/refusal.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

/// The number of adjacent elements that inline assembly or a map takes at once, and on which each of its results may depend; null for
/// other operations.
static std::optional<int64_t> packOf(Operation *op) {
  if (op->getNumResults() == 0 || !isTile(op->getResult(0))) return std::nullopt;
  if (auto assembly = dyn_cast<tt::ElementwiseInlineAsmOp>(op)) return assembly.getPackedElement();
  auto map = dyn_cast<tt::MapElementwiseOp>(op);
  return map ? std::optional<int64_t>(map.getPack()) : std::nullopt;
}

namespace {

class Assigner {
public:
  Assigner(tt::FuncOp function, int64_t warps, const GpuTarget &target)
      : function(function), target(target), warps(warps), plan(function, warps, target) {}

  LogicalResult run() {
    SmallVector<Operation *> all;
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { all.push_back(op); });
    for (Operation *op : all)
      noteRepeats(op);
    for (Operation *op : all)
      assign(op);
    for (const auto &[layout, text] : plan.choices())
      ttg::remark(function, "assign-layouts", layout, text);
    ttg::relyOn(function, plan.guards());
    ttg::eraseDead(function);
    // Every remaining tile must have a layout: later passes need one.
    WalkResult walk = function.getBody().walk([](Operation *op) -> WalkResult {
      for (Value result : op->getResults())
        if (isTile(result) && !ttg::hasLayout(result.getType())) return bug(op, "it has no layout");
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

private:
  //===----------------------------------------------------------------------------------------------------------- operands

  /// Returns the tile's layout. For a rematerializable value without one, returns any suitable layout.
  Layout layoutOf(Value tile) { return ttg::hasLayout(tile.getType()) ? ttg::layoutOf(tile.getType()) : plan.layoutOf(tile); }

  /// Returns the tile in the layout `want`: recomputed, or converted after its definition.
  Value inLayout(Value value, const Layout &want) {
    RankedTensorType type = ttg::withLayout(cast<RankedTensorType>(value.getType()), want);
    while (value.getType() != type) {
      auto converted = value.getDefiningOp<ttg::ConvertLayoutOp>();
      if (!converted) break;
      value = converted.getSrc();
    }
    if (value.getType() == type) return value;
    if (Value copy = copies.lookup({value, type})) return copy;
    Value copy =
        plan.isRematerializable(value) || isMadeOfRows(value) ? recomputed(value.getDefiningOp(), type, want) : convertedTo(value, type);
    copies[{value, type}] = copy;
    return copy;
  }

  /// True if pointers or integers are computed from smaller tiles by a few operations, as for rows stored at indices from memory. Those
  /// smaller tiles are converted then: a tile of pointers takes 8 bytes an element in shared memory.
  bool isMadeOfRows(Value tile) {
    Type element = getElementTypeOrSelf(tile.getType());
    return (isa<tt::PointerType>(element) || element.isInteger()) &&
           isRematerialized(tile, cast<RankedTensorType>(tile.getType()).getNumElements(), 8);
  }

  bool isRematerialized(Value tile, int64_t elements, int64_t depth) {
    Operation *op = tile.getDefiningOp();
    if (!op || depth == 0 || op->getNumResults() != 1 || !isPure(op)) return false;
    if (isa<tt::SplatOp, tt::MakeRangeOp, arith::ConstantOp>(op)) return true; // rematerialized with its user
    if (packOf(op) || !(isElementwiseOnTiles(op) || isa<tt::BroadcastOp, tt::ExpandDimsOp>(op))) return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      if (!isTile(operand) || plan.isRematerializable(operand)) return true;
      return cast<RankedTensorType>(operand.getType()).getNumElements() * minExpansion <= elements ||
             isRematerialized(operand, elements, depth - 1);
    });
  }

  Value convertedTo(Value value, RankedTensorType type) {
    OpBuilder b(function.getContext());
    b.setInsertionPointAfterValue(value);
    return ttg::ConvertLayoutOp::create(b, value.getLoc(), type, value);
  }

  Value recomputed(Operation *op, RankedTensorType type, const Layout &want) {
    Layout source = want;
    if (isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::ReshapeOp, tt::TransOp>(op)) source = *sourceLayout(op, want);
    OpBuilder b(function.getContext());
    b.setInsertionPointAfter(op);
    return tt::rematerialize(b, op, type, [&](Value operand) { return isTile(operand) ? inLayout(operand, source) : operand; });
  }

  void want(Operation *op, const Layout &layout) {
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get())) operand.set(inLayout(operand.get(), layout));
  }
  void want(OpOperand &operand, const Layout &layout) { operand.set(inLayout(operand.get(), layout)); }

  //===------------------------------------------------------------------------------------------------------------ results

  void setType(Value tile) {
    if (isTile(tile)) tile.setType(ttg::withLayout(cast<RankedTensorType>(tile.getType()), plan.layoutOf(tile)));
  }
  void setTypes(Operation *op) {
    for (Value result : op->getResults())
      setType(result);
  }
  /// Sets the result's layout to `natural`, and converts it if its class has another layout.
  void setResult(Value result, const Layout &natural) {
    if (!isTile(result)) return;
    auto tile = cast<RankedTensorType>(result.getType());
    Layout wanted = plan.layoutOf(result);
    result.setType(ttg::withLayout(tile, natural));
    if (wanted == natural || result.use_empty()) return;
    OpBuilder b(function.getContext());
    b.setInsertionPointAfterValue(result);
    auto converted = ttg::ConvertLayoutOp::create(b, result.getLoc(), ttg::withLayout(tile, wanted), result);
    result.replaceAllUsesExcept(converted.getResult(), converted);
  }

  //===--------------------------------------------------------------------------------------------------------- operations

  /// Marks comparisons of adjacent elements with equal results, so a thread compares once. Only for CTAs that fill an SM's threads, which
  /// are limited to 128 registers anyway. With fewer threads ptxas may use more registers for such code, which lowers occupancy.
  void noteRepeats(Operation *op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (warps < minWarpsToShareComparisons || !compare || !isTile(compare.getResult())) return;
    Dims repeats = plan.provenConstancy(compare.getResult());
    if (!repeats.empty()) op->setAttr(ttg::blockRepeatsName, DenseI64ArrayAttr::get(op->getContext(), repeats));
  }

  void assignAccess(Operation *op, const MemoryAccess &access) {
    // With a descriptor, only the tile itself has the access's shape; row indices keep their own layout.
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get()))
        want(operand, ttg::shapeOf(operand.get().getType()) == access.layout.shape ? access.layout : layoutOf(operand.get()));
    for (Value result : op->getResults())
      setResult(result, access.layout);
    constexpr int64_t wordBytes = 4;
    int64_t vector = vectorIn(access.properties, access.layout);
    if (access.unaligned && vector * access.properties.bytes < wordBytes) vector = 1;
    if (vector > 1) op->setAttr(ttg::vectorName, IntegerAttr::get(IntegerType::get(op->getContext(), 32), vector));
    if (access.unaligned && vector > 1) op->setAttr(ttg::unalignedName, UnitAttr::get(op->getContext()));
    if (!access.properties.repeats.empty())
      op->setAttr(ttg::blockRepeatsName, DenseI64ArrayAttr::get(op->getContext(), access.properties.repeats));
  }

  void assignDot(tt::DotOp op) {
    const DotChoice &choice = plan.dotChoice(op);
    op->setAttr(ttg::dotChoiceName, choice.attribute(op.getContext()));
    want(op.getAMutable(), choice.a ? *choice.a : layoutOf(op.getA()));
    want(op.getBMutable(), choice.b ? *choice.b : layoutOf(op.getB()));
    want(op.getCMutable(), choice.result);
    setResult(op.getResult(), choice.result);
  }

  void assignScaledDot(tt::DotScaledOp op) {
    ScaledDotLayouts layouts = scaledDotLayouts(op, warps, target);
    auto wantOrKeep = [&](OpOperand &operand, const std::optional<Layout> &layout) {
      want(operand, layout ? *layout : layoutOf(operand.get()));
    };
    wantOrKeep(op.getAMutable(), layouts.a);
    wantOrKeep(op.getBMutable(), layouts.b);
    want(op.getCMutable(), layouts.result);
    for (OpOperand &scale : op.getAScaleMutable())
      wantOrKeep(scale, layouts.aScale);
    for (OpOperand &scale : op.getBScaleMutable())
      wantOrKeep(scale, layouts.bScale);
    setResult(op.getResult(), layouts.result);
  }

  /// A thread holds the contiguous elements that an operation takes at once, if it has registers for them.
  void assignPacked(Operation *op, int64_t pack) {
    Layout natural = plan.layoutOf(op->getResult(0)), packed = withContiguous(natural, pack, warps);
    want(op, packed);
    for (Value result : op->getResults())
      setResult(result, packed);
  }

  /// Handles an operation that combines elements along a dimension, in a layout that permits it.
  void assignCombination(Operation *op) {
    Layout source = layoutOf(op->getOperand(0));
    int64_t axis = isa<tt::ReduceOp>(op) ? cast<tt::ReduceOp>(op).getAxis() : cast<tt::ScanOp>(op).getAxis();
    if (isa<tt::ReduceOp>(op) && !reductionPlan(source, axis)) source = defaultLayout(source.shape, warps);
    if (isa<tt::ScanOp>(op) && !scanOrder(source, axis)) source = scanLayout(source.shape, axis, warps);
    want(op, source);
    Layout natural = isa<tt::ReduceOp>(op) ? source.withoutDim(axis) : source;
    auto used = llvm::find_if(op->getResults(), [](Value result) { return isTile(result) && !result.use_empty(); });
    if (isa<tt::ReduceOp>(op) && warpsOfReduction(source, axis) > 1 && used != op->result_end()) natural = plan.layoutOf(*used);
    for (Value result : op->getResults())
      setResult(result, natural);
  }

  void assignSplit(tt::SplitOp op) {
    Layout source = layoutOf(op.getSrc());
    if (!source.splitHalves()) source = plan.layoutOf(op.getOutLHS()).joined();
    want(op, source);
    setResult(op.getOutLHS(), source.splitHalves()->layout);
    setResult(op.getOutRHS(), source.splitHalves()->layout);
  }

  /// Values that the body of a loop or a branch yields must have the layout of the value that receives them.
  void assignControlFlow(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<scf::ForOp, scf::WhileOp>([&](auto loop) {
          ValueRange arguments = loop->getRegion(0).getArguments();
          for (auto [init, argument] : llvm::zip(loop.getInitsMutable(), arguments.take_back(loop.getInits().size())))
            if (isTile(argument)) want(init, plan.layoutOf(argument));
          for (Region &region : loop->getRegions())
            for (Value argument : region.getArguments())
              setType(argument);
        })
        .Case([&](scf::YieldOp yield) {
          Operation *parent = yield->getParentOp();
          ValueRange targets = parent->getResults();
          if (auto loop = dyn_cast<scf::WhileOp>(parent)) targets = loop.getBeforeArguments();
          for (auto [operand, target] : llvm::zip(yield->getOpOperands(), targets))
            if (isTile(target)) want(operand, plan.layoutOf(target));
        })
        .Case([&](scf::ConditionOp condition) {
          for (auto [operand, target] : llvm::zip(condition.getArgsMutable(), condition->getParentOp()->getResults()))
            if (isTile(target)) want(operand, plan.layoutOf(target));
        });
    setTypes(op);
  }

  void assign(Operation *op) {
    if (op->getNumResults() == 1 && plan.isRematerializable(op->getResult(0))) return; // each user has its own copy
    if (const MemoryAccess *access = plan.access(op)) return assignAccess(op, *access);
    if (std::optional<int64_t> pack = packOf(op)) return assignPacked(op, *pack);
    if (isElementwiseOnTiles(op) || isa<ttg::ReadClusterOp>(op)) {
      want(op, plan.layoutOf(op->getResult(0)));
      return setTypes(op);
    }
    llvm::TypeSwitch<Operation *>(op)
        .Case<scf::ForOp, scf::WhileOp, scf::IfOp, scf::YieldOp, scf::ConditionOp>([&](auto) { assignControlFlow(op); })
        .Case<tt::ReduceOp, tt::ScanOp>([&](auto) { assignCombination(op); })
        .Case<tt::ExpandDimsOp, tt::BroadcastOp>([&](auto) {
          setType(op->getResult(0));
          want(op, *sourceLayout(op, plan.layoutOf(op->getResult(0))));
        })
        .Case<tt::ReshapeOp, tt::TransOp, tt::JoinOp, tt::CatOp, ttg::UnpackE2m1Op>([&](auto) {
          Layout source = layoutOf(op->getOperand(0));
          want(op, source);
          setResult(op->getResult(0), *resultLayout(op, source));
        })
        .Case([&](tt::SplitOp split) { assignSplit(split); })
        .Case([&](tt::DotOp dot) { assignDot(dot); })
        .Case([&](tt::DotScaledOp dot) { assignScaledDot(dot); })
        .Case([&](tt::HistogramOp histogram) {
          want(op, layoutOf(histogram.getSrc()));
          setType(histogram.getResult());
        })
        .Case([&](tt::GatherOp gather) {
          want(gather.getSrcMutable(), layoutOf(gather.getSrc()));
          want(gather.getIndicesMutable(), plan.layoutOf(gather.getResult()));
          setType(gather.getResult());
        })
        .Default([&](Operation *) {
          for (OpOperand &operand : op->getOpOperands())
            if (isTile(operand.get())) want(operand, layoutOf(operand.get()));
          setTypes(op);
        });
  }

  tt::FuncOp function;
  const GpuTarget &target;
  int64_t warps;
  LayoutPlan plan;
  DenseMap<std::pair<Value, Type>, Value> copies;
};

} // namespace

/// Refuses tiles in a partition of another number of warps: layouts are for the kernel's.
static LogicalResult checkPartitions(tt::FuncOp function, int64_t warps) {
  WalkResult walk = function.walk([&](ttg::WarpSpecializeOp partitions) -> WalkResult {
    for (auto [partition, own] : llvm::zip(partitions.getPartitions(), partitions.getPartitionNumWarps())) {
      if (own == warps) continue;
      std::string number = std::to_string(own), ofKernel = std::to_string(warps);
      WalkResult walk = partition.walk([&](Operation *op) -> WalkResult {
        if (llvm::none_of(op->getResults(), isTile) && llvm::none_of(op->getOperands(), isTile)) return WalkResult::advance();
        return refuse(op, Diag::notOnGpus,
                      {"a tile in a partition of " + number + " warps, of a kernel of " + ofKernel + " warps",
                       "give the partition num_warps(" + ofKernel + ")"});
      });
      if (walk.wasInterrupted()) return walk;
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult assignLayouts(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    if (failed(checkScaledDots(function, config, target)) || failed(checkPartitions(function, config.getWarps()))) return failure();
    return Assigner(function, config.getWarps(), target).run();
  });
}

} // namespace tilewright::gpu
