// See indices.h. Tiles: each element's index, pointer and mask in terms of the tile's coordinates. Unlike a scalar, a tile that is not
// understood has no name of its own; what stands in the way is said instead, and ends up in `tilewright explain`.
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::address {

SmallVector<int64_t> ownDims(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  return type ? llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())) : SmallVector<int64_t>();
}

std::optional<SmallVector<int64_t>> sourceDims(Operation *op, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> source(dims);
  if (auto broadcast = dyn_cast<tt::BroadcastOp>(op)) {
    auto from = cast<RankedTensorType>(broadcast.getSrc().getType()), to = cast<RankedTensorType>(broadcast.getType());
    for (size_t i = 0; i < dims.size(); ++i)
      if (from.getShape()[i] != to.getShape()[i]) source[i] = -1;
    return source;
  }
  if (auto expand = dyn_cast<tt::ExpandDimsOp>(op)) {
    source.erase(source.begin() + expand.getAxis());
    return source;
  }
  if (auto trans = dyn_cast<tt::TransOp>(op)) {
    for (auto [i, from] : llvm::enumerate(trans.getOrder()))
      source[static_cast<size_t>(from)] = dims[i];
    return source;
  }
  return std::nullopt;
}

/// How many elements a tile has along each of the coordinates.
static SmallVector<int64_t> extentsOf(Value tile, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> extents;
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (!type || dim < 0) continue;
    if (static_cast<size_t>(dim) >= extents.size()) extents.resize(static_cast<size_t>(dim) + 1, 1);
    extents[static_cast<size_t>(dim)] = type.getDimSize(static_cast<unsigned>(i));
  }
  return extents;
}

Result<Polynomial> Indices::element(Value tile, ArrayRef<int64_t> dims) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  if (!type) return scalar(tile);
  Result<Polynomial> index = congruentElement(tile, dims);
  if (!index) return index;
  int64_t bits = type.getElementTypeBitWidth();
  if (fits(*index, extentsOf(tile, dims), bits)) return index;
  return Failure{"an index may leave the range of its " + std::to_string(bits) + " bits: " + text(*index)};
}

namespace {
/// Signs by the nature of operations, for values that are no polynomials: `x // n` is not negative if neither is.
class SignWalk {
public:
  /// `isUnderstood`: whether a value is a polynomial, and not negative.
  explicit SignWalk(llvm::function_ref<bool(Value)> isUnderstood) : isUnderstood(isUnderstood) {}

  bool isNonNegative(Value value, int64_t depth) {
    constexpr int64_t deepest = 48;
    if (depth > deepest) return false;
    if (auto found = known.find(value); found != known.end()) return found->second;
    bool answer = isUnderstood(value) || (value.getDefiningOp() && fromOperands(value.getDefiningOp(), depth + 1));
    return known[value] = answer;
  }

private:
  bool fromOperands(Operation *op, int64_t depth) {
    auto source = [&](unsigned operand) { return isNonNegative(op->getOperand(operand), depth); };
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp, arith::ExtSIOp, arith::RemSIOp, arith::ShRSIOp>(
            [&](auto) { return source(0); })
        .Case<arith::DivSIOp, arith::MinSIOp>([&](auto) { return source(0) && source(1); })
        .Case<arith::MaxSIOp, arith::AndIOp>([&](auto) { return source(0) || source(1); })
        .Case<arith::SelectOp>([&](auto) { return source(1) && source(2); })
        .Default([](Operation *) { return false; });
  }

  llvm::function_ref<bool(Value)> isUnderstood;
  llvm::DenseMap<Value, bool> known;
};
} // namespace

bool Indices::assumeNonNegativeElements(Value value) {
  auto isUnderstood = [&](Value part) {
    if (!getElementTypeOrSelf(part.getType()).isIntOrIndex()) return false;
    SmallVector<int64_t> dims = ownDims(part);
    Result<Polynomial> index = element(part, dims);
    return index && assume(*index, extentsOf(part, dims), 0, INT64_MAX);
  };
  return SignWalk(isUnderstood).isNonNegative(value, 0);
}

