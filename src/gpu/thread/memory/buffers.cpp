// Buffers in shared memory, and mbarriers there: their addresses.
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/shared.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

static LogicalResult lowerAllocation(ThreadContext &t, Operation *op, const char *withoutOffset) {
  auto offset = op->getAttrOfType<IntegerAttr>(ttg::offsetName);
  if (!offset) return bug(op, withoutOffset);
  Value base = ptx::SharedBaseOp::create(t.b, t.b.getI32Type());
  t.set(op->getResult(0), {arith::AddIOp::create(t.b, base, t.i32(offset.getInt()))});
  return success();
}

static LogicalResult lowerAlloc(ThreadContext &t, ttg::AllocOp op) {
  return lowerAllocation(t, op, "this buffer has no offset in shared memory");
}

static LogicalResult lowerAllocBarriers(ThreadContext &t, ttg::AllocBarriersOp op) {
  return lowerAllocation(t, op, "these barriers have no offset in shared memory");
}

static LogicalResult lowerStage(ThreadContext &t, ttg::StageOp op) {
  if (!op.getDistance()) return bug(op, "prepare-lowering must set its distance");
  Value offset = arith::MulIOp::create(t.b, t.getScalar(op.getIndex()), t.i32(*op.getDistance()));
  t.set(op.getResult(), {arith::AddIOp::create(t.b, t.getScalar(op.getBuffer()), offset)});
  return success();
}

/// The same address, or that of a later element.
static LogicalResult lowerView(ThreadContext &t, ttg::ViewOp op) {
  Value address = t.getScalar(op.getBuffer());
  int64_t bytes = op.getFirst() * sharedOf(op.getBuffer()).elementBytes();
  if (bytes) address = arith::AddIOp::create(t.b, address, t.i32(bytes));
  t.set(op.getResult(), {address});
  return success();
}

static LogicalResult lowerLoopVariantZero(ThreadContext &t, ttg::LoopVariantZeroOp op) {
  Value highest = t.i32(std::numeric_limits<int32_t>::min());
  t.set(op.getResult(), {arith::AndIOp::create(t.b, t.getScalar(op.getStage()), highest)});
  return success();
}

void addBufferLowerings(LoweringTable &table) {
  addLowerings<lowerAlloc, lowerAllocBarriers, lowerStage, lowerView, lowerLoopVariantZero>(table);
}

} // namespace tilewright::gpu
