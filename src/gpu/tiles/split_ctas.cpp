// A program may run on several blocks (num_ctas), a cluster. They share its tiles: each holds a slice along one dimension, so that the rest
// of the compiler sees the program of one block, with smaller tiles.
//   before: %i = tt.make_range {0, 128}                     %x = tt.load %p : tensor<128x!tt.ptr<f32>>
//   after:  %i = tt.make_range {0, 64} + rank * 64          %x = tt.load %p : tensor<64x!tt.ptr<f32>>        with two blocks
//   before: %sum = tt.reduce %x                             after: %a, %b = ttg.read_cluster (tt.reduce %x);  %sum = %a + %b
// A tile is split along a dimension, or whole: every block has all of it. As for layouts (layout_plan.h), tiles linked by elementwise work
// and control flow form a class with one answer, and cheap tiles are computed in each form that is wanted. A product splits its rows
// (its columns, or K, where there are too few rows; see split_k_in_cluster.h): the other operand is whole. Else classes start out split along the
// first dimension that is long enough and change as long as that makes it cheaper: what is whole is work done by all, and between different
// forms stands an exchange. Any operation works on whole tiles, so nothing is refused.
//
// Columns that pad-tiles has added are not split: see uneven_n_split.h.
//
// Where a program has one block, and its rows wait for reductions in more registers than that block has, it gets the fewest blocks whose
// registers hold them: without, the rows would go to memory and back once more. Where a product's accumulators do not fit in one block, it
// gets two.
//
// Scalars are the same in all blocks. What a block does to memory for a whole tile or a scalar, the first one does alone; what comes back
// from there (atomics, volatile loads) the others get from it.
#include "gpu/passes.h"
#include "gpu/tiles/uneven_n_split.h"
#include "gpu/tiles/valid_extent.h"
#include "gpu/tiles/registers.h"
#include "gpu/tiles/cta_split.h"
#include "gpu/tiles/split_k_in_cluster.h"
#include "gpu/tiles/tile_equivalence.h"
#include "gpu/tiles/tile_shapes.h"
#include "gpu/tiles/ttg.h"
#include "ir/volatile_load.h"
#include "ir/refusal.h"
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

// Weights of the choice, in elements that one block computes: an exchange is two barriers of the cluster and a way through shared memory. A
// product's operand is rather loaded by every block than exchanged.
constexpr int64_t exchangeStart = 500, exchangeEach = 16, accessEach = 16, sliceStart = 10;
constexpr int64_t minRowsOfAll = 16; // of a product, in each block: less is no tensor core's work

/// What an operation wants of its operands, and in what form it leaves its results. Scalars have no meaning here.
struct Forms {
  SmallVector<CtaSplit> operands, results;
};

/// Slices of cheap tiles are computed in the blocks, but for those of tables and where a change of shape mixes dimensions.
bool canSlice(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return !isa<tt::ReshapeOp>(op) && (!constant || cast<DenseElementsAttr>(constant.getValue()).isSplat());
}

class Splitter {
public:
  Splitter(tt::FuncOp function, int64_t warps, int64_t blocks)
      : function(function), warps(warps), blocks(blocks), b(function.getLoc(), function.getContext()),
        cheap(function, canSlice, std::numeric_limits<int64_t>::max()), classes(function, cheap) {}

  /// Decides in what form each tile is. Nothing is changed yet.
  void plan() {
    collect();
    overlap = unevenSplitOf(function, warps, blocks);
    choose();
    if (!overlap || (slicesStay() && columnsAlone())) return;
    overlap.reset();
    started.clear();
    choose();
  }

  /// The most registers that tiles take in each of so many threads while a reduction is under way: what was there before and is used behind
  /// it. Needs a plan.
  int64_t registersAtReductions(int64_t threads) {
    DenseMap<Operation *, int64_t> places;
    for (auto [place, op] : llvm::enumerate(ops))
      places[op] = int64_t(place);
    DenseMap<Operation *, int64_t> bits;
    SmallVector<Operation *> reductions;
    llvm::copy_if(ops, std::back_inserter(reductions), [](Operation *op) { return isa<tt::ReduceOp>(op); });
    for (auto [tile, shape] : shapes) {
      if (!leaderOf(tile)) continue;
      int64_t first = firstPlace(tile, places), last = lastPlace(tile, places);
      for (Operation *reduction : reductions)
        if (first < places[reduction] && places[reduction] < last)
          bits[reduction] += elementsOf(tile) / (formOf(tile).isReplicated() ? 1 : blocks) * tileBits(tile);
    }
    int64_t most = 0;
    for (auto [reduction, sum] : bits)
      most = std::max(most, sum);
    return most / 32 / threads;
  }

