// A scan goes through the bits of the coordinate along its dimension, the lowest first, whoever holds them. Before bit k, each element
// holds the combination of its aligned group of 2^k up to itself, and everybody of a group knows the group's total; then
//     in the upper group of each pair:  value = combine(total of the lower group, value)
//     in both:                          total = combine(lower total, upper total)
// A total comes from another register, by a butterfly shuffle, or through shared memory from another warp. Values wait: what comes before
// this thread's lowest run of registers is gathered in `before` and combined into them once, at the end. Backwards it is the same with the
// bits inverted.
#include "gpu/thread/lowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <map>

using namespace mlir;

namespace tilewright::gpu {

namespace {

/// What precedes a run of registers. `exists` null: yes if `values` is not empty.
struct Before {
  Parts values;
  Value exists;
};

} // namespace

static std::map<int64_t, Parts> totalsOfLane(ThreadContext &t, const std::map<int64_t, Parts> &totals, int64_t bit) {
  std::map<int64_t, Parts> others;
  for (auto &[reg, total] : totals)
    for (Value value : total) {
      Value sent = toMemory(t, value);
      sent = ptx::ShuffleOp::create(t.b, sent.getType(), ptx::Shuffle::bfly, sent, t.i32(bit));
      others[reg].push_back(fromMemory(t, sent, value.getType()));
    }
  return others;
}

/// A slot for each total and thread: its warp's neighbour reads what the thread of the same lane wrote.
static std::map<int64_t, Parts> totalsOfWarp(ThreadContext &t, Operation *op, const std::map<int64_t, Parts> &totals, int64_t bit) {
  Value base = scratch(t, op);
  int64_t threads = t.config.getWarps() * 32;
  Value neighbour = arith::XOrIOp::create(t.b, t.thread, t.i32(bit << laneBits));
  ptx::BarrierOp::create(t.b);
  std::map<int64_t, Parts> others;
  for (bool loads : {false, true}) {
    int64_t start = 0;
    for (size_t i = 0; i < totals.begin()->second.size(); ++i) {
      Type type = totals.begin()->second[i].getType(), inMemory = memoryType(t, type);
      int64_t bytes = inMemory.getIntOrFloatBitWidth() / 8;
      start = (start + 7) / 8 * 8;
      Value address = arith::AddIOp::create(t.b, base, arith::MulIOp::create(t.b, loads ? neighbour : t.thread, t.i32(bytes)));
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
    if (!loads) ptx::BarrierOp::create(t.b);
  }
  return others;
}

LogicalResult lowerScan(ThreadContext &t, tt::ScanOp op) {
  Layout given = ttg::layoutOf(op.getSrcs().front().getType()), layout = scanLayout(given, op.getAxis());
  std::optional<std::vector<AxisBit>> order = scanOrder(layout, op.getAxis());
  if (!order) return op.emitError("a scan in this layout is not built for GPUs");
  Block &region = op.getCombineOp().front();
  size_t operands = op.getSrcs().size();
  int64_t registers = layout.registersPerThread();
  bool reverse = op.getReverse();

  std::vector<Parts> held(static_cast<size_t>(registers)); // held[register][operand]
  for (Value tile : op.getSrcs()) {
    FailureOr<Parts> values = given == layout ? FailureOr<Parts>(t.get(tile)) : convertParts(t, op, t.get(tile), given, layout);
    if (failed(values)) return failure();
    for (auto [reg, value] : llvm::enumerate(*values))
      held[reg].push_back(value);
  }

  // The lowest bits, as long as they are registers: values are combined at once.
  size_t next = 0;
  int64_t runMask = 0;
  for (; next < order->size() && (*order)[next].axis == Axis::reg; ++next) {
    int64_t bit = int64_t(1) << (*order)[next].bit;
    for (int64_t reg = 0; reg < registers; ++reg) {
      bool upper = bool(reg & bit) != reverse;
      if (!upper) continue;
      int64_t lastOfLower = ((reg & ~runMask) | (reverse ? 0 : runMask)) ^ bit;
      FailureOr<Parts> both = combine(t, region, held[static_cast<size_t>(lastOfLower)], held[static_cast<size_t>(reg)]);
      if (failed(both)) return failure();
      held[static_cast<size_t>(reg)] = *both;
    }
    runMask |= bit;
  }

  std::map<int64_t, Parts> totals;  // by register, with the bits of all that is in the total 0
  std::map<int64_t, Before> before; // by register, with the bits of the lowest run 0
  for (int64_t reg = 0; reg < registers; ++reg) {
    if (reg & runMask) continue;
    totals[reg] = held[static_cast<size_t>(reverse ? reg : reg | runMask)];
    before[reg] = {};
  }
  int64_t doneMask = runMask;

  /// Puts `lower` in front of what precedes a run, in the threads where `applies` (null: all).
  auto prepend = [&](Before &run, const Parts &lower, Value applies) -> LogicalResult {
    if (run.values.empty()) {
      run.values = lower;
      run.exists = applies;
      return success();
    }
    FailureOr<Parts> both = combine(t, region, lower, run.values);
    if (failed(both)) return failure();
    Parts joined = *both;
    if (run.exists)
      for (size_t i = 0; i < operands; ++i)
        joined[i] = arith::SelectOp::create(t.b, run.exists, joined[i], lower[i]);
    if (applies)
      for (size_t i = 0; i < operands; ++i)
        joined[i] = arith::SelectOp::create(t.b, applies, joined[i], run.values[i]);
    run.values = joined;
    if (!applies)
      run.exists = {};
    else if (run.exists)
      run.exists = arith::OrIOp::create(t.b, run.exists, applies);
    return success();
  };

  for (; next < order->size(); ++next) {
    AxisBit place = (*order)[next];
    int64_t bit = int64_t(1) << place.bit;
    if (place.axis == Axis::block) return op.emitError("a scan across the blocks of a cluster is not built for GPUs");
    if (place.axis == Axis::reg) {
      std::map<int64_t, Parts> joined;
      for (auto &[reg, total] : totals) {
        if (reg & bit) continue;
        int64_t lower = reverse ? reg | bit : reg, upper = lower ^ bit;
        for (auto &[run, preceding] : before)
          if ((run & ~doneMask) == upper && failed(prepend(preceding, totals[lower], {}))) return failure();
        FailureOr<Parts> both = combine(t, region, totals[lower], totals[upper]);
        if (failed(both)) return failure();
        joined[reg] = *both;
      }
      totals = std::move(joined);
      doneMask |= bit;
      continue;
    }
    Value own = place.axis == Axis::lane ? t.lane : t.warp;
    Value isUpper = arith::CmpIOp::create(t.b, reverse ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne,
                                          arith::AndIOp::create(t.b, own, t.i32(bit)), t.i32(0));
    std::map<int64_t, Parts> others = place.axis == Axis::lane ? totalsOfLane(t, totals, bit) : totalsOfWarp(t, op, totals, bit);
    for (auto &[reg, total] : totals) {
      const Parts &other = others[reg];
      Parts lower, upper;
      for (size_t i = 0; i < operands; ++i) {
        lower.push_back(arith::SelectOp::create(t.b, isUpper, other[i], total[i]));
        upper.push_back(arith::SelectOp::create(t.b, isUpper, total[i], other[i]));
      }
      for (auto &[run, preceding] : before)
        if ((run & ~doneMask) == reg && failed(prepend(preceding, lower, isUpper))) return failure();
      bool isLast = next + 1 == order->size();
      if (isLast) continue; // nobody asks for the whole's total
      FailureOr<Parts> both = combine(t, region, lower, upper);
      if (failed(both)) return failure();
      total = *both;
    }
  }

  for (int64_t reg = 0; reg < registers; ++reg) {
    const Before &preceding = before[reg & ~runMask];
    if (preceding.values.empty()) continue;
    Parts &mine = held[static_cast<size_t>(reg)];
    FailureOr<Parts> both = combine(t, region, preceding.values, mine);
    if (failed(both)) return failure();
    for (size_t i = 0; i < operands; ++i)
      mine[i] = preceding.exists ? Value(arith::SelectOp::create(t.b, preceding.exists, (*both)[i], mine[i])) : (*both)[i];
  }
  for (size_t i = 0; i < operands; ++i) {
    Parts results;
    for (int64_t reg = 0; reg < registers; ++reg)
      results.push_back(held[static_cast<size_t>(reg)][i]);
    Layout wanted = ttg::layoutOf(op.getResults()[i].getType());
    FailureOr<Parts> converted = wanted == layout ? FailureOr<Parts>(results) : convertParts(t, op, results, layout, wanted);
    if (failed(converted)) return failure();
    t.set(op.getResults()[i], std::move(*converted));
  }
  return success();
}

} // namespace tilewright::gpu
