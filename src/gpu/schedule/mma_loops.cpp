#include "gpu/schedule/mma_loops.h"

#include "gpu/schedule/mma_waits.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

llvm::SetVector<Operation *> loopsWithMmas(tt::FuncOp function) {
  llvm::SetVector<Operation *> loops;
  function.walk([&](ttg::MmaAsyncOp mma) {
    if (auto loop = mma->getParentOfType<scf::ForOp>()) loops.insert(loop);
  });
  return loops;
}

SmallVector<ttg::MmaAsyncOp> mmasOf(scf::ForOp loop) {
  SmallVector<ttg::MmaAsyncOp> mmas;
  bool all = true;
  loop.walk([&](ttg::MmaAsyncOp mma) {
    all &= mma->getBlock() == loop.getBody();
    mmas.push_back(mma);
  });
  return all ? mmas : SmallVector<ttg::MmaAsyncOp>();
}

llvm::SetVector<Location> locationsOfMmaLoops(tt::FuncOp function) {
  llvm::SetVector<Location> locations;
  for (Operation *loop : loopsWithMmas(function))
    locations.insert(loop->getLoc());
  return locations;
}

SmallVector<DotShape> dotShapesOf(scf::ForOp loop) {
  SmallVector<DotShape> dots;
  loop.walk([&](ttg::MmaAsyncOp mma) {
    auto sum = cast<RankedTensorType>(mma.getD().getType());
    ttg::BufferType second = mma.getB().getType();
    dots.push_back({sum.getDimSize(0), sum.getDimSize(1), second.getShape()[0] * second.getLayout().layout().elementBytes()});
  });
  return dots;
}

bool hasPairedMmas(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<ttg::MmaAsyncOp>(), [](ttg::MmaAsyncOp mma) { return mma.getPaired(); });
}

bool onlyAccumulates(scf::ForOp loop) {
  bool accumulates = true;
  loop.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<tt::DotOp, tt::DotScaledOp, ttg::FmaDotOp>([&](auto dot) { accumulates &= isa<BlockArgument>(dot.getC()); })
        .Case<ttg::MmaAsyncOp>([&](ttg::MmaAsyncOp mma) { accumulates &= accumulatesInPlace(mma, loop); });
  });
  return accumulates;
}

void remarkOnLoops(tt::FuncOp function, StringRef pass, const llvm::SetVector<Location> &loops, StringRef text) {
  for (Location loop : loops)
    ttg::remark(function, pass, loop, text);
}

} // namespace tilewright::gpu
