// See uneven_n_split.h.
#include "gpu/tiles/cluster/uneven_n_split.h"

#include "gpu/tiles/specialize/row_length.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/tile_equivalence.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

/// Returns how many columns of a dot each CTA owns, if pad-tiles has padded the columns and the rows are not to be split.
static std::optional<int64_t> columnsPerCta(tt::DotOp dot, int64_t warps, int64_t ctas) {
  Dims shape = ttg::shapeOf(dot.getType());
  Dims valid = validExtent(dot);
  int64_t step = getElementTypeOrSelf(dot.getA().getType()).isInteger() ? wgmmaColumnStepOfIntegers : wgmmaColumnStep;
  if (shape.size() != 2 || valid[1] == shape[1] || valid[1] % (step * ctas) != 0) return {};
  int64_t rows = wgmmaRows * std::max<int64_t>(1, warps / warpsOfGroup);
  bool rowsAreWhole = valid[0] == shape[0] && shape[0] / ctas >= rows;
  if (rowsAreWhole || shape[0] < rows) return {};
  return valid[1] / ctas;
}

/// True if an operation treats all elements of tiles alike, independent of their position.
static bool isPlain(Operation *op) {
  return isElementwiseOnTiles(op) || isa<tt::MakeRangeOp, tt::SplatOp, tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::LoadOp,
                                         tt::StoreOp, tt::DotOp, arith::ConstantOp, scf::ForOp, scf::IfOp, scf::YieldOp>(op);
}

/// True if tiles of an operation with `extent` elements along a dimension may be sliced unevenly along it.
static bool suits(Operation *op, const UnevenSplit &wanted) {
  SmallVector<Value> tiles(op->getOperands());
  llvm::append_range(tiles, valuesOf(op));
  for (Value tile : tiles) {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    if (type && llvm::is_contained(type.getShape(), wanted.extent) && !isPlain(op)) return false;
  }
  return true;
}

bool isOfColumns(tt::MakeRangeOp range, const UnevenSplit &split) {
  if (ttg::shapeOf(range.getType())[0] != split.extent) return true;
  auto valid = range->getAttrOfType<DenseI64ArrayAttr>(tt::validExtentName);
  return valid && valid.asArrayRef().front() == split.own * split.ctas;
}

std::optional<UnevenSplit> unevenSplitOf(tt::FuncOp function, int64_t warps, int64_t ctas) {
  std::optional<UnevenSplit> wanted;
  bool agree = true;
  function.walk([&](tt::DotOp dot) {
    std::optional<int64_t> own = columnsPerCta(dot, warps, ctas);
    agree &= own && (!wanted || wanted->own == *own);
    if (own) wanted = UnevenSplit{ttg::shapeOf(dot.getType())[1], *own, ctas};
  });
  if (!wanted || !agree) return {};
  WalkResult walk =
      function.getBody().walk([&](Operation *op) { return suits(op, *wanted) ? WalkResult::advance() : WalkResult::interrupt(); });
  if (walk.wasInterrupted()) return {};
  return wanted;
}

bool statesValidExtent(Operation *op, int64_t dim, const UnevenSplit &split) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  std::optional<RowLength> row = compare ? rowLengthOf(compare) : std::nullopt;
  return row && row->dim == dim && row->block == split.extent && row->constant == split.own * split.ctas;
}

Value ownedElements(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape, int64_t dim, const UnevenSplit &split) {
  int64_t extent = shape[size_t(dim)], rank = int64_t(shape.size());
  auto indices = RankedTensorType::get({extent}, b.getI32Type());
  Value index = tt::MakeRangeOp::create(b, indices, 0, uint32_t(extent));
  Value own = arith::ConstantOp::create(b, DenseElementsAttr::get(indices, b.getI32IntegerAttr(int32_t(split.own))));
  Value mask = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, own);
  SmallVector<int64_t> grown = {extent};
  for (int64_t other = 0; other < rank; ++other) {
    if (other == dim) continue;
    grown.insert(grown.begin() + other, 1);
    mask = tt::ExpandDimsOp::create(b, RankedTensorType::get(grown, b.getI1Type()), mask, uint32_t(other));
  }
  return rank == 1 ? mask : Value(tt::BroadcastOp::create(b, RankedTensorType::get(shape, b.getI1Type()), mask));
}

/// True if a mask of a slice only selects elements that are owned along dimension `dim`.
static bool leavesOutNext(Value mask, int64_t dim, const UnevenSplit &split) {
  Operation *op = mask.getDefiningOp();
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
    std::optional<RowLength> row = rowLengthOf(compare);
    return row && row->dim == dim && row->block * split.ctas == split.extent && row->constant == split.own;
  }
  if (auto expand = dyn_cast_or_null<tt::ExpandDimsOp>(op)) {
    int64_t added = expand.getAxis();
    return added != dim && leavesOutNext(expand.getSrc(), dim - (added < dim), split);
  }
  return isa_and_nonnull<arith::AndIOp, tt::BroadcastOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return leavesOutNext(operand, dim, split); });
}

void storeOwn(ImplicitLocOpBuilder &b, tt::StoreOp store, int64_t dim, const UnevenSplit &split) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(store.getPtr().getType()).getShape();
  Value mask = store.getMask();
  if (shape[size_t(dim)] * split.ctas != split.extent || (mask && leavesOutNext(mask, dim, split))) return;
  Value own = ownedElements(b, shape, dim, split);
  store.getMaskMutable().assign(mask ? Value(arith::AndIOp::create(b, mask, own)) : own);
}

} // namespace tilewright::gpu
