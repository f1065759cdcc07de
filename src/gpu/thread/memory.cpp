// Global memory from one thread. Registers with contiguous elements in memory are one access, as far as assign-layouts has proven that
// they are contiguous (ttg.vector):
//   before: %v = tt.load %p {ttg.vector = 4} : tensor<512x!tt.ptr<f32>, #four_a_thread>
//   after:  %v:4 = ptx.load_global %p0 -> f32, f32, f32, f32         the other addresses are unused, and are removed
#include "gpu/thread/memory.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/control_flow.h"
#include "gpu/thread/flat_tiles.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/tiles/layouts/layout_cost.h"
#include "ir/address/indices.h"
#include "ir/refusal.h"
#include "ir/volatile_load.h"
#include "ir/written_arguments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

Type memoryType(ThreadContext &t, Type scalar) {
  return scalar.isInteger(1) ? Type(t.b.getI8Type()) : scalar;
}

Value toMemory(ThreadContext &t, Value scalar) {
  return scalar.getType().isInteger(1) ? Value(arith::ExtUIOp::create(t.b, t.b.getI8Type(), scalar)) : scalar;
}

Value fromMemory(ThreadContext &t, Value stored, Type scalar) {
  if (stored.getType() == scalar) return stored;
  return arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, stored, t.zero(stored.getType()));
}

static ptx::Cache cacheOf(tt::CacheModifier modifier) {
  switch (modifier) {
  case tt::CacheModifier::CA: return ptx::Cache::ca;
  case tt::CacheModifier::CG: return ptx::Cache::cg;
  case tt::CacheModifier::CS: return ptx::Cache::cs;
  case tt::CacheModifier::CV: return ptx::Cache::cv;
  case tt::CacheModifier::WB: return ptx::Cache::wb;
  case tt::CacheModifier::WT: return ptx::Cache::wt;
  case tt::CacheModifier::NONE: return ptx::Cache::none;
  }
  return ptx::Cache::none;
}

ptx::Eviction evictionOf(tt::EvictionPolicy policy) {
  switch (policy) {
  case tt::EvictionPolicy::EVICT_FIRST: return ptx::Eviction::evict_first;
  case tt::EvictionPolicy::EVICT_LAST: return ptx::Eviction::evict_last;
  case tt::EvictionPolicy::NORMAL: return ptx::Eviction::normal;
  }
  return ptx::Eviction::normal;
}

/// True if each element is accessed by a single thread.
static bool isExclusive(Value pointer) {
  if (!isa<RankedTensorType>(pointer.getType())) return false;
  Layout layout = ttg::layoutOf(pointer.getType());
  return !layout.freeMask(Axis::lane) && !layout.freeMask(Axis::warp);
}

/// True if one thread makes both accesses to each address, or if no thread can observe their order.
static bool isOrdered(ThreadContext &t, const GlobalAccess &before, const GlobalAccess &next) {
  if (before.blind && before.blind == next.blind) return true;
  return !before.changes && before.pointer == next.pointer && t.config.getCtas() == 1 && isExclusive(next.pointer);
}

/// True if two kernel arguments may be assumed disjoint; their pointers are `pointer` and `other`.
static bool mayAssumeNoAlias(ThreadContext &t, std::pair<Value, Value> bases, Value pointer, Value other) {
  if (!bases.first || !bases.second || bases.first == bases.second) return false;
  auto [known, isNew] = t.noAlias.try_emplace(bases);
  if (isNew) known->second.guard = ttg::noAliasGuard(pointer, other);
  return known->second.guard.has_value();
}

