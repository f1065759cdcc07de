// tt.sort: the bitonic network of tl.sort as loops, so the code size does not depend on the tile's size.
//
// The network sorts runs of 2, 4, 8, ... elements, alternately ascending and descending, so two adjacent runs form one bitonic run. Merging
// such a run compares elements at half its length, then at a quarter, and so on:
//   ascending run of 8   distance 4         distance 2         distance 1
//   0 3 5 7 6 4 2 1      0 3 2 1 6 4 5 7    0 1 2 3 5 4 6 7    0 1 2 3 4 5 6 7
// Distances of at least a vector compare vector with vector; smaller ones compare a vector with a permutation of itself. A descending run
// is an ascending run with its two sides exchanged, so addresses, not data, depend on the direction.
//
// Floats arrive as integers of the same order (_sort_key of the prelude), so equal elements have equal bits, and one instruction compares
// all bits of its operands: no element is lost or duplicated.

#include "cpu/loop_nests.h"
#include "cpu/loops.h"
#include "cpu/scratch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {
namespace {

class Sorter {
public:
  Sorter(Context &ctx, SortOp op)
      : ctx(ctx), b(ctx.b), op(op), element(getElementTypeOrSelf(op.getType())), bytes(elementBytes(element)),
        length(shapeOf(op.getSrc()).back()), resultLength(shapeOf(op.getResult()).back()),
        lanes(std::min(resultLength, std::max<int64_t>(1, ctx.target.vectorBytes / bytes))), isDescending(op.getDescending()) {}

  void sort(const Buffer &lines) {
    int64_t count = cast<RankedTensorType>(op.getSrc().getType()).getNumElements() / length;
    forLoop(ctx, constantIndex(b, 0), constantIndex(b, count), 1, [&](Value index) {
      line = pointerAt(b, lines.base, index, length * bytes);
      sortVectors();
      Value all = constantIndex(b, length);
      forLoop(ctx, constantIndex(b, log2(lanes) + 1), constantIndex(b, log2(resultLength) + 1), 1,
              [&](Value stage) { merge(all, stage, equal(stage, constantIndex(b, log2(length)))); });
      if (resultLength < length) reduceToResult();
    });
  }

private:
  static int64_t log2(int64_t number) { return llvm::Log2_64(number); }
  Value equal(Value a, Value c) { return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, a, c); }
  Value at(Value index) { return pointerAt(b, line, index, bytes); }
  Value read(Value address) { return cpu::load(b, vectorOf(element, lanes), address, bytes); }
  void write(Value vector, Value address) { cpu::store(b, vector, address, bytes, false); }
  Value pick(Value condition, Value yes, Value no) { return arith::SelectOp::create(b, condition, yes, no); }
  Value lanesWith(int64_t bit) { // i1 per lane: whether this bit of the lane's number is set
    llvm::SmallVector<int64_t> set;
    for (int64_t lane = 0; lane < lanes; ++lane)
      set.push_back((lane & bit) != 0);
    return constantVector(b, b.getI1Type(), set);
  }

  Value greater(Value x, Value y) {
    return arith::CmpIOp::create(b, op.getIsUnsigned() ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt, x, y);
  }

