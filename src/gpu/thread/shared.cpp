// Buffers in shared memory, and what fills and empties them. A buffer's value is the address of its first byte; where an element of it lies
// is said by its type, so that every access is one address of the thread plus constants:
//   ttg.load_shared %buffer : !ttg.buffer<1 x f16, #ttg.shared<128x64, ...>> -> tensor<128x64xf16, #operand>
//   -> place = XOR over the bits of lane and warp; ldmatrix.x4 [buffer + place], ldmatrix.x4 [buffer + place + 2048], ...
#include "gpu/thread/thread_lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

static SharedLayout sharedOf(Value buffer) {
  return cast<ttg::BufferType>(buffer.getType()).getLayout().layout();
}

//===------------------------------------------------------------------------------------------------------------- addresses

ThreadLowering::SharedPlaces::SharedPlaces(ThreadLowering &lowering, Value base, const Layout &layout, const SharedLayout &shared)
    : lowering(lowering), offsets(offsetBases(layout, shared)), additive(splitAdd(offsets)) {
  auto &b = lowering.b;
  inTile = arith::XOrIOp::create(b, lowering.xorBases(lowering.lane, offsets[static_cast<size_t>(Axis::lane)]),
                                 lowering.xorBases(lowering.warp, offsets[static_cast<size_t>(Axis::warp)]));
  this->base = base;
}

std::pair<Value, uint32_t> ThreadLowering::SharedPlaces::of(int64_t reg) {
  auto &b = lowering.b;
  const std::vector<uint32_t> &registers = offsets[static_cast<size_t>(Axis::reg)];
  uint32_t added = 0, turned = 0;
  for (size_t bit = 0; bit < registers.size(); ++bit)
    if (reg >> bit & 1) (additive >> bit & 1 ? added : turned) ^= registers[bit];
  Value &address = addresses[turned];
  if (!address) {
    Value place = turned ? Value(arith::XOrIOp::create(b, inTile, lowering.i32(turned))) : inTile;
    address = arith::AddIOp::create(b, base, place);
  }
  return {address, added};
}

//===--------------------------------------------------------------------------------------------------------------- buffers

LogicalResult ThreadLowering::lowerAlloc(Operation *op) {
  auto offset = op->getAttrOfType<IntegerAttr>(ttg::offsetName);
  if (!offset) return op->emitError("this buffer has no place in shared memory");
  Value base = ptx::SharedBaseOp::create(b, b.getI32Type());
  Value address = arith::AddIOp::create(b, base, i32(offset.getInt()));
  set(op->getResult(0), {address});
  auto barriers = dyn_cast<ttg::BarriersType>(op->getResult(0).getType());
  if (!barriers) return success();
  constexpr int64_t barrierBytes = 8;
  for (int64_t i = 0; i < barriers.getCount(); ++i)
    ptx::MbarrierInitOp::create(b, arith::AddIOp::create(b, address, i32(i * barrierBytes)), 1, isFirstThread());
  ptx::MbarrierInitFenceOp::create(b);
  ptx::BarrierOp::create(b);
  return success();
}

Value ThreadLowering::isFirstThread() {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, i32(0));
}

LogicalResult ThreadLowering::lowerSlot(ttg::SlotOp op) {
  int64_t step = cast<ttg::BufferType>(op.getBuffer().getType()).tileBytes();
  Value offset = arith::MulIOp::create(b, getScalar(op.getIndex()), i32(step));
  set(op.getResult(), {arith::AddIOp::create(b, getScalar(op.getBuffer()), offset)});
  return success();
}

Value ThreadLowering::barrierAt(Value barriers, Value index) {
  return arith::AddIOp::create(b, getScalar(barriers), arith::ShLIOp::create(b, getScalar(index), i32(3)));
}

/// Bits of 1 to 8 bytes as an integer, and back.
Value ThreadLowering::packed(ValueRange values) {
  int64_t bits = 0;
  for (Value value : values)
    bits += value.getType().getIntOrFloatBitWidth();
  Type type = b.getIntegerType(static_cast<unsigned>(bits));
  if (values.size() > 1) return ptx::PackOp::create(b, type, values);
  return values[0].getType() == type ? values[0] : Value(arith::BitcastOp::create(b, type, values[0]));
}

