// How the classes are formed and choose. The attention kernel, as an example:
//   class of scores [64x64]: dot, scale, exp2, ...            accumulator layout of the product
//   class of row maxima [64], carried by the loop             neighbours through tt.reduce: the scores' layout without columns
//   class of the output [64x128], carried by the loop         accumulator layout; its rows broadcast from the maxima: the same layout, free
//   pointers, masks, ranges                                   no class
#include "gpu/tiles/layout_plan.h"

#include "gpu/tiles/dot_choice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int deepestRecomputation = 24; // beyond it a conversion is cheaper, and the walk stays short
constexpr int64_t turnsOfLoop = 8, mostWeight = 512;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static int64_t weightOf(Operation *op) {
  int64_t weight = 1;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(parent)) weight = std::min(mostWeight, weight * turnsOfLoop);
  return weight;
}

static int64_t bitsOf(Value tile) {
  Type element = getElementTypeOrSelf(tile);
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

bool isElementwiseOnTiles(Operation *op) {
  if (op->getNumResults() == 0 || !isTile(op->getResult(0))) return false;
  return op->hasTrait<OpTrait::Elementwise>() || isa<arith::SelectOp, tt::MapElementwiseOp>(op);
}

//===------------------------------------------------------------------------------------------------- nature of operations

std::optional<Layout> resultLayout(Operation *op, const Layout &source) {
  using Maybe = std::optional<Layout>;
  return llvm::TypeSwitch<Operation *, Maybe>(op)
      .Case([&](tt::ReduceOp reduce) { return Maybe(source.withoutDim(reduce.getAxis())); })
      .Case([&](tt::ReshapeOp reshape) { return Maybe(source.reshaped(ttg::shapeOf(reshape.getType()))); })
      .Case([&](tt::TransOp trans) { return Maybe(source.transposed({trans.getOrder().begin(), trans.getOrder().end()})); })
      .Case([&](tt::ExpandDimsOp expand) { return Maybe(source.withUnitDim(expand.getAxis())); })
      .Case([&](tt::JoinOp) { return Maybe(source.joined()); })
      .Case([&](tt::CatOp) { return Maybe(source.concatenated(0)); })
      .Case([&](tt::SplitOp) {
        std::optional<Halves> halves = source.splitHalves();
        return halves ? Maybe(halves->layout) : Maybe();
      })
      .Default([](Operation *) { return Maybe(); });
}

std::optional<Layout> sourceLayout(Operation *op, const Layout &result) {
  using Maybe = std::optional<Layout>;
  return llvm::TypeSwitch<Operation *, Maybe>(op)
      .Case<tt::ExpandDimsOp, tt::ReshapeOp>([&](auto o) { return Maybe(result.reshaped(ttg::shapeOf(o.getSrc().getType()))); })
      .Case([&](tt::TransOp trans) {
        Dims back(trans.getOrder().size());
        for (auto [dim, from] : llvm::enumerate(trans.getOrder()))
          back[static_cast<size_t>(from)] = static_cast<int64_t>(dim);
        return Maybe(result.transposed(back));
      })
      .Case([&](tt::BroadcastOp broadcast) {
        Dims from = ttg::shapeOf(broadcast.getSrc().getType()), to = ttg::shapeOf(broadcast.getType());
        Layout source = result;
        for (size_t i = 0; i < from.size(); ++i)
          if (from[i] != to[i]) source = source.collapsedDim(static_cast<int64_t>(i));
        return Maybe(source);
      })
      .Case([&](tt::SplitOp) { return Maybe(result.joined()); })
      .Case([&](tt::JoinOp) {
        std::optional<Halves> halves = result.splitHalves();
        return halves ? Maybe(halves->layout) : Maybe();
      })
      .Default([](Operation *) { return Maybe(); });
}

//===--------------------------------------------------------------------------------------------------------- cheap tiles

void LayoutPlan::findCheap() {
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() != 1 || !isTile(op->getResult(0)) || op->getNumRegions()) return;
    if (isa<tt::MakeRangeOp, tt::SplatOp, arith::ConstantOp, ub::PoisonOp>(op)) {
      cheap[op->getResult(0)] = 1;
      return;
    }
    bool follows =
        isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::ReshapeOp, tt::AddPtrOp, tt::BitcastOp, tt::IntToPtrOp, tt::PtrToIntOp>(
            op) ||
        op->getName().getDialectNamespace() == "arith";
    if (!follows) return;
    int depth = 1;
    for (Value operand : op->getOperands()) {
      if (!isTile(operand)) continue;
      auto from = cheap.find(operand);
      if (from == cheap.end()) return;
      depth = std::max(depth, from->second + 1);
    }
    if (depth <= deepestRecomputation) cheap[op->getResult(0)] = depth;
  });
}

