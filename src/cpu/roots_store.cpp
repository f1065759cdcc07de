// Stores to memory, and tiles written to scratch.

#include "cpu/lowering.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

/// Four bodies hide the loop and the latency of a short chain; long ones have enough to do by themselves.
static int64_t unrollFor(int64_t cost) {
  return cost <= 60 ? 4 : cost <= 120 ? 2 : 1;
}

//===---------------------------------------------------------------------------------------------------------- scratch

Buffer Lowering::allocate(llvm::ArrayRef<int64_t> shape, Type element) {
  if (isa<PointerType>(element)) element = b.getI64Type();
  Buffer buffer;
  buffer.element = element;
  buffer.strides.assign(shape.size(), 1);
  int64_t count = 1;
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
    buffer.strides[d] = count;
    count *= shape[d];
  }
  buffer.base = pointerAtConstant(b, arena, arenaUsed);
  int64_t bytes = count * elementBytes(element);
  arenaUsed += (bytes + 63) / 64 * 64;
  arenaPeak = std::max(arenaPeak, arenaUsed);
  return buffer;
}

Buffer Lowering::allocateFor(Value tile) {
  return allocate(shapeOf(tile), getElementTypeOrSelf(tile));
}

Value Lowering::bufferAddress(const Buffer &buffer, const Place &place) {
  int64_t bytes = elementBytes(buffer.element);
  Value address = buffer.offset ? pointerAtConstant(b, buffer.base, buffer.offset * bytes) : buffer.base;
  // Outer dimensions first, so that all but the last addition leave the inner loop.
  for (size_t d = 0; d < place.at.size(); ++d) {
    if (int64_t(d) == place.vector || place.at[d].value == zeroIndex) continue;
    address = pointerAt(b, address, place.at[d].value, buffer.strides[d] * bytes);
  }
  if (place.vector >= 0 && place.at[place.vector].value != zeroIndex)
    address = pointerAt(b, address, place.at[place.vector].value, buffer.strides[place.vector] * bytes);
  return address;
}

void Lowering::storeChunk(const Buffer &to, Value value, const Place &place) {
  value = convertTo(value, to.element);
  Value address = bufferAddress(to, place);
  int64_t bytes = elementBytes(to.element);
  if (place.vector < 0 || to.strides[place.vector] == 1) return cpu::store(b, value, address, bytes, false);
  for (int64_t lane = 0; lane < place.lanes; ++lane)
    cpu::store(b, extractLane(b, value, lane), pointerAtConstant(b, address, lane * to.strides[place.vector] * bytes), bytes, false);
}

void Lowering::materialize(Value tile, const Buffer &to) {
  auto shape = shapeOf(tile);
  int64_t vectorDim = chooseVectorDim(shape, {tile}, {});
  int64_t chunk = chunkFor(shape, vectorDim, {tile});
  withWrapVersions({tile}, vectorDim, [&] {
    LoopSpec spec = loopsOver(shape, vectorDim, chunk);
    spec.unroll = unrollFor(analysis->cost(tile));
    applyMasks(spec, {tile}, {});
    Type element = getElementTypeOrSelf(tile);
    if (isa<PointerType>(element)) element = b.getI64Type();
    emitLoops(
        spec,
        [&](llvm::ArrayRef<Place> places) {
          // All reads before all writes: the target may be what the tile is computed from, at the same places.
          llvm::SmallVector<Value> values;
          for (const Place &place : places) {
            Lanes lanes = evaluate(tile, place);
            values.push_back(place.vector < 0 ? lanes.value : asVector(lanes, element, place));
          }
          for (auto [place, value] : llvm::zip(places, values))
            storeChunk(to, value, place);
        },
        vectorDim);
  });
}

Buffer Lowering::buffered(Value tile) {
  auto found = buffers.find(tile);
  if (found != buffers.end()) return found->second;
  Buffer buffer = allocateFor(tile);
  materialize(tile, buffer);
  return buffer;
}

//===------------------------------------------------------------------------------------------------------------ stores

