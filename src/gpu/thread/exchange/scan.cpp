// A scan processes the bits of the coordinate along its dimension from the lowest on. A bit may belong to registers, lanes or warps.
// Those below the lowest bit of lanes or warps are a run, whose elements are combined one after another. Before any other bit k, each
// element holds the combination of its aligned group of 2^k elements up to itself. Every thread of a group knows the group's total. Then
//     in the upper group of each pair:  value = combine(total of the lower group, value)
//     in both:                          total = combine(lower total, upper total)
// A total comes from another register, by a butterfly shuffle, or from another warp through shared memory. Values are updated late: what
// precedes this thread's lowest run of registers is combined in `before`, and added to the values once, at the end. A reverse scan
// inverts the bits.
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/exchange/exchange.h"
#include "gpu/thread/lowering_table.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <map>

using namespace mlir;

namespace tilewright::gpu {

namespace {
/// The combination of all elements before a run of registers. `exists` null: there is one if `values` is not empty.
struct Before {
  ThreadValues values;
  Value exists;
};

/// A scan in progress. A run is a set of registers with contiguous elements along the dimension; its own elements are already combined.
struct Scan {
  tt::ScanOp op;
  bool reverse = false;
  HeldTiles held;                         ///< values, combined within their runs
  int64_t runMask = 0;                    ///< the register bits within a run
  int64_t doneMask = 0;                   ///< the register bits within a total
  std::map<int64_t, ThreadValues> totals; ///< by register, with the bits of doneMask 0
  std::map<int64_t, Before> before;       ///< by register, with the bits of runMask 0
  Block &region() { return op.getCombineOp().front(); }
};
} // namespace

static std::map<int64_t, ThreadValues> totalsOfLane(ThreadContext &t, const std::map<int64_t, ThreadValues> &totals, int64_t bit) {
  std::map<int64_t, ThreadValues> others;
  for (auto &[reg, total] : totals)
    others[reg] = ofOtherLane(t, total, bit);
  return others;
}

/// Exchanges totals between warps through shared memory. Each thread writes its totals, and reads those of the same lane in the warp that
/// differs by `bit`.
static std::map<int64_t, ThreadValues> totalsOfWarp(ThreadContext &t, Operation *op, const std::map<int64_t, ThreadValues> &totals,
                                                    int64_t bit) {
  Value base = scratch(t, op);
  int64_t threads = t.threads.warps << laneBits;
  Value peer = arith::XOrIOp::create(t.b, t.threads.index, t.i32(bit << laneBits));
  ctaBarrier(t);
  std::map<int64_t, ThreadValues> others;
  for (bool loads : {false, true}) {
    int64_t start = 0;
    for (size_t i = 0; i < totals.begin()->second.size(); ++i) {
      Type type = totals.begin()->second[i].getType(), inMemory = memoryType(type);
      int64_t bytes = inMemory.getIntOrFloatBitWidth() / 8;
      start = (start + 7) / 8 * 8;
      Value address = arith::AddIOp::create(t.b, base, arith::MulIOp::create(t.b, loads ? peer : t.threads.index, t.i32(bytes)));
      for (auto &[reg, total] : totals) {
        if (loads) {
          auto load = ptx::LoadSharedOp::create(t.b, TypeRange{inMemory}, address, Value(), static_cast<uint32_t>(start));
          others[reg].push_back(fromMemory(t, load.getValues()[0], type));
        } else {
          ptx::StoreSharedOp::create(t.b, address, ValueRange{toMemory(t, total[i])}, Value(), static_cast<uint32_t>(start));
        }
        start += threads * bytes;
      }
    }
    if (!loads) ctaBarrier(t);
  }
  return others;
}

/// Handles the lowest bits while they are register bits: each element is combined with the one before it. Returns the number of these bits.
static FailureOr<size_t> scanRuns(ThreadContext &t, Scan &scan, ArrayRef<AxisBit> order) {
  size_t next = 0;
  for (; next < order.size() && order[next].axis == Axis::reg; ++next)
    scan.runMask |= int64_t(1) << order[next].bit;
  auto offsetOf = [&](int64_t position) { // of an element of a run, in registers
    int64_t offset = 0;
    for (size_t i = 0; i < next; ++i)
      offset |= (position >> i & 1) << order[i].bit;
    return scan.reverse ? scan.runMask ^ offset : offset;
  };
  int64_t registers = static_cast<int64_t>(scan.held.size());
  for (int64_t position = 1; position < int64_t(1) << next; ++position) {
    int64_t before = offsetOf(position - 1), offset = offsetOf(position);
    for (int64_t run = 0; run < registers; ++run) {
      if (run & scan.runMask) continue;
      ThreadValues &mine = scan.held[static_cast<size_t>(run | offset)];
      FailureOr<ThreadValues> both = combine(t, scan.region(), scan.held[static_cast<size_t>(run | before)], mine);
      if (failed(both)) return failure();
      mine = *both;
    }
  }
  for (int64_t reg = 0; reg < registers; ++reg) {
    if (reg & scan.runMask) continue;
    scan.totals[reg] = scan.held[static_cast<size_t>(scan.reverse ? reg : reg | scan.runMask)];
    scan.before[reg] = {};
  }
  scan.doneMask = scan.runMask;
  return next;
}

/// Combines `lower` with what precedes a run, in the threads where `applies` holds (null: in all).
static LogicalResult prepend(ThreadContext &t, Scan &scan, Before &run, const ThreadValues &lower, Value applies) {
  if (run.values.empty()) {
    run.values = lower;
    run.exists = applies;
    return success();
  }
  FailureOr<ThreadValues> both = combine(t, scan.region(), lower, run.values);
  if (failed(both)) return failure();
  ThreadValues joined = *both;
  if (run.exists)
    for (size_t i = 0; i < joined.size(); ++i)
      joined[i] = arith::SelectOp::create(t.b, run.exists, joined[i], lower[i]);
  if (applies)
    for (size_t i = 0; i < joined.size(); ++i)
      joined[i] = arith::SelectOp::create(t.b, applies, joined[i], run.values[i]);
  run.values = joined;
  if (!applies)
    run.exists = {};
  else if (run.exists)
    run.exists = arith::OrIOp::create(t.b, run.exists, applies);
  return success();
}

/// Does the same for all runs that belong to the total of `group`.
static LogicalResult prependToGroup(ThreadContext &t, Scan &scan, int64_t group, const ThreadValues &lower, Value applies) {
  for (auto &[run, preceding] : scan.before)
    if ((run & ~scan.doneMask) == group && failed(prepend(t, scan, preceding, lower, applies))) return failure();
  return success();
}

/// Handles a register bit above bits of other kinds.
static LogicalResult scanRegisters(ThreadContext &t, Scan &scan, int64_t bit) {
  std::map<int64_t, ThreadValues> joined;
  for (auto &[reg, total] : scan.totals) {
    if (reg & bit) continue;
    int64_t lower = scan.reverse ? reg | bit : reg, upper = lower ^ bit;
    if (failed(prependToGroup(t, scan, upper, scan.totals[lower], {}))) return failure();
    FailureOr<ThreadValues> both = combine(t, scan.region(), scan.totals[lower], scan.totals[upper]);
    if (failed(both)) return failure();
    joined[reg] = *both;
  }
  scan.totals = std::move(joined);
  scan.doneMask |= bit;
  return success();
}

/// Handles a lane or warp bit. After the last one the total is not needed.
static LogicalResult scanThreads(ThreadContext &t, Scan &scan, Axis axis, int64_t bit, bool isLast) {
  Value own = axis == Axis::lane ? t.threads.lane : t.threads.warp;
  Value isUpper = arith::CmpIOp::create(t.b, scan.reverse ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne,
                                        arith::AndIOp::create(t.b, own, t.i32(bit)), t.i32(0));
  std::map<int64_t, ThreadValues> others =
      axis == Axis::lane ? totalsOfLane(t, scan.totals, bit) : totalsOfWarp(t, scan.op, scan.totals, bit);
  for (auto &[reg, total] : scan.totals) {
    const ThreadValues &other = others[reg];
    ThreadValues lower, upper;
    for (size_t i = 0; i < total.size(); ++i) {
      lower.push_back(arith::SelectOp::create(t.b, isUpper, other[i], total[i]));
      upper.push_back(arith::SelectOp::create(t.b, isUpper, total[i], other[i]));
    }
    if (failed(prependToGroup(t, scan, reg, lower, isUpper))) return failure();
    if (isLast) continue;
    FailureOr<ThreadValues> both = combine(t, scan.region(), lower, upper);
    if (failed(both)) return failure();
    total = *both;
  }
  return success();
}

/// Combines what precedes each run into its values.
static LogicalResult addPreceding(ThreadContext &t, Scan &scan) {
  for (size_t reg = 0; reg < scan.held.size(); ++reg) {
    const Before &preceding = scan.before[static_cast<int64_t>(reg) & ~scan.runMask];
    if (preceding.values.empty()) continue;
    ThreadValues &mine = scan.held[reg];
    FailureOr<ThreadValues> both = combine(t, scan.region(), preceding.values, mine);
    if (failed(both)) return failure();
    for (size_t i = 0; i < mine.size(); ++i)
      mine[i] = preceding.exists ? Value(arith::SelectOp::create(t.b, preceding.exists, (*both)[i], mine[i])) : (*both)[i];
  }
  return success();
}

static LogicalResult lowerScan(ThreadContext &t, tt::ScanOp op) {
  Layout layout = scanLayout(ttg::layoutOf(op.getSrcs().front().getType()), op.getAxis());
  std::optional<std::vector<AxisBit>> order = scanOrder(layout, op.getAxis());
  if (!order) return bug(op, "no layout was found for it");
  FailureOr<HeldTiles> held = heldIn(t, op, op.getSrcs(), layout);
  if (failed(held)) return failure();
  Scan scan{.op = op, .reverse = op.getReverse(), .held = std::move(*held), .totals = {}, .before = {}};
  FailureOr<size_t> done = scanRuns(t, scan, *order);
  if (failed(done)) return failure();
  for (size_t next = *done; next < order->size(); ++next) {
    auto [axis, number] = (*order)[next];
    int64_t bit = int64_t(1) << number;
    bool isLast = next + 1 == order->size();
    if (failed(axis == Axis::reg ? scanRegisters(t, scan, bit) : scanThreads(t, scan, axis, bit, isLast))) return failure();
  }
  if (failed(addPreceding(t, scan))) return failure();
  return setInLayouts(t, op, scan.held, layout);
}

void addScanLowerings(LoweringTable &table) {
  addLowerings<lowerScan>(table);
}

} // namespace tilewright::gpu
