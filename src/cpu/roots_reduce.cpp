// Reductions, scans, histograms and gathers.
//
// A reduction along the vector dimension keeps up to four vectors of partial results, combined pairwise at the end and then lane by lane in
// halves; along another dimension it keeps one vector for each output chunk and walks the axis in order. Both orders depend on shapes and
// the target alone, so results are the same bits whatever the number of threads. Combine functions are taken as associative and
// commutative, as upstream takes them; scans keep the order.

#include "cpu/evaluate.h"
#include "cpu/loops.h"
#include "cpu/roots.h"
#include "cpu/scratch.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

constexpr int64_t accumulators = 4; // add has latency 3 to 4 and two ports take it: four vectors keep them busy with the loads

/// Whether a stored tile is first wanted by a reduction that comes soon: then one loop computes, stores and combines it.
///   %e = math.exp ...          nothing here
///   %s = tt.reduce %e          for j: e = exp ...; store e; s += e
bool isStoredByReduction(Context &ctx, Value tile) {
  Operation *op = tile.getDefiningOp();
  ReduceOp reduce;
  for (Operation *next = op->getNextNode(); next && !reduce; next = next->getNextNode()) {
    if (auto found = dyn_cast<ReduceOp>(next)) {
      if (found.getSrcs().size() != 1) return false;
      if (found.getSrcs()[0] == tile) reduce = found;
      continue; // other reductions write nothing that this tile could be computed from
    }
    if (next->getNumRegions() != 0 || !isMemoryEffectFree(next) || isa<DotOp, ScanOp>(next)) return false;
    // A tile written into a loop's buffer in place may overwrite what this one is computed from.
    for (Value result : next->getResults())
      if (isTile(result) && ctx.analysis->isStored(result) &&
          llvm::any_of(result.getUsers(), [](Operation *user) { return isa<scf::YieldOp>(user); }))
        return false;
  }
  if (!reduce) return false;
  for (Operation *user : tile.getUsers()) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || ancestor->isBeforeInBlock(reduce)) return false;
  }
  return true;
}

/// The comparison by which the combine region takes the larger (smaller) number and drops NaN, if that is all it does.
static std::optional<arith::CmpFPredicate> extremeOf(ReduceOp op) {
  Type element = getElementTypeOrSelf(op.getSrcs()[0]);
  if (op.getSrcs().size() != 1 || !(element.isF32() || element.isF64())) return std::nullopt;
  Block &block = op.getCombineOp().front();
  Operation *last = block.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MaxNumFOp, arith::MinNumFOp>(last) || &block.front() != last) return std::nullopt;
  if (last->getOperand(0) == last->getOperand(1)) return std::nullopt;
  for (Value operand : last->getOperands())
    if (!isa<BlockArgument>(operand)) return std::nullopt;
  return isa<arith::MaxNumFOp>(last) ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
}

/// Loads at steps that hold conditionally go to scratch, by one of two versions, so that the reduction needs one only.
static void storeConditionalLoads(Context &ctx, ValueRange sources) {
  llvm::SmallVector<Value> work(sources.begin(), sources.end());
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value tile = work.pop_back_val();
    Operation *op = tile.getDefiningOp();
    if (!op || !isTile(tile) || ctx.buffers.contains(tile) || !seen.insert(tile).second) continue;
    bool conditional = false;
    if (auto load = dyn_cast<LoadOp>(op))
      for (size_t d = 0; d < shapeOf(tile).size(); ++d)
        conditional |= ctx.analysis->step(load.getPtr(), d).isConditional();
    if (conditional)
      ctx.buffers[tile] = buffered(ctx, tile);
    else
      llvm::append_range(work, op->getOperands());
  }
}

