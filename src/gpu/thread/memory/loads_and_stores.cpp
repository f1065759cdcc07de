// Loads and stores of one thread. Registers with contiguous elements in memory are one access, as far as assign-layouts has proven that
// they are contiguous (ttg.vector):
//   before: %v = tt.load %p {ttg.vector = 4} : tensor<512x!tt.ptr<f32>, #four_a_thread>
//   after:  %v:4 = ptx.load_global %p0 -> f32, f32, f32, f32         the other addresses are unused, and are removed
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/memory.h"
#include "gpu/tiles/layouts/layout_cost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

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

static LogicalResult lowerLoad(ThreadContext &t, tt::LoadOp op) {
  // Threads that each load the element could see different values, and diverge.
  bool isShared = scratchBytes(op) != 0;
  Value first = isShared ? performs(t, op.getPtr().getType()) : Value();
  Repeats repeats(op);
  Type type = scalarType(getElementTypeOrSelf(op.getType()));
  Type inMemory = memoryType(type);
  const ThreadValues &addresses = t.get(op.getPtr());
  FailureOr<size_t> access = accessWidth(op, addresses.size());
  if (failed(access)) return failure();
  size_t width = *access;
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
  t.set(op.getResult(), shareResults(t, op, results, op.getPtr().getType(), op->hasAttr(ttg::synchronizedName)));
  return success();
}

static LogicalResult lowerStore(ThreadContext &t, tt::StoreOp op) {
  // Only one of the threads that hold an element stores it.
  Value first = performs(t, op.getPtr().getType());
  const ThreadValues &addresses = t.get(op.getPtr());
  FailureOr<size_t> access = accessWidth(op, addresses.size());
  if (failed(access)) return failure();
  size_t width = *access;
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

void addMemoryLowerings(LoweringTable &table) {
  addLowerings<lowerLoad, lowerStore>(table);
}

} // namespace tilewright::gpu
