// A loop over K usually carries a tile of pointers and advances all of them by the same amount. A carried tile would need memory or
// registers, and later passes could not see its structure. This pass carries one scalar instead and recomputes the tile at its uses.
//   before: %r = scf.for ... iter_args(%p = %start) { ... scf.yield (tt.addptr %p, tt.splat %step) }
//   after:  %d = scf.for ... iter_args(%m = 0)      { %p = tt.addptr %start, tt.splat %m ... scf.yield (%m + %step) }
//           %r = tt.addptr %start, tt.splat %d
// The scalar of an integer tile has the tile's element type, so it wraps around as the tile does. The scalar of pointers is i64. Steps are
// extended before they are added, as in tt.addptr, so the sum may exceed the type of a step. Inner loops and branches go first and leave
// chains again.
//
// A tile whose elements are all equal, as the weight of Welford's algorithm, becomes a scalar, too, in loops and branches of any nesting:
//   before: scf.for ... iter_args(%w = dense<0.0>) { ... scf.yield (arith.addf %w, dense<1.0>) }
//   after:  scf.for ... iter_args(%w = 0.0)        { ... scf.yield (arith.addf %w, 1.0) }        tt.splat %w where the tile was used
#include "ir/passes.h"
#include "ir/slice.h"
#include "ir/tt.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright;

namespace {

bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

bool isSplat(Value tile) {
  DenseElementsAttr constant;
  return tile.getDefiningOp<tt::SplatOp>() || (matchPattern(tile, m_Constant(&constant)) && constant.isSplat());
}

bool isControlFlow(Operation *op) {
  return isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op);
}

/// True if the elements of the operation's result are equal where those of its operands are.
bool keepsEqual(Operation *op) {
  if (isa<tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp>(op)) return true;
  return op->hasTrait<OpTrait::Elementwise>() && !isa<tt::ElementwiseInlineAsmOp>(op) && isPure(op) && op->getNumResults() == 1 &&
         op->getNumOperands() != 0;
}

/// The tiles whose elements are all equal. Differences spread from loads, ranges and the like to what is computed from them, and through
/// what loops carry and branches return. Tiles that they do not reach are equal in every iteration.
class EqualTiles {
public:
  explicit EqualTiles(Operation *root) {
    SmallVector<Value> open;
    auto add = [&](Value value, bool mayBeEqual) {
      if (isTile(value) && mayBeEqual) tiles.insert(value);
      if (isTile(value) && !mayBeEqual) open.push_back(value);
    };
    root->walk([&](Operation *op) {
      for (Value result : op->getResults())
        add(result, isControlFlow(op) || keepsEqual(op) || isSplat(result));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            add(argument, isControlFlow(op));
    });
    auto spread = [&](Value value) {
      if (tiles.erase(value)) open.push_back(value);
    };
    while (!open.empty())
      for (OpOperand &use : open.pop_back_val().getUses()) {
        if (keepsEqual(use.getOwner())) spread(use.getOwner()->getResult(0));
        llvm::for_each(tt::receiversOf(use), spread);
      }
  }

  /// Knows the tiles at its construction, and all splats.
  bool contains(Value tile) const { return tiles.contains(tile) || isSplat(tile); }

private:
  DenseSet<Value> tiles;
};

/// Computes the scalars that all elements of equal tiles have, each where its tile is defined.
class EqualScalars {
public:
  Value of(Value tile) {
    if (!isTile(tile)) return tile;
    if (auto known = made.find(tile); known != made.end()) return known->second;
    Value scalar = make(tile);
    return made[tile] = scalar;
  }

private:
  Value make(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (auto splat = dyn_cast<tt::SplatOp>(op)) return splat.getSrc();
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    DenseElementsAttr constant;
    if (matchPattern(tile, m_Constant(&constant)))
      return arith::ConstantOp::create(b, tile.getLoc(), cast<TypedAttr>(constant.getSplatValue<Attribute>()));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(of(operand));
    return op->hasTrait<OpTrait::Elementwise>() ? tt::cloneAs(b, op, operands, getElementTypeOrSelf(tile.getType())) : operands.front();
  }

