// See accumulator_bits.h.
#include "gpu/tiles/accumulator_bits.h"

#include "gpu/cost_model/live_ranges.h"
#include "gpu/tiles/demanded_extent.h"
#include "gpu/tiles/tile_equivalence.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

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
  SmallVector<Operation *> reached = {dot};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!reached.empty()) {
    for (Operation *user : reached.pop_back_val()->getUsers()) {
      Operation *op = block->findAncestorOpInBlock(*user);
      if (!op || !seen.insert(op).second) continue;
      if (last->isBeforeInBlock(op)) last = op;
      if (isElementwiseOnTiles(op) || isa<tt::FpToFpOp>(op)) reached.push_back(op);
    }
  }
  return last;
}

/// Returns the accumulator bits that are live at one time in an iteration: the loop-carried tiles, and the maximum over the dots in the
/// body.
int64_t accumulatorBitsOf(scf::ForOp loop) {
  int64_t carried = 0;
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (isTile(argument)) carried += bitsOf(loop.getTiedLoopYieldedValue(argument)->get());
  SmallVector<LiveRange> ranges; // of accumulators that are not carried
  for (auto dot : loop.getBody()->getOps<tt::DotOp>())
    if (!isa<BlockArgument>(dot.getC())) ranges.push_back({dot, lastUse(dot), bitsOf(dot.getResult())});
  return loop.getBody()->getOps<tt::DotOp>().empty() ? 0 : carried + maxLive(ranges);
}

} // namespace

int64_t accumulatorBits(Operation *function) {
  int64_t bits = 0;
  function->walk([&](scf::ForOp loop) { bits = std::max(bits, accumulatorBitsOf(loop)); });
  return bits;
}

} // namespace tilewright::gpu