void lowerReduce(Context &ctx, ReduceOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(op.getSrcs()[0]);
  int64_t rank = shape.size(), axis = op.getAxis(), size = shape[axis];
  auto sources = op.getSrcs();
  storeConditionalLoads(ctx, sources);
  int64_t vectorDim = chooseVectorDim(ctx, shape, sources, {});
  int64_t chunk = chunkFor(ctx, shape, vectorDim, sources);
  bool along = vectorDim == axis;

  llvm::SmallVector<Buffer> results;
  for (Value result : op.getResults())
    if (isTile(result)) results.push_back(allocateFor(ctx, result));

  LoopSpec spec;
  spec.shape = shape;
  spec.chunk.assign(rank, 1);
  if (vectorDim >= 0) spec.chunk[vectorDim] = chunk;
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis && d != vectorDim && shape[d] > 1) spec.order.push_back(d);
  if (!along && vectorDim >= 0) spec.order.push_back(vectorDim);
  spec.unroll = along ? 1 : accumulators;
  applyMasks(ctx, spec, sources, {});
  Value axisFull = spec.full.empty() ? Value() : spec.full[axis];
  if (axisFull) spec.full[axis] = {};

  int64_t width = along ? chunk : 1; // indices of the axis taken at once
  auto onTheWay = ctx.pending.find(sources[0]);
  std::optional<Buffer> stores;
  if (onTheWay != ctx.pending.end()) stores = onTheWay->second;
  auto elementsOnly = [&](const Place &place) {
    llvm::SmallVector<Value> values;
    for (Value source : sources) {
      Type element = getElementTypeOrSelf(source);
      values.push_back(place.vector < 0 ? evaluateScalar(ctx, source, place) : asVector(ctx, evaluate(ctx, source, place), element, place));
    }
    return values;
  };
  auto elements = [&](const Place &place) {
    llvm::SmallVector<Value> values = elementsOnly(place);
    if (stores) storeChunk(ctx, *stores, values[0], place);
    return values;
  };

  // The instruction for `x > best ? x : best` keeps `best` where x is NaN, and so drops NaN by itself, once `best` starts as a number. That
  // is one instruction where maxnum is three. But of NaN alone nothing is left, and the result must be NaN: when -inf comes out, look
  // again.
  std::optional<arith::CmpFPredicate> extreme;
  if (along && size / width >= 4) extreme = extremeOf(op);
  double worst = extreme == arith::CmpFPredicate::OGT ? -INFINITY : INFINITY;
  auto better = [&](Value x, Value best) -> Value {
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, *extreme, x, best), x, best);
  };
  auto combine = [&](ValueRange both) {
    if (extreme) return llvm::SmallVector<Value>{better(both[1], both[0])};
    return emitRegion(ctx, op.getCombineOp(), both);
  };
  using Combine = llvm::function_ref<llvm::SmallVector<Value>(ValueRange)>;
  auto acrossLanes = [&](llvm::SmallVector<Value> values, Combine by) {
    for (int64_t lanes = along ? width : 1; lanes > 1; lanes /= 2) {
      llvm::SmallVector<Value> both;
      for (int64_t half = 0; half < 2; ++half)
        for (Value value : values) {
          if (lanes == 2) {
            both.push_back(extractLane(b, value, half));
            continue;
          }
          llvm::SmallVector<int32_t> mask;
          for (int64_t lane = 0; lane < lanes / 2; ++lane)
            mask.push_back(half * lanes / 2 + lane);
          both.push_back(shuffle(b, value, value, mask));
        }
      values = by(both);
    }
    return values;
  };
  // Runs `inner` without the assumption that masks hold.
  auto guarded = [&](bool maskHolds, llvm::function_ref<void()> inner) {
    if (maskHolds || !axisFull) return inner();
    auto saved = ctx.trueMasks;
    for (Value mask : spec.fullMasks)
      ctx.trueMasks.erase(mask);
    inner();
    ctx.trueMasks = saved;
  };

  auto reduceAt = [&](llvm::ArrayRef<Place> places) {
    // One chain of partial results for each place and accumulator.
    int64_t chains = along ? std::min(accumulators, size / width) : 1;
    int64_t stride = width * chains;
    llvm::SmallVector<Value> partial;
    auto at = [&](const Place &base, Value index, int64_t level, int64_t chain) {
      Place place = base;
      if (auto constant = getConstantIntValue(index)) // a loop of one turn
        place.at[axis] = {indexConstant(ctx, *constant + chain * width), 0};
      else
        place.at[axis] = {chain == 0 ? index : Value(arith::AddIOp::create(b, index, constantIndex(b, chain * width))), level};
      place.vector = vectorDim;
      place.lanes = vectorDim < 0 ? 1 : chunk;
      return place;
    };
    guarded(false, [&] {
      for (const Place &place : places)
        for (int64_t chain = 0; chain < chains; ++chain) {
          Place start = place;
          start.at[axis] = {indexConstant(ctx, chain * width), 0};
          start.vector = vectorDim;
          start.lanes = vectorDim < 0 ? 1 : chunk;
          llvm::append_range(partial, elements(start));
          if (extreme) partial.back() = better(partial.back(), constantFloat(b, partial.back().getType(), worst));
        }
    });
    auto step = [&](Value index, ValueRange carriedIn) {
      llvm::SmallVector<Value> next;
      int64_t level = ctx.levels.size() - 1, slot = 0;
      for (const Place &place : places)
        for (int64_t chain = 0; chain < chains; ++chain) {
          llvm::SmallVector<Value> both;
          for (size_t i = 0; i < sources.size(); ++i)
            both.push_back(carriedIn[slot++]);
          llvm::append_range(both, elements(at(place, index, level, chain)));
          llvm::append_range(next, combine(both));
        }
      return next;
    };
    auto orNan = [&](const Place &place, Value found) -> Value {
      Value nothing = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, found, constantFloat(b, found.getType(), worst));
      auto again = scf::IfOp::create(b, TypeRange{found.getType()}, nothing, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(again.elseBlock());
      scf::YieldOp::create(b, found);
      b.setInsertionPointToStart(again.thenBlock());
      auto known = ctx.levels.back().memo; // what is computed in here is not known behind
      auto exactly = [&](ValueRange both) { return emitRegion(ctx, op.getCombineOp(), both); };
      guarded(false, [&] {
        llvm::SmallVector<Value> values = elementsOnly(at(place, ctx.zeroIndex, 0, 0));
        values = forLoop(ctx, constantIndex(b, width), constantIndex(b, size), width, values, [&](Value index, ValueRange carriedIn) {
          llvm::SmallVector<Value> both(carriedIn);
          llvm::append_range(both, elementsOnly(at(place, index, ctx.levels.size() - 1, 0)));
          return exactly(both);
        });
        scf::YieldOp::create(b, acrossLanes(values, exactly));
      });
      ctx.levels.back().memo = std::move(known);
      return again.getResult(0);
    };
    Value start = constantIndex(b, stride), end = constantIndex(b, size);
    if (axisFull) {
      Value full = arith::AndIOp::create(b, axisFull, constantIndex(b, -stride));
      full = arith::MaxSIOp::create(b, full, start);
      partial = forLoop(ctx, start, full, stride, partial, step);
      guarded(false, [&] { partial = forLoop(ctx, full, end, stride, partial, step); });
    } else {
      partial = forLoop(ctx, start, end, stride, partial, step);
    }
    // Pairs of chains, then halves of the vector.
    size_t count = sources.size();
    size_t slot = 0;
    for (const Place &place : places) {
      llvm::SmallVector<llvm::SmallVector<Value>> chainValues;
      for (int64_t chain = 0; chain < chains; ++chain, slot += count)
        chainValues.push_back(llvm::SmallVector<Value>(partial.begin() + slot, partial.begin() + slot + count));
      while (chainValues.size() > 1) {
        llvm::SmallVector<llvm::SmallVector<Value>> next;
        for (size_t i = 0; i + 1 < chainValues.size(); i += 2) {
          llvm::SmallVector<Value> both = chainValues[i];
          llvm::append_range(both, chainValues[i + 1]);
          next.push_back(combine(both));
        }
        chainValues = next;
      }
      llvm::SmallVector<Value> values = chainValues.front();
      values = acrossLanes(values, combine);
      if (extreme) values = {orNan(place, values.front())};
      Place to = place;
      to.at.erase(to.at.begin() + axis);
      if (along)
        to.vector = -1, to.lanes = 1;
      else if (to.vector > axis)
        --to.vector;
      for (auto [i, value] : llvm::enumerate(values)) {
        if (results.empty())
          ctx.scalars[op->getResult(i)] = value;
        else
          storeChunk(ctx, results[i], value, to);
      }
    }
  };
  emitLoops(ctx, spec, reduceAt, along ? -1 : vectorDim);
  if (stores) {
    ctx.buffers[sources[0]] = *stores;
    ctx.pending.erase(sources[0]);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (isTile(result)) ctx.buffers[result] = results[i];
}

