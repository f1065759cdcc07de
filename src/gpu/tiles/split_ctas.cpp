// Splits a program across the CTAs of a cluster (num_ctas). Each CTA holds a slice of each tile along one dimension, so the later passes
// see the program of one CTA, with smaller tiles.
//   before: %i = tt.make_range {0, 128}                     %x = tt.load %p : tensor<128x!tt.ptr<f32>>
//   after:  %i = tt.make_range {0, 64} + rank * 64          %x = tt.load %p : tensor<64x!tt.ptr<f32>>        with two CTAs
//   before: %sum = tt.reduce %x                             after: %a, %b = ttg.read_cluster (tt.reduce %x);  %sum = %a + %b
// A tile is sharded along a dimension, or replicated in every CTA. As for layouts (layout_plan.h), tiles linked by elementwise operations
// and control flow form a class with one split. Rematerializable values are computed in each split that a user needs. A dot splits its
// rows. With too few rows it splits its columns, or K (split_k_in_cluster.h). The other operand is replicated.
//
// Other classes start split along the first dimension that is long enough, and change while that lowers the cost: every CTA repeats the
// work on replicated tiles, and a change of the split needs a DSMEM exchange. Every operation accepts replicated tiles, so the pass refuses
// nothing.
//
// If pad-tiles has padded columns, uneven_n_split.h splits the valid ones.
//
// A program with num_ctas = 1 gets more CTAs in two cases. If its rows wait for reductions in more registers than a CTA has, it gets the
// fewest CTAs whose registers hold them; otherwise the rows would be loaded again. If a dot's accumulators do not fit in one CTA, it gets
// two.
//
// Scalars are replicated. Memory operations on replicated tiles and scalars run in the first CTA only, which sends results that may change
// (atomics, volatile loads) to the other CTAs.
#include "gpu/cost_model/registers.h"
#include "gpu/passes.h"
#include "gpu/tiles/accumulator_bits.h"
#include "gpu/tiles/cta_split.h"
#include "gpu/tiles/demanded_extent.h"
#include "gpu/tiles/split_k_in_cluster.h"
#include "gpu/tiles/tile_equivalence.h"
#include "gpu/tiles/tile_shapes.h"
#include "gpu/tiles/ttg.h"
#include "gpu/tiles/uneven_n_split.h"
#include "ir/refusal.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The splits that an operation requires of its operands and gives its results. Entries for scalars are unused.
struct Forms {
  SmallVector<CtaSplit> operands, results;
};

/// True if the CTAs can compute slices of this operation's rematerializable result: not for tables, nor for a reshape, which mixes
/// dimensions.
bool canSlice(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return !isa<tt::ReshapeOp>(op) && (!constant || cast<DenseElementsAttr>(constant.getValue()).isSplat());
}

class Splitter {
public:
  Splitter(tt::FuncOp function, int64_t warps, int64_t blocks, SplitK alongK = {})
      : function(function), warps(warps), blocks(blocks), alongK(std::move(alongK)), b(function.getLoc(), function.getContext()),
        cheap(function, canSlice, std::numeric_limits<int64_t>::max()), classes(function, cheap) {}

  /// Decides the split of each tile. Changes nothing.
  void plan() {
    collect();
    unevenSplit = unevenSplitOf(function, warps, blocks);
    choose();
    if (!unevenSplit || (slicesStay() && columnsAlone())) return;
    unevenSplit.reset();
    started.clear();
    choose();
  }

  /// Returns the maximum number of registers of a thread, with `threads` threads, that tiles occupy across a reduction: tiles defined
  /// before it and used after it. Needs a plan.
  int64_t registersAtReductions(int64_t threads) {
    DenseMap<Operation *, int64_t> positions;
    for (auto [position, op] : llvm::enumerate(ops))
      positions[op] = int64_t(position);
    DenseMap<Operation *, int64_t> bits;
    SmallVector<Operation *> reductions;
    llvm::copy_if(ops, std::back_inserter(reductions), [](Operation *op) { return isa<tt::ReduceOp>(op); });
    for (auto [tile, shape] : shapes) {
      if (!leaderOf(tile)) continue;
      int64_t first = firstPosition(tile, positions), last = lastPosition(tile, positions);
      for (Operation *reduction : reductions)
        if (first < positions[reduction] && positions[reduction] < last)
          bits[reduction] += elementsOf(tile) / (formOf(tile).isReplicated() ? 1 : blocks) * tileBits(tile);
    }
    int64_t maxBits = 0;
    for (auto [reduction, sum] : bits)
      maxBits = std::max(maxBits, sum);
    return maxBits / 32 / threads;
  }

