// See polynomial.h. A value is evaluated from its operands down to arguments, ranges and what is opaque; only loops need thought:
//     scf.for %iv = %lower to %upper step 64 iter_args(%d = %init) { ... yield %d + 64 * %stride }
//     in the loop   %d = init + (iv - lower) * stride                after it   init + (upper - lower) * stride, if 64 divides that
#include "gpu/tiles/polynomial.h"

#include "gpu/machine/ptx.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace tilewright::gpu {

//===--------------------------------------------------------------------------------------------------------- polynomials

void Polynomial::add(Term term) {
  if (term.coefficient == 0) return;
  auto less = [](const Term &a, const Term &b) { return std::tie(a.dim, a.factors) < std::tie(b.dim, b.factors); };
  auto place = llvm::lower_bound(terms, term, less);
  if (place == terms.end() || !place->sameFactors(term)) {
    terms.insert(place, std::move(term));
    return;
  }
  place->coefficient += term.coefficient;
  if (place->coefficient == 0) terms.erase(place);
}

std::optional<int64_t> Polynomial::constant() const {
  if (terms.empty()) return 0;
  if (terms.size() > 1 || terms[0].dim >= 0 || !terms[0].factors.empty()) return std::nullopt;
  return terms[0].coefficient;
}

Polynomial Polynomial::along(int64_t dim) const {
  Polynomial result;
  for (const Term &term : terms)
    if (term.dim == dim) result.add({term.coefficient, -1, term.factors});
  return result;
}

std::optional<Polynomial> Polynomial::dividedBy(int64_t number) const {
  Polynomial result = *this;
  for (Term &term : result.terms) {
    if (term.coefficient % number != 0) return std::nullopt;
    term.coefficient /= number;
  }
  return result;
}

Polynomial operator+(const Polynomial &a, const Polynomial &b) {
  Polynomial sum = a;
  for (const Term &term : b.terms)
    sum.add(term);
  return sum;
}

Polynomial operator-(const Polynomial &a, const Polynomial &b) {
  Polynomial sum = a;
  for (const Term &term : b.terms)
    sum.add({-term.coefficient, term.dim, term.factors});
  return sum;
}

std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b) {
  Polynomial sum;
  for (const Term &x : a.terms)
    for (const Term &y : b.terms) {
      if (x.dim >= 0 && y.dim >= 0) return std::nullopt;
      Term term{x.coefficient * y.coefficient, std::max(x.dim, y.dim), x.factors};
      llvm::append_range(term.factors, y.factors);
      llvm::sort(term.factors);
      sum.add(std::move(term));
    }
  return sum;
}

std::optional<Term> quotient(const Term &a, const Term &b) {
  if (a.coefficient % b.coefficient != 0 || (b.dim >= 0 && b.dim != a.dim)) return std::nullopt;
  Term result{a.coefficient / b.coefficient, b.dim >= 0 ? -1 : a.dim, {}};
  if (!std::includes(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end())) return std::nullopt;
  std::set_difference(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), std::back_inserter(result.factors));
  return result;
}

llvm::SmallVector<int64_t> ownDims(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  return type ? llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())) : SmallVector<int64_t>();
}

//===--------------------------------------------------------------------------------------------------------------- atoms

// Arguments have their own index as a number; other atoms follow them.

bool Indices::isArgument(int64_t atom) const {
  return atom < numArguments;
}

int64_t Indices::argumentOf(int64_t atom) const {
  return atom;
}

bool Indices::isOfArguments(const Polynomial &value) const {
  return llvm::all_of(value.terms, [&](const Term &term) { return llvm::all_of(term.factors, [&](int64_t a) { return isArgument(a); }); });
}

Polynomial Indices::atom(Atom fresh) {
  if (auto argument = dyn_cast_or_null<BlockArgument>(fresh.value); argument && argument.getOwner() == &function.getBody().front())
    return Polynomial(Term{1, -1, {int64_t(argument.getArgNumber())}});
  bool computed = fresh.kind != Kind::value && fresh.kind != Kind::induction && fresh.kind != Kind::trip;
  auto same = [&](const Atom &other) {
    if (other.kind != fresh.kind || other.loop != fresh.loop) return false;
    return computed ? other.left == fresh.left && other.right == fresh.right : other.value == fresh.value;
  };
  size_t index = static_cast<size_t>(llvm::find_if(atoms, same) - atoms.begin());
  if (index == atoms.size()) atoms.push_back(std::move(fresh));
  return Polynomial(Term{1, -1, {numArguments + static_cast<int64_t>(index)}});
}