Parts ThreadLowering::unpacked(Value word, Type element) {
  int64_t count = word.getType().getIntOrFloatBitWidth() / element.getIntOrFloatBitWidth();
  if (count > 1) {
    SmallVector<Type> types(static_cast<size_t>(count), element);
    return Parts(ptx::UnpackOp::create(b, types, word).getResults());
  }
  return {word.getType() == element ? word : Value(arith::BitcastOp::create(b, element, word))};
}

Parts ThreadLowering::loadTile(Value base, const Layout &layout, const SharedLayout &shared, Type type) {
  Type inMemory = memoryType(type);
  SharedPlaces places(*this, base, layout, shared);
  Parts results(static_cast<size_t>(layout.registersPerThread()), Value());
  std::optional<MatrixPlan> matrix = ldmatrixPlan(layout, shared);
  if (matrix && matrix->matrices == 4 && memoryType(type) == type) {
    Value place = arith::XOrIOp::create(b, xorBases(lane, {matrix->laneOffsets.begin(), matrix->laneOffsets.end()}),
                                        xorBases(warp, matrix->warpOffsets));
    for (const MatrixPlan::Instruction &instruction : matrix->instructions) {
      Value address = arith::AddIOp::create(b, base, arith::XOrIOp::create(b, place, i32(instruction.offset)));
      SmallVector<Type> words(static_cast<size_t>(matrix->matrices), b.getI32Type());
      auto load = ptx::LdmatrixOp::create(b, words, address, matrix->transposed);
      for (auto [index, word] : llvm::enumerate(load.getValues()))
        for (auto [at, value] : llvm::enumerate(unpacked(word, type)))
          results[static_cast<size_t>(instruction.firstRegister) + index * static_cast<size_t>(matrix->perWord) + at] = value;
    }
    return results;
  }
  VectorAccess access = vectorAccess(layout, shared);
  for (const VectorAccess::Vector &vector : access.vectors) {
    if (results[static_cast<size_t>(vector.registers[0])]) continue;
    auto [address, offset] = places.of(vector.registers[0]);
    // At most 8 values are loaded at once: more are packed in words.
    size_t count = vector.registers.size();
    size_t perWord = count > 8 ? count / 4 : 1;
    Type word = perWord > 1 ? Type(b.getI32Type()) : inMemory;
    SmallVector<Type> types(count / perWord, word);
    auto load = ptx::LoadSharedOp::create(b, types, address, Value(), static_cast<uint32_t>(offset));
    Parts values;
    for (Value value : load.getValues()) {
      if (perWord == 1)
        values.push_back(value);
      else
        llvm::append_range(values, unpacked(value, inMemory));
    }
    for (auto [reg, value] : llvm::zip(vector.registers, values))
      results[static_cast<size_t>(reg)] = fromMemory(value, type);
  }
  return results;
}

