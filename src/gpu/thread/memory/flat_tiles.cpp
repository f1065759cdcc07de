// See flat_tiles.h.
#include "gpu/thread/memory/flat_tiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

void storeFlat(ThreadContext &t, Value base, const ThreadValues &held, const Layout &layout, int64_t firstElement) {
  int64_t bytes = memoryType(held.front().getType()).getIntOrFloatBitWidth() / 8;
  Value first = holdsFirstCopy(t, layout);
  for (auto [reg, value] : llvm::enumerate(held)) {
    Value offset = arith::MulIOp::create(t.b, flatIndex(t, layout, static_cast<int64_t>(reg)), t.i32(bytes));
    ptx::StoreSharedOp::create(t.b, arith::AddIOp::create(t.b, base, offset), ValueRange{toMemory(t, value)}, first,
                               static_cast<uint32_t>(firstElement * bytes));
  }
}

Value loadFlat(ThreadContext &t, Value base, Value index, Type type) {
  Type inMemory = memoryType(type);
  Value offset = arith::MulIOp::create(t.b, index, t.i32(inMemory.getIntOrFloatBitWidth() / 8));
  auto load = ptx::LoadSharedOp::create(t.b, TypeRange{inMemory}, arith::AddIOp::create(t.b, base, offset), Value());
  return fromMemory(t, load.getValues()[0], type);
}

ThreadValues loadAllFlat(ThreadContext &t, Value base, const Layout &layout, Type type) {
  ThreadValues results;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    results.push_back(loadFlat(t, base, flatIndex(t, layout, reg), type));
  return results;
}

} // namespace tilewright::gpu
