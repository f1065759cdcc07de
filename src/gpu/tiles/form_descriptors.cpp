// The copy engine moves a tile by one instruction, if a tensor map says how the tensor lies in memory. A kernel says it by arithmetic:
//   before: %p = a + (m0 + i) * stride_am + (k0 + j)         %mask = m0 + i < M  and  k0 + j < K
//           %x = tt.load %p, %mask, 0
//   after:  %x = ttg.descriptor_load %map[k0, m0]            map: base a, dims {K, M}, strides {stride_am}, a new argument
// The bounds of a mask become the map's extents, since the engine fills with zeros what lies outside. map_plan.h finds the map.
// A condition of the whole tile has no bound to become: where it is false the tile starts before the tensor, where there is nothing.
//
// Reads and writes of the copy engine come in no order with those of threads to the same memory. So a tensor that a kernel both reads and
// writes, or writes by two stores that may meet, has no map; and that the tensors of two arguments lie apart is a fact that the launch
// checks. What stores a tile once more, in a branch behind all stores before, is stored by threads, which wait for these.
//
// The engine adds to memory as well. An atomic addition of a tile that came from a product, whose result nobody uses and which orders
// nothing else (relaxed), is
//   ttg.descriptor_store %x to %map[k0, m0] {adds}
// Additions to one tensor come in no order with one another, whoever makes them; nothing else may access that tensor.
//
// A launch makes each map, and a block fetches it before its first copy. Copies that run ahead of a loop are worth that; a kernel that
// copies each tile once is not, so it keeps its loads and stores (H200, products of one step in 1 to 8192 blocks: 5 to 7 us a call instead
// of 5 to 8, and mostly the same time on the card; in 8192 blocks fp32 products of 128x128x64 and 64x64x64 are 6 to 7 % slower).
#include "gpu/passes.h"
#include "gpu/tiles/dot_choice.h"
#include "gpu/tiles/map_plan.h"
#include "gpu/tiles/valid_extent.h"
#include "gpu/tiles/ttg.h"
#include "ir/volatile_load.h"
#include "ir/scaled_dot.h"
#include "support/artifact.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

using address::baseArgument, address::Conjunct, address::Indices, address::nameOf, address::Polynomial, address::Term;

constexpr int64_t farBefore = -(1 << 24); // further from 0 than any tile is long

//===------------------------------------------------------------------------------------------------------------- function

bool isElementwise(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return op->getNumRegions() == 0 && (dialect == "arith" || dialect == "math" || isa<tt::FpToFpOp, tt::ClampFOp>(op));
}

/// Whether the tile is made of a product's result.
bool comesFromDot(Value tile) {
  llvm::SetVector<Value> seen;
  seen.insert(tile);
  for (size_t i = 0; i < seen.size(); ++i) {
    auto visit = [&](ValueRange values) { seen.insert_range(values); };
    if (auto argument = dyn_cast<BlockArgument>(seen[i])) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument == loop.getInductionVar()) continue;
      visit({loop.getInitArgs()[argument.getArgNumber() - 1], loop.getYieldedValues()[argument.getArgNumber() - 1]});
      continue;
    }
    Operation *op = seen[i].getDefiningOp();
    if (!isa<RankedTensorType>(seen[i].getType())) continue;
    size_t result = cast<OpResult>(seen[i]).getResultNumber();
    if (isa<tt::DotOp>(op)) return true;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      visit({loop.getInitArgs()[result], loop.getYieldedValues()[result]});
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      visit({branch.thenYield().getOperand(unsigned(result)), branch.elseYield().getOperand(unsigned(result))});
    else if (isElementwise(op) || isa<tt::TransOp, ttg::ConvertLayoutOp, tt::SplitOp, tt::ReshapeOp>(op))
      visit(op->getOperands());
  }
  return false;
}

