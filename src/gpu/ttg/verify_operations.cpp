// The verifiers of the ttg operations, but for ttg.warp_specialize (warp_specialize.cpp).
#include "gpu/machine/tcgen05.h"
#include "gpu/ttg/ttg.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::ttg;

LogicalResult ClcProgramOp::verify() {
  auto loop = dyn_cast<scf::ForOp>((*this)->getParentOp());
  if (!loop || getIteration() != loop.getInductionVar()) return emitOpError("gets the program of an iteration of the loop around it");
  return success();
}

LogicalResult ReadClusterOp::verify() {
  if (getPeer() && getNumResults() != 1) return emitOpError("that reads the tile of one peer has one result");
  return success();
}

static ArrayRef<int64_t> extentsOf(Type type) {
  return llvm::TypeSwitch<Type, ArrayRef<int64_t>>(type).Case<BufferType, TensorMemoryType, RankedTensorType>(
      [](auto known) { return known.getShape(); });
}
static Type elementOf(Type type) {
  return llvm::TypeSwitch<Type, Type>(type).Case<BufferType, TensorMemoryType, RankedTensorType>(
      [](auto known) { return known.getElementType(); });
}

/// A tile that moves between registers, shared memory and tensor memory.
static LogicalResult verifyMove(Operation *op, Type from, Type to) {
  if (extentsOf(from) != extentsOf(to) || elementOf(from) != elementOf(to))
    return op->emitOpError("moves a tile between types that differ in shape or element type");
  return success();
}

LogicalResult LoadSharedOp::verify() {
  return verifyMove(*this, getBuffer().getType(), getType());
}

LogicalResult StoreSharedOp::verify() {
  return verifyMove(*this, getSrc().getType(), getBuffer().getType());
}

LogicalResult CopyAsyncOp::verify() {
  ArrayRef<int64_t> shape = getBuffer().getType().getShape();
  if (extentsOf(getPointers().getType()) != shape || (getMask() && extentsOf(getMask().getType()) != shape))
    return emitOpError("pointers, mask and buffer differ in shape");
  return success();
}

LogicalResult StageOp::verify() {
  if (getType().getLayout() != getBuffer().getType().getLayout() || getType().getElementType() != getBuffer().getType().getElementType())
    return emitOpError("a stage has the element type and the layout of its buffer");
  return success();
}

/// Each dimension from 0 to `rank` - 1 once.
static bool isPermutation(ArrayRef<int32_t> order, size_t rank) {
  return order.size() == rank &&
         llvm::all_of(llvm::seq<int32_t>(0, static_cast<int32_t>(rank)), [&](int32_t dim) { return llvm::is_contained(order, dim); });
}

/// True if each bit of an element's index in the buffer is a bit of its index in the view: dimensions are permuted, split, joined or
/// padded. A swizzle that moves elements to or from padding is none of these.
static bool showsElements(const gpu::SharedLayout &view, const gpu::SharedLayout &buffer) {
  gpu::LinearMap offsets = buffer.inverse();
  uint32_t seen = 0;
  for (int64_t element = 1; element < gpu::elementCount(buffer.shape); element *= 2) {
    uint32_t index = view.apply(offsets.apply(static_cast<uint32_t>(element)));
    if (!llvm::isPowerOf2_32(index) || (seen & index)) return false;
    seen |= index;
  }
  return view.elementBits == buffer.elementBits;
}

LogicalResult ViewOp::verify() {
  gpu::SharedLayout view = getType().getLayout().layout(), buffer = getBuffer().getType().getLayout().layout();
  if (!getOrder().empty() && !isPermutation(getOrder(), view.shape.size()))
    return emitOpError("its order is not a permutation of its dimensions");
  int64_t end = getFirst() * buffer.elementBytes() + view.bytes();
  bool isPart = view.bytes() < buffer.bytes(); // from element `first` on
  if (isPart ? end > buffer.bytes() : getFirst() != 0 || !showsElements(view, buffer))
    return emitOpError("its elements are not those of its buffer");
  return success();
}

LogicalResult UnpackE2m1Op::verify() {
  SmallVector<int64_t> shape(extentsOf(getBytes().getType()));
  if (getDim() >= shape.size()) return emitOpError("the tile has no dimension ") << getDim();
  shape[getDim()] *= 2;
  Type number = elementOf(getType());
  if (extentsOf(getType()) != ArrayRef(shape) || !elementOf(getBytes().getType()).isInteger(8) || !(number.isF16() || number.isBF16()))
    return emitOpError("makes two numbers of f16 or bf16 from each byte along a dimension");
  return success();
}

