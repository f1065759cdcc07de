// How equivalence classes choose their layouts. Example: the attention kernel.
//   class of scores [64x64]: dot, scale, exp2, ...            accumulator layout of the dot
//   class of row maxima [64], carried by the loop             linked by tt.reduce: the scores' layout without columns
//   class of the output [64x128], carried by the loop         accumulator layout; the broadcast maxima have the same layout, at no cost
//   pointers, masks, ranges                                   no class
#include "gpu/tiles/layouts/layout_plan.h"

#include "gpu/cost_model/reduction_cost.h"
#include "gpu/tiles/mma/dot_choice.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/volatile_load.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t maxRematerializationDepth = 24; // a longer chain costs more than a conversion, and would slow down the walk

//===------------------------------------------------------------------------------------------------- layouts of results and sources

static Dims identityOrder(size_t rank) {
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::optional<Layout> resultLayout(Operation *op, const Layout &source) {
  using Maybe = std::optional<Layout>;
  return llvm::TypeSwitch<Operation *, Maybe>(op)
      .Case([&](tt::ReduceOp reduce) { return Maybe(source.withoutDim(reduce.getAxis())); })
      .Case([&](tt::ReshapeOp reshape) { return Maybe(source.reshaped(ttg::shapeOf(reshape.getType()))); })
      .Case([&](tt::TransOp trans) { return Maybe(source.transposed({trans.getOrder().begin(), trans.getOrder().end()})); })
      .Case([&](tt::ExpandDimsOp expand) { return Maybe(source.withUnitDim(expand.getAxis())); })
      .Case([&](tt::JoinOp) { return Maybe(source.joined()); })
      .Case([&](ttg::UnpackE2m1Op unpack) {
        Dims order = identityOrder(source.shape.size());
        order.insert(order.begin() + unpack.getDim() + 1, static_cast<int64_t>(source.shape.size()));
        return Maybe(source.joined().transposed(order).reshaped(ttg::shapeOf(unpack.getType())));
      })
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
      .Case([&](ttg::UnpackE2m1Op unpack) {
        auto dim = static_cast<size_t>(unpack.getDim());
        Dims pairs = ttg::shapeOf(unpack.getBytes().getType()), order = identityOrder(pairs.size() + 1);
        pairs.insert(pairs.begin() + static_cast<ptrdiff_t>(dim) + 1, 2);
        order.erase(order.begin() + static_cast<ptrdiff_t>(dim) + 1);
        order.push_back(static_cast<int64_t>(dim) + 1);
        std::optional<Halves> halves = result.reshaped(pairs).transposed(order).splitHalves();
        return halves ? Maybe(halves->layout) : Maybe();
      })
      .Default([](Operation *) { return Maybe(); });
}

//===------------------------------------------------------------------------------------------------ requirements of the classes

/// Returns the properties of a tile that is contiguous and aligned along order[0].
static AccessProperties rowProperties(Value tile, const Dims &order) {
  AccessProperties properties;
  Dims shape = ttg::shapeOf(tile.getType());
  properties.bytes = std::max<int64_t>(1, ttg::elementBits(tile.getType()) / 8);
  properties.order = order;
  properties.runs.assign(shape.size(), 1);
  properties.strides.assign(shape.size(), properties.bytes);
  if (shape.empty()) return properties;
  auto fast = static_cast<size_t>(order[0]);
  properties.contiguity = properties.runs[fast] = shape[fast];
  properties.vectorLimit = std::clamp<int64_t>(maxAccessBytes / properties.bytes, 1, shape[fast]);
  return properties;
}

/// Returns how many contiguous elements an unaligned load of a dot's operand covers with aligned words; 0 if the operation is not such a
/// load. Rows that start at multiples of 4 bytes are copied by cp.async instead, which can prefetch.
static int64_t unalignedElements(Operation *op, const AccessProperties &properties) {
  constexpr int64_t minAligned = minCopyAsyncBytes;
  auto load = dyn_cast<tt::LoadOp>(op);
  if (!load || tt::isVolatileLoad(load) || properties.vectorLimit * properties.bytes >= minAligned || properties.bytes >= minAligned)
    return 0;
  if (!load->getParentOfType<scf::ForOp>() || !feedsDot(load) || getElementTypeOrSelf(load.getType()).isInteger(1)) return 0;
  Value other = load.getOther();
  if (other && !tt::isZeros(other)) return 0;
  int64_t count = std::min(maxAccessBytes / properties.bytes, properties.contiguity);
  return count * properties.bytes >= minAligned ? count : 0;
}

/// Returns how many contiguous elements one atomic operation covers: vectors of floats for additions if the target has them, else pairs of
/// f16.
static int64_t contiguousOfAtomic(Operation *op, const GpuTarget &target) {
  constexpr int64_t widest = 128, pair = 32; // bits
  auto atomic = dyn_cast<tt::AtomicRMWOp>(op);
  if (!atomic || atomic.getAtomicRmwOp() != tt::RMWOp::FADD) return 1;
  Type type = getElementTypeOrSelf(atomic.getVal().getType());
  if (target.vectorAtomics && (type.isF32() || type.isF16() || type.isBF16())) return widest / type.getIntOrFloatBitWidth();
  return type.isF16() ? pair / 16 : 1;
}

/// Returns how many adjacent elements along each dimension a load reads from one address; empty if none. `axes` must ignore the author's
/// hints: a wrong hint may make an access too wide, but must not redirect it.
///   packed weights: tl.load(q + (k // 8)[:, None] * N + n[None, :])    8 rows
static Dims provenRepeats(Operation *op, const AxisAnalysis &axes) {
  auto load = dyn_cast<tt::LoadOp>(op);
  if (!load || tt::isVolatileLoad(load)) return {};
  if (Value other = load.getOther(); other && !other.getDefiningOp<tt::SplatOp>() && !matchPattern(other, m_Constant())) return {};
  AxisInfo pointer = axes.of(load.getPtr());
  Dims repeats(pointer.constancy.begin(), pointer.constancy.end());
  if (Value mask = load.getMask())
    for (auto [repeat, ofMask] : llvm::zip(repeats, axes.of(mask).constancy))
      repeat = std::min<int64_t>(repeat, ofMask);
  return llvm::any_of(repeats, [](int64_t repeat) { return repeat > 1; }) ? repeats : Dims();
}

Dims LayoutPlan::provenConstancy(Value tile) const {
  AxisInfo info = (provenAxes ? *provenAxes : axes).of(tile);
  bool isOne = llvm::all_of(info.constancy, [](int64_t constancy) { return constancy == 1; });
  return isOne ? Dims() : Dims(info.constancy.begin(), info.constancy.end());
}

static bool hasPromises(tt::FuncOp function) {
  auto walked = function.getBody().walk([](Operation *op) {
    bool promises = op->hasAttr(tt::divisibilityName) || op->hasAttr(tt::contiguityName) || op->hasAttr(tt::constancyName);
    return promises ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

void LayoutPlan::addAccess(Operation *op, Value pointer, Value mask, Value tile) {
  if (!isTile(tile)) return;
  MemoryAccess access;
  access.op = op;
  access.pointer = pointer;
  access.mask = mask;
  access.tile = tile;
  if (pointer) {
    access.properties = accessProperties(axes, pointer, mask);
    if (int64_t elements = unalignedElements(op, access.properties)) {
      access.unaligned = true;
      access.properties.vectorLimit = elements;
    } else {
      access.properties.repeats = provenRepeats(op, provenAxes ? *provenAxes : axes);
    }
  } else {
    access.properties = rowProperties(tile, rowMajorOrder(cast<RankedTensorType>(tile.getType()).getRank()));
  }
  if (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op))
    access.properties.vectorLimit = std::min(access.properties.vectorLimit, contiguousOfAtomic(op, target));
  accessOf[op] = accesses.size();
  if (std::optional<size_t> owner = members.find(tile)) classes[*owner].accesses.push_back(accesses.size());
  accesses.push_back(std::move(access));
}

void LayoutPlan::addConversionPoint(Operation *op, Value from, Value to) {
  std::optional<size_t> fromClass = members.find(from), toClass = members.find(to);
  if (!fromClass || !toClass) return;
  classes[*fromClass].conversionPoints.push_back(conversionPoints.size());
  if (*toClass != *fromClass) classes[*toClass].conversionPoints.push_back(conversionPoints.size());
  conversionPoints.push_back({op, from, to, weightOf(op)});
}

/// TMA leaves the tile in shared memory: any layout works, and one with wide accesses is best.
void LayoutPlan::addTmaTransfer(Value tile, ArrayRef<int32_t> order) {
  if (std::optional<size_t> owner = members.find(tile)) classes[*owner].transfers.push_back({tile, Dims(order.begin(), order.end())});
}

/// Collects memory accesses and layout conversion points.
void LayoutPlan::collect(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tt::LoadOp load) { addAccess(op, load.getPtr(), load.getMask(), load.getResult()); })
      .Case([&](tt::StoreOp store) { addAccess(op, store.getPtr(), store.getMask(), store.getValue()); })
      .Case([&](tt::AtomicRMWOp atomic) { addAccess(op, atomic.getPtr(), atomic.getMask(), atomic.getVal()); })
      .Case([&](tt::AtomicCASOp atomic) { addAccess(op, atomic.getPtr(), Value(), atomic.getVal()); })
      .Case([&](ttg::DescriptorLoadOp load) { addTmaTransfer(load.getResult(), load.getOrder()); })
      .Case([&](ttg::DescriptorStoreOp store) { addTmaTransfer(store.getSrc(), store.getOrder()); })
      .Case([&](tt::ReduceOp reduce) { addConversionPoint(op, reduce.getSrcs()[0], reduce.getResult()[0]); })
      .Case<tt::JoinOp, tt::CatOp>([&](auto pair) { addConversionPoint(op, pair.getLhs(), pair.getResult()); })
      .Case([&](tt::SplitOp split) { addConversionPoint(op, split.getSrc(), split.getOutLHS()); })
      .Case<tt::ExpandDimsOp, tt::BroadcastOp>([&](auto shaped) { addConversionPoint(op, shaped.getResult(), shaped.getSrc()); })
      .Case<tt::ReshapeOp, tt::TransOp>([&](auto shaped) { addConversionPoint(op, shaped.getSrc(), shaped.getResult()); })
      .Case([&](ttg::UnpackE2m1Op unpack) { addConversionPoint(op, unpack.getBytes(), unpack.getResult()); });
}

/// Records a 32-bit wgmma operand that needs a transposition: wgmma reads these along K only. `along`: the operand's K dimension.
void LayoutPlan::recordTransposed(tt::DotOp dot, Value operand, int64_t along) {
  auto load = operand.getDefiningOp<ttg::DescriptorLoadOp>();
  std::optional<size_t> owner = members.find(operand);
  if (!load || !owner || ttg::elementBits(operand.getType()) != 32 || load.getOrder()[0] == along) return;
  classes[*owner].transposedLoads.push_back({dot, operand, Dims(load.getOrder().begin(), load.getOrder().end())});
}

/// True if the operand is loaded and contiguous in memory along `dim`.
bool LayoutPlan::isLoadedAlong(Value operand, int64_t dim) const {
  while (auto trans = operand.getDefiningOp<tt::TransOp>()) {
    dim = trans.getOrder()[static_cast<size_t>(dim)];
    operand = trans.getSrc();
  }
  if (auto load = operand.getDefiningOp<ttg::DescriptorLoadOp>()) return load.getOrder()[0] == dim;
  auto load = operand.getDefiningOp<tt::LoadOp>();
  return load && accessProperties(axes, load.getPtr(), load.getMask()).order[0] == dim;
}

/// Gives one layout to all dots whose results are in one class, such as two dots that accumulate into one loop-carried sum.
void LayoutPlan::agree(const Class &one) {
  auto differs = [&](Operation *dot) { return dotChoices[dot].result != dotChoices[one.dots[0]].result; };
  if (!llvm::any_of(one.dots, differs)) return;
  for (Operation *dot : one.dots)
    if (auto plain = dyn_cast<tt::DotOp>(dot)) dotChoices[dot] = chooseDot(plain, warps, target);
}

/// Records the operation with its class if its cost depends on the class's layout, or if it determines that layout.
void LayoutPlan::describe(Operation *op) {
  if (!isa<tt::ReduceOp, tt::ScanOp, tt::DotOp, tt::DotScaledOp>(op)) return;
  if (auto scaled = dyn_cast<tt::DotScaledOp>(op)) {
    dotChoices[op].kind = ttg::MmaKind::mma;
    dotChoices[op].result = scaledDotLayouts(scaled, warps, target).result;
  }
  if (auto dot = dyn_cast<tt::DotOp>(op)) {
    const DotChoice &choice = dotChoices[op] = chooseDot(dot, warps, target, isLoadedAlong(dot.getB(), 1));
    if (readsByDescriptor(choice.kind) && !choice.a) recordTransposed(dot, dot.getA(), 1);
    if (readsByDescriptor(choice.kind)) recordTransposed(dot, dot.getB(), 0);
  }
  std::optional<size_t> found = members.find(isa<tt::DotOp, tt::DotScaledOp>(op) ? op->getResult(0) : op->getOperand(0));
  if (!found) return;
  Class &owner = classes[*found];
  (isa<tt::ReduceOp>(op) ? owner.reductions : isa<tt::ScanOp>(op) ? owner.scans : owner.dots).push_back(op);
}

//===------------------------------------------------------------------------------------------------------------- choice

std::optional<Layout> LayoutPlan::decided(Value tile) const {
  std::optional<size_t> found = members.find(tile);
  return found ? classes[*found].layout : std::nullopt;
}

bool LayoutPlan::holds(const Class &one, Value tile) const {
  std::optional<size_t> found = members.find(tile);
  return found && &classes[*found] == &one;
}

/// Returns the cheapest layout to store a dot's result in. An accumulator holds short pieces of many rows, and no computation follows.
LayoutPlan::Priced LayoutPlan::cheapestStoreOfDot(const MemoryAccess &store, const Layout &tileLayout) const {
  constexpr int64_t wordBits = 32; // shuffles would have to unpack narrower elements from shared words
  Priced best{tileLayout, streamedStoreCost(store.properties, tileLayout)};
  int64_t bits = store.properties.bytes * 8, sharedBytes = target.sharedBytes;
  SmallVector<Layout> layouts(coalescedLayouts(tileLayout.shape, store.properties, warps));
  if (bits >= wordBits) layouts.push_back(gatheredInWarps(tileLayout, store.properties));
  for (const Layout &layout : layouts) {
    int64_t total = streamedStoreCost(store.properties, layout);
    if (total < best.cost) total += plannedConversionCost(tileLayout, layout, bits, sharedBytes);
    if (total < best.cost) best = {layout, total};
  }
  return best;
}

/// Returns the cheapest layout for an access to a tile of this layout, including the conversions before and after it.
LayoutPlan::Priced LayoutPlan::cheapestAccess(const MemoryAccess &access, const Layout &tileLayout) const {
  std::optional<size_t> owner = members.find(access.tile);
  if (access.pointer && isa<tt::StoreOp>(access.op) && !tileLayout.shape.empty() && owner && !classes[*owner].dots.empty())
    return cheapestStoreOfDot(access, tileLayout);
  auto costIn = [&](const Layout &layout) {
    return isa<tt::StoreOp>(access.op) ? storeCost(access.properties, layout) : accessCost(access.properties, layout);
  };
  Priced best{tileLayout, costIn(tileLayout)};
  int64_t bits = access.properties.bytes * 8, conversions = 0;
  for (Value operand : access.op->getOperands())
    if (isTile(operand) && !cheap.contains(operand)) conversions += 1;
  for (Value result : access.op->getResults())
    if (isTile(result) && !result.use_empty()) conversions += 1;
  for (const Layout &layout : coalescedLayouts(tileLayout.shape, access.properties, warps)) {
    if (layout == tileLayout) continue;
    int64_t total = costIn(layout) + conversions * conversionCost(layout, tileLayout, bits);
    if (total < best.cost) best = {layout, total};
  }
  return best;
}

/// Returns the wavefronts of both the read and the transposed write.
int64_t LayoutPlan::transposeCost(const TransposedLoad &load, const Layout &layout) const {
  auto wavefronts = [&](const Dims &order) {
    int64_t bits = ttg::elementBits(load.tile.getType());
    return vectorAccess(layout, SharedLayout::swizzled(layout.shape, bits, widestSpan(layout.shape, bits, order), order)).wavefronts;
  };
  return wavefronts(load.order) + wavefronts({load.order[1], load.order[0]});
}

/// Returns layouts whose threads hold blocks with as many contiguous elements as one access, along both dimensions.
static SmallVector<Layout> transposedLayouts(const Dims &shape, int64_t warps, const Dims &order) {
  constexpr int64_t contiguous = 4, threads = 32;
  SmallVector<Layout> layouts;
  auto fast = static_cast<size_t>(order[0]), slow = static_cast<size_t>(order[1]);
  for (int64_t lanes : {2, 4}) { // along the slow dimension: to avoid bank conflicts in both directions
    Dims each(2, contiguous), grid(2, threads / lanes), groups(2, 1);
    grid[slow] = lanes;
    if (contiguous * grid[fast] > shape[fast] || contiguous * lanes > shape[slow]) continue;
    groups[slow] = std::min(warps, shape[slow] / (contiguous * lanes));
    groups[fast] = warps / groups[slow];
    layouts.push_back(Layout::blocked(shape, each, grid, groups, {order[1], order[0]}));
  }
  return layouts;
}

/// Returns how many warps hold partial values of a result; 1 for operations that are not reductions.
static int64_t warpsAlong(Operation *op, const Layout &source) {
  auto reduce = dyn_cast<tt::ReduceOp>(op);
  return reduce ? warpsOfReduction(source, reduce.getAxis()) : 1;
}

int64_t LayoutPlan::cost(const Class &chosen, const Layout &layout) const {
  int64_t sum = 0;
  for (const TransposedLoad &load : chosen.transposedLoads)
    sum += weightOf(load.dot) * transposeCost(load, layout);
  for (size_t index : chosen.accesses)
    sum += weightOf(accesses[index].op) * cheapestAccess(accesses[index], layout).cost;
  for (Operation *op : chosen.reductions)
    sum += weightOf(op) * reductionCost(layout, cast<tt::ReduceOp>(op).getAxis());
  for (Operation *op : chosen.scans)
    sum += weightOf(op) * scanCost(layout, cast<tt::ScanOp>(op).getAxis());
  for (size_t index : chosen.conversionPoints) {
    const ConversionPoint &point = conversionPoints[index];
    bool isFrom = holds(chosen, point.from), isTo = holds(chosen, point.to);
    std::optional<Layout> from = isFrom ? layout : decided(point.from), to = isTo ? layout : decided(point.to);
    if (!from || !to) continue;
    if (int64_t warps = warpsAlong(point.op, *from); warps > 1) { // threads read partial values in any layout
      sum += point.weight * partialLoadsCost(*to, warps);
      continue;
    }
    bool backwards = isa<tt::ExpandDimsOp, tt::BroadcastOp>(point.op);
    std::optional<Layout> natural = backwards ? sourceLayout(point.op, *from) : resultLayout(point.op, *from);
    if (!natural) natural = defaultLayout(to->shape, warps); // tt.split of halves in different threads
    sum += point.weight * conversionCost(*natural, *to, ttg::elementBits(point.to.getType()));
  }
  return sum;
}

SmallVector<Layout> LayoutPlan::candidates(const Class &chosen) const {
  SmallVector<Layout> layouts;
  auto add = [&](const Layout &layout) {
    if (!llvm::is_contained(layouts, layout)) layouts.push_back(layout);
  };
  for (Operation *dot : chosen.dots)
    add(dotChoices.find(dot)->second.result);
  if (!layouts.empty()) return layouts; // leaving the accumulator layout never pays off
  for (size_t index : chosen.conversionPoints) {
    const ConversionPoint &point = conversionPoints[index];
    bool backwards = isa<tt::ExpandDimsOp, tt::BroadcastOp>(point.op), isFrom = holds(chosen, point.from);
    std::optional<Layout> other = decided(isFrom ? point.to : point.from);
    if (!other) continue;
    // `from` is the result of expand_dims and broadcast, and the source of other operations.
    bool toResult = backwards == isFrom;
    if (std::optional<Layout> layout = toResult ? resultLayout(point.op, *other) : sourceLayout(point.op, *other)) add(*layout);
  }
  for (size_t index : chosen.accesses)
    for (const Layout &layout : coalescedLayouts(chosen.shape, accesses[index].properties, warps))
      add(layout);
  for (Operation *op : chosen.scans)
    add(scanLayout(chosen.shape, cast<tt::ScanOp>(op).getAxis(), warps));
  for (const Transfer &transfer : chosen.transfers)
    if (transfer.order.size() == chosen.shape.size())
      for (const Layout &layout : coalescedLayouts(chosen.shape, rowProperties(transfer.tile, transfer.order), warps))
        add(layout);
  for (const TransposedLoad &load : chosen.transposedLoads)
    for (const Layout &layout : transposedLayouts(chosen.shape, warps, load.order))
      add(layout);
  if (layouts.empty()) add(defaultLayout(chosen.shape, warps));
  return layouts;
}

void LayoutPlan::choose(Class &chosen) {
  for (const Layout &layout : candidates(chosen)) {
    int64_t sum = cost(chosen, layout);
    ++chosen.candidates;
    bool better = !chosen.layout || sum < chosen.cost;
    int64_t other = better ? chosen.cost : sum;
    if (chosen.layout) chosen.next = std::min(chosen.next.value_or(other), other);
    if (!better) continue;
    chosen.layout = layout;
    chosen.cost = sum;
  }
}

bool LayoutPlan::hasLinkedClass(const Class &one) const {
  return llvm::any_of(one.conversionPoints, [&](size_t index) {
    const ConversionPoint &point = conversionPoints[index];
    std::optional<Layout> from = decided(point.from);
    return (from && warpsAlong(point.op, *from) == 1) || decided(point.to);
  });
}

bool LayoutPlan::hasPreferences(const Class &one) const {
  return !one.accesses.empty() || !one.reductions.empty() || !one.scans.empty() || !one.dots.empty() || !one.transfers.empty();
}

/// Chooses for dots first, then for large classes, then for classes linked to a decided one. A class without preferences waits for the
/// classes linked to it. Example: between x0, x1 = split(reshape(load(p))) and store(q, reshape(join(y0, y1))) the joined tile is as large
/// as the stored one. Chosen first, it could take any layout, and the store would need a conversion.
void LayoutPlan::chooseAll() {
  auto rank = [&](const Class &one) {
    bool linked = hasLinkedClass(one);
    return std::tuple(!one.dots.empty(), linked || hasPreferences(one), one.elements, linked);
  };
  for (size_t done = 0; done < classes.size(); ++done) {
    Class *next = nullptr;
    for (Class &one : classes)
      if (!one.layout && (!next || rank(one) > rank(*next))) next = &one;
    choose(*next);
  }
}

LayoutPlan::LayoutPlan(tt::FuncOp function, int64_t warps, const GpuTarget &target)
    : context(function.getContext()), target(target), warps(warps), axes(function),
      cheap(function, [](Operation *) { return true; }, maxRematerializationDepth), members(function, cheap) {
  if (hasPromises(function)) provenAxes.emplace(function, /*trustsPromises=*/false);
  for (const TileEquivalence::Class &one : members.all()) {
    Class &added = classes.emplace_back();
    added.shape = ttg::shapeOf(one.leader.getType());
    added.elements = elementCount(added.shape);
  }
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { collect(op); });
  function.getBody().walk([&](Operation *op) { describe(op); });
  for (const Class &one : classes)
    agree(one);
  chooseAll();
  for (MemoryAccess &access : accesses)
    access.layout = cheapestAccess(access, layoutOf(access.tile)).layout;
}

LaunchGuards LayoutPlan::guards() const {
  LaunchGuards all = axes.guards();
  if (provenAxes) llvm::append_range(all, provenAxes->guards());
  return all;
}

llvm::MapVector<ttg::LayoutAttr, std::string> LayoutPlan::choices() const {
  llvm::MapVector<ttg::LayoutAttr, const Class *> chosen;
  for (const Class &one : classes) {
    const Class *&most = chosen[ttg::LayoutAttr::get(context, *one.layout)];
    if (!most || most->cost < one.cost) most = &one;
  }
  llvm::MapVector<ttg::LayoutAttr, std::string> texts;
  for (auto [layout, one] : chosen)
    texts[layout] = (one->candidates == 1 ? "the only candidate" : "best of " + std::to_string(one->candidates) + " candidates") +
                    ", at a cost of " + std::to_string(one->cost) +
                    (one->next ? "; the next best costs " + std::to_string(*one->next) : "");
  return texts;
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