void lowerScan(Context &ctx, ScanOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto shape = shapeOf(op.getSrcs()[0]);
  int64_t rank = shape.size(), axis = op.getAxis(), size = shape[axis];
  llvm::SmallVector<Buffer> results;
  for (auto [source, result] : llvm::zip(op.getSrcs(), op.getResults())) {
    results.push_back(allocateFor(ctx, result));
    materialize(ctx, source, results.back());
  }
  // Then in place, along the axis; other dimensions side by side.
  int64_t vectorDim = rank > 1 && axis != rank - 1 && shape[rank - 1] > 1 ? rank - 1 : -1;
  LoopSpec spec;
  spec.shape = shape;
  spec.chunk.assign(rank, 1);
  int64_t widest = 1;
  for (const Buffer &buffer : results)
    widest = std::max(widest, elementBytes(buffer.element));
  if (vectorDim >= 0) spec.chunk[vectorDim] = std::min(shape[vectorDim], std::max<int64_t>(2, ctx.target.vectorBytes / widest));
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis && shape[d] > 1) spec.order.push_back(d);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<Place> places) {
        Place place = places.front();
        auto read = [&](Value index) {
          Place here = place;
          here.at[axis] = {index, int64_t(ctx.levels.size()) - 1};
          llvm::SmallVector<Value> values;
          for (auto [buffer, result] : llvm::zip(results, op.getResults()))
            values.push_back(readBuffer(ctx, buffer, getElementTypeOrSelf(result), here).value);
          return values;
        };
        Value first = op.getReverse() ? constantIndex(b, size - 1) : ctx.zeroIndex;
        forLoop(ctx, constantIndex(b, 1), constantIndex(b, size), 1, read(first), [&](Value turn, ValueRange carriedIn) {
          Value index = op.getReverse() ? Value(arith::SubIOp::create(b, constantIndex(b, size - 1), turn)) : turn;
          llvm::SmallVector<Value> both(carriedIn);
          llvm::append_range(both, read(index));
          llvm::SmallVector<Value> values = emitRegion(ctx, op.getCombineOp(), both);
          Place here = place;
          here.at[axis] = {index, int64_t(ctx.levels.size()) - 1};
          for (auto [buffer, value] : llvm::zip(results, values))
            storeChunk(ctx, buffer, value, here);
          return values;
        });
      },
      vectorDim);
  for (auto [result, buffer] : llvm::zip(op.getResults(), results))
    ctx.buffers[result] = buffer;
}