/// The largest power of two that divides `number`; 0 for 0.
static int64_t powerOfTwoIn(int64_t number) {
  return number & -number;
}

int64_t Indices::divisorOf(const Term &term) {
  int64_t divisor = powerOfTwoIn(term.coefficient);
  for (int64_t factor : term.factors) {
    if (!isArgument(factor)) continue;
    auto fact = function.getArgAttrOfType<IntegerAttr>(static_cast<unsigned>(factor), tt::divisibilityName);
    if (fact) divisor *= powerOfTwoIn(fact.getInt());
  }
  return divisor;
}

//===------------------------------------------------------------------------------------------------------------- scalars

Polynomial Indices::scalar(Value value) {
  auto found = known.find(value);
  if (found != known.end()) return found->second;
  // A carried value that leads back to itself is opaque to whoever asks in between.
  if (!inProgress.insert(value.getAsOpaquePointer()).second) return atom({Kind::value, value});
  Polynomial result = evaluate(value);
  inProgress.erase(value.getAsOpaquePointer());
  known[value] = result;
  return result;
}

Polynomial Indices::evaluateBinary(Kind kind, Operation *op) {
  Polynomial left = scalar(op->getOperand(0)), right = scalar(op->getOperand(1));
  std::optional<int64_t> by = right.constant();
  if (by && *by > 0 && kind == Kind::quotient)
    if (std::optional<Polynomial> exact = left.dividedBy(*by)) return *exact;
  if (by && *by > 0 && kind == Kind::remainder && left.dividedBy(*by)) return 0;
  return atom({kind, op->getResult(0), nullptr, std::move(left), std::move(right)});
}

Polynomial Indices::evaluate(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())) {
      if (argument == loop.getInductionVar()) return atom({Kind::induction, value, loop});
      return evaluateCarried(argument);
    }
    return atom({Kind::value, value});
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  auto opaque = [&] { return atom({Kind::value, value}); };
  return llvm::TypeSwitch<Operation *, Polynomial>(op)
      .Case<arith::AddIOp>([&](auto o) { return scalar(o.getLhs()) + scalar(o.getRhs()); })
      .Case<arith::SubIOp>([&](auto o) { return scalar(o.getLhs()) - scalar(o.getRhs()); })
      .Case<arith::MulIOp>([&](auto o) { return *product(scalar(o.getLhs()), scalar(o.getRhs())); })
      .Case<arith::ShLIOp>([&](auto o) {
        std::optional<int64_t> by = scalar(o.getRhs()).constant();
        return by && *by >= 0 && *by < 63 ? *product(scalar(o.getLhs()), int64_t(1) << *by) : opaque();
      })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>([&](auto o) {
        bool flag = o.getIn().getType().isInteger(1) || o.getType().isInteger(1);
        return flag ? opaque() : scalar(o.getIn());
      })
      .Case<arith::DivSIOp, arith::DivUIOp>([&](auto) { return evaluateBinary(Kind::quotient, op); })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return evaluateBinary(Kind::remainder, op); })
      .Case<arith::MinSIOp>([&](auto) { return evaluateBinary(Kind::least, op); })
      .Case<arith::MaxSIOp>([&](auto) { return evaluateBinary(Kind::most, op); })
      .Case<scf::ForOp>([&](auto) { return evaluateLoopResult(cast<OpResult>(value)); })
      .Default([&](Operation *) { return opaque(); });
}

std::optional<Polynomial> Indices::increment(Value next, BlockArgument carried) {
  if (next == carried) return Polynomial();
  Operation *op = next.getDefiningOp();
  if (!op || op->getBlock() != carried.getOwner()) return std::nullopt;
  if (auto sum = dyn_cast<arith::AddIOp>(op)) {
    if (std::optional<Polynomial> left = increment(sum.getLhs(), carried)) return *left + scalar(sum.getRhs());
    if (std::optional<Polynomial> right = increment(sum.getRhs(), carried)) return *right + scalar(sum.getLhs());
  }
  if (auto difference = dyn_cast<arith::SubIOp>(op))
    if (std::optional<Polynomial> left = increment(difference.getLhs(), carried)) return *left - scalar(difference.getRhs());
  if (auto moved = dyn_cast<tt::AddPtrOp>(op))
    if (std::optional<Polynomial> left = increment(moved.getPtr(), carried)) return *left + scalar(moved.getOffset());
  return std::nullopt;
}