  /// Follows the plan.
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
    llvm::sort(leaders, [&](Value x, Value y) { return locationOf(x) < locationOf(y); });
    for (Operation *op : ops) {
      SmallVector<Value> touched(op->getOperands());
      llvm::append_range(touched, valuesOf(op));
      SmallPtrSet<void *, 8> seen;
      for (Value value : touched)
        if (Value leader = leaderOf(value))
          if (seen.insert(leader.getAsOpaquePointer()).second) touching[leader].push_back(op);
    }
  }

  /// Where a tile comes in the program.
  ptrdiff_t locationOf(Value tile) { return shapes.find(tile) - shapes.begin(); }

  Value leaderOf(Value value) {
    std::optional<size_t> found = classes.find(value);
    return found ? classes.all()[*found].leader : Value();
  }

  static int64_t tileBits(Value tile) {
    Type element = cast<RankedTensorType>(tile.getType()).getElementType();
    return element.isIntOrFloat() ? int64_t(element.getIntOrFloatBitWidth()) : 64;
  }

  /// From where on a tile is held, in the order of the text, and where that is over: behind a loop around its last use, if it comes from
  /// before the loop.
  static int64_t firstPlace(Value tile, const DenseMap<Operation *, int64_t> &places) {
    Operation *op = tile.getDefiningOp();
    if (!op) return places.lookup(tile.getParentRegion()->getParentOp());
    return op->getNumRegions() && isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op) ? places.lookup(&op->getRegions().back().front().back())
                                                                               : places.lookup(op);
  }
  static int64_t lastPlace(Value tile, const DenseMap<Operation *, int64_t> &places) {
    int64_t last = 0;
    for (Operation *user : tile.getUsers()) {
      last = std::max(last, places.lookup(user));
      for (Operation *around = user->getParentOp(); !around->isAncestor(tile.getParentRegion()->getParentOp());
           around = around->getParentOp())
        if (isa<scf::ForOp, scf::WhileOp>(around)) last = std::max(last, places.lookup(&around->getRegions().back().front().back()));
    }
    return last;
  }

  //===-------------------------------------------------------------------------------------------------- nature of operations

  Shape shapeOf(Value tile) { return shapes.find(tile)->second; }
  int64_t elementsOf(Value tile) { return elementCount({shapeOf(tile).begin(), shapeOf(tile).end()}); }
  bool canSplit(Shape shape, int64_t dim) { return shape[size_t(dim)] >= blocks; }
  CtaSplit firstOf(Shape shape) {
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
      if (canSplit(shape, dim)) return along(dim);
    return whole;
  }
  /// Of its class. Cheap tiles that are not wanted in a certain form have the one that a class would start with.
  CtaSplit formOf(Value tile) {
    Value leader = leaderOf(tile);
    return leader ? chosen.lookup(leader) : firstOf(shapeOf(tile));
  }

  /// Of tiles that have one form together: the first that is in a class decides.
  CtaSplit formOfAny(ValueRange tiles) {
    for (Value tile : tiles)
      if (leaderOf(tile)) return formOf(tile);
    return formOf(tiles.front());
  }

  /// In which form a product is made. One that only adds up leaves each block enough rows for a warpgroup's product, if it can.
  CtaSplit formOfProduct(tt::DotOp dot) {
    if (dot->hasAttr(splitKName)) return whole;
    Shape shape = shapeOf(leaderOf(dot.getD()));
    size_t rows = shape.size() - 2, columns = rows + 1;
    if (overlap) return along(int64_t(columns));
    if (shape.size() == 3 && canSplit(shape, 0)) return along(0);
    bool enoughColumns = shape[columns] / blocks >= minRowsOfAll;
    bool losesRows = shape[rows] >= warpgroupRows && shape[rows] / blocks < warpgroupRows;
    if (losesRows && enoughColumns && sumOf(dot)) return along(int64_t(columns));
    if (shape[rows] / blocks >= minRowsOfAll) return along(int64_t(rows));
    return enoughColumns ? along(int64_t(columns)) : whole;
  }

  Forms splitsOfDot(tt::DotOp dot) {
    CtaSplit form = formOf(dot.getD());
    int64_t rows = int64_t(shapeOf(dot.getD()).size()) - 2;
    if (dot->hasAttr(splitKName)) return {{along(1), along(0), whole}, {whole}};
    if (form.isShardedAlong(rows)) return {{form, whole, form}, {form}};
    if (form.isShardedAlong(rows + 1)) return {{whole, form, form}, {form}};
    return {{form, form, form}, {form}};
  }

  static Forms allOf(Operation *op, CtaSplit form) {
    return {SmallVector<CtaSplit>(op->getNumOperands(), form), SmallVector<CtaSplit>(op->getNumResults(), form)};
  }

  /// What control flow passes on has the form of the value that receives it.
  Forms formsOfControlFlow(Operation *op) {
    Forms its = allOf(op, whole);
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
      result = form.isShardedAlong(op.getAxis()) ? whole : withoutDim(form, op.getAxis());
    return its;
  }

  /// A change of shape, from the form of its result.
  Forms formsOfShape(Operation *op) {
    CtaSplit form = formOf(op->getResult(0));
    if (op->hasAttr(clusterReduceName)) return {{whole}, {form}};
    return llvm::TypeSwitch<Operation *, Forms>(op)
        .Case([&](tt::ExpandDimsOp expand) { return Forms{{withoutDim(form, expand.getAxis())}, {form}}; })
        .Case([&](tt::BroadcastOp broadcast) {
          bool repeats = form.dim && shapeOf(broadcast.getSrc())[size_t(*form.dim)] == 1;
          return Forms{{repeats ? whole : form}, {form}};
        })
        .Case([&](tt::TransOp trans) { return Forms{{form.dim ? along(trans.getOrder()[size_t(*form.dim)]) : whole}, {form}}; })
        .Case([&](tt::ReshapeOp reshape) {
          CtaSplit source = sourceOfReshape(shapeOf(reshape.getSrc()), shapeOf(reshape.getResult()), form, blocks);
          return Forms{{source}, {source.isReplicated() ? whole : form}};
        })
        .Case([&](tt::JoinOp join) { return allOf(op, form.isShardedAlong(int64_t(shapeOf(join.getResult()).size()) - 1) ? whole : form); })
        .Case([&](tt::SplitOp) { return allOf(op, form); })
        .Default([&](Operation *) { return allOf(op, whole); });
  }

  Forms formsOf(Operation *op) {
    if (isElementwiseOnTiles(op)) return allOf(op, formOf(op->getResult(0)));
    return llvm::TypeSwitch<Operation *, Forms>(op)
        .Case<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::AssertOp>([&](auto) {
          if (!isTile(op->getOperand(0))) return allOf(op, whole);
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
          return allOf(op, form.isShardedAlong(scan.getAxis()) ? whole : form);
        })
        .Case([&](tt::DotOp dot) { return splitsOfDot(dot); })
        .Case([&](tt::GatherOp gather) {
          CtaSplit form = formOf(gather.getResult());
          return Forms{{form.isShardedAlong(gather.getAxis()) ? whole : form, form}, {form}};
        })
        .Default([&](Operation *) { return allOf(op, whole); });
  }

  /// Whether no tile is wanted in another form than it has: what is whole has no slices that reach into others.
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

  /// Whether no range but those of columns is split.
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
    if (auto range = dyn_cast<tt::MakeRangeOp>(op)) return isOfColumns(range, *overlap);
    CtaSplit source = isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp>(op) ? sourceOfRematerializable(op, form) : form;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return !isTile(operand) || splitsColumnsAlone(operand, source, seen); });
  }

  //===--------------------------------------------------------------------------------------------------------------- choice

  int64_t changeCost(Value tile, CtaSplit from, CtaSplit to) {
    if (from == to) return 0;
    int64_t elements = elementsOf(tile);
    return (from == whole ? 0 : exchangeStart + exchangeEach * elements) + (to == whole ? 0 : sliceStart + elements);
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
      cost += exchangeStart + exchangeEach * elementsOf(main) / shapeOf(main)[reduce.getAxis()];
    bool isReplicated = (isa<tt::ReduceOp, tt::StoreOp>(op) ? its.operands : its.results)[0] == whole;
    int64_t each = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(op) ? accessEach : 1;
    return (cost + each * elementsOf(main) / (isReplicated ? 1 : blocks)) * weightOf(op);
  }

  /// As it comes, where a change of shape or a reduction makes it, else split along the first dimension.
  CtaSplit startOf(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || op->getNumOperands() == 0 || !leaderOf(op->getOperand(0))) return firstOf(shapeOf(tile));
    CtaSplit form = formOf(op->getOperand(0));
    return llvm::TypeSwitch<Operation *, CtaSplit>(op)
        .Case([&](tt::ReduceOp) { return formsOf(op).results[0]; })
        .Case([&](tt::ExpandDimsOp expand) { return withDim(form, expand.getAxis()); })
        .Case([&](tt::TransOp trans) {
          if (form.isReplicated()) return whole;
          return along(llvm::find(trans.getOrder(), *form.dim) - trans.getOrder().begin());
        })
        .Case([&](tt::ReshapeOp) { return sourceOfReshape(shapeOf(tile), shapeOf(op->getOperand(0)), form, blocks); })
        .Case([&](tt::SplitOp) { return form.isShardedAlong(int64_t(shapeOf(tile).size())) ? whole : form; })
        .Case([&](tt::JoinOp) { return form; })
        .Default([&](Operation *) { return firstOf(shapeOf(tile)); });
  }

  /// The operands of a product, and what they are made of by changes of shape, start out as it wants them.
  void startAs(Value tile, CtaSplit form) {
    Value leader = leaderOf(tile);
    if (!leader || !started.insert(leader).second) return;
    chosen[leader] = form;
    for (Value member : classes.all()[*classes.find(leader)].members)
      if (Operation *op = member.getDefiningOp(); op && isa<tt::TransOp, tt::ReshapeOp, tt::BroadcastOp, tt::ExpandDimsOp>(op))
        startAs(op->getOperand(0), formsOf(op).operands[0]);
  }

  void choose() {
    for (Value leader : leaders) // what a start is derived from may have none yet, in a loop
      chosen[leader] = along(0);
    for (Value leader : leaders) // in the program's order, as are the first of each class
      chosen[leader] = startOf(leader);
    DenseSet<Value> fixed;
    SmallVector<Operation *> dots;
    for (Operation *op : ops)
      if (isa<tt::DotOp>(op)) {
        Value leader = leaderOf(op->getResult(0));
        chosen[leader] = formOfProduct(cast<tt::DotOp>(op));
        fixed.insert(leader);
        started.insert(leader);
        dots.push_back(op);
      } else if (op->hasAttr(clusterReduceName)) { // columns: a block's part of the accumulator's registers
        Value leader = leaderOf(op->getResult(0));
        chosen[leader] = along(1);
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

  /// Takes the cheapest form of a class, as the others are now. Whether that is another one.
  bool improve(Value leader) {
    CtaSplit before = chosen[leader], best = before;
    auto cost = [&](CtaSplit form) {
      chosen[leader] = form;
      int64_t sum = 0;
      for (Operation *op : touching[leader])
        sum += costOf(op);
      return sum;
    };
    int64_t least = cost(before);
    SmallVector<CtaSplit> candidates = {whole};
    for (int64_t dim = 0; dim < int64_t(shapeOf(leader).size()); ++dim)
      if (canSplit(shapeOf(leader), dim)) candidates.push_back(along(dim));
    for (CtaSplit form : candidates)
      if (int64_t sum = cost(form); sum < least) {
        least = sum;
        best = form;
      }
    chosen[leader] = best;
    return best != before;
  }

  //===---------------------------------------------------------------------------------------------------------- other forms

  Value i32(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value))); }

  RankedTensorType typeIn(RankedTensorType type, CtaSplit form) {
    if (form.isReplicated()) return type;
    SmallVector<int64_t> shape(type.getShape());
    shape[size_t(*form.dim)] /= blocks;
    return RankedTensorType::get(shape, type.getElementType());
  }

  Value inForm(Value value, CtaSplit want) {
    if (cheap.contains(value)) return want == whole ? value : sliceOfRematerializable(value, want);
    CtaSplit has = forms.lookup(value);
    if (has == want) return value;
    Value &copy = copies[{value, want.dim}];
    if (copy) return copy;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(value);
    Value all = has == whole ? value : gathered(value, has);
    Value made = want == whole ? all : sliced(all, want);
    forms[made] = want;
    return copies[{value, want.dim}] = made;
  }

  Value sliceOfRematerializable(Value value, CtaSplit form) {
    if (Value copy = copies.lookup({value, form.dim})) return copy;
    Operation *op = value.getDefiningOp();
    auto type = cast<RankedTensorType>(value.getType());
    RankedTensorType part = typeIn(type, form);
    CtaSplit source = form;
    if (isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp>(op)) source = sourceOfRematerializable(op, form);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isTile(operand) ? inForm(operand, source) : operand);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(op);
    if (overlap && type.getDimSize(unsigned(*form.dim)) == overlap->extent && statesValidExtent(op, *form.dim, *overlap)) {
      Value own = ownedElements(b, part.getShape(), *form.dim, *overlap);
      forms[own] = form;
      return copies[{value, form.dim}] = own;
    }
    Operation *copy = b.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(part);
    Value result = copy->getResult(0);
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      constant.setValueAttr(DenseElementsAttr::get(part, cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>()));
    if (auto range = dyn_cast<tt::MakeRangeOp>(copy)) {
      int64_t extent = part.getNumElements(), own = overlap && type.getNumElements() == overlap->extent ? overlap->own : extent;
      range.setEnd(static_cast<uint32_t>(range.getStart() + extent));
      dropValidExtent(range);
      Value bounded = arith::AndIOp::create(b, rank, i32(blocks - 1)); // what it is anyway, for who asks for its bounds
      Value start = arith::MulIOp::create(b, bounded, i32(own));
      result = arith::AddIOp::create(b, result, tt::SplatOp::create(b, part, start));
    }
    forms[result] = form;
    return copies[{value, form.dim}] = result;
  }

  static CtaSplit sourceOfRematerializable(Operation *op, CtaSplit form) {
    return llvm::TypeSwitch<Operation *, CtaSplit>(op)
        .Case([&](tt::ExpandDimsOp expand) { return withoutDim(form, expand.getAxis()); })
        .Case([&](tt::TransOp trans) { return along(trans.getOrder()[size_t(*form.dim)]); })
        .Default([&](Operation *) {
          return cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(unsigned(*form.dim)) == 1 ? whole : form;
        });
  }

  SmallVector<Value> ofAllBlocks(Value tile) {
    return SmallVector<Value>(ttg::ReadClusterOp::create(b, SmallVector<Type>(size_t(blocks), tile.getType()), tile).getResults());
  }

  /// The whole tile: the slices of all blocks, one after the other.
  Value gathered(Value slice, CtaSplit form) {
    SmallVector<Value> parts = ofAllBlocks(slice);
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

  /// The half of a tile that a bit of this block's rank says, and the other one.
  std::pair<Value, Value> halved(Value all, size_t dim, int64_t bit) {
    auto type = cast<RankedTensorType>(all.getType());
    SmallVector<int64_t> halves(type.getShape()), half(type.getShape());
    half[dim] /= 2;
    halves[dim] /= 2;
    halves.insert(halves.begin() + int64_t(dim), 2);
    Type part = RankedTensorType::get(half, type.getElementType());
    auto split = tt::SplitOp::create(b, part, part, moved(b, reshaped(b, all, halves), dim, halves.size() - 1));
    Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, rank, i32(bit)), i32(0));
    return {arith::SelectOp::create(b, isLater, split.getOutRHS(), split.getOutLHS()),
            arith::SelectOp::create(b, isLater, split.getOutLHS(), split.getOutRHS())};
  }

  /// This block's slice: its half, again and again.
  Value sliced(Value all, CtaSplit form) {
    for (int64_t bit = blocks / 2; bit; bit /= 2)
      all = halved(all, size_t(*form.dim), bit).first;
    return all;
  }

  /// This block's slice of the sum of all blocks' tiles: each of two gives the other what that one goes on with. All elements are added in
  /// one order, whichever block does it.
  Value summed(Value part, CtaSplit form) {
    for (int64_t bit = blocks / 2; bit; bit /= 2) {
      auto [own, given] = halved(part, size_t(*form.dim), bit);
      auto other = ttg::ReadClusterOp::create(b, given.getType(), given);
      other->setAttr(peerName, b.getI64IntegerAttr(bit));
      part = added(b, own, other.getResult(0));
    }
    return part;
  }

  //===------------------------------------------------------------------------------------------------------------- rewriting

  Value asTile(Value value) {
    return isTile(value) ? value : Value(tt::SplatOp::create(b, RankedTensorType::get({1}, value.getType()), value));
  }
  Value asIn(Value tile, Type type) { return isa<RankedTensorType>(type) ? tile : Value(tt::UnsplatOp::create(b, tile)); }

  /// What all blocks have found, combined in their order.
  SmallVector<Value> combined(tt::ReduceOp op) {
    SmallVector<SmallVector<Value>> parts(static_cast<size_t>(blocks));
    for (Value result : op.getResult())
      for (auto [block, tile] : llvm::enumerate(ofAllBlocks(asTile(result))))
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

  /// The first block alone changes memory.
  void maskOthers(MutableOperandRange mask, Type pointer) {
    Value only = isFirst;
    if (auto tile = dyn_cast<RankedTensorType>(pointer)) only = tt::SplatOp::create(b, tile.clone(b.getI1Type()), isFirst);
    mask.assign(mask.empty() ? only : Value(arith::AndIOp::create(b, mask[0].get(), only)));
  }

  /// What an operation on memory does once, with others beside it.
  void guard(Operation *op) {
    b.setInsertionPoint(op);
    if (auto store = dyn_cast<tt::StoreOp>(op)) maskOthers(store.getMaskMutable(), store.getPtr().getType());
    if (auto atomic = dyn_cast<tt::AtomicRMWOp>(op)) maskOthers(atomic.getMaskMutable(), atomic.getPtr().getType());
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
    Value shared = asIn(ofAllBlocks(asTile(result)).front(), result.getType());
    forms[shared] = whole;
    for (OpOperand *use : uses)
      use->set(shared);
  }

  /// For the operations whose work is worth telling.
  void recordDecision(Operation *op, const Forms &its) {
    if (!isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::DotOp, tt::ReduceOp>(op)) return;
    bool consumes = isa<tt::StoreOp, tt::ReduceOp>(op);
    if (!isTile(consumes ? op->getOperand(0) : op->getResult(0))) return;
    CtaSplit form = (consumes ? its.operands : its.results)[0];
    op->setAttr(ttg::ctaSplitName, b.getI64IntegerAttr(form.dim.value_or(-1)));
  }

  void rewriteSum(Operation *op, CtaSplit form) {
    b.setInsertionPoint(op);
    Value sum = summed(op->getOperand(0), form);
    forms[sum] = form;
    op->getResult(0).replaceAllUsesWith(sum);
    op->erase();
  }

  void rewrite(Operation *op, const Forms &its) {
    if (op->getNumResults() == 1 && cheap.contains(op->getResult(0))) return; // each user has its own
    b.setLoc(op->getLoc());
    if (op->hasAttr(clusterReduceName)) return rewriteSum(op, its.results[0]);
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
      splitValidExtent(dot, *its.results[0].dim, blocks, overlap ? std::optional(overlap->own) : std::nullopt);
    b.setInsertionPoint(op);
    if (auto store = dyn_cast<tt::StoreOp>(op); store && overlap && its.operands[0].dim) storeOwn(b, store, *its.operands[0].dim, *overlap);
    bool onMemory = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::PrintOp>(op);
    if (onMemory && (its.operands.empty() || its.operands[0] == whole)) guard(op);
    recordDecision(op, its);
    auto reduce = dyn_cast<tt::ReduceOp>(op);
    bool isPart = reduce && its.operands[0].isShardedAlong(reduce.getAxis());
    SmallVector<SmallVector<OpOperand *>> uses;
    for (Value result : op->getResults())
      uses.push_back(usesOf(result));
    SmallVector<Value> results(op->getResults());
    b.setInsertionPointAfter(op);
    if (isPart) results = combined(reduce);
    for (auto [result, now, users] : llvm::zip(op->getResults(), results, uses)) {
      if (isTile(result) && !users.empty()) {
        forms.try_emplace(now, whole);
        now = inForm(now, formOf(result));
      }
      if (now != result)
        for (OpOperand *user : users)
          user->set(now);
    }
  }

  tt::FuncOp function;
  int64_t warps, blocks;
  std::optional<UnevenSplit> overlap;
  ImplicitLocOpBuilder b;
  Value rank, isFirst;
  RematerializableTiles cheap;
  TileEquivalence classes;
  SmallVector<Operation *> ops;
  DenseSet<Value> started;
  llvm::MapVector<Value, SmallVector<int64_t>> shapes; // in the program's order
  SmallVector<Value> leaders;                          // likewise
  DenseMap<Value, SmallVector<Operation *>> touching;
  DenseMap<Value, CtaSplit> chosen;                                // of leaders
  DenseMap<Value, CtaSplit> forms;                                 // as the rewriting goes on
  DenseMap<std::pair<Value, std::optional<int64_t>>, Value> copies; // by tile and form
};

} // namespace

