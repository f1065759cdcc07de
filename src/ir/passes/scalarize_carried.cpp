// A loop over K usually carries a tile of pointers and advances all of them by the same amount. A carried tile would need memory or
// registers, and later passes could not see its structure. This pass carries one scalar instead and recomputes the tile at its uses.
//   before: %r = scf.for ... iter_args(%p = %start) { ... scf.yield (tt.addptr %p, tt.splat %step) }
//   after:  %d = scf.for ... iter_args(%m = 0)      { %p = tt.addptr %start, tt.splat %m ... scf.yield (%m + %step) }
//           %r = tt.addptr %start, tt.splat %d
// A carried tile whose elements are all equal, as the weight of Welford's algorithm, becomes a scalar, too:
//   before: scf.for ... iter_args(%w = dense<0.0>) { ... scf.yield (arith.addf %w, dense<1.0>) }
//   after:  scf.for ... iter_args(%w = 0.0)        { ... scf.yield (arith.addf %w, 1.0) }        tt.splat %w where the tile was used
// The scalar of an integer tile has the tile's element type, so it wraps around as the tile does. The scalar of pointers is i64. Steps are
// extended before they are added, as in tt.addptr, so the sum may exceed the type of a step. Inner loops go first and leave chains again.
#include "ir/passes.h"
#include "ir/slice.h"
#include "ir/tt.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// Tiles whose elements all equal one scalar, without any loop's help. `get` may create operations at the insertion point, where the tile
/// must be visible.
class Uniform {
public:
  static bool is(Value tile) {
    DenseElementsAttr constant;
    if (matchPattern(tile, m_Constant(&constant))) return constant.isSplat();
    Operation *op = tile.getDefiningOp();
    if (!op || op->getNumResults() != 1) return false;
    if (isa<tt::SplatOp>(op)) return true;
    if (isa<tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp>(op)) return is(op->getOperand(0));
    return isScalarizable(op) && llvm::all_of(op->getOperands(), [](Value v) { return !isa<RankedTensorType>(v.getType()) || is(v); });
  }

  static Value get(OpBuilder &b, Value tile) {
    if (!isa<RankedTensorType>(tile.getType())) return tile;
    DenseElementsAttr constant;
    if (matchPattern(tile, m_Constant(&constant)))
      return arith::ConstantOp::create(b, tile.getLoc(), cast<TypedAttr>(constant.getSplatValue<Attribute>()));
    Operation *op = tile.getDefiningOp();
    if (auto splat = dyn_cast<tt::SplatOp>(op)) return splat.getSrc();
    if (isa<tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp>(op)) return get(b, op->getOperand(0));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(get(b, operand));
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addTypes(getElementTypeOrSelf(tile.getType()));
    state.propertiesAttr = op->getPropertiesAsAttribute();
    return b.create(state)->getResult(0);
  }

private:
  static bool isScalarizable(Operation *op) {
    return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op);
  }
};

/// One step of a chain: the carried tile plus or minus a uniform offset.
struct Move {
  Value offset;
  bool minus;
};

/// Returns the moves from `carried` to `next`, or null if they are not a chain of moves inside `body`.
std::optional<SmallVector<Move>> chainOf(Value carried, Value next, Block *body) {
  SmallVector<Move> moves;
  for (Value at = next; at != carried;) {
    Operation *op = at.getDefiningOp();
    if (!op || op->getBlock() != body) return std::nullopt;
    if (auto add = dyn_cast<tt::AddPtrOp>(op); add && Uniform::is(add.getOffset())) {
      moves.push_back({add.getOffset(), false});
      at = add.getPtr();
    } else if (auto sub = dyn_cast<arith::SubIOp>(op); sub && Uniform::is(sub.getRhs())) {
      moves.push_back({sub.getRhs(), true});
      at = sub.getLhs();
    } else if (auto sum = dyn_cast<arith::AddIOp>(op); sum && Uniform::is(sum.getRhs())) {
      moves.push_back({sum.getRhs(), false});
      at = sum.getLhs();
    } else if (sum && Uniform::is(sum.getLhs())) {
      moves.push_back({sum.getLhs(), false});
      at = sum.getRhs();
    } else {
      return std::nullopt;
    }
  }
  return moves;
}

bool canMove(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && (tile.getElementType().isInteger() || isa<tt::PointerType>(tile.getElementType()));
}

/// Returns the type of the carried scalar.
Type distanceType(Type tile) {
  Type element = getElementTypeOrSelf(tile);
  return isa<tt::PointerType>(element) ? IntegerType::get(element.getContext(), 64) : element;
}

