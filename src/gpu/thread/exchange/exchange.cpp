// Exchange of values between threads. A reduction combines registers, then lanes by shuffles, then warps through shared memory, from where
// a thread reads partial values to combine registers and lanes once more.
#include "gpu/thread/exchange/exchange.h"
#include "gpu/schedule/shared_memory/reduction_steps.h"
#include "gpu/thread/control_flow.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/shared.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

FailureOr<ThreadValues> combine(ThreadContext &t, Block &block, ValueRange first, ValueRange second) {
  size_t count = first.size();
  for (size_t i = 0; i < count; ++i) {
    t.set(block.getArgument(static_cast<unsigned>(i)), {first[i]});
    t.set(block.getArgument(static_cast<unsigned>(i + count)), {second[i]});
  }
  Location location = t.b.getLoc();
  if (failed(lowerBlock(t, block))) return failure();
  t.b.setLoc(location);
  ThreadValues results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(t.getScalar(value));
  return results;
}

/// Exchanges a tile between the CTAs of the cluster (DSMEM). Threads with the same number hold the same elements in all CTAs. So each
/// thread has its own space in shared memory, at the same address in every CTA. It is not overwritten until all CTAs have read it:
/// order-accesses inserts a cluster_arrive and a cluster_wait, unless a later exchange for the same sum, which has its own space, comes
/// first.
static LogicalResult lowerReadCluster(ThreadContext &t, ttg::ReadClusterOp op) {
  ThreadValues held = t.get(op.getSrc());
  Type type = held.front().getType(), stored = memoryType(type);
  int64_t bytes = ttg::memoryBits(stored) / 8, threads = t.threads.warps << laneBits;
  Value own = arith::AddIOp::create(t.b, scratch(t, op), arith::MulIOp::create(t.b, t.threads.index, t.i32(bytes)));
  ctaBarrier(t);
  for (auto [reg, value] : llvm::enumerate(held))
    ptx::StoreSharedOp::create(t.b, own, ValueRange{toMemory(t, value)}, Value(),
                               static_cast<uint32_t>(static_cast<int64_t>(reg) * threads * bytes));
  arriveAtCluster(t);
  waitForCluster(t);
  std::optional<uint32_t> peer = op.getPeer();
  Value other = peer ? Value(arith::XOrIOp::create(t.b, ptx::ClusterRankOp::create(t.b, t.b.getI32Type()), t.i32(*peer))) : Value();
  for (auto [block, result] : llvm::enumerate(op.getResults())) {
    Value from = other ? other : t.i32(static_cast<int64_t>(block));
    ThreadValues read;
    for (int64_t reg = 0; reg < static_cast<int64_t>(held.size()); ++reg) {
      Value address = reg ? Value(arith::AddIOp::create(t.b, own, t.i32(reg * threads * bytes))) : own;
      auto load = ptx::LoadBlockOp::create(t.b, TypeRange{stored}, address, from);
      read.push_back(fromMemory(t, load.getValues()[0], type));
    }
    t.set(result, std::move(read));
  }
  return success();
}

//===--------------------------------------------------------------------------------------------- what scans share, too

FailureOr<HeldTiles> heldIn(ThreadContext &t, Operation *op, ValueRange tiles, const Layout &layout) {
  HeldTiles held(static_cast<size_t>(layout.registersPerThread()));
  for (Value tile : tiles) {
    Layout given = ttg::layoutOf(tile.getType());
    FailureOr<ThreadValues> values =
        given == layout ? FailureOr<ThreadValues>(t.get(tile)) : convertThreadValues(t, op, t.get(tile), given, layout);
    if (failed(values)) return failure();
    for (auto [reg, value] : llvm::enumerate(*values))
      held[reg].push_back(value);
  }
  return held;
}

ThreadValues ofOtherLane(ThreadContext &t, ValueRange values, int64_t bit) {
  ThreadValues others;
  for (Value value : values) {
    Value sent = toMemory(t, value);
    sent = ptx::ShuffleOp::create(t.b, sent.getType(), ptx::Shuffle::bfly, sent, t.i32(bit));
    others.push_back(fromMemory(t, sent, value.getType()));
  }
  return others;
}

LogicalResult setInLayouts(ThreadContext &t, Operation *op, const HeldTiles &held, const Layout &layout) {
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    ThreadValues results;
    for (const ThreadValues &values : held)
      results.push_back(values[i]);
    auto tile = dyn_cast<RankedTensorType>(result.getType());
    if (tile && ttg::layoutOf(tile) != layout) {
      FailureOr<ThreadValues> converted = convertThreadValues(t, op, results, layout, ttg::layoutOf(tile));
      if (failed(converted)) return failure();
      results = std::move(*converted);
    }
    t.set(result, std::move(results));
  }
  return success();
}

//===----------------------------------------------------------------------------------------------------------- reductions

/// True for the maximum or minimum of f32.
static bool isExtremum(Block &region) {
  Operation &op = region.front();
  return isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp>(op) && op.getResult(0).getType().isF32() &&
         op.getNextNode() == region.getTerminator();
}