std::optional<Polynomial> Indices::incrementOf(BlockArgument carried) {
  auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
  Value next = loop.getBody()->getTerminator()->getOperand(carried.getArgNumber() - 1);
  std::optional<Polynomial> step = increment(next, carried);
  return step && isInvariant(*step, loop) ? step : std::nullopt;
}

/// `distance` / step * `increment`, where the division is exact term by term.
std::optional<Polynomial> Indices::overSteps(const Polynomial &distance, Operation *loop, const Polynomial &increment) {
  std::optional<int64_t> step = scalar(cast<scf::ForOp>(loop).getStep()).constant();
  if (!step || *step <= 0) return std::nullopt;
  if (std::optional<Polynomial> each = increment.dividedBy(*step)) return product(distance, *each);
  if (std::optional<Polynomial> trips = distance.dividedBy(*step)) return product(*trips, increment);
  return std::nullopt;
}

Polynomial Indices::evaluateCarried(BlockArgument carried) {
  auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
  std::optional<Polynomial> each = incrementOf(carried);
  if (!each) return atom({Kind::value, carried});
  Polynomial init = scalar(loop.getInitArgs()[carried.getArgNumber() - 1]);
  Polynomial distance = scalar(loop.getInductionVar()) - scalar(loop.getLowerBound());
  // iv - lower is a multiple of the step, whatever its terms are.
  if (std::optional<Polynomial> moved = overSteps(distance, loop, *each)) return init + *moved;
  return init + *product(atom({Kind::trip, {}, loop}), *each);
}

Polynomial Indices::evaluateLoopResult(OpResult result) {
  auto loop = cast<scf::ForOp>(result.getOwner());
  std::optional<Polynomial> each = incrementOf(loop.getRegionIterArgs()[result.getResultNumber()]);
  if (!each) return atom({Kind::value, result});
  Polynomial init = scalar(loop.getInitArgs()[result.getResultNumber()]);
  if (each->isZero()) return init;
  Polynomial distance = scalar(loop.getUpperBound()) - scalar(loop.getLowerBound());
  std::optional<int64_t> step = scalar(loop.getStep()).constant();
  // The last turn may go beyond the upper bound, and there may be no turn at all.
  bool exact = step && *step > 0 && distance.dividedBy(*step) && isNonNegative(distance);
  if (!exact) return atom({Kind::value, result});
  return init + *overSteps(distance, loop, *each);
}

//===---------------------------------------------------------------------------------------------------------------- signs

bool Indices::isNonNegativeValue(Value value) {
  auto also = [&](Value operand) { return isNonNegative(scalar(operand)); };
  if (auto result = dyn_cast<OpResult>(value))
    if (auto loop = dyn_cast<scf::ForOp>(result.getOwner())) {
      std::optional<Polynomial> each = incrementOf(loop.getRegionIterArgs()[result.getResultNumber()]);
      return each && isNonNegative(*each) && also(loop.getInitArgs()[result.getResultNumber()]);
    }
  Operation *op = value.getDefiningOp();
  if (!op) return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<tt::GetProgramIdOp, tt::GetNumProgramsOp, ptx::ClusterRankOp, tt::LoadOp>([](auto) { return true; })
      .Case<arith::SelectOp>([&](auto o) { return also(o.getTrueValue()) && also(o.getFalseValue()); })
      .Case<arith::AndIOp>([&](auto o) { return also(o.getLhs()) || also(o.getRhs()); })
      .Case<arith::ShRSIOp, arith::ShRUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>([&](auto o) { return also(o.getLhs()); })
      .Case<arith::ExtUIOp>([](auto) { return true; })
      .Case<arith::MinUIOp, arith::MaxUIOp>([&](auto o) { return also(o.getLhs()) && also(o.getRhs()); })
      .Default([](Operation *) { return false; });
}

bool Indices::isNonNegativeAtom(int64_t atom) {
  if (isArgument(atom)) return true;
  Atom copy = atoms[static_cast<size_t>(atom - numArguments)]; // asking may make atoms
  switch (copy.kind) {
  case Kind::value: return isNonNegativeValue(copy.value);
  case Kind::induction: return isNonNegative(scalar(cast<scf::ForOp>(copy.loop).getLowerBound()));
  case Kind::trip: return true;
  case Kind::quotient:
  case Kind::remainder: return isNonNegative(copy.left);
  case Kind::least: return isNonNegative(copy.left) && isNonNegative(copy.right);
  case Kind::most: return isNonNegative(copy.left) || isNonNegative(copy.right);
  }
  return false;
}

