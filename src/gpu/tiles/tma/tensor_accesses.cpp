// See tensor_accesses.h.
#include "gpu/tiles/tma/tensor_accesses.h"

#include "gpu/tiles/tma/map_plan.h"
#include "gpu/ttg/unknown_code.h"
#include "support/artifact.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

using address::baseArgument, address::Indices, address::nameOf, address::Polynomial;

bool isTmaTile(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && tile.getRank() >= 2;
}

/// True if the order of the atomic operation concerns no other access. No write of the program comes before it or after it, so a program
/// that sees its effect learns of nothing else. The program's reads come before it, and it depends on them.
static bool ordersNothing(tt::AtomicRMWOp op) {
  if (op->getParentOfType<scf::ForOp>() || op->getParentOfType<scf::WhileOp>()) return false;
  bool isPassed = false;
  WalkResult walk = op->getParentOfType<tt::FuncOp>().walk<WalkOrder::PreOrder>([&](Operation *other) {
    isPassed |= other == op;
    if (other == op || other->getNumRegions() != 0 || isMemoryEffectFree(other)) return WalkResult::advance();
    bool isEarlierRead = !isPassed && isa<tt::LoadOp, ttg::DescriptorLoadOp>(other);
    return isEarlierRead ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

/// Min and max of 16-bit floats are pairs of integer operations by now.
static std::optional<ttg::Reduction> reductionOf(tt::RMWOp kind, Type element) {
  if (kind == tt::RMWOp::FADD)
    return element.isF16() || element.isBF16() || element.isF32() ? std::optional(ttg::Reduction::add) : std::nullopt;
  if (!element.isInteger(32) && !element.isInteger(64)) return std::nullopt;
  return ttg::symbolizeReduction(tt::stringifyRMWOp(kind)); // none for exch
}

Result<ttg::Reduction> tmaReduction(tt::AtomicRMWOp op) {
  std::optional<ttg::Reduction> kind = reductionOf(op.getAtomicRmwOp(), getElementTypeOrSelf(op.getVal().getType()));
  if (!kind) return Failure{"TMA does not have this atomic operation for elements of this type"};
  if (!op.use_empty()) return Failure{"its result is used"};
  if (op.getSem() != tt::MemSemantic::RELAXED && !ordersNothing(op)) return Failure{"it orders other accesses; sem=\"relaxed\" does not"};
  if (op.getScope() == tt::MemSyncScope::SYSTEM) return Failure{"it is atomic for the whole system"};
  return *kind;
}

//===------------------------------------------------------------------------------------------------------------- counting

TensorAccesses::TensorAccesses(tt::FuncOp function) : function(function) {
  function.walk([&](Operation *op) { count(op); });
}

TensorAccesses::Accesses &TensorAccesses::count(Value pointer, int64_t reads, int64_t writes) {
  BlockArgument base = baseArgument(pointer);
  Accesses &accesses = base ? byArgument[base] : unknown;
  accesses.reads += reads;
  accesses.writes += writes;
  return accesses;
}

/// Overwriting stores do not count: they wait for the previous ones.
void TensorAccesses::count(Operation *op) {
  if (auto load = dyn_cast<tt::LoadOp>(op)) count(load.getPtr(), 1, 0);
  if (auto store = dyn_cast<tt::StoreOp>(op); store && !store->hasAttr(tt::overwritesName))
    count(store.getPtr(), 0, 1).stores.push_back(store);
  auto atomic = dyn_cast<tt::AtomicRMWOp>(op);
  std::optional<ttg::Reduction> reduction;
  if (Result<ttg::Reduction> kind = atomic ? tmaReduction(atomic) : Failure{}) reduction = *kind;
  if (reduction) count(atomic.getPtr(), 0, 0).reductions.insert(*reduction);
  if (!reduction && isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op)) count(op->getOperand(0), 1, 1);
  hasUnknownCode |= ttg::mayAccessAnyMemory(op);
}

//===------------------------------------------------------------------------------------------------------- disjoint stores

/// True if two tiles of one tensor, each a box of the same map, are disjoint: along some dimension one ends before the other begins.
static bool mapsAreDisjoint(Indices &indices, const MapPlan &x, Value xTile, const MapPlan &y, Value yTile) {
  if (x.dims.size() != y.dims.size() || x.offset != y.offset) return false;
  auto extent = [](Value tile, int64_t dim) { return dim < 0 ? 1 : cast<RankedTensorType>(tile.getType()).getDimSize(unsigned(dim)); };
  bool disjoint = false;
  for (auto [a, b] : llvm::zip(x.dims, y.dims)) {
    if (a.stride != b.stride || a.bound != b.bound || a.placeholder || b.placeholder || a.clamped || b.clamped) return false;
    disjoint |= indices.isProven(a.start - b.start, extent(yTile, b.tileDim), INT64_MAX) ||
                indices.isProven(b.start - a.start, extent(xTile, a.tileDim), INT64_MAX);
  }
  return disjoint;
}

/// True if at most one of two operations runs: they are in two branches of an scf.if that no loop repeats.
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

/// True if each element of a map's tensor has one index: no row begins before the previous one ends. A launch guard checks that.
static bool hasOneIndexEach(Indices &indices, const MapPlan &plan) {
  for (size_t i = 0; i + 1 < plan.dims.size(); ++i) {
    const MapDimension &dim = plan.dims[i];
    std::optional<Polynomial> length = i == 0 ? dim.bound : product(dim.bound, dim.stride);
    if (dim.bound.isZero() || !length || !indices.assumeNonNegative(plan.dims[i + 1].stride - *length)) return false;
  }
  return true;
}

/// Returns the launch guards under which no two of the stores write to one address; null if they may.
std::optional<LaunchGuards> TensorAccesses::disjointStoresGuards(const Accesses &accesses) const {
  address::FailedGuards failedGuards = ttg::failedGuardsOf(function);
  Indices indices(function, failedGuards, cudaGridLimits);
  std::vector<MapPlan> plans;
  for (size_t i = 0; i < accesses.stores.size(); ++i) {
    tt::StoreOp store = accesses.stores[i];
    if (!isTmaTile(store.getValue().getType())) return {};
    Result<MapPlan> plan = planVerifiedMap(store, indices, store.getPtr(), store.getMask(), ttg::shapeOf(store.getValue().getType()));
    if (!plan) return {};
    for (size_t j = 0; j < i; ++j) {
      tt::StoreOp other = accesses.stores[j];
      if (areExclusive(store, other)) continue;
      if (store->getBlock() != other->getBlock() || !mapsAreDisjoint(indices, plans[j], other.getValue(), *plan, store.getValue()))
        return {};
      if (!hasOneIndexEach(indices, plans[j])) return {};
    }
    plans.push_back(std::move(*plan));
  }
  return indices.guards();
}

void TensorAccesses::mergeDisjointStores() {
  for (auto &[base, accesses] : byArgument) {
    if (accesses.stores.size() < 2 || int64_t(accesses.stores.size()) != accesses.writes) continue;
    std::optional<LaunchGuards> guards = disjointStoresGuards(accesses);
    if (!guards) continue;
    accesses.disjoint = std::move(*guards);
    accesses.writes = 1;
  }
}

//===-------------------------------------------------------------------------------------------------------- what TMA may do

/// TMA copies are not ordered with other accesses to their memory, so no other argument may access it. Returns the guards that this
/// needs.
Result<LaunchGuards> TensorAccesses::checkOtherAccesses(BlockArgument base, bool writes) const {
  LaunchGuards guards;
  for (const auto &[argument, count] : byArgument) {
    if (argument == base || !(count.changes() || (writes && count.reads))) continue;
    std::optional<LaunchGuard> guard = ttg::noAliasGuard(base, argument);
    if (!guard) return Failure{nameOf(argument) + " may overlap " + nameOf(base)};
    guards.push_back(*guard);
  }
  return guards;
}

/// Assembly may write to the tensor, read it, or signal to other programs that it is written.
static Failure accessedByCode(BlockArgument base) {
  return Failure{"assembly or a library function of the kernel may access " + nameOf(base)};
}

Result<LaunchGuards> TensorAccesses::checkRead(BlockArgument base) const {
  if (hasUnknownCode) return accessedByCode(base);
  if (unknown.changes()) return Failure{"the kernel writes through pointers whose tensor is unknown"};
  if (byArgument.lookup(base).changes()) return Failure{"the kernel writes to " + nameOf(base)};
  return checkOtherAccesses(base, /*writes=*/false);
}

/// Returns what the kernel does with the tensor, if it does not read it.
Result<TensorAccesses::Accesses> TensorAccesses::checkOnlyWritten(BlockArgument base) const {
  Accesses accesses = byArgument.lookup(base);
  if (hasUnknownCode) return accessedByCode(base);
  if (unknown.reads || unknown.changes()) return Failure{"the kernel has pointers whose tensor is unknown"};
  if (accesses.reads) return Failure{"the kernel also reads " + nameOf(base)};
  return accesses;
}

Result<LaunchGuards> TensorAccesses::checkStore(BlockArgument base) const {
  Result<Accesses> accesses = checkOnlyWritten(base);
  if (!accesses) return Failure{accesses.error()};
  if (!accesses->reductions.empty()) return Failure{"the kernel also changes " + nameOf(base) + " by atomic operations"};
  if (accesses->writes > 1) return Failure{"the kernel writes to " + nameOf(base) + " by several stores, which may overlap"};
  Result<LaunchGuards> guards = checkOtherAccesses(base, /*writes=*/true);
  if (guards) llvm::append_range(*guards, accesses->disjoint);
  return guards;
}

Result<LaunchGuards> TensorAccesses::checkReductions(BlockArgument base) const {
  Result<Accesses> accesses = checkOnlyWritten(base);
  if (!accesses) return Failure{accesses.error()};
  if (accesses->writes) return Failure{"the kernel also stores to " + nameOf(base)};
  if (accesses->reductions.size() > 1) return Failure{"the kernel changes " + nameOf(base) + " by different atomic operations"};
  return checkOtherAccesses(base, /*writes=*/true);
}

} // namespace tilewright::gpu
