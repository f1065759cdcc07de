// See indices.h. A value is evaluated from its operands, down to arguments, ranges and opaque values. Values that a loop carries:
//     scf.for %iv = %lower to %upper step 64 iter_args(%d = %init) { ... yield %d + 64 * %stride }
//     in the loop   %d = init + (iv - lower) * stride                after it   init + (upper - lower) * stride, if 64 divides that
#include "ir/address/indices.h"

#include "ir/address/divisibility.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

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
  bool computed = fresh.kind != Kind::value && fresh.kind != Kind::induction && fresh.kind != Kind::trip;
  auto same = [&](const Atom &other) {
    if (other.kind != fresh.kind || other.loop != fresh.loop || other.dims != fresh.dims) return false;
    return computed ? other.left == fresh.left && other.right == fresh.right : other.value == fresh.value;
  };
  size_t index = static_cast<size_t>(llvm::find_if(atoms, same) - atoms.begin());
  if (index == atoms.size()) atoms.push_back(std::move(fresh));
  return Polynomial(Term{1, -1, {numArguments + static_cast<int64_t>(index)}});
}

/// Returns the largest power of two that divides `number`; 0 for 0.
static int64_t powerOfTwoIn(int64_t number) {
  return static_cast<int64_t>(static_cast<uint64_t>(number) & (0 - static_cast<uint64_t>(number)));
}

int64_t Indices::divisorOf(const Term &term) {
  SmallVector<int64_t> arguments =
      llvm::to_vector(llvm::make_filter_range(term.factors, [&](int64_t factor) { return isArgument(factor); }));
  return divisorOfTerm(function, term.coefficient, arguments);
}

int64_t divisibilityOf(BlockArgument argument) {
  auto kernel = cast<tt::FuncOp>(argument.getOwner()->getParentOp());
  auto known = kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), tt::divisibilityName);
  return known ? known.getInt() : 1;
}

int64_t divisorOf(Value integer) {
  constexpr int64_t maxDivisor = int64_t(1) << 30;
  APInt constant;
  if (matchPattern(integer, m_ConstantInt(&constant)))
    return constant.isZero() ? maxDivisor : std::min(maxDivisor, powerOfTwoIn(constant.getSExtValue()));
  auto argument = dyn_cast<BlockArgument>(integer);
  if (argument && isa<tt::FuncOp>(argument.getOwner()->getParentOp())) return std::min(maxDivisor, powerOfTwoIn(divisibilityOf(argument)));
  Operation *op = integer.getDefiningOp();
  if (isa_and_nonnull<arith::MulIOp>(op)) return std::min(maxDivisor, divisorOf(op->getOperand(0)) * divisorOf(op->getOperand(1)));
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) return std::min(divisorOf(op->getOperand(0)), divisorOf(op->getOperand(1)));
  return 1;
}

int64_t divisorOfTerm(tt::FuncOp kernel, int64_t coefficient, ArrayRef<int64_t> arguments) {
  int64_t divisor = powerOfTwoIn(coefficient);
  for (int64_t argument : arguments)
    divisor *= powerOfTwoIn(divisibilityOf(kernel.getArgument(static_cast<unsigned>(argument))));
  return divisor;
}

//===------------------------------------------------------------------------------------------------------------- scalars

int64_t bitsOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : static_cast<int64_t>(element.getIntOrFloatBitWidth());
}

/// True if the value's polynomial is only congruent, because it may leave the range of its type. All other polynomials are exact.
static bool mayWrap(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument != loop.getInductionVar();
  }
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp, arith::TruncIOp, arith::IndexCastOp, scf::ForOp>(
      value.getDefiningOp());
}

Polynomial Indices::scalar(Value value) {
  Polynomial result = congruent(value);
  if (!mayWrap(value) || result == opaque(value) || fits(result, {}, bitsOf(value.getType()))) return result;
  return opaque(value);
}

Polynomial Indices::congruent(Value value) {
  auto found = known.find(value);
  if (found != known.end()) return found->second;
  // A carried value that depends on itself is opaque while it is evaluated.
  if (depth > deepest || !inProgress.insert(value.getAsOpaquePointer()).second) return opaque(value);
  llvm::SaveAndRestore deeper(depth, depth + 1);
  Polynomial result = evaluate(value);
  if (!result.isShort()) result = opaque(value);
  inProgress.erase(value.getAsOpaquePointer());
  known[value] = result;
  return result;
}