/// How many blocks a program gets that has none to share its work with. Where registers hold its rows, one: softmax of rows of 32768 on an
/// H100, 8 warps, 1 and 2 blocks: 2970 and 2784 GB/s. Where they do not, the fewest that do: of 65536, 16 warps: 1768 and 2501 GB/s. With
/// the most blocks the rows alone have to fit, as little goes to memory then where most of the rows would in one: layer norm backward of
/// 50257 columns on an H200, 32 warps, 1 and 8 blocks: 310 and 630 GB/s. More blocks than that cost: of 32768 columns, which four blocks
/// hold in 64 registers a thread without a spill, 4 and 8 blocks: 1188 and 538 GB/s.
static int64_t blocksFor(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  constexpr int64_t maxCtas = 8, besideRows = 16; // beside the tiles: addresses, masks, parts of sums
  bool reduces = false, others = false;
  function.walk([&](Operation *op) {
    reduces |= isa<tt::ReduceOp>(op);
    others |= isa<tt::DotOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::PrintOp>(op);
  });
  if (!target.clusters || !reduces || others) return 1;
  int64_t threads = config.getWarps() << laneBits;
  int64_t available = std::min(target.registersPerThread, target.registersPerSM / threads);
  if (config.getMaxRegisters() > 0) available = std::min(available, config.getMaxRegisters());
  for (int64_t blocks = 1; blocks <= maxCtas; blocks *= 2) {
    Splitter splitter(function, config.getWarps(), blocks);
    splitter.plan();
    int64_t beside = blocks < maxCtas ? besideRows : 0;
    if (splitter.registersAtReductions(threads) + beside <= available) return blocks;
  }
  return 1;
}