Value zeroDistance(OpBuilder &b, Location loc, Type tile) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(distanceType(tile), 0));
}

/// Returns `start` moved by the scalar `distance`, and the operation that reads `distance`.
std::pair<Value, Operation *> movedTile(OpBuilder &b, Location loc, Value start, Value distance) {
  auto type = cast<RankedTensorType>(start.getType());
  auto splat = tt::SplatOp::create(b, loc, tt::withElement(type, distance.getType()), distance);
  if (isa<tt::PointerType>(type.getElementType())) return {tt::AddPtrOp::create(b, loc, start.getType(), start, splat), splat};
  return {arith::AddIOp::create(b, loc, start, splat), splat};
}

/// Returns the distance after one more iteration.
Value nextDistance(OpBuilder &b, Value distance, ArrayRef<Move> moves) {
  for (const Move &move : llvm::reverse(moves)) {
    Location loc = move.offset.getLoc();
    Value step = Uniform::get(b, move.offset);
    if (step.getType() != distance.getType()) step = arith::ExtSIOp::create(b, loc, distance.getType(), step);
    distance =
        move.minus ? arith::SubIOp::create(b, loc, distance, step).getResult() : arith::AddIOp::create(b, loc, distance, step).getResult();
  }
  return distance;
}

/// Replaces the tile `carried` (a block argument or a loop's result) by the distance. Its users then read `start` moved by the distance.
void replaceByDistance(OpBuilder &b, Value carried, Value start) {
  carried.setType(distanceType(start.getType()));
  auto [tile, splat] = movedTile(b, carried.getLoc(), start, carried);
  carried.replaceAllUsesExcept(tile, splat);
}

/// True if the distance can represent all moves. It cannot represent steps wider than i64.
bool fits(Type tile, ArrayRef<Move> moves) {
  int64_t width = distanceType(tile).getIntOrFloatBitWidth();
  return llvm::all_of(moves,
                      [&](const Move &move) { return getElementTypeOrSelf(move.offset.getType()).getIntOrFloatBitWidth() <= width; });
}

void scalarize(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [index, arg] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value start = loop.getInitArgs()[index];
    if (!canMove(arg.getType())) continue;
    std::optional<SmallVector<Move>> moves = chainOf(arg, yield->getOperand(index), loop.getBody());
    if (!moves || moves->empty() || !fits(arg.getType(), *moves)) continue;
    OpBuilder b(loop);
    loop.getInitArgsMutable()[index].assign(zeroDistance(b, loop.getLoc(), start.getType()));
    b.setInsertionPointToStart(loop.getBody());
    replaceByDistance(b, arg, start);
    b.setInsertionPoint(yield);
    yield->setOperand(index, nextDistance(b, arg, *moves));
    b.setInsertionPointAfter(loop);
    replaceByDistance(b, loop.getResult(index), start);
  }
}

/// Handles a while loop whose condition passes the tile unchanged: argument before -> argument after -> chain -> argument before.
void scalarize(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  scf::YieldOp yield = loop.getYieldOp();
  for (auto [index, arg] : llvm::enumerate(loop.getBeforeArguments())) {
    if (!canMove(arg.getType())) continue;
    SmallVector<int64_t> positions;
    for (auto [position, value] : llvm::enumerate(condition.getArgs()))
      if (value == arg) positions.push_back(position);
    if (positions.size() != 1) continue;
    int64_t passed = positions.front();
    BlockArgument after = loop.getAfterArguments()[passed];
    std::optional<SmallVector<Move>> moves = chainOf(after, yield.getOperand(index), loop.getAfterBody());
    if (!moves || moves->empty() || !fits(arg.getType(), *moves)) continue;
    Value start = loop.getInits()[index];
    OpBuilder b(loop);
    loop.getInitsMutable()[index].assign(zeroDistance(b, loop.getLoc(), start.getType()));
    b.setInsertionPointToStart(loop.getBeforeBody());
    replaceByDistance(b, arg, start);
    condition.getArgsMutable()[passed].assign(arg);
    b.setInsertionPointToStart(loop.getAfterBody());
    replaceByDistance(b, after, start);
    b.setInsertionPoint(yield);
    yield->setOperand(index, nextDistance(b, after, *moves));
    b.setInsertionPointAfter(loop);
    replaceByDistance(b, loop.getResult(passed), start);
  }
}

/// True if the elements of the operation's result are equal where those of its operands are.
bool keepsEqual(Operation *op) {
  if (isa<tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp>(op)) return true;
  return op->hasTrait<OpTrait::Elementwise>() && isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && isPure(op) &&
         op->getNumResults() == 1 && op->getNumOperands() != 0;
}

