// See cta_split_plan.h. A tile is sharded along a dimension, or replicated in every CTA. As for layouts (layout_plan.h), tiles linked by
// elementwise operations and control flow form a class with one split. Rematerializable values are computed in each split that a user
// needs. A dot splits its rows. With too few rows it splits its columns, or K (split_k_in_cluster.h). The other operand is replicated.
//
// Other classes start split along the first dimension that is long enough, and change while that lowers the cost: every CTA repeats the
// work on replicated tiles, and a change of the split needs a DSMEM exchange.
#include "gpu/tiles/cluster/cta_split_plan.h"

#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/element_sizes.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace tilewright::gpu {

/// True if the CTAs can compute slices of this operation's rematerializable result: not for tables, nor for a reshape, which mixes
/// dimensions.
static bool canSlice(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return !isa<tt::ReshapeOp>(op) && (!constant || cast<DenseElementsAttr>(constant.getValue()).isSplat());
}

CtaSplitPlan::CtaSplitPlan(tt::FuncOp function, int64_t warps, int64_t ctas, SplitK alongK, const GpuTarget &target)
    : function(function), warps(warps), ctas(ctas), target(target), alongK(std::move(alongK)),
      unevenSplit(unevenSplitOf(function, warps, ctas)), rematerializable(function, canSlice, std::numeric_limits<int64_t>::max()),
      classes(function, rematerializable) {
  collect();
  if (ctas == 1) return; // all tiles are replicated
  choose();
  if (!unevenSplit || (slicesStay() && columnsAlone())) return;
  unevenSplit.reset();
  started.clear();
  choose();
}

//===-------------------------------------------------------------------------------------------------------------- classes

void CtaSplitPlan::noteShape(Value value) {
  if (isTile(value)) shapes[value] = SmallVector<int64_t>(cast<RankedTensorType>(value.getType()).getShape());
}

void CtaSplitPlan::collect() {
  for (Value argument : function.getArguments())
    noteShape(argument);
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    for (Value value : valuesOf(op))
      noteShape(value);
  });
  for (const TileEquivalence::Class &one : classes.all())
    leaders.push_back(one.leader);
  auto position = [&](Value tile) { return shapes.find(tile) - shapes.begin(); };
  llvm::sort(leaders, [&](Value x, Value y) { return position(x) < position(y); });
  for (Operation *op : ops) {
    SmallVector<Value> touched(op->getOperands());
    llvm::append_range(touched, valuesOf(op));
    SmallPtrSet<void *, 8> seen;
    for (Value value : touched)
      if (Value leader = leaderOf(value))
        if (seen.insert(leader.getAsOpaquePointer()).second) touching[leader].push_back(op);
  }
}

Value CtaSplitPlan::leaderOf(Value value) const {
  std::optional<size_t> found = classes.find(value);
  return found ? classes.all()[*found].leader : Value();
}

//===-------------------------------------------------------------------------------------------------- splits of operations

int64_t CtaSplitPlan::elementsOf(Value tile) const {
  return elementCount({shapeOf(tile).begin(), shapeOf(tile).end()});
}

CtaSplit CtaSplitPlan::firstOf(Shape shape) const {
  for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
    if (canSplit(shape, dim)) return shardedAlong(dim);
  return replicated;
}

CtaSplit CtaSplitPlan::splitOf(Value tile) const {
  Value leader = leaderOf(tile);
  return leader ? chosen.lookup(leader) : firstOf(shapeOf(tile));
}

/// Returns the split of tiles that must share one: that of the first tile that is in a class.
CtaSplit CtaSplitPlan::splitOfAny(ValueRange tiles) const {
  for (Value tile : tiles)
    if (leaderOf(tile)) return splitOf(tile);
  return splitOf(tiles.front());
}

