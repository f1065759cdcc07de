// Waits for MMAs list their tiles in order, with the registers that MMAs in flight may write:
//   before: ttg.mma_async_wait %y, %sum    after: ttg.mma_async_wait %sum, %y {computed = 1, extents = [..]}
#include "gpu/thread/prepare/steps.h"
#include "gpu/ttg/mma_extent.h"
#include "gpu/ttg/tile_equivalence.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

/// 16-bit accumulators share a register, and become separate values only when the MMA has completed: lower-to-threads waits for it there.
static bool isDoneAtOnce(Value sums) {
  bool isSum = !sums.getDefiningOp() || isa<ttg::MmaAsyncOp, scf::ForOp>(sums.getDefiningOp());
  return isSum && accumulatorsOfRegister(getElementTypeOrSelf(sums.getType())) > 1;
}

namespace {
/// A wait with its tiles in order: accumulators, then values to be computed before the wait, which do not come from an MMA.
struct PreparedWait {
  ttg::MmaAsyncWaitOp op;
  SmallVector<size_t> order; ///< positions in the wait's operands
  size_t computed = 0;       ///< of them, how many at the end are to be computed first
  ArrayAttr extents;         ///< null: MMAs in flight may write all registers
};
} // namespace

static PreparedWait preparedWait(ttg::MmaAsyncWaitOp op, const Sums &partial) {
  SmallVector<size_t> accumulators, values, reductions;
  for (auto [i, tile] : llvm::enumerate(op.getTiles())) {
    Operation *from = tile.getDefiningOp();
    bool isComputed = from && isElementwiseOnTiles(from), isReduction = isa_and_nonnull<tt::ReduceOp>(from);
    (isReduction ? reductions : isComputed ? values : accumulators).push_back(i);
  }
  // A sum or another reduction stands for all the values that it combines.
  size_t computed = reductions.empty() ? values.size() : reductions.size();
  PreparedWait wait{op, llvm::to_vector(llvm::concat<size_t>(accumulators, values, reductions)), computed, {}};
  Builder b(op.getContext());
  SmallVector<Attribute> extents;
  for (size_t number : wait.order) {
    Value tile = op.getTiles()[number];
    auto sum = partial.find(tile);
    SmallVector<int64_t> extent = isDoneAtOnce(tile)     ? SmallVector<int64_t>{0, 0}
                                  : sum == partial.end() ? SmallVector<int64_t>()
                                                         : sum->second;
    extents.push_back(b.getDenseI64ArrayAttr(extent));
  }
  bool isWhole = llvm::all_of(extents, [](Attribute extent) { return cast<DenseI64ArrayAttr>(extent).empty(); });
  if (!isWhole) wait.extents = b.getArrayAttr(extents);
  return wait;
}

static void replace(const PreparedWait &wait) {
  ttg::MmaAsyncWaitOp op = wait.op;
  OpBuilder b(op);
  SmallVector<Value> tiles = llvm::map_to_vector(wait.order, [&](size_t number) { return Value(op.getTiles()[number]); });
  auto fresh = ttg::MmaAsyncWaitOp::create(b, op.getLoc(), ValueRange(tiles).getTypes(), op.getPending(), tiles, op.getDrains(),
                                           op.getNamesAll(), static_cast<uint32_t>(wait.computed), wait.extents);
  for (auto [number, result] : llvm::zip(wait.order, fresh.getResults()))
    op.getResult(static_cast<unsigned>(number)).replaceAllUsesWith(result);
  op.erase();
}

LogicalResult prepareMmaWaits(tt::FuncOp kernel, ttg::ConfigAttr) {
  Sums partial = partialSums(kernel);
  std::vector<PreparedWait> waits;
  kernel.walk([&](ttg::MmaAsyncWaitOp op) { waits.push_back(preparedWait(op, partial)); });
  for (const PreparedWait &wait : waits)
    replace(wait);
  return success();
}

} // namespace tilewright::gpu