/// Inserts a barrier of all threads if one of them may have made an access that the next access must not overtake. Returns true if it
/// did.
static bool barrierBeforeAccess(ThreadContext &t, const GlobalAccess &next) {
  Value base = address::baseArgument(next.pointer);
  SmallVector<std::pair<Value, Value>> disjoint;
  bool clashes = llvm::any_of(t.sinceBarrier.accesses(), [&](const GlobalAccess &before) {
    if ((!next.writes && !before.writes) || isOrdered(t, before, next)) return false;
    disjoint.push_back({base, before.base});
    return !mayAssumeNoAlias(t, disjoint.back(), next.pointer, before.pointer);
  });
  if (clashes) {
    clusterBarrier(t);
    t.sinceBarrier.clear();
    return true;
  }
  for (std::pair<Value, Value> bases : disjoint)
    if (NoAlias &pair = t.noAlias[bases]; !std::exchange(pair.isReliedOn, true))
      ttg::relyOn(cast<tt::FuncOp>(cast<BlockArgument>(base).getOwner()->getParentOp()), *pair.guard);
  return false;
}

/// The effect on memory of a load, copy, store or atomic operation; null for other operations. Atomic operations of one kind commute,
/// except exchanges and those with a used result.
static std::optional<GlobalAccess> accessOf(Operation *op) {
  if (auto load = dyn_cast<tt::LoadOp>(op)) return GlobalAccess{load.getPtr()};
  if (auto copy = dyn_cast<ttg::CopyAsyncOp>(op)) return GlobalAccess{copy.getPointers()};
  if (auto store = dyn_cast<tt::StoreOp>(op)) return GlobalAccess{store.getPtr(), /*writes=*/true};
  if (auto swap = dyn_cast<tt::AtomicCASOp>(op)) return GlobalAccess{swap.getPtr(), /*writes=*/true};
  auto atomic = dyn_cast<tt::AtomicRMWOp>(op);
  if (!atomic) return std::nullopt;
  GlobalAccess access{atomic.getPtr(), /*writes=*/true};
  if (atomic.getResult().use_empty() && atomic.getAtomicRmwOp() != tt::RMWOp::XCHG) access.blind = atomic.getAtomicRmwOp();
  return access;
}

/// True if later stores must be ordered after the access. Asynchronous copies of the same CTA need no order: its threads wait for their
/// copies, and pass a barrier before they use the data. The threads of another CTA do not.
static bool mayBeOvertaken(ThreadContext &t, Operation *op) {
  return !isa<ttg::CopyAsyncOp>(op) || t.config.getCtas() > 1;
}

bool orderAccess(ThreadContext &t, Operation *op) {
  GlobalAccess access = *accessOf(op);
  bool isSynchronized = barrierBeforeAccess(t, access);
  if (mayBeOvertaken(t, op)) t.sinceBarrier.add(access);
  return isSynchronized;
}

void expectIteration(ThreadContext &t, Operation *loop) {
  loop->walk([&](Operation *op) {
    std::optional<GlobalAccess> access = accessOf(op);
    if (!access || !mayBeOvertaken(t, op)) return;
    access->changes = loop->isAncestor(access->pointer.getParentBlock()->getParentOp());
    t.sinceBarrier.add(*access);
  });
}

/// The number of consecutive registers of one access.
static size_t widthOf(Operation *op) {
  auto width = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
  return width ? static_cast<size_t>(width.getInt()) : 1;
}

static bool isTrue(Value predicate) {
  return matchPattern(predicate, m_One());
}

/// True if one of the predicate's conditions is the constant false.
static bool isFalse(Value predicate) {
  auto both = predicate.getDefiningOp<arith::AndIOp>();
  return matchPattern(predicate, m_Zero()) || (both && (isFalse(both.getLhs()) || isFalse(both.getRhs())));
}

/// The result of a masked-off load, in its memory type.
static SmallVector<Value> otherOf(ThreadContext &t, tt::LoadOp op, size_t reg, size_t width, Type inMemory) {
  SmallVector<Value> other;
  for (size_t i = 0; i < width; ++i)
    other.push_back(op.getOther() ? toMemory(t, t.get(op.getOther())[reg + i]) : t.zero(inMemory));
  return other;
}