/// Returns the split of a dot's result. A dot that only accumulates keeps enough rows for wgmma in each CTA, if possible.
CtaSplit CtaSplitPlan::splitOfDot(tt::DotOp dot) const {
  if (alongK.dots.contains(dot)) return replicated;
  Shape shape = shapeOf(leaderOf(dot.getD()));
  size_t rows = shape.size() - 2, columns = rows + 1;
  if (unevenSplit) return shardedAlong(int64_t(columns));
  if (shape.size() == 3 && canSplit(shape, 0)) return shardedAlong(0);
  bool enoughColumns = shape[columns] / ctas >= minRowsPerCta;
  bool losesRows = shape[rows] >= wgmmaRows && shape[rows] / ctas < wgmmaRows;
  if (losesRows && enoughColumns && sumOf(dot)) return shardedAlong(int64_t(columns));
  if (shape[rows] / ctas >= minRowsPerCta) return shardedAlong(int64_t(rows));
  return enoughColumns ? shardedAlong(int64_t(columns)) : replicated;
}

OpSplits CtaSplitPlan::splitsOfDot(tt::DotOp dot) const {
  CtaSplit split = splitOf(dot.getD());
  int64_t rows = int64_t(shapeOf(dot.getD()).size()) - 2;
  if (alongK.dots.contains(dot)) return {{shardedAlong(1), shardedAlong(0), replicated}, {replicated}};
  if (split.isShardedAlong(rows)) return {{split, replicated, split}, {split}};
  if (split.isShardedAlong(rows + 1)) return {{replicated, split, split}, {split}};
  return {{split, split, split}, {split}};
}

static OpSplits allOf(Operation *op, CtaSplit split) {
  return {SmallVector<CtaSplit>(op->getNumOperands(), split), SmallVector<CtaSplit>(op->getNumResults(), split)};
}

CtaSplit CtaSplitPlan::splitOfDot(tt::DotScaledOp dot) const {
  return scaledDotSplit(dot, target, warps, ctas).value_or(replicated);
}

/// The scales are [M, groups] of a, and [N, groups] of b.
OpSplits CtaSplitPlan::splitsOfDot(tt::DotScaledOp dot) const {
  CtaSplit split = splitOf(dot.getD());
  OpSplits its = allOf(dot, replicated);
  its.results[0] = its.operands[dot.getCMutable().getOperandNumber()] = split;
  if (split.isReplicated()) return its;
  bool isByRows = split.isShardedAlong(0);
  its.operands[(isByRows ? dot.getAMutable() : dot.getBMutable()).getOperandNumber()] = split;
  for (OpOperand &scale : isByRows ? dot.getAScaleMutable() : dot.getBScaleMutable())
    its.operands[scale.getOperandNumber()] = shardedAlong(0);
  return its;
}

/// Values that control flow passes have the split of the value that receives them.
OpSplits CtaSplitPlan::splitsOfControlFlow(Operation *op) const {
  OpSplits its = allOf(op, replicated);
  auto operandsAs = [&](ValueRange targets) {
    size_t first = op->getNumOperands() - targets.size();
    for (auto [i, target] : llvm::enumerate(targets))
      if (isTile(target)) its.operands[first + i] = splitOf(target);
  };
  Operation *parent = op->getParentOp();
  if (isa<scf::ForOp, scf::WhileOp>(op)) {
    size_t inits = isa<scf::ForOp>(op) ? cast<scf::ForOp>(op).getInits().size() : cast<scf::WhileOp>(op).getInits().size();
    operandsAs(op->getRegion(0).getArguments().take_back(inits));
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent); loop && isa<scf::YieldOp>(op)) {
    operandsAs(loop.getBeforeArguments());
  } else if (isa<scf::YieldOp, scf::ConditionOp>(op)) {
    operandsAs(parent->getResults());
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (isTile(result)) its.results[i] = splitOf(result);
  return its;
}

OpSplits CtaSplitPlan::splitsOfReduction(tt::ReduceOp op) const {
  CtaSplit split = splitOfAny(op->getOperands());
  OpSplits its = allOf(op, split);
  for (CtaSplit &result : its.results)
    result = split.isShardedAlong(op.getAxis()) ? replicated : withoutDim(split, op.getAxis());
  return its;
}

