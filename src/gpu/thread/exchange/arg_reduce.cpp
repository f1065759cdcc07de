// argmin and argmax reductions of rows that lie in whole warps. Each thread finds its best number, and one instruction (redux) finds the
// best one of the warp. Redux only takes integers. The same is done for the best index among the pairs with that number.
// 5 butterflies of 2 shuffles, each followed by a comparison of pairs  ->  2 redux, 3 comparisons for each pair of a thread
#include "gpu/thread/exchange/exchange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {
class ArgReducer {
public:
  ArgReducer(ThreadContext &t, const ArgReduction &reduction, ArrayRef<ThreadValues> pairs, bool isNumberUsed)
      : t(t), reduction(reduction), pairs(pairs), isNumberUsed(isNumberUsed), type(pairs.front()[0].getType()),
        isFloat(isa<FloatType>(type)) {}

  ThreadValues run() {
    for (const ThreadValues &pair : pairs)
      numbers.push_back(extended(pair[0]));
    Value best = numbers.front();
    for (Value number : ArrayRef(numbers).drop_front())
      best = betterNumber(best, number);
    best = isFloat ? fromKey(redux(numberKind(), toKey(best))) : redux(numberKind(), best);
    SmallVector<Value> holds = llvm::map_to_vector(numbers, [&](Value number) { return isBest(number, best); });
    Value index;
    for (auto [pair, isCandidate] : llvm::zip(pairs, holds)) {
      Value candidate = arith::SelectOp::create(t.b, isCandidate, pair[1], t.i32(worstIndex()));
      index = index ? betterIndex(index, candidate) : candidate;
    }
    index = redux(indexKind(), index);
    return {isFloat && isNumberUsed ? bitsAt(index, holds) : truncated(best), index};
  }

private:
  Value redux(ptx::Redux kind, Value value) { return reduceWarp(t, kind, value); }
  ptx::Redux numberKind() const {
    if (isFloat || !reduction.unsignedValue) return reduction.largest ? ptx::Redux::max : ptx::Redux::min;
    return reduction.largest ? ptx::Redux::umax : ptx::Redux::umin;
  }
  ptx::Redux indexKind() const {
    if (reduction.unsignedIndex) return reduction.firstIndex ? ptx::Redux::umin : ptx::Redux::umax;
    return reduction.firstIndex ? ptx::Redux::min : ptx::Redux::max;
  }
  int64_t worstIndex() const {
    if (reduction.unsignedIndex) return reduction.firstIndex ? -1 : 0;
    return reduction.firstIndex ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min();
  }
  Value betterIndex(Value a, Value b) { return reducePair(t, indexKind(), a, b); }
  Value betterNumber(Value a, Value b) {
    if (!isFloat) return reducePair(t, numberKind(), a, b);
    if (reduction.isNanBest) return reduction.largest ? Value(arith::MaximumFOp::create(t.b, a, b)) : arith::MinimumFOp::create(t.b, a, b);
    return reduction.largest ? Value(arith::MaxNumFOp::create(t.b, a, b)) : arith::MinNumFOp::create(t.b, a, b);
  }
  /// The number as f32 or i32, which represent every number exactly.
  Value extended(Value number) {
    if (type.getIntOrFloatBitWidth() == 32) return number;
    if (isFloat) return arith::ExtFOp::create(t.b, t.b.getF32Type(), number);
    if (reduction.unsignedValue) return arith::ExtUIOp::create(t.b, t.b.getI32Type(), number);
    return arith::ExtSIOp::create(t.b, t.b.getI32Type(), number);
  }
  Value truncated(Value number) {
    if (type.getIntOrFloatBitWidth() == 32) return number;
    return isFloat ? Value(arith::TruncFOp::create(t.b, type, number)) : arith::TruncIOp::create(t.b, type, number);
  }
  /// Flips the bits of negative numbers except the sign, so that integers order like floats. It is its own inverse.
  Value flipNegative(Value bits) {
    Value sign = arith::ShRSIOp::create(t.b, bits, t.i32(31));
    return arith::XOrIOp::create(t.b, bits, arith::AndIOp::create(t.b, sign, t.i32(std::numeric_limits<int32_t>::max())));
  }
  /// An integer that orders like the float. Zeros of both signs are equal, and NaN is before or after every number.
  Value toKey(Value number) {
    Value withoutSignOfZero = arith::AddFOp::create(t.b, number, t.zero(number.getType()));
    Value key = flipNegative(arith::BitcastOp::create(t.b, t.b.getI32Type(), withoutSignOfZero));
    bool isLast = reduction.largest == reduction.isNanBest;
    int64_t end = isLast ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min();
    return arith::SelectOp::create(t.b, isNan(number), t.i32(end), key);
  }
  /// The inverse of toKey. The keys of NaN, at the two ends, give NaN.
  Value fromKey(Value key) { return arith::BitcastOp::create(t.b, t.b.getF32Type(), flipNegative(key)); }
  Value isNan(Value number) { return arith::CmpFOp::create(t.b, arith::CmpFPredicate::UNO, number, number); }
  /// If NaN comes first, a NaN is the best number. If it comes last, a NaN is the best only if all numbers are NaN.
  Value isBest(Value number, Value best) {
    if (!isFloat) return arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, number, best);
    Value isEqual = arith::CmpFOp::create(t.b, arith::CmpFPredicate::OEQ, number, best);
    return arith::OrIOp::create(t.b, isEqual, isNan(reduction.isNanBest ? number : best));
  }
  /// The bits of the number at the index, including the sign of a zero.
  Value bitsAt(Value index, ArrayRef<Value> holds) {
    Type bitsType = t.b.getIntegerType(type.getIntOrFloatBitWidth());
    Value all;
    for (auto [pair, isCandidate] : llvm::zip(pairs, holds)) {
      Value isHere = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, pair[1], index);
      Value bits = arith::BitcastOp::create(t.b, bitsType, pair[0]);
      if (bitsType != t.b.getI32Type()) bits = arith::ExtUIOp::create(t.b, t.b.getI32Type(), bits);
      bits = arith::SelectOp::create(t.b, arith::AndIOp::create(t.b, isHere, isCandidate), bits, t.i32(0));
      all = all ? Value(arith::OrIOp::create(t.b, all, bits)) : bits;
    }
    all = redux(ptx::Redux::or_, all);
    if (bitsType != t.b.getI32Type()) all = arith::TruncIOp::create(t.b, bitsType, all);
    return arith::BitcastOp::create(t.b, type, all);
  }

  ThreadContext &t;
  const ArgReduction &reduction;
  ArrayRef<ThreadValues> pairs;
  bool isNumberUsed;
  Type type;
  bool isFloat;
  SmallVector<Value> numbers; ///< of the pairs, extended to 32 bits
};
} // namespace

ThreadValues argReduceInWarp(ThreadContext &t, const ArgReduction &reduction, ArrayRef<ThreadValues> pairs, bool isNumberUsed) {
  return ArgReducer(t, reduction, pairs, isNumberUsed).run();
}

} // namespace tilewright::gpu