/// The masks of the `width` registers from `reg` on; none if all are true.
static SmallVector<Value> masksOf(ThreadContext &t, tt::LoadOp op, size_t reg, size_t width) {
  if (!op.getMask()) return {};
  const ThreadValues &all = t.get(op.getMask());
  SmallVector<Value> masks(all.begin() + reg, all.begin() + reg + width);
  if (llvm::all_of(masks, isTrue)) masks.clear();
  return masks;
}

namespace {
/// Finds repeated accesses of a load in one thread: accesses to the same elements of memory are made once.
class Repeats {
public:
  explicit Repeats(tt::LoadOp op) : repeats(repeatsOf(op)) {
    if (!repeats.empty()) layout = ttg::layoutOf(op.getType());
  }
  /// The first register of an earlier access to the same elements as that of `reg`; otherwise `reg`.
  size_t firstOf(size_t reg) {
    if (repeats.empty()) return reg;
    return first.try_emplace(accessKey(layout, repeats, static_cast<int64_t>(reg)), reg).first->second;
  }

private:
  Dims repeats;
  Layout layout;
  std::map<Dims, size_t> first;
};
} // namespace

static Value performs(ThreadContext &t, Type pointer) {
  if (t.isAlone) return {};
  if (auto tile = dyn_cast<RankedTensorType>(pointer)) return holdsFirstCopy(t, ttg::layoutOf(tile));
  return isFirstThread(t);
}

/// Sends the results of an operation from the threads that perform it to all threads that hold them. This needs a barrier, so all earlier
/// work of the CTA is done. `isSynchronized`: a barrier comes right before the operation.
static ThreadValues shareResults(ThreadContext &t, Operation *op, const ThreadValues &results, Type pointer, bool isSynchronized = false) {
  if (t.isAlone || scratchBytes(op) == 0) return results;
  Type type = results.front().getType();
  Value base = scratch(t, op);
  if (!isSynchronized) ctaBarrier(t); // all threads have read the earlier contents of this scratch memory
  auto tile = dyn_cast<RankedTensorType>(pointer);
  if (tile)
    storeFlat(t, base, results, ttg::layoutOf(tile), 0);
  else
    ptx::StoreSharedOp::create(t.b, base, ValueRange{toMemory(t, results.front())}, performs(t, pointer));
  ctaBarrier(t);
  if (t.config.getCtas() == 1) t.sinceBarrier.clear();
  return tile ? loadAllFlat(t, base, ttg::layoutOf(tile), type) : ThreadValues{loadFlat(t, base, t.i32(0), type)};
}

static LogicalResult lowerLoad(ThreadContext &t, tt::LoadOp op) {
  bool isSynchronized = !t.isAlone && orderAccess(t, op);
  // Threads that each load the element could see different values, and diverge.
  bool isShared = scratchBytes(op) != 0;
  Value first = isShared ? performs(t, op.getPtr().getType()) : Value();
  Repeats repeats(op);
  Type type = t.scalarType(getElementTypeOrSelf(op.getType()));
  Type inMemory = memoryType(t, type);
  const ThreadValues &addresses = t.get(op.getPtr());
  size_t width = widthOf(op);
  ThreadValues results;
  for (size_t reg = 0; reg < addresses.size(); reg += width) {
    if (size_t first = repeats.firstOf(reg); first != reg) {
      for (size_t i = 0; i < width; ++i)
        results.push_back(Value(results[first + i]));
      continue;
    }
    if (op.getMask() && llvm::all_of(ArrayRef<Value>(t.get(op.getMask())).slice(reg, width), isFalse)) {
      for (Value value : otherOf(t, op, reg, width, inMemory))
        results.push_back(fromMemory(t, value, type));
      continue;
    }
    if (op->hasAttr(ttg::unalignedName)) {
      llvm::append_range(results, loadUnaligned(t, addresses[reg], masksOf(t, op, reg, width), static_cast<int64_t>(width), inMemory,
                                                cacheOf(op.getCache()), evictionOf(op.getEvict())));
      continue;
    }
    Value predicate = op.getMask() ? t.get(op.getMask())[reg] : Value();
    if (predicate && isTrue(predicate)) predicate = {};
    predicate = logicalAnd(t, first, predicate);
    SmallVector<Value> other;
    if (op.getOther() && predicate) other = otherOf(t, op, reg, width, inMemory);
    auto load = ptx::LoadGlobalOp::create(t.b, SmallVector<Type>(width, inMemory), addresses[reg], predicate, other, cacheOf(op.getCache()),
                                          evictionOf(op.getEvict()), op.getIsVolatile(), op->hasAttr(ttg::alignedWordsName),
                                          op->hasAttr(ttg::hoistedName));
    for (Value value : load.getValues())
      results.push_back(fromMemory(t, value, type));
  }
  t.set(op.getResult(), shareResults(t, op, results, op.getPtr().getType(), isSynchronized));
  return success();
}