  DenseMap<Value, Value> made;
};

/// Makes scalars of the equal tiles that loops carry and branches return.
void scalarizeEqual(Operation *root, const EqualTiles &equal, EqualScalars &scalars) {
  SetVector<Value> passed;
  SmallVector<OpOperand *> sources;
  root->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      for (Value receiver : tt::receiversOf(operand))
        if (equal.contains(receiver)) passed.insert(receiver), sources.push_back(&operand);
  });
  for (Value tile : passed) {
    auto type = cast<RankedTensorType>(tile.getType());
    OpBuilder b(root->getContext());
    b.setInsertionPointAfterValue(tile);
    tile.setType(type.getElementType());
    auto splat = tt::SplatOp::create(b, tile.getLoc(), type, tile);
    tile.replaceAllUsesExcept(splat, splat);
  }
  for (OpOperand *source : sources)
    source->set(scalars.of(source->get()));
}

/// A tile that is another one plus or minus equal tiles.
struct Chain {
  struct Move {
    Value offset;
    bool minus;
  };
  Value start;
  SmallVector<Move> moves; // the last one first
};

/// Replaces tiles that move by equal amounts: carried by loops, and returned by branches.
class Mover {
public:
  Mover(const EqualTiles &equal, EqualScalars &scalars) : equal(equal), scalars(scalars) {}

  void scalarize(scf::ForOp loop) {
    for (auto [index, arg] : llvm::enumerate(loop.getRegionIterArgs())) {
      OpOperand *init = loop.getTiedLoopInit(arg), *next = loop.getTiedLoopYieldedValue(arg);
      Chain chain = chainOf(next->get(), loop.getBody());
      if (!canMove(chain, arg)) continue;
      Value start = init->get();
      OpBuilder b(loop);
      init->set(noDistance(b, start));
      replaceByDistance(arg, start);
      next->set(moved(loop.getBody(), arg, chain));
      replaceByDistance(loop.getResult(unsigned(index)), start);
    }
  }

  /// Handles a while loop whose condition passes the tile unchanged: argument before -> argument after -> chain -> argument before.
  void scalarize(scf::WhileOp loop) {
    scf::ConditionOp condition = loop.getConditionOp();
    for (auto [index, arg] : llvm::enumerate(loop.getBeforeArguments())) {
      auto passed = llvm::find(condition.getArgs(), arg);
      if (passed == condition.getArgs().end() || llvm::count(condition.getArgs(), arg) != 1) continue;
      auto position = static_cast<unsigned>(std::distance(condition.getArgs().begin(), passed));
      BlockArgument after = loop.getAfterArguments()[position];
      OpOperand &init = loop->getOpOperand(unsigned(index)), &next = loop.getYieldOp()->getOpOperand(unsigned(index));
      Chain chain = chainOf(next.get(), loop.getAfterBody());
      if (!canMove(chain, after)) continue;
      Value start = init.get();
      OpBuilder b(loop);
      init.set(noDistance(b, start));
      replaceByDistance(arg, start);
      condition.getArgsMutable()[position].assign(arg);
      replaceByDistance(after, start);
      next.set(moved(loop.getAfterBody(), after, chain));
      replaceByDistance(loop.getResult(position), start);
    }
  }

