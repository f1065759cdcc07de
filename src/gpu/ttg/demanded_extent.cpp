// See demanded_extent.h.
#include "gpu/ttg/demanded_extent.h"

#include "gpu/cost_model/hardware.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

//===----------------------------------------------------------------------------------------------------------------- dots

Dims validExtent(tt::DotOp dot) {
  if (auto valid = dot->getAttrOfType<DenseI64ArrayAttr>(tt::validExtentName)) return valid.asArrayRef().vec();
  return ttg::shapeOf(dot.getType());
}

Dims slicedExtent(Dims valid, const Dims &slice, int64_t dim, int64_t ctas, std::optional<int64_t> own) {
  auto along = static_cast<size_t>(dim);
  bool isEven = valid[along] == ctas * slice[along];
  if (!isEven && !own) return slice;
  valid[along] = own.value_or(slice[along]);
  return valid;
}

void splitValidExtent(tt::DotOp dot, int64_t dim, int64_t ctas, std::optional<int64_t> own) {
  if (!dot->hasAttr(tt::validExtentName)) return;
  Dims shape = ttg::shapeOf(dot.getType()), valid = slicedExtent(validExtent(dot), shape, dim, ctas, own);
  if (valid != shape)
    dot->setAttr(tt::validExtentName, DenseI64ArrayAttr::get(dot.getContext(), valid));
  else
    dot->removeAttr(tt::validExtentName);
}

Dims demandedExtent(Value tile) {
  Dims shape = ttg::shapeOf(tile.getType()), demanded(shape.size(), 0);
  if (tile.use_empty()) return shape;
  for (OpOperand &use : tile.getUses()) {
    Dims extent = shape;
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<tt::DotOp>(user); dot && shape.size() == 2 && use.getOperandNumber() < 2) {
      size_t dim = use.getOperandNumber(); // A's rows, B's columns
      extent[dim] = validExtent(dot)[dim];
    } else if (auto transposed = dyn_cast<tt::TransOp>(user)) {
      for (auto [there, dim] : llvm::zip(demandedExtent(transposed.getResult()), transposed.getOrder()))
        extent[static_cast<size_t>(dim)] = there;
    } else if (auto cast = dyn_cast<tt::BitcastOp>(user)) { // bytes reinterpreted as 8-bit floats
      extent = demandedExtent(cast.getResult());
    }
    for (auto [all, one] : llvm::zip(demanded, extent))
      all = std::max(all, one);
  }
  return demanded;
}

Dims mmaExtent(tt::DotOp dot) {
  Dims valid = validExtent(dot), shape = ttg::shapeOf(dot.getType());
  int64_t steps[2] = {wgmmaRows, getElementTypeOrSelf(dot.getA().getType()).isInteger() ? wgmmaColumnStepOfIntegers : wgmmaColumnStep};
  // A warp group may have fewer rows than the other ones, but must execute the same instruction.
  Layout layout = ttg::layoutOf(dot.getType());
  for (uint32_t basis : layout.basesOf(Axis::warp))
    if (coordinatesOf(shape, basis)[1] != 0) steps[1] = shape[1];
  Dims extent;
  for (size_t dim : {0, 1})
    extent.push_back(std::min(shape[dim], (valid[dim] + steps[dim] - 1) / steps[dim] * steps[dim]));
  return extent;
}

ArrayRef<int64_t> mmaExtent(ttg::MmaAsyncOp wgmma) {
  return wgmma.getExtent().value_or(ArrayRef<int64_t>());
}

bool isInMmaExtent(const Layout &layout, ArrayRef<int64_t> extent, int64_t reg) {
  if (extent.empty()) return true;
  Dims first = coordinatesOf(layout.shape, layout.apply(reg, 0, 0, 0)); // other threads hold later rows and columns
  return first[0] < extent[0] && first[1] < extent[1];
}

int64_t mmaRegisters(ttg::MmaAsyncOp wgmma) {
  Layout layout = ttg::layoutOf(wgmma.getType());
  int64_t count = 0;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    count += isInMmaExtent(layout, mmaExtent(wgmma), reg);
  return count;
}

//===-------------------------------------------------------------------------------------------------------------- buffers

ArrayRef<int64_t> copiedExtent(Operation *op) {
  auto extent = op->getAttrOfType<DenseI64ArrayAttr>(ttg::copiedExtentName);
  return extent ? extent.asArrayRef() : ArrayRef<int64_t>();
}