Result<Polynomial> Indices::congruentElement(Value tile, ArrayRef<int64_t> dims) {
  if (!isa<RankedTensorType>(tile.getType())) return congruent(tile);
  DenseElementsAttr constant;
  if (matchPattern(tile, m_Constant(&constant)) && constant.isSplat()) return Polynomial(constant.getSplatValue<APInt>().getSExtValue());
  Operation *op = tile.getDefiningOp();
  if (!op) return Failure{"an index is carried by a loop"};
  if (std::optional<SmallVector<int64_t>> source = sourceDims(op, dims)) return congruentElement(op->getOperand(0), *source);
  using Pair = std::optional<std::pair<Polynomial, Polynomial>>;
  std::string problem;
  auto both = [&]() -> Pair {
    Result<Polynomial> left = congruentElement(op->getOperand(0), dims);
    if (!left) problem = left.error();
    if (!left) return std::nullopt;
    Result<Polynomial> right = congruentElement(op->getOperand(1), dims);
    if (!right) problem = right.error();
    if (!right) return std::nullopt;
    return std::pair(*left, *right);
  };
  auto times = [&](const Polynomial &left, const Polynomial &right) -> Result<Polynomial> {
    if (std::optional<Polynomial> both = product(left, right)) return *both;
    return Failure{"an index is multiplied by an index"};
  };
  return llvm::TypeSwitch<Operation *, Result<Polynomial>>(op)
      .Case<tt::MakeRangeOp>([&](auto range) -> Result<Polynomial> {
        Polynomial start(static_cast<int64_t>(range.getStart()));
        return dims[0] < 0 ? start : start + Polynomial(Term{1, dims[0], {}});
      })
      .Case<tt::SplatOp>([&](auto splat) -> Result<Polynomial> { return congruent(splat.getSrc()); })
      .Case<arith::TruncIOp>([&](auto o) { return congruentElement(o.getIn(), dims); })
      .Case<arith::ExtSIOp>([&](auto o) { return element(o.getIn(), dims); })
      .Case<arith::ExtUIOp>([&](auto o) -> Result<Polynomial> {
        Result<Polynomial> narrow = element(o.getIn(), dims);
        if (!narrow || fitsUnsigned(*narrow, extentsOf(o.getIn(), dims))) return narrow;
        return Failure{"an index is unsigned, and may be negative as a signed one"};
      })
      .Case<arith::AddIOp>([&](auto) -> Result<Polynomial> {
        Pair pair = both();
        return pair ? Result<Polynomial>(pair->first + pair->second) : Failure{problem};
      })
      .Case<arith::SubIOp>([&](auto) -> Result<Polynomial> {
        Pair pair = both();
        return pair ? Result<Polynomial>(pair->first - pair->second) : Failure{problem};
      })
      .Case<arith::MulIOp>([&](auto) -> Result<Polynomial> {
        Pair pair = both();
        return pair ? times(pair->first, pair->second) : Failure{problem};
      })
      .Case<arith::ShLIOp>([&](auto) -> Result<Polynomial> {
        Pair pair = both();
        if (!pair) return Failure{problem};
        std::optional<int64_t> by = pair->second.constant();
        if (!by || *by < 0 || *by >= 63) return Failure{"an index is shifted by an unknown amount"};
        return times(pair->first, int64_t(1) << *by);
      })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return Failure{"an index is taken modulo something"}; })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) { return Failure{"an index is divided"}; })
      .Case<tt::LoadOp>([](auto) { return Failure{"indices come from memory"}; })
      .Default([](Operation *other) { return Failure{"an index comes from " + other->getName().getStringRef().str()}; });
}