//===------------------------------------------------------------------------------------------------------------ classes

void LayoutPlan::addNode(Value tile) {
  if (!isTile(tile) || cheap.contains(tile) || nodes.contains(tile)) return;
  nodes[tile] = tiles.size();
  parents.push_back(tiles.size());
  tiles.push_back(tile);
}

size_t LayoutPlan::rootOf(size_t node) const {
  while (parents[node] != node)
    node = parents[node] = parents[parents[node]];
  return node;
}

void LayoutPlan::unite(Value a, Value b) {
  auto first = nodes.find(a), second = nodes.find(b);
  if (first == nodes.end() || second == nodes.end()) return;
  size_t rootA = rootOf(first->second), rootB = rootOf(second->second);
  parents[std::max(rootA, rootB)] = std::min(rootA, rootB);
}

void LayoutPlan::uniteAll(ArrayRef<Value> together) {
  Value first;
  for (Value tile : together) {
    if (!tile || !nodes.contains(tile)) continue;
    if (first) unite(first, tile);
    first = tile;
  }
}

/// Of a tile that is contiguous and aligned along order[0].
static AccessFacts rowFacts(Value tile, const Dims &order) {
  AccessFacts facts;
  Dims shape = ttg::shapeOf(tile.getType());
  facts.bytes = std::max<int64_t>(1, bitsOf(tile) / 8);
  facts.order = order;
  facts.contiguity = shape.empty() ? 1 : shape[static_cast<size_t>(order[0])];
  facts.constancy.assign(shape.size(), 1);
  facts.vectorLimit = std::clamp<int64_t>(16 / facts.bytes, 1, facts.contiguity);
  return facts;
}

void LayoutPlan::addAccess(Operation *op, Value pointer, Value mask, Value tile) {
  if (!isTile(tile)) return;
  MemoryAccess access;
  access.op = op;
  access.pointer = pointer;
  access.mask = mask;
  access.tile = tile;
  if (pointer) {
    access.facts = accessFacts(axes, pointer, mask);
  } else {
    access.facts = rowFacts(tile, rowMajorOrder(cast<RankedTensorType>(tile.getType()).getRank()));
  }
  if (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op)) access.facts.vectorLimit = 1;
  accessOf[op] = accesses.size();
  accesses.push_back(std::move(access));
}

void LayoutPlan::addBorder(Operation *op, Value from, Value to) {
  if (nodes.contains(from) && nodes.contains(to)) borders.push_back({op, from, to, weightOf(op)});
}