static LogicalResult lowerStore(ThreadContext &t, tt::StoreOp op) {
  orderAccess(t, op);
  // Only one of the threads that hold an element stores it.
  Value first = performs(t, op.getPtr().getType());
  const ThreadValues &addresses = t.get(op.getPtr());
  size_t width = widthOf(op);
  IntegerAttr tile = t.b.getI32IntegerAttr(static_cast<int32_t>(t.tileStores++));
  for (size_t reg = 0; reg < addresses.size(); reg += width) {
    if (op.getMask() && isFalse(t.get(op.getMask())[reg])) continue;
    Value predicate = first;
    if (op.getMask() && !isTrue(t.get(op.getMask())[reg])) predicate = logicalAnd(t, first, t.get(op.getMask())[reg]);
    SmallVector<Value> values;
    for (size_t i = 0; i < width; ++i)
      values.push_back(toMemory(t, t.get(op.getValue())[reg + i]));
    ptx::StoreGlobalOp::create(t.b, addresses[reg], values, predicate, cacheOf(op.getCache()), evictionOf(op.getEvict()), tile);
  }
  return success();
}

//===------------------------------------------------------------------------------------------------------------ atomics

static ptx::Order orderOf(tt::MemSemantic semantic) {
  switch (semantic) {
  case tt::MemSemantic::RELAXED: return ptx::Order::relaxed;
  case tt::MemSemantic::ACQUIRE: return ptx::Order::acquire;
  case tt::MemSemantic::RELEASE: return ptx::Order::release;
  case tt::MemSemantic::ACQUIRE_RELEASE: return ptx::Order::acq_rel;
  }
  return ptx::Order::acq_rel;
}

static ptx::Scope scopeOf(tt::MemSyncScope scope) {
  switch (scope) {
  case tt::MemSyncScope::GPU: return ptx::Scope::gpu;
  case tt::MemSyncScope::CTA: return ptx::Scope::cta;
  case tt::MemSyncScope::SYSTEM: return ptx::Scope::sys;
  }
  return ptx::Scope::sys;
}

static ptx::Atomic atomicOf(tt::RMWOp kind) {
  switch (kind) {
  case tt::RMWOp::AND: return ptx::Atomic::and_;
  case tt::RMWOp::OR: return ptx::Atomic::or_;
  case tt::RMWOp::XOR: return ptx::Atomic::xor_;
  case tt::RMWOp::ADD: return ptx::Atomic::add;
  case tt::RMWOp::FADD: return ptx::Atomic::fadd;
  case tt::RMWOp::MAX: return ptx::Atomic::max;
  case tt::RMWOp::MIN: return ptx::Atomic::min;
  case tt::RMWOp::UMAX: return ptx::Atomic::umax;
  case tt::RMWOp::UMIN: return ptx::Atomic::umin;
  case tt::RMWOp::XCHG: return ptx::Atomic::exch;
  }
  return ptx::Atomic::exch;
}

