// Types, values, indices and barriers of one thread: see thread_context.h.
#include "gpu/thread/thread_context.h"

#include "gpu/machine/mbarrier_scope.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

//===--------------------------------------------------------------------------------------------------- types and values

Type scalarType(Type element) {
  Builder b(element.getContext());
  if (isa<ttg::BufferType, ttg::BarriersType, ttg::TensorMemoryType>(element)) return b.getI32Type();
  if (isa<tt::PointerType>(element)) return b.getI64Type();
  if (auto number = dyn_cast<FloatType>(element); number && number.getWidth() == 8) return b.getI8Type();
  return element;
}

int64_t threadValueCount(Type type) {
  return isa<RankedTensorType>(type) ? ttg::layoutOf(type).registersPerThread() : 1;
}

void appendTypes(Type type, SmallVectorImpl<Type> &types) {
  types.append(static_cast<size_t>(threadValueCount(type)), scalarType(getElementTypeOrSelf(type)));
}

Type memoryType(Type scalar) {
  return scalar.isInteger(1) ? Type(IntegerType::get(scalar.getContext(), 8)) : scalar;
}

const ThreadValues &ThreadContext::get(Value value) {
  if (auto found = values.find(value); found != values.end()) return found->second;
  Operation *op = value.getDefiningOp();
  return missingValue(op ? op : cast<BlockArgument>(value).getOwner()->getParentOp(), "a value of it is used that no thread holds",
                      scalarType(getElementTypeOrSelf(value.getType())), threadValueCount(value.getType()));
}

const ThreadValues &ThreadContext::missingValue(Operation *op, const std::string &what, Type scalar, int64_t count) {
  bug(op, what);
  return missing.emplace_back(static_cast<size_t>(count), ub::PoisonOp::create(b, scalar));
}

ThreadValues gather(ThreadContext &t, ValueRange values) {
  ThreadValues all;
  for (Value value : values)
    llvm::append_range(all, t.get(value));
  return all;
}

void scatter(ThreadContext &t, ValueRange values, ValueRange scalars) {
  for (Value value : values) {
    size_t count = static_cast<size_t>(threadValueCount(value.getType()));
    t.set(value, ThreadValues(scalars.take_front(count)));
    scalars = scalars.drop_front(count);
  }
}

Value ThreadContext::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}
Value ThreadContext::i64(int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}
Value ThreadContext::constant(Type type, Attribute value) {
  // An 8-bit float is represented by its bits.
  if (auto number = dyn_cast<FloatAttr>(value); number && number.getType() != type)
    value = b.getIntegerAttr(type, number.getValue().bitcastToAPInt());
  return arith::ConstantOp::create(b, cast<TypedAttr>(value));
}
Value ThreadContext::zero(Type type) {
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

Value toMemory(ThreadContext &t, Value scalar) {
  return scalar.getType().isInteger(1) ? Value(arith::ExtUIOp::create(t.b, t.b.getI8Type(), scalar)) : scalar;
}

Value fromMemory(ThreadContext &t, Value stored, Type scalar) {
  if (stored.getType() == scalar) return stored;
  return arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, stored, t.zero(stored.getType()));
}

Value bitcast(ThreadContext &t, Type type, Value x) {
  return x.getType() == type ? x : Value(arith::BitcastOp::create(t.b, type, x));
}

Value packed(ThreadContext &t, ValueRange values) {
  int64_t bits = 0;
  for (Value value : values)
    bits += value.getType().getIntOrFloatBitWidth();
  Type type = t.b.getIntegerType(static_cast<unsigned>(bits));
  if (values.size() > 1) return ptx::PackOp::create(t.b, type, values);
  return bitcast(t, type, values[0]);
}

ThreadValues unpacked(ThreadContext &t, Value word, Type element) {
  int64_t count = word.getType().getIntOrFloatBitWidth() / element.getIntOrFloatBitWidth();
  if (count > 1) {
    SmallVector<Type> types(static_cast<size_t>(count), element);
    return ThreadValues(ptx::UnpackOp::create(t.b, types, word).getResults());
  }
  return {bitcast(t, element, word)};
}

Value logicalAnd(ThreadContext &t, Value x, Value y) {
  return x && y ? Value(arith::AndIOp::create(t.b, x, y)) : x ? x : y;
}

Value programId(ThreadContext &t, int64_t axis) {
  if (Value id = t.program[static_cast<size_t>(axis)]) return id;
  Value block = ptx::BlockIdOp::create(t.b, t.b.getI32Type(), static_cast<uint32_t>(axis));
  return axis == 0 && t.kernel.config.getCtas() > 1 ? Value(arith::DivUIOp::create(t.b, block, t.i32(t.kernel.config.getCtas()))) : block;
}

