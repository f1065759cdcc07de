// See indices.h. This file expresses each element's index, pointer and mask by the tile's coordinates. Unlike a scalar, a tile that the
// analysis cannot follow does not become an atom; the result is the failure reason, for `tilewright explain`.
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

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

Indices::Extents Indices::extentsOf(Value tile, ArrayRef<int64_t> dims) {
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
  ElementKey key = keyOf(tile, dims);
  if (auto found = exactElements.find(key); found != exactElements.end()) return found->second;
  int64_t bits = bitsOf(type);
  Result<Polynomial> index = congruentElement(tile, dims);
  if (index && !fits(*index, extentsOf(tile, dims), bits))
    index = Failure{"an index may leave the range of its " + std::to_string(bits) + " bits: " + text(*index)};
  exactElements.insert({std::move(key), index});
  return index;
}

Indices::ElementKey Indices::keyOf(Value tile, ArrayRef<int64_t> dims) const {
  return {tile.getAsOpaquePointer(), std::vector<int64_t>(dims.begin(), dims.end()), namesTiles};
}

/// True if a factor is an atom that is itself a sum, because that sum was too long or not a polynomial. Such an atom may have wrapped
/// around.
bool Indices::isMadeOfSums(const Polynomial &value) const {
  auto isSum = [&](int64_t factor) {
    if (isArgument(factor) || atomAt(factor).kind != Kind::value) return false;
    return isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp, arith::TruncIOp>(
        atomAt(factor).value.getDefiningOp());
  };
  return llvm::any_of(value.terms, [&](const Term &term) { return llvm::any_of(term.factors, isSum); });
}

bool Indices::assumeNoWrapOf(Value value) {
  llvm::SaveAndRestore naming(namesTiles, true);
  SmallVector<int64_t> dims = ownDims(value);
  Result<Polynomial> result = congruentElement(value, dims);
  return result && !isMadeOfSums(*result) && fits(*result, extentsOf(value, dims), bitsOf(value.getType()));
}

bool Indices::assumeNonNegativeElements(Value value) {
  if (!getElementTypeOrSelf(value.getType()).isIntOrIndex()) return false;
  llvm::SaveAndRestore naming(namesTiles, true);
  SmallVector<int64_t> dims = ownDims(value);
  return assume(elementOrOpaque(value, dims), extentsOf(value, dims), 0, INT64_MAX);
}

Polynomial Indices::opaqueElement(Value tile, ArrayRef<int64_t> dims) {
  return atom({Kind::value, tile, nullptr, {}, {}, SmallVector<int64_t>(dims)});
}

Polynomial Indices::elementOrOpaque(Value value, ArrayRef<int64_t> dims) {
  if (!isa<RankedTensorType>(value.getType())) return scalar(value);
  Result<Polynomial> exact = element(value, dims);
  return exact ? *exact : opaqueElement(value, dims);
}

Result<Polynomial> Indices::congruentElement(Value tile, ArrayRef<int64_t> dims) {
  if (!isa<RankedTensorType>(tile.getType())) return congruent(tile);
  ElementKey key = keyOf(tile, dims);
  if (auto found = congruentElements.find(key); found != congruentElements.end()) return found->second;
  llvm::SaveAndRestore deeper(depth, depth + 1);
  Result<Polynomial> result = depth > deepest ? Failure{"an index is computed by too many operations"} : evaluateElement(tile, dims);
  if (result && !result->isShort()) result = Failure{"an index is a sum of too many terms"};
  if (!result && namesTiles) result = opaqueElement(tile, dims);
  congruentElements.insert({std::move(key), result});
  return result;
}

Result<Polynomial> Indices::evaluateElement(Value tile, ArrayRef<int64_t> dims) {
  DenseElementsAttr constant;
  if (matchPattern(tile, m_Constant(&constant)) && constant.isSplat()) return Polynomial(constant.getSplatValue<APInt>().getSExtValue());
  Operation *op = tile.getDefiningOp();
  if (!op) return Failure{"an index is carried by a loop"};
  if (std::optional<SmallVector<int64_t>> source = sourceDims(op, dims)) return congruentElement(op->getOperand(0), *source);
  if (std::optional<Kind> kind = binaryKind(op)) {
    bool divides = *kind == Kind::quotient || *kind == Kind::remainder;
    if (!namesTiles && !divides) return Failure{"an index is a minimum or maximum"};
    return evaluateBinary(*kind, op, dims);
  }
  auto ofBoth = [&](auto combine) -> Result<Polynomial> {
    Result<Polynomial> left = congruentElement(op->getOperand(0), dims);
    if (!left) return left;
    Result<Polynomial> right = congruentElement(op->getOperand(1), dims);
    return right ? Result<Polynomial>(combine(*left, *right)) : right;
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
        return Failure{"an unsigned index may be negative as a signed number"};
      })
      .Case<arith::AddIOp>([&](auto) { return ofBoth([](const Polynomial &a, const Polynomial &b) { return a + b; }); })
      .Case<arith::SubIOp>([&](auto) { return ofBoth([](const Polynomial &a, const Polynomial &b) { return a - b; }); })
      .Case<arith::MulIOp>([&](auto) { return ofBoth(times); })
      .Case<arith::ShLIOp>([&](auto) {
        return ofBoth([&](const Polynomial &shifted, const Polynomial &amount) -> Result<Polynomial> {
          std::optional<int64_t> factor = powerOfTwo(amount, bitsOf(tile.getType()));
          return factor ? times(shifted, *factor) : Failure{"an index is shifted by an unknown amount"};
        });
      })
      .Case<tt::LoadOp>([](auto) { return Failure{"indices come from memory"}; })
      .Default([](Operation *other) { return Failure{"an index comes from " + other->getName().getStringRef().str()}; });
}

