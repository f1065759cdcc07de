// The meaning of operations with side effects: loads, stores, atomics, block pointers and descriptors, print and assert. All accesses go
// through readAt, writeAt and atomicAt, which first check the address and, with race checks, the history of the bytes. A bad access is an
// error that names the operation, not a crash.
#include "ir/interpret/program.h"
#include "support/mapped.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace tilewright::interp {
namespace {

/// Returns `(  7, 12)`: each number is as wide as the largest one of its dimension, as in upstream's output.
std::string indexText(Type type, int64_t element) {
  auto tile = dyn_cast<RankedTensorType>(type);
  SmallVector<std::string> numbers;
  for (int64_t dim = tile ? tile.getRank() - 1 : -1; dim >= 0; --dim) {
    int64_t size = tile.getDimSize(dim);
    std::string number = std::to_string(element % size);
    int64_t width = std::ceil(std::log10(double(size)));
    if (int64_t(number.size()) < width) number.insert(0, width - number.size(), ' ');
    numbers.push_back(number);
    element /= size;
  }
  std::reverse(numbers.begin(), numbers.end());
  return "(" + llvm::join(numbers, ", ") + ")";
}

// ---- addresses

/// An access of one element: the tagged pointer and, for messages, the element's index in a tile of `type`.
struct Element {
  Operation *op;
  Type type;
  int64_t number;
  uint64_t pointer;
  Format format;
};

/// Returns the memory range of the argument from which the pointer was computed, or null.
const MemoryRange *rangeOf(const Program &program, uint64_t pointer) {
  uint64_t tag = pointer >> addressBits;
  bool isTagged = program.options.checkBounds && tag != 0 && tag <= program.options.memory.size();
  return isTagged ? &program.options.memory[tag - 1] : nullptr;
}

std::string accessText(const Program &program, const Element &at) {
  std::string text = (at.op->getName().getStringRef() + " of " + Twine(at.format.bytes) + " bytes at 0x" +
                      llvm::utohexstr(program.launch.addressOf(at.pointer), true))
                         .str();
  if (isa<RankedTensorType>(at.type)) text += " by element " + indexText(at.type, at.number);
  return text;
}

bool contains(const MemoryRange &range, uint64_t address, int64_t bytes) {
  return !range.isKnown || (address >= range.begin && address < range.end && uint64_t(bytes) <= range.end - address);
}

/// Describes an `address` outside of `range`: `8 bytes after the end of 'x'`.
std::string distanceText(const MemoryRange &range, uint64_t address) {
  std::string name = "'" + range.name + "'";
  if (address < range.begin) return std::to_string(range.begin - address) + " bytes before the start of " + name;
  if (address < range.end) return "across the end of " + name;
  return std::to_string(address - range.end) + " bytes after the end of " + name;
}

std::string outsideText(const Program &program, const Element &at) {
  uint64_t address = program.launch.addressOf(at.pointer);
  ArrayRef<MemoryRange> memory = program.options.memory;
  auto inside = llvm::find_if(memory, [&](const MemoryRange &range) { return range.isKnown && contains(range, address, at.format.bytes); });
  if (const MemoryRange *range = rangeOf(program, at.pointer)) {
    std::string text = distanceText(*range, address);
    return inside == memory.end() ? text : text + ", where '" + inside->name + "' is";
  }
  auto distance = [&](const MemoryRange &range) {
    return address < range.begin ? range.begin - address : address < range.end ? 0 : address - range.end;
  };
  auto nearest = llvm::min_element(memory, [&](const MemoryRange &a, const MemoryRange &b) { return distance(a) < distance(b); });
  return nearest == memory.end() ? "the kernel was given no memory" : distanceText(*nearest, address);
}

/// Returns the address if the program may access it. The common case, a valid address, must not build any text.
FailureOr<uint64_t> checkedAddress(Program &program, const Element &at) {
  constexpr uint64_t firstPage = 4096; // never mapped: a null pointer, possibly with a small offset
  uint64_t address = program.launch.addressOf(at.pointer);
  if (address < firstPage) return program.fail(at.op, accessText(program, at) + ": a null pointer");
  if (!program.options.checkBounds) return address;
  auto holds = [&](const MemoryRange &range) { return contains(range, address, at.format.bytes); };
  const MemoryRange *range = rangeOf(program, at.pointer);
  if (range ? holds(*range) : llvm::any_of(program.options.memory, holds)) return address;
  // A pointer that was loaded, or converted from an integer, may point to a tensor that is not an argument, for example in a grouped GEMM.
  if (!range && program.options.tagsArguments && isMapped(address, at.format.bytes)) return address;
  return program.fail(at.op, accessText(program, at) + " is out of bounds: " + outsideText(program, at));
}

// ---- races

LogicalResult reportRace(Program &program, const Element &at, const AccessHistory::Clash &clash) {
  std::array<int64_t, 3> grid = program.grid;
  int64_t other = clash.program;
  const MemoryRange *range = rangeOf(program, at.pointer);
  return program.fail(at.op, "race: " + accessText(program, at) + (range ? " in '" + range->name + "'" : "") + ": program (" +
                                 Twine(other % grid[0]) + ", " + Twine(other / grid[0] % grid[1]) + ", " +
                                 Twine(other / (grid[0] * grid[1])) + ") has " + (clash.wrote ? "stored" : "loaded") + " there" +
                                 (clash.atomic ? " by an atomic" : "") + " at " + locationText(program.launch.operations[clash.where]) +
                                 ", and no atomics order the two");
}

/// Records the access if races are checked. `bits`: the stored value.
LogicalResult noteAccess(Program &program, const Element &at, uint64_t address, bool writes, bool atomic, uint64_t bits) {
  Launch &launch = program.launch;
  if (!launch.history) return success();
  AccessHistory::Access access{address, at.format.bytes, writes, atomic, launch.numberOf(at.op), launch.stores};
  std::optional<AccessHistory::Clash> clash = launch.history->note(uint32_t(program.number), access);
  if (!clash) return success();
  if (!clash->sameStore) return reportRace(program, at, *clash);
  if (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(at.op)) return success(); // elements of one program, which the CTA scope orders
  if (std::memcmp(reinterpret_cast<const void *>(address), &bits, at.format.bytes) == 0) return success();
  return program.fail(at.op,
                      "race: " + accessText(program, at) + ": another element of this store writes another value to the same address");
}

// ---- single elements

uint64_t readMemory(uint64_t address, const Format &format) {
  uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void *>(address), format.bytes); // little-endian hosts only, as the whole compiler
  return format.bits == 1 ? bits != 0 : bits & format.mask();
}