Value programCount(ThreadContext &t, int64_t axis) {
  Value blocks = ptx::BlockCountOp::create(t.b, t.b.getI32Type(), static_cast<uint32_t>(axis));
  return axis == 0 && t.kernel.config.getCtas() > 1 ? Value(arith::DivUIOp::create(t.b, blocks, t.i32(t.kernel.config.getCtas()))) : blocks;
}

Value xorBases(ThreadContext &t, Value index, const std::vector<uint32_t> &bases) {
  // Bits that move by the same distance share one mask and one shift.
  std::map<int64_t, int64_t> masks; // by distance
  for (size_t from = 0; from < bases.size(); ++from)
    for (uint32_t rest = bases[from]; rest; rest &= rest - 1)
      masks[llvm::countr_zero(rest) - static_cast<int64_t>(from)] |= int64_t(1) << from;
  Value sum;
  for (auto [distance, mask] : masks) {
    Value part = arith::AndIOp::create(t.b, index, t.i32(mask));
    if (distance > 0) part = arith::ShLIOp::create(t.b, part, t.i32(distance));
    if (distance < 0) part = arith::ShRUIOp::create(t.b, part, t.i32(-distance));
    sum = sum ? Value(arith::XOrIOp::create(t.b, sum, part)) : part;
  }
  return sum ? sum : t.i32(0);
}

Value flatIndex(ThreadContext &t, const Layout &layout, int64_t reg) {
  Value index = arith::XOrIOp::create(t.b, xorBases(t, t.threads.lane, layout.basesOf(Axis::lane)),
                                      xorBases(t, t.threads.warp, layout.basesOf(Axis::warp)));
  uint32_t moved = 0, own = layout.apply(reg, 0, 0);
  for (Axis axis : {Axis::lane, Axis::warp})
    for (uint32_t basis : layout.basesOf(axis))
      moved |= basis;
  // Bits that only registers set are added: values that differ by a constant can share an address.
  if (moved & own) return arith::XOrIOp::create(t.b, index, t.i32(own));
  return arith::AddIOp::create(t.b, index, t.i32(own));
}

Value holdsFirstCopy(ThreadContext &t, const Layout &layout) {
  uint64_t lanes = layout.freeMask(Axis::lane), warps = layout.freeMask(Axis::warp);
  if (!lanes && !warps) return {};
  Value copies = arith::AndIOp::create(t.b, t.threads.index, t.i32(static_cast<int64_t>(lanes | warps << laneBits)));
  return arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, copies, t.i32(0));
}

Value isFirstThread(ThreadContext &t) {
  return arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, t.threads.index, t.i32(0));
}

void inFirstWarp(ThreadContext &t, llvm::function_ref<void()> emit) {
  Value isFirst = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, t.threads.warp, t.i32(0));
  auto branch = scf::IfOp::create(t.b, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(branch.thenBlock());
  emit();
}

void fenceTensorMemory(ThreadContext &t, ptx::TensorFence side) {
  if (t.kernel.usesTensorMemory) ptx::Tcgen05FenceOp::create(t.b, side);
}

void ctaBarrier(ThreadContext &t) {
  fenceTensorMemory(t, ptx::TensorFence::before);
  if (t.threads.barrier)
    ptx::BarrierOp::create(t.b, *t.threads.barrier, static_cast<uint32_t>(t.threads.warps << laneBits));
  else
    ptx::BarrierOp::create(t.b);
  fenceTensorMemory(t, ptx::TensorFence::after);
}

void arriveAtCluster(ThreadContext &t) {
  fenceTensorMemory(t, ptx::TensorFence::before);
  ptx::ClusterArriveOp::create(t.b, /*relaxed=*/false);
}

void waitForCluster(ThreadContext &t) {
  ptx::ClusterWaitOp::create(t.b);
  fenceTensorMemory(t, ptx::TensorFence::after);
}

void arriveAt(ThreadContext &t, Value barrier, Value predicate, bool inCluster, bool toFirst) {
  IntegerAttr ctas = inCluster ? t.b.getI32IntegerAttr(static_cast<int32_t>(t.kernel.config.getCtas())) : IntegerAttr();
  ptx::Scope scope = inCluster ? ptx::scopeAcrossCtas(t.kernel.target) : ptx::Scope::cta;
  ptx::MbarrierArriveOp::create(t.b, barrier, 1, predicate, ctas, scope, toFirst);
}

Value scratch(ThreadContext &t, Operation *op) {
  auto attribute = op->getAttrOfType<IntegerAttr>(ttg::offsetName);
  if (!attribute || attribute.getInt() + scratchBytes(op) > t.kernel.sharedBytes)
    return t.missingValue(op, "allocate-shared has reserved no scratch memory for it", t.b.getI32Type()).front();
  int64_t offset = attribute.getInt();
  Value base = ptx::SharedBaseOp::create(t.b, t.b.getI32Type());
  return offset ? arith::AddIOp::create(t.b, base, t.i32(offset)) : base;
}

} // namespace tilewright::gpu
