// Raises num_warps if the accumulators of a loop do not fit into the registers of its threads, where each dot would spill. With twice as
// many threads, each holds half of them:
//   4 warps, dk and dv of 128x128 f32 carried, scores of 128x32: 128 + 128 + 2 * 32 registers of 255       8 warps: half of that
// Only dots count: values of elementwise operations have short live ranges. Nothing changes if the accumulators fit, or if an SM does not
// have registers for twice as many threads.
#include "gpu/passes.h"
#include "gpu/tiles/demanded_extent.h"
#include "gpu/tiles/registers.h"
#include "gpu/tiles/tile_equivalence.h"
#include "gpu/tiles/ttg.h"
#include "ir/slice.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

int64_t bitsOf(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t elements = type.getNumElements();
  if (auto dot = tile.getDefiningOp<tt::DotOp>()) elements = elements / type.getShape().back() * validExtent(dot).back();
  return elements * (type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 64);
}

/// Returns the last use of the dot's result in the block, including elementwise results computed from it.
Operation *lastUse(tt::DotOp dot) {
  Block *block = dot->getBlock();
  Operation *last = dot;
  (void)tt::reaches(dot.getResult(), [&](OpOperand &use) {
    Operation *op = block->findAncestorOpInBlock(*use.getOwner());
    if (!op) return tt::Search::skip;
    if (last->isBeforeInBlock(op)) last = op;
    return isElementwiseOnTiles(op) || isa<tt::FpToFpOp>(op) ? tt::Search::follow : tt::Search::skip;
  });
  return last;
}

/// Returns the accumulator bits that are live at one time in an iteration: the loop-carried tiles, and the maximum over the dots in the
/// body.
int64_t accumulatorBitsOf(scf::ForOp loop) {
  int64_t carried = 0, maxLive = 0;
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (isTile(argument)) carried += bitsOf(loop.getTiedLoopYieldedValue(argument)->get());
  SmallVector<std::pair<tt::DotOp, Operation *>> held; // dots whose accumulators are not carried, and their last uses
  for (auto dot : loop.getBody()->getOps<tt::DotOp>())
    if (!isa<BlockArgument>(dot.getC())) held.push_back({dot, lastUse(dot)});
  for (auto [op, unused] : held) {
    int64_t live = 0;
    for (auto [other, last] : held)
      if (!op->isBeforeInBlock(other) && op->isBeforeInBlock(last)) live += bitsOf(other.getResult());
    maxLive = std::max(maxLive, live);
  }
  return held.empty() && loop.getBody()->getOps<tt::DotOp>().empty() ? 0 : carried + maxLive;
}

} // namespace

int64_t accumulatorBits(Operation *function) {
  int64_t bits = 0;
  function->walk([&](scf::ForOp loop) { bits = std::max(bits, accumulatorBitsOf(loop)); });
  return bits;
}

LogicalResult chooseWarps(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    int64_t bits = accumulatorBits(function), warps = config.getWarps();
    auto fits = [&] { return bits / 32 <= (warps << laneBits) * (target.registersPerThread - otherRegisters); };
    while (!fits() && 2 * (warps << laneBits) * target.registersPerThread <= target.registersPerSM)
      warps *= 2;
    // Inline assembly may depend on the requested number of threads.
    bool isFixed = config.getMaxRegisters() != 0;
    function.walk([&](tt::ElementwiseInlineAsmOp) { isFixed = true; });
    if (warps == config.getWarps() || isFixed) return success();
    MLIRContext *context = function.getContext();
    function->setAttr(ttg::requestedWarpsName, IntegerAttr::get(IntegerType::get(context, 64), config.getWarps()));
    function->setAttr(ttg::configName, ttg::ConfigAttr::get(context, warps, config.getCtas(), config.getStages(), config.getMaxRegisters(),
                                                            config.getTarget()));
    return success();
  });
}

} // namespace tilewright::gpu
