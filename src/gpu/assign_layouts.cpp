// tt says what a program does to a tile; somebody has to say which thread holds which element. This gives all tiles of one shape one
// layout, so that elementwise work needs no conversion, and converts where an operation's result lies otherwise:
//   before: %row = tt.reduce %x axis 1 : tensor<64x64xf32> -> tensor<64xf32>
//   after:  %row = tt.reduce %x axis 1 : tensor<64x64xf32, #a> -> tensor<64xf32, #a without dim 1>
//           %r = ttg.convert_layout %row : -> tensor<64xf32, #b>
// An operand that is wanted in another layout is computed there from the start where that takes only ranges, splats and arithmetic on them:
// addresses and masks never go through a conversion.
#include "gpu/passes.h"
#include "gpu/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr int deepestRecomputation = 24; // beyond it a conversion is cheaper, and the walk stays short

Dims shapeOf(Type tile) {
  auto shape = cast<RankedTensorType>(tile).getShape();
  return Dims(shape.begin(), shape.end());
}

class Assigner {
public:
  Assigner(tt::FuncOp function, int64_t warps) : function(function), warps(warps) {}

  LogicalResult run() {
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      giveDefaults(op->getResults());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (!isa<tt::FuncOp>(op)) giveDefaults(block.getArguments());
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
          constant.setValueAttr(dense.reshape(cast<ShapedType>(constant.getType())));
    });
    SmallVector<Operation *> shapeChanging;
    function.walk([&](Operation *op) {
      if (isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::ReduceOp, tt::TransOp, tt::ReshapeOp, tt::JoinOp, tt::SplitOp>(op))
        shapeChanging.push_back(op);
    });
    for (Operation *op : shapeChanging)
      llvm::TypeSwitch<Operation *>(op)
          .Case<tt::ExpandDimsOp, tt::BroadcastOp>([&](auto shaped) { fixSource(shaped); })
          .Case<tt::ReduceOp, tt::TransOp, tt::ReshapeOp, tt::JoinOp, tt::SplitOp>([&](auto shaped) { fixResults(shaped); });
    eraseDead();
    return success();
  }

