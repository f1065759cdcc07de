// Specializes a kernel on short rows. A row of 1025 elements is held in a block of 2048, with 1023 elements masked off: loaded as zeros,
// computed and not stored. The length of rows is an argument. If much of a thread's work depends on it, the kernel requests versions by
// guards, on which it does not rely:
//     requests: n_cols is more than 1280, ... is more than 1536, ... is more than 1792             eighths of the block
// For a launch with n_cols = 1025 all three fail, and the launch uses a version that relies on the strongest opposite:
//     relies on: n_cols is at most 1280      ->      %n_cols {ttg.max_value = 1280}
// lower-to-threads omits the registers of a thread whose columns are all past the bound: 6 of 16.
#include "gpu/cost_model/thresholds.h"
#include "gpu/passes.h"
#include "gpu/tiles/axis_info.h"
#include "gpu/tiles/specialize/row_length.h"
#include "gpu/ttg/ttg.h"

#include "ir/address/indices.h"
#include "support/target.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

std::optional<RowLength> rowLengthOf(arith::CmpIOp compare) {
  Value columns = compare.getLhs(), length = compare.getRhs();
  SmallVector<int64_t> unitDims; // the outermost expand_dims first
  bool isBroadcast = false;
  while (Operation *op = columns.getDefiningOp()) {
    auto expand = dyn_cast<tt::ExpandDimsOp>(op);
    if (!expand && !isa<tt::BroadcastOp>(op)) break;
    if (expand) unitDims.push_back(expand.getAxis());
    isBroadcast |= !expand;
    columns = op->getOperand(0);
  }
  auto range = columns.getDefiningOp<tt::MakeRangeOp>();
  if (compare.getPredicate() != arith::CmpIPredicate::slt || !range || range.getStart() != 0) return std::nullopt;
  RowLength row{static_cast<int64_t>(range.getEnd()), 0, isBroadcast, {}, {}};
  for (int64_t unit : llvm::reverse(unitDims))
    row.dim += unit <= row.dim;
  APInt constant;
  if (matchPattern(length, m_ConstantInt(&constant))) {
    row.constant = constant.getSExtValue();
    return row;
  }
  auto splat = length.getDefiningOp<tt::SplatOp>();
  row.length = splat ? dyn_cast<BlockArgument>(splat.getSrc()) : BlockArgument();
  return row.length && isa<tt::FuncOp>(row.length.getOwner()->getParentOp()) ? std::optional(row) : std::nullopt;
}

static LaunchGuard guardOf(BlockArgument argument, int64_t bound, bool isVersioningRequest) {
  LaunchGuard guard;
  guard.name = address::nameOf(argument) + (isVersioningRequest ? " is more than " : " is at most ") + std::to_string(bound);
  guard.nodes = {{BoundNode::Kind::slot, argument.getArgNumber()}};
  guard.min = std::numeric_limits<int64_t>::min();
  guard.max = bound;
  guard.isVersioningRequest = isVersioningRequest;
  return guard;
}

/// `together`: columns of the row that the threads of a CTA access at once.
static void specialize(tt::FuncOp function, const RowLength &row, int64_t together, const address::FailedGuards &failedGuards) {
  for (int64_t part = minRowParts; part < rowParts; ++part) {
    int64_t bound = row.block * part / rowParts;
    if (bound % together) continue; // it would omit no more than the next bound
    LaunchGuard guard = guardOf(row.length, bound, false);
    if (!failedGuards.contains(guardOf(row.length, bound, true).name)) {
      ttg::relyOn(function, guardOf(row.length, bound, true));
    } else if (!failedGuards.contains(guard.name)) {
      function.setArgAttr(row.length.getArgNumber(), ttg::maxValueName,
                          IntegerAttr::get(IntegerType::get(function.getContext(), 64), bound));
      ttg::relyOn(function, guard);
      return;
    }
  }
}

LogicalResult specializeLengths(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp kernel, ttg::ConfigAttr config, const GpuTarget &) {
    address::FailedGuards failedGuards = ttg::failedGuardsOf(kernel);
    llvm::SmallDenseMap<unsigned, RowLength> rows; // by argument; for several blocks, the largest
    kernel.walk([&](arith::CmpIOp compare) {
      std::optional<RowLength> row = rowLengthOf(compare);
      if (!row || !row->length || row->isBroadcast || kernel.getArgAttr(row->length.getArgNumber(), ttg::notSpecializedName)) return;
      auto [it, inserted] = rows.try_emplace(row->length.getArgNumber(), *row);
      if (!inserted && row->block > it->second.block) it->second = *row;
    });
    if (rows.empty() || failedGuards.contains(everyGuard)) return success();
    SmallVector<int64_t> widths = AxisAnalysis(kernel).accessWidths(kernel); // the elements of one access can only be omitted together
    int64_t together = (widths.empty() ? 1 : *llvm::max_element(widths)) * config.getWarps() << laneBits;
    for (BlockArgument argument : kernel.getArguments())
      if (auto row = rows.find(argument.getArgNumber()); row != rows.end()) specialize(kernel, row->second, together, failedGuards);
    return success();
  });
}

} // namespace tilewright::gpu