Polynomial Indices::evaluateBinary(Kind kind, Operation *op, bool isUnsigned) {
  Polynomial left = scalar(op->getOperand(0)), right = scalar(op->getOperand(1));
  // As an unsigned number, a negative number is large.
  if (isUnsigned && !(assumeNonNegative(left) && assumeNonNegative(right))) return opaque(op->getResult(0));
  if (kind == Kind::quotient && mayOverflow(left, {}, right, {}, bitsOf(op->getResult(0).getType()))) return opaque(op->getResult(0));
  std::optional<int64_t> by = right.constant();
  if (by && *by > 0 && kind == Kind::quotient)
    if (std::optional<Polynomial> exact = left.dividedBy(*by)) return *exact;
  if (by && *by > 0 && kind == Kind::remainder && left.dividedBy(*by)) return 0;
  return atom({kind, op->getResult(0), nullptr, std::move(left), std::move(right)});
}

Polynomial Indices::evaluateExtension(Operation *op, bool isUnsigned) {
  Value narrow = op->getOperand(0), wide = op->getResult(0);
  if (narrow.getType().isInteger(1) || wide.getType().isInteger(1)) return opaque(wide);
  if (bitsOf(wide.getType()) < bitsOf(narrow.getType())) return congruent(narrow); // a narrowing index_cast
  Polynomial value = scalar(narrow);
  bool asSigned = !isUnsigned || isNonNegative(value) || (bitsOf(narrow.getType()) >= 32 && assumeNonNegative(value));
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
  return llvm::TypeSwitch<Operation *, Polynomial>(op)
      .Case<arith::AddIOp>([&](auto o) { return congruent(o.getLhs()) + congruent(o.getRhs()); })
      .Case<arith::SubIOp>([&](auto o) { return congruent(o.getLhs()) - congruent(o.getRhs()); })
      .Case<arith::MulIOp>([&](auto o) { return *product(congruent(o.getLhs()), congruent(o.getRhs())); })
      .Case<arith::ShLIOp>([&](auto o) {
        std::optional<int64_t> by = scalar(o.getRhs()).constant();
        return by && *by >= 0 && *by < 63 ? *product(congruent(o.getLhs()), int64_t(1) << *by) : opaque(value);
      })
      .Case<arith::TruncIOp>([&](auto o) { return o.getType().isInteger(1) ? opaque(value) : congruent(o.getIn()); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](auto) { return evaluateExtension(op, false); })
      .Case<arith::ExtUIOp>([&](auto) { return evaluateExtension(op, true); })
      .Case<arith::DivSIOp>([&](auto) { return evaluateBinary(Kind::quotient, op, false); })
      .Case<arith::DivUIOp>([&](auto) { return evaluateBinary(Kind::quotient, op, true); })
      .Case<arith::RemSIOp>([&](auto) { return evaluateBinary(Kind::remainder, op, false); })
      .Case<arith::RemUIOp>([&](auto) { return evaluateBinary(Kind::remainder, op, true); })
      .Case<arith::MinSIOp>([&](auto) { return evaluateBinary(Kind::minimum, op, false); })
      .Case<arith::MaxSIOp>([&](auto) { return evaluateBinary(Kind::maximum, op, false); })
      .Case<scf::ForOp>([&](auto) { return evaluateLoopResult(cast<OpResult>(value)); })
      .Default([&](Operation *) { return opaque(value); });
}

//===--------------------------------------------------------------------------------------------------------------- loops

std::optional<Polynomial> Indices::increment(Value next, BlockArgument carried) {
  if (next == carried) return Polynomial();
  Operation *op = next.getDefiningOp();
  if (!op || op->getBlock() != carried.getOwner()) return std::nullopt;
  if (auto sum = dyn_cast<arith::AddIOp>(op)) {
    if (std::optional<Polynomial> left = increment(sum.getLhs(), carried)) return *left + congruent(sum.getRhs());
    if (std::optional<Polynomial> right = increment(sum.getRhs(), carried)) return *right + congruent(sum.getLhs());
  }
  if (auto difference = dyn_cast<arith::SubIOp>(op))
    if (std::optional<Polynomial> left = increment(difference.getLhs(), carried)) return *left - congruent(difference.getRhs());
  if (auto moved = dyn_cast<tt::AddPtrOp>(op))
    if (std::optional<Polynomial> left = increment(moved.getPtr(), carried)) return *left + scalar(moved.getOffset());
  return std::nullopt;
}

