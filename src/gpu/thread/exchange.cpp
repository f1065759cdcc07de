// What threads tell one another. A reduction combines registers, then lanes by butterfly shuffles, then warps through shared memory.
#include "gpu/thread/lowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

FailureOr<Parts> combine(ThreadContext &t, Block &block, ValueRange first, ValueRange second) {
  size_t count = first.size();
  for (size_t i = 0; i < count; ++i) {
    t.set(block.getArgument(static_cast<unsigned>(i)), {first[i]});
    t.set(block.getArgument(static_cast<unsigned>(i + count)), {second[i]});
  }
  Location place = t.b.getLoc();
  if (failed(lowerBlock(t, block))) return failure();
  t.b.setLoc(place);
  Parts results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(t.getScalar(value));
  return results;
}

/// Threads of the same number hold the same elements in all blocks, so each has a place of its own that it finds again in the others.
LogicalResult lowerReadBlocks(ThreadContext &t, ttg::ReadBlocksOp op) {
  Parts held = t.get(op.getSrc());
  Type type = held.front().getType(), stored = memoryType(t, type);
  int64_t bytes = memoryBits(stored) / 8, threads = t.config.getWarps() * 32;
  Value own = arith::AddIOp::create(t.b, scratch(t, op), arith::MulIOp::create(t.b, t.thread, t.i32(bytes)));
  ptx::BarrierOp::create(t.b);
  for (auto [reg, value] : llvm::enumerate(held))
    ptx::StoreSharedOp::create(t.b, own, ValueRange{toMemory(t, value)}, Value(),
                               static_cast<uint32_t>(static_cast<int64_t>(reg) * threads * bytes));
  meet(t);
  for (auto [block, result] : llvm::enumerate(op.getResults())) {
    Parts parts_;
    for (int64_t reg = 0; reg < static_cast<int64_t>(held.size()); ++reg) {
      Value address = reg ? Value(arith::AddIOp::create(t.b, own, t.i32(reg * threads * bytes))) : own;
      auto load = ptx::LoadBlockOp::create(t.b, TypeRange{stored}, address, t.i32(static_cast<int64_t>(block)));
      parts_.push_back(fromMemory(t, load.getValues()[0], type));
    }
    t.set(result, std::move(parts_));
  }
  meet(t); // the others have read what is here
  return success();
}