Result<Indices::Pointer> Indices::pointer(Value value, ArrayRef<int64_t> dims) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop) return Pointer{value, {}};
    if (isa<RankedTensorType>(value.getType())) return Failure{"a loop carries its pointers"};
    // The distance walked is what an integer carried likewise would be.
    if (std::optional<Polynomial> each = incrementOf(argument)) {
      Result<Pointer> init = pointer(loop.getInitArgs()[argument.getArgNumber() - 1], dims);
      if (!init) return init;
      Polynomial distance = scalar(loop.getInductionVar()) - scalar(loop.getLowerBound());
      std::optional<Polynomial> moved = overSteps(distance, loop, *each);
      init->offset = init->offset + (moved ? *moved : *product(atom({Kind::trip, {}, loop}), *each));
      return init;
    }
    return Pointer{value, {}};
  }
  Operation *op = value.getDefiningOp();
  if (std::optional<SmallVector<int64_t>> source = sourceDims(op, dims)) return pointer(op->getOperand(0), *source);
  if (auto splat = dyn_cast<tt::SplatOp>(op)) return pointer(splat.getSrc(), {});
  if (auto moved = dyn_cast<tt::AddPtrOp>(op)) {
    Result<Pointer> from = pointer(moved.getPtr(), dims);
    if (!from) return from;
    // Addresses have 64 bits themselves, so that wider offsets may as well wrap.
    bool isWide = getElementTypeOrSelf(moved.getOffset().getType()).getIntOrFloatBitWidth() >= 64;
    Result<Polynomial> offset = isWide ? congruentElement(moved.getOffset(), dims) : element(moved.getOffset(), dims);
    if (!offset) return Failure{offset.error()};
    from->offset = from->offset + *offset;
    return from;
  }
  if (isa<RankedTensorType>(value.getType())) return Failure{"its pointers come from " + op->getName().getStringRef().str()};
  return Pointer{value, {}};
}

//===---------------------------------------------------------------------------------------------------------------- masks

constexpr const char *moreThanBounds = "its mask is more than comparisons of indices with bounds";

Result<void> Indices::collect(Value mask, ArrayRef<int64_t> dims, Mask &parts) {
  APInt flag;
  if (matchPattern(mask, m_ConstantInt(&flag)) && flag.isOne()) return {};
  DenseElementsAttr constant;
  if (matchPattern(mask, m_Constant(&constant)) && constant.isSplat() && constant.getSplatValue<APInt>().isOne()) return {};
  if (!isa<RankedTensorType>(mask.getType())) {
    parts.conditions.push_back(mask);
    return {};
  }
  Operation *op = mask.getDefiningOp();
  if (!op) return Failure{moreThanBounds};
  if (std::optional<SmallVector<int64_t>> source = sourceDims(op, dims)) return collect(op->getOperand(0), *source, parts);
  if (auto splat = dyn_cast<tt::SplatOp>(op)) return collect(splat.getSrc(), {}, parts);
  if (isa<arith::AndIOp>(op)) {
    Result<void> left = collect(op->getOperand(0), dims, parts);
    return left ? collect(op->getOperand(1), dims, parts) : left;
  }
  return isa<arith::CmpIOp>(op) ? compare(op, dims, parts) : Failure{moreThanBounds};
}

Result<void> Indices::compare(Operation *comparison, ArrayRef<int64_t> dims, Mask &parts) {
  using P = arith::CmpIPredicate;
  auto op = cast<arith::CmpIOp>(comparison);
  P predicate = op.getPredicate();
  if (getElementTypeOrSelf(op.getLhs().getType()).isInteger(1) || predicate == P::eq || predicate == P::ne) return Failure{moreThanBounds};
  Value lesser = op.getLhs(), greater = op.getRhs();
  if (predicate == P::sgt || predicate == P::sge || predicate == P::ugt || predicate == P::uge) std::swap(lesser, greater);
  Result<Polynomial> left = element(lesser, dims);
  if (!left) return Failure{"in its mask, " + left.error()};
  Result<Polynomial> right = element(greater, dims);
  if (!right) return Failure{"in its mask, " + right.error()};
  bool orEqual = predicate == P::sle || predicate == P::sge || predicate == P::ule || predicate == P::uge;
  bool isUnsigned = predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge;
  parts.conjuncts.push_back(*left - *right - Polynomial(orEqual ? 1 : 0));
  if (!isUnsigned) return {};
  // Seen unsigned, a negative number is larger than any bound, and a negative bound larger than any number.
  if (!fitsUnsigned(*right, extentsOf(greater, dims))) return Failure{"in its mask, an unsigned bound may be beyond the signed numbers"};
  parts.conjuncts.push_back(Polynomial(-1) - *left);
  return {};
}

Result<Mask> Indices::mask(Value tile, ArrayRef<int64_t> dims) {
  Mask parts;
  Result<void> collected = collect(tile, dims, parts);
  if (!collected) return Failure{collected.error()};
  return parts;
}

} // namespace tilewright::address
