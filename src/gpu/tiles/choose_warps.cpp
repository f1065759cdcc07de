// num_warps is what an author has tuned for some compiler and some machine. The accumulators of a loop may not fit into the registers of so
// few threads: each product would go to memory and back. A program of twice as many threads computes the same, with half of them in each:
//   4 warps, dk and dv of 128x128 f32 carried, scores of 128x32: 128 + 128 + 2 * 32 registers of 255       8 warps: half of that
// Only products count: what is computed element by element is needed for a moment. Nothing is changed where they fit, or where twice as
// many threads would have no more registers together.
#include "gpu/passes.h"
#include "gpu/tiles/valid_extent.h"
#include "gpu/tiles/registers.h"
#include "gpu/tiles/tile_equivalence.h"
#include "gpu/tiles/ttg.h"
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

/// The last place in the block where the product's result is held: through what is made of it element by element, up to another product.
Operation *lastUse(tt::DotOp dot) {
  Block *block = dot->getBlock();
  Operation *last = dot;
  SmallVector<Operation *> reached = {dot};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!reached.empty()) {
    for (Operation *user : reached.pop_back_val()->getUsers()) {
      Operation *here = block->findAncestorOpInBlock(*user);
      if (!here || !seen.insert(here).second) continue;
      if (last->isBeforeInBlock(here)) last = here;
      if (isElementwiseOnTiles(here) || isa<tt::FpToFpOp>(here)) reached.push_back(here);
    }
  }
  return last;
}

/// Bits of the accumulators that are held at one time in an iteration: what it carries, and the results that live at its fullest product.
int64_t accumulatorBitsOf(scf::ForOp loop) {
  int64_t carried = 0, most = 0;
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (isTile(argument)) carried += bitsOf(loop.getTiedLoopYieldedValue(argument)->get());
  SmallVector<std::pair<tt::DotOp, Operation *>> held; // products whose sums are not carried, and their last uses
  for (auto dot : loop.getBody()->getOps<tt::DotOp>())
    if (!isa<BlockArgument>(dot.getC())) held.push_back({dot, lastUse(dot)});
  for (auto [here, unused] : held) {
    int64_t live = 0;
    for (auto [other, last] : held)
      if (!here->isBeforeInBlock(other) && here->isBeforeInBlock(last)) live += bitsOf(other.getResult());
    most = std::max(most, live);
  }
  return held.empty() && loop.getBody()->getOps<tt::DotOp>().empty() ? 0 : carried + most;
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
    // Assembly of the author's may count on the threads that he has asked for.
    bool isFixed = config.getMaxRegisters() != 0;
    function.walk([&](tt::ElementwiseInlineAsmOp) { isFixed = true; });
    if (warps == config.getWarps() || isFixed) return success();
    MLIRContext *context = function.getContext();
    function->setAttr(requestedWarpsName, IntegerAttr::get(IntegerType::get(context, 64), config.getWarps()));
    function->setAttr(ttg::configName, ttg::ConfigAttr::get(context, warps, config.getCtas(), config.getStages(), config.getMaxRegisters(),
                                                            config.getTarget()));
    return success();
  });
}

} // namespace tilewright::gpu
