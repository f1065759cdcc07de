#include "gpu/ttg/mma_extent.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

ArrayRef<int64_t> mmaExtent(ttg::MmaAsyncOp wgmma) {
  return wgmma.getExtent().value_or(ArrayRef<int64_t>());
}

bool isInMmaExtent(const Layout &layout, ArrayRef<int64_t> extent, int64_t reg) {
  if (extent.empty()) return true;
  Dims first = coordinatesOf(layout.shape, layout.apply(reg, 0, 0)); // other threads hold later rows and columns
  return first[0] < extent[0] && first[1] < extent[1];
}

int64_t mmaRegisters(ttg::MmaAsyncOp wgmma) {
  Layout layout = ttg::layoutOf(wgmma.getType());
  int64_t count = 0;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    count += isInMmaExtent(layout, mmaExtent(wgmma), reg);
  return count;
}

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

} // namespace tilewright::gpu
