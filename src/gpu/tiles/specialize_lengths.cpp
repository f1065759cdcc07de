// A row of 1025 numbers is held in a block of 2048, in which 1023 elements are masked off: loaded as zeros, computed with, and not stored.
// How long rows are is an argument, about which launches know more than the compiler. So if much of
// a thread's work depends on it, the kernel says that it prefers long rows, without relying on that:
//     prefers: n_cols is more than 1280, ... is more than 1536, ... is more than 1792             eighths of the block
// The launch whose n_cols is 1025 refutes all three, and takes a version that relies on the strongest contrary:
//     relies on: n_cols is at most 1280      ->      %n_cols {ttg.max_value = 1280}
// lower-to-threads leaves out the registers of a thread whose columns all lie behind that: 6 of 16.
#include "gpu/passes.h"
#include "gpu/tiles/axis_info.h"
#include "gpu/tiles/row_length.h"
#include "gpu/tiles/ttg.h"

#include "ir/address/indices.h"
#include "support/target.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

// Blocks are the next power of two, so rows are longer than half a block.
constexpr int64_t parts = 8, fewest = 5;

std::optional<RowLength> rowLengthOf(arith::CmpIOp compare) {
  Value columns = compare.getLhs(), length = compare.getRhs();
  while (auto expand = columns.getDefiningOp<tt::ExpandDimsOp>())
    columns = expand.getSrc();
  auto range = columns.getDefiningOp<tt::MakeRangeOp>();
  if (compare.getPredicate() != arith::CmpIPredicate::slt || !range || range.getStart() != 0) return std::nullopt;
  RowLength row{static_cast<int64_t>(range.getEnd()), {}, {}};
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
  guard.least = std::numeric_limits<int64_t>::min();
  guard.most = bound;
  guard.isVersioningRequest = isVersioningRequest;
  return guard;
}

/// The most elements that one access of a thread takes: they can only be left out together.
static int64_t widestAccess(tt::FuncOp function) {
  Attribute guards = function->getAttr(ttg::guardsName);
  AxisAnalysis axes(function);
  int64_t widest = 1;
  auto look = [&](Value pointer, Value mask) {
    auto tile = dyn_cast<RankedTensorType>(pointer.getType());
    for (int64_t dim = 0; tile && dim < tile.getRank(); ++dim)
      widest = std::max(widest, axes.vectorWidth(pointer, mask, static_cast<size_t>(dim)));
  };
  function.walk([&](tt::LoadOp load) { look(load.getPtr(), load.getMask()); });
  function.walk([&](tt::StoreOp store) { look(store.getPtr(), store.getMask()); });
  if (guards) // this question must not rely on anything
    function->setAttr(ttg::guardsName, guards);
  else
    function->removeAttr(ttg::guardsName);
  return widest;
}

/// `together`: columns of the row that the threads of a block take with one access.
static void specialize(tt::FuncOp function, const RowLength &row, int64_t together, const address::FailedGuards &failedGuards) {
  for (int64_t part = fewest; part < parts; ++part) {
    int64_t bound = row.block * part / parts;
    if (bound % together) continue; // it would leave out no more than the next one
    LaunchGuard guard = guardOf(row.length, bound, false);
    if (!failedGuards.contains(guardOf(row.length, bound, true).name)) {
      ttg::relyOn(function, guardOf(row.length, bound, true));
    } else if (!failedGuards.contains(guard.name)) {
      function.setArgAttr(row.length.getArgNumber(), maxValueName, IntegerAttr::get(IntegerType::get(function.getContext(), 64), bound));
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
      if (!row || !row->length || kernel.getArgAttr(row->length.getArgNumber(), ttg::notSpecializedName)) return;
      auto [place, isNew] = rows.try_emplace(row->length.getArgNumber(), *row);
      if (!isNew && row->block > place->second.block) place->second = *row;
    });
    if (rows.empty() || failedGuards.contains(everyGuard)) return success();
    int64_t together = widestAccess(kernel) * config.getWarps() << laneBits;
    for (BlockArgument argument : kernel.getArguments())
      if (auto row = rows.find(argument.getArgNumber()); row != rows.end()) specialize(kernel, row->second, together, failedGuards);
    return success();
  });
}

} // namespace tilewright::gpu