LogicalResult CtaBarrierOp::verify() {
  if (getAllWarps() && getAllCtas()) return emitOpError("is one of all partitions, or one of all CTAs");
  return success();
}

LogicalResult InitBarriersOp::verify() {
  if (getArrivals().size() != getBarriers().size() || llvm::any_of(getArrivals(), [](int32_t count) { return count < 1; }))
    return emitOpError("has a positive number of arrivals for each allocation");
  return success();
}

LogicalResult BarrierArriveOp::verify() {
  if (getInAllCtas() && getToFirstCta()) return emitOpError("arrives in all CTAs or in the first one");
  return success();
}

/// Coordinates of a tensor map, and the order in which its dimensions are those of a tile of this rank.
static LogicalResult verifyMap(Operation *op, ValueRange coordinates) {
  if (coordinates.empty() || static_cast<int64_t>(coordinates.size()) > gpu::tmaMaxRank)
    return op->emitOpError("a tensor map has 1 to 5 dimensions");
  return success();
}
static LogicalResult verifyMap(Operation *op, ValueRange coordinates, ArrayRef<int32_t> order, Type tile) {
  size_t rank = extentsOf(tile).size();
  if (!isPermutation(order, rank) || coordinates.size() < rank)
    return op->emitOpError("its order does not give each dimension of the tile one of the map");
  return verifyMap(op, coordinates);
}

LogicalResult TmaLoadOp::verify() {
  return verifyMap(*this, getCoordinates());
}

LogicalResult TmaStoreOp::verify() {
  return verifyMap(*this, getCoordinates());
}

LogicalResult DescriptorLoadOp::verify() {
  return verifyMap(*this, getCoordinates(), getOrder(), getType());
}

LogicalResult DescriptorStoreOp::verify() {
  return verifyMap(*this, getCoordinates(), getOrder(), getSrc().getType());
}

LogicalResult MmaAsyncWaitOp::verify() {
  if (getTiles().getTypes() != getResultTypes()) return emitOpError("passes its tiles through");
  if (getComputed() > getTiles().size()) return emitOpError("has ") << getTiles().size() << " tiles, not " << getComputed();
  if (getExtents() && getExtents()->size() != getTiles().size()) return emitOpError("has an extent for each tile");
  return success();
}

LogicalResult FmaDotOp::verify() {
  ArrayRef<int64_t> a = getA().getType().getShape(), b = getB().getType().getShape(), d = extentsOf(getType());
  size_t rank = d.size();
  if (rank < 2 || a.size() != rank || b.size() != rank || a.drop_back(2) != d.drop_back(2) || b.drop_back(2) != d.drop_back(2))
    return emitOpError("operands and result must be matrices, or as many of them");
  if (a.back() != b[rank - 2] || a[rank - 2] != d[rank - 2] || b.back() != d.back())
    return emitOpError("the result does not have the rows of a and the columns of b");
  return success();
}

LogicalResult MmaAsyncOp::verify() {
  if (!isa<BufferType, RankedTensorType>(getA().getType())) return emitOpError("a must be a buffer or a tile");
  ArrayRef<int64_t> a = extentsOf(getA().getType()), b = getB().getType().getShape(), d = extentsOf(getType());
  if (a.size() != 2 || b.size() != 2 || d.size() != 2) return emitOpError("operands and result must be matrices");
  if (getScales()) return success(); // tiles of bytes, which may be padded
  if (a[1] != b[0]) return emitOpError("a has ") << a[1] << " columns, but b has " << b[0] << " rows";
  if (a[0] != d[0] || (getPaired() ? 2 : 1) * b[1] != d[1])
    return emitOpError("the result does not have the rows of a and the columns of b");
  return success();
}

LogicalResult TensorFreeOp::verify() {
  auto alloc = getAddress().getDefiningOp<TensorAllocOp>();
  if (!alloc || alloc.getColumns() != getColumns() || alloc.getPaired() != getPaired())
    return emitOpError("frees what a tensor_alloc has allocated");
  return success();
}

