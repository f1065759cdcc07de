// See memory.h.
#include "gpu/thread/memory/memory.h"

#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/memory/flat_tiles.h"

using namespace mlir;

namespace tilewright::gpu {

ptx::Cache cacheOf(tt::CacheModifier modifier) {
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

ptx::Order orderOf(tt::MemSemantic semantic) {
  switch (semantic) {
  case tt::MemSemantic::RELAXED: return ptx::Order::relaxed;
  case tt::MemSemantic::ACQUIRE: return ptx::Order::acquire;
  case tt::MemSemantic::RELEASE: return ptx::Order::release;
  case tt::MemSemantic::ACQUIRE_RELEASE: return ptx::Order::acq_rel;
  }
  return ptx::Order::acq_rel;
}

ptx::Scope scopeOf(tt::MemSyncScope scope) {
  switch (scope) {
  case tt::MemSyncScope::GPU: return ptx::Scope::gpu;
  case tt::MemSyncScope::CTA: return ptx::Scope::cta;
  case tt::MemSyncScope::SYSTEM: return ptx::Scope::sys;
  }
  return ptx::Scope::sys;
}

size_t accessWidth(Operation *op) {
  auto width = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
  return width ? static_cast<size_t>(width.getInt()) : 1;
}

Value performs(ThreadContext &t, Type pointer) {
  if (t.threads.isAlone) return {};
  if (auto tile = dyn_cast<RankedTensorType>(pointer)) return holdsFirstCopy(t, ttg::layoutOf(tile));
  return isFirstThread(t);
}

ThreadValues shareResults(ThreadContext &t, Operation *op, const ThreadValues &results, Type pointer, bool isSynchronized) {
  if (t.threads.isAlone || scratchBytes(op) == 0) return results;
  Type type = results.front().getType();
  Value base = scratch(t, op);
  if (!isSynchronized) ctaBarrier(t); // all threads have read the earlier contents of this scratch memory
  auto tile = dyn_cast<RankedTensorType>(pointer);
  if (tile)
    storeFlat(t, base, results, ttg::layoutOf(tile), 0);
  else
    ptx::StoreSharedOp::create(t.b, base, ValueRange{toMemory(t, results.front())}, performs(t, pointer));
  ctaBarrier(t);
  return tile ? loadAllFlat(t, base, ttg::layoutOf(tile), type) : ThreadValues{loadFlat(t, base, t.i32(0), type)};
}

} // namespace tilewright::gpu