/// Returns the splits of a reshape-like operation, derived from that of its result.
OpSplits CtaSplitPlan::splitsOfShape(Operation *op) const {
  CtaSplit split = splitOf(op->getResult(0));
  if (alongK.sums.contains(op)) return {{replicated}, {split}};
  return llvm::TypeSwitch<Operation *, OpSplits>(op)
      .Case([&](tt::ExpandDimsOp expand) { return OpSplits{{withoutDim(split, expand.getAxis())}, {split}}; })
      .Case([&](tt::BroadcastOp broadcast) {
        bool repeats = split.dim && shapeOf(broadcast.getSrc())[size_t(*split.dim)] == 1;
        return OpSplits{{repeats ? replicated : split}, {split}};
      })
      .Case([&](tt::TransOp trans) {
        return OpSplits{{split.dim ? shardedAlong(trans.getOrder()[size_t(*split.dim)]) : replicated}, {split}};
      })
      .Case([&](tt::ReshapeOp reshape) {
        CtaSplit source = sourceOfReshape(shapeOf(reshape.getSrc()), shapeOf(reshape.getResult()), split, ctas);
        return OpSplits{{source}, {source.isReplicated() ? replicated : split}};
      })
      .Case([&](tt::JoinOp join) {
        return allOf(op, split.isShardedAlong(int64_t(shapeOf(join.getResult()).size()) - 1) ? replicated : split);
      })
      .Case([&](tt::SplitOp) { return allOf(op, split); })
      .Case([&](ttg::UnpackE2m1Op unpack) { return allOf(op, split.isShardedAlong(unpack.getDim()) ? replicated : split); })
      .Default([&](Operation *) { return allOf(op, replicated); });
}

OpSplits CtaSplitPlan::splitsOf(Operation *op) const {
  if (isElementwiseOnTiles(op)) return allOf(op, splitOf(op->getResult(0)));
  return llvm::TypeSwitch<Operation *, OpSplits>(op)
      .Case<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::AssertOp>([&](auto) {
        if (!isTile(op->getOperand(0))) return allOf(op, replicated);
        SmallVector<Value> values(op->getResults());
        llvm::append_range(values, op->getOperands());
        return allOf(op, splitOfAny(values));
      })
      .Case<scf::ForOp, scf::WhileOp, scf::IfOp, scf::YieldOp, scf::ConditionOp>([&](auto) { return splitsOfControlFlow(op); })
      .Case<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::ReshapeOp, tt::JoinOp, tt::SplitOp, ttg::UnpackE2m1Op>(
          [&](auto) { return splitsOfShape(op); })
      .Case([&](tt::ReduceOp reduce) { return splitsOfReduction(reduce); })
      .Case([&](tt::ScanOp scan) {
        CtaSplit split = splitOf(op->getResult(0));
        return allOf(op, split.isShardedAlong(scan.getAxis()) ? replicated : split);
      })
      .Case<tt::DotOp, tt::DotScaledOp>([&](auto dot) { return splitsOfDot(dot); })
      .Case([&](tt::GatherOp gather) {
        CtaSplit split = splitOf(gather.getResult());
        return OpSplits{{split.isShardedAlong(gather.getAxis()) ? replicated : split, split}, {split}};
      })
      .Default([&](Operation *) { return allOf(op, replicated); });
}

CtaSplit sourceSplit(Operation *op, CtaSplit split) {
  return llvm::TypeSwitch<Operation *, CtaSplit>(op)
      .Case([&](tt::ExpandDimsOp expand) { return withoutDim(split, expand.getAxis()); })
      .Case([&](tt::TransOp trans) { return shardedAlong(trans.getOrder()[size_t(*split.dim)]); })
      .Default([&](Operation *) {
        return cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(unsigned(*split.dim)) == 1 ? replicated : split;
      });
}

/// True if no tile needs another split than it has. Slices of an uneven split overlap, so they cannot be exchanged.
bool CtaSplitPlan::slicesStay() const {
  auto stays = [&](auto values, ArrayRef<CtaSplit> wanted) {
    return llvm::all_of(llvm::zip(values, wanted), [&](auto each) {
      auto [tile, split] = each;
      return !isTile(tile) || rematerializable.contains(tile) || splitOf(tile) == split;
    });
  };
  return llvm::all_of(ops, [&](Operation *op) {
    if (op->getNumResults() == 1 && rematerializable.contains(op->getResult(0))) return true;
    OpSplits its = splitsOf(op);
    return stays(op->getOperands(), its.operands) && stays(op->getResults(), its.results);
  });
}