  /// Handles a branch that moves one tile by different amounts.
  void scalarize(scf::IfOp branch) {
    for (OpResult result : branch.getResults()) {
      unsigned index = result.getResultNumber();
      OpOperand &yes = branch.thenYield()->getOpOperand(index), &no = branch.elseYield()->getOpOperand(index);
      Chain chains[] = {chainOf(yes.get(), branch.thenBlock()), chainOf(no.get(), branch.elseBlock())};
      Value start = chains[0].start;
      bool moves = canMove(chains[0], start) || canMove(chains[1], start);
      if (!moves || chains[1].start != start || !fits(chains[0]) || !fits(chains[1])) continue;
      OpBuilder b(branch);
      Value none = noDistance(b, start);
      yes.set(moved(branch.thenBlock(), none, chains[0]));
      no.set(moved(branch.elseBlock(), none, chains[1]));
      replaceByDistance(result, start);
    }
  }

private:
  /// Follows the moves inside `body` back from `next`.
  Chain chainOf(Value next, Block *body) const {
    Chain chain{next, {}};
    while (Operation *op = chain.start.getDefiningOp()) {
      if (op->getBlock() != body || !isa<tt::AddPtrOp, arith::AddIOp, arith::SubIOp>(op) || !isTile(chain.start)) break;
      bool isSecond = equal.contains(op->getOperand(1));
      if (!isSecond && !(isa<arith::AddIOp>(op) && equal.contains(op->getOperand(0)))) break;
      chain.moves.push_back({op->getOperand(isSecond ? 1 : 0), isa<arith::SubIOp>(op)});
      chain.start = op->getOperand(isSecond ? 0 : 1);
    }
    return chain;
  }

  /// Returns the type of the carried scalar.
  static Type distanceType(Type tile) {
    Type element = getElementTypeOrSelf(tile);
    return isa<tt::PointerType>(element) ? IntegerType::get(element.getContext(), 64) : element;
  }

  /// True if the distance can represent all moves. It cannot represent steps wider than i64.
  static bool fits(const Chain &chain) {
    int64_t width = distanceType(chain.start.getType()).getIntOrFloatBitWidth();
    return llvm::all_of(
        chain.moves, [&](const Chain::Move &move) { return getElementTypeOrSelf(move.offset.getType()).getIntOrFloatBitWidth() <= width; });
  }

  static bool canMove(const Chain &chain, Value start) { return chain.start == start && !chain.moves.empty() && fits(chain); }

  static Value noDistance(OpBuilder &b, Value start) {
    return arith::ConstantOp::create(b, start.getLoc(), b.getIntegerAttr(distanceType(start.getType()), 0));
  }

  /// Returns the distance after the moves of a chain, at the end of its block.
  Value moved(Block *block, Value distance, const Chain &chain) {
    OpBuilder b(block->getTerminator());
    Type type = distance.getType();
    for (const Chain::Move &move : llvm::reverse(chain.moves)) {
      Location loc = move.offset.getLoc();
      Value step = scalars.of(move.offset);
      if (step.getType() != type) step = arith::ExtSIOp::create(b, loc, type, step);
      Operation *next =
          move.minus ? arith::SubIOp::create(b, loc, type, distance, step) : arith::AddIOp::create(b, loc, type, distance, step);
      distance = next->getResult(0);
    }
    return distance;
  }

  /// Replaces a tile (a block argument or a result) by the distance. Its users then read `start` moved by the distance.
  static void replaceByDistance(Value tile, Value start) {
    auto type = cast<RankedTensorType>(start.getType());
    OpBuilder b(type.getContext());
    b.setInsertionPointAfterValue(tile);
    tile.setType(distanceType(type));
    auto splat = tt::SplatOp::create(b, tile.getLoc(), tt::withElement(type, tile.getType()), tile);
    bool isPointer = isa<tt::PointerType>(type.getElementType());
    Operation *sum = isPointer ? tt::AddPtrOp::create(b, tile.getLoc(), type, start, splat)
                               : arith::AddIOp::create(b, tile.getLoc(), type, start, splat);
    tile.replaceUsesWithIf(sum->getResult(0), [&](OpOperand &use) { return use.getOwner() != splat; });
  }

  const EqualTiles &equal;
  EqualScalars &scalars;
};

} // namespace

LogicalResult tilewright::scalarizeCarried(ModuleOp module) {
  EqualTiles equal(module);
  EqualScalars scalars;
  scalarizeEqual(module, equal, scalars);
  Mover mover(equal, scalars);
  module.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) mover.scalarize(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op)) mover.scalarize(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch.getNumResults() != 0) mover.scalarize(branch);
  });
  return success();
}
