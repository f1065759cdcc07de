// Exchange of values between threads. A reduction combines registers, then lanes by butterfly shuffles, then warps through shared memory.
#include "gpu/thread/exchange/exchange.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/control_flow.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/TypeSwitch.h"

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

/// Combines registers that differ only along the dimension into the one whose bits along it are 0. Only these remain. The order follows
/// the layout, not the elements: as in upstream, a combination is associative and commutative.
static LogicalResult reduceRegisters(ThreadContext &t, Block &region, const ReductionPlan &plan, HeldTiles &held) {
  int64_t registers = static_cast<int64_t>(held.size());
  if (t.kernel.usesTensorMemory && isExtremum(region) && int64_t(plan.registerMask) == registers - 1) {
    FailureOr<ThreadValues> all = reduceByThree(t, region, held);
    if (succeeded(all)) held = {*all};
    return all;
  }
  for (int64_t bit = 0; (int64_t(1) << bit) < registers; ++bit) {
    if (!(plan.registerMask >> bit & 1)) continue;
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
    if (!(reg & static_cast<int64_t>(plan.registerMask))) left.push_back(std::move(held[static_cast<size_t>(reg)]));
  held = std::move(left);
  return success();
}

/// Combines the values of two lanes whose numbers differ in this bit. Both lanes combine in the same order, unless the combination is
/// symmetric. So they get the same bits.
static LogicalResult combineLanePairs(ThreadContext &t, Block &region, bool isSymmetric, int64_t bit, HeldTiles &held) {
  int64_t distance = int64_t(1) << bit;
  Value isLater =
      arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, arith::AndIOp::create(t.b, t.threads.lane, t.i32(distance)), t.i32(0));
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

constexpr uint64_t allLaneBits = (uint64_t(1) << laneBits) - 1;

/// The redux instruction that implements the region for a whole warp: one operation on i32. Nothing for other regions.
static std::optional<ptx::Redux> reduxOf(Block &region) {
  if (region.getNumArguments() != 2 || !region.getArgument(0).getType().isInteger(32) || !llvm::hasNItems(region, 2)) return std::nullopt;
  Operation &op = region.front();
  if (op.getNumResults() != 1 || region.getTerminator()->getOperand(0) != op.getResult(0) || op.getNumOperands() != 2 ||
      op.getOperand(0) == op.getOperand(1) || llvm::any_of(op.getOperands(), [](Value value) { return !isa<BlockArgument>(value); }))
    return std::nullopt;
  return llvm::TypeSwitch<Operation &, std::optional<ptx::Redux>>(op)
      .Case<arith::AddIOp>([](auto) { return ptx::Redux::add; })
      .Case<arith::MaxSIOp>([](auto) { return ptx::Redux::max; })
      .Case<arith::MinSIOp>([](auto) { return ptx::Redux::min; })
      .Case<arith::MaxUIOp>([](auto) { return ptx::Redux::umax; })
      .Case<arith::MinUIOp>([](auto) { return ptx::Redux::umin; })
      .Case<arith::AndIOp>([](auto) { return ptx::Redux::and_; })
      .Case<arith::OrIOp>([](auto) { return ptx::Redux::or_; })
      .Case<arith::XOrIOp>([](auto) { return ptx::Redux::xor_; })
      .Default([](Operation &) { return std::nullopt; });
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

/// Combines lanes by one redux, or by a butterfly for each bit. After that, all of the lanes hold the result.
static LogicalResult reduceLanes(ThreadContext &t, Block &region, bool isSymmetric, uint64_t laneMask, HeldTiles &held) {
  std::optional<ptx::Redux> redux = laneMask == allLaneBits ? reduxOf(region) : std::nullopt;
  if (redux) {
    for (ThreadValues &values : held)
      values = {reduceWarp(t, *redux, values.front())};
    return success();
  }
  for (int64_t bit = 0; bit < laneBits; ++bit)
    if (laneMask >> bit & 1 && failed(combineLanePairs(t, region, isSymmetric, bit, held))) return failure();
  return success();
}

/// Reduces registers and lanes of an argmin or argmax reduction where the lanes of a warp hold a single row. Copies do no harm.
static void argReduceInWarps(ThreadContext &t, const ArgReduction &pick, bool isNumberUsed, const ReductionPlan &plan, HeldTiles &held) {
  HeldTiles reducedPairs;
  for (uint64_t base = 0; base < held.size(); ++base) {
    if (base & plan.registerMask) continue;
    HeldTiles pairs;
    for (uint64_t reg = base; reg < held.size(); ++reg)
      if ((reg & ~plan.registerMask) == base) pairs.push_back(held[reg]);
    reducedPairs.push_back(argReduceInWarp(t, pick, pairs, isNumberUsed));
  }
  held = std::move(reducedPairs);
}

namespace {
/// The shared memory for the partial values of a reduction's warps: `partCount` contiguous parts for each element of the result. The
/// operands follow one another, each at a multiple of 8 bytes. Registers are those of the plan's result, in order.
class WarpPartials {
public:
  WarpPartials(ThreadContext &t, const ReductionPlan &plan, ValueRange operands, Value base)
      : partCount(int64_t(1) << llvm::popcount(plan.warpMask)), t(t), reduced(plan.result), base(base) {
    int64_t elements = elementCount(reduced.shape), total = 0;
    for (Value operand : operands) {
      bytes.push_back(ttg::memoryBits(memoryType(operand.getType())) / 8);
      total = (total + 7) / 8 * 8;
      starts.push_back(total);
      total += bytes.back() * elements * partCount;
    }
  }
  Value address(size_t operand, size_t reg, Value part) const {
    Value element = flatIndex(t, reduced, static_cast<int64_t>(reg));
    Value index = arith::AddIOp::create(t.b, arith::MulIOp::create(t.b, element, t.i32(partCount)), part);
    return arith::AddIOp::create(t.b, arith::AddIOp::create(t.b, base, t.i32(starts[operand])),
                                 arith::MulIOp::create(t.b, index, t.i32(bytes[operand])));
  }
  const int64_t partCount;

private:
  ThreadContext &t;
  const Layout &reduced;
  Value base;
  std::vector<int64_t> bytes, starts;
};
} // namespace

/// The bits of `mask` of a number with so many `bits`, compacted: the number of a warp, or a lane, among those that differ in these bits.
static Value compacted(ThreadContext &t, Value number, int64_t bits, uint64_t mask) {
  std::vector<uint32_t> bases(static_cast<size_t>(bits), 0);
  uint32_t next = 1;
  for (size_t bit = 0; bit < bases.size(); ++bit)
    if (mask >> bit & 1) {
      bases[bit] = next;
      next <<= 1;
    }
  return xorBases(t, number, bases);
}

/// The bits of the lanes that share the reading of partial values. Without sharing, these lanes would all read the same parts. Each lane
/// reads the part of one warp, and a second butterfly combines the values. A row over 32 warps takes 1 load and 5 shuffles instead of 32
/// loads. Few parts are read by every lane, because loads from shared memory overlap and dependent shuffles do not, unless combining two
/// takes many operations, as in Welford's mean and variance.
static uint64_t sharingLanes(uint64_t freeLanes, int64_t partCount, Block &region) {
  uint64_t sharing = 0;
  int64_t operations = partCount * static_cast<int64_t>(llvm::range_size(region.without_terminator()));
  for (int64_t bit = 0; bit < laneBits && operations >= minCombinedOperations; ++bit)
    if (freeLanes >> bit & 1 && (int64_t(2) << llvm::popcount(sharing)) <= partCount) sharing |= uint64_t(1) << bit;
  return sharing;
}

/// Reads the partial values of a result register: of the warp number `part`, which may differ from lane to lane.
static ThreadValues readPart(ThreadContext &t, const WarpPartials &parts, size_t reg, Value part, const ThreadValues &like) {
  ThreadValues read;
  for (auto [i, value] : llvm::enumerate(like)) {
    Type type = value.getType();
    auto load = ptx::LoadSharedOp::create(t.b, TypeRange{memoryType(type)}, parts.address(i, reg, part), Value());
    read.push_back(fromMemory(t, load.getValues()[0], type));
  }
  return read;
}

/// All threads read the partial values of the warps. Lanes that share read one part each.
static LogicalResult readWarps(ThreadContext &t, Block &region, bool isSymmetric, const WarpPartials &parts, uint64_t sharing,
                               HeldTiles &held) {
  int64_t shares = int64_t(1) << llvm::popcount(sharing);
  Value share = sharing ? compacted(t, t.threads.lane, laneBits, sharing) : Value();
  for (auto [reg, values] : llvm::enumerate(held)) {
    ThreadValues sum;
    for (int64_t first = 0; first < parts.partCount; first += shares) {
      Value part = share ? Value(arith::AddIOp::create(t.b, share, t.i32(first))) : t.i32(first);
      ThreadValues next = readPart(t, parts, reg, part, values);
      FailureOr<ThreadValues> both = first == 0 ? FailureOr<ThreadValues>(next) : combine(t, region, sum, next);
      if (failed(both)) return failure();
      sum = *both;
    }
    values = sum;
  }
  return reduceLanes(t, region, isSymmetric, sharing, held);
}

/// Each lane reads the part of one warp, and the warp reduces again.
static void argReduceOfWarps(ThreadContext &t, const ArgReduction &pick, bool isNumberUsed, const WarpPartials &parts, HeldTiles &held) {
  Value part = arith::AndIOp::create(t.b, t.threads.lane, t.i32(parts.partCount - 1));
  for (auto [reg, values] : llvm::enumerate(held))
    values = argReduceInWarp(t, pick, readPart(t, parts, reg, part, values), isNumberUsed);
}

namespace {
/// The argmin or argmax reduction, if the operation is one.
struct ArgReduceChoice {
  std::optional<ArgReduction> pick;
  bool inWarps = false; ///< the lanes of a warp hold a single row
  bool isNumberUsed = false;
  bool isSymmetric() const { return pick && pick->isSymmetric; }
};
} // namespace

static ArgReduceChoice pickingOf(tt::ReduceOp op, const ReductionPlan &plan) {
  ArgReduceChoice choice{argReduction(op)};
  choice.inWarps = choice.pick && plan.result.freeMask(Axis::lane) == allLaneBits;
  choice.isNumberUsed = !op->getResult(0).use_empty();
  return choice;
}

/// Combines warps: each writes its partial value to shared memory, and all read the values.
static LogicalResult reduceWarps(ThreadContext &t, tt::ReduceOp op, const ArgReduceChoice &choice, const Layout &layout,
                                 const ReductionPlan &plan, HeldTiles &held) {
  const Layout &reduced = plan.result;
  WarpPartials parts(t, plan, held.front(), scratch(t, op));
  Value part = compacted(t, t.threads.warp, layout.bits(Axis::warp), plan.warpMask);
  // In `reduced`, bits along the dimension distinguish copies. So exactly one lane stores, and each warp along the dimension stores its
  // part.
  uint64_t freeLanes = reduced.freeMask(Axis::lane), freeWarps = reduced.freeMask(Axis::warp) & ~plan.warpMask;
  Value copies = arith::AndIOp::create(t.b, t.threads.index, t.i32(static_cast<int64_t>(freeLanes | freeWarps << laneBits)));
  Value first = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, copies, t.i32(0));
  if (static_cast<int64_t>(held.size()) != reduced.registersPerThread()) return bug(op, "several registers hold the same element");
  ctaBarrier(t);
  for (auto [reg, values] : llvm::enumerate(held))
    for (auto [i, value] : llvm::enumerate(values))
      ptx::StoreSharedOp::create(t.b, parts.address(i, reg, part), ValueRange{toMemory(t, value)}, first);
  ctaBarrier(t);
  if (choice.inWarps) {
    argReduceOfWarps(t, *choice.pick, choice.isNumberUsed, parts, held);
    return success();
  }
  Block &region = op.getCombineOp().front();
  return readWarps(t, region, choice.isSymmetric(), parts, sharingLanes(freeLanes, parts.partCount, region), held);
}

static LogicalResult lowerReduce(ThreadContext &t, tt::ReduceOp op) {
  int64_t dim = op.getAxis();
  Layout layout = reductionLayout(ttg::layoutOf(op.getSrcs().front().getType()), dim);
  std::optional<ReductionPlan> plan = reductionPlan(layout, dim);
  if (!plan) return bug(op, "no layout was found for it");
  Block &region = op.getCombineOp().front();
  FailureOr<HeldTiles> held = heldIn(t, op, op.getSrcs(), layout);
  if (failed(held)) return failure();
  ArgReduceChoice choice = pickingOf(op, *plan);
  if (choice.inWarps)
    argReduceInWarps(t, *choice.pick, choice.isNumberUsed, *plan, *held);
  else if (failed(reduceRegisters(t, region, *plan, *held)) || failed(reduceLanes(t, region, choice.isSymmetric(), plan->laneMask, *held)))
    return failure();
  if (plan->warpMask && failed(reduceWarps(t, op, choice, layout, *plan, *held))) return failure();
  return setInLayouts(t, op, *held, plan->result);
}

void addReductionLowerings(LoweringTable &table) {
  addLowerings<lowerReadCluster, lowerReduce>(table);
}

} // namespace tilewright::gpu
