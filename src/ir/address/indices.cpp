// See indices.h. A value is evaluated from its operands, down to arguments, ranges and opaque values. Values that a loop carries:
//     scf.for %iv = %lower to %upper step 64 iter_args(%d = %init) { ... yield %d + 64 * %stride }
//     in the loop   %d = init + (iv - lower) * stride                after it   init + (upper - lower) * stride, if 64 divides that
#include "ir/address/indices.h"

#include "ir/address/divisibility.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

#include <numeric>

using namespace mlir;

namespace tilewright::address {

//===--------------------------------------------------------------------------------------------------------------- atoms

// The atom of an argument has the argument's index as its number. Other atoms follow.

bool Indices::isOfArguments(const Polynomial &value) const {
  return llvm::all_of(value.terms, [&](const Term &term) { return llvm::all_of(term.factors, [&](int64_t a) { return isArgument(a); }); });
}

Polynomial Indices::atom(Atom fresh) {
  if (auto argument = dyn_cast_or_null<BlockArgument>(fresh.value); argument && argument.getOwner() == &function.getBody().front())
    return Polynomial(Term{1, -1, {int64_t(argument.getArgNumber())}});
  // Quotients of equal numbers are equal, whichever operation computes them.
  const void *defined = fresh.left.isZero() && fresh.right.isZero() ? fresh.value.getAsOpaquePointer() : nullptr;
  AtomKey key(fresh.kind, defined, fresh.loop, std::vector<int64_t>(fresh.dims.begin(), fresh.dims.end()), fresh.left, fresh.right);
  auto [entry, isNew] = atomNumbers.try_emplace(std::move(key), numArguments + static_cast<int64_t>(atoms.size()));
  if (isNew) atoms.push_back(std::move(fresh));
  return Polynomial(Term{1, -1, {entry->second}});
}

int64_t Indices::divisorOf(const Term &term) const {
  auto isKnown = [&](int64_t factor) { return isArgument(factor); };
  return divisorOfTerm(function, term.coefficient, llvm::to_vector(llvm::make_filter_range(term.factors, isKnown)));
}

//===------------------------------------------------------------------------------------------------------------- scalars

int64_t bitsOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : static_cast<int64_t>(element.getIntOrFloatBitWidth());
}

/// True if the value's polynomial is only congruent, because it may leave the range of its type. All other polynomials are exact. A
/// quotient is: evaluateBinary has checked it.
static bool mayWrap(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument != loop.getInductionVar();
  }
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp, arith::TruncIOp, arith::IndexCastOp, scf::ForOp>(
      value.getDefiningOp());
}

Polynomial Indices::scalar(Value value) {
  ElementKey key = keyOf(value, {});
  if (auto found = exactElements.find(key); found != exactElements.end()) return *found->second;
  Polynomial result = congruent(value);
  if (mayWrap(value) && result != opaque(value) && !fits(result, {}, bitsOf(value.getType()))) result = opaque(value);
  if (known.contains(value)) exactElements.insert({std::move(key), result}); // not while it is evaluated
  return result;
}

Polynomial Indices::congruent(Value value) {
  if (auto found = known.find(value); found != known.end()) return found->second;
  // A carried value that depends on itself is opaque while it is evaluated.
  if (depth > deepest || !inProgress.insert(value.getAsOpaquePointer()).second) return opaque(value);
  llvm::SaveAndRestore deeper(depth, depth + 1);
  Polynomial result = evaluate(value);
  if (!result.isShort()) result = opaque(value);
  inProgress.erase(value.getAsOpaquePointer());
  known[value] = result;
  return result;
}

std::optional<Indices::Kind> Indices::binaryKind(Operation *op) {
  if (isa<arith::DivSIOp, arith::DivUIOp>(op)) return Kind::quotient;
  if (isa<arith::RemSIOp, arith::RemUIOp>(op)) return Kind::remainder;
  if (isa<arith::MinSIOp>(op)) return Kind::minimum;
  if (isa<arith::MaxSIOp>(op)) return Kind::maximum;
  return std::nullopt;
}