Result<Indices::Pointer> Indices::pointer(Value value, ArrayRef<int64_t> dims) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (isa<RankedTensorType>(value.getType())) return Failure{"a loop carries its pointers"};
    if (!loop) return Pointer{value, {}};
    // The offset is that of a carried integer with the same increment.
    if (std::optional<Polynomial> each = incrementOf(argument)) {
      Result<Pointer> init = pointer(loop.getInitArgs()[argument.getArgNumber() - 1], dims);
      if (!init) return init;
      Polynomial distance = scalar(loop.getInductionVar()) - scalar(loop.getLowerBound());
      std::optional<Polynomial> moved = overSteps(distance, loop, *each);
      init->offset = init->offset + (moved ? *moved : *product(atom({Kind::iteration, {}, loop}), *each));
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
    // Offsets of 64 bits may wrap around, as addresses do.
    bool isWide = getElementTypeOrSelf(moved.getOffset().getType()).getIntOrFloatBitWidth() >= 64;
    Result<Polynomial> offset = isWide ? congruentElement(moved.getOffset(), dims) : element(moved.getOffset(), dims);
    if (!offset) return Failure{offset.error()};
    from->offset = from->offset + *offset;
    return from;
  }
  if (isa<RankedTensorType>(value.getType())) return Failure{"its pointers come from " + op->getName().getStringRef().str()};
  return Pointer{value, {}};
}

/// True if an element at a pointer may have more bits than one at another pointer.
static bool isWider(Type pointer, Type than) {
  Type element = getElementTypeOrSelf(tt::pointeeTile(pointer)), other = getElementTypeOrSelf(tt::pointeeTile(than));
  return !element.isIntOrFloat() || !other.isIntOrFloat() || bitsOf(element) > bitsOf(other);
}

/// A multiple of the index of an iteration of `loop`, or of a loop in it.
std::optional<Indices::Digit> Indices::iterationDigit(const Term &term, Operation *loop) {
  auto isInLoop = [&](int64_t factor) { return !isArgument(factor) && atomAt(factor).loop && loop->isAncestor(atomAt(factor).loop); };
  auto factor = llvm::find_if(term.factors, isInLoop);
  if (factor == term.factors.end()) return std::nullopt;
  const Atom atom = atomAt(*factor); // a copy, because scalar() may create atoms
  auto counted = cast<scf::ForOp>(atom.loop);
  Polynomial stride(*quotient(term, Term{1, -1, {*factor}}));
  Polynomial lower = scalar(counted.getLowerBound()), upper = scalar(counted.getUpperBound());
  std::optional<int64_t> step = scalar(counted.getStep()).constant(), length = (upper - lower).constant();
  if (bitsOf(counted.getInductionVar().getType()) > 32 || !step || *step <= 0 || !isInvariant(lower, loop)) return std::nullopt;
  if (atom.kind == Kind::induction) stride = *product(stride, *step);
  if (!length) return Digit{stride, {}, std::nullopt};
  int64_t count = std::max<int64_t>(llvm::divideCeilSigned(*length, *step), 1);
  return Digit{stride, count - 1, count};
}

/// The largest coordinate of the tile along `dim` at which the mask may be true. There may be none; then it may be negative.
Polynomial Indices::lastIndex(int64_t dim, int64_t extent, const Mask &mask, Operation *loop) {
  for (const Conjunct &conjunct : mask.conjuncts) {
    Polynomial last = Polynomial(-1) - conjunct.along(-1);
    bool isOfDim = conjunct == Polynomial(Term{1, dim, {}}) + conjunct.along(-1);
    if (isOfDim && isInvariantIn(loop, last)) return atom({Kind::minimum, {}, nullptr, Polynomial(extent - 1), last});
  }
  return extent - 1;
}