  /// Rewrites the function according to the plan.
  void apply() {
    SmallVector<Forms> wanted;
    for (Operation *op : ops)
      wanted.push_back(formsOf(op));
    for (auto [value, shape] : shapes)
      if (!cheap.contains(value)) forms[value] = formOf(value);
    b.setInsertionPointToStart(&function.getBody().front());
    rank = ptx::ClusterRankOp::create(b, b.getI32Type());
    isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rank, i32(0));
    for (auto [op, its] : llvm::zip(ops, wanted))
      rewrite(op, its);
  }

private:
  using Shape = ArrayRef<int64_t>;

  //===-------------------------------------------------------------------------------------------------------------- classes

  void noteShape(Value value) {
    if (isTile(value)) shapes[value] = SmallVector<int64_t>(cast<RankedTensorType>(value.getType()).getShape());
  }

  static SmallVector<Value> valuesOf(Operation *op) {
    SmallVector<Value> values(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(values, block.getArguments());
    return values;
  }

  void collect() {
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      for (Value value : valuesOf(op))
        noteShape(value);
    });
    for (const TileEquivalence::Class &one : classes.all())
      leaders.push_back(one.leader);
    llvm::sort(leaders, [&](Value x, Value y) { return programPosition(x) < programPosition(y); });
    for (Operation *op : ops) {
      SmallVector<Value> touched(op->getOperands());
      llvm::append_range(touched, valuesOf(op));
      SmallPtrSet<void *, 8> seen;
      for (Value value : touched)
        if (Value leader = leaderOf(value))
          if (seen.insert(leader.getAsOpaquePointer()).second) touching[leader].push_back(op);
    }
  }

  /// Returns the position of a tile in program order.
  ptrdiff_t programPosition(Value tile) { return shapes.find(tile) - shapes.begin(); }

  Value leaderOf(Value value) {
    std::optional<size_t> found = classes.find(value);
    return found ? classes.all()[*found].leader : Value();
  }

  static int64_t tileBits(Value tile) {
    Type element = cast<RankedTensorType>(tile.getType()).getElementType();
    return element.isIntOrFloat() ? int64_t(element.getIntOrFloatBitWidth()) : 64;
  }

  /// Returns the first and the last position at which a tile is live, in program order. A use in a loop extends the range of a tile from
  /// outside to the end of that loop.
  static int64_t firstPosition(Value tile, const DenseMap<Operation *, int64_t> &positions) {
    Operation *op = tile.getDefiningOp();
    if (!op) return positions.lookup(tile.getParentRegion()->getParentOp());
    return op->getNumRegions() && isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op) ? positions.lookup(&op->getRegions().back().front().back())
                                                                               : positions.lookup(op);
  }
  static int64_t lastPosition(Value tile, const DenseMap<Operation *, int64_t> &positions) {
    int64_t last = 0;
    for (Operation *user : tile.getUsers()) {
      last = std::max(last, positions.lookup(user));
      for (Operation *around = user->getParentOp(); !around->isAncestor(tile.getParentRegion()->getParentOp());
           around = around->getParentOp())
        if (isa<scf::ForOp, scf::WhileOp>(around)) last = std::max(last, positions.lookup(&around->getRegions().back().front().back()));
    }
    return last;
  }

  //===-------------------------------------------------------------------------------------------------- splits of operations

  Shape shapeOf(Value tile) { return shapes.find(tile)->second; }
  int64_t elementsOf(Value tile) { return elementCount({shapeOf(tile).begin(), shapeOf(tile).end()}); }
  bool canSplit(Shape shape, int64_t dim) { return shape[size_t(dim)] >= blocks; }
  CtaSplit firstOf(Shape shape) {
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
      if (canSplit(shape, dim)) return shardedAlong(dim);
    return replicated;
  }
  /// Returns the split of the tile's class. A rematerializable value has the default split, with which a class starts.
  CtaSplit formOf(Value tile) {
    Value leader = leaderOf(tile);
    return leader ? chosen.lookup(leader) : firstOf(shapeOf(tile));
  }

  /// Returns the split of tiles that must share one: that of the first tile that is in a class.
  CtaSplit formOfAny(ValueRange tiles) {
    for (Value tile : tiles)
      if (leaderOf(tile)) return formOf(tile);
    return formOf(tiles.front());
  }

  /// Returns the split of a dot's result. A dot that only accumulates keeps enough rows for wgmma in each CTA, if possible.
  CtaSplit splitOfDot(tt::DotOp dot) {
    if (alongK.dots.contains(dot)) return replicated;
    Shape shape = shapeOf(leaderOf(dot.getD()));
    size_t rows = shape.size() - 2, columns = rows + 1;
    if (unevenSplit) return shardedAlong(int64_t(columns));
    if (shape.size() == 3 && canSplit(shape, 0)) return shardedAlong(0);
    bool enoughColumns = shape[columns] / blocks >= minRowsPerCta;
    bool losesRows = shape[rows] >= wgmmaRows && shape[rows] / blocks < wgmmaRows;
    if (losesRows && enoughColumns && sumOf(dot)) return shardedAlong(int64_t(columns));
    if (shape[rows] / blocks >= minRowsPerCta) return shardedAlong(int64_t(rows));
    return enoughColumns ? shardedAlong(int64_t(columns)) : replicated;
  }

  Forms splitsOfDot(tt::DotOp dot) {
    CtaSplit form = formOf(dot.getD());
    int64_t rows = int64_t(shapeOf(dot.getD()).size()) - 2;
    if (alongK.dots.contains(dot)) return {{shardedAlong(1), shardedAlong(0), replicated}, {replicated}};
    if (form.isShardedAlong(rows)) return {{form, replicated, form}, {form}};
    if (form.isShardedAlong(rows + 1)) return {{replicated, form, form}, {form}};
    return {{form, form, form}, {form}};
  }

  static Forms allOf(Operation *op, CtaSplit form) {
    return {SmallVector<CtaSplit>(op->getNumOperands(), form), SmallVector<CtaSplit>(op->getNumResults(), form)};
  }

  /// Values that control flow passes have the split of the value that receives them.
  Forms formsOfControlFlow(Operation *op) {
    Forms its = allOf(op, replicated);
    auto operandsAs = [&](ValueRange targets) {
      size_t first = op->getNumOperands() - targets.size();
      for (auto [i, target] : llvm::enumerate(targets))
        if (isTile(target)) its.operands[first + i] = formOf(target);
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
      if (isTile(result)) its.results[i] = formOf(result);
    return its;
  }

  Forms formsOfReduction(tt::ReduceOp op) {
    CtaSplit form = formOfAny(op->getOperands());
    Forms its = allOf(op, form);
    for (CtaSplit &result : its.results)
      result = form.isShardedAlong(op.getAxis()) ? replicated : withoutDim(form, op.getAxis());
    return its;
  }

  /// Returns the splits of a reshape-like operation, derived from that of its result.
  Forms formsOfShape(Operation *op) {
    CtaSplit form = formOf(op->getResult(0));
    if (alongK.sums.contains(op)) return {{replicated}, {form}};
    return llvm::TypeSwitch<Operation *, Forms>(op)
        .Case([&](tt::ExpandDimsOp expand) { return Forms{{withoutDim(form, expand.getAxis())}, {form}}; })
        .Case([&](tt::BroadcastOp broadcast) {
          bool repeats = form.dim && shapeOf(broadcast.getSrc())[size_t(*form.dim)] == 1;
          return Forms{{repeats ? replicated : form}, {form}};
        })
        .Case([&](tt::TransOp trans) { return Forms{{form.dim ? shardedAlong(trans.getOrder()[size_t(*form.dim)]) : replicated}, {form}}; })
        .Case([&](tt::ReshapeOp reshape) {
          CtaSplit source = sourceOfReshape(shapeOf(reshape.getSrc()), shapeOf(reshape.getResult()), form, blocks);
          return Forms{{source}, {source.isReplicated() ? replicated : form}};
        })
        .Case([&](tt::JoinOp join) {
          return allOf(op, form.isShardedAlong(int64_t(shapeOf(join.getResult()).size()) - 1) ? replicated : form);
        })
        .Case([&](tt::SplitOp) { return allOf(op, form); })
        .Default([&](Operation *) { return allOf(op, replicated); });
  }

  Forms formsOf(Operation *op) {
    if (isElementwiseOnTiles(op)) return allOf(op, formOf(op->getResult(0)));
    return llvm::TypeSwitch<Operation *, Forms>(op)
        .Case<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::AssertOp>([&](auto) {
          if (!isTile(op->getOperand(0))) return allOf(op, replicated);
          SmallVector<Value> values(op->getResults());
          llvm::append_range(values, op->getOperands());
          return allOf(op, formOfAny(values));
        })
        .Case<scf::ForOp, scf::WhileOp, scf::IfOp, scf::YieldOp, scf::ConditionOp>([&](auto) { return formsOfControlFlow(op); })
        .Case<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::ReshapeOp, tt::JoinOp, tt::SplitOp>(
            [&](auto) { return formsOfShape(op); })
        .Case([&](tt::ReduceOp reduce) { return formsOfReduction(reduce); })
        .Case([&](tt::ScanOp scan) {
          CtaSplit form = formOf(op->getResult(0));
          return allOf(op, form.isShardedAlong(scan.getAxis()) ? replicated : form);
        })
        .Case([&](tt::DotOp dot) { return splitsOfDot(dot); })
        .Case([&](tt::GatherOp gather) {
          CtaSplit form = formOf(gather.getResult());
          return Forms{{form.isShardedAlong(gather.getAxis()) ? replicated : form, form}, {form}};
        })
        .Default([&](Operation *) { return allOf(op, replicated); });
  }

  /// True if no tile needs another split than it has. Slices of an uneven split unevenSplit, so they cannot be exchanged.
  bool slicesStay() {
    auto stays = [&](auto values, ArrayRef<CtaSplit> wanted) {
      return llvm::all_of(llvm::zip(values, wanted), [&](auto each) {
        auto [tile, form] = each;
        return !isTile(tile) || cheap.contains(tile) || formOf(tile) == form;
      });
    };
    return llvm::all_of(ops, [&](Operation *op) {
      if (op->getNumResults() == 1 && cheap.contains(op->getResult(0))) return true;
      Forms its = formsOf(op);
      return stays(op->getOperands(), its.operands) && stays(op->getResults(), its.results);
    });
  }

  /// True if all split ranges index columns.
  bool columnsAlone() {
    DenseSet<std::pair<Value, int64_t>> seen;
    return llvm::all_of(ops, [&](Operation *op) {
      if (op->getNumResults() == 1 && cheap.contains(op->getResult(0))) return true;
      return llvm::all_of(llvm::zip(op->getOperands(), formsOf(op).operands), [&](auto each) {
        auto [tile, form] = each;
        return !isTile(tile) || !cheap.contains(tile) || splitsColumnsAlone(tile, form, seen);
      });
    });
  }

  bool splitsColumnsAlone(Value tile, CtaSplit form, DenseSet<std::pair<Value, int64_t>> &seen) {
    if (form.isReplicated() || !cheap.contains(tile) || !seen.insert({tile, *form.dim}).second) return true;
    Operation *op = tile.getDefiningOp();
    if (auto range = dyn_cast<tt::MakeRangeOp>(op)) return isOfColumns(range, *unevenSplit);
    CtaSplit source = isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp>(op) ? sourceSplit(op, form) : form;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return !isTile(operand) || splitsColumnsAlone(operand, source, seen); });
  }

  //===--------------------------------------------------------------------------------------------------------------- choice

  int64_t changeCost(Value tile, CtaSplit from, CtaSplit to) {
    if (from == to) return 0;
    int64_t elements = elementsOf(tile);
    return (from == replicated ? 0 : clusterExchangeCost + clusterElementCost * elements) +
           (to == replicated ? 0 : clusterSliceCost + elements);
  }

  int64_t costOf(Operation *op) {
    if (op->getNumResults() == 1 && cheap.contains(op->getResult(0))) return 0;
    Forms its = formsOf(op);
    int64_t cost = 0;
    for (auto [operand, form] : llvm::zip(op->getOperands(), its.operands))
      if (isTile(operand) && !cheap.contains(operand)) cost += changeCost(operand, formOf(operand), form);
    for (auto [result, form] : llvm::zip(op->getResults(), its.results))
      if (isTile(result)) cost += changeCost(result, form, formOf(result));
    Value main = op->getNumResults() && isTile(op->getResult(0)) ? op->getResult(0) : Value();
    if (isa<tt::ReduceOp, tt::StoreOp>(op) && isTile(op->getOperand(0))) main = op->getOperand(0);
    if (!main) return cost * weightOf(op);
    if (auto reduce = dyn_cast<tt::ReduceOp>(op); reduce && its.operands[0].isShardedAlong(reduce.getAxis()))
      cost += clusterExchangeCost + clusterElementCost * elementsOf(main) / shapeOf(main)[reduce.getAxis()];
    bool isReplicated = (isa<tt::ReduceOp, tt::StoreOp>(op) ? its.operands : its.results)[0] == replicated;
    int64_t each = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op) ? clusterAccessCost : 1;
    return (cost + each * elementsOf(main) / (isReplicated ? 1 : blocks)) * weightOf(op);
  }

  /// Returns the initial split of a class: that of its operand if a reshape or a reduction defines it, else along the first dimension.
  CtaSplit startOf(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || op->getNumOperands() == 0 || !leaderOf(op->getOperand(0))) return firstOf(shapeOf(tile));
    CtaSplit form = formOf(op->getOperand(0));
    return llvm::TypeSwitch<Operation *, CtaSplit>(op)
        .Case([&](tt::ReduceOp) { return formsOf(op).results[0]; })
        .Case([&](tt::ExpandDimsOp expand) { return withDim(form, expand.getAxis()); })
        .Case([&](tt::TransOp trans) {
          if (form.isReplicated()) return replicated;
          return shardedAlong(llvm::find(trans.getOrder(), *form.dim) - trans.getOrder().begin());
        })
        .Case([&](tt::ReshapeOp) { return sourceOfReshape(shapeOf(tile), shapeOf(op->getOperand(0)), form, blocks); })
        .Case([&](tt::SplitOp) { return form.isShardedAlong(int64_t(shapeOf(tile).size())) ? replicated : form; })
        .Case([&](tt::JoinOp) { return form; })
        .Default([&](Operation *) { return firstOf(shapeOf(tile)); });
  }

  /// Sets the initial split of a dot's operands, and of the tiles that they are reshaped from.
  void startAs(Value tile, CtaSplit form) {
    Value leader = leaderOf(tile);
    if (!leader || !started.insert(leader).second) return;
    chosen[leader] = form;
    for (Value member : classes.all()[*classes.find(leader)].members)
      if (Operation *op = member.getDefiningOp(); op && isa<tt::TransOp, tt::ReshapeOp, tt::BroadcastOp, tt::ExpandDimsOp>(op))
        startAs(op->getOperand(0), formsOf(op).operands[0]);
  }

  void choose() {
    for (Value leader : leaders) // in a loop, a start may depend on a class that has none yet
      chosen[leader] = shardedAlong(0);
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
    for (Operation *op : dots)
      for (auto [operand, form] : llvm::zip(op->getOperands(), formsOf(op).operands))
        startAs(operand, form);
    constexpr int64_t maxSweeps = 8;
    bool changed = true;
    for (int64_t sweep = 0; sweep < maxSweeps && changed; ++sweep) {
      changed = false;
      for (Value leader : llvm::reverse(leaders))
        if (!fixed.contains(leader)) changed |= improve(leader);
    }
  }

  /// Chooses the cheapest split of a class, given the splits of the other ones. Returns true if it changed.
  bool improve(Value leader) {
    CtaSplit before = chosen[leader], best = before;
    auto cost = [&](CtaSplit form) {
      chosen[leader] = form;
      int64_t sum = 0;
      for (Operation *op : touching[leader])
        sum += costOf(op);
      return sum;
    };
    int64_t minCost = cost(before);
    SmallVector<CtaSplit> candidates = {replicated};
    for (int64_t dim = 0; dim < int64_t(shapeOf(leader).size()); ++dim)
      if (canSplit(shapeOf(leader), dim)) candidates.push_back(shardedAlong(dim));
    for (CtaSplit form : candidates)
      if (int64_t sum = cost(form); sum < minCost) {
        minCost = sum;
        best = form;
      }
    chosen[leader] = best;
    return best != before;
  }

  //===---------------------------------------------------------------------------------------------------------- changes of the split

  Value i32(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value))); }

  RankedTensorType typeIn(RankedTensorType type, CtaSplit form) {
    if (form.isReplicated()) return type;
    SmallVector<int64_t> shape(type.getShape());
    shape[size_t(*form.dim)] /= blocks;
    return RankedTensorType::get(shape, type.getElementType());
  }

  Value inForm(Value value, CtaSplit want) {
    if (cheap.contains(value)) return want == replicated ? value : sliceOfRematerializable(value, want);
    CtaSplit has = forms.lookup(value);
    if (has == want) return value;
    Value &copy = copies[{value, want.dim}];
    if (copy) return copy;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(value);
    Value all = has == replicated ? value : gathered(value, has);
    Value made = want == replicated ? all : sliced(all, want);
    forms[made] = want;
    return copies[{value, want.dim}] = made;
  }

  Value sliceOfRematerializable(Value value, CtaSplit form) {
    if (Value copy = copies.lookup({value, form.dim})) return copy;
    Operation *op = value.getDefiningOp();
    auto type = cast<RankedTensorType>(value.getType());
    RankedTensorType part = typeIn(type, form);
    CtaSplit source = form;
    if (isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp>(op)) source = sourceSplit(op, form);
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) { return isTile(operand) ? inForm(operand, source) : operand; });
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(op);
    if (unevenSplit && type.getDimSize(unsigned(*form.dim)) == unevenSplit->extent && statesValidExtent(op, *form.dim, *unevenSplit)) {
      Value own = ownedElements(b, part.getShape(), *form.dim, *unevenSplit);
      forms[own] = form;
      return copies[{value, form.dim}] = own;
    }
    Value result = tt::cloneAs(b, op, operands, part);
    if (auto range = result.getDefiningOp<tt::MakeRangeOp>()) {
      int64_t extent = part.getNumElements(), own = unevenSplit && type.getNumElements() == unevenSplit->extent ? unevenSplit->own : extent;
      range.setEnd(static_cast<uint32_t>(range.getStart() + extent));
      range->removeAttr(tt::validExtentName);                          // of a slice
      Value bounded = arith::AndIOp::create(b, rank, i32(blocks - 1)); // a no-op that gives range analysis the bounds
      Value start = arith::MulIOp::create(b, bounded, i32(own));
      result = arith::AddIOp::create(b, result, tt::SplatOp::create(b, part, start));
    }
    forms[result] = form;
    return copies[{value, form.dim}] = result;
  }

  static CtaSplit sourceSplit(Operation *op, CtaSplit form) {
    return llvm::TypeSwitch<Operation *, CtaSplit>(op)
        .Case([&](tt::ExpandDimsOp expand) { return withoutDim(form, expand.getAxis()); })
        .Case([&](tt::TransOp trans) { return shardedAlong(trans.getOrder()[size_t(*form.dim)]); })
        .Default([&](Operation *) {
          return cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(unsigned(*form.dim)) == 1 ? replicated : form;
        });
  }

  SmallVector<Value> readAllCtas(Value tile) {
    SmallVector<Type> types(size_t(blocks), tile.getType());
    return SmallVector<Value>(ttg::ReadClusterOp::create(b, types, tile, /*peer=*/IntegerAttr()).getResults());
  }

  /// Returns the whole tile: the concatenated slices of all CTAs.
  Value gathered(Value slice, CtaSplit form) {
    SmallVector<Value> parts = readAllCtas(slice);
    size_t dim = size_t(*form.dim);
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
  Value sliced(Value all, CtaSplit form) {
    for (int64_t bit = blocks / 2; bit; bit /= 2)
      all = halved(all, size_t(*form.dim), bit).first;
    return all;
  }

  /// Returns this CTA's slice of the sum of all CTAs' tiles. In each step two CTAs exchange halves and add. The order of the additions is
  /// the same in all CTAs.
  Value summed(Value part, CtaSplit form) {
    for (int64_t bit = blocks / 2; bit; bit /= 2) {
      auto [own, given] = halved(part, size_t(*form.dim), bit);
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
    SmallVector<SmallVector<Value>> parts(static_cast<size_t>(blocks));
    for (Value result : op.getResult())
      for (auto [block, tile] : llvm::enumerate(readAllCtas(asTile(result))))
        parts[block].push_back(tile);
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
    if (isa<tt::PrintOp>(op)) {
      auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
      op->moveBefore(branch.thenBlock()->getTerminator());
    }
    auto load = dyn_cast<tt::LoadOp>(op);
    bool isShared = (load && tt::mayChangeMeanwhile(load)) || isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op);
    if (!isShared || op->getResult(0).use_empty()) return;
    Value result = op->getResult(0);
    SmallVector<OpOperand *> uses = usesOf(result);
    b.setInsertionPointAfter(op);
    Value shared = asIn(readAllCtas(asTile(result)).front(), result.getType());
    forms[shared] = replicated;
    for (OpOperand *use : uses)
      use->set(shared);
  }

  /// Records the split of operations that `explain` reports.
  void remarkSplit(Operation *op, const Forms &its) {
    if (!isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::DotOp, tt::ReduceOp>(op)) return;
    bool consumes = isa<tt::StoreOp, tt::ReduceOp>(op);
    if (!isTile(consumes ? op->getOperand(0) : op->getResult(0))) return;
    CtaSplit form = (consumes ? its.operands : its.results)[0];
    std::string split = alongK.dots.contains(op) ? "each CTA computes a part of K, and the CTAs add their sums after the loop"
                        : form.dim               ? "split across CTAs along dimension " + std::to_string(*form.dim)
                                                 : "replicated in every CTA";
    ttg::remark(function, "split-ctas", op->getLoc(), split);
  }

  void rewriteSum(Operation *op, CtaSplit form) {
    b.setInsertionPoint(op);
    Value sum = summed(op->getOperand(0), form);
    forms[sum] = form;
    op->getResult(0).replaceAllUsesWith(sum);
    alongK.sums.erase(op);
    op->erase();
  }

  void rewrite(Operation *op, const Forms &its) {
    if (op->getNumResults() == 1 && cheap.contains(op->getResult(0))) return; // each user has its own copy
    b.setLoc(op->getLoc());
    if (alongK.sums.contains(op)) return rewriteSum(op, its.results[0]);
    for (auto [operand, form] : llvm::zip(op->getOpOperands(), its.operands))
      if (isTile(operand.get())) operand.set(inForm(operand.get(), form));
    b.setLoc(op->getLoc());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (isTile(argument)) argument.setType(typeIn(cast<RankedTensorType>(argument.getType()), formOf(argument)));
    for (auto [result, form] : llvm::zip(op->getResults(), its.results))
      if (isTile(result)) {
        result.setType(typeIn(cast<RankedTensorType>(result.getType()), form));
        forms[result] = form;
      }
    if (auto dot = dyn_cast<tt::DotOp>(op); dot && its.results[0].dim)
      splitValidExtent(dot, *its.results[0].dim, blocks, unevenSplit ? std::optional(unevenSplit->own) : std::nullopt);
    b.setInsertionPoint(op);
    if (auto store = dyn_cast<tt::StoreOp>(op); store && unevenSplit && its.operands[0].dim)
      storeOwn(b, store, *its.operands[0].dim, *unevenSplit);
    bool onMemory = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::PrintOp>(op);
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
        forms.try_emplace(replacement, replicated);
        replacement = inForm(replacement, formOf(result));
      }
      if (replacement != result)
        for (OpOperand *user : users)
          user->set(replacement);
    }
  }

  tt::FuncOp function;
  int64_t warps, blocks;
  SplitK alongK;
  std::optional<UnevenSplit> unevenSplit;
  ImplicitLocOpBuilder b;
  Value rank, isFirst;
  RematerializableTiles cheap;
  TileEquivalence classes;
  SmallVector<Operation *> ops;
  DenseSet<Value> started;
  llvm::MapVector<Value, SmallVector<int64_t>> shapes; // in program order
  SmallVector<Value> leaders;                          // likewise
  DenseMap<Value, SmallVector<Operation *>> touching;
  DenseMap<Value, CtaSplit> chosen;                                 // by class leader
  DenseMap<Value, CtaSplit> forms;                                  // current splits during the rewrite
  DenseMap<std::pair<Value, std::optional<int64_t>>, Value> copies; // by tile and split
};

} // namespace

