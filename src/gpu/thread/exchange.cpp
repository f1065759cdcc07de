// What threads tell one another. A reduction combines registers, then lanes by butterfly shuffles, then warps through shared memory.
#include "gpu/schedule/scratch.h"
#include "gpu/thread/thread_lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

Value ThreadLowering::scratch(Operation *op) {
  auto place = op->getAttrOfType<IntegerAttr>(ttg::offsetName);
  int64_t offset = place ? place.getInt() : 0;
  sharedBytes = std::max(sharedBytes, offset + gpu::scratchBytes(op));
  Value base = ptx::SharedBaseOp::create(b, b.getI32Type());
  return offset ? arith::AddIOp::create(b, base, i32(offset)) : base;
}

FailureOr<Parts> ThreadLowering::combine(Block &block, ValueRange first, ValueRange second) {
  size_t count = first.size();
  for (size_t i = 0; i < count; ++i) {
    set(block.getArgument(static_cast<unsigned>(i)), {first[i]});
    set(block.getArgument(static_cast<unsigned>(i + count)), {second[i]});
  }
  Location place = b.getLoc();
  if (failed(lowerBlock(block))) return failure();
  b.setLoc(place);
  Parts results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(getScalar(value));
  return results;
}

void ThreadLowering::meet() {
  if (config.getCtas() == 1) {
    ptx::BarrierOp::create(b);
    return;
  }
  ptx::ClusterArriveOp::create(b, /*relaxed=*/false);
  ptx::ClusterWaitOp::create(b);
}

/// Threads of the same number hold the same elements in all blocks, so each has a place of its own that it finds again in the others.
LogicalResult ThreadLowering::lowerReadBlocks(ttg::ReadBlocksOp op) {
  Parts held = get(op.getSrc());
  Type type = held.front().getType(), stored = memoryType(type);
  int64_t bytes = memoryBits(stored) / 8, threads = config.getWarps() * 32;
  Value own = arith::AddIOp::create(b, scratch(op), arith::MulIOp::create(b, thread, i32(bytes)));
  ptx::BarrierOp::create(b);
  for (auto [reg, value] : llvm::enumerate(held))
    ptx::StoreSharedOp::create(b, own, ValueRange{toMemory(value)}, Value(),
                               static_cast<uint32_t>(static_cast<int64_t>(reg) * threads * bytes));
  meet();
  for (auto [block, result] : llvm::enumerate(op.getResults())) {
    Parts parts_;
    for (int64_t reg = 0; reg < static_cast<int64_t>(held.size()); ++reg) {
      Value address = reg ? Value(arith::AddIOp::create(b, own, i32(reg * threads * bytes))) : own;
      auto load = ptx::LoadBlockOp::create(b, TypeRange{stored}, address, i32(static_cast<int64_t>(block)));
      parts_.push_back(fromMemory(load.getValues()[0], type));
    }
    set(result, std::move(parts_));
  }
  meet(); // the others have read what is here
  return success();
}

/// Fewer parts are read by every lane: loads from shared memory overlap, and shuffles wait for one another.
constexpr int64_t fewestPartsToShare = 16;

