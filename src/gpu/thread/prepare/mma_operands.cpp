// What MMAs read: accumulators that start from zero are not read, and addresses of operands are computed again in each iteration if the
// loop has many of them, because ptxas would keep all in registers.
//   before: ttg.mma_async %a, %b, %zeros     after: %z = ttg.loop_variant_zero %s    ttg.mma_async %a, %b, %zeros useC %false bZero %z
#include "gpu/cost_model/thresholds.h"
#include "gpu/thread/prepare/steps.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

/// The warps that run an operation.
static int64_t warpsOf(Operation *op, int64_t kernelWarps) {
  for (Region *region = op->getParentRegion(); region; region = region->getParentRegion())
    if (auto partitions = dyn_cast<ttg::WarpSpecializeOp>(region->getParentOp()); partitions && region != &partitions.getDefaultRegion())
      return partitions.getPartitionNumWarps()[region->getRegionNumber() - 1];
  return kernelWarps;
}

/// True if all iterations of the loop read the same bytes through the buffer.
static bool isConstant(Value buffer, scf::ForOp loop) {
  for (Operation *op = buffer.getDefiningOp(); op && loop->isAncestor(op); op = op->getOperand(0).getDefiningOp()) {
    if (isa<ttg::AllocOp>(op)) return true;
    auto stage = dyn_cast<ttg::StageOp>(op);
    if (stage ? !loop.isDefinedOutsideOfLoop(stage.getIndex()) : !isa<ttg::ViewOp>(op)) return false;
  }
  return true;
}

/// True if the MMAs of the loop have many loop-invariant descriptors. There is one for each step along K, and for each 64 rows of a
/// warpgroup or for all columns.
static bool hasManyConstantDescriptors(scf::ForOp loop, int64_t warps) {
  int64_t descriptors = 0;
  for (auto mma : loop.getBody()->getOps<ttg::MmaAsyncOp>()) {
    ttg::BufferType second = mma.getB().getType();
    int64_t steps = llvm::divideCeil(second.getShape()[0] * ttg::elementBits(second.getElementType()) / 8, mmaDepthBytes);
    auto first = dyn_cast<ttg::BufferType>(mma.getA().getType());
    if (first && isConstant(mma.getA(), loop))
      descriptors += steps * llvm::divideCeil(first.getShape()[0] / (warps / warpsOfGroup), wgmmaRows);
    if (isConstant(mma.getB(), loop)) descriptors += steps;
  }
  return descriptors >= minDescriptorsToRecompute;
}

/// Returns a loop-variant zero for an access to the buffer; null if the buffer changes with the loop, or if there are few such values.
static Value loopVariantZero(Operation *op, Value buffer, int64_t kernelWarps) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || !isConstant(buffer, loop) || !hasManyConstantDescriptors(loop, warpsOf(op, kernelWarps))) return {};
  OpBuilder b(op);
  for (auto stage : loop.getBody()->getOps<ttg::StageOp>())
    if (stage->isBeforeInBlock(op) && !isConstant(stage, loop)) return ttg::LoopVariantZeroOp::create(b, op->getLoc(), stage);
  return {};
}

static void prepareMma(ttg::MmaAsyncOp op, int64_t kernelWarps) {
  OpBuilder b(op);
  // An MMA that starts from zero does not read the accumulators, so no instruction has to clear them.
  if (!op.getUseC() && tt::isZeros(op.getC())) op.getUseCMutable().assign(arith::ConstantOp::create(b, op.getLoc(), b.getBoolAttr(false)));
  if (Value zero = loopVariantZero(op, op.getB(), kernelWarps)) op.getBZeroMutable().assign(zero);
  if (!isa<ttg::BufferType>(op.getA().getType())) return;
  if (Value zero = loopVariantZero(op, op.getA(), kernelWarps)) op.getAZeroMutable().assign(zero);
}

LogicalResult prepareMmaOperands(tt::FuncOp kernel, ttg::ConfigAttr config) {
  kernel.walk([&](ttg::MmaAsyncOp mma) { prepareMma(mma, config.getWarps()); });
  kernel.walk([&](ttg::StoreSharedOp store) {
    if (Value zero = loopVariantZero(store, store.getBuffer(), config.getWarps())) store.getZeroMutable().assign(zero);
  });
  return success();
}

} // namespace tilewright::gpu