SmallVector<OpOperand *> yieldedIn(scf::IfOp branch, OpResult result) {
  unsigned index = result.getResultNumber();
  return {&branch.thenYield()->getOpOperand(index), &branch.elseYield()->getOpOperand(index)};
}

/// Finds tiles whose elements are all equal, if those of some carried tiles are.
class EqualElements {
public:
  explicit EqualElements(const DenseSet<Value> &carried) : carried(carried) {}

  bool are(Value tile) {
    if (!isa<RankedTensorType>(tile.getType()) || carried.contains(tile)) return true;
    auto known = answers.find(tile);
    if (known != answers.end()) return known->second;
    bool answer = areResultsOf(tile);
    return answers[tile] = answer;
  }

private:
  bool areResultsOf(Value tile) {
    DenseElementsAttr constant;
    if (matchPattern(tile, m_Constant(&constant))) return constant.isSplat();
    Operation *op = tile.getDefiningOp();
    if (!op) return false;
    if (isa<tt::SplatOp>(op)) return true;
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return llvm::all_of(yieldedIn(branch, cast<OpResult>(tile)), [&](OpOperand *yielded) { return are(yielded->get()); });
    return keepsEqual(op) && llvm::all_of(op->getOperands(), [&](Value operand) { return are(operand); });
  }

  const DenseSet<Value> &carried;
  DenseMap<Value, bool> answers;
};

/// Computes the scalars that all elements of tiles equal, each where its tile is defined.
class EqualScalars {
public:
  Value of(Value tile) {
    if (!isa<RankedTensorType>(tile.getType())) return tile;
    auto known = made.find(tile);
    if (known != made.end()) return known->second;
    Value scalar = make(tile);
    return made[tile] = scalar;
  }

  /// Makes the value (a block argument or a result), which has become a scalar, a tile for its users.
  void makeScalar(OpBuilder &b, Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    tile.setType(type.getElementType());
    auto splat = tt::SplatOp::create(b, tile.getLoc(), type, tile);
    tile.replaceAllUsesExcept(splat, splat);
  }

private:
  Value make(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (auto splat = dyn_cast<tt::SplatOp>(op)) return splat.getSrc();
    if (auto branch = dyn_cast<scf::IfOp>(op)) return ofBranch(branch, cast<OpResult>(tile));
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

  Value ofBranch(scf::IfOp branch, OpResult result) {
    for (OpOperand *yielded : yieldedIn(branch, result))
      yielded->set(of(yielded->get()));
    OpBuilder b(branch->getContext());
    b.setInsertionPointAfter(branch);
    makeScalar(b, result);
    return result;
  }

  DenseMap<Value, Value> made;
};

/// Returns the carried tiles whose elements are all equal in each iteration.
SmallVector<BlockArgument> equalTiles(scf::ForOp loop) {
  DenseSet<Value> equal;
  EqualElements outside(equal);
  SmallVector<BlockArgument> tiles;
  for (BlockArgument arg : loop.getRegionIterArgs())
    if (isa<RankedTensorType>(arg.getType()) && outside.are(loop.getTiedLoopInit(arg)->get())) tiles.push_back(arg);
  for (bool changed = true; changed;) {
    equal = DenseSet<Value>(llvm::from_range, tiles);
    EqualElements inside(equal);
    size_t before = tiles.size();
    llvm::erase_if(tiles, [&](BlockArgument arg) { return !inside.are(loop.getTiedLoopYieldedValue(arg)->get()); });
    changed = tiles.size() != before;
  }
  return tiles;
}

void scalarizeEqual(scf::ForOp loop) {
  SmallVector<BlockArgument> tiles = equalTiles(loop);
  EqualScalars scalars;
  for (BlockArgument arg : tiles) {
    OpOperand *init = loop.getTiedLoopInit(arg);
    init->set(scalars.of(init->get()));
    OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
    scalars.makeScalar(b, arg);
    b.setInsertionPointAfter(loop);
    scalars.makeScalar(b, loop.getTiedLoopResult(arg));
  }
  for (BlockArgument arg : tiles) {
    OpOperand *yielded = loop.getTiedLoopYieldedValue(arg);
    yielded->set(scalars.of(yielded->get()));
  }
}

} // namespace

LogicalResult tilewright::scalarizeCarried(ModuleOp module) {
  module.walk([](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      scalarize(loop);
      scalarizeEqual(loop);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      scalarize(loop);
    }
  });
  return success();
}