/// Streaming stores skip the caches: up to 70 % faster where the output does not fit there anyway, up to twice as slow where it would have.
Value Lowering::streamingPays(StoreOp op, int64_t vectorDim, int64_t chunk) {
  auto pointer = cast<PointerType>(getElementTypeOrSelf(op.getPtr()));
  int64_t bytes = elementBytes(pointer.getPointeeType());
  Step s = vectorDim < 0 ? Step{} : analysis->step(op.getPtr(), vectorDim);
  if (s.kind != Step::constant || s.amount != bytes || s.wraps || chunk * bytes != target.vectorBytes) return {};
  auto shape = shapeOf(op.getPtr());
  Value total = constantIndex(b, bytes);
  for (int64_t size : shape)
    total = arith::MulIOp::create(b, total, constantIndex(b, size));
  for (Value count : numPrograms)
    total = arith::MulIOp::create(b, total, scalarToIndex(count));
  for (Value trips : enclosingTrips)
    total = arith::MulIOp::create(b, total, trips);
  Value pays = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, total, constantIndex(b, target.llcBytes));
  Place origin;
  origin.at.assign(shape.size(), {zeroIndex, 0});
  Value base = evaluateScalar(op.getPtr(), origin), bits = base;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (int64_t(d) == vectorDim || shape[d] == 1) continue;
    if (analysis->step(op.getPtr(), d).kind == Step::other) return {};
    Place next = origin;
    next.at[d] = {indexConstant(1), 0};
    bits = arith::OrIOp::create(b, bits, arith::SubIOp::create(b, evaluateScalar(op.getPtr(), next), base));
  }
  Value low = arith::AndIOp::create(b, bits, constantIndex(b, target.vectorBytes - 1));
  return arith::AndIOp::create(b, pays, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, low, constantIndex(b, 0)));
}

/// One tensor may come in through two arguments. A load that does not read just what the store writes at the same index must then be
/// finished before the store begins.
///   store %x + reversed, load %y + range      if %x == %y: the load goes to scratch first
Value Lowering::sameTensor(StoreOp op, llvm::SmallVectorImpl<Value> &loads) {
  Value to = rootArgument(op.getPtr()), same;
  llvm::SmallVector<std::pair<Value, bool>> work = {{op.getValue(), true}};
  if (op.getMask()) work.push_back({op.getMask(), true});
  llvm::DenseSet<std::pair<Value, int>> seen;
  llvm::DenseSet<Value> compared;
  while (!work.empty()) {
    auto [tile, direct] = work.pop_back_val();
    Operation *part = tile.getDefiningOp();
    if (!part || !isTile(tile) || buffers.contains(tile) || !seen.insert({tile, direct}).second) continue;
    bool moves = isa<BroadcastOp, ExpandDimsOp, TransOp>(part);
    for (Value operand : part->getOperands())
      work.push_back({operand, direct && !moves});
    auto load = dyn_cast<LoadOp>(part);
    if (!load) continue;
    Value from = rootArgument(load.getPtr());
    if (!from || !to || from == to || (direct && haveSameOffsets(load.getPtr(), op.getPtr()))) continue;
    if (!llvm::is_contained(loads, tile)) loads.push_back(tile);
    if (!compared.insert(from).second) continue;
    Value equal = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, pointerToInt(b, scalar(from)), pointerToInt(b, scalar(to)));
    same = same ? Value(arith::OrIOp::create(b, same, equal)) : equal;
  }
  return same;
}