void lowerHistogram(Context &ctx, HistogramOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  Buffer result = allocateFor(ctx, op.getResult());
  int64_t bins = shapeOf(op.getResult())[0], bytes = elementBytes(result.element);
  Value zero = constantInt(b, result.element, 0), one = constantInt(b, result.element, 1);
  Place bin;
  bin.at.push_back({ctx.zeroIndex, 0});
  forLoop(ctx, constantIndex(b, 0), constantIndex(b, bins), 1, [&](Value index) {
    bin.at[0].value = index;
    storeChunk(ctx, result, zero, bin);
  });
  LoopSpec spec = loopsOver(shapeOf(op.getSrc()), -1, 1);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<Place> places) {
        Value value = evaluateScalar(ctx, op.getSrc(), places[0]);
        Value index = value.getType().isInteger(64) ? value : Value(arith::ExtUIOp::create(b, b.getI64Type(), value));
        Value counted = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, constantIndex(b, bins));
        if (op.getMask()) counted = arith::AndIOp::create(b, counted, evaluateScalar(ctx, op.getMask(), places[0]));
        auto branch = scf::IfOp::create(b, TypeRange{}, counted, false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        Value address = pointerAt(b, result.base, index, bytes);
        cpu::store(b, arith::AddIOp::create(b, cpu::load(b, result.element, address, bytes), one), address, bytes, false);
      },
      -1);
  ctx.buffers[op.getResult()] = result;
}

void lowerGather(Context &ctx, GatherOp op) {
  Buffer source = buffered(ctx, op.getSrc());
  Buffer result = allocateFor(ctx, op.getResult());
  auto shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis();
  LoopSpec spec = loopsOver(shape, -1, 1);
  emitLoops(
      ctx, spec,
      [&](llvm::ArrayRef<Place> places) {
        Place from = places[0];
        Value index = scalarToIndex(ctx, evaluateScalar(ctx, op.getIndices(), places[0]));
        from.at[axis] = {index, int64_t(ctx.levels.size()) - 1};
        storeChunk(ctx, result, readBuffer(ctx, source, getElementTypeOrSelf(op.getSrc()), from).value, places[0]);
      },
      -1);
  ctx.buffers[op.getResult()] = result;
}

} // namespace tilewright::cpu