void LayoutPlan::link(Operation *op) {
  if (isElementwiseOnTiles(op)) {
    SmallVector<Value> all(op->getOperands());
    llvm::append_range(all, op->getResults());
    return uniteAll(all);
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp loop) {
        for (auto [init, argument, yielded, result] :
             llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
          uniteAll({argument, init, yielded, result});
      })
      .Case([&](scf::WhileOp loop) {
        for (auto [argument, init, yielded] : llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp()->getOperands()))
          uniteAll({argument, init, yielded});
        for (auto [argument, passed, result] : llvm::zip(loop.getAfterArguments(), loop.getConditionOp().getArgs(), loop.getResults()))
          uniteAll({argument, passed, result});
      })
      .Case([&](scf::IfOp branch) {
        for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
          if (!region->empty() && branch.getNumResults())
            for (auto [result, yielded] : llvm::zip(branch.getResults(), region->front().getTerminator()->getOperands()))
              uniteAll({result, yielded});
      })
      // Computed addresses cannot be wide: such an access stays with them.
      .Case([&](tt::LoadOp load) {
        addAccess(op, load.getPtr(), load.getMask(), load.getResult());
        uniteAll({load.getResult(), load.getPtr(), load.getMask(), load.getOther()});
      })
      .Case([&](tt::StoreOp store) {
        addAccess(op, store.getPtr(), store.getMask(), store.getValue());
        uniteAll({store.getValue(), store.getPtr(), store.getMask()});
      })
      .Case([&](tt::AtomicRMWOp atomic) {
        addAccess(op, atomic.getPtr(), atomic.getMask(), atomic.getVal());
        uniteAll({atomic.getResult(), atomic.getVal(), atomic.getPtr(), atomic.getMask()});
      })
      .Case([&](tt::AtomicCASOp atomic) {
        addAccess(op, atomic.getPtr(), Value(), atomic.getVal());
        uniteAll({atomic.getResult(), atomic.getVal(), atomic.getCmp(), atomic.getPtr()});
      })
      .Case<tt::DescriptorLoadOp, tt::DescriptorGatherOp>([&](auto load) { addAccess(op, Value(), Value(), load.getResult()); })
      .Case<tt::DescriptorStoreOp, tt::DescriptorReduceOp, tt::DescriptorScatterOp>(
          [&](auto store) { addAccess(op, Value(), Value(), store.getSrc()); })
      // The copy engine leaves the tile in shared memory: any layout does, one with wide accesses best.
      .Case([&](ttg::DescriptorLoadOp load) {
        transfers.push_back({load.getResult(), Dims(load.getOrder().begin(), load.getOrder().end())});
      })
      .Case([&](ttg::DescriptorStoreOp store) {
        transfers.push_back({store.getSrc(), Dims(store.getOrder().begin(), store.getOrder().end())});
      })
      .Case([&](tt::DotOp dot) { uniteAll({dot.getC(), dot.getD()}); })
      .Case([&](ttg::ReadBlocksOp) {
        SmallVector<Value> all(op->getResults());
        all.push_back(op->getOperand(0));
        uniteAll(all);
      })
      .Case([&](tt::GatherOp gather) { uniteAll({gather.getIndices(), gather.getResult()}); })
      .Case<tt::ReduceOp, tt::ScanOp>([&](auto combination) {
        uniteAll(SmallVector<Value>(combination.getSrcs()));
        uniteAll(SmallVector<Value>(combination.getResult()));
        if (isa<tt::ScanOp>(op)) uniteAll({combination.getSrcs()[0], combination.getResult()[0]});
        if (isa<tt::ReduceOp>(op)) addBorder(op, combination.getSrcs()[0], combination.getResult()[0]);
      })
      .Case([&](tt::HistogramOp histogram) { uniteAll({histogram.getSrc(), histogram.getMask()}); })
      .Case<tt::JoinOp, tt::CatOp>([&](auto pair) {
        uniteAll({pair.getLhs(), pair.getRhs()});
        addBorder(op, pair.getLhs(), pair.getResult());
      })
      .Case([&](tt::SplitOp split) {
        uniteAll({split.getOutLHS(), split.getOutRHS()});
        addBorder(op, split.getSrc(), split.getOutLHS());
      })
      .Case<tt::ExpandDimsOp, tt::BroadcastOp>([&](auto shaped) { addBorder(op, shaped.getResult(), shaped.getSrc()); })
      .Case<tt::ReshapeOp, tt::TransOp>([&](auto shaped) { addBorder(op, shaped.getSrc(), shaped.getResult()); });
}

