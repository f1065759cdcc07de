#include "gpu/schedule/dequantize/carried_reductions.h"

#include "gpu/schedule/entry_values.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/slice.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

/// Returns the elementwise operation of two operands that makes the next value of a tile that the loop carries, if nothing else in the loop
/// uses that tile, and the next value has no other use; null otherwise. `number`: of the carried value.
static Operation *reductionOf(scf::ForOp loop, unsigned number) {
  BlockArgument carried = loop.getRegionIterArg(number);
  Operation *next = loop.getTiedLoopYieldedValue(carried)->get().getDefiningOp();
  bool alone = isTile(carried) && carried.hasOneUse() && next && *carried.user_begin() == next && next->hasOneUse();
  bool isNumber = getElementTypeOrSelf(carried.getType()).isIntOrFloat();
  return alone && isNumber && isElementwiseOnTiles(next) && next->getNumOperands() == 2 ? next : nullptr;
}

bool reducesTiles(scf::ForOp loop) {
  return llvm::any_of(llvm::seq(loop.getNumRegionIterArgs()), [&](unsigned number) { return reductionOf(loop, number) != nullptr; });
}

/// Returns the loop over tiles that begins each tile's loop with the carried value of the previous one, and does not use it otherwise; or
/// null.
static scf::ForOp tilesThatCarry(scf::ForOp loop, unsigned number) {
  auto init = dyn_cast<BlockArgument>(loop.getInitArgs()[number]);
  scf::ForOp tiles = topLevelLoopAround(loop);
  if (!init || !tiles || init.getOwner() != tiles.getBody() || init == tiles.getInductionVar() || !init.hasOneUse()) return {};
  OpResult result = loop->getResult(number);
  return result.hasOneUse() && tiles.getTiedLoopYieldedValue(init)->get() == result ? tiles : scf::ForOp();
}

/// Returns the value with which the reduction begins, in the first tile.
static Value firstInit(scf::ForOp loop, unsigned number) {
  Value init = loop.getInitArgs()[number];
  scf::ForOp tiles = tilesThatCarry(loop, number);
  return tiles ? tiles.getTiedLoopInit(cast<BlockArgument>(init))->get() : init;
}

/// Returns the result of the reduction, after the last tile.
static OpResult resultOf(scf::ForOp loop, unsigned number) {
  OpResult result = loop->getResult(number);
  scf::ForOp tiles = tilesThatCarry(loop, number);
  return tiles ? tiles->getResult(result.use_begin()->getOperandNumber()) : result;
}

/// Returns the comparison with a constant that is the only use of the tile; or null. The consumers then need its result only.
static arith::CmpIOp comparisonOf(Value tile, DenseIntElementsAttr &limit) {
  auto compared = tile.hasOneUse() ? dyn_cast<arith::CmpIOp>(*tile.user_begin()) : arith::CmpIOp();
  bool isLimit = compared && compared.getLhs() == tile && matchPattern(compared.getRhs(), m_Constant(&limit)) && limit.isSplat();
  return isLimit ? compared : arith::CmpIOp();
}

static ttg::BufferType bufferFor(RankedTensorType tile) {
  auto plain = SharedLayout::rowMajor(ttg::shapeOf(tile), ttg::elementBits(tile), rowMajorOrder(tile.getRank()));
  return ttg::BufferType::get(1, tile.getElementType(), plain);
}

static RankedTensorType inBytes(Type tile) {
  return cast<RankedTensorType>(cast<RankedTensorType>(tile).clone(IntegerType::get(tile.getContext(), 8)));
}

//===---------------------------------------------------------------------------------------------------------------- plan

/// A reduction in the loop over tiles stays where it is if each tile begins a new one: its barrier would have a phase for each tile.
std::optional<CarriedReductions::Reduction> CarriedReductions::planned(scf::ForOp loop, unsigned number) {
  Operation *next = reductionOf(loop, number);
  if (!next) return {};
  BlockArgument carried = loop.getRegionIterArg(number);
  Value reduced = next->getOperand(next->getOperand(0) == carried ? 1 : 0);
  bool eachTile = topLevelLoopAround(loop) && !tilesThatCarry(loop, number);
  for (Relayout *side : {&byPartition, &byConsumers}) {
    std::optional<Layout> layout = side->layoutOfLoads(ttg::shapeOf(carried.getType()));
    if (!layout || (eachTile && side == &byPartition) || !side->needsNoLoads(reduced, *layout)) continue;
    if (side->plan(firstInit(loop, number), *layout)) return Reduction{number, side, *layout};
  }
  return {};
}

