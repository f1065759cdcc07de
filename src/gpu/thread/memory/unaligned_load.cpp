// Loads eight 16-bit elements of a row that starts at any element, as a matmul with rows of 1025 needs them. One by one, they are eight
// loads and eight stores to shared memory; cp.async needs addresses that are multiples of 4 bytes.
//   before: %v = tt.load %p {ttg.unaligned, ttg.vector = 8}       %p is only a multiple of 2 bytes
//   after:  %low:4 = ptx.load_global (%p and not 15)    %high:4 = ptx.load_global (%p and not 15) + 16 if it is needed
//           the four words of %high:%low from byte %p and 15 on: by 8 bytes, by 4, and by the rest (prmt)
// Masks of rows and of columns are separated: conditions that differ between elements are the same in all rows, and are computed once. If
// no byte is needed, there is no load: memory before the first row or after the last row of a tensor may not exist.
#include "gpu/thread/memory/memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr int64_t wordBytes = 4;

/// Collects the conditions whose conjunction is the mask.
void collectConditions(Value mask, llvm::SmallSetVector<Value, 4> &conditions) {
  auto both = mask.getDefiningOp<arith::AndIOp>();
  if (matchPattern(mask, m_One())) return;
  if (!both) {
    conditions.insert(mask);
    return;
  }
  collectConditions(both.getLhs(), conditions);
  collectConditions(both.getRhs(), conditions);
}

/// One access of a thread: `masks` are those of its elements; none if all are needed.
class UnalignedLoad {
public:
  UnalignedLoad(ThreadContext &t, Value address, ArrayRef<Value> masks, int64_t count, int64_t elementBytes)
      : t(t), b(t.b), count(count), elementBytes(elementBytes), bytes(count * elementBytes) {
    partMasks(masks);
    Value low = arith::TruncIOp::create(b, b.getI32Type(), address);
    shift = arith::AndIOp::create(b, low, t.i32(bytes - 1));
    Value aligned = arith::ConstantOp::create(b, b.getI64IntegerAttr(-bytes));
    start = arith::AndIOp::create(b, address, aligned);
  }

  SmallVector<Value> words(ptx::Cache cache, ptx::Eviction eviction) {
    auto [low, high] = wanted();
    Value next = arith::AddIOp::create(b, start, arith::ConstantOp::create(b, b.getI64IntegerAttr(bytes)));
    SmallVector<Value> both = load(start, low, cache, eviction);
    llvm::append_range(both, load(next, high, cache, eviction));
    return masked(shifted(both));
  }

private:
  void partMasks(ArrayRef<Value> masks) {
    SmallVector<llvm::SmallSetVector<Value, 4>> conditions(masks.size());
    for (auto [mask, own] : llvm::zip(masks, conditions))
      collectConditions(mask, own);
    if (masks.empty()) return;
    llvm::SmallSetVector<Value, 4> shared = conditions.front();
    shared.remove_if([&](Value each) { return llvm::any_of(conditions, [&](auto &own) { return !own.contains(each); }); });
    for (Value each : shared)
      common = logicalAnd(t, common, each);
    if (llvm::all_of(conditions, [&](auto &own) { return own.size() == shared.size(); })) return;
    for (auto &own : conditions) {
      Value rest;
      for (Value each : own)
        if (!shared.contains(each)) rest = logicalAnd(t, rest, each);
      single.push_back(rest ? rest : Value(arith::ConstantOp::create(b, b.getBoolAttr(true))));
    }
  }

  Value isNonZero(Value value) { return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, t.i32(0)); }
  Value bitsOf(Value mask, int64_t bits) { return arith::SelectOp::create(b, mask, t.i32(bits), t.i32(0)); }

  /// The conditions that an element of the first words is needed, and one of the words after them; null: always.
  std::pair<Value, Value> wanted() {
    if (single.empty()) return {common, logicalAnd(t, common, isNonZero(shift))};
    Value all = t.i32(0);
    for (auto [i, mask] : llvm::enumerate(single))
      all = arith::OrIOp::create(b, all, bitsOf(mask, int64_t(1) << i));
    Value elements = arith::ShRUIOp::create(b, shift, t.i32(llvm::Log2_64(static_cast<uint64_t>(elementBytes))));
    Value shiftedMask = arith::ShLIOp::create(b, all, elements);
    Value low = isNonZero(arith::AndIOp::create(b, shiftedMask, t.i32((int64_t(1) << count) - 1)));
    return {logicalAnd(t, common, low), logicalAnd(t, common, isNonZero(arith::ShRUIOp::create(b, shiftedMask, t.i32(count))))};
  }

  SmallVector<Value> load(Value address, Value predicate, ptx::Cache cache, ptx::Eviction eviction) {
    SmallVector<Type> types(static_cast<size_t>(bytes / wordBytes), b.getI32Type());
    auto op = ptx::LoadGlobalOp::create(b, types, address, predicate, ValueRange(), cache, eviction, /*isVolatile=*/false,
                                        /*unaligned=*/true);
    return SmallVector<Value>(op.getValues());
  }

  /// Half of the words, from byte `shift` on.
  SmallVector<Value> shifted(SmallVector<Value> words) {
    size_t wantedWords = words.size() / 2;
    for (size_t step = wantedWords / 2; step > 0; step /= 2) {
      Value moves = isNonZero(arith::AndIOp::create(b, shift, t.i32(static_cast<int64_t>(step) * wordBytes)));
      for (size_t i = 0; i < wantedWords + step; ++i)
        words[i] = arith::SelectOp::create(b, moves, words[i + step], words[i]);
    }
    Value rest = arith::AndIOp::create(b, shift, t.i32(wordBytes - 1));
    Value selector = arith::AddIOp::create(b, arith::MulIOp::create(b, rest, t.i32(0x1111)), t.i32(0x3210));
    for (size_t i = 0; i < wantedWords; ++i)
      words[i] = ptx::PermuteOp::create(b, b.getI32Type(), words[i], words[i + 1], selector);
    words.resize(wantedWords);
    return words;
  }

  /// Sets elements that are masked off to zero.
  SmallVector<Value> masked(SmallVector<Value> words) {
    if (single.empty()) return words; // words that are not loaded are zero
    int64_t each = wordBytes / elementBytes, bits = 8 * elementBytes;
    for (auto [i, word] : llvm::enumerate(words)) {
      Value mask = t.i32(0);
      for (int64_t j = 0; j < each; ++j) {
        auto ones = static_cast<int32_t>(((uint64_t(1) << bits) - 1) << (j * bits));
        mask = arith::OrIOp::create(b, mask, bitsOf(single[i * static_cast<size_t>(each) + static_cast<size_t>(j)], ones));
      }
      word = arith::AndIOp::create(b, word, mask);
    }
    return words;
  }

  ThreadContext &t;
  ImplicitLocOpBuilder &b;
  Value common;              // the condition of all elements; null: none
  SmallVector<Value> single; // the additional condition of each element; none, or one for each
  int64_t count, elementBytes, bytes;
  Value shift, start; // bytes before the first needed element; the aligned address
};

} // namespace

ThreadValues loadUnaligned(ThreadContext &t, Value address, ArrayRef<Value> masks, int64_t count, Type element, ptx::Cache cache,
                           ptx::Eviction eviction) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  ThreadValues results;
  for (Value word : UnalignedLoad(t, address, masks, count, bytes).words(cache, eviction)) {
    auto unpacked = ptx::UnpackOp::create(t.b, SmallVector<Type>(static_cast<size_t>(wordBytes / bytes), element), word);
    llvm::append_range(results, unpacked.getResults());
  }
  return results;
}

} // namespace tilewright::gpu