bool Indices::quotientFits(const Polynomial &dividend, const Extents &of, const Polynomial &divisor, const Extents &by, int64_t bits) {
  return isProven(divisor, by, 0, INT64_MAX) || isProven(dividend, of, llvm::minIntN(bits) + 1, INT64_MAX) ||
         (bits >= minAssumedBits && assume(divisor, by, 0, INT64_MAX));
}

Result<Polynomial> Indices::evaluateBinary(Kind kind, Operation *op, ArrayRef<int64_t> dims) {
  bool isUnsigned = isa<arith::RemUIOp, arith::DivUIOp>(op);
  Polynomial left = elementOrOpaque(op->getOperand(0), dims), right = elementOrOpaque(op->getOperand(1), dims);
  Extents leftExtents = extentsOf(op->getOperand(0), dims), rightExtents = extentsOf(op->getOperand(1), dims);
  // As an unsigned number, a negative number is large.
  if (isUnsigned && !(fitsUnsigned(left, leftExtents) && fitsUnsigned(right, rightExtents)))
    return Failure{"an unsigned operation may have a negative operand"};
  if (kind == Kind::quotient && !quotientFits(left, leftExtents, right, rightExtents, bitsOf(op->getResult(0).getType())))
    return Failure{"the smallest integer may be divided by -1"};
  std::optional<int64_t> by = right.constant();
  if (by && *by > 0 && (kind == Kind::quotient || kind == Kind::remainder))
    if (std::optional<Polynomial> parts = divideParts(kind, op->getResult(0), left, leftExtents, *by)) return *parts;
  if (isa<RankedTensorType>(op->getResult(0).getType()) && !namesTiles)
    return Failure{kind == Kind::remainder ? "an index is the result of a modulo" : "an index is the result of a division"};
  return atom({kind, op->getResult(0), nullptr, std::move(left), std::move(right)});
}

/// If the dividend is not a multiple of `by` in each term, it is a multiple of `by`, plus the terms `base` without coordinates, plus the
/// rest. If the rest stays below the common divisor of `base` and `by`, it carries nothing:
///     (32*p + i) // 64, i < 32     ->     (32*p) // 64                (32*p + i) % 64     ->     (32*p) % 64 + i
/// No part is negative, so division rounds down, and the parts fit in the type of the dividend.
std::optional<Polynomial> Indices::divideParts(Kind kind, Value result, const Polynomial &left, const Extents &extents, int64_t by) {
  if (std::optional<Polynomial> exact = left.dividedBy(by)) return kind == Kind::quotient ? *exact : Polynomial();
  Polynomial multiple, base, rest;
  int64_t divisor = by;
  for (const Term &term : left.terms) {
    bool isRest = term.dim >= 0 || term.factors.empty();
    (term.coefficient % by == 0 ? multiple : isRest ? rest : base).add(term);
    if (term.coefficient % by != 0 && !isRest) divisor = std::gcd(divisor, term.coefficient);
  }
  int64_t constant = rest.along(-1).constant().value_or(0), low = constant - constant % divisor;
  rest = rest - Polynomial(low);
  base = base + Polynomial(low);
  auto isNatural = [&](const Polynomial &part) { return isProven(part, extents, 0, INT64_MAX); };
  if (!isNatural(multiple) || !isNatural(base) || !isProven(rest, extents, 0, divisor - 1)) return std::nullopt;
  bool divides = kind == Kind::quotient;
  if (multiple.isZero() && rest.isZero()) return std::nullopt;
  Polynomial whole = divides ? *multiple.dividedBy(by) : rest;
  if (std::optional<int64_t> number = base.constant()) return whole + Polynomial(divides ? *number / by : *number % by);
  return whole + atom({kind, result, nullptr, std::move(base), Polynomial(by), {}, /*isPart=*/true});
}

