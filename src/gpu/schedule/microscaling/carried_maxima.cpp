#include "gpu/schedule/microscaling/carried_maxima.h"

#include "gpu/cost_model/hardware.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/partitions/operand_partition.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

static ttg::BufferType plainBuffer(RankedTensorType tile) {
  SharedLayout plain = SharedLayout::rowMajor(ttg::shapeOf(tile), tile.getElementTypeBitWidth(), {1, 0});
  return ttg::BufferType::get(tile.getContext(), 1, tile.getElementType(), ttg::SharedAttr::get(tile.getContext(), plain));
}

Operation *ownUpdateOf(scf::ForOp loop, unsigned i) {
  BlockArgument carried = loop.getRegionIterArg(i);
  Operation *made = loop.getTiedLoopYieldedValue(carried)->get().getDefiningOp();
  bool alone = isTile(carried) && carried.hasOneUse() && made && *carried.user_begin() == made && made->hasOneUse();
  return alone && isElementwiseOnTiles(made) && made->getNumOperands() == 2 ? made : nullptr;
}

namespace {

class MaximaCarrier {
public:
  MaximaCarrier(scf::ForOp loop, Relayout &left, Relayout &right) : loop(loop), left(left), right(right), b(loop.getContext()) {}

  /// Tiles that the loop carries only for themselves are computed in the layout in which what they are made of is loaded.
  scf::ForOp run() {
    for (unsigned i = 0, end = loop.getNumRegionIterArgs(); i < end; ++i) {
      BlockArgument carried = loop.getRegionIterArg(i);
      Operation *made = ownUpdateOf(loop, i);
      if (!made) continue;
      Value other = made->getOperand(made->getOperand(0) == carried ? 1 : 0);
      for (Relayout *side : {&right, &left}) {
        std::optional<Layout> layout = side->layoutOfLoads(ttg::shapeOf(carried.getType()));
        if (!layout || !side->canMakeOfLoads(other, *layout) || !side->canMake(firstInit(i), *layout)) continue;
        carryIn(i, made, other, *side, *layout);
        break;
      }
    }
    return loop;
  }

private:
  /// The loop over tiles that carries on what the loop begins with and carries as well, and has no other use in it; or null.
  scf::ForOp tilesOf(unsigned i) {
    auto init = dyn_cast<BlockArgument>(loop.getInitArgs()[i]);
    scf::ForOp tiles = topLevelLoopAround(loop);
    if (!init || !tiles || init.getOwner() != tiles.getBody() || init == tiles.getInductionVar() || !init.hasOneUse()) return {};
    bool goesOn = loop.getResult(i).hasOneUse() && tiles.getTiedLoopYieldedValue(init)->get() == loop.getResult(i);
    return goesOn ? tiles : scf::ForOp();
  }

  /// What the loop begins with, in the first tile.
  Value firstInit(unsigned i) {
    Value init = loop.getInitArgs()[i];
    scf::ForOp tiles = tilesOf(i);
    return tiles ? tiles.getTiedLoopInit(cast<BlockArgument>(init))->get() : init;
  }

  void carryIn(unsigned i, Operation *made, Value other, Relayout &side, const Layout &layout) {
    Value value = side.make(other, layout), init = side.make(firstInit(i), layout);
    bool isFirst = made->getOperand(0) == loop.getRegionIterArg(i);
    scf::ForOp tiles = tilesOf(i);
    if (tiles) {
      tiles = withMoreCarried(tiles, init);
      init = tiles.getRegionIterArgs().back();
    }
    loop = withMoreCarried(loop, init);
    Value fresh = loop.getRegionIterArgs().back();
    b.setInsertionPointAfter(made);
    Value next = tt::cloneAs(b, made, isFirst ? ValueRange{fresh, value} : ValueRange{value, fresh}, fresh.getType());
    Operation *yield = loop.getBody()->getTerminator();
    yield->setOperand(i, loop.getRegionIterArg(i));
    yield->insertOperands(yield->getNumOperands(), next);
    OpResult old = loop->getResult(i), result = loop->getResults().back();
    if (tiles) {
      OpOperand &use = *old.use_begin();
      unsigned number = use.getOperandNumber();
      use.set(tiles.getRegionIterArg(number));
      tiles.getBody()->getTerminator()->insertOperands(tiles.getNumRegionIterArgs() - 1, result);
      old = tiles->getResult(number);
      result = tiles->getResults().back();
    }
    b.setInsertionPointAfter(old.getOwner());
    if (&side == &left)
      old.replaceAllUsesWith(ttg::ConvertLayoutOp::create(b, old.getLoc(), old.getType(), result).getResult());
    else if (!forwardCompared(old, result))
      old.replaceAllUsesWith(forwardBytes(result, cast<RankedTensorType>(old.getType())));
  }

  /// Where the consumers only compare the tile with a constant, they get what that gives, a byte each. That takes little of shared memory,
  /// next to circular buffers and a tile's buffer that are in use throughout a loop over tiles.
  bool forwardCompared(OpResult old, Value tile) {
    auto compared = old.hasOneUse() ? dyn_cast<arith::CmpIOp>(*old.user_begin()) : arith::CmpIOp();
    DenseIntElementsAttr limit;
    if (!compared || compared.getLhs() != old || !matchPattern(compared.getRhs(), m_Constant(&limit)) || !limit.isSplat()) return false;
    Location loc = compared.getLoc();
    auto type = cast<RankedTensorType>(compared.getType());
    auto bytes = cast<RankedTensorType>(type.clone(b.getI8Type()));
    auto own = [&](RankedTensorType like) { return ttg::withLayout(like, ttg::layoutOf(tile.getType())); };
    Value maximum = arith::ConstantOp::create(b, loc, limit.resizeSplat(cast<ShapedType>(tile.getType())));
    Value found = arith::CmpIOp::create(b, loc, compared.getPredicate(), tile, maximum);
    Value passed = forwardBytes(arith::ExtUIOp::create(b, loc, own(bytes), found), bytes);
    b.setInsertionPoint(compared);
    Value zero = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(bytes, Attribute(b.getI8IntegerAttr(0))));
    compared.replaceAllUsesWith(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, passed, zero).getResult());
    compared.erase();
    return true;
  }

  /// The tile that the third warpgroup has computed, in a layout of the consumers.
  Value forwardBytes(Value tile, RankedTensorType type) {
    Location loc = tile.getLoc();
    Value buffer = ttg::AllocOp::create(b, loc, plainBuffer(type), ttg::Lifetime::throughout);
    auto zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    Value made = allocBarriers(loop->getParentOfType<tt::FuncOp>(), 1, warpsOfGroup);
    markOperandPartition(ttg::StoreSharedOp::create(b, loc, tile, buffer));
    markOperandPartition(ttg::BarrierArriveOp::create(b, loc, made, zero, Value()));
    ttg::BarrierWaitOp::create(b, loc, made, zero, zero);
    return ttg::LoadSharedOp::create(b, loc, type, buffer);
  }

  scf::ForOp loop;
  Relayout &left, &right;
  OpBuilder b;
};

} // namespace

scf::ForOp carryMaxima(scf::ForOp loop, Relayout &left, Relayout &right) {
  return MaximaCarrier(loop, left, right).run();
}

} // namespace tilewright::gpu