// An address is a number whose digits are the coordinates of the tile and the iterations of loops. Elements are distinct if each digit's
// stride is larger than all that the digits below it can add up to. Strides that the compiler does not know are assumed to be positive, and
// larger than those that it knows.
bool Indices::hasDistinctElements(Value pointers, Value mask, Operation *loop) {
  constexpr int64_t maxDistance = int64_t(1) << 60, maxIterations = int64_t(1) << 32; // 8 bytes each do not wrap around
  if (auto cast = pointers.getDefiningOp<tt::BitcastOp>(); cast && !isWider(cast.getType(), cast.getSrc().getType()))
    pointers = cast.getSrc();
  Result<Pointer> pointer = this->pointer(pointers, ownDims(pointers));
  if (!pointer || !isInvariantIn(loop, opaque(pointer->base))) return false;
  Result<Mask> known = mask ? this->mask(mask, ownDims(mask)) : Result<Mask>(Mask());
  SmallVector<Digit> digits;
  for (auto [dim, extent] : llvm::enumerate(extentsOf(pointers, ownDims(pointers))))
    if (auto along = static_cast<int64_t>(dim); extent > 1)
      digits.push_back({pointer->offset.along(along), lastIndex(along, extent, known ? *known : Mask(), loop), extent});
  for (const Term &term : pointer->offset.along(-1).terms) {
    if (isInvariantIn(loop, Polynomial(term))) continue; // the same in all iterations
    std::optional<Digit> digit = iterationDigit(term, loop);
    if (!digit) return false;
    digits.push_back(std::move(*digit));
  }
  auto magnitude = [](const Digit &digit) {
    auto last = llvm::max_element(digit.stride.terms, [](const Term &a, const Term &b) { return a.factors.size() < b.factors.size(); });
    return last == digit.stride.terms.end() ? std::pair<size_t, int64_t>() : std::pair(last->factors.size(), last->coefficient);
  };
  for (Digit &digit : digits)
    if (digit.stride.constant().value_or(0) < 0) digit.stride = Polynomial(0) - digit.stride; // counted from the other end
  llvm::sort(digits, [&](const Digit &a, const Digit &b) { return magnitude(a) < magnitude(b); });
  Polynomial below; // the largest number of the digits so far
  for (const Digit &digit : digits) {
    if (!isInvariantIn(loop, digit.stride) || (!digit.count && &digit != &digits.back())) return false;
    int64_t maxStride = maxDistance / digit.count.value_or(maxIterations);
    std::optional<Polynomial> gap = exactDifference(digit.stride, below + Polynomial(1));
    if (!gap || !assumeNonNegative(*gap) || !assume(digit.stride, -maxStride, maxStride)) return false;
    below = below + *product(digit.stride, digit.last);
  }
  return true;
}

//===---------------------------------------------------------------------------------------------------------------- masks

constexpr const char *moreThanBounds = "its mask is not made of comparisons of indices with bounds";

/// `visited`: parts of the mask that `parts` already has.
Result<void> Indices::collect(Value mask, ArrayRef<int64_t> dims, Mask &parts, std::set<ElementKey> &visited) {
  if (!visited.insert(keyOf(mask, dims)).second) return {};
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
  if (std::optional<SmallVector<int64_t>> source = sourceDims(op, dims)) return collect(op->getOperand(0), *source, parts, visited);
  if (auto splat = dyn_cast<tt::SplatOp>(op)) return collect(splat.getSrc(), {}, parts, visited);
  if (isa<arith::AndIOp>(op)) {
    Result<void> left = collect(op->getOperand(0), dims, parts, visited);
    return left ? collect(op->getOperand(1), dims, parts, visited) : left;
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
  std::optional<Polynomial> difference = exactDifference(*left, *right);
  if (!difference) return Failure{"in its mask, a number is close to the limits of 64 bits"};
  bool orEqual = predicate == P::sle || predicate == P::sge || predicate == P::ule || predicate == P::uge;
  bool isUnsigned = predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge;
  parts.conjuncts.push_back(*difference - Polynomial(orEqual ? 1 : 0));
  if (!isUnsigned) return {};
  // As unsigned numbers, a negative index is larger than any bound, and a negative bound is larger than any index.
  if (!fitsUnsigned(*right, extentsOf(greater, dims))) return Failure{"in its mask, an unsigned bound may exceed the signed range"};
  parts.conjuncts.push_back(Polynomial(-1) - *left);
  return {};
}

Result<Mask> Indices::mask(Value tile, ArrayRef<int64_t> dims) {
  Mask parts;
  std::set<ElementKey> visited;
  Result<void> collected = collect(tile, dims, parts, visited);
  if (!collected) return Failure{collected.error()};
  return parts;
}

bool Indices::isProven(Value tile) {
  SmallVector<int64_t> dims = ownDims(tile);
  Extents extents = extentsOf(tile, dims);
  Result<Mask> parts = mask(tile, dims);
  return parts && parts->conditions.empty() &&
         llvm::all_of(parts->conjuncts, [&](const Conjunct &each) { return isProven(each, extents, INT64_MIN, -1); });
}

} // namespace tilewright::address