LogicalResult TensorTileOp::verify() {
  auto alloc = getAddress().getDefiningOp<TensorAllocOp>();
  int64_t columns = alloc ? static_cast<int64_t>(alloc.getColumns()) : gpu::tensorColumns;
  if (getDepth() < 1 || getColumn() + getDepth() * getType().columns() > columns)
    return emitOpError(alloc ? "its allocation has " : "tensor memory has ") << columns << " columns";
  return success();
}

LogicalResult TensorScaleOp::verify() {
  ArrayRef<int64_t> factors = extentsOf(getFactors().getType()), tile = getTile().getType().getShape();
  int64_t rows = getRowBlock() ? gpu::tensorMemoryLanes : tile[0];
  if (factors.size() != 1 || factors[0] != rows || (getRowBlock() && (*getRowBlock() + 1) * rows > tile[0]))
    return emitOpError("has a factor for each row");
  if (!getTile().getType().getElementType().isF32() || !elementOf(getFactors().getType()).isF32()) return emitOpError("multiplies f32");
  return success();
}

LogicalResult Tcgen05WaitOp::verify() {
  int64_t count = getBarriers().getType().getCount();
  if (!llvm::isPowerOf2_64(static_cast<uint64_t>(count))) return emitOpError("MMAs use a power of two of barriers");
  if (getPending() >= count) return emitOpError("of ") << count << " barriers, a later MMA uses that of the one that it waits for";
  return success();
}

LogicalResult TensorLoadOp::verify() {
  return verifyMove(*this, getType(), getSource().getType());
}

/// A range [first, end) of `extent` elements, in units of `step`.
static LogicalResult verifyRange(Operation *op, std::optional<ArrayRef<int32_t>> range, int64_t extent, int64_t step) {
  if (!range) return success();
  if (range->size() != 2) return op->emitOpError("a range has a first element and an end");
  auto [first, end] = std::pair<int64_t, int64_t>((*range)[0], (*range)[1]);
  if (first < 0 || first >= end || end > extent || first % step || end % step)
    return op->emitOpError("a range of ") << extent << " elements starts and ends at multiples of " << step;
  return success();
}

LogicalResult TensorStoreOp::verify() {
  TensorMemoryType target = getTarget().getType();
  if (getRange() && target.getShape()[0] % gpu::tensorMemoryLanes) return emitOpError("of 64 rows, two halves are stored at the same time");
  // A column is a register of a thread, and holds as many elements of a row as fit.
  int64_t step = gpu::registerBits / target.getElementType().getIntOrFloatBitWidth();
  if (failed(verifyRange(*this, getRange(), target.getShape()[1], step))) return failure();
  return verifyMove(*this, getSrc().getType(), target);
}

LogicalResult Tcgen05MmaOp::verify() {
  if (!isa<BufferType, TensorMemoryType>(getA().getType())) return emitOpError("a must be a buffer or in tensor memory");
  if (getBarriers() && !llvm::isPowerOf2_64(static_cast<uint64_t>(getBarriers().getType().getCount())))
    return emitOpError("MMAs use a power of two of barriers");
  ArrayRef<int64_t> a = extentsOf(getA().getType()), second = getB().getType().getShape();
  if (a.size() != 2 || second.size() != 2) return emitOpError("operands must be matrices");
  if (!getScales() && a[1] != second[0]) return emitOpError("a has ") << a[1] << " columns, but b has " << second[0] << " rows";
  int64_t rows = a[0], columns = second[1] * (getPaired() ? 2 : 1);
  if (getPaired() && rows < gpu::tensorMemoryLanes) rows *= 2, columns /= 2; // the second half of the columns is in the later lanes
  ArrayRef<int64_t> d = getD().getType().getShape();                         // of scaled operands, fewer rows may count: the MMA has 128
  bool hasRows = d[0] == rows || (getScales() && d[0] < rows);
  if (!hasRows || d[1] != columns) return emitOpError("d must be ") << rows << "x" << columns;
  if (!getBarriers() != !getIssued()) return emitOpError("an MMA has barriers and a number, or neither");
  for (Value ofScales : {Value(getAScale()), Value(getBScale()), Value(getScaleColumns())})
    if (!ofScales != !getScales()) return emitOpError("scaled operands have scales, and columns for these");
  if (!getKRange()) return success();
  if (getScales()) return emitOpError("an MMA of scaled operands has no range of K");
  BufferType b = getB().getType();
  int64_t step = 8 * gpu::mmaDepthBytes / b.getElementType().getIntOrFloatBitWidth(); // K of one instruction
  return verifyRange(*this, getKRange(), b.getShape()[0], step);
}