std::optional<Polynomial> Indices::incrementOf(BlockArgument carried) {
  auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
  if (loop.getUnsignedCmp()) return std::nullopt;
  Value next = loop.getBody()->getTerminator()->getOperand(carried.getArgNumber() - 1);
  std::optional<Polynomial> step = increment(next, carried);
  return step && isInvariant(*step, loop) ? step : std::nullopt;
}

/// Returns `distance` / step * `increment` if the division is exact in each term.
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
  return init + *product(atom({Kind::trip, {}, loop}), *each);
}

Polynomial Indices::evaluateLoopResult(OpResult result) {
  auto loop = cast<scf::ForOp>(result.getOwner());
  std::optional<Polynomial> each = incrementOf(loop.getRegionIterArgs()[result.getResultNumber()]);
  if (!each) return opaque(result);
  Polynomial init = congruent(loop.getInitArgs()[result.getResultNumber()]);
  if (each->isZero()) return init;
  Polynomial distance = scalar(loop.getUpperBound()) - scalar(loop.getLowerBound());
  std::optional<int64_t> step = scalar(loop.getStep()).constant();
  // The last iteration may pass the upper bound, and the loop may have no iterations.
  bool exact = step && *step > 0 && distance.dividedBy(*step) && assumeNonNegative(distance);
  if (!exact) return opaque(result);
  return init + *overSteps(distance, loop, *each);
}

//===---------------------------------------------------------------------------------------------------------- invariance

bool Indices::isInvariant(const Polynomial &value, Operation *loop) {
  auto outside = [&](Region *region) { return region && !loop->isAncestor(region->getParentOp()); };
  return llvm::all_of(value.terms, [&](const Term &term) {
    return llvm::all_of(term.factors, [&](int64_t factor) -> bool {
      if (isArgument(factor)) return true;
      Atom atom = atomAt(factor);
      switch (atom.kind) {
      case Kind::value: return outside(atom.value.getParentRegion());
      case Kind::induction:
      case Kind::trip: return !loop->isAncestor(atom.loop);
      default: return isInvariant(atom.left, loop) && isInvariant(atom.right, loop);
      }
    });
  });
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
    const Atom &atom = atomAt(factor);
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

/// Returns the text of an atom that is not an argument, for messages: "program_id(0)", "(M + 127) / 128".
static std::string describe(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (auto id = dyn_cast_or_null<tt::GetProgramIdOp>(op)) return "program_id(" + std::to_string(static_cast<int64_t>(id.getAxis())) + ")";
  if (auto count = dyn_cast_or_null<tt::GetNumProgramsOp>(op))
    return "num_programs(" + std::to_string(static_cast<int64_t>(count.getAxis())) + ")";
  return isa_and_nonnull<tt::LoadOp>(op) ? "(a loaded value)" : "(a computed value)";
}

std::string Indices::textOf(int64_t factor) {
  if (isArgument(factor)) return nameOf(function.getArgument(static_cast<unsigned>(factor)));
  const Atom &atom = atomAt(factor);
  switch (atom.kind) {
  case Kind::value: return describe(atom.value);
  case Kind::induction: return "(a loop's variable)";
  case Kind::trip: return "(a loop's iteration)";
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
    int64_t shown = minus ? -term.coefficient : term.coefficient;
    if (!result.empty()) result += minus ? " - " : " + ";
    if (shown != 1 || (term.factors.empty() && term.dim < 0)) part = std::to_string(shown);
    for (int64_t factor : term.factors)
      part += (part.empty() ? "" : "*") + textOf(factor);
    if (term.dim >= 0) part += (part.empty() ? "" : "*") + ("i" + std::to_string(term.dim));
    result += part;
  }
  return result.empty() ? "0" : result;
}

} // namespace tilewright::address