FailureOr<uint64_t> readAt(Program &program, const Element &at) {
  FailureOr<uint64_t> address = checkedAddress(program, at);
  auto load = dyn_cast<tt::LoadOp>(at.op);
  bool atomic = load && load.getIsVolatile(); // as in PTX: a relaxed load, which orders nothing
  if (failed(address) || failed(noteAccess(program, at, *address, false, atomic, 0))) return failure();
  return readMemory(*address, at.format);
}

LogicalResult writeAt(Program &program, const Element &at, uint64_t bits) {
  FailureOr<uint64_t> address = checkedAddress(program, at);
  if (isa<tt::PointerType>(getElementTypeOrSelf(at.type))) bits = program.launch.addressOf(bits);
  if (failed(address) || failed(noteAccess(program, at, *address, true, false, bits))) return failure();
  void *target = reinterpret_cast<void *>(*address);
  program.launch.changes += std::memcmp(target, &bits, at.format.bytes) != 0;
  std::memcpy(target, &bits, at.format.bytes);
  return success();
}

uint64_t padding(const Format &format, bool nan) {
  return nan && format.kind != Format::integer ? encodeFloat(format, NAN) : 0;
}

/// Calls visit(element, pointer) for the elements of a block in row-major order, without a pointer for elements outside the tensor along a
/// checked dimension. `start` is added to the block's own offsets. Stops if visit fails.
template <typename F>
LogicalResult eachBlockElement(const Launch &launch, const MemoryBlock &block, ArrayRef<int64_t> tileShape, ArrayRef<int64_t> start,
                               ArrayRef<bool> checked, int64_t bytes, F visit) {
  int64_t rank = tileShape.size(), count = 1;
  for (int64_t size : tileShape)
    count *= size;
  SmallVector<int64_t, 4> index(rank, 0);
  for (int64_t element = 0; element < count; ++element) {
    uint64_t offset = 0; // wraps, as addresses do
    bool inside = true;
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t position = start[dim] + index[dim];
      if (checked[dim] && (position < 0 || position >= block.shape[dim])) inside = false;
      offset += uint64_t(position) * uint64_t(block.strides[dim]);
    }
    if (failed(visit(element, inside ? std::optional<uint64_t>(launch.moved(block.base, offset * bytes)) : std::nullopt))) return failure();
    for (int64_t dim = rank - 1; dim >= 0 && ++index[dim] == tileShape[dim]; --dim)
      index[dim] = 0;
  }
  return success();
}

