// Global memory from one thread. Registers that hold neighbours in memory are one access, as far as assign-layouts has proven it
// (ttg.vector):
//   before: %v = tt.load %p {ttg.vector = 4} : tensor<512x!tt.ptr<f32>, #four_a_thread>
//   after:  %v:4 = ptx.load_global %p0 -> f32, f32, f32, f32         the addresses of the others are not used, and go
#include "gpu/thread_lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

Type ThreadLowering::memoryType(Type scalar) {
  return scalar.isInteger(1) ? Type(b.getI8Type()) : scalar;
}

Value ThreadLowering::toMemory(Value scalar) {
  return scalar.getType().isInteger(1) ? Value(arith::ExtUIOp::create(b, b.getI8Type(), scalar)) : scalar;
}

Value ThreadLowering::fromMemory(Value stored, Type scalar) {
  if (stored.getType() == scalar) return stored;
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, stored, zero(stored.getType()));
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

static ptx::Eviction evictionOf(tt::EvictionPolicy policy) {
  switch (policy) {
  case tt::EvictionPolicy::EVICT_FIRST: return ptx::Eviction::evict_first;
  case tt::EvictionPolicy::EVICT_LAST: return ptx::Eviction::evict_last;
  case tt::EvictionPolicy::NORMAL: return ptx::Eviction::normal;
  }
  return ptx::Eviction::normal;
}

/// The argument that a pointer or a tile of pointers comes from; null where that is not clear.
static Value rootOf(Value pointer) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (!isa<tt::AddPtrOp, tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp, tt::BitcastOp, ttg::ConvertLayoutOp>(
            op))
      return {};
    pointer = op->getOperand(0);
  }
  return isa<tt::FuncOp>(cast<BlockArgument>(pointer).getOwner()->getParentOp()) ? pointer : Value();
}

/// Whether each element is touched by one thread alone.
static bool isExclusive(Value pointer) {
  if (!isa<RankedTensorType>(pointer.getType())) return false;
  Layout layout = ttg::layoutOf(pointer.getType());
  return !layout.freeMask(Axis::lane) && !layout.freeMask(Axis::warp);
}

void ThreadLowering::orderAccess(Value pointer, bool writes) {
  Value root = rootOf(pointer);
  bool clashes = llvm::any_of(sinceBarrier, [&](const GlobalAccess &before) {
    if (!writes && !before.writes) return false;
    if (root && before.root && root != before.root) return false;
    return before.pointer != pointer || !isExclusive(pointer);
  });
  if (clashes) {
    ptx::BarrierOp::create(b);
    sinceBarrier.clear();
  }
  sinceBarrier.push_back({root, pointer, writes});
}

void ThreadLowering::expectTurn(Operation *loop) {
  loop->walk([&](Operation *op) {
    Value pointer;
    if (auto load = dyn_cast<tt::LoadOp>(op)) pointer = load.getPtr();
    if (auto store = dyn_cast<tt::StoreOp>(op)) pointer = store.getPtr();
    if (!pointer) return;
    bool changes = loop->isAncestor(pointer.getParentBlock()->getParentOp());
    sinceBarrier.push_back({rootOf(pointer), changes ? Value() : pointer, isa<tt::StoreOp>(op)});
  });
}

/// How many consecutive registers one access takes.
static size_t widthOf(Operation *op) {
  auto width = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
  return width ? static_cast<size_t>(width.getInt()) : 1;
}

static bool isTrue(Value predicate) {
  return matchPattern(predicate, m_One());
}

LogicalResult ThreadLowering::lowerLoad(tt::LoadOp op) {
  orderAccess(op.getPtr(), /*writes=*/false);
  Type type = scalarType(getElementTypeOrSelf(op.getType()));
  Type inMemory = memoryType(type);
  const Parts &addresses = get(op.getPtr());
  size_t width = widthOf(op);
  Parts results;
  for (size_t reg = 0; reg < addresses.size(); reg += width) {
    Value predicate = op.getMask() ? get(op.getMask())[reg] : Value();
    if (predicate && isTrue(predicate)) predicate = {};
    SmallVector<Value> other;
    if (op.getOther() && predicate)
      for (size_t i = 0; i < width; ++i)
        other.push_back(toMemory(get(op.getOther())[reg + i]));
    auto load = ptx::LoadGlobalOp::create(b, SmallVector<Type>(width, inMemory), addresses[reg], predicate, other, cacheOf(op.getCache()),
                                          evictionOf(op.getEvict()), op.getIsVolatile());
    for (Value value : load.getValues())
      results.push_back(fromMemory(value, type));
  }
  set(op.getResult(), std::move(results));
  return success();
}