/// Two blocks where one does not hold the accumulators of a product, with as many warps as have registers for them; 1 elsewhere. Each has
/// half of the sums, and copies half of the operand that both read (256x256: 1144 bytes of a thread are spilled in one block).
static int64_t blocksForProduct(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  constexpr int64_t otherRegistersNextToSums = 26; // of a thread that only adds up one product
  int64_t dots = 0;
  bool others = false;
  function.walk([&](Operation *op) {
    dots += isa<tt::DotOp>(op);
    others |= isa<tt::ReduceOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::PrintOp, tt::ElementwiseInlineAsmOp>(op);
  });
  if (!target.clusters || !dots || others || config.getMaxRegisters() != 0) return 1;
  int64_t registers = accumulatorBits(function) / 32, threads = target.registersPerSM / target.registersPerThread;
  threads = int64_t(1) << llvm::Log2_64(static_cast<uint64_t>(threads)); // of whole warps, a power of two
  int64_t available = threads * (target.registersPerThread - (dots == 1 ? otherRegistersNextToSums : otherRegisters));
  return registers <= available || registers > 2 * available ? 1 : 2;
}

LogicalResult splitCtas(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) -> LogicalResult {
    int64_t forRows = config.getCtas() == 1 ? blocksFor(function, config, target) : 1;
    int64_t forSums = config.getCtas() == 1 ? blocksForProduct(function, config, target) : 1;
    if (int64_t blocks = std::max(forRows, forSums); blocks > 1) {
      config = ttg::ConfigAttr::get(function.getContext(), config.getWarps(), blocks, config.getStages(), config.getMaxRegisters(),
                                    config.getTarget());
      function->setAttr(ttg::configName, config);
      std::string why = std::to_string(blocks) + " blocks share a program, because the registers of one do not hold its " +
                        (forRows > 1 ? "rows" : "sums");
      function->setAttr(ttg::moreCtasName, StringAttr::get(function.getContext(), why));
    }
    if (config.getCtas() == 1) return success();
    if (!target.clusters) return refuse(function, Diag::noClusters, {std::to_string(config.getCtas()), target.name});
    if (config.getCtas() > target.blocksPerCluster) return bug(function, "a program has more blocks than a cluster holds");
    if (std::max(forRows, forSums) == 1) splitK(function, config.getCtas());
    Splitter splitter(function, config.getWarps(), config.getCtas());
    splitter.plan();
    splitter.apply();
    return success();
  });
}

} // namespace tilewright::gpu