SmallVector<bool, 4> checkedDims(ArrayRef<int32_t> dims, int64_t rank) {
  SmallVector<bool, 4> checked(rank, false);
  for (int32_t dim : dims)
    if (dim >= 0 && dim < rank) checked[dim] = true;
  return checked;
}

FailureOr<Tile> loadBlock(Program &program, Operation *op, const MemoryBlock &block, ArrayRef<int64_t> start, RankedTensorType tile,
                          ArrayRef<bool> checked, bool padWithNan) {
  Format format = formatOf(tile);
  Tile result(tile.getNumElements(), padding(format, padWithNan));
  LogicalResult walked = eachBlockElement(program.launch, block, tile.getShape(), start, checked, format.bytes,
                                          [&](int64_t element, std::optional<uint64_t> pointer) {
                                            if (!pointer) return success();
                                            FailureOr<uint64_t> bits = readAt(program, {op, tile, element, *pointer, format});
                                            if (succeeded(bits)) result.elements[element] = *bits;
                                            return LogicalResult(bits);
                                          });
  if (failed(walked)) return failure();
  return result;
}

LogicalResult storeBlock(Program &program, Operation *op, const MemoryBlock &block, ArrayRef<int64_t> start, RankedTensorType tile,
                         ArrayRef<bool> checked, const Tile &value) {
  Format format = formatOf(tile);
  ++program.launch.stores;
  return eachBlockElement(program.launch, block, tile.getShape(), start, checked, format.bytes,
                          [&](int64_t element, std::optional<uint64_t> pointer) {
                            return pointer ? writeAt(program, {op, tile, element, *pointer, format}, value.elements[element]) : success();
                          });
}

bool isOn(const Tile *mask, int64_t i) {
  return !mask || mask->elements[mask->size() == 1 ? 0 : i];
}