private:
  /// Consecutive lanes hold consecutive elements of the last dimension: global accesses are coalesced.
  Layout defaultLayout(const Dims &shape) {
    size_t rank = shape.size();
    std::vector<int64_t> one(rank, 1), lanes(rank, 1), warpsPerDim(rank, 1), order;
    int64_t lanesLeft = 32, warpsLeft = warps;
    for (size_t i = rank; i-- > 0;) {
      order.push_back(static_cast<int64_t>(i));
      lanes[i] = std::min(lanesLeft, shape[i]);
      lanesLeft /= lanes[i];
    }
    // Warps go to the slowest dimension first, so that a row is reduced by as few warps as there may be.
    for (size_t i = 0; i < rank; ++i) {
      warpsPerDim[i] = std::min(warpsLeft, shape[i] / lanes[i]);
      warpsLeft /= warpsPerDim[i];
    }
    if (rank) {
      lanes[rank - 1] *= lanesLeft; // a tile smaller than a warp: copies
      warpsPerDim[rank - 1] *= warpsLeft;
    }
    return Layout::blocked(shape, one, lanes, warpsPerDim, order);
  }

  void giveDefaults(ValueRange values) {
    for (Value value : values)
      if (auto tile = dyn_cast<RankedTensorType>(value.getType())) value.setType(ttg::withLayout(tile, defaultLayout(shapeOf(tile))));
  }

  /// Whether the tile is nothing but ranges, splats and arithmetic on them.
  bool isCheap(Value value, int depth) {
    Operation *op = value.getDefiningOp();
    if (!op || depth > deepestRecomputation) return false;
    if (isa<tt::MakeRangeOp, tt::SplatOp, arith::ConstantOp>(op)) return true;
    bool follows = isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::AddPtrOp>(op) ||
                   (op->getName().getDialectNamespace() == "arith" && op->getNumRegions() == 0 && op->getNumResults() == 1);
    if (!follows) return false;
    return llvm::all_of(op->getOperands(),
                        [&](Value operand) { return !isa<RankedTensorType>(operand.getType()) || isCheap(operand, depth + 1); });
  }

  Layout sourceLayout(tt::ExpandDimsOp op, const Layout &result) { return result.reshaped(shapeOf(op.getSrc().getType())); }
  Layout sourceLayout(tt::BroadcastOp op, const Layout &result) {
    Dims from = shapeOf(op.getSrc().getType()), to = shapeOf(op.getType());
    Layout source = result;
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != to[i]) source = source.collapsedDim(static_cast<int64_t>(i));
    return source;
  }

  /// The tile in the layout `want`, recomputed or converted in front of `user`.
  Value inLayout(Value value, const Layout &want, OpBuilder &b) {
    auto tile = cast<RankedTensorType>(value.getType());
    if (ttg::layoutOf(tile) == want) return value;
    RankedTensorType type = ttg::withLayout(tile, want);
    if (!isCheap(value, 0)) return ttg::ConvertLayoutOp::create(b, value.getLoc(), type, value);
    Operation *op = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType())) {
        operands.push_back(operand);
        continue;
      }
      Layout from = want;
      if (auto expand = dyn_cast<tt::ExpandDimsOp>(op)) from = sourceLayout(expand, want);
      if (auto broadcast = dyn_cast<tt::BroadcastOp>(op)) from = sourceLayout(broadcast, want);
      operands.push_back(inLayout(operand, from, b));
    }
    Operation *copy = b.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(type));
    return copy->getResult(0);
  }

  template <typename Op> void fixSource(Op op) {
    OpBuilder b(op);
    Value source = inLayout(op.getSrc(), sourceLayout(op, ttg::layoutOf(op.getType())), b);
    op.getSrcMutable().assign(source);
  }

  /// What the operation makes of its operands' layout.
  template <typename Op> Layout resultLayout(Op op) {
    Layout source = ttg::layoutOf(op->getOperand(0).getType());
    if constexpr (std::is_same_v<Op, tt::ReduceOp>) return source.withoutDim(op.getAxis());
    if constexpr (std::is_same_v<Op, tt::ReshapeOp>) return source.reshaped(shapeOf(op.getType()));
    if constexpr (std::is_same_v<Op, tt::JoinOp>) return source.joined();
    if constexpr (std::is_same_v<Op, tt::TransOp>) return source.transposed({op.getOrder().begin(), op.getOrder().end()});
    if constexpr (std::is_same_v<Op, tt::SplitOp>) return source.splitHalves()->layout;
    return source;
  }

  template <typename Op> void fixResults(Op op) {
    OpBuilder b(op);
    if constexpr (std::is_same_v<Op, tt::SplitOp>) {
      // Its source must hold both halves in one thread: as if they had been joined.
      Layout joined = defaultLayout(shapeOf(op.getOutLHS().getType())).joined();
      op.getSrcMutable().assign(inLayout(op.getSrc(), joined, b));
    }
    b.setInsertionPointAfter(op);
    for (OpResult result : op->getResults()) {
      auto tile = dyn_cast<RankedTensorType>(result.getType());
      if (!tile) continue;
      Layout natural = resultLayout(op);
      if (natural == ttg::layoutOf(tile)) continue;
      result.setType(ttg::withLayout(tile, natural));
      auto converted = ttg::ConvertLayoutOp::create(b, op.getLoc(), tile, result);
      result.replaceAllUsesExcept(converted.getResult(), converted);
    }
  }

  void eraseDead() {
    bool changed = true;
    while (changed) {
      changed = false;
      function.walk([&](Operation *op) {
        if (op == function || !isOpTriviallyDead(op)) return;
        op->erase();
        changed = true;
      });
    }
  }

  tt::FuncOp function;
  int64_t warps;
};

} // namespace

LogicalResult assignLayouts(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>()) {
    ttg::ConfigAttr config = ttg::configOf(function);
    if (!config) return function.emitError("there is no ") << ttg::configName << " on this kernel";
    if (failed(Assigner(function, config.getWarps()).run())) return failure();
  }
  return success();
}

} // namespace tilewright::gpu