void ThreadLowering::storeTile(Value base, const Layout &layout, const SharedLayout &shared, ValueRange held, bool stmatrix) {
  std::optional<MatrixPlan> matrix;
  if (stmatrix && !layout.freeMask(Axis::lane) && !layout.freeMask(Axis::warp)) matrix = stmatrixPlan(layout, shared);
  Type type = held.front().getType();
  if (matrix && matrix->matrices == 4 && memoryType(type) == type) {
    Value place = arith::XOrIOp::create(b, xorBases(lane, {matrix->laneOffsets.begin(), matrix->laneOffsets.end()}),
                                        xorBases(warp, matrix->warpOffsets));
    for (const MatrixPlan::Instruction &instruction : matrix->instructions) {
      Value address = arith::AddIOp::create(b, base, arith::XOrIOp::create(b, place, i32(instruction.offset)));
      SmallVector<Value> words;
      for (int64_t i = 0; i < matrix->matrices; ++i)
        words.push_back(
            packed(held.slice(static_cast<size_t>(instruction.firstRegister + i * matrix->perWord), static_cast<size_t>(matrix->perWord))));
      ptx::StmatrixOp::create(b, address, words, matrix->transposed);
    }
    return;
  }
  SharedPlaces places(*this, base, layout, shared);
  Value first = holdsFirstCopy(layout);
  VectorAccess access = vectorAccess(layout, shared);
  llvm::DenseSet<int64_t> stored;
  for (const VectorAccess::Vector &vector : access.vectors) {
    if (stored.contains(vector.registers[0])) continue;
    SmallVector<Value> values;
    for (int64_t reg : vector.registers) {
      values.push_back(toMemory(held[static_cast<size_t>(reg)]));
      stored.insert(reg);
    }
    if (values.size() > 8) {
      SmallVector<Value> words;
      size_t perWord = values.size() / 4;
      for (size_t i = 0; i < values.size(); i += perWord)
        words.push_back(packed(ValueRange(values).slice(i, perWord)));
      values = words;
    }
    auto [address, offset] = places.of(vector.registers[0]);
    ptx::StoreSharedOp::create(b, address, values, first, static_cast<uint32_t>(offset));
  }
}

LogicalResult ThreadLowering::lowerLoadShared(ttg::LoadSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  set(op.getResult(),
      loadTile(getScalar(op.getBuffer()), ttg::layoutOf(tile), sharedOf(op.getBuffer()), scalarType(tile.getElementType())));
  return success();
}

LogicalResult ThreadLowering::lowerStoreShared(ttg::StoreSharedOp op) {
  storeTile(getScalar(op.getBuffer()), ttg::layoutOf(op.getSrc().getType()), sharedOf(op.getBuffer()), get(op.getSrc()), target.stmatrix);
  return success();
}

//===----------------------------------------------------------------------------------------------------- asynchronous copies

LogicalResult ThreadLowering::lowerCopyAsync(ttg::CopyAsyncOp op) {
  Layout layout = ttg::layoutOf(op.getPointers().getType());
  SharedLayout shared = sharedOf(op.getBuffer());
  VectorAccess access = vectorAccess(layout, shared);
  // As wide as both memories have neighbours: pointers' in `ttg.vector` elements.
  auto width = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
  int64_t elements = std::min<int64_t>(width ? width.getInt() : 1, access.bytes / shared.elementBytes());
  int64_t bytes = elements * shared.elementBytes();
  if (bytes < 4) return op.emitError("an asynchronous copy moves 4 bytes at least");
  SharedPlaces places(*this, getScalar(op.getBuffer()), layout, shared);
  const Parts &pointers = get(op.getPointers());
  Value first = holdsFirstCopy(layout);
  ptx::Eviction evict = evictionOf(static_cast<tt::EvictionPolicy>(op.getEvict()));
  for (const VectorAccess::Vector &vector : access.vectors)
    for (size_t i = 0; i < vector.registers.size(); i += static_cast<size_t>(elements)) {
      size_t reg = static_cast<size_t>(vector.registers[i]);
      auto [address, offset] = places.of(vector.registers[i]);
      Value mask = op.getMask() ? get(op.getMask())[reg] : Value();
      // Copies would write the same bytes again; a false mask writes zeros, so that it cannot keep them off.
      if (first) return op.emitError("a tile that several threads hold cannot be copied asynchronously");
      ptx::CopyAsyncOp::create(b, address, pointers[reg], mask, static_cast<uint32_t>(bytes), static_cast<uint32_t>(offset), evict);
    }
  return success();
}

/// The boxes of a tile: one a block of columns. `emit` gets a box's coordinates and the address of its bytes.
LogicalResult ThreadLowering::forBoxes(Operation *op, Value buffer, ValueRange coordinates,
                                       llvm::function_ref<void(ValueRange, Value)> emit) {
  std::optional<TmaBox> box = tmaBox(sharedOf(buffer));
  if (!box) return op->emitError("the copy engine cannot fill this buffer");
  Value base = getScalar(buffer);
  for (int64_t i = 0; i < box->copies; ++i) {
    SmallVector<Value> at;
    for (Value coordinate : coordinates)
      at.push_back(getScalar(coordinate));
    if (i) at[0] = arith::AddIOp::create(b, at[0], i32(i * box->box[0]));
    emit(at, i ? Value(arith::AddIOp::create(b, base, i32(i * box->bytes))) : base);
  }
  return success();
}