/// Something that `value` is at least, without induction variables, or nothing where there are none.
std::optional<Polynomial> Indices::withLowerBounds(const Polynomial &value) {
  Polynomial result;
  bool changed = false;
  for (const Term &term : value.terms) {
    auto at = llvm::find_if(term.factors, [&](int64_t factor) {
      return !isArgument(factor) && atoms[static_cast<size_t>(factor - numArguments)].kind == Kind::induction;
    });
    Term rest = term;
    if (at == term.factors.end()) {
      result.add(rest);
      continue;
    }
    rest.factors.erase(rest.factors.begin() + (at - term.factors.begin()));
    Operation *loop = atoms[static_cast<size_t>(*at - numArguments)].loop;
    if (!isNonNegative(Polynomial(rest))) return std::nullopt;
    std::optional<Polynomial> least = product(Polynomial(rest), scalar(cast<scf::ForOp>(loop).getLowerBound()));
    result = result + *least;
    changed = true;
  }
  return changed ? std::optional(result) : std::nullopt;
}

bool Indices::isNonNegative(const Polynomial &value) {
  bool simple = llvm::all_of(value.terms, [&](const Term &term) {
    return term.coefficient >= 0 && llvm::all_of(term.factors, [&](int64_t factor) { return isNonNegativeAtom(factor); });
  });
  if (simple) return true;
  std::optional<Polynomial> less = withLowerBounds(value);
  return less && isNonNegative(*less);
}

bool Indices::isInvariant(const Polynomial &value, Operation *loop) {
  auto outside = [&](Region *region) { return region && !loop->isAncestor(region->getParentOp()); };
  return llvm::all_of(value.terms, [&](const Term &term) {
    return llvm::all_of(term.factors, [&](int64_t factor) -> bool {
      if (isArgument(factor)) return true;
      Atom atom = atoms[static_cast<size_t>(factor - numArguments)];
      switch (atom.kind) {
      case Kind::value: return outside(atom.value.getParentRegion());
      case Kind::induction:
      case Kind::trip: return !loop->isAncestor(atom.loop);
      default: return isInvariant(atom.left, loop) && isInvariant(atom.right, loop);
      }
    });
  });
}

//===---------------------------------------------------------------------------------------------------------------- tiles

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

Result<Polynomial> Indices::element(Value tile, ArrayRef<int64_t> dims) {
  if (!isa<RankedTensorType>(tile.getType())) return scalar(tile);
  DenseElementsAttr constant;
  if (matchPattern(tile, m_Constant(&constant)) && constant.isSplat()) return Polynomial(constant.getSplatValue<APInt>().getSExtValue());
  Operation *op = tile.getDefiningOp();
  if (!op) return Failure{"an index is carried by a loop"};
  if (std::optional<SmallVector<int64_t>> source = sourceDims(op, dims)) return element(op->getOperand(0), *source);
  using Pair = std::optional<std::pair<Polynomial, Polynomial>>;
  std::string problem;
  auto both = [&]() -> Pair {
    Result<Polynomial> left = element(op->getOperand(0), dims);
    if (!left) problem = left.error();
    if (!left) return std::nullopt;
    Result<Polynomial> right = element(op->getOperand(1), dims);
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
      .Case<tt::SplatOp>([&](auto splat) -> Result<Polynomial> { return scalar(splat.getSrc()); })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>([&](auto o) { return element(o.getIn(), dims); })
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
    Result<Polynomial> offset = element(moved.getOffset(), dims);
    if (!offset) return Failure{offset.error()};
    from->offset = from->offset + *offset;
    return from;
  }
  if (isa<RankedTensorType>(value.getType())) return Failure{"its pointers come from " + op->getName().getStringRef().str()};
  return Pointer{value, {}};
}

//===---------------------------------------------------------------------------------------------------------------- masks