/// True if all split ranges index columns.
bool CtaSplitPlan::columnsAlone() const {
  DenseSet<std::pair<Value, int64_t>> seen;
  return llvm::all_of(ops, [&](Operation *op) {
    if (op->getNumResults() == 1 && rematerializable.contains(op->getResult(0))) return true;
    return llvm::all_of(llvm::zip(op->getOperands(), splitsOf(op).operands), [&](auto each) {
      auto [tile, split] = each;
      return !isTile(tile) || !rematerializable.contains(tile) || splitsColumnsAlone(tile, split, seen);
    });
  });
}

bool CtaSplitPlan::splitsColumnsAlone(Value tile, CtaSplit split, DenseSet<std::pair<Value, int64_t>> &seen) const {
  if (split.isReplicated() || !rematerializable.contains(tile) || !seen.insert({tile, *split.dim}).second) return true;
  Operation *op = tile.getDefiningOp();
  if (auto range = dyn_cast<tt::MakeRangeOp>(op)) return isOfColumns(range, *unevenSplit);
  CtaSplit source = isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp>(op) ? sourceSplit(op, split) : split;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return !isTile(operand) || splitsColumnsAlone(operand, source, seen); });
}

//===--------------------------------------------------------------------------------------------------------------- choice

int64_t CtaSplitPlan::changeCost(Value tile, CtaSplit from, CtaSplit to) const {
  if (from == to) return 0;
  int64_t elements = elementsOf(tile);
  return (from == replicated ? 0 : clusterExchangeCost + clusterElementCost * elements) +
         (to == replicated ? 0 : clusterSliceCost + elements);
}

int64_t CtaSplitPlan::costOf(Operation *op) const {
  if (op->getNumResults() == 1 && rematerializable.contains(op->getResult(0))) return 0;
  OpSplits its = splitsOf(op);
  int64_t cost = 0;
  for (auto [operand, split] : llvm::zip(op->getOperands(), its.operands))
    if (isTile(operand) && !rematerializable.contains(operand)) cost += changeCost(operand, splitOf(operand), split);
  for (auto [result, split] : llvm::zip(op->getResults(), its.results))
    if (isTile(result)) cost += changeCost(result, split, splitOf(result));
  Value main = op->getNumResults() && isTile(op->getResult(0)) ? op->getResult(0) : Value();
  if (isa<tt::ReduceOp, tt::StoreOp>(op) && isTile(op->getOperand(0))) main = op->getOperand(0);
  if (!main) return cost * weightOf(op);
  if (auto reduce = dyn_cast<tt::ReduceOp>(op); reduce && its.operands[0].isShardedAlong(reduce.getAxis()))
    cost += clusterExchangeCost + clusterElementCost * elementsOf(main) / shapeOf(main)[reduce.getAxis()];
  bool isReplicated = (isa<tt::ReduceOp, tt::StoreOp>(op) ? its.operands : its.results)[0] == replicated;
  int64_t each = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op) ? clusterAccessCost : 1;
  return (cost + each * elementsOf(main) / (isReplicated ? 1 : ctas)) * weightOf(op);
}

/// Returns the initial split of a class: that of its operand if a reshape or a reduction defines it, else along the first dimension.
CtaSplit CtaSplitPlan::startOf(Value tile) const {
  Operation *op = tile.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || !leaderOf(op->getOperand(0))) return firstOf(shapeOf(tile));
  CtaSplit split = splitOf(op->getOperand(0));
  return llvm::TypeSwitch<Operation *, CtaSplit>(op)
      .Case([&](tt::ReduceOp) { return splitsOf(op).results[0]; })
      .Case([&](tt::ExpandDimsOp expand) { return withDim(split, expand.getAxis()); })
      .Case([&](tt::TransOp trans) {
        if (split.isReplicated()) return replicated;
        return shardedAlong(llvm::find(trans.getOrder(), *split.dim) - trans.getOrder().begin());
      })
      .Case([&](tt::ReshapeOp) { return sourceOfReshape(shapeOf(tile), shapeOf(op->getOperand(0)), split, ctas); })
      .Case([&](tt::SplitOp) { return split.isShardedAlong(int64_t(shapeOf(tile).size())) ? replicated : split; })
      .Case([&](tt::JoinOp) { return split; })
      .Case([&](ttg::UnpackE2m1Op unpack) { return split.isShardedAlong(unpack.getDim()) ? replicated : split; })
      .Default([&](Operation *) { return firstOf(shapeOf(tile)); });
}