LogicalResult ThreadLowering::lowerTmaLoad(ttg::TmaLoadOp op) {
  Value barrier = barrierAt(op.getBarriers(), op.getIndex());
  Value predicate = isFirstThread();
  if (op.getPredicate()) predicate = arith::AndIOp::create(b, predicate, getScalar(op.getPredicate()));
  ptx::Eviction evict = evictionOf(static_cast<tt::EvictionPolicy>(op.getEvict()));
  return forBoxes(op, op.getBuffer(), op.getCoordinates(), [&](ValueRange at, Value address) {
    ptx::TmaLoadOp::create(b, getScalar(op.getMap()), at, address, barrier, predicate, evict, IntegerAttr());
  });
}

LogicalResult ThreadLowering::lowerTmaStore(ttg::TmaStoreOp op) {
  Value predicate = isFirstThread();
  LogicalResult done = forBoxes(op, op.getBuffer(), op.getCoordinates(), [&](ValueRange at, Value address) {
    ptx::TmaStoreOp::create(b, getScalar(op.getMap()), at, address, predicate, ptx::ReduxAttr());
  });
  if (succeeded(done)) ptx::TmaCommitOp::create(b); // of the other threads: empty groups
  return done;
}

LogicalResult ThreadLowering::lowerBarrierExpect(ttg::BarrierExpectOp op) {
  Value predicate = isFirstThread();
  if (op.getPredicate()) predicate = arith::AndIOp::create(b, predicate, getScalar(op.getPredicate()));
  ptx::MbarrierExpectOp::create(b, barrierAt(op.getBarriers(), op.getIndex()), op.getBytes(), predicate);
  return success();
}

std::optional<LogicalResult> ThreadLowering::lowerShared(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<LogicalResult>>(op)
      .Case<ttg::AllocOp, ttg::AllocBarriersOp>([&](auto o) { return lowerAlloc(o); })
      .Case<ttg::SlotOp>([&](auto o) { return lowerSlot(o); })
      .Case<ttg::ViewOp>([&](auto o) {
        set(o.getResult(), {getScalar(o.getBuffer())});
        return success();
      })
      .Case<ttg::LoadSharedOp>([&](auto o) { return lowerLoadShared(o); })
      .Case<ttg::StoreSharedOp>([&](auto o) { return lowerStoreShared(o); })
      .Case<ttg::SyncOp>([&](auto) {
        ptx::BarrierOp::create(b);
        return success();
      })
      .Case<ttg::FenceAsyncOp>([&](auto) {
        if (target.tma) ptx::FenceAsyncOp::create(b); // older ones have no engine that it could matter to
        return success();
      })
      .Case<ttg::BarrierExpectOp>([&](auto o) { return lowerBarrierExpect(o); })
      .Case<ttg::BarrierWaitOp>([&](auto o) {
        ptx::MbarrierWaitOp::create(b, barrierAt(o.getBarriers(), o.getIndex()), getScalar(o.getParity()));
        return success();
      })
      .Case<ttg::CopyAsyncOp>([&](auto o) { return lowerCopyAsync(o); })
      .Case<ttg::CopyCommitOp>([&](auto) {
        ptx::CopyCommitOp::create(b);
        return success();
      })
      .Case<ttg::CopyWaitOp>([&](auto o) {
        ptx::CopyWaitOp::create(b, o.getPending());
        return success();
      })
      .Case<ttg::TmaLoadOp>([&](auto o) { return lowerTmaLoad(o); })
      .Case<ttg::TmaStoreOp>([&](auto o) { return lowerTmaStore(o); })
      .Case<ttg::TmaStoreWaitOp>([&](auto o) {
        ptx::TmaWaitOp::create(b, o.getPending(), /*read=*/true);
        return success();
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace tilewright::gpu
