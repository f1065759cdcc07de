// Atomic operations of one thread. Those that the GPU does not have are loops of compare-and-swap:
//   before: %old = tt.atomic_rmw max, acq_rel, gpu, %p, %v : (!tt.ptr<bf16>, bf16) -> bf16
//   after:  %old = while (ptx.compare_swap %p, %seen, max(%seen, %v)) != %seen
#include "gpu/machine/cluster_rank.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/memory.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

static ptx::Atomic atomicOf(tt::RMWOp kind) {
  return *ptx::symbolizeAtomic(tt::stringifyRMWOp(kind)); // the same words
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
  Value old = bitcast(t, type, seen);
  Value found = ptx::CompareSwapOp::create(t.b, bits, order, scope, address, seen,
                                           bitcast(t, bits, combined(t.b, op.getAtomicRmwOp(), old, value)), Value());
  scf::YieldOp::create(t.b, ValueRange{found, arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, found, seen)});
  t.b.setInsertionPointAfter(loop);
  return bitcast(t, type, loop.getResult(0));
}

static constexpr const char *atomicAdvice = "use elements of 16, 32 or 64 bits";

static LogicalResult lowerAtomic(ThreadContext &t, tt::AtomicRMWOp op) {
  Type pointer = op.getPtr().getType();
  Value first = performs(t, pointer);
  ptx::Order order = orderOf(op.getSem());
  ptx::Scope scope = scopeOf(op.getScope());
  Type type = scalarType(getElementTypeOrSelf(op.getType()));
  int64_t bits = type.getIntOrFloatBitWidth();
  if (bits < 16) return refuse(op, Diag::notOnGpus, {"an atomic operation of " + std::to_string(bits) + " bits", atomicAdvice});
  bool isAdd = op.getAtomicRmwOp() == tt::RMWOp::FADD;
  bool native = bits >= 32 || (isAdd && (type.isF16() || (type.isBF16() && t.kernel.target.bf16Atomics)));
  // One fence for all elements of a thread, instead of one for each element.
  const ThreadValues &addresses = t.get(op.getPtr());
  FailureOr<size_t> access = accessWidth(op, addresses.size());
  if (failed(access)) return failure();
  size_t width = *access;
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
  t.set(op.getResult(), shareResults(t, op, results, pointer, /*isSynchronized=*/false));
  return success();
}

static LogicalResult lowerCompareSwap(ThreadContext &t, tt::AtomicCASOp op) {
  Type pointer = op.getPtr().getType();
  Value first = performs(t, pointer);
  if (op->hasAttr(ttg::firstCtaName)) first = logicalAnd(t, first, isFirstCta(t.b, t.b.getLoc()));
  ptx::Order order = orderOf(op.getSem());
  Type type = scalarType(getElementTypeOrSelf(op.getType())), bits = t.b.getIntegerType(type.getIntOrFloatBitWidth());
  if (bits.getIntOrFloatBitWidth() < 16) return refuse(op, Diag::notOnGpus, {"an atomic compare-and-swap of 8 bits", atomicAdvice});
  ThreadValues results;
  for (auto [reg, address] : llvm::enumerate(t.get(op.getPtr()))) {
    Value old = ptx::CompareSwapOp::create(t.b, bits, order, scopeOf(op.getScope()), address, bitcast(t, bits, t.get(op.getCmp())[reg]),
                                           bitcast(t, bits, t.get(op.getVal())[reg]), first);
    results.push_back(bitcast(t, type, old));
  }
  t.set(op.getResult(), shareResults(t, op, results, pointer, /*isSynchronized=*/false));
  return success();
}

void addAtomicLowerings(LoweringTable &table) {
  addLowerings<lowerAtomic, lowerCompareSwap>(table);
}

} // namespace tilewright::gpu