std::optional<int64_t> Indices::powerOfTwo(const Polynomial &amount, int64_t bits) {
  std::optional<int64_t> by = amount.constant();
  return by && *by >= 0 && *by < std::min<int64_t>(bits, 63) ? std::optional(int64_t(1) << *by) : std::nullopt;
}

Polynomial Indices::evaluateExtension(Operation *op, bool isUnsigned) {
  Value narrow = op->getOperand(0), wide = op->getResult(0);
  if (narrow.getType().isInteger(1) || wide.getType().isInteger(1)) return opaque(wide);
  if (bitsOf(wide.getType()) < bitsOf(narrow.getType())) return congruent(narrow); // a narrowing index_cast
  Polynomial value = scalar(narrow);
  bool asSigned = !isUnsigned || isNonNegative(value) || (bitsOf(narrow.getType()) >= minAssumedBits && assumeNonNegative(value));
  return asSigned ? value : opaque(wide);
}

Polynomial Indices::evaluate(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())) {
      if (argument == loop.getInductionVar()) return loop.getUnsignedCmp() ? opaque(value) : atom({Kind::induction, value, loop});
      return evaluateCarried(argument);
    }
    return opaque(value);
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (std::optional<Kind> kind = binaryKind(op)) {
    Result<Polynomial> result = evaluateBinary(*kind, op, {});
    return result ? *result : opaque(value);
  }
  return llvm::TypeSwitch<Operation *, Polynomial>(op)
      .Case<arith::AddIOp>([&](auto o) { return congruent(o.getLhs()) + congruent(o.getRhs()); })
      .Case<arith::SubIOp>([&](auto o) { return congruent(o.getLhs()) - congruent(o.getRhs()); })
      .Case<arith::MulIOp>([&](auto o) { return *product(congruent(o.getLhs()), congruent(o.getRhs())); })
      .Case<arith::ShLIOp>([&](auto o) {
        std::optional<int64_t> factor = powerOfTwo(scalar(o.getRhs()), bitsOf(o.getType()));
        return factor ? *product(congruent(o.getLhs()), *factor) : opaque(value);
      })
      .Case<arith::TruncIOp>([&](auto o) { return o.getType().isInteger(1) ? opaque(value) : congruent(o.getIn()); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](auto) { return evaluateExtension(op, false); })
      .Case<arith::ExtUIOp>([&](auto) { return evaluateExtension(op, true); })
      .Case<scf::ForOp>([&](auto) { return evaluateLoopResult(cast<OpResult>(value)); })
      .Default([&](Operation *) { return opaque(value); });
}

//===--------------------------------------------------------------------------------------------------------------- loops

/// `visited`: values from which the search has not reached the carried value, and those on its path.
std::optional<Polynomial> Indices::increment(Value next, BlockArgument carried, llvm::SmallPtrSetImpl<Operation *> &visited) {
  if (next == carried) return Polynomial();
  Operation *op = next.getDefiningOp();
  if (!op || op->getBlock() != carried.getOwner() || !visited.insert(op).second) return std::nullopt;
  auto from = [&](Value operand) { return increment(operand, carried, visited); };
  if (auto sum = dyn_cast<arith::AddIOp>(op)) {
    if (std::optional<Polynomial> left = from(sum.getLhs())) return *left + congruent(sum.getRhs());
    if (std::optional<Polynomial> right = from(sum.getRhs())) return *right + congruent(sum.getLhs());
  }
  if (auto difference = dyn_cast<arith::SubIOp>(op))
    if (std::optional<Polynomial> left = from(difference.getLhs())) return *left - congruent(difference.getRhs());
  if (auto moved = dyn_cast<tt::AddPtrOp>(op))
    if (std::optional<Polynomial> left = from(moved.getPtr())) return *left + scalar(moved.getOffset());
  return std::nullopt;
}