LogicalResult lowerReduce(ThreadContext &t, tt::ReduceOp op) {
  int64_t dim = op.getAxis();
  Layout given = ttg::layoutOf(op.getSrcs().front().getType()), layout = reductionLayout(given, dim);
  std::optional<ReductionPlan> plan = reductionPlan(layout, dim);
  if (!plan || plan->blockMask) return op.emitError("a reduction in this layout is not built for GPUs");
  Block &region = op.getCombineOp().front();
  size_t operands = op.getSrcs().size();

  // Registers: those that differ only along `dim` become the one whose bits along it are 0.
  int64_t registers = layout.registersPerThread();
  std::vector<Parts> held(static_cast<size_t>(registers));
  for (Value tile : op.getSrcs()) {
    FailureOr<Parts> values = given == layout ? FailureOr<Parts>(t.get(tile)) : convertParts(t, op, t.get(tile), given, layout);
    if (failed(values)) return failure();
    for (auto [reg, value] : llvm::enumerate(*values))
      held[reg].push_back(value);
  }
  // The order follows the layout, not the elements: as in upstream, a combination is associative and commutative.
  for (int64_t bit = 0; (int64_t(1) << bit) < registers; ++bit) {
    if (!(plan->registerMask >> bit & 1)) continue;
    int64_t step = int64_t(1) << bit;
    for (int64_t reg = 0; reg < registers; ++reg) {
      if (reg & step || held[static_cast<size_t>(reg)].empty() || held[static_cast<size_t>(reg | step)].empty()) continue;
      FailureOr<Parts> both = combine(t, region, held[static_cast<size_t>(reg)], held[static_cast<size_t>(reg | step)]);
      if (failed(both)) return failure();
      held[static_cast<size_t>(reg)] = *both;
      held[static_cast<size_t>(reg | step)].clear();
    }
  }
  SmallVector<int64_t> left;
  for (int64_t reg = 0; reg < registers; ++reg)
    if (!(reg & static_cast<int64_t>(plan->registerMask))) left.push_back(reg);

  // Lanes: a butterfly for each bit, after which all of them hold the result. Both lanes of a pair combine in one order, so that they get
  // the same bits.
  for (int64_t bit = 0; bit < 5; ++bit) {
    if (!(plan->laneMask >> bit & 1)) continue;
    Value isLater =
        arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, arith::AndIOp::create(t.b, t.lane, t.i32(int64_t(1) << bit)), t.i32(0));
    for (int64_t reg : left) {
      Parts mine = held[static_cast<size_t>(reg)], first, second;
      for (Value value : mine) {
        Value other = toMemory(t, value);
        other = ptx::ShuffleOp::create(t.b, other.getType(), ptx::Shuffle::bfly, other, t.i32(int64_t(1) << bit));
        other = fromMemory(t, other, value.getType());
        first.push_back(arith::SelectOp::create(t.b, isLater, other, value));
        second.push_back(arith::SelectOp::create(t.b, isLater, value, other));
      }
      FailureOr<Parts> both = combine(t, region, first, second);
      if (failed(both)) return failure();
      held[static_cast<size_t>(reg)] = *both;
    }
  }

  // Warps: each writes what it has, everybody reads all of it. `slot` numbers the elements of the result, `part` the warps along `dim`.
  if (plan->warpMask) {
    int64_t parts_ = int64_t(1) << llvm::popcount(plan->warpMask);
    const Layout &reduced = plan->result;
    int64_t slots = elementCount(reduced.shape);
    std::vector<int64_t> bytes, starts;
    int64_t total = 0;
    for (size_t i = 0; i < operands; ++i) {
      Type type = memoryType(t, held[static_cast<size_t>(left[0])][i].getType());
      bytes.push_back(memoryBits(type) / 8);
      total = (total + 7) / 8 * 8;
      starts.push_back(total);
      total += bytes.back() * slots * parts_;
    }
    Value base = scratch(t, op);
    std::vector<uint32_t> partBases(layout.basesOf(Axis::warp).size(), 0);
    uint32_t next = 1;
    for (size_t bit = 0; bit < partBases.size(); ++bit)
      if (plan->warpMask >> bit & 1) {
        partBases[bit] = next;
        next <<= 1;
      }
    Value part = xorBases(t, t.warp, partBases);
    // In `reduced` the bits along `dim` tell copies apart, so that exactly one lane stores; warps along `dim` all store, each its part.
    uint64_t freeLanes = reduced.freeMask(Axis::lane);
    uint64_t freeWarps = reduced.freeMask(Axis::warp) & ~plan->warpMask;
    Value copies = arith::AndIOp::create(t.b, t.thread, t.i32(static_cast<int64_t>(freeLanes | freeWarps << 5)));
    Value first = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, copies, t.i32(0));
    // The registers left, in order, are those of `reduced`.
    auto address = [&](size_t operand, size_t index, Value which) -> Value {
      Value slot = flatIndex(t, reduced, static_cast<int64_t>(index));
      Value place = arith::AddIOp::create(t.b, arith::MulIOp::create(t.b, slot, t.i32(parts_)), which);
      return arith::AddIOp::create(t.b, arith::AddIOp::create(t.b, base, t.i32(starts[operand])),
                                   arith::MulIOp::create(t.b, place, t.i32(bytes[operand])));
    };
    if (static_cast<int64_t>(left.size()) != reduced.registersPerThread())
      return op.emitError("a reduction whose registers hold copies is not built for GPUs");
    ptx::BarrierOp::create(t.b);
    for (auto [index, reg] : llvm::enumerate(left))
      for (size_t i = 0; i < operands; ++i)
        ptx::StoreSharedOp::create(t.b, address(i, index, part), ValueRange{toMemory(t, held[static_cast<size_t>(reg)][i])}, first);
    ptx::BarrierOp::create(t.b);
    for (auto [index, reg] : llvm::enumerate(left)) {
      Parts sum;
      for (int64_t which = 0; which < parts_; ++which) {
        Parts next_;
        for (size_t i = 0; i < operands; ++i) {
          Type type = held[static_cast<size_t>(reg)][i].getType();
          auto load = ptx::LoadSharedOp::create(t.b, TypeRange{memoryType(t, type)}, address(i, index, t.i32(which)), Value());
          next_.push_back(fromMemory(t, load.getValues()[0], type));
        }
        if (which == 0) {
          sum = next_;
          continue;
        }
        FailureOr<Parts> both = combine(t, region, sum, next_);
        if (failed(both)) return failure();
        sum = *both;
      }
      held[static_cast<size_t>(reg)] = sum;
    }
  }

  for (size_t i = 0; i < operands; ++i) {
    Parts results;
    for (int64_t reg : left)
      results.push_back(held[static_cast<size_t>(reg)][i]);
    auto tile = dyn_cast<RankedTensorType>(op.getResults()[i].getType());
    if (tile && ttg::layoutOf(tile) != plan->result) {
      FailureOr<Parts> converted = convertParts(t, op, results, plan->result, ttg::layoutOf(tile));
      if (failed(converted)) return failure();
      results = std::move(*converted);
    }
    t.set(op.getResults()[i], std::move(results));
  }
  return success();
}

} // namespace tilewright::gpu