void Lowering::lowerStore(StoreOp op) {
  if (!isTile(op.getPtr())) return lowerScalarStore(op);
  auto shape = shapeOf(op.getPtr());
  Value value = op.getValue(), mask = op.getMask();
  llvm::SmallVector<Value> tiles = {value};
  int64_t vectorDim = chooseVectorDim(shape, tiles, {op.getPtr()});
  auto pointer = cast<PointerType>(getElementTypeOrSelf(op.getPtr()));
  Type element = pointer.getPointeeType();
  if (isa<PointerType>(element)) element = b.getI64Type();
  int64_t bytes = elementBytes(element);
  int64_t chunk = chunkFor(shape, vectorDim, tiles);

  auto emit = [&](bool streaming) {
    LoopSpec spec = loopsOver(shape, vectorDim, chunk);
    spec.unroll = unrollFor(analysis->cost(value));
    applyMasks(spec, tiles, mask);
    emitLoops(
        spec,
        [&](llvm::ArrayRef<Place> places) {
          llvm::SmallVector<Value> values;
          for (const Place &place : places) {
            Lanes lanes = evaluate(value, place);
            values.push_back(place.vector < 0 ? lanes.value : asVector(lanes, element, place));
          }
          for (auto [place, data] : llvm::zip(places, values)) {
            Lanes to = evaluate(op.getPtr(), place);
            bool always = !mask || trueMasks.contains(mask);
            if (place.vector < 0) {
              if (always) {
                cpu::store(b, data, intToPointer(b, to.value), bytes, false);
                continue;
              }
              auto branch = scf::IfOp::create(b, TypeRange{}, evaluateScalar(mask, place), false);
              OpBuilder::InsertionGuard guard(b);
              b.setInsertionPointToStart(branch.thenBlock());
              cpu::store(b, data, intToPointer(b, to.value), bytes, false);
              continue;
            }
            Value maskVector = always ? Value() : asVector(evaluate(mask, place), b.getI1Type(), place);
            if (to.kind == Lanes::affine && !to.uniformStep && to.step == bytes) {
              Value address = pointerAt(b, intToPointer(b, to.value), place.at[place.vector].value, bytes);
              if (always)
                cpu::store(b, data, address, streaming ? target.vectorBytes : bytes, streaming);
              else
                maskedStore(b, data, address, maskVector, bytes);
              continue;
            }
            Value addresses = asVector(to, b.getI64Type(), place);
            if (!always) {
              scatter(b, data, addresses, maskVector, bytes);
              continue;
            }
            for (int64_t lane = 0; lane < place.lanes; ++lane)
              cpu::store(b, extractLane(b, data, lane), intToPointer(b, extractLane(b, addresses, lane)), bytes, false);
          }
        },
        vectorDim);
  };
  llvm::SmallVector<Value> loads;
  OpBuilder::InsertionGuard after(b);
  if (Value same = sameTensor(op, loads)) {
    auto apart = scf::IfOp::create(b, TypeRange{}, same, true);
    b.setInsertionPointToStart(apart.thenBlock());
    int64_t mark = arenaUsed;
    llvm::SmallVector<Buffer> copies;
    for (Value load : loads)
      copies.push_back(buffered(load));
    for (auto [load, copy] : llvm::zip(loads, copies))
      buffers[load] = copy;
    emit(false);
    for (Value load : loads)
      buffers.erase(load);
    arenaUsed = mark;
    b.setInsertionPointToStart(apart.elseBlock());
  }
  llvm::SmallVector<Value> wrapping = {value, op.getPtr()};
  if (mask) wrapping.push_back(mask);
  withWrapVersions(wrapping, vectorDim, [&] {
    // Two versions of a long body are not worth their code.
    Value pays = analysis->cost(value) > 200 ? Value() : streamingPays(op, vectorDim, chunk);
    if (!pays) return emit(false);
    streams = true;
    auto branch = scf::IfOp::create(b, TypeRange{}, pays, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emit(true);
    b.setInsertionPointToStart(branch.elseBlock());
    emit(false);
  });
}

void Lowering::lowerScalarStore(StoreOp op) {
  Value pointer = scalar(op.getPtr()), value = scalar(op.getValue());
  if (isa<PointerType>(op.getValue().getType())) value = pointerToInt(b, value);
  int64_t bytes = elementBytes(value.getType());
  if (!op.getMask()) return cpu::store(b, value, pointer, bytes, false);
  auto branch = scf::IfOp::create(b, TypeRange{}, scalar(op.getMask()), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  cpu::store(b, value, pointer, bytes, false);
}

bool Lowering::reads(Value tile, const Buffer &buffer, bool elsewhere) {
  std::set<std::pair<const void *, bool>> seen;
  std::function<bool(Value, bool)> visit = [&](Value part, bool moved) {
    if (!isTile(part) || !seen.insert({part.getAsOpaquePointer(), moved}).second) return false;
    if (auto found = buffers.find(part); found != buffers.end()) {
      const Buffer &from = found->second;
      if (from.base != buffer.base) return false;
      return !elsewhere || moved || from.offset != buffer.offset || from.strides != buffer.strides;
    }
    Operation *op = part.getDefiningOp();
    if (!op) return false;
    moved |= isa<TransOp, ExpandDimsOp, BroadcastOp>(op);
    return llvm::any_of(op->getOperands(), [&](Value operand) { return visit(operand, moved); });
  };
  return visit(tile, false);
}

/// A tile that its loop carries on, and nothing else reads the old value of after `position`, is computed straight into the carried buffer.
std::optional<Buffer> Lowering::carriedTarget(Value tile, Operation *position) {
  for (OpOperand &use : tile.getUses()) {
    auto yield = dyn_cast<scf::YieldOp>(use.getOwner());
    if (!yield || yield->getBlock() != position->getBlock()) continue;
    auto loop = dyn_cast<scf::ForOp>(yield->getParentOp());
    if (!loop) continue;
    Value argument = loop.getRegionIterArg(use.getOperandNumber());
    // Carried by one slot only, or the two would share a buffer.
    int64_t slots = llvm::count_if(tile.getUses(), [&](OpOperand &u) { return u.getOwner() == yield; });
    if (slots != 1 || analysis->isReadAfter(argument, position)) return std::nullopt;
    auto found = buffers.find(argument);
    if (found == buffers.end()) continue;
    for (Value operand : position->getOperands())
      if (isTile(operand) && reads(operand, found->second, !isa<DotOp>(position) || operand == cast<DotOp>(position).getC()))
        return std::nullopt;
    if (isa<TransOp>(position) && reads(position->getOperand(0), found->second, false)) return std::nullopt;
    return found->second;
  }
  return std::nullopt;
}

} // namespace tilewright::cpu