/// True if an operation's operand can get the split that its result needs.
static bool changesShape(Operation *op) {
  return isa_and_nonnull<tt::TransOp, tt::ReshapeOp, tt::BroadcastOp, tt::ExpandDimsOp, ttg::UnpackE2m1Op>(op);
}

/// Sets the initial split of a dot's operands, and of the tiles that they are reshaped from.
void CtaSplitPlan::startAs(Value tile, CtaSplit split) {
  Value leader = leaderOf(tile);
  if (!leader || !started.insert(leader).second) return;
  chosen[leader] = split;
  for (Value member : classes.all()[*classes.find(leader)].members)
    if (Operation *op = member.getDefiningOp(); changesShape(op)) startAs(op->getOperand(0), splitsOf(op).operands[0]);
}

void CtaSplitPlan::choose() {
  for (Value leader : leaders) // in a loop, a start may depend on a class that has none yet
    chosen[leader] = firstOf(shapeOf(leader));
  for (Value leader : leaders) // in program order, as are the first members of the classes
    chosen[leader] = startOf(leader);
  DenseSet<Value> fixed;
  SmallVector<Operation *> dots;
  for (Operation *op : ops)
    if (isa<tt::DotOp>(op)) {
      Value leader = leaderOf(op->getResult(0));
      chosen[leader] = splitOfDot(cast<tt::DotOp>(op));
      fixed.insert(leader);
      started.insert(leader);
      dots.push_back(op);
    } else if (alongK.sums.contains(op)) { // columns: a CTA's part of the accumulator registers
      Value leader = leaderOf(op->getResult(0));
      chosen[leader] = shardedAlong(1);
      fixed.insert(leader);
    }
  for (Operation *op : ops) // other dots with the same accumulator accept any split
    if (auto dot = dyn_cast<tt::DotScaledOp>(op)) {
      Value leader = leaderOf(dot.getD());
      chosen[leader] = splitOfDot(dot);
      fixed.insert(leader);
      started.insert(leader);
      dots.push_back(dot);
    }
  for (Operation *op : dots)
    for (auto [operand, split] : llvm::zip(op->getOperands(), splitsOf(op).operands))
      startAs(operand, split);
  bool changed = true;
  for (int64_t sweep = 0; sweep < maxSplitSweeps && changed; ++sweep) {
    changed = false;
    for (Value leader : llvm::reverse(leaders))
      if (!fixed.contains(leader)) changed |= improve(leader, fixed);
  }
}

/// Lets a class have a split, and the classes that it is made of by expand_dims and the like the splits from which it needs no exchange, up
/// to a maximum number. `moves` gets the splits that they had.
void CtaSplitPlan::moveWithSources(Value leader, CtaSplit split, const DenseSet<Value> &fixed, Moves &moves) {
  if (int64_t(moves.size()) == maxMovedClasses || chosen[leader] == split || fixed.contains(leader) ||
      !moves.insert({leader, chosen[leader]}).second)
    return;
  chosen[leader] = split;
  for (Value member : classes.all()[*classes.find(leader)].members)
    if (Operation *op = member.getDefiningOp(); changesShape(op))
      if (Value source = leaderOf(op->getOperand(0))) moveWithSources(source, splitsOf(op).operands[0], fixed, moves);
}