ttg::AllocOp copyingAsMuch(ttg::AllocOp buffer, ttg::AllocOp other) {
  if (Attribute copied = other->getAttr(ttg::copiedExtentName)) buffer->setAttr(ttg::copiedExtentName, copied);
  return buffer;
}

std::optional<TmaBox> copiedBox(ttg::AllocOp alloc) {
  std::optional<TmaBox> box = tmaBox(alloc.getType().getLayout().layout());
  ArrayRef<int64_t> extents = copiedExtent(alloc);
  for (size_t i = 0; box && i < extents.size(); ++i) {
    int64_t extent = extents[static_cast<size_t>(box->order[i])];
    if (i == 0 && box->spanBytes > 0)
      box->copies = (extent + box->box[0] - 1) / box->box[0];
    else
      box->box[i] = extent;
  }
  return box;
}

static int64_t bytesOfBox(ttg::AllocOp alloc, const TmaBox &box) {
  return elementCount(box.box) * alloc.getType().getLayout().layout().elementBytes();
}

int64_t copiedBytes(ttg::AllocOp alloc) {
  SharedLayout layout = alloc.getType().getLayout().layout();
  if (copiedExtent(alloc).empty()) return elementCount(layout.shape) * layout.elementBytes(); // TMA does not count padding
  TmaBox box = *copiedBox(alloc);
  return box.copies * bytesOfBox(alloc, box);
}

int64_t tileBytes(ttg::AllocOp alloc) {
  if (copiedExtent(alloc).empty()) return alloc.getType().tileBytes();
  TmaBox box = *copiedBox(alloc);
  int64_t bytes = (box.copies - 1) * box.bytes + bytesOfBox(alloc, box);
  return (bytes + swizzleAlignment - 1) / swizzleAlignment * swizzleAlignment;
}

//===----------------------------------------------------------------------------------------------------------------- sums

static void follow(Value sum, ArrayRef<int64_t> extent, Sums &sums) {
  SmallVector<int64_t> &known = sums[sum];
  known.resize(2, 0);
  if (known[0] >= extent[0] && known[1] >= extent[1]) return;
  for (size_t dim : {0, 1})
    known[dim] = std::max(known[dim], extent[dim]);
  SmallVector<int64_t> all(known);
  for (OpOperand &use : sum.getUses()) {
    Operation *user = use.getOwner(), *around = user->getParentOp();
    unsigned number = use.getOperandNumber();
    if (auto wait = dyn_cast<ttg::MmaAsyncWaitOp>(user)) follow(wait.getResults()[number], all, sums);
    if (auto next = dyn_cast<ttg::MmaAsyncOp>(user); next && next.getC() == sum) follow(next.getD(), all, sums);
    if (!isa<scf::YieldOp>(user) || !isa<scf::ForOp, scf::IfOp>(around)) continue;
    follow(around->getResult(number), all, sums);
    if (auto loop = dyn_cast<scf::ForOp>(around)) follow(loop.getRegionIterArg(number), all, sums);
  }
}

Sums partialSums(Operation *function) {
  Sums sums;
  bool some = false;
  function->walk([&](ttg::MmaAsyncOp op) { some |= !mmaExtent(op).empty(); });
  if (!some) return sums;
  function->walk([&](ttg::MmaAsyncOp op) {
    Dims all = ttg::shapeOf(op.getType());
    ArrayRef<int64_t> extent = mmaExtent(op);
    follow(op.getD(), extent.empty() ? ArrayRef<int64_t>(all) : extent, sums);
  });
  return sums;
}

/// The outermost dimension of a box without a swizzle is cut.
static std::optional<BoxParts> partsOfPlain(const TmaBox &box, int64_t ctas) {
  size_t dim = box.box.size() - 1;
  while (dim > 0 && box.box[dim] == 1)
    --dim;
  if (box.box[dim] % ctas != 0 || box.bytes % (ctas * plainAlignment) != 0) return {};
  return BoxParts{ctas, dim, box.bytes / ctas};
}

std::optional<BoxParts> partsPerBox(ttg::BufferType tile, int64_t ctas, bool paired) {
  std::optional<TmaBox> box = tmaBox(tile.getLayout().layout());
  if (!box) return {};
  if (box->copies % ctas == 0) return BoxParts{};
  if (paired && box->spanBytes == 0) return partsOfPlain(*box, ctas);
  if (box->box.size() != 2 || box->spanBytes == 0 || box->box[1] % (swizzleRows * ctas) != 0) return {};
  return BoxParts{ctas, 1, box->box[1] / ctas * box->spanBytes};
}

} // namespace tilewright::gpu