std::optional<Polynomial> Indices::incrementOf(BlockArgument carried) {
  auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
  if (loop.getUnsignedCmp()) return std::nullopt;
  Value next = loop.getBody()->getTerminator()->getOperand(carried.getArgNumber() - 1);
  llvm::SmallPtrSet<Operation *, 8> visited;
  std::optional<Polynomial> step = increment(next, carried, visited);
  return step && isInvariant(*step, loop) ? step : std::nullopt;
}

/// Returns `distance` / step * `increment` if the division is exact in each term. `distance` is a multiple of the step.
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
  if (!each) return opaque(carried);
  Polynomial init = congruent(loop.getInitArgs()[carried.getArgNumber() - 1]);
  Polynomial distance = scalar(loop.getInductionVar()) - scalar(loop.getLowerBound());
  // iv - lower is always a multiple of the step.
  if (std::optional<Polynomial> moved = overSteps(distance, loop, *each)) return init + *moved;
  return init + *product(atom({Kind::iteration, {}, loop}), *each);
}

Polynomial Indices::evaluateLoopResult(OpResult result) {
  auto loop = cast<scf::ForOp>(result.getOwner());
  std::optional<Polynomial> each = incrementOf(loop.getRegionIterArgs()[result.getResultNumber()]);
  if (!each) return opaque(result);
  Polynomial init = congruent(loop.getInitArgs()[result.getResultNumber()]);
  if (each->isZero()) return init;
  std::optional<Polynomial> distance = exactDifference(scalar(loop.getUpperBound()), scalar(loop.getLowerBound()));
  std::optional<int64_t> step = scalar(loop.getStep()).constant();
  // The last iteration may pass the upper bound, and the loop may have no iterations.
  bool exact = distance && step && *step > 0 && distance->dividedBy(*step) && assumeNonNegative(*distance);
  if (!exact) return opaque(result);
  return init + *overSteps(*distance, loop, *each);
}

//===---------------------------------------------------------------------------------------------------------- invariance

bool Indices::isInvariant(const Polynomial &value, Operation *loop) {
  SmallVector<const Polynomial *> pending{&value};
  llvm::SmallDenseSet<int64_t> visited; // atoms
  while (!pending.empty())
    for (const Term &term : pending.pop_back_val()->terms)
      for (int64_t factor : term.factors) {
        if (isArgument(factor) || !visited.insert(factor).second) continue;
        const Atom &atom = atomAt(factor);
        if (atom.kind == Kind::value) {
          Region *region = Value(atom.value).getParentRegion();
          if (!region || loop->isAncestor(region->getParentOp())) return false;
        }
        if (atom.loop && loop->isAncestor(atom.loop)) return false;
        pending.append({&atom.left, &atom.right});
      }
  return true;
}

//===----------------------------------------------------------------------------------------------------------- as values

static Value castTo(IntegerType wanted, OpBuilder &b, Location location, Value value) {
  Type type = value.getType();
  if (type == wanted) return value;
  if (type.isIndex()) return arith::IndexCastOp::create(b, location, wanted, value);
  if (type.getIntOrFloatBitWidth() > wanted.getWidth()) return arith::TruncIOp::create(b, location, wanted, value);
  return arith::ExtSIOp::create(b, location, wanted, value);
}

/// True if operations at the insertion point, which stands before an operation, may use the value.
static bool isVisible(Value value, const OpBuilder &b) {
  Operation *inBlock = value.getParentBlock()->findAncestorOpInBlock(*b.getInsertionPoint());
  Operation *op = value.getDefiningOp();
  return inBlock && (!op || op->isBeforeInBlock(inBlock));
}

/// Returns the index of an iteration, which counts from 0.
static Value iterationOf(scf::ForOp loop, IntegerType type, OpBuilder &b, Location location) {
  // The distance from the lower bound may be too large for a signed number of this type.
  Value distance = arith::SubIOp::create(b, location, loop.getInductionVar(), loop.getLowerBound());
  Value iteration = arith::DivUIOp::create(b, location, distance, loop.getStep());
  bool isNarrow = iteration.getType().isInteger() && bitsOf(iteration.getType()) < type.getWidth();
  return isNarrow ? arith::ExtUIOp::create(b, location, type, iteration).getResult() : castTo(type, b, location, iteration);
}

