// See memory.h.
#include "gpu/thread/memory/memory.h"

#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/memory/flat_tiles.h"
#include "ir/refusal.h"

using namespace mlir;

namespace tilewright::gpu {

// The enums of both dialects have the same words.
ptx::Cache cacheOf(tt::CacheModifier modifier) {
  return *ptx::symbolizeCache(tt::stringifyCacheModifier(modifier));
}
ptx::Eviction evictionOf(tt::EvictionPolicy policy) {
  return *ptx::symbolizeEviction(tt::stringifyEvictionPolicy(policy));
}
ptx::Order orderOf(tt::MemSemantic semantic) {
  return *ptx::symbolizeOrder(tt::stringifyMemSemantic(semantic));
}
ptx::Scope scopeOf(tt::MemSyncScope scope) {
  return *ptx::symbolizeScope(tt::stringifyMemSyncScope(scope));
}

FailureOr<size_t> accessWidth(Operation *op, size_t registers) {
  auto attribute = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
  size_t width = attribute ? static_cast<size_t>(attribute.getInt()) : 1;
  if (!llvm::isPowerOf2_64(width) || width > registers) return bug(op, "the registers of a thread are not whole accesses"), failure();
  return width;
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
