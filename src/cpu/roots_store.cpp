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
  withConditions({tile}, vectorDim, [&] {
    LoopSpec spec = loopsOver(shape, vectorDim, chunk);
    spec.unroll = careful ? 1 : unrollFor(analysis->cost(tile));
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
  if (s.kind != Step::constant || s.amount != bytes || s.isConditional() || chunk * bytes != target.vectorBytes) return {};
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
    if (Step along = analysis->step(op.getPtr(), d); along.kind == Step::other || along.wraps) return {};
    Place next = origin;
    next.at[d] = {indexConstant(1), 0};
    bits = arith::OrIOp::create(b, bits, arith::SubIOp::create(b, evaluateScalar(op.getPtr(), next), base));
  }
  Value low = arith::AndIOp::create(b, bits, constantIndex(b, target.vectorBytes - 1));
  return arith::AndIOp::create(b, pays, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, low, constantIndex(b, 0)));
}

/// One element, or one vector of them, to where the pointers say.
void Lowering::storeAt(StoreOp op, const Place &place, Value data, bool streaming) {
  Value mask = op.getMask();
  int64_t bytes = elementBytes(cast<PointerType>(getElementTypeOrSelf(op.getPtr())).getPointeeType());
  Lanes to = evaluate(op.getPtr(), place);
  bool always = !mask || trueMasks.contains(mask);
  if (place.vector < 0) {
    if (always) return cpu::store(b, data, intToPointer(b, to.value), bytes, false);
    auto branch = scf::IfOp::create(b, TypeRange{}, evaluateScalar(mask, place), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    return cpu::store(b, data, intToPointer(b, to.value), bytes, false);
  }
  Value maskVector = always ? Value() : asVector(evaluate(mask, place), b.getI1Type(), place);
  if (to.kind == Lanes::affine && !to.uniformStep && to.step == bytes) {
    Value address = pointerAt(b, intToPointer(b, to.value), place.at[place.vector].value, bytes);
    if (always) return cpu::store(b, data, address, streaming ? target.vectorBytes : bytes, streaming);
    return maskedStore(b, data, address, maskVector, bytes);
  }
  Value addresses = asVector(to, b.getI64Type(), place);
  if (!always) return scatter(b, data, addresses, maskVector, bytes);
  for (int64_t lane = 0; lane < place.lanes; ++lane)
    cpu::store(b, extractLane(b, data, lane), intToPointer(b, extractLane(b, addresses, lane)), bytes, false);
}

void Lowering::storeTile(StoreOp op, int64_t vectorDim, int64_t chunk, bool streaming) {
  Value value = op.getValue();
  Type element = getElementTypeOrSelf(value);
  if (isa<PointerType>(element)) element = b.getI64Type();
  LoopSpec spec = loopsOver(shapeOf(op.getPtr()), vectorDim, chunk);
  spec.unroll = careful ? 1 : unrollFor(buffers.contains(value) ? 0 : analysis->cost(value));
  applyMasks(spec, {value}, op.getMask());
  emitLoops(
      spec,
      [&](llvm::ArrayRef<Place> places) {
        llvm::SmallVector<Value> values;
        for (const Place &place : places) {
          Lanes lanes = evaluate(value, place);
          values.push_back(place.vector < 0 ? lanes.value : asVector(lanes, element, place));
        }
        for (auto [place, data] : llvm::zip(places, values))
          storeAt(op, place, data, streaming);
      },
      vectorDim);
}

void Lowering::storeFast(StoreOp op, int64_t vectorDim, int64_t chunk) {
  constexpr int64_t longest = 200; // two versions of a longer body are not worth their code
  bool isLong = !buffers.contains(op.getValue()) && analysis->cost(op.getValue()) > longest;
  Value pays = isLong ? Value() : streamingPays(op, vectorDim, chunk);
  if (!pays) return storeTile(op, vectorDim, chunk, false);
  streams = true;
  auto branch = scf::IfOp::create(b, TypeRange{}, pays, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  storeTile(op, vectorDim, chunk, true);
  b.setInsertionPointToStart(branch.elseBlock());
  storeTile(op, vectorDim, chunk, false);
}

/// All loads are finished before the store begins, and no step or mask is believed that is not certain.
void Lowering::storeCarefully(StoreOp op, llvm::ArrayRef<Hazard> hazards, int64_t vectorDim, int64_t chunk) {
  int64_t mark = arenaUsed;
  careful = true;
  llvm::SmallVector<Buffer> copies;
  for (Hazard hazard : hazards)
    copies.push_back(buffered(hazard.load));
  for (auto [i, copy] : llvm::enumerate(copies))
    buffers[Hazard(hazards[i]).load] = copy;
  storeTile(op, vectorDim, chunk, false);
  for (Hazard hazard : hazards)
    buffers.erase(hazard.load);
  careful = false;
  arenaUsed = mark;
}

/// Whoever is given one tensor through two arguments, or two that overlap, gets what the program says: all of the tile is loaded before any
/// of it is stored. That is looked at when the program runs; what takes long to compute is stored in scratch first instead, which is
/// always right and costs it little.
void Lowering::lowerStore(StoreOp op) {
  if (!isTile(op.getPtr())) return lowerScalarStore(op);
  constexpr int64_t longEnough = 100; // cost from which a pass through scratch is lost in the rest
  int64_t mark = arenaUsed;
  Value value = op.getValue(), mask = op.getMask();
  llvm::SmallVector<Hazard> hazards = hazardsOf(op);
  bool throughScratch = !hazards.empty() && !buffers.contains(value) && analysis->cost(value) > longEnough;
  if (throughScratch) {
    buffers[value] = buffered(value);
    hazards = hazardsOf(op);
  }
  auto shape = shapeOf(op.getPtr());
  int64_t vectorDim = chooseVectorDim(shape, {value}, {op.getPtr()});
  int64_t chunk = chunkFor(shape, vectorDim, {value});
  llvm::SmallVector<Value> tiles = {value, op.getPtr()}, pointers = {op.getPtr()};
  if (mask) tiles.push_back(mask);
  for (Hazard hazard : hazards)
    pointers.push_back(hazard.load.getPtr());
  Value holds = both(conditions(tiles, vectorDim), both(masksExactly(mask, shape), isUndisturbed(op, hazards)));
  if (!hazards.empty()) holds = both(holds, reachesExactly(pointers));
  if (!holds) {
    storeFast(op, vectorDim, chunk);
  } else {
    auto branch = scf::IfOp::create(b, TypeRange{}, holds, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    assumeConditions = true;
    storeFast(op, vectorDim, chunk);
    assumeConditions = false;
    b.setInsertionPointToStart(branch.elseBlock());
    storeCarefully(op, hazards, vectorDim, chunk);
  }
  if (throughScratch) buffers.erase(value);
  arenaUsed = mark;
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