/// Combines three values at a time. All of them are in one thread, and one instruction has the maximum of three. Returns the only value
/// left.
static FailureOr<ThreadValues> reduceByThree(ThreadContext &t, Block &region, HeldTiles values) {
  while (values.size() > 1) {
    HeldTiles next;
    for (size_t i = 0; i < values.size(); i += 3) {
      ThreadValues both = values[i];
      for (size_t other = i + 1; other < std::min(i + 3, values.size()); ++other) {
        FailureOr<ThreadValues> combined = combine(t, region, both, values[other]);
        if (failed(combined)) return failure();
        both = *combined;
      }
      next.push_back(both);
    }
    values = std::move(next);
  }
  return values.front();
}

/// Combines registers that differ only in bits of the mask into the one whose bits are 0. Only these remain. The order follows the layout,
/// not the elements: as in upstream, a combination is associative and commutative.
static LogicalResult reduceRegisters(ThreadContext &t, Block &region, uint64_t mask, HeldTiles &held) {
  int64_t registers = static_cast<int64_t>(held.size());
  if (t.kernel.usesTensorMemory && isExtremum(region) && int64_t(mask) == registers - 1) {
    FailureOr<ThreadValues> all = reduceByThree(t, region, held);
    if (succeeded(all)) held = {*all};
    return all;
  }
  for (int64_t bit = 0; (int64_t(1) << bit) < registers; ++bit) {
    if (!(mask >> bit & 1)) continue;
    int64_t step = int64_t(1) << bit;
    for (int64_t reg = 0; reg < registers; ++reg) {
      if (reg & step || held[static_cast<size_t>(reg)].empty() || held[static_cast<size_t>(reg | step)].empty()) continue;
      FailureOr<ThreadValues> both = combine(t, region, held[static_cast<size_t>(reg)], held[static_cast<size_t>(reg | step)]);
      if (failed(both)) return failure();
      held[static_cast<size_t>(reg)] = *both;
      held[static_cast<size_t>(reg | step)].clear();
    }
  }
  HeldTiles left;
  for (int64_t reg = 0; reg < registers; ++reg)
    if (!(reg & static_cast<int64_t>(mask))) left.push_back(std::move(held[static_cast<size_t>(reg)]));
  held = std::move(left);
  return success();
}

/// True in lanes whose number has this bit.
static Value hasBit(ThreadContext &t, int64_t bit) {
  Value masked = arith::AndIOp::create(t.b, t.threads.lane, t.i32(int64_t(1) << bit));
  return arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, masked, t.i32(0));
}

/// Combines the values of two lanes whose numbers differ in this bit: one keeps the first half of the registers, the other one the second.
static LogicalResult halveLanePairs(ThreadContext &t, Block &region, int64_t bit, HeldTiles &held) {
  Value isLater = hasBit(t, bit);
  size_t half = held.size() / 2;
  for (size_t reg = 0; reg < half; ++reg) {
    ThreadValues kept, sent;
    for (auto [first, second] : llvm::zip(held[reg], held[reg + half])) {
      kept.push_back(arith::SelectOp::create(t.b, isLater, second, first));
      sent.push_back(arith::SelectOp::create(t.b, isLater, first, second));
    }
    FailureOr<ThreadValues> both = combine(t, region, kept, ofOtherLane(t, sent, int64_t(1) << bit));
    if (failed(both)) return failure();
    held[reg] = *both;
  }
  held.resize(half);
  return success();
}

/// Combines the values of two lanes whose numbers differ in this bit. Both lanes combine in the same order, unless the combination is
/// symmetric. So they get the same bits.
static LogicalResult combineLanePairs(ThreadContext &t, Block &region, bool isSymmetric, int64_t bit, HeldTiles &held) {
  int64_t distance = int64_t(1) << bit;
  Value isLater = hasBit(t, bit);
  for (ThreadValues &mine : held) {
    ThreadValues first, second;
    for (Value value : mine) {
      Value other = ofOtherLane(t, value, distance).front();
      first.push_back(isSymmetric ? value : arith::SelectOp::create(t.b, isLater, other, value));
      second.push_back(isSymmetric ? other : arith::SelectOp::create(t.b, isLater, value, other));
    }
    FailureOr<ThreadValues> both = combine(t, region, first, second);
    if (failed(both)) return failure();
    mine = *both;
  }
  return success();
}

Value reducePair(ThreadContext &t, ptx::Redux kind, Value a, Value b) {
  switch (kind) {
  case ptx::Redux::add: return arith::AddIOp::create(t.b, a, b);
  case ptx::Redux::min: return arith::MinSIOp::create(t.b, a, b);
  case ptx::Redux::max: return arith::MaxSIOp::create(t.b, a, b);
  case ptx::Redux::umin: return arith::MinUIOp::create(t.b, a, b);
  case ptx::Redux::umax: return arith::MaxUIOp::create(t.b, a, b);
  case ptx::Redux::and_: return arith::AndIOp::create(t.b, a, b);
  case ptx::Redux::or_: return arith::OrIOp::create(t.b, a, b);
  case ptx::Redux::xor_: return arith::XOrIOp::create(t.b, a, b);
  }
  llvm_unreachable("all kinds are above");
}

