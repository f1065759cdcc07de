// Builds the interval computation (support/interval.h) that bounds an index, from the definition of each atom:
//     program_id(0) // (8*n)  ->  quotient [0, programs - 1] / (8 * slot n)
// It is evaluated three times. Without knowledge of the launch, it shows if the bound is proven. With the values of an ordinary launch, it
// shows if the bound is worth assuming. With the values of a launch, it is the launch guard.
//
// An operation that polynomials do not follow (and, or, unsigned shifts, ...) is bounded by its type and its constant operand alone.
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tilewright::address {

/// One interval computation. An atom that occurs twice is computed once.
struct Indices::Bounds {
  using Kind = BoundNode::Kind;
  static constexpr size_t maxNodes = 512; // a longer computation follows no more operations
  Indices &indices;
  Extents extents;
  std::vector<BoundNode> nodes{};
  llvm::DenseMap<int64_t, int64_t> known{}; // the steps of atoms

  int64_t push(Kind kind, int64_t first, int64_t second) {
    nodes.push_back({kind, first, second});
    return static_cast<int64_t>(nodes.size()) - 1;
  }
  int64_t range(int64_t low, int64_t high) { return push(Kind::range, low, high); }
  int64_t number(int64_t value) { return range(value, value); }

  int64_t ofType(Type type) {
    int64_t bits = bitsOf(type);
    return range(llvm::minIntN(bits), llvm::maxIntN(bits));
  }

  int64_t ofTerms(const Polynomial &value) {
    int64_t sum = -1;
    for (const Term &term : value.terms) {
      int64_t part = number(term.coefficient);
      for (int64_t factor : term.factors)
        part = push(Kind::product, part, ofAtom(factor));
      if (term.dim >= 0) part = push(Kind::product, part, range(0, extents[static_cast<size_t>(term.dim)] - 1));
      sum = sum < 0 ? part : push(Kind::sum, sum, part);
    }
    return sum < 0 ? number(0) : sum;
  }

  /// An induction variable is lower + step * iteration. That cancels other terms that depend on `lower`:  iv - lower >= 0.
  int64_t ofPolynomial(const Polynomial &value) {
    int64_t direct = ofTerms(value);
    std::optional<Polynomial> unrolled = indices.withIterations(value);
    return unrolled ? push(Kind::intersection, ofPolynomial(*unrolled), direct) : direct;
  }

  int64_t ofAtom(int64_t factor) {
    if (auto found = known.find(factor); found != known.end()) return found->second;
    int64_t made = makeAtom(factor);
    known[factor] = made;
    return made;
  }

  int64_t makeAtom(int64_t factor) {
    if (indices.isArgument(factor)) return push(Kind::slot, factor, 0);
    Atom atom = indices.atomAt(factor); // a copy, because bounding it may create atoms
    if (atom.value && nodes.size() > maxNodes) return ofType(atom.value.getType());
    auto two = [&](Kind kind) {
      int64_t left = ofPolynomial(atom.left), right = ofPolynomial(atom.right);
      return push(kind, left, right);
    };
    switch (atom.kind) {
    case Indices::Kind::value: return ofValue(atom.value, atom.dims);
    case Indices::Kind::induction: return ofInduction(cast<scf::ForOp>(atom.loop));
    case Indices::Kind::iteration: return ofIteration(cast<scf::ForOp>(atom.loop));
    case Indices::Kind::quotient: return two(Kind::quotient);
    case Indices::Kind::remainder: return two(Kind::remainder);
    case Indices::Kind::minimum: return two(Kind::min);
    case Indices::Kind::maximum: return two(Kind::max);
    }
    return range(INT64_MIN, INT64_MAX);
  }

  /// The index of an iteration in a loop that runs: from 0 to (upper - lower - 1) / step.
  int64_t ofIteration(scf::ForOp loop) {
    Polynomial lower = indices.scalar(loop.getLowerBound()), upper = indices.scalar(loop.getUpperBound());
    std::optional<Polynomial> distance = exactDifference(upper, lower); // in which equal terms have canceled
    int64_t length = distance ? ofPolynomial(*distance) : ofDifference(upper, lower);
    int64_t walked = push(Kind::sum, length, number(-1));
    int64_t step = ofPolynomial(indices.scalar(loop.getStep()));
    int64_t last = push(Kind::quotient, walked, push(Kind::max, step, number(1)));
    int64_t count = push(Kind::sum, last, number(1));
    return push(Kind::induction, number(0), count);
  }

  int64_t ofDifference(const Polynomial &a, const Polynomial &b) {
    int64_t left = ofPolynomial(a), right = ofPolynomial(b);
    return push(Kind::sum, left, push(Kind::product, right, number(-1)));
  }

  int64_t ofInduction(scf::ForOp loop) {
    Polynomial lower = indices.scalar(loop.getLowerBound()), upper = indices.scalar(loop.getUpperBound());
    std::optional<int64_t> step = indices.scalar(loop.getStep()).constant();
    int64_t from = ofPolynomial(lower);
    // With constant bounds, the last value is exact: the upper bound may be far from it.
    if (!lower.constant() || !upper.constant() || !step || *step <= 0) return push(Kind::induction, from, ofPolynomial(upper));
    int64_t iteration = ofIteration(loop);
    return push(Kind::sum, from, push(Kind::product, iteration, number(*step)));
  }

  /// A number of at most 63 bits.
  int64_t ofUnsigned(int64_t bits) { return range(0, static_cast<int64_t>(llvm::maxUIntN(static_cast<uint64_t>(bits)))); }

  /// The operand of an operation whose result has the coordinates `dims`.
  int64_t ofOperand(Value operand, ArrayRef<int64_t> dims) {
    llvm::SaveAndRestore deeper(indices.depth, indices.depth + 1); // an exact operand needs bounds of its own operands
    return indices.depth > deepest ? ofType(operand.getType()) : ofPolynomial(indices.elementOrOpaque(operand, dims));
  }

  /// Bounds all elements of another tile, at any coordinates.
  int64_t ofAll(Value tile) {
    Extents own(cast<RankedTensorType>(tile.getType()).getShape());
    std::swap(extents, own);
    auto outer = std::move(known);
    known.clear();
    int64_t all = ofOperand(tile, ownDims(tile));
    known = std::move(outer);
    std::swap(extents, own);
    return all;
  }

  int64_t ofShift(arith::ShRSIOp op, ArrayRef<int64_t> dims) {
    APInt number;
    bool isKnown = matchPattern(op.getRhs(), m_ConstantInt(&number)) && number.ult(uint64_t(bitsOf(op.getType())));
    return isKnown ? push(Kind::shift, ofOperand(op.getLhs(), dims), number.getSExtValue()) : ofType(op.getType());
  }

  /// Bounds a scalar (`dims` is empty), or the element of a tile.
  int64_t ofValue(Value value, ArrayRef<int64_t> dims) {
    Operation *op = value.getDefiningOp();
    if (!op) return ofType(value.getType());
    APInt number;
    return llvm::TypeSwitch<Operation *, int64_t>(op)
        .Case<tt::GetProgramIdOp>([&](auto o) { return push(Kind::program, static_cast<int64_t>(o.getAxis()), 0); })
        .Case<tt::GetNumProgramsOp>([&](auto o) { return push(Kind::programs, static_cast<int64_t>(o.getAxis()), 0); })
        .Case<arith::SelectOp>([&](auto o) {
          int64_t left = ofOperand(o.getTrueValue(), dims), right = ofOperand(o.getFalseValue(), dims);
          return push(Kind::hull, left, right);
        })
        .Case<arith::ExtUIOp>([&](auto o) {
          int64_t bits = bitsOf(o.getIn().getType());
          return bits < 64 ? ofUnsigned(bits) : ofType(value.getType());
        })
        .Case<arith::ExtSIOp>([&](auto o) { return ofType(o.getIn().getType()); })
        .Case<arith::AndIOp>([&](auto o) {
          bool masked = matchPattern(o.getRhs(), m_ConstantInt(&number)) && number.isNonNegative();
          return masked ? range(0, number.getSExtValue()) : ofType(value.getType());
        })
        .Case<arith::ShRUIOp>([&](auto o) {
          int64_t bits = bitsOf(value.getType());
          bool shifted = matchPattern(o.getRhs(), m_ConstantInt(&number)) && number.ugt(0) && number.ult(uint64_t(bits));
          return shifted ? ofUnsigned(bits - number.getSExtValue()) : ofType(value.getType());
        })
        .Case<arith::ShRSIOp>([&](auto o) { return ofShift(o, dims); })
        .Case<tt::ReshapeOp>([&](auto o) { return ofAll(o.getSrc()); })
        .Default([&](Operation *) { return ofType(value.getType()); });
  }
};

std::optional<Polynomial> Indices::withIterations(const Polynomial &value) {
  for (const Term &term : value.terms)
    for (int64_t factor : term.factors) {
      if (isArgument(factor) || atomAt(factor).kind != Kind::induction) continue;
      Operation *op = atomAt(factor).loop;
      auto loop = cast<scf::ForOp>(op);
      Polynomial lower = scalar(loop.getLowerBound());
      if (lower.constant()) continue;
      return substitute(value, factor, lower + *product(scalar(loop.getStep()), atom({Kind::iteration, {}, op})));
    }
  return std::nullopt;
}

Indices::Bounds Indices::boundsOf(const Polynomial &value, const Extents &extents) {
  Bounds bounds{*this, extents};
  bounds.ofPolynomial(value);
  return bounds;
}

/// Knows only the types of the arguments and the maximum size of a grid.
static BoundContext unknownLaunch(tt::FuncOp function, const GridLimits &limits) {
  BoundContext context;
  for (Type type : function.getArgumentTypes()) {
    int64_t bits = type.isInteger() ? bitsOf(type) : 64;
    context.slots.push_back({llvm::minIntN(bits), llvm::maxIntN(bits)});
  }
  for (auto [programs, limit] : llvm::zip(context.programs, limits))
    programs = {1, limit};
  return context;
}

/// The values of a small ordinary launch. An assumption that fails there is not worth a version of the kernel.
static BoundContext ordinaryLaunch(tt::FuncOp function) {
  BoundContext context;
  context.slots.assign(function.getNumArguments(), Interval{256, 256});
  context.programs.fill({4, 4});
  return context;
}

/// True if the assumption says that a product of arguments is at most a single argument. Example: the extent inside a dimension is at
/// most its stride. The ordinary launch, whose values are all equal, cannot evaluate such an assumption.
static bool boundsMonomial(const Polynomial &value, int64_t arguments) {
  auto isKnown = [&](const Term &term) { return llvm::all_of(term.factors, [&](int64_t factor) { return factor < arguments; }); };
  auto isMonomial = [](const Term &term) { return term.factors.size() > 1; };
  return llvm::all_of(value.terms, [&](const Term &term) { return isKnown(term) && (term.coefficient < 0 || !isMonomial(term)); }) &&
         llvm::any_of(value.terms, isMonomial) && llvm::any_of(value.terms, [](const Term &term) { return term.coefficient > 0; });
}

bool Indices::isProven(const Polynomial &value, int64_t low, int64_t high) {
  return isProven(value, {}, low, high);
}

bool Indices::isProven(const Polynomial &value, const Extents &extents, int64_t low, int64_t high) {
  if (std::optional<int64_t> known = value.constant()) return *known >= low && *known <= high;
  return tilewright::evaluate(boundsOf(value, extents).nodes, unknownLaunch(function, limits)).isWithin(low, high);
}

bool Indices::assume(const Polynomial &value, int64_t low, int64_t high) {
  return assume(value, {}, low, high);
}

static std::string nameOfGuard(const std::string &value, int64_t low, int64_t high) {
  if (low == 0 && high == INT64_MAX) return value + " >= 0";
  for (int64_t bits : {32, 64})
    if (low == llvm::minIntN(bits) && high == llvm::maxIntN(bits)) return value + " fits in " + std::to_string(bits) + " bits";
  return value + " is from " + std::to_string(low) + " to " + std::to_string(high);
}

bool Indices::assume(const Polynomial &value, const Extents &extents, int64_t low, int64_t high) {
  if (std::optional<int64_t> known = value.constant()) return *known >= low && *known <= high;
  Bounds bounds = boundsOf(value, extents);
  if (tilewright::evaluate(bounds.nodes, unknownLaunch(function, limits)).isWithin(low, high)) return true;
  LaunchGuard guard{nameOfGuard(text(value), low, high), std::move(bounds.nodes), low, high};
  if (failedGuards.contains(everyGuard) || failedGuards.contains(guard.name)) return false;
  bool isOrdinary = tilewright::evaluate(guard.nodes, ordinaryLaunch(function)).isWithin(low, high);
  if (!isOrdinary && !boundsMonomial(value, numArguments)) return false;
  if (!llvm::is_contained(assumed, guard)) assumed.push_back(std::move(guard));
  return true;
}

bool Indices::fits(const Polynomial &value, const Extents &extents, int64_t bits) {
  int64_t low = llvm::minIntN(bits), high = llvm::maxIntN(bits);
  return bits >= minAssumedBits ? assume(value, extents, low, high) : isProven(value, extents, low, high);
}

} // namespace tilewright::address
