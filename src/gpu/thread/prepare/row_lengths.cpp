// Bounds of a row's length decide which columns are always inside or always outside of it in this version of the kernel:
//   before: arith.cmpi slt, %columns, %n     after: arith.cmpi slt, %columns, %n {ttg.row_length = [64, 128]}
#include "gpu/thread/prepare/steps.h"
#include "gpu/tiles/specialize/row_length.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

static void boundRowLength(arith::CmpIOp compare) {
  std::optional<RowLength> row = rowLengthOf(compare);
  if (!row || row->isBroadcast) return;
  std::optional<int64_t> min = row->constant, max = row->constant;
  if (row->length) {
    auto function = cast<tt::FuncOp>(row->length.getOwner()->getParentOp());
    if (auto known = function.getArgAttrOfType<IntegerAttr>(row->length.getArgNumber(), ttg::maxValueName)) max = known.getInt();
  }
  if (min || max)
    compare->setAttr(ttg::rowLengthName, DenseI64ArrayAttr::get(compare.getContext(), {min.value_or(std::numeric_limits<int64_t>::min()),
                                                                                       max.value_or(std::numeric_limits<int64_t>::max())}));
}

LogicalResult boundRowLengths(tt::FuncOp kernel, ttg::ConfigAttr) {
  kernel.walk(boundRowLength);
  return success();
}

} // namespace tilewright::gpu
