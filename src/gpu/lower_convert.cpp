// A tile in another layout. What stays in its thread is renamed; what stays in its warp may go by shuffles; the rest goes through shared
// memory in an order that both sides reach with wide accesses and without bank conflicts:
//     ttg.convert_layout : #rows -> #columns      barrier; st.shared.v4 ...; barrier; ld.shared.v4 ...
#include "gpu/scratch.h"
#include "gpu/thread_lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult ThreadLowering::lowerConvert(ttg::ConvertLayoutOp op) {
  FailureOr<Parts> results = convertParts(op, get(op.getSrc()), ttg::layoutOf(op.getSrc().getType()), ttg::layoutOf(op.getType()));
  if (failed(results)) return failure();
  set(op.getResult(), std::move(*results));
  return success();
}

FailureOr<Parts> ThreadLowering::convertParts(Operation *op, const Parts &held, const Layout &from, const Layout &to) {
  Type type = held.front().getType(), inMemory = memoryType(type);
  MatrixInstructions matrices{.ldmatrix = true, .stmatrix = target.wgmma};
  ConversionPlan plan = planConversion(from, to, inMemory.getIntOrFloatBitWidth(), matrices);
  if (plan.kind == Conversion::cluster) return op->emitError("a conversion between the blocks of a cluster is not built for GPUs");
  Parts results;
  if (plan.kind < Conversion::shuffle) {
    for (std::optional<int64_t> reg : sameThreadRegisters(to, from)) {
      if (!reg) return op->emitError("the layouts of this conversion do not fit");
      results.push_back(held[static_cast<size_t>(*reg)]);
    }
    return results;
  }
  Parts stored;
  for (Value value : held)
    stored.push_back(toMemory(value));
  Parts loaded = plan.shuffle ? shuffleParts(stored, *plan.shuffle) : exchangeParts(op, stored, from, *plan.scratch);
  for (Value value : loaded)
    results.push_back(fromMemory(value, type));
  return results;
}

/// values[s ^ XOR of masks[bit] over the set bits of this thread's number], for all s.
Parts ThreadLowering::permuteByThread(Parts values, const std::vector<uint32_t> &masks) {
  for (size_t bit = 0; bit < masks.size(); ++bit) {
    if (!masks[bit]) continue;
    Value isSet = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, thread, i32(int64_t(1) << bit)), i32(0));
    Parts moved;
    for (size_t s = 0; s < values.size(); ++s)
      moved.push_back(arith::SelectOp::create(b, isSet, values[s ^ masks[bit]], values[s]));
    values = std::move(moved);
  }
  return values;
}

Parts ThreadLowering::shuffleParts(const Parts &held, const ShufflePlan &plan) {
  Parts sent = permuteByThread(held, plan.sendSelect), got(plan.rounds.size());
  Value from = plan.butterfly ? Value() : xorBases(thread, plan.laneFrom);
  for (const ShufflePlan::Round &round : plan.rounds) {
    Value value = sent[static_cast<size_t>(round.send)];
    if (!round.local) {
      Value lane_ = i32(round.laneXor);
      if (!plan.butterfly && round.laneXor) lane_ = arith::XOrIOp::create(b, from, lane_);
      if (!plan.butterfly && !round.laneXor) lane_ = from;
      ptx::Shuffle kind = plan.butterfly ? ptx::Shuffle::bfly : ptx::Shuffle::idx;
      value = ptx::ShuffleOp::create(b, value.getType(), kind, value, lane_);
    }
    got[static_cast<size_t>(round.receive)] = value;
  }
  return permuteByThread(std::move(got), plan.receiveSelect);
}

namespace {

/// Bytes that this thread's place adds to an address, by XOR. A register's offset that shares no bit with any thread's is simply added, as
/// an immediate of the access.
struct ThreadOffset {
  Value base;     // of the room
  Value threadly; // XOR over lanes and warps
  uint32_t mask = 0;
};

} // namespace