/// Chooses the cheapest split of a class, given the splits of the other ones, or with those of the classes that it is made of. So a row of
/// columns that all CTAs need is not loaded in parts and exchanged. Returns true if a split changed.
bool CtaSplitPlan::improve(Value leader, const DenseSet<Value> &fixed) {
  auto costOfMoves = [&](const Moves &moves) {
    llvm::SmallPtrSet<Operation *, 16> seen;
    int64_t sum = 0;
    for (auto [moved, before] : moves)
      for (Operation *op : touching[moved])
        if (seen.insert(op).second) sum += costOf(op);
    return sum;
  };
  auto swapSplits = [&](Moves &moves) {
    for (auto &[moved, split] : moves)
      std::swap(chosen[moved], split);
  };
  SmallVector<CtaSplit> candidates = {replicated};
  for (int64_t dim = 0; dim < int64_t(shapeOf(leader).size()); ++dim)
    if (canSplit(shapeOf(leader), dim)) candidates.push_back(shardedAlong(dim));
  Moves best;
  int64_t bestGain = 0;
  for (CtaSplit split : candidates)
    for (bool withSources : {false, true}) {
      if (split == chosen[leader]) continue;
      Moves moves;
      if (withSources)
        moveWithSources(leader, split, fixed, moves);
      else
        moves.insert({leader, std::exchange(chosen[leader], split)});
      int64_t after = costOfMoves(moves);
      swapSplits(moves);
      int64_t gain = costOfMoves(moves) - after;
      if (gain <= bestGain) continue;
      bestGain = gain;
      best = std::move(moves);
    }
  swapSplits(best);
  return bestGain > 0;
}

//===-------------------------------------------------------------------------------------------------------------- registers

int64_t CtaSplitPlan::accumulatorBits(Value tile) const {
  Dims shape(shapeOf(tile).begin(), shapeOf(tile).end()), valid = shape;
  auto dot = tile.getDefiningOp<tt::DotOp>();
  if (dot) valid = validExtent(dot);
  if (CtaSplit split = splitOf(tile); split.dim) {
    shape[size_t(*split.dim)] /= ctas;
    valid = slicedExtent(valid, shape, *split.dim, ctas, unevenSplit ? std::optional(unevenSplit->own) : std::nullopt);
  }
  return tilewright::gpu::accumulatorBits(tile.getType(), shape, valid);
}

int64_t CtaSplitPlan::bitsAtReductions(Block *block, const LivenessBlockInfo &live) const {
  DenseMap<Operation *, size_t> numbers;
  for (auto [number, op] : llvm::enumerate(*block))
    numbers[&op] = number;
  SmallVector<int64_t> changes(numbers.size() + 1, 0); // of the bits that are live across an operation, from the operation before it
  auto add = [&](Value tile, Operation *definition) {
    if (!leaderOf(tile)) return;
    size_t first = definition ? numbers.lookup(definition) + 1 : 0;
    size_t end =
        live.isLiveOut(tile) ? numbers.size() : numbers.lookup(live.getEndOperation(tile, definition ? definition : &block->front()));
    if (first >= end) return;
    int64_t bits = elementsOf(tile) / (splitOf(tile).isReplicated() ? 1 : ctas) * ttg::elementBits(tile.getType());
    changes[first] += bits, changes[end] -= bits;
  };
  for (Value tile : live.in())
    add(tile, nullptr);
  for (Value argument : block->getArguments())
    add(argument, nullptr);
  for (Operation &op : *block)
    for (Value result : op.getResults())
      add(result, &op);
  int64_t bits = 0, maxBits = 0;
  for (auto [op, change] : llvm::zip(*block, changes)) {
    bits += change;
    if (isa<tt::ReduceOp>(op)) maxBits = std::max(maxBits, bits);
  }
  return maxBits;
}

int64_t CtaSplitPlan::registersAtReductions(const Liveness &liveness, int64_t threads) const {
  llvm::SetVector<Block *> blocks;
  for (Operation *op : ops)
    if (isa<tt::ReduceOp>(op)) blocks.insert(op->getBlock());
  int64_t maxBits = 0;
  for (Block *block : blocks)
    maxBits = std::max(maxBits, bitsAtReductions(block, *liveness.getLiveness(block)));
  return maxBits / 32 / threads;
}

} // namespace tilewright::gpu
