// See the header. Example: the attention kernel:
//   class of scores [64x64]: dot, scale, exp2, ...            class of row maxima [64], carried by the loop
//   class of the output [64x128], carried by the loop         pointers, masks, ranges: no class
#include "gpu/ttg/tile_equivalence.h"

#include "gpu/cost_model/thresholds.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

SmallVector<Value> valuesOf(Operation *op) {
  SmallVector<Value> values(op->getResults());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(values, block.getArguments());
  return values;
}

bool isElementwiseOnTiles(Operation *op) {
  if (op->getNumResults() == 0 || !isTile(op->getResult(0))) return false;
  return op->hasTrait<OpTrait::Elementwise>() || isa<arith::SelectOp, tt::MapElementwiseOp>(op);
}

int64_t weightOf(Operation *op) {
  int64_t weight = 1;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(parent)) weight = std::min(maxAssumedIterations, weight * assumedIterations);
  return weight;
}

//===--------------------------------------------------------------------------------------------------------- rematerializable values

/// True if the result can be rematerialized whenever all tile operands can.
static bool staysRematerializable(Operation *op) {
  return isa<tt::MakeRangeOp, tt::SplatOp, ub::PoisonOp, tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::ReshapeOp, tt::AddPtrOp,
             tt::BitcastOp, tt::IntToPtrOp, tt::PtrToIntOp>(op) ||
         op->getName().getDialectNamespace() == arith::ArithDialect::getDialectNamespace();
}

RematerializableTiles::RematerializableTiles(tt::FuncOp function, function_ref<bool(Operation *)> canRematerialize, int64_t deepest) {
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() != 1 || !isTile(op->getResult(0)) || op->getNumRegions() || !staysRematerializable(op) || !canRematerialize(op))
      return;
    int64_t depth = 1;
    for (Value operand : op->getOperands()) {
      if (!isTile(operand)) continue;
      auto from = depths.find(operand);
      if (from == depths.end()) return;
      depth = std::max(depth, from->second + 1);
    }
    if (depth <= deepest) depths[op->getResult(0)] = depth;
  });
}

//===------------------------------------------------------------------------------------------------------------- classes

void TileEquivalence::add(Value value, const RematerializableTiles &cheap) {
  if (!isTile(value) || cheap.contains(value)) return;
  links.insert(value);
  values.push_back(value);
}

void TileEquivalence::unite(ValueRange together) {
  Value first;
  for (Value value : together) {
    if (!value || !links.contains(value)) continue; // no mask, a scalar, or a rematerializable value
    if (first) links.unionSets(first, value);
    first = value;
  }
}

void TileEquivalence::linkControlFlow(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp loop) {
        for (auto [init, argument, yielded, result] :
             llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
          unite({argument, init, yielded, result});
      })
      .Case([&](scf::WhileOp loop) {
        for (auto [argument, init, yielded] : llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp()->getOperands()))
          unite({argument, init, yielded});
        for (auto [argument, passed, result] : llvm::zip(loop.getAfterArguments(), loop.getConditionOp().getArgs(), loop.getResults()))
          unite({argument, passed, result});
      })
      .Case([&](scf::IfOp branch) {
        for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
          if (!region->empty() && branch.getNumResults())
            for (auto [result, yielded] : llvm::zip(branch.getResults(), region->front().getTerminator()->getOperands()))
              unite({result, yielded});
      });
}

void TileEquivalence::link(Operation *op) {
  // Pointers loaded from memory share the layout of the accessed tile: no layout makes such an access wide.
  bool together = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::ScanOp, ttg::ReadClusterOp>(op);
  if (together || isElementwiseOnTiles(op)) {
    SmallVector<Value> all(op->getOperands());
    llvm::append_range(all, op->getResults());
    return unite(all);
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case<scf::ForOp, scf::WhileOp, scf::IfOp>([&](auto) { linkControlFlow(op); })
      .Case<tt::DotOp, tt::DotScaledOp>([&](auto dot) { unite({dot.getC(), dot.getD()}); })
      .Case([&](tt::GatherOp gather) { unite({gather.getIndices(), gather.getResult()}); })
      .Case<tt::ReduceOp, tt::JoinOp, tt::CatOp, tt::SplitOp, tt::HistogramOp>([&](auto) {
        unite(op->getOperands());
        unite(op->getResults());
      });
}

TileEquivalence::TileEquivalence(tt::FuncOp function, const RematerializableTiles &cheap) {
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : valuesOf(op))
      add(value, cheap);
  });
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { link(op); });
  DenseMap<Value, size_t> ofLeader;
  for (Value value : values) {
    Value leader = links.getLeaderValue(value);
    auto [it, inserted] = ofLeader.try_emplace(leader, classes.size());
    if (inserted) classes.push_back({leader, {}});
    classes[it->second].members.push_back(value);
    numbers[value] = it->second;
  }
}

std::optional<size_t> TileEquivalence::find(Value tile) const {
  auto found = numbers.find(tile);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

} // namespace tilewright::gpu