Result<void> Indices::collect(Value mask, ArrayRef<int64_t> dims, Mask &parts) {
  static const Failure other{"its mask is more than comparisons of indices with bounds"};
  APInt flag;
  if (matchPattern(mask, m_ConstantInt(&flag)) && flag.isOne()) return {};
  DenseElementsAttr constant;
  if (matchPattern(mask, m_Constant(&constant)) && constant.isSplat() && constant.getSplatValue<APInt>().isOne()) return {};
  if (!isa<RankedTensorType>(mask.getType())) {
    parts.conditions.push_back(mask);
    return {};
  }
  Operation *op = mask.getDefiningOp();
  if (!op) return other;
  if (std::optional<SmallVector<int64_t>> source = sourceDims(op, dims)) return collect(op->getOperand(0), *source, parts);
  if (auto splat = dyn_cast<tt::SplatOp>(op)) return collect(splat.getSrc(), {}, parts);
  if (isa<arith::AndIOp>(op)) {
    Result<void> left = collect(op->getOperand(0), dims, parts);
    return left ? collect(op->getOperand(1), dims, parts) : left;
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || getElementTypeOrSelf(compare.getLhs().getType()).isInteger(1)) return other;
  Result<Polynomial> left = element(compare.getLhs(), dims);
  if (!left) return Failure{"in its mask, " + left.error()};
  Result<Polynomial> right = element(compare.getRhs(), dims);
  if (!right) return Failure{"in its mask, " + right.error()};
  using P = arith::CmpIPredicate;
  P predicate = compare.getPredicate();
  switch (predicate) {
  case P::sgt:
  case P::sge:
  case P::ugt:
  case P::uge: std::swap(*left, *right); break;
  case P::eq:
  case P::ne: return other;
  default: break;
  }
  bool orEqual = predicate == P::sle || predicate == P::sge || predicate == P::ule || predicate == P::uge;
  bool isUnsigned = predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge;
  parts.conjuncts.push_back(*left - *right - Polynomial(orEqual ? 1 : 0));
  // Seen unsigned, a negative number is larger than any bound.
  if (isUnsigned) parts.conjuncts.push_back(Polynomial(-1) - *left);
  return {};
}

Result<Mask> Indices::mask(Value tile, ArrayRef<int64_t> dims) {
  Mask parts;
  Result<void> collected = collect(tile, dims, parts);
  if (!collected) return Failure{collected.error()};
  return parts;
}

//===----------------------------------------------------------------------------------------------------------- as values

static Value castTo(IntegerType wanted, OpBuilder &b, Location location, Value value) {
  Type type = value.getType();
  if (type == wanted) return value;
  if (type.isIndex()) return arith::IndexCastOp::create(b, location, wanted, value);
  if (type.getIntOrFloatBitWidth() > wanted.getWidth()) return arith::TruncIOp::create(b, location, wanted, value);
  return arith::ExtSIOp::create(b, location, wanted, value);
}

Value Indices::make(OpBuilder &b, Location location, const Polynomial &value, int64_t bits) {
  auto type = IntegerType::get(b.getContext(), static_cast<unsigned>(bits));
  auto constant = [&](int64_t number) {
    return arith::ConstantOp::create(b, location,
                                     IntegerAttr::get(type, APInt(type.getWidth(), static_cast<uint64_t>(number), false, true)))
        .getResult();
  };
  auto factorOf = [&](int64_t factor) -> Value {
    if (isArgument(factor)) return castTo(type, b, location, function.getArgument(static_cast<unsigned>(factor)));
    Atom atom = atoms[static_cast<size_t>(factor - numArguments)];
    if (atom.kind != Kind::trip) return castTo(type, b, location, atom.value);
    auto loop = cast<scf::ForOp>(atom.loop);
    Value walked = arith::SubIOp::create(b, location, loop.getInductionVar(), loop.getLowerBound());
    return castTo(type, b, location, arith::DivSIOp::create(b, location, walked, loop.getStep()));
  };
  Value sum;
  for (const Term &term : value.terms) {
    Value part;
    for (int64_t factor : term.factors) {
      Value next = factorOf(factor);
      part = part ? Value(arith::MulIOp::create(b, location, part, next)) : next;
    }
    if (!part)
      part = constant(term.coefficient);
    else if (term.coefficient != 1)
      part = arith::MulIOp::create(b, location, part, constant(term.coefficient));
    sum = sum ? Value(arith::AddIOp::create(b, location, sum, part)) : part;
  }
  return sum ? sum : constant(0);
}

std::string Indices::text(const Polynomial &value) {
  std::string result;
  for (const Term &term : value.terms) {
    if (!result.empty()) result += " + ";
    std::string part;
    if (term.coefficient != 1 || term.factors.empty()) part = std::to_string(term.coefficient);
    for (int64_t factor : term.factors) {
      if (!part.empty()) part += "*";
      if (!isArgument(factor)) {
        part += "(a value that is computed)";
        continue;
      }
      auto name = dyn_cast<NameLoc>(function.getArgument(static_cast<unsigned>(factor)).getLoc());
      part += name ? name.getName().str() : "argument " + std::to_string(factor);
    }
    result += part;
  }
  return result.empty() ? "0" : result;
}

} // namespace tilewright::gpu