void CarriedReductions::plan(scf::ForOp loop) {
  for (unsigned number : llvm::seq(loop.getNumRegionIterArgs())) {
    std::optional<Reduction> reduction = planned(loop, number);
    if (!reduction) continue;
    reductions.push_back(*reduction);
    if (reduction->side == &byConsumers) continue;
    Value result = resultOf(loop, number);
    DenseIntElementsAttr limit;
    Type held = comparisonOf(result, limit) ? inBytes(result.getType()) : result.getType();
    forwardedBytes += llvm::alignTo(bufferFor(cast<RankedTensorType>(held)).paddedTileBytes(), plainAlignment);
  }
}

//===------------------------------------------------------------------------------------------------------------- rewrite

/// Returns the tile that the partition has computed, in a layout of the consumers.
static Value forward(OpBuilder &b, Value tile, RankedTensorType type) {
  Location loc = tile.getLoc();
  Value buffer = ttg::AllocOp::create(b, loc, bufferFor(type), ttg::Lifetime::throughout);
  auto zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value made = allocBarriers(zero->getParentOfType<tt::FuncOp>(), 1, warpsOfGroup);
  markOperandPartition(ttg::StoreSharedOp::create(b, loc, tile, buffer));
  markOperandPartition(ttg::BarrierArriveOp::create(b, loc, made, zero, Value()));
  ttg::BarrierWaitOp::create(b, loc, made, zero, zero);
  return ttg::LoadSharedOp::create(b, loc, type, buffer);
}

/// Replaces the result by what the partition computes. If the consumers only compare it with a constant, the partition does that, and
/// forwards a byte for each element: circular buffers leave little shared memory.
static void forwardResult(OpBuilder &b, OpResult old, Value tile) {
  DenseIntElementsAttr limit;
  arith::CmpIOp compared = comparisonOf(old, limit);
  if (!compared) {
    old.replaceAllUsesWith(forward(b, tile, cast<RankedTensorType>(old.getType())));
    return;
  }
  Location loc = compared.getLoc();
  RankedTensorType bytes = inBytes(compared.getType());
  Value bound = arith::ConstantOp::create(b, loc, limit.resizeSplat(cast<ShapedType>(tile.getType())));
  Value found = arith::CmpIOp::create(b, loc, compared.getPredicate(), tile, bound);
  Value passed = forward(b, arith::ExtUIOp::create(b, loc, inBytes(tile.getType()), found), bytes);
  b.setInsertionPoint(compared);
  Value zero = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(bytes, Attribute(b.getI8IntegerAttr(0))));
  compared.replaceAllUsesWith(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, passed, zero).getResult());
  compared.erase();
}

scf::ForOp CarriedReductions::move(scf::ForOp loop) {
  OpBuilder b(loop.getContext());
  for (const auto &[number, side, layout] : reductions) {
    Operation *next = reductionOf(loop, number);
    unsigned own = next->getOperand(0) == loop.getRegionIterArg(number) ? 0 : 1; // the operand that the loop carries
    Value reduced = side->make(next->getOperand(1 - own), layout), init = side->make(firstInit(loop, number), layout);
    OpResult old = resultOf(loop, number), result;
    scf::ForOp tiles = tilesThatCarry(loop, number);
    unsigned numberInTiles = old.getResultNumber();
    if (tiles) {
      tiles = withMoreCarried(tiles, init);
      init = tiles.getRegionIterArgs().back();
    }
    loop = withMoreCarried(loop, init);
    Value carried = loop.getRegionIterArgs().back();
    b.setInsertionPointAfter(next);
    Value fresh = tt::cloneAs(b, next, own == 0 ? ValueRange{carried, reduced} : ValueRange{reduced, carried}, carried.getType());
    loop.getBody()->getTerminator()->setOperand(number, loop.getRegionIterArg(number));
    appendYielded(loop, fresh);
    old = loop->getResult(number);
    result = loop->getResults().back();
    if (tiles) {
      tiles.getBody()->getTerminator()->setOperand(numberInTiles, tiles.getRegionIterArg(numberInTiles));
      appendYielded(tiles, result);
      old = tiles->getResult(numberInTiles);
      result = tiles->getResults().back();
    }
    b.setInsertionPointAfter(old.getOwner());
    if (side == &byConsumers)
      old.replaceAllUsesWith(ttg::ConvertLayoutOp::create(b, old.getLoc(), old.getType(), result).getResult());
    else
      forwardResult(b, old, result);
  }
  return loop;
}

} // namespace tilewright::gpu