LogicalResult load(Program &program, Operation *op) {
  auto loadOp = cast<tt::LoadOp>(op);
  const Tile &pointer = program.get(loadOp.getPtr());
  if (pointer.block) {
    auto tile = cast<RankedTensorType>(op->getResult(0).getType());
    bool nan = loadOp.getPadding() == tt::PaddingOption::PAD_NAN;
    FailureOr<Tile> result =
        loadBlock(program, op, *pointer.block, pointer.block->offsets, tile, checkedDims(loadOp.getBoundaryCheck(), tile.getRank()), nan);
    if (failed(result)) return failure();
    program.set(op->getResult(0), std::move(*result));
    return success();
  }
  const Tile *mask = loadOp.getMask() ? &program.get(loadOp.getMask()) : nullptr;
  const Tile *other = loadOp.getOther() ? &program.get(loadOp.getOther()) : nullptr;
  Type type = op->getResult(0).getType();
  Format format = formatOf(type);
  Tile result(pointer.size(), 0);
  for (int64_t i = 0; i < result.size(); ++i) {
    if (!isOn(mask, i)) {
      if (other) result.elements[i] = other->elements[other->size() == 1 ? 0 : i];
      continue;
    }
    FailureOr<uint64_t> bits = readAt(program, {op, type, i, pointer.elements[i], format});
    if (failed(bits)) return failure();
    result.elements[i] = *bits;
  }
  if (mask && !other && program.options.checkBounds) markUndefined(result, *mask, op);
  program.set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult store(Program &program, Operation *op) {
  auto storeOp = cast<tt::StoreOp>(op);
  const Tile &pointer = program.get(storeOp.getPtr()), &value = program.get(storeOp.getValue());
  Type type = storeOp.getValue().getType();
  if (pointer.block) {
    auto tile = cast<RankedTensorType>(type);
    return storeBlock(program, op, *pointer.block, pointer.block->offsets, tile, checkedDims(storeOp.getBoundaryCheck(), tile.getRank()),
                      value);
  }
  const Tile *mask = storeOp.getMask() ? &program.get(storeOp.getMask()) : nullptr;
  Format format = formatOf(type);
  ++program.launch.stores;
  for (int64_t i = 0; i < pointer.size(); ++i)
    if (isOn(mask, i) && failed(writeAt(program, {op, type, i, pointer.elements[i], format}, value.elements[i]))) return failure();
  return success();
}

// ---- atomics: all are sequentially consistent compare-and-swap loops, which is at least the required order

template <typename Word, typename F> uint64_t atomicUpdate(uint64_t address, F update) {
  Word *word = reinterpret_cast<Word *>(address);
  Word before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &before, Word(update(uint64_t(before))), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return before;
}

/// The memory order of an atomic. With CTA scope, it does not order accesses of other programs.
struct Order {
  bool acquires = false, releases = false, forAll = true;
  Order(tt::MemSemantic sem, tt::MemSyncScope scope)
      : acquires(sem == tt::MemSemantic::ACQUIRE || sem == tt::MemSemantic::ACQUIRE_RELEASE),
        releases(sem == tt::MemSemantic::RELEASE || sem == tt::MemSemantic::ACQUIRE_RELEASE), forAll(scope != tt::MemSyncScope::CTA) {}
};

template <typename F> FailureOr<uint64_t> atomicAt(Program &program, const Element &at, Order order, F update) {
  FailureOr<uint64_t> address = checkedAddress(program, at);
  if (failed(address)) return failure();
  if (*address % at.format.bytes) return program.fail(at.op, "the address of an atomic operation is not a multiple of its element's size");
  std::optional<AccessHistory> &history = program.launch.history;
  if (history && order.acquires && order.forAll) history->acquire(uint32_t(program.number), *address);
  uint64_t before = 0;
  switch (at.format.bytes) {
  case 1: before = atomicUpdate<uint8_t>(*address, update); break;
  case 2: before = atomicUpdate<uint16_t>(*address, update); break;
  case 4: before = atomicUpdate<uint32_t>(*address, update); break;
  default: before = atomicUpdate<uint64_t>(*address, update); break;
  }
  bool changed = readMemory(*address, at.format) != before; // all programs that share memory run on this thread
  program.launch.changes += changed;
  if (failed(noteAccess(program, at, *address, changed, order.forAll, 0))) return failure();
  if (history && order.releases && order.forAll) history->release(uint32_t(program.number), *address);
  return before;
}

uint64_t combine(tt::RMWOp kind, const Format &format, uint64_t before, uint64_t value) {
  auto asSigned = [&](uint64_t bits) { return signExtend(bits, format.bits); };
  bool isFloat = format.kind != Format::integer;
  auto asFloat = [&](uint64_t bits) { return decodeFloat(format, bits); };
  auto lower = [&] { return isFloat ? asFloat(value) < asFloat(before) : asSigned(value) < asSigned(before); };
  auto higher = [&] { return isFloat ? asFloat(value) > asFloat(before) : asSigned(value) > asSigned(before); };
  switch (kind) {
  case tt::RMWOp::AND: return before & value;
  case tt::RMWOp::OR: return before | value;
  case tt::RMWOp::XOR: return before ^ value;
  case tt::RMWOp::ADD: return (before + value) & format.mask();
  case tt::RMWOp::FADD: return encodeFloat(format, asFloat(before) + asFloat(value));
  case tt::RMWOp::MAX: return higher() ? value : before;
  case tt::RMWOp::MIN: return lower() ? value : before;
  case tt::RMWOp::UMAX: return std::max(before, value);
  case tt::RMWOp::UMIN: return std::min(before, value);
  case tt::RMWOp::XCHG: return value;
  }
  return before;
}

LogicalResult atomicRmw(Program &program, Operation *op) {
  auto rmw = cast<tt::AtomicRMWOp>(op);
  const Tile &pointer = program.get(rmw.getPtr()), &value = program.get(rmw.getVal());
  const Tile *mask = rmw.getMask() ? &program.get(rmw.getMask()) : nullptr;
  Type type = rmw.getVal().getType();
  Format format = formatOf(type);
  tt::RMWOp kind = rmw.getAtomicRmwOp();
  Order order(rmw.getSem(), rmw.getScope());
  ++program.launch.stores;
  Tile result(pointer.size(), 0);
  for (int64_t i = 0; i < result.size(); ++i) {
    if (!isOn(mask, i)) continue;
    FailureOr<uint64_t> before = atomicAt(program, {op, type, i, pointer.elements[i], format}, order,
                                          [&](uint64_t old) { return combine(kind, format, old, value.elements[i]); });
    if (failed(before)) return failure();
    result.elements[i] = *before;
  }
  program.set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult atomicCas(Program &program, Operation *op) {
  auto cas = cast<tt::AtomicCASOp>(op);
  const Tile &pointer = program.get(cas.getPtr()), &expected = program.get(cas.getCmp()), &value = program.get(cas.getVal());
  Type type = cas.getVal().getType();
  Format format = formatOf(type);
  Order order(cas.getSem(), cas.getScope());
  ++program.launch.stores;
  Tile result(pointer.size(), 0);
  for (int64_t i = 0; i < result.size(); ++i) {
    FailureOr<uint64_t> before = atomicAt(program, {op, type, i, pointer.elements[i], format}, order,
                                          [&](uint64_t old) { return old == expected.elements[i] ? value.elements[i] : old; });
    if (failed(before)) return failure();
    result.elements[i] = *before;
  }
  program.set(op->getResult(0), std::move(result));
  return success();
}

// ---- block pointers and descriptors

SmallVector<int64_t, 4> integers(Program &program, ValueRange values) {
  SmallVector<int64_t, 4> result;
  for (Value value : values)
    result.push_back(signExtend(program.get(value).scalar(), formatOf(value.getType()).bits));
  return result;
}

LogicalResult makeBlock(Program &program, Value base, ValueRange shape, ValueRange strides, SmallVector<int64_t, 4> offsets,
                        bool padWithNan, Value result) {
  auto block = std::make_shared<MemoryBlock>();
  block->base = program.get(base).scalar();
  block->shape = integers(program, shape);
  block->strides = integers(program, strides);
  block->offsets = std::move(offsets);
  block->padWithNan = padWithNan;
  Tile tile;
  tile.block = std::move(block);
  program.set(result, std::move(tile));
  return success();
}

LogicalResult makeTensorPtr(Program &program, Operation *op) {
  auto make = cast<tt::MakeTensorPtrOp>(op);
  return makeBlock(program, make.getBase(), make.getShape(), make.getStrides(), integers(program, make.getOffsets()), false,
                   make.getResult());
}

LogicalResult makeTensorDescriptor(Program &program, Operation *op) {
  auto make = cast<tt::MakeTensorDescOp>(op);
  bool nan = make.getPadding() == tt::PaddingOption::PAD_NAN;
  return makeBlock(program, make.getBase(), make.getShape(), make.getStrides(), SmallVector<int64_t, 4>(make.getShape().size(), 0), nan,
                   make.getResult());
}

LogicalResult advance(Program &program, Operation *op) {
  auto advanceOp = cast<tt::AdvanceOp>(op);
  auto block = std::make_shared<MemoryBlock>(*program.get(advanceOp.getPtr()).block);
  for (auto [offset, step] : llvm::zip_equal(block->offsets, integers(program, advanceOp.getOffsets())))
    offset += step;
  Tile tile;
  tile.block = std::move(block);
  program.set(op->getResult(0), std::move(tile));
  return success();
}

// Returns the block shape of the descriptor. A loaded or stored tile may omit dimensions of size 1.
RankedTensorType blockOf(Type descriptor) {
  return cast<tt::TensorDescType>(descriptor).getBlockType();
}

LogicalResult descriptorLoad(Program &program, Operation *op) {
  auto loadOp = cast<tt::DescriptorLoadOp>(op);
  const MemoryBlock &block = *program.get(loadOp.getDesc()).block;
  RankedTensorType tile = blockOf(loadOp.getDesc().getType());
  FailureOr<Tile> result = loadBlock(program, op, block, integers(program, loadOp.getIndices()), tile,
                                     SmallVector<bool, 4>(tile.getRank(), true), block.padWithNan);
  if (failed(result)) return failure();
  program.set(op->getResult(0), std::move(*result));
  return success();
}

LogicalResult descriptorStore(Program &program, Operation *op) {
  auto storeOp = cast<tt::DescriptorStoreOp>(op);
  RankedTensorType tile = blockOf(storeOp.getDesc().getType());
  return storeBlock(program, op, *program.get(storeOp.getDesc()).block, integers(program, storeOp.getIndices()), tile,
                    SmallVector<bool, 4>(tile.getRank(), true), program.get(storeOp.getSrc()));
}

LogicalResult descriptorReduce(Program &program, Operation *op) {
  auto reduce = cast<tt::DescriptorReduceOp>(op);
  RankedTensorType tile = blockOf(reduce.getDesc().getType());
  Format format = formatOf(tile);
  bool isFloat = format.kind != Format::integer;
  bool isUnsigned = cast<tt::TensorDescType>(reduce.getDesc().getType()).hasUnsignedElements();
  tt::RMWOp kind;
  switch (reduce.getKind()) {
  case tt::DescriptorReduceKind::ADD: kind = isFloat ? tt::RMWOp::FADD : tt::RMWOp::ADD; break;
  case tt::DescriptorReduceKind::MIN: kind = isUnsigned ? tt::RMWOp::UMIN : tt::RMWOp::MIN; break;
  case tt::DescriptorReduceKind::MAX: kind = isUnsigned ? tt::RMWOp::UMAX : tt::RMWOp::MAX; break;
  case tt::DescriptorReduceKind::AND: kind = tt::RMWOp::AND; break;
  case tt::DescriptorReduceKind::OR: kind = tt::RMWOp::OR; break;
  case tt::DescriptorReduceKind::XOR: kind = tt::RMWOp::XOR; break;
  default: return program.giveUp(op, "the interpreter does not support this kind of tt.descriptor_reduce");
  }
  const Tile &value = program.get(reduce.getSrc());
  ++program.launch.stores;
  return eachBlockElement(program.launch, *program.get(reduce.getDesc()).block, tile.getShape(), integers(program, reduce.getIndices()),
                          SmallVector<bool, 4>(tile.getRank(), true), format.bytes, [&](int64_t element, std::optional<uint64_t> pointer) {
                            if (!pointer) return success();
                            return LogicalResult(atomicAt(
                                program, {op, tile, element, *pointer, format}, Order(tt::MemSemantic::RELAXED, tt::MemSyncScope::GPU),
                                [&](uint64_t old) { return combine(kind, format, old, value.elements[element]); }));
                          });
}

/// Calls visit(element, address or nothing) for the elements of the rows of a 2-D tensor that a tile of row indices selects.
template <typename F>
LogicalResult eachElementOfRows(Program &program, const MemoryBlock &block, Value rows, Value column, RankedTensorType tile, F visit) {
  int64_t columns = tile.getDimSize(1), bytes = formatOf(tile).bytes;
  int64_t firstColumn = signExtend(program.get(column).scalar(), 32), rowBits = formatOf(rows.getType()).bits;
  const Tile &rowNumbers = program.get(rows);
  for (int64_t i = 0; i < rowNumbers.size(); ++i) {
    MemoryBlock row = block;
    row.offsets = {signExtend(rowNumbers.elements[i], rowBits), firstColumn};
    auto inRow = [&](int64_t element, std::optional<uint64_t> pointer) { return visit(i * columns + element, pointer); };
    if (failed(eachBlockElement(program.launch, row, {1, columns}, row.offsets, {true, true}, bytes, inRow))) return failure();
  }
  return success();
}

LogicalResult descriptorGather(Program &program, Operation *op) {
  auto gather = cast<tt::DescriptorGatherOp>(op);
  auto tile = cast<RankedTensorType>(op->getResult(0).getType());
  const MemoryBlock &block = *program.get(gather.getDesc()).block;
  Format format = formatOf(tile);
  Tile result(tile.getNumElements(), padding(format, block.padWithNan));
  LogicalResult walked = eachElementOfRows(program, block, gather.getXOffsets(), gather.getYOffset(), tile,
                                           [&](int64_t element, std::optional<uint64_t> pointer) {
                                             if (!pointer) return success();
                                             FailureOr<uint64_t> bits = readAt(program, {op, tile, element, *pointer, format});
                                             if (succeeded(bits)) result.elements[element] = *bits;
                                             return LogicalResult(bits);
                                           });
  if (failed(walked)) return failure();
  program.set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult descriptorScatter(Program &program, Operation *op) {
  auto scatter = cast<tt::DescriptorScatterOp>(op);
  auto tile = cast<RankedTensorType>(scatter.getSrc().getType());
  Format format = formatOf(tile);
  const Tile &value = program.get(scatter.getSrc());
  ++program.launch.stores;
  return eachElementOfRows(program, *program.get(scatter.getDesc()).block, scatter.getXOffsets(), scatter.getYOffset(), tile,
                           [&](int64_t element, std::optional<uint64_t> pointer) {
                             return pointer ? writeAt(program, {op, tile, element, *pointer, format}, value.elements[element]) : success();
                           });
}

// ---- print and assert

/// Returns the value of a variable in NumPy's representation.
static InterpretLocal shown(Program &program, StringRef name, Value value, bool isSigned) {
  Type element = getElementTypeOrSelf(value.getType());
  Format format = formatOf(element);
  InterpretLocal local{name.str(), "", {}, ""};
  if (auto tile = dyn_cast<RankedTensorType>(value.getType())) local.shape = tile.getShape().vec();
  bool isFloat = isa<FloatType>(element), isWide = format.kind == Format::f64;
  if (isFloat)
    local.type = isWide ? "float64" : "float32";
  else if (element.isInteger(1))
    local.type = "bool";
  else
    local.type = (isSigned && !isa<tt::PointerType>(element) ? "int" : "uint") + std::to_string(format.bits);
  for (uint64_t bits : program.get(value).elements) {
    if (isa<tt::PointerType>(element)) bits = program.launch.addressOf(bits);
    if (isFloat && !isWide) bits = llvm::bit_cast<uint32_t>(static_cast<float>(decodeFloat(format, bits)));
    int64_t bytes = isFloat && !isWide ? 4 : format.bytes;
    local.bytes.append(reinterpret_cast<const char *>(&bits), static_cast<size_t>(bytes)); // the supported CPUs are little-endian
  }
  return local;
}

static LogicalResult stop(Program &program, tt::PrintOp op, ArrayAttr names) {
  if (!program.options.onBreakpoint) return success();
  std::vector<InterpretLocal> locals;
  for (auto [number, value] : llvm::enumerate(op.getArgs()))
    locals.push_back(shown(program, cast<StringAttr>(names[number]).getValue(), value, op.getIsSigned()[number] > 0));
  auto fileLoc = op.getLoc()->findInstanceOf<FileLineColLoc>();
  std::array<int64_t, 3> id = {program.id[0], program.id[1], program.id[2]};
  bool goesOn = program.options.onBreakpoint(fileLoc ? fileLoc.getFilename().getValue() : "", fileLoc ? fileLoc.getLine() : 0, id, locals);
  return goesOn ? success() : program.fail(op, "ended at a breakpoint");
}

LogicalResult print(Program &program, Operation *op) {
  auto printOp = cast<tt::PrintOp>(op);
  if (auto names = op->getAttrOfType<ArrayAttr>(tt::breakpointName)) return stop(program, printOp, names);
  if (!program.options.print) return success();
  std::string start = ("pid (" + Twine(program.id[0]) + ", " + Twine(program.id[1]) + ", " + Twine(program.id[2]) + ")").str();
  if (printOp.getArgs().empty()) {
    program.options.print(start + printOp.getPrefix().str() + "\n");
    return success();
  }
  for (auto [number, value] : llvm::enumerate(printOp.getArgs())) {
    const Tile &tile = program.get(value);
    Type type = value.getType();
    Format format = formatOf(type);
    bool isPointer = isa<tt::PointerType>(getElementTypeOrSelf(type));
    bool isSigned = number < printOp.getIsSigned().size() && printOp.getIsSigned()[number] > 0;
    std::string which = printOp.getArgs().size() > 1 ? "(operand " + std::to_string(number) + ") " : "";
    for (int64_t i = 0; i < tile.size(); ++i)
      program.options.print(start + " idx " + indexText(type, i) + printOp.getPrefix().str() + which +
                            printElement(format, isPointer, isSigned, printOp.getHex(),
                                         isPointer ? program.launch.addressOf(tile.elements[i]) : tile.elements[i]) +
                            "\n");
  }
  return success();
}

LogicalResult checkCondition(Program &program, Operation *op, Value condition, StringRef message) {
  if (program.options.skipAsserts) return success();
  const Tile &tile = program.get(condition);
  for (int64_t i = 0; i < tile.size(); ++i) {
    if (tile.elements[i]) continue;
    std::string where = isa<RankedTensorType>(condition.getType()) ? " at element " + indexText(condition.getType(), i) : "";
    return program.fail(op, "device-side assertion failed" + where + (message.empty() ? "" : ": ") + message);
  }
  return success();
}

LogicalResult ttAssert(Program &program, Operation *op) {
  auto assertOp = cast<tt::AssertOp>(op);
  return checkCondition(program, op, assertOp.getCondition(), assertOp.getMessage());
}

} // namespace

Meaning findMemory(StringRef name) {
  static const llvm::StringMap<Meaning> table = {
      {"tt.load", load},
      {"tt.store", store},
      {"tt.atomic_rmw", atomicRmw},
      {"tt.atomic_cas", atomicCas},
      {"tt.make_tensor_ptr", makeTensorPtr},
      {"tt.advance", advance},
      {"tt.make_tensor_descriptor", makeTensorDescriptor},
      {"tt.descriptor_load", descriptorLoad},
      {"tt.descriptor_store", descriptorStore},
      {"tt.descriptor_reduce", descriptorReduce},
      {"tt.descriptor_gather", descriptorGather},
      {"tt.descriptor_scatter", descriptorScatter},
      {"tt.print", print},
      {"tt.assert", ttAssert},
  };
  return table.lookup(name);
}

} // namespace tilewright::interp