LogicalResult ThreadLowering::lowerStore(tt::StoreOp op) {
  orderAccess(op.getPtr(), /*writes=*/true);
  // Only one of the threads that hold an element stores it.
  Value first;
  if (auto tile = dyn_cast<RankedTensorType>(op.getPtr().getType()))
    first = holdsFirstCopy(ttg::layoutOf(tile));
  else
    first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, i32(0));
  const Parts &addresses = get(op.getPtr());
  size_t width = widthOf(op);
  for (size_t reg = 0; reg < addresses.size(); reg += width) {
    Value predicate = first;
    if (op.getMask() && !isTrue(get(op.getMask())[reg])) {
      Value mask = get(op.getMask())[reg];
      predicate = first ? Value(arith::AndIOp::create(b, first, mask)) : mask;
    }
    SmallVector<Value> values;
    for (size_t i = 0; i < width; ++i)
      values.push_back(toMemory(get(op.getValue())[reg + i]));
    ptx::StoreGlobalOp::create(b, addresses[reg], values, predicate, cacheOf(op.getCache()), evictionOf(op.getEvict()));
  }
  return success();
}

LogicalResult ThreadLowering::lowerAtomic(tt::AtomicRMWOp op) {
  if (!op.getResult().use_empty() && !isa<RankedTensorType>(op.getPtr().getType()))
    return op.emitError("the result of an atomic operation on one element is not built for GPUs");
  Value first;
  if (auto tile = dyn_cast<RankedTensorType>(op.getPtr().getType())) {
    first = holdsFirstCopy(ttg::layoutOf(tile));
    if (first && !op.getResult().use_empty())
      return op.emitError("the result of an atomic operation on a tile smaller than the block is not built for GPUs");
  } else {
    first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, i32(0));
  }
  ptx::Atomic kind;
  switch (op.getAtomicRmwOp()) {
  case tt::RMWOp::AND: kind = ptx::Atomic::and_; break;
  case tt::RMWOp::OR: kind = ptx::Atomic::or_; break;
  case tt::RMWOp::XOR: kind = ptx::Atomic::xor_; break;
  case tt::RMWOp::ADD: kind = ptx::Atomic::add; break;
  case tt::RMWOp::FADD: kind = ptx::Atomic::fadd; break;
  case tt::RMWOp::MAX: kind = ptx::Atomic::max; break;
  case tt::RMWOp::MIN: kind = ptx::Atomic::min; break;
  case tt::RMWOp::UMAX: kind = ptx::Atomic::umax; break;
  case tt::RMWOp::UMIN: kind = ptx::Atomic::umin; break;
  case tt::RMWOp::XCHG: kind = ptx::Atomic::exch; break;
  }
  auto order = static_cast<ptx::Order>(static_cast<uint32_t>(op.getSem()) - 1);
  ptx::Scope scope = op.getScope() == tt::MemSyncScope::GPU   ? ptx::Scope::gpu
                     : op.getScope() == tt::MemSyncScope::CTA ? ptx::Scope::cta
                                                              : ptx::Scope::sys;
  Type type = scalarType(getElementTypeOrSelf(op.getType()));
  Parts results;
  for (auto [reg, address] : llvm::enumerate(get(op.getPtr()))) {
    Value predicate = first;
    if (op.getMask()) {
      Value mask = get(op.getMask())[reg];
      predicate = first ? Value(arith::AndIOp::create(b, first, mask)) : mask;
    }
    auto atomic = ptx::AtomicOp::create(b, TypeRange{type}, kind, order, scope, address, ValueRange{get(op.getVal())[reg]}, predicate,
                                        op.getResult().use_empty());
    results.push_back(atomic.getOld()[0]);
  }
  set(op.getResult(), std::move(results));
  return success();
}

} // namespace tilewright::gpu