Value reduceWarp(ThreadContext &t, ptx::Redux kind, Value value) {
  if (t.kernel.target.redux) return ptx::ReduxOp::create(t.b, t.b.getI32Type(), kind, value);
  for (int64_t bit = 0; bit < laneBits; ++bit)
    value = reducePair(t, kind, value, ofOtherLane(t, value, int64_t(1) << bit).front());
  return value;
}

/// Combines lanes by a butterfly for each bit of the mask. `halves`: recursive halving, as long as a lane has several registers.
static LogicalResult reduceLanes(ThreadContext &t, Block &region, bool isSymmetric, uint64_t laneMask, bool halves, HeldTiles &held) {
  for (int64_t bit = 0; bit < laneBits; ++bit) {
    if (!(laneMask >> bit & 1)) continue;
    bool halvesNow = halves && held.size() > 1;
    if (failed(halvesNow ? halveLanePairs(t, region, bit, held) : combineLanePairs(t, region, isSymmetric, bit, held))) return failure();
  }
  return success();
}

/// Reduces registers and lanes of an argmin or argmax reduction where the lanes of a warp hold a single row. Copies do no harm.
static void argReduceInWarps(ThreadContext &t, const ArgReduction &pick, bool isNumberUsed, uint64_t registerMask, HeldTiles &held) {
  HeldTiles reducedPairs;
  for (uint64_t base = 0; base < held.size(); ++base) {
    if (base & registerMask) continue;
    HeldTiles pairs;
    for (uint64_t reg = base; reg < held.size(); ++reg)
      if ((reg & ~registerMask) == base) pairs.push_back(held[reg]);
    reducedPairs.push_back(argReduceInWarp(t, pick, pairs, isNumberUsed));
  }
  held = std::move(reducedPairs);
}

/// Exchanges the partial values of warps through shared memory.
static LogicalResult exchangePartials(ThreadContext &t, tt::ReduceOp op, const ReductionSteps &steps, HeldTiles &held) {
  Value base = scratch(t, op);
  std::vector<int64_t> offsets = partialOffsets(op, steps);
  size_t count = held.front().size();
  std::vector<SharedLayout> shared;
  ctaBarrier(t);
  for (size_t i = 0; i < count; ++i) {
    ThreadValues values;
    for (const ThreadValues &operands : held)
      values.push_back(operands[i]);
    shared.push_back(optimalScratch(steps.writtenLayout, steps.readLayout, ttg::memoryBits(memoryType(values.front().getType()))).shared);
    Value start = arith::AddIOp::create(t.b, base, t.i32(offsets[i]));
    if (failed(storeTile(t, op, start, steps.writtenLayout, shared.back(), values, /*stmatrix=*/false, Value()))) return failure();
  }
  ctaBarrier(t);
  HeldTiles read(static_cast<size_t>(steps.readLayout.registersPerThread()));
  for (size_t i = 0; i < count; ++i) {
    Value start = arith::AddIOp::create(t.b, base, t.i32(offsets[i]));
    FailureOr<ThreadValues> values = loadTile(t, op, start, steps.readLayout, shared[i], held.front()[i].getType());
    if (failed(values)) return failure();
    for (auto [reg, value] : llvm::enumerate(*values))
      read[reg].push_back(value);
  }
  held = std::move(read);
  return success();
}

static LogicalResult lowerReduce(ThreadContext &t, tt::ReduceOp op) {
  std::optional<ReductionSteps> steps = reductionSteps(op);
  if (!steps) return bug(op, "no layout was found for it");
  if (std::optional<std::string> error = verifyReduction(*steps)) return bug(op, "invalid plan: " + *error);
  Block &region = op.getCombineOp().front();
  FailureOr<HeldTiles> held = heldIn(t, op, op.getSrcs(), steps->source);
  if (failed(held)) return failure();
  auto reduce = [&](const ReductionPlan &plan, std::optional<ptx::Redux> redux, bool halves) -> LogicalResult {
    if (steps->argInWarps) {
      argReduceInWarps(t, *steps->argInWarps, !op->getResult(0).use_empty(), plan.registerMask, *held);
      return success();
    }
    if (failed(reduceRegisters(t, region, plan.registerMask, *held))) return failure();
    if (!redux) return reduceLanes(t, region, steps->isSymmetric, plan.laneMask, halves, *held);
    for (ThreadValues &values : *held)
      values = {reduceWarp(t, *redux, values.front())};
    return success();
  };
  if (failed(reduce(steps->plan, steps->redux, steps->recursiveHalving))) return failure();
  if (steps->plan.warpMask && (failed(exchangePartials(t, op, *steps, *held)) || failed(reduce(steps->partPlan, steps->partRedux, false))))
    return failure();
  return setInLayouts(t, op, *held, steps->result);
}

void addReductionLowerings(LoweringTable &table) {
  addLowerings<lowerReadCluster, lowerReduce>(table);
}

} // namespace tilewright::gpu
