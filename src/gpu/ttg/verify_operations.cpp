// The verifiers of the ttg operations, but for ttg.warp_specialize (warp_specialize.cpp).
#include "gpu/cost_model/hardware.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

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

/// A tile that moves between tensor memory and registers.
static LogicalResult verifyMove(Operation *op, Type tile, TensorMemoryType memory) {
  auto type = cast<RankedTensorType>(tile);
  if (type.getShape() != memory.getShape() || type.getElementType() != memory.getElementType())
    return op->emitOpError("moves a tile between types that differ in shape or element type");
  return success();
}

LogicalResult MmaAsyncOp::verify() {
  auto extents = [](Type type) {
    return isa<BufferType>(type) ? cast<BufferType>(type).getShape() : cast<RankedTensorType>(type).getShape();
  };
  if (!isa<BufferType, RankedTensorType>(getA().getType())) return emitOpError("a must be a buffer or a tile");
  ArrayRef<int64_t> a = extents(getA().getType()), b = getB().getType().getShape(), d = extents(getType());
  if (a.size() != 2 || b.size() != 2 || d.size() != 2) return emitOpError("operands and result must be matrices");
  if (getScales()) return success(); // tiles of bytes, which may be padded
  if (a[1] != b[0]) return emitOpError("a has ") << a[1] << " columns, but b has " << b[0] << " rows";
  if (a[0] != d[0] || (getPaired() ? 2 : 1) * b[1] != d[1])
    return emitOpError("the result does not have the rows of a and the columns of b");
  return success();
}

LogicalResult TmaLoadOp::verify() {
  if (getCoordinates().empty() || static_cast<int64_t>(getCoordinates().size()) > gpu::tmaMaxRank)
    return emitOpError("a tensor map has 1 to 5 dimensions");
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
  if (!getKRange()) return success();
  if (getScales()) return emitOpError("an MMA of scaled operands has no range of K");
  BufferType b = getB().getType();
  int64_t step = 8 * gpu::mmaDepthBytes / b.getElementType().getIntOrFloatBitWidth(); // K of one instruction
  return verifyRange(*this, getKRange(), b.getShape()[0], step);
}