void LayoutPlan::formClasses() {
  DenseMap<size_t, size_t> classOfRoot;
  for (auto [node, tile] : llvm::enumerate(tiles)) {
    auto [place, isNew] = classOfRoot.try_emplace(rootOf(node), classes.size());
    if (isNew) {
      Class &fresh = classes.emplace_back();
      fresh.shape = ttg::shapeOf(tile.getType());
      fresh.elements = elementCount(fresh.shape);
    }
    classes[place->second].members.push_back(tile);
    classOf[tile] = place->second;
  }
  for (auto [index, access] : llvm::enumerate(accesses))
    if (auto found = classOf.find(access.tile); found != classOf.end()) classes[found->second].accesses.push_back(index);
  for (auto [index, border] : llvm::enumerate(borders)) {
    size_t from = classOf[border.from], to = classOf[border.to];
    classes[from].borders.push_back(index);
    if (to != from) classes[to].borders.push_back(index);
  }
  function.getBody().walk([&](Operation *op) {
    if (!isa<tt::ReduceOp, tt::ScanOp, tt::DotOp>(op)) return;
    Value tile = isa<tt::ReduceOp, tt::ScanOp>(op) ? op->getOperand(0) : op->getResult(0);
    auto found = classOf.find(tile);
    if (found == classOf.end()) return;
    Class &owner = classes[found->second];
    (isa<tt::ReduceOp>(op) ? owner.reductions : isa<tt::ScanOp>(op) ? owner.scans : owner.dots).push_back(op);
  });
}

//===------------------------------------------------------------------------------------------------------------- choice

std::optional<Layout> LayoutPlan::decided(Value tile) const {
  auto found = classOf.find(tile);
  return found == classOf.end() ? std::nullopt : classes[found->second].layout;
}

bool LayoutPlan::holds(const Class &one, Value tile) const {
  auto found = classOf.find(tile);
  return found != classOf.end() && &classes[found->second] == &one;
}

int64_t LayoutPlan::accessAndConversion(const MemoryAccess &access, const Layout &tileLayout, Layout *where) const {
  int64_t best = accessCost(access.facts, tileLayout);
  if (where) *where = tileLayout;
  int64_t bits = access.facts.bytes * 8, conversions = 0;
  for (Value operand : access.op->getOperands())
    if (isTile(operand) && !cheap.contains(operand)) conversions += 1;
  for (Value result : access.op->getResults())
    if (isTile(result) && !result.use_empty()) conversions += 1;
  for (const Layout &layout : coalescedLayouts(tileLayout.shape, access.facts, warps)) {
    int64_t total = accessCost(access.facts, layout) + conversions * conversionCost(layout, tileLayout, bits);
    if (total >= best) continue;
    best = total;
    if (where) *where = layout;
  }
  return best;
}

int64_t LayoutPlan::cost(const Class &chosen, const Layout &layout) const {
  int64_t sum = 0;
  for (size_t index : chosen.accesses)
    sum += weightOf(accesses[index].op) * accessAndConversion(accesses[index], layout, nullptr);
  for (Operation *op : chosen.reductions)
    sum += weightOf(op) * reductionCost(layout, cast<tt::ReduceOp>(op).getAxis());
  for (Operation *op : chosen.scans)
    sum += weightOf(op) * scanCost(layout, cast<tt::ScanOp>(op).getAxis());
  for (size_t index : chosen.borders) {
    const Border &border = borders[index];
    bool isFrom = holds(chosen, border.from), isTo = holds(chosen, border.to);
    std::optional<Layout> from = isFrom ? layout : decided(border.from), to = isTo ? layout : decided(border.to);
    if (!from || !to) continue;
    bool backwards = isa<tt::ExpandDimsOp, tt::BroadcastOp>(border.op);
    std::optional<Layout> natural = backwards ? sourceLayout(border.op, *from) : resultLayout(border.op, *from);
    if (!natural) natural = defaultLayout(to->shape, warps); // tt.split of halves in different threads
    sum += border.weight * conversionCost(*natural, *to, bitsOf(border.to));
  }
  return sum;
}