/// Whether threads compute a product's operand from the tile, element by element, and from no other product: then it comes to shared memory
/// ahead, in small numbers, and takes no registers until it is widened.
bool isDequantizedForDot(Value tile) {
  llvm::SetVector<Value> made;
  made.insert(tile);
  for (size_t i = 0; i < made.size(); ++i)
    for (OpOperand &use : made[i].getUses()) {
      Operation *user = use.getOwner();
      if (isa<tt::DotOp>(user) && use.getOperandNumber() < 2) return !comesFromDot(made[i]);
      bool passes = isElementwise(user) || isa<tt::TransOp, tt::BitcastOp, tt::ReshapeOp, ttg::ConvertLayoutOp, ttg::UnpackE2m1Op>(user);
      if (passes && isa<RankedTensorType>(user->getResult(0).getType())) made.insert(user->getResult(0));
    }
  return false;
}

int64_t bytesOf(Type tile) {
  auto type = cast<RankedTensorType>(tile);
  return type.getNumElements() * std::max<int64_t>(8, type.getElementTypeBitWidth()) / 8;
}

/// Whether shared memory holds two of each tile that an iteration loads so, and two of each operand of its products.
bool fitsDequantized(scf::ForOp loop, const GpuTarget &target) {
  int64_t bytes = 0;
  for (Operation &op : loop.getBody()->getOperations()) {
    if (auto dot = dyn_cast<tt::DotOp>(op)) bytes += 2 * (bytesOf(dot.getA().getType()) + bytesOf(dot.getB().getType()));
    if (auto load = dyn_cast<tt::LoadOp>(op);
        load && isa<RankedTensorType>(load.getType()) && isDequantizedForDot(load) && !feedsDot(load))
      bytes += 2 * bytesOf(load.getType());
  }
  return bytes <= target.sharedBytes;
}

/// Stops carrying scalars that only made addresses: nothing but their own next value still depends on them.
void dropDeadCarried(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [index, carried] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (isa<RankedTensorType>(carried.getType()) || !loop.getResult(unsigned(index)).use_empty()) continue;
    llvm::SetVector<Value> reached;
    reached.insert(carried);
    bool dead = true;
    for (size_t i = 0; i < reached.size() && dead; ++i)
      for (OpOperand &use : reached[i].getUses()) {
        Operation *user = use.getOwner();
        if (user == yield)
          dead &= use.getOperandNumber() == index;
        else if (isPure(user) && user->getNumRegions() == 0 && !user->hasTrait<OpTrait::IsTerminator>())
          reached.insert_range(user->getResults());
        else
          dead = false;
      }
    if (dead) yield->setOperand(unsigned(index), carried);
  }
}

/// Who reads and writes each tensor.
struct Accesses {
  int64_t reads = 0, writes = 0, adds = 0;
  SmallVector<tt::StoreOp> stores;
  bool changes() const { return writes || adds; }
};

/// Whether an atomic operation is an addition that says nothing about other accesses, and whose result nobody uses.
Result<void> checkOnlyAdds(tt::AtomicRMWOp op) {
  bool adds = op.getAtomicRmwOp() == tt::RMWOp::ADD || op.getAtomicRmwOp() == tt::RMWOp::FADD;
  if (!adds) return Failure{"the copy engine only adds"};
  if (!op.use_empty()) return Failure{"its result is used"};
  if (op.getSem() != tt::MemSemantic::RELAXED) return Failure{"it orders other accesses, which sem=\"relaxed\" would not"};
  if (op.getScope() == tt::MemSyncScope::SYSTEM) return Failure{"it is atomic for the host as well"};
  return {};
}

/// Whether two tiles of one tensor, each a box of the same map, have no index in common: along some dimension one ends before the other
/// begins.
bool mapsAreDisjoint(Indices &indices, const MapPlan &x, Value xTile, const MapPlan &y, Value yTile) {
  if (x.dims.size() != y.dims.size() || x.offset != y.offset) return false;
  auto extent = [](Value tile, int64_t dim) { return dim < 0 ? 1 : cast<RankedTensorType>(tile.getType()).getDimSize(unsigned(dim)); };
  bool apart = false;
  for (auto [a, b] : llvm::zip(x.dims, y.dims)) {
    if (a.stride != b.stride || a.bound != b.bound || a.placeholder || b.placeholder || a.clamped || b.clamped) return false;
    apart |= indices.isProven(a.start - b.start, extent(yTile, b.tileDim), INT64_MAX) ||
             indices.isProven(b.start - a.start, extent(xTile, a.tileDim), INT64_MAX);
  }
  return apart;
}