/// An operation may stand where its value is not visible: in a loop after its users, or in a branch. Its operands are visible then, because
/// the value is the same everywhere.
Value Indices::makeAtom(OpBuilder &b, Location location, const Atom &atom, IntegerType type) {
  if (atom.kind == Kind::iteration) return iterationOf(cast<scf::ForOp>(atom.loop), type, b, location);
  if (!atom.isPart && (atom.kind == Kind::value || atom.kind == Kind::induction || isVisible(atom.value, b)))
    return castTo(type, b, location, atom.value);
  int64_t bits = bitsOf(atom.value.getType());
  Value left = make(b, location, atom.left, bits), right = make(b, location, atom.right, bits), made;
  switch (atom.kind) {
  case Kind::quotient: made = arith::DivSIOp::create(b, location, left, right); break;
  case Kind::remainder: made = arith::RemSIOp::create(b, location, left, right); break;
  case Kind::minimum: made = arith::MinSIOp::create(b, location, left, right); break;
  default: made = arith::MaxSIOp::create(b, location, left, right); break;
  }
  return castTo(type, b, location, made);
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
    return makeAtom(b, location, atomAt(factor), type);
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

/// Returns the text of an atom that is not an argument, for messages: "program_id(0)", "(M + 127) / 128".
static std::string describe(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (auto id = dyn_cast_or_null<tt::GetProgramIdOp>(op)) return "program_id(" + std::to_string(static_cast<int64_t>(id.getAxis())) + ")";
  if (auto count = dyn_cast_or_null<tt::GetNumProgramsOp>(op))
    return "num_programs(" + std::to_string(static_cast<int64_t>(count.getAxis())) + ")";
  return isa_and_nonnull<tt::LoadOp>(op) ? "(a loaded value)" : "(a computed value)";
}

/// A quotient may contain another one several times, so its text is computed once, and its length is limited.
std::string Indices::textOf(int64_t factor) {
  constexpr size_t maxLength = 1000;
  if (isArgument(factor)) return nameOf(function.getArgument(static_cast<unsigned>(factor)));
  if (auto found = texts.find(factor); found != texts.end()) return found->second;
  std::string text = textOf(atomAt(factor));
  return texts[factor] = text.size() <= maxLength ? text : "(a long expression)";
}

std::string Indices::textOf(const Atom &atom) {
  switch (atom.kind) {
  case Kind::value: return describe(atom.value);
  case Kind::induction: return "(a loop's variable)";
  case Kind::iteration: return "(a loop's iteration)";
  case Kind::quotient: return "((" + text(atom.left) + ") // (" + text(atom.right) + "))";
  case Kind::remainder: return "((" + text(atom.left) + ") % (" + text(atom.right) + "))";
  case Kind::minimum: return "min(" + text(atom.left) + ", " + text(atom.right) + ")";
  case Kind::maximum: return "max(" + text(atom.left) + ", " + text(atom.right) + ")";
  }
  return "?";
}

std::string Indices::text(const Polynomial &value) {
  std::string result;
  for (const Term &term : value.terms) {
    std::string part;
    bool minus = term.coefficient < 0 && !result.empty();
    std::string shown = std::to_string(term.coefficient).substr(minus ? 1 : 0);
    if (!result.empty()) result += minus ? " - " : " + ";
    if (shown != "1" || (term.factors.empty() && term.dim < 0)) part = shown;
    for (int64_t factor : term.factors)
      part += (part.empty() ? "" : "*") + textOf(factor);
    if (term.dim >= 0) part += (part.empty() ? "" : "*") + ("i" + std::to_string(term.dim));
    result += part;
  }
  return result.empty() ? "0" : result;
}

} // namespace tilewright::address