  /// Compares the lanes of a vector at a distance. `descending`: i1 per lane.
  Value exchangeLanes(Value own, int64_t distance, Value descending) {
    llvm::SmallVector<int32_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane)
      order.push_back(static_cast<int32_t>(lane ^ distance));
    Value partner = shuffle(b, own, own, order), isGreater = greater(own, partner);
    Value takesLarger = arith::XOrIOp::create(b, lanesWith(distance), descending);
    return pick(takesLarger, pick(isGreater, own, partner), pick(isGreater, partner, own));
  }

  Value mergeLanes(Value vector, int64_t run, Value descending) {
    for (int64_t distance = run / 2; distance > 0; distance /= 2)
      vector = exchangeLanes(vector, distance, descending);
    return vector;
  }

  /// Returns whether (i1) the run of 2^stage elements that holds element `index` descends.
  Value isDescendingAt(Value index, Value stage, Value isLast) {
    Value bit = arith::AndIOp::create(b, arith::ShRUIOp::create(b, index, stage), constantIndex(b, 1));
    return pick(isLast, constantInt(b, b.getI1Type(), isDescending), equal(bit, constantIndex(b, 1)));
  }

  /// Sorts each vector, alternately ascending and descending.
  void sortVectors() {
    if (lanes == 1) return;
    forLoop(ctx, constantIndex(b, 0), constantIndex(b, length), lanes, [&](Value index) {
      Value vector = read(at(index));
      for (int64_t run = 2; run < lanes; run *= 2)
        vector = mergeLanes(vector, run, lanesWith(run));
      Value isLast = constantInt(b, b.getI1Type(), lanes == length);
      Value descending = isDescendingAt(index, constantIndex(b, log2(lanes)), isLast);
      write(mergeLanes(vector, lanes, splat(b, descending, lanes)), at(index));
    });
  }

  /// Merges the runs of 2^stage elements, of at least one vector each, among the first `count` elements. `isLast` (i1): there is one run.
  void merge(Value count, Value stage, Value isLast) {
    Value steps = arith::SubIOp::create(b, stage, constantIndex(b, log2(lanes)));
    forLoop(ctx, constantIndex(b, 0), steps, 1, [&](Value step) {
      Value shift = arith::SubIOp::create(b, arith::SubIOp::create(b, stage, constantIndex(b, 1)), step);
      exchangeVectors(count, shift, stage, isLast);
    });
    if (lanes == 1) return;
    forLoop(ctx, constantIndex(b, 0), count, lanes, [&](Value index) {
      Value descending = splat(b, isDescendingAt(index, stage, isLast), lanes);
      write(mergeLanes(read(at(index)), lanes, descending), at(index));
    });
  }

  /// Compares vectors whose elements are 2^shift apart.
  void exchangeVectors(Value count, Value shift, Value stage, Value isLast) {
    Value one = constantIndex(b, 1), distance = arith::ShLIOp::create(b, one, shift);
    Value below = arith::SubIOp::create(b, distance, one), half = arith::ShRUIOp::create(b, count, one);
    forLoop(ctx, constantIndex(b, 0), half, lanes, [&](Value pair) {
      // The pairs in order: the bit of the distance is inserted into the index as a zero.
      Value above = arith::SubIOp::create(b, pair, arith::AndIOp::create(b, pair, below));
      Value index = arith::AddIOp::create(b, pair, above);
      Value descending = isDescendingAt(index, stage, isLast);
      Value first = at(index), second = at(arith::AddIOp::create(b, index, distance));
      Value low = pick(descending, second, first), high = pick(descending, first, second);
      Value x = read(low), y = read(high);
      Value isGreater = greater(x, y);
      write(pick(isGreater, y, x), low);
      write(pick(isGreater, x, y), high);
    });
  }

  /// Returns the one of two elements that comes first in the order.
  Value better(Value x, Value y) {
    Value isGreater = greater(x, y);
    return isDescending ? pick(isGreater, x, y) : pick(isGreater, y, x);
  }

  /// The line consists of alternately ascending and descending runs of `resultLength` elements. Keeps the better half of each two runs
  /// until one run is left.
  void reduceToResult() {
    Value one = constantIndex(b, 1), levels = constantIndex(b, log2(length) - log2(resultLength));
    forLoop(ctx, constantIndex(b, 0), levels, 1, [&](Value level) {
      Value count = arith::ShRUIOp::create(b, constantIndex(b, length / 2), level);
      forLoop(ctx, constantIndex(b, 0), count, lanes, [&](Value index) {
        Value within = arith::AndIOp::create(b, index, constantIndex(b, resultLength - 1));
        Value first = arith::AddIOp::create(b, index, arith::SubIOp::create(b, index, within));
        Value second = arith::AddIOp::create(b, first, constantIndex(b, resultLength));
        write(better(read(at(first)), read(at(second))), at(index));
      });
      Value isLast = equal(arith::AddIOp::create(b, level, one), levels);
      merge(count, constantIndex(b, log2(resultLength)), isLast);
    });
  }

  Context &ctx;
  ImplicitLocOpBuilder &b;
  SortOp op;
  Type element;
  int64_t bytes, length, resultLength, lanes; // lanes: of a vector
  bool isDescending;
  Value line; // !llvm.ptr, the current line
};

} // namespace

void lowerSort(Context &ctx, SortOp op) {
  Buffer lines = allocateFor(ctx, op.getSrc());
  materialize(ctx, op.getSrc(), lines);
  Sorter(ctx, op).sort(lines);
  ctx.buffers[op.getResult()] = lines; // the first elements of each line
}

} // namespace tilewright::cpu