class Former {
public:
  Former(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target)
      : function(function), config(config), target(target), b(function.getContext()), failedGuards(ttg::failedGuardsOf(function)) {}

  void run() {
    SmallVector<Operation *> candidates;
    function.walk([&](Operation *op) {
      auto load = dyn_cast<tt::LoadOp>(op);
      auto store = dyn_cast<tt::StoreOp>(op);
      if (load) countAccess(load.getPtr(), 1, 0);
      bool again = store && store->hasAttr(tt::overwritesName); // the pipeline waits for the stores before
      if (store && !again) countAccess(store.getPtr(), 0, 1).stores.push_back(store);
      auto atomic = dyn_cast<tt::AtomicRMWOp>(op);
      bool adds = atomic && checkOnlyAdds(atomic);
      if (adds) ++countAccess(atomic.getPtr(), 0, 0).adds;
      if (!adds && isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op)) countAccess(op->getOperand(0), 1, 1);
      auto assembly = dyn_cast<tt::ElementwiseInlineAsmOp>(op);
      mayTell |= assembly && !assembly.getPure();
      if (atomic && isCandidate(atomic.getVal().getType()) && comesFromDot(atomic.getVal())) candidates.push_back(op);
      if (load && isCandidate(load.getType()) && (feedsDot(load) || isDequantized(load))) candidates.push_back(op);
      if (store && !again && isCandidate(store.getValue().getType()) && comesFromDot(store.getValue())) candidates.push_back(op);
    });
    function.walk([&](scf::ForOp loop) {
      if (copiesLittle(loop)) small.insert(loop);
    });
    copiesInLoop = llvm::any_of(candidates, [&](Operation *op) {
      bool inLoop = op->getParentOfType<scf::ForOp>() || op->getParentOfType<scf::WhileOp>();
      return isa<tt::LoadOp>(op) && inLoop && !small.contains(op->getParentOp());
    });
    for (auto &[base, count] : accesses)
      if (count.stores.size() > 1 && int64_t(count.stores.size()) == count.writes && storesAreDisjoint(count)) count.writes = 1;
    for (Operation *op : candidates) {
      Result<void> formed = form(op);
      if (!formed) op->setAttr(ttg::noDescriptorName, b.getStringAttr(formed.error()));
    }
    function.walk([&](tt::LoadOp load) {
      if (goesWithTiles(load)) (void)formLoad(load);
    });
    function.walk(dropDeadCarried);
  }