/// True if an operation that comes after `op` in the IR may run before it: a loop around both repeats them, or they are in two partitions,
/// which run at the same time.
static bool mayRunBefore(Operation *later, Operation *op) {
  for (Region *region = op->getParentRegion(); !isa<tt::FuncOp>(region->getParentOp()); region = region->getParentRegion()) {
    Operation *around = region->getParentOp();
    if (!around->isAncestor(later) || isa<scf::IfOp>(around)) continue;
    if (!isa<ttg::WarpSpecializeOp>(around) || !region->isAncestor(later->getParentRegion())) return true;
  }
  return false;
}

/// True if TMA stores may be in flight when the operation runs.
static bool mayFollowTmaStore(Operation *op) {
  bool isPassed = false;
  WalkResult walk = op->getParentOfType<tt::FuncOp>().walk<WalkOrder::PreOrder>([&](Operation *other) {
    isPassed |= other == op;
    bool isEarlier = isa<ttg::TmaStoreOp>(other) && (!isPassed || mayRunBefore(other, op));
    return isEarlier ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// True if threads may have made accesses since the last barrier that the release of another thread must cover: writes, and reads of
/// memory that the kernel writes. Atomic operations of one kind on one argument, with unused results, are not ordered.
static bool hasAccessesToRelease(ThreadContext &t, Operation *op) {
  GlobalAccess atomic = *accessOf(op);
  Value base = address::baseArgument(atomic.pointer);
  std::vector<bool> written;
  return llvm::any_of(t.sinceBarrier.accesses(), [&](const GlobalAccess &before) {
    if (before.writes) return !before.blind || before.blind != atomic.blind || !base || before.base != base;
    auto argument = dyn_cast_or_null<BlockArgument>(before.base);
    if (!argument) return true;
    if (written.empty()) written = writtenArguments(op->getParentOfType<tt::FuncOp>());
    return bool(written[argument.getArgNumber()]);
  });
}

/// Inserts barriers for an atomic operation, whose release covers the accesses of all threads. One thread performs an operation on a scalar
/// for the CTA; each thread performs those of its elements. TMA stores, which one thread starts, are completed before the release.
static void orderAtomic(ThreadContext &t, Operation *op, ptx::Order order) {
  if (t.isAlone) return;
  bool releases = order == ptx::Order::release || order == ptx::Order::acq_rel, onTma = releases && mayFollowTmaStore(op);
  if (onTma) ptx::TmaWaitOp::create(t.b, 0, /*read=*/false);
  bool isScalar = !isa<RankedTensorType>(op->getOperand(0).getType());
  if (releases && (isScalar || onTma || hasAccessesToRelease(t, op))) {
    clusterBarrier(t);
    t.sinceBarrier.clear();
  }
  orderAccess(t, op);
}

/// The value in memory after the operation.
static Value combined(ImplicitLocOpBuilder &b, tt::RMWOp kind, Value old, Value value) {
  switch (kind) {
  case tt::RMWOp::AND: return arith::AndIOp::create(b, old, value);
  case tt::RMWOp::OR: return arith::OrIOp::create(b, old, value);
  case tt::RMWOp::XOR: return arith::XOrIOp::create(b, old, value);
  case tt::RMWOp::ADD: return arith::AddIOp::create(b, old, value);
  case tt::RMWOp::FADD: return arith::AddFOp::create(b, old, value);
  case tt::RMWOp::MAX: return arith::MaxSIOp::create(b, old, value);
  case tt::RMWOp::MIN: return arith::MinSIOp::create(b, old, value);
  case tt::RMWOp::UMAX: return arith::MaxUIOp::create(b, old, value);
  case tt::RMWOp::UMIN: return arith::MinUIOp::create(b, old, value);
  case tt::RMWOp::XCHG: return value;
  }
  return value;
}

static Value sameBits(ThreadContext &t, Type type, Value x) {
  return x.getType() == type ? x : Value(arith::BitcastOp::create(t.b, type, x));
}

static Value atomicByCompareSwap(ThreadContext &t, tt::AtomicRMWOp op, ptx::Order order, ptx::Scope scope, Value address, Value value,
                                 Value predicate) {
  Type type = value.getType(), bits = t.b.getIntegerType(type.getIntOrFloatBitWidth());
  Value always = arith::ConstantOp::create(t.b, t.b.getBoolAttr(true));
  // Volatile, because other threads may change the value.
  auto first =
      ptx::LoadGlobalOp::create(t.b, TypeRange{bits}, address, predicate, ValueRange(), ptx::Cache::none, ptx::Eviction::normal, true);
  Value goesOn = predicate ? predicate : always;
  auto loop = scf::WhileOp::create(t.b, TypeRange{bits}, ValueRange{first.getValues()[0], goesOn});
  OpBuilder::InsertionGuard guard(t.b);
  SmallVector<Location> locations(2, t.b.getLoc());
  Block *test = t.b.createBlock(&loop.getBefore(), {}, TypeRange{bits, t.b.getI1Type()}, locations);
  scf::ConditionOp::create(t.b, test->getArgument(1), ValueRange{test->getArgument(0)});
  Block *body = t.b.createBlock(&loop.getAfter(), {}, TypeRange{bits}, {t.b.getLoc()});
  Value seen = body->getArgument(0);
  Value old = sameBits(t, type, seen);
  Value found = ptx::CompareSwapOp::create(t.b, bits, order, scope, address, seen,
                                           sameBits(t, bits, combined(t.b, op.getAtomicRmwOp(), old, value)), Value());
  scf::YieldOp::create(t.b, ValueRange{found, arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, found, seen)});
  t.b.setInsertionPointAfter(loop);
  return sameBits(t, type, loop.getResult(0));
}

static constexpr const char *atomicAdvice = "use elements of 16, 32 or 64 bits";

static LogicalResult lowerAtomic(ThreadContext &t, tt::AtomicRMWOp op) {
  Type pointer = op.getPtr().getType();
  Value first = performs(t, pointer);
  ptx::Order order = orderOf(op.getSem());
  ptx::Scope scope = scopeOf(op.getScope());
  Type type = t.scalarType(getElementTypeOrSelf(op.getType()));
  int64_t bits = type.getIntOrFloatBitWidth();
  if (bits < 16) return refuse(op, Diag::notOnGpus, {"an atomic operation of " + std::to_string(bits) + " bits", atomicAdvice});
  bool isAdd = op.getAtomicRmwOp() == tt::RMWOp::FADD;
  bool native = bits >= 32 || (isAdd && (type.isF16() || (type.isBF16() && t.target.bf16Atomics)));
  orderAtomic(t, op, order);
  // One fence for all elements of a thread, instead of one for each element.
  const ThreadValues &addresses = t.get(op.getPtr());
  size_t width = widthOf(op);
  bool fenced = native && addresses.size() > width && order != ptx::Order::relaxed;
  if (fenced && order != ptx::Order::acquire) ptx::FenceOp::create(t.b, scope);
  ThreadValues results;
  for (size_t reg = 0; reg < addresses.size(); reg += width) {
    Value predicate = first;
    if (op.getMask()) predicate = logicalAnd(t, first, t.get(op.getMask())[reg]);
    ArrayRef<Value> values = ArrayRef<Value>(t.get(op.getVal())).slice(reg, width);
    if (!native) {
      results.push_back(atomicByCompareSwap(t, op, order, scope, addresses[reg], values.front(), predicate));
      continue;
    }
    auto atomic = ptx::AtomicOp::create(t.b, SmallVector<Type>(width, type), atomicOf(op.getAtomicRmwOp()), order, scope, addresses[reg],
                                        values, predicate);
    atomic.setFenced(fenced);
    llvm::append_range(results, atomic.getOld());
  }
  if (fenced && order != ptx::Order::release) ptx::FenceOp::create(t.b, scope);
  t.set(op.getResult(), shareResults(t, op, results, pointer));
  return success();
}

static LogicalResult lowerCompareSwap(ThreadContext &t, tt::AtomicCASOp op) {
  Type pointer = op.getPtr().getType();
  Value first = performs(t, pointer);
  if (op->hasAttr(ttg::firstCtaName)) {
    Value isFirst = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, ptx::ClusterRankOp::create(t.b, t.b.getI32Type()), t.i32(0));
    first = logicalAnd(t, first, isFirst);
  }
  ptx::Order order = orderOf(op.getSem());
  Type type = t.scalarType(getElementTypeOrSelf(op.getType())), bits = t.b.getIntegerType(type.getIntOrFloatBitWidth());
  if (bits.getIntOrFloatBitWidth() < 16) return refuse(op, Diag::notOnGpus, {"an atomic compare-and-swap of 8 bits", atomicAdvice});
  orderAtomic(t, op, order);
  ThreadValues results;
  for (auto [reg, address] : llvm::enumerate(t.get(op.getPtr()))) {
    Value old = ptx::CompareSwapOp::create(t.b, bits, order, scopeOf(op.getScope()), address, sameBits(t, bits, t.get(op.getCmp())[reg]),
                                           sameBits(t, bits, t.get(op.getVal())[reg]), first);
    results.push_back(sameBits(t, type, old));
  }
  t.set(op.getResult(), shareResults(t, op, results, pointer));
  return success();
}

//===----------------------------------------------------------------------------------------------------------- spinning

// Spin locks and spin loops:
//     while tl.atomic_cas(lock, 0, 1) == 1: pass
//     while tl.load(flag, volatile=True) == 0: pass
// An attempt by all threads takes three barriers to share the result of the first one. That delays taking a lock that has just become
// free. A release in each attempt does so as well, because it waits for all stores.

Operation *triedBy(scf::WhileOp loop) {
  auto isAttempt = [](Operation &op) {
    auto load = dyn_cast<tt::LoadOp>(op);
    return isa<tt::AtomicCASOp, tt::AtomicRMWOp>(op) || (load && tt::isVolatileLoad(load));
  };
  Block &test = loop.getBefore().front();
  auto attempt = llvm::find_if(test, isAttempt);
  if (attempt == test.end() || !loop.getInits().empty() || loop->getNumResults()) return nullptr;
  bool isPlain = llvm::all_of(test.without_terminator(), [&](Operation &op) {
    return &op == &*attempt || (isPure(&op) && op.getNumRegions() == 0 && !isa<RankedTensorType>(op.getResult(0).getType()));
  });
  bool isScalar = !isa<RankedTensorType>(attempt->getOperand(0).getType());
  return isPlain && isScalar && llvm::hasSingleElement(loop.getAfter().front()) ? &*attempt : nullptr;
}

/// True if each attempt tries to take a lock, and the loop continues while another program holds it. A failed attempt changes nothing.
static bool isSpinLock(scf::WhileOp loop, tt::AtomicCASOp swap) {
  auto compare = loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
  APInt expected, taken, seen;
  if (!swap || !compare || compare.getLhs() != swap.getResult() || !matchPattern(swap.getCmp(), m_ConstantInt(&expected)) ||
      !matchPattern(swap.getVal(), m_ConstantInt(&taken)) || !matchPattern(compare.getRhs(), m_ConstantInt(&seen)))
    return false;
  arith::CmpIPredicate goesOn = compare.getPredicate();
  return expected != taken &&
         (goesOn == arith::CmpIPredicate::ne ? seen == expected : goesOn == arith::CmpIPredicate::eq && seen != expected);
}

/// The number of sleeps of the first pause; each further pause has half as many. So programs that have waited long retry often, and new
/// ones do not. Many programs on an SM that retry at once slow down each attempt, and also the release that they wait for.
static int64_t sleepsOf(ThreadContext &t) {
  return std::clamp<int64_t>(residentWarps / t.config.getWarps(), 1, maxLockSleeps);
}

/// The retry loop of a lock. A fence before it performs the release once, instead of one in each attempt.
static LogicalResult lowerSpinLock(ThreadContext &t, scf::WhileOp loop, tt::AtomicCASOp swap) {
  ptx::Order order = orderOf(swap.getSem());
  bool releases = order == ptx::Order::release || order == ptx::Order::acq_rel;
  if (releases) ptx::FenceOp::create(t.b, scopeOf(swap.getScope()));
  Type i32 = t.b.getI32Type();
  auto fresh = scf::WhileOp::create(t.b, TypeRange{i32}, ValueRange{t.i32(sleepsOf(t))});
  Block *attempt = t.b.createBlock(&fresh.getBefore(), {}, TypeRange{i32}, {t.b.getLoc()});
  if (failed(lowerBlock(t, loop.getBefore().front()))) return failure();
  if (releases) attempt->walk([&](ptx::CompareSwapOp op) { op.setAlreadyReleased(true); });
  scf::ConditionOp::create(t.b, t.getScalar(loop.getConditionOp().getCondition()), ValueRange{attempt->getArgument(0)});
  Block *pause = t.b.createBlock(&fresh.getAfter(), {}, TypeRange{i32}, {t.b.getLoc()});
  Value sleeps = pause->getArgument(0);
  auto repeated = scf::ForOp::create(t.b, t.i32(0), sleeps, t.i32(1));
  t.b.setInsertionPointToStart(repeated.getBody());
  ptx::SleepOp::create(t.b, static_cast<uint32_t>(lockSleepNanoseconds));
  t.b.setInsertionPointToEnd(pause);
  Value half = arith::ShRUIOp::create(t.b, sleeps, t.i32(1));
  scf::YieldOp::create(t.b, ValueRange{arith::MaxUIOp::create(t.b, half, t.i32(1))});
  return success();
}

static LogicalResult lowerAttempts(ThreadContext &t, scf::WhileOp loop) {
  auto fresh = scf::WhileOp::create(t.b, TypeRange(), ValueRange());
  t.b.createBlock(&fresh.getBefore());
  if (failed(lowerBlock(t, loop.getBefore().front()))) return failure();
  scf::ConditionOp::create(t.b, t.getScalar(loop.getConditionOp().getCondition()), ValueRange());
  t.b.createBlock(&fresh.getAfter());
  scf::YieldOp::create(t.b);
  return success();
}

LogicalResult lowerSpin(ThreadContext &t, scf::WhileOp loop, Operation *attempt) {
  auto swap = dyn_cast<tt::AtomicCASOp>(attempt);
  auto atomic = dyn_cast<tt::AtomicRMWOp>(attempt);
  orderAtomic(t, attempt, swap ? orderOf(swap.getSem()) : atomic ? orderOf(atomic.getSem()) : ptx::Order::relaxed);
  {
    OpBuilder::InsertionGuard guard(t.b);
    auto alone = scf::IfOp::create(t.b, isFirstThread(t), /*withElseRegion=*/false);
    t.b.setInsertionPointToStart(alone.thenBlock());
    t.isAlone = true;
    LogicalResult lowered = isSpinLock(loop, swap) ? lowerSpinLock(t, loop, swap) : lowerAttempts(t, loop);
    t.isAlone = false;
    if (failed(lowered)) return failure();
  }
  ctaBarrier(t);
  t.sinceBarrier.clear();
  return success();
}

void addMemoryLowerings(LoweringTable &table) {
  addLowerings<lowerLoad, lowerStore, lowerAtomic, lowerCompareSwap>(table);
}

} // namespace tilewright::gpu