LogicalResult ThreadLowering::lowerReduce(tt::ReduceOp op) {
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
    FailureOr<Parts> values = given == layout ? FailureOr<Parts>(get(tile)) : convertParts(op, get(tile), given, layout);
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
      FailureOr<Parts> both = combine(region, held[static_cast<size_t>(reg)], held[static_cast<size_t>(reg | step)]);
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
  auto exchange = [&](int64_t bit) -> LogicalResult {
    Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, lane, i32(int64_t(1) << bit)), i32(0));
    for (int64_t reg : left) {
      Parts mine = held[static_cast<size_t>(reg)], first, second;
      for (Value value : mine) {
        Value other = toMemory(value);
        other = ptx::ShuffleOp::create(b, other.getType(), ptx::Shuffle::bfly, other, i32(int64_t(1) << bit));
        other = fromMemory(other, value.getType());
        first.push_back(arith::SelectOp::create(b, isLater, other, value));
        second.push_back(arith::SelectOp::create(b, isLater, value, other));
      }
      FailureOr<Parts> both = combine(region, first, second);
      if (failed(both)) return failure();
      held[static_cast<size_t>(reg)] = *both;
    }
    return success();
  };
  for (int64_t bit = 0; bit < 5; ++bit)
    if (plan->laneMask >> bit & 1)
      if (failed(exchange(bit))) return failure();

  // Warps: each writes what it has, everybody reads all of it; of many warps, each lane one, which a second butterfly combines (a row over
  // 32 warps: 1 load and 5 shuffles in place of 32 loads). `slot` numbers the elements of the result, `part` the warps along `dim`.
  if (plan->warpMask) {
    int64_t parts_ = int64_t(1) << llvm::popcount(plan->warpMask);
    const Layout &reduced = plan->result;
    int64_t slots = elementCount(reduced.shape);
    std::vector<int64_t> bytes, starts;
    int64_t total = 0;
    for (size_t i = 0; i < operands; ++i) {
      Type type = memoryType(held[static_cast<size_t>(left[0])][i].getType());
      bytes.push_back(memoryBits(type) / 8);
      total = (total + 7) / 8 * 8;
      starts.push_back(total);
      total += bytes.back() * slots * parts_;
    }
    Value base = scratch(op);
    std::vector<uint32_t> partBases(layout.basesOf(Axis::warp).size(), 0);
    uint32_t next = 1;
    for (size_t bit = 0; bit < partBases.size(); ++bit)
      if (plan->warpMask >> bit & 1) {
        partBases[bit] = next;
        next <<= 1;
      }
    Value part = xorBases(warp, partBases);
    // In `reduced` the bits along `dim` tell copies apart, so that exactly one lane stores; warps along `dim` all store, each its part.
    uint64_t freeLanes = reduced.freeMask(Axis::lane);
    uint64_t freeWarps = reduced.freeMask(Axis::warp) & ~plan->warpMask;
    Value copies = arith::AndIOp::create(b, thread, i32(static_cast<int64_t>(freeLanes | freeWarps << 5)));
    Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, copies, i32(0));
    // The registers left, in order, are those of `reduced`.
    auto address = [&](size_t operand, size_t index, Value which) -> Value {
      Value slot = flatIndex(reduced, static_cast<int64_t>(index));
      Value place = arith::AddIOp::create(b, arith::MulIOp::create(b, slot, i32(parts_)), which);
      return arith::AddIOp::create(b, arith::AddIOp::create(b, base, i32(starts[operand])),
                                   arith::MulIOp::create(b, place, i32(bytes[operand])));
    };
    if (static_cast<int64_t>(left.size()) != reduced.registersPerThread())
      return op.emitError("a reduction whose registers hold copies is not built for GPUs");
    ptx::BarrierOp::create(b);
    for (auto [index, reg] : llvm::enumerate(left))
      for (size_t i = 0; i < operands; ++i)
        ptx::StoreSharedOp::create(b, address(i, index, part), ValueRange{toMemory(held[static_cast<size_t>(reg)][i])}, first);
    ptx::BarrierOp::create(b);
    SmallVector<int64_t> sharing; // bits of lanes that would read the same parts
    for (int64_t bit = 0; bit < 5 && parts_ >= fewestPartsToShare; ++bit)
      if (freeLanes >> bit & 1 && (int64_t(2) << sharing.size()) <= parts_) sharing.push_back(bit);
    std::vector<uint32_t> shareBases(5, 0);
    for (auto [number, bit] : llvm::enumerate(sharing))
      shareBases[static_cast<size_t>(bit)] = 1u << number;
    Value share = sharing.empty() ? Value() : xorBases(lane, shareBases);
    for (auto [index, reg] : llvm::enumerate(left)) {
      Parts sum;
      for (int64_t which = 0; which < parts_ >> sharing.size(); ++which) {
        Parts next_;
        Value part_ = i32(which << sharing.size());
        if (share) part_ = arith::AddIOp::create(b, share, part_);
        for (size_t i = 0; i < operands; ++i) {
          Type type = held[static_cast<size_t>(reg)][i].getType();
          auto load = ptx::LoadSharedOp::create(b, TypeRange{memoryType(type)}, address(i, index, part_), Value());
          next_.push_back(fromMemory(load.getValues()[0], type));
        }
        if (which == 0) {
          sum = next_;
          continue;
        }
        FailureOr<Parts> both = combine(region, sum, next_);
        if (failed(both)) return failure();
        sum = *both;
      }
      held[static_cast<size_t>(reg)] = sum;
    }
    for (int64_t bit : sharing)
      if (failed(exchange(bit))) return failure();
  }

  for (size_t i = 0; i < operands; ++i) {
    Parts results;
    for (int64_t reg : left)
      results.push_back(held[static_cast<size_t>(reg)][i]);
    auto tile = dyn_cast<RankedTensorType>(op.getResults()[i].getType());
    if (tile && ttg::layoutOf(tile) != plan->result) {
      FailureOr<Parts> converted = convertParts(op, results, plan->result, ttg::layoutOf(tile));
      if (failed(converted)) return failure();
      results = std::move(*converted);
    }
    set(op.getResults()[i], std::move(results));
  }
  return success();
}

} // namespace tilewright::gpu