private:
  /// A row of numbers that each iteration loads beside a product's tiles (the sums of a softmax, scales): the copy engine brings it with
  /// them, and no thread holds it in registers until it is used.
  static bool goesWithTiles(tt::LoadOp load) {
    constexpr int64_t longest = 256, unit = 16; // of a box, in elements; of the copy engine, in bytes
    auto row = dyn_cast<RankedTensorType>(load.getType());
    if (!row || row.getRank() != 1 || row.getDimSize(0) > longest || !isa<scf::ForOp>(load->getParentOp())) return false;
    if (!row.getElementType().isIntOrFloat() || row.getDimSize(0) * row.getElementTypeBitWidth() / 8 % unit != 0) return false;
    return !load->getBlock()->getOps<ttg::DescriptorLoadOp>().empty();
  }

  /// A load in a loop whose tile threads widen for a product.
  bool isDequantized(tt::LoadOp load) {
    auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
    return loop && isDequantizedForDot(load) && fitsDequantized(loop, target);
  }

  /// Whether the tiles of an iteration's products are small, and threads read them. What threads have read is fenced before the copy engine
  /// fills it again, in every iteration, and these fences wait for one another on a multiprocessor that runs many small programs: an H100
  /// took 741 us for 2048x2048x2048 by tiles of 32x32x32, and 139 with cp.async, whose copies need no fence; 255 and 121 for 32x32x64, 91
  /// and 86 for 32x64x64, 116 and 124 for 16x128x64.
  bool copiesLittle(scf::ForOp loop) {
    constexpr int64_t smallBytes = 12 << 10;
    auto dots = loop.getBody()->getOps<tt::DotOp>();
    if (dots.empty() || config.getCtas() != 1) return false;
    int64_t bytes = 0;
    for (auto each : loop.getBody()->getOps<tt::LoadOp>())
      if (isCandidate(each.getType()) && feedsDot(each)) bytes += bytesOf(each.getType());
    bool isLittle = bytes <= smallBytes;
    return isLittle && llvm::all_of(dots, [&](tt::DotOp dot) { return mmaKind(dot, config) != ttg::MmaKind::wgmma; });
  }

  static bool isCandidate(Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile && tile.getRank() >= 2;
  }

  Accesses &countAccess(Value pointer, int64_t reads, int64_t writes) {
    BlockArgument base = baseArgument(pointer);
    Accesses &count = base ? accesses[base] : unknown;
    count.reads += reads;
    count.writes += writes;
    return count;
  }

  /// Whether at most one of two operations takes place, because they stand in two branches and nothing repeats these.
  static bool areExclusive(Operation *x, Operation *y) {
    for (Operation *around = x->getParentOp(); around; around = around->getParentOp()) {
      if (!around->isAncestor(y)) continue;
      auto branch = dyn_cast<scf::IfOp>(around);
      bool repeats = around->getParentOfType<scf::ForOp>() || around->getParentOfType<scf::WhileOp>();
      return branch && !repeats &&
             branch.getThenRegion().isAncestor(x->getParentRegion()) != branch.getThenRegion().isAncestor(y->getParentRegion());
    }
    return false;
  }

  /// Whether no two stores of one tensor write to one place, in one run of the code around them: then they need no order.
  bool storesAreDisjoint(const Accesses &count) {
    Indices indices(function, failedGuards);
    std::vector<MapPlan> plans;
    bool compared = false;
    for (size_t i = 0; i < count.stores.size(); ++i) {
      tt::StoreOp store = count.stores[i];
      if (!isCandidate(store.getValue().getType())) return false;
      Result<MapPlan> plan = planFor(store, indices, store.getPtr(), store.getMask(), ttg::shapeOf(store.getValue().getType()));
      if (!plan) return false;
      for (size_t j = 0; j < i; ++j) {
        tt::StoreOp other = count.stores[j];
        if (areExclusive(store, other)) continue;
        if (store->getBlock() != other->getBlock() || !mapsAreDisjoint(indices, plans[j], other.getValue(), *plan, store.getValue())) return false;
        compared = true;
      }
      plans.push_back(std::move(*plan));
    }
    if (compared && !hasOneIndexEach(indices, plans.front())) return false;
    ttg::relyOn(function, indices.guards());
    return true;
  }

  /// Whether each element of a map's tensor has one index: no row begins before the one before it has ended, which launches are asked for.
  static bool hasOneIndexEach(Indices &indices, const MapPlan &plan) {
    for (size_t i = 0; i + 1 < plan.dims.size(); ++i) {
      const MapDimension &dim = plan.dims[i];
      std::optional<Polynomial> length = i == 0 ? dim.bound : product(dim.bound, dim.stride);
      if (dim.bound.isZero() || !length || !indices.assumeNonNegative(plan.dims[i + 1].stride - *length)) return false;
    }
    return true;
  }

  /// Copies by the copy engine come in no order with other accesses to their memory: there must be none, through no other argument either.
  Result<void> checkOthers(BlockArgument base, bool writes) {
    for (auto [argument, count] : accesses)
      if (argument != base && (count.changes() || (writes && count.reads)) && !ttg::mapsAreDisjoint(base, argument))
        return Failure{nameOf(argument) + " may overlap " + nameOf(base)};
    return {};
  }

  /// Barriers of copies are counted in what loops carry; the condition of a while loop carries nothing of its own.
  static Result<void> checkPlace(Operation *op) {
    for (Region *region = op->getParentRegion(); !isa<tt::FuncOp>(region->getParentOp());
         region = region->getParentOp()->getParentRegion()) {
      Operation *around = region->getParentOp();
      auto loop = dyn_cast<scf::WhileOp>(around);
      if (loop && region == &loop.getBefore()) return Failure{"it is in the condition of a while loop"};
      if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(around)) return Failure{"it is inside of " + around->getName().getStringRef().str()};
    }
    return {};
  }

  /// The plan of a load or a store, proven. The kernel does not rely on its facts yet.
  Result<MapPlan> planFor(Operation *op, Indices &indices, Value pointers, Value mask, ArrayRef<int64_t> looked) {
    if (Result<void> fits = checkPlace(op); !fits) return Failure{fits.error()};
    Result<MapPlan> plan = planTensorMap(indices, function, pointers, mask, looked);
    if (!plan) return plan;
    if (failedGuards.contains(everyGuard) || failedGuards.contains(mapGuardName(plan->base.getArgNumber())))
      return Failure{"the launch could not make a map for " + nameOf(plan->base)};
    if (!provesItself(indices, *plan, pointers, mask, looked))
      return Failure{"the map that was found is not what it was made from: a bug of ours"};
    return plan;
  }

  Result<void> checkWorth() {
    if (copiesInLoop) return {};
    return Failure{"no loop copies tiles that a map would bring"};
  }

  Result<void> checkElement(Type tile) {
    Type element = cast<RankedTensorType>(tile).getElementType();
    int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return {};
    return Failure{"its elements are no numbers of 1, 2, 4 or 8 bytes"};
  }

  static Result<void> checkAddition(Type tile) {
    Type element = getElementTypeOrSelf(tile);
    if (element.isF16() || element.isBF16() || element.isF32() || element.isInteger(32) || element.isInteger(64)) return {};
    return Failure{"the copy engine does not add elements of this type"};
  }

  Result<void> formLoad(tt::LoadOp op) {
    if (tt::isVolatileLoad(op)) return Failure{"it is volatile"};
    if (Result<void> fits = checkElement(op.getType()); !fits) return fits;
    Value other = op.getOther();
    if (auto splat = other ? other.getDefiningOp<tt::SplatOp>() : tt::SplatOp()) other = splat.getSrc();
    if (op.getMask() && other && !matchPattern(other, m_Zero()) && !matchPattern(other, m_PosZeroFloat()))
      return Failure{"elements outside of its mask are not 0"};
    Indices indices(function, failedGuards);
    Result<MapPlan> plan = planFor(op, indices, op.getPtr(), op.getMask(), demandedExtent(op));
    if (!plan) return Failure{plan.error()};
    if (unknown.changes()) return Failure{"the kernel writes through pointers whose tensor is not known"};
    if (accesses[plan->base].changes()) return Failure{"the kernel writes to " + nameOf(plan->base)};
    if (Result<void> apart = checkOthers(plan->base, /*writes=*/false); !apart) return apart;
    if (isCandidate(op.getType()) && small.contains(op->getParentOp()))
      return Failure{"the tiles of an iteration are small, and threads read them"};
    if (Result<void> worth = checkWorth(); !worth) return worth;
    ttg::relyOn(function, indices.guards());
    b.setInsertionPoint(op);
    Value map = addMap(indices, *plan, cast<RankedTensorType>(op.getType()).getElementType());
    auto loaded = ttg::DescriptorLoadOp::create(b, op.getLoc(), op.getType(), map, coordinates(indices, *plan, op.getLoc()), order(*plan),
                                                static_cast<uint32_t>(op.getEvict()));
    if (ArrayRef<int64_t>(plan->box) != cast<RankedTensorType>(op.getType()).getShape())
      loaded->setAttr(copiedExtentName, b.getDenseI64ArrayAttr(plan->box));
    if (Attribute split = op->getAttr(ttg::ctaSplitName)) loaded->setAttr(ttg::ctaSplitName, split);
    op.getResult().replaceAllUsesWith(loaded.getResult());
    op.erase();
    return {};
  }

  /// What the copy engine of an H100 does with stores that leave their tensor, as measured: behind the end of a row it clips to 16 bytes,
  /// not to elements; a box that starts before the tensor is an illegal instruction. Loads know neither.
  Result<void> checkStore(Indices &indices, const MapPlan &plan, Type tile) {
    int64_t bytes = cast<RankedTensorType>(tile).getElementTypeBitWidth() / 8;
    const MapDimension &inner = plan.dims.front();
    for (const Term &term : inner.bound.terms)
      if (indices.divisorOf(term) * bytes % mapAlignment != 0)
        return Failure{"its rows may end within 16 bytes: " + indices.text(inner.bound) + " is not known to be a multiple of " +
                       std::to_string(mapAlignment / bytes)};
    if (!plan.wholly.conditions.empty() || !plan.wholly.conjuncts.empty()) return Failure{"it may not take place at all"};
    for (const MapDimension &dim : plan.dims)
      if (!indices.assumeNonNegative(dim.start)) return Failure{"it may start before its tensor"};
    return {};
  }

  Result<void> form(Operation *op) {
    return llvm::TypeSwitch<Operation *, Result<void>>(op)
        .Case([&](tt::LoadOp load) { return formLoad(load); })
        .Case([&](tt::StoreOp store) { return formStore(op, store.getPtr(), store.getMask(), store.getValue(), /*adds=*/false); })
        .Case([&](tt::AtomicRMWOp add) {
          Result<void> only = checkOnlyAdds(add);
          return only ? formStore(op, add.getPtr(), add.getMask(), add.getVal(), /*adds=*/true) : only;
        });
  }

  /// Whether the copy engine may write to the tensor, or add to it.
  Result<void> checkWrite(BlockArgument base, bool adds) {
    const Accesses count = accesses[base];
    if (unknown.reads || unknown.changes()) return Failure{"the kernel has pointers whose tensor is not known"};
    if (count.reads) return Failure{"the kernel also reads " + nameOf(base)};
    if (adds && count.writes) return Failure{"the kernel also stores to " + nameOf(base)};
    if (!adds && count.adds) return Failure{"the kernel also adds to " + nameOf(base)};
    if (count.writes > 1) return Failure{"the kernel writes to " + nameOf(base) + " by several stores, which may meet"};
    if (adds && mayTell) return Failure{"inline assembly may tell other programs of it, which does not wait for the copy engine"};
    return checkOthers(base, /*writes=*/true);
  }

  Result<void> formStore(Operation *op, Value pointers, Value mask, Value tile, bool adds) {
    if (Result<void> fits = adds ? checkAddition(tile.getType()) : checkElement(tile.getType()); !fits) return fits;
    Indices indices(function, failedGuards);
    Result<MapPlan> plan = planFor(op, indices, pointers, mask, ttg::shapeOf(tile.getType()));
    if (!plan) return Failure{plan.error()};
    if (Result<void> fits = checkWrite(plan->base, adds); !fits) return fits;
    if (Result<void> fits = checkStore(indices, *plan, tile.getType()); !fits) return fits;
    if (Result<void> worth = checkWorth(); !worth) return worth;
    ttg::relyOn(function, indices.guards());
    b.setInsertionPoint(op);
    Value map = addMap(indices, *plan, cast<RankedTensorType>(tile.getType()).getElementType());
    auto stored = ttg::DescriptorStoreOp::create(b, op->getLoc(), tile, map, coordinates(indices, *plan, op->getLoc()), order(*plan), adds);
    if (Attribute split = op->getAttr(ttg::ctaSplitName)) stored->setAttr(ttg::ctaSplitName, split);
    op->erase();
    return {};
  }

  /// A clamped coordinate may be anything in the kernel. Below -2^30 there is nothing, nor is there beyond the largest extent of a map.
  Value coordinate(Indices &indices, const MapDimension &dim, Location location) {
    if (!dim.clamped) return indices.make(b, location, dim.start, 32);
    auto constant = [&](int64_t number) { return arith::ConstantOp::create(b, location, b.getI64IntegerAttr(number)).getResult(); };
    Value value = indices.make(b, location, dim.start, 64);
    value = arith::MaxSIOp::create(b, location, value, constant(-(int64_t(1) << 30)));
    value = arith::MinSIOp::create(b, location, value, constant(largestMapExtent));
    return arith::TruncIOp::create(b, location, b.getI32Type(), value);
  }

  SmallVector<Value> coordinates(Indices &indices, const MapPlan &plan, Location location) {
    SmallVector<Value> result;
    for (const MapDimension &dim : plan.dims)
      result.push_back(coordinate(indices, dim, location));
    SmallVector<Value> conditions(plan.wholly.conditions);
    auto constant = [&](TypedAttr number) { return arith::ConstantOp::create(b, location, number).getResult(); };
    for (const Conjunct &conjunct : plan.wholly.conjuncts) // 64 bits, as a difference of two 32-bit numbers may need more than 32
      conditions.push_back(arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, indices.make(b, location, conjunct, 64),
                                                 constant(b.getI64IntegerAttr(0))));
    if (conditions.empty()) return result;
    Value exists = conditions.front();
    for (Value condition : ArrayRef(conditions).drop_front())
      exists = arith::AndIOp::create(b, location, exists, condition);
    result.back() = arith::SelectOp::create(b, location, exists, result.back(), constant(b.getI32IntegerAttr(farBefore)));
    return result;
  }

  static SmallVector<int32_t> order(const MapPlan &plan) {
    SmallVector<int32_t> result;
    for (const MapDimension &dim : plan.dims)
      if (dim.tileDim >= 0) result.push_back(static_cast<int32_t>(dim.tileDim));
    return result;
  }

  ArrayAttr attribute(Indices &indices, const Polynomial &value) {
    SmallVector<Attribute> terms;
    for (const Term &term : value.terms) {
      SmallVector<int64_t> numbers{term.coefficient};
      for (int64_t factor : term.factors)
        numbers.push_back(indices.argumentOf(factor));
      terms.push_back(b.getDenseI64ArrayAttr(numbers));
    }
    return b.getArrayAttr(terms);
  }

  Value addMap(Indices &indices, const MapPlan &plan, Type element) {
    SmallVector<Attribute> bounds, strides;
    for (auto [i, dim] : llvm::enumerate(plan.dims)) {
      bounds.push_back(attribute(indices, dim.bound));
      if (i > 0) strides.push_back(attribute(indices, dim.stride));
    }
    auto recipe = ttg::TensorMapAttr::get(b.getContext(), int64_t(plan.base.getArgNumber()), attribute(indices, plan.offset),
                                          b.getArrayAttr(bounds), b.getArrayAttr(strides), b.getDenseI64ArrayAttr({}), element, 0);
    unsigned index = function.getNumArguments();
    NamedAttribute attribute(b.getStringAttr(ttg::tensorMapName), recipe);
    (void)function.insertArgument(index, ptx::TensorMapType::get(b.getContext()), b.getDictionaryAttr(attribute), plan.base.getLoc());
    return function.getArgument(index);
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  OpBuilder b;
  address::FailedGuards failedGuards;
  llvm::MapVector<BlockArgument, Accesses> accesses; // by the kernel's arguments
  Accesses unknown;
  llvm::SmallPtrSet<Operation *, 4> small; // loops that copy so little that threads do it
  bool copiesInLoop = false;
  bool mayTell = false; ///< inline assembly may tell other programs what has been written
};

} // namespace

LogicalResult formDescriptors(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    if (target.tma) Former(function, config, target).run();
    return success();
  });
}

} // namespace tilewright::gpu