/// Returns how many CTAs a program with num_ctas = 1 gets to hold its rows in registers: the fewest that suffice. With the maximum number
/// of CTAs only the rows have to fit, without a reserve for other values. See `maxCtasForRows` in docs/heuristics.md.
static int64_t ctasForRows(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  bool reduces = false, others = false;
  function.walk([&](Operation *op) {
    reduces |= isa<tt::ReduceOp>(op);
    others |= isa<tt::DotOp, tt::DotScaledOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::PrintOp>(op);
  });
  if (!target.clusters || !reduces || others) return 1;
  int64_t threads = config.getWarps() << laneBits;
  int64_t available = availableRegisters(threads, config.getMaxRegisters(), target);
  for (int64_t blocks = 1; blocks <= maxCtasForRows; blocks *= 2) {
    Splitter splitter(function, config.getWarps(), blocks);
    splitter.plan();
    int64_t reserved = blocks < maxCtasForRows ? otherRegistersNextToRows : 0;
    if (splitter.registersAtReductions(threads) + reserved <= available) return blocks;
  }
  return 1;
}

/// Returns 2 if one CTA cannot hold the accumulators of a dot in the maximum number of warps; otherwise 1. Each CTA has half of the
/// accumulators, and loads half of the shared operand (256x256 in one CTA spills 1144 bytes of a thread).
static int64_t ctasForAccumulators(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  int64_t dots = 0;
  bool others = false;
  function.walk([&](Operation *op) {
    dots += isa<tt::DotOp>(op);
    others |= isa<tt::DotScaledOp, tt::ReduceOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::PrintOp, tt::ElementwiseInlineAsmOp>(op);
  });
  if (!target.clusters || !dots || others || config.getMaxRegisters() != 0) return 1;
  int64_t registers = accumulatorBits(function) / 32, threads = target.registersPerSM / target.registersPerThread;
  threads = int64_t(1) << llvm::Log2_64(static_cast<uint64_t>(threads)); // of whole warps, a power of two
  int64_t available = threads * (target.registersPerThread - (dots == 1 ? otherRegistersNextToSums : otherRegisters));
  return registers <= available || registers > 2 * available ? 1 : 2;
}