SmallVector<Layout> LayoutPlan::candidates(const Class &chosen) const {
  SmallVector<Layout> layouts;
  auto add = [&](const Layout &layout) {
    if (!llvm::is_contained(layouts, layout)) layouts.push_back(layout);
  };
  for (Operation *dot : chosen.dots)
    if (auto product = dyn_cast<tt::DotOp>(dot)) add(chooseDot(product, config).result);
  if (!layouts.empty()) return layouts; // nothing is worth leaving the tensor cores' layout
  for (size_t index : chosen.borders) {
    const Border &border = borders[index];
    bool backwards = isa<tt::ExpandDimsOp, tt::BroadcastOp>(border.op), isFrom = holds(chosen, border.from);
    std::optional<Layout> other = decided(isFrom ? border.to : border.from);
    if (!other) continue;
    // `from` is the result of expand_dims and broadcast, and the source of other operations.
    bool toResult = backwards == isFrom;
    if (std::optional<Layout> layout = toResult ? resultLayout(border.op, *other) : sourceLayout(border.op, *other)) add(*layout);
  }
  for (size_t index : chosen.accesses)
    for (const Layout &layout : coalescedLayouts(chosen.shape, accesses[index].facts, warps))
      add(layout);
  for (Operation *op : chosen.scans)
    add(scanLayout(chosen.shape, cast<tt::ScanOp>(op).getAxis(), warps));
  for (const auto &[tile, order] : transfers)
    if (holds(chosen, tile) && order.size() == chosen.shape.size())
      for (const Layout &layout : coalescedLayouts(chosen.shape, rowFacts(tile, order), warps))
        add(layout);
  if (layouts.empty()) add(defaultLayout(chosen.shape, warps));
  return layouts;
}

void LayoutPlan::choose(Class &chosen) {
  std::optional<Layout> best;
  int64_t least = 0;
  for (const Layout &layout : candidates(chosen)) {
    int64_t sum = cost(chosen, layout);
    if (best && sum >= least) continue;
    best = layout;
    least = sum;
  }
  chosen.layout = best;
}

LayoutPlan::LayoutPlan(tt::FuncOp function, ttg::ConfigAttr config)
    : function(function), config(config), warps(config.getWarps()), axes(function) {
  findCheap();
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      addNode(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          addNode(argument);
  });
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { link(op); });
  formClasses();
  // Products first, then the large, then those beside a class that has chosen. A class without wishes waits for its neighbours: between
  // x0, x1 = split(reshape(load(p))) and store(q, reshape(join(y0, y1))) the joined tile is as large as the stored one, and would take any
  // layout, to which the store then has to be converted.
  auto hasNeighbour = [&](const Class &one) {
    return llvm::any_of(one.borders, [&](size_t index) { return decided(borders[index].from) || decided(borders[index].to); });
  };
  auto hasWishes = [&](const Class &one) {
    return !one.accesses.empty() || !one.reductions.empty() || !one.scans.empty() || !one.dots.empty() ||
           llvm::any_of(transfers, [&](const auto &transfer) { return holds(one, transfer.first); });
  };
  for (size_t done = 0; done < classes.size(); ++done) {
    Class *next = nullptr;
    auto rank = [&](const Class &one) {
      bool beside = hasNeighbour(one);
      return std::tuple(!one.dots.empty(), beside || hasWishes(one), one.elements, beside);
    };
    for (Class &one : classes)
      if (!one.layout && (!next || rank(one) > rank(*next))) next = &one;
    choose(*next);
  }
  for (MemoryAccess &access : accesses)
    accessAndConversion(access, layoutOf(access.tile), &access.layout);
}

Layout LayoutPlan::layoutOf(Value tile) const {
  if (std::optional<Layout> layout = decided(tile)) return *layout;
  return defaultLayout(ttg::shapeOf(tile.getType()), warps);
}

const MemoryAccess *LayoutPlan::access(Operation *op) const {
  auto found = accessOf.find(op);
  return found == accessOf.end() ? nullptr : &accesses[found->second];
}

} // namespace tilewright::gpu