Parts ThreadLowering::exchangeParts(Operation *op, const Parts &held, const Layout &from, const ScratchPlan &plan) {
  Value base = scratch(op);
  auto offsetOf = [&](const std::vector<uint32_t> &lanes, const std::vector<uint32_t> &warps) {
    ThreadOffset offset{base, arith::XOrIOp::create(b, xorBases(lane, lanes), xorBases(warp, warps))};
    for (const std::vector<uint32_t> *bases : {&lanes, &warps})
      for (uint32_t basis : *bases)
        offset.mask |= basis;
    return offset;
  };
  auto address = [&](const ThreadOffset &offset, uint32_t place) -> Value {
    Value threadly = offset.threadly;
    if (uint32_t shared = place & offset.mask) threadly = arith::XOrIOp::create(b, threadly, i32(shared));
    return arith::AddIOp::create(b, offset.base, threadly);
  };
  auto axisOffsets = [&](const VectorAccess &access) {
    return offsetOf(access.offsets[static_cast<size_t>(Axis::lane)], access.offsets[static_cast<size_t>(Axis::warp)]);
  };
  Type type = held.front().getType();
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;

  ptx::BarrierOp::create(b);                             // whoever used the room before has read it
  bool warpsHoldCopies = from.freeMask(Axis::warp) != 0; // a matrix instruction cannot be left out by some
  if (plan.storeMatrix && !warpsHoldCopies) {
    const MatrixPlan &matrix = *plan.storeMatrix;
    ThreadOffset offset = offsetOf({matrix.laneOffsets.begin(), matrix.laneOffsets.end()}, matrix.warpOffsets);
    for (const MatrixPlan::Instruction &instruction : matrix.instructions) {
      SmallVector<Value> words;
      for (int64_t j = 0; j < matrix.matrices; ++j) {
        auto first = held.begin() + instruction.firstRegister + j * matrix.perWord;
        words.push_back(packWord(ValueRange(ArrayRef<Value>(first, static_cast<size_t>(matrix.perWord))), b.getI32Type()));
      }
      ptx::StmatrixOp::create(b, address(offset, instruction.offset), words, matrix.transposed, instruction.offset & ~offset.mask);
    }
  } else {
    ThreadOffset offset = axisOffsets(plan.store);
    Value first = holdsFirstCopy(from);
    for (const VectorAccess::Vector &vector : plan.store.vectors) {
      SmallVector<Value> values;
      for (int64_t reg : vector.registers)
        values.push_back(held[static_cast<size_t>(reg)]);
      // A vector of bytes is one of words: an access has at most 8 values.
      while (values.size() > 8) {
        SmallVector<Value> words;
        for (size_t i = 0; i < values.size(); i += 4)
          words.push_back(packWord(ValueRange(values).slice(i, 4), b.getI32Type()));
        values = std::move(words);
      }
      ptx::StoreSharedOp::create(b, address(offset, vector.offset), values, first, vector.offset & ~offset.mask);
    }
  }
  ptx::BarrierOp::create(b);

  int64_t count = 0;
  for (const VectorAccess::Vector &vector : plan.load.vectors)
    for (int64_t reg : vector.registers)
      count = std::max(count, reg + 1);
  Parts results(static_cast<size_t>(count));
  if (plan.loadMatrix) {
    const MatrixPlan &matrix = *plan.loadMatrix;
    ThreadOffset offset = offsetOf({matrix.laneOffsets.begin(), matrix.laneOffsets.end()}, matrix.warpOffsets);
    for (const MatrixPlan::Instruction &instruction : matrix.instructions) {
      SmallVector<Type> words(static_cast<size_t>(matrix.matrices), b.getI32Type());
      auto load =
          ptx::LdmatrixOp::create(b, words, address(offset, instruction.offset), matrix.transposed, instruction.offset & ~offset.mask);
      for (int64_t j = 0; j < matrix.matrices; ++j) {
        SmallVector<Value> values = unpackWord(load.getValues()[static_cast<size_t>(j)], type);
        for (int64_t k = 0; k < matrix.perWord; ++k)
          results[static_cast<size_t>(instruction.firstRegister + j * matrix.perWord + k)] = values[static_cast<size_t>(k)];
      }
    }
    return results;
  }
  ThreadOffset offset = axisOffsets(plan.load);
  for (const VectorAccess::Vector &vector : plan.load.vectors) {
    bool inWords = bytes == 1 && vector.registers.size() > 8;
    SmallVector<Type> types(inWords ? vector.registers.size() / 4 : vector.registers.size(), inWords ? Type(b.getI32Type()) : type);
    auto load = ptx::LoadSharedOp::create(b, types, address(offset, vector.offset), Value(), vector.offset & ~offset.mask);
    SmallVector<Value> values(load.getValues());
    if (inWords) {
      values.clear();
      for (Value word : load.getValues())
        llvm::append_range(values, unpackWord(word, type));
    }
    for (auto [reg, value] : llvm::zip(vector.registers, values))
      results[static_cast<size_t>(reg)] = value;
  }
  return results;
}

Value ThreadLowering::packWord(ValueRange values, Type word) {
  if (values.size() == 1) return values[0].getType() == word ? values[0] : Value(arith::BitcastOp::create(b, word, values[0]));
  return ptx::PackOp::create(b, word, values);
}

SmallVector<Value> ThreadLowering::unpackWord(Value word, Type type) {
  int64_t count = word.getType().getIntOrFloatBitWidth() / type.getIntOrFloatBitWidth();
  if (count == 1) return {word.getType() == type ? word : Value(arith::BitcastOp::create(b, type, word))};
  auto unpacked = ptx::UnpackOp::create(b, SmallVector<Type>(static_cast<size_t>(count), type), word);
  return SmallVector<Value>(unpacked.getResults());
}

} // namespace tilewright::gpu