LogicalResult splitCtas(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) -> LogicalResult {
    int64_t forRows = config.getCtas() == 1 ? ctasForRows(function, config, target) : 1;
    int64_t forSums = config.getCtas() == 1 ? ctasForAccumulators(function, config, target) : 1;
    if (int64_t blocks = std::max(forRows, forSums); blocks > 1) {
      config = ttg::ConfigAttr::get(function.getContext(), config.getWarps(), blocks, config.getStages(), config.getMaxRegisters(),
                                    config.getTarget());
      function->setAttr(ttg::configName, config);
      std::string why = std::to_string(blocks) + " CTAs share a program, because the registers of one cannot hold its " +
                        (forRows > 1 ? "rows" : "accumulators");
      ttg::remark(function, "split-ctas", function.getLoc(), why);
    }
    if (config.getCtas() == 1) return success();
    if (!target.clusters) return refuse(function, Diag::noClusters, {std::to_string(config.getCtas()), target.name});
    if (config.getCtas() > target.blocksPerCluster) return bug(function, "num_ctas is larger than a cluster");
    SplitK alongK = std::max(forRows, forSums) == 1 ? splitK(function, config.getCtas()) : SplitK();
    Splitter splitter(function, config.getWarps(), config.getCtas(), std::move(alongK));
    splitter.plan();
    splitter.apply();
    return success();
  });
}

} // namespace tilewright::gpu
