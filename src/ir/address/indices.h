// Addresses and masks as polynomials. Kernels build a tile of pointers from ranges, splats, broadcasts, products and sums, in any order and
// across several loops. This analysis finds its element at (i, j):
//     %rows = make_range + splat %start; %p = addptr (splat %a) (expand %rows * splat %stride); addptr (broadcast %p) (broadcast %cols)
//     a + (i + start) * stride + j     ->     base a, offset  i*stride + start*stride + j
// Factors are the kernel's arguments, opaque scalars (program ids, quotients, loaded values), and at most one of the tile's coordinates. A
// scalar that a loop carries and increases by an invariant amount is init + (iv - lower) / step * increment. So every value is expressed by
// induction variables and loop invariants.
//
// LLVM's ScalarEvolution does the same for scalars; an induction variable here is a recurrence there.
//
// Integers are signed, have the width of their type, and wrap around. Sums, products and truncations of wrapped numbers are right modulo
// 2^width, so a polynomial is at first only *congruent* to its value. Extensions, comparisons, divisions and pointer arithmetic need the
// exact value. The polynomial is exact if it cannot leave the range of its type. Interval arithmetic proves this at compile time, or a
// launch guard checks it (support/launch_guards.h). If neither is possible, the value is opaque.
//
//     function                    result                                          no wraparound
//     scalar, element, mask       exact numbers                                   proven, or in guards()
//     pointer                     an offset modulo 2^64, as addresses are         of 32-bit parts: proven, or in guards()
//     isProven                    true: holds in every launch with guards()       bounds of exact numbers; intervals have no width
//     assume...                   true: holds in every launch with guards()       as isProven, or a new guard
//
// Any question may add guards, because its operands must be exact. A caller that uses an answer relies on all guards() of the object. One
// that may drop an answer asks a new object for each decision, and records the guards of those that it uses.
#pragma once

#include "ir/address/polynomial.h"
#include "ir/tt.h"
#include "support/launch_guards.h"
#include "support/result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>
#include <tuple>

namespace tilewright::address {

/// One comparison of a mask: true where the polynomial is negative. `rows < n` is  i + start - n.
using Conjunct = Polynomial;

/// A mask: true where all of these hold.
struct Mask {
  llvm::SmallVector<Conjunct> conjuncts;
  llvm::SmallVector<mlir::Value> conditions; // i1 scalars: each holds for the whole tile or not at all
};

/// The assumptions whose guards have failed in a launch, which must not be made. If `everyGuard` is among them, nothing may be assumed.
using FailedGuards = llvm::StringSet<>;

/// Expresses the values of a function by its arguments. Valid as long as the function does not change and the set of failed guards lives.
/// `limits`: no launch has a larger grid.
class Indices {
public:
  Indices(tt::FuncOp function, const FailedGuards &failedGuards, const GridLimits &limits)
      : function(function), failedGuards(failedGuards), limits(limits), numArguments(function.getFunctionType().getNumInputs()) {}
  Indices(tt::FuncOp function, const FailedGuards &&failedGuards,
          const GridLimits &limits) = delete; // the set would be destroyed too early

  struct Pointer {
    mlir::Value base; // an argument of the function, or an opaque value
    Polynomial offset;
  };

  /// Returns a scalar integer, as a signed number. A value that the analysis cannot follow becomes an atom.
  Polynomial scalar(mlir::Value value);
  /// Returns the element of a tile of integers. Dimension i of the tile is dimension dims[i] of the coordinates; -1: the dimension has one
  /// element.
  Result<Polynomial> element(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Result<Pointer> pointer(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  Result<Mask> mask(mlir::Value tile, llvm::ArrayRef<int64_t> dims);

  /// True only if the value (without coordinates) is in [low, high] in every launch that passes guards().
  bool isProven(const Polynomial &value, int64_t low, int64_t high);
  /// True only if all elements of the mask are true in every such launch.
  bool isProven(mlir::Value mask);
  /// Proves that the value is in [low, high], or assumes it: then `guards` contains the assumption. False if an ordinary launch would not
  /// satisfy it.
  bool assume(const Polynomial &value, int64_t low, int64_t high);
  bool isNonNegative(const Polynomial &value) { return isProven(value, 0, INT64_MAX); }
  bool assumeNonNegative(const Polynomial &value) { return assume(value, 0, INT64_MAX); }
  /// Proves or assumes that all elements of a tile, or a scalar, are not negative.
  bool assumeNonNegativeElements(mlir::Value value);
  /// Proves or assumes that the integer, or each element of the tile, is the exact result of its sums and products. Those on the way to it
  /// may wrap around: later ones then undo that.
  bool assumeNoWrapOf(mlir::Value value);
  /// Returns all assumptions so far.
  const std::vector<LaunchGuard> &guards() const { return assumed; }

  /// True if the value is the same in all iterations of a loop.
  bool isInvariant(const Polynomial &value, mlir::Operation *loop);
  /// True if elements of a tile of pointers have equal addresses only if they are the same element, also in different iterations of `loop`,
  /// which contains the pointers. Null: within one computation of the tile. Elements at which the mask is false do not count; it may be
  /// null.
  bool hasDistinctElements(mlir::Value pointers, mlir::Value mask, mlir::Operation *loop);
  /// True if all factors are arguments of the kernel.
  bool isOfArguments(const Polynomial &value) const;
  bool isArgument(int64_t atom) const { return atom < numArguments; }
  /// Returns the index of the argument that an atom stands for.
  int64_t argumentOf(int64_t atom) const { return atom; }
  /// Returns a divisor of the term in every launch (divisibility.h).
  int64_t divisorOf(const Term &term) const;
  /// Creates the value (without coordinates) as an integer of 32 or 64 bits. At the insertion point, before an operation, the value must be
  /// that of the kernel's operations: opaque factors and loops of its polynomial must be visible there.
  mlir::Value make(mlir::OpBuilder &b, mlir::Location location, const Polynomial &value, int64_t bits);
  /// Returns "2*stride_am", for messages and for the names of guards.
  std::string text(const Polynomial &value);

private:
  enum class Kind { value, induction, iteration, quotient, remainder, minimum, maximum };
  struct Atom {
    Kind kind = Kind::value;
    mlir::Value value;                 // null for the index of an iteration
    mlir::Operation *loop = nullptr;   // of an induction variable, or of the index of an iteration, which counts from 0
    Polynomial left{}, right{};        // of quotients, remainders, minima and maxima; these are exact
    llvm::SmallVector<int64_t> dims{}; // of a tile: the coordinates of its dimensions
    bool isPart = false;               // `value` has the type of this part of its number, and another number
  };
  /// The number of elements of the tile along each coordinate.
  using Extents = llvm::SmallVector<int64_t>;
  struct Bounds;
  using AtomKey = std::tuple<Kind, const void *, mlir::Operation *, std::vector<int64_t>, Polynomial, Polynomial>;
  /// A tile, its coordinates, and `namesTiles`.
  using ElementKey = std::tuple<const void *, std::vector<int64_t>, bool>;

  const Atom &atomAt(int64_t atom) const { return atoms[static_cast<size_t>(atom - numArguments)]; }
  std::string textOf(int64_t atom);
  std::string textOf(const Atom &atom);
  Polynomial atom(Atom atom);
  Polynomial opaque(mlir::Value value) { return atom({Kind::value, value}); }
  mlir::Value makeAtom(mlir::OpBuilder &b, mlir::Location location, const Atom &atom, mlir::IntegerType type);
  Polynomial opaqueElement(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Polynomial elementOrOpaque(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  Polynomial congruent(mlir::Value value);
  Polynomial evaluate(mlir::Value value);
  /// Returns the kind of the atom that the result of a division, remainder, minimum or maximum is.
  static std::optional<Kind> binaryKind(mlir::Operation *op);
  Result<Polynomial> evaluateBinary(Kind kind, mlir::Operation *op, llvm::ArrayRef<int64_t> dims);
  /// Returns the quotient or the remainder of `left` by a constant as a sum in which only terms without coordinates are divided; null if a
  /// sum of coordinates may carry into the next multiple.
  std::optional<Polynomial> divideParts(Kind kind, mlir::Value result, const Polynomial &left, const Extents &extents, int64_t by);
  /// Returns the factor of a left shift in a type of `bits` bits; null if it is not known.
  static std::optional<int64_t> powerOfTwo(const Polynomial &amount, int64_t bits);
  Polynomial evaluateExtension(mlir::Operation *op, bool isUnsigned);
  Polynomial evaluateCarried(mlir::BlockArgument carried);
  Polynomial evaluateLoopResult(mlir::OpResult result);
  std::optional<Polynomial> increment(mlir::Value next, mlir::BlockArgument carried, llvm::SmallPtrSetImpl<mlir::Operation *> &visited);
  std::optional<Polynomial> incrementOf(mlir::BlockArgument carried);
  std::optional<Polynomial> overSteps(const Polynomial &distance, mlir::Operation *loop, const Polynomial &increment);
  Result<Polynomial> congruentElement(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Result<Polynomial> evaluateElement(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Result<void> collect(mlir::Value mask, llvm::ArrayRef<int64_t> dims, Mask &parts, std::set<ElementKey> &visited);
  Result<void> compare(mlir::Operation *comparison, llvm::ArrayRef<int64_t> dims, Mask &parts);

  ElementKey keyOf(mlir::Value tile, llvm::ArrayRef<int64_t> dims) const;
  static Extents extentsOf(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  /// A part of an address: a multiple of `stride`, from 0 to `last` times. The count is null if it is not known, and at least `last` + 1.
  struct Digit {
    Polynomial stride, last;
    std::optional<int64_t> count;
  };
  std::optional<Digit> iterationDigit(const Term &term, mlir::Operation *loop);
  Polynomial lastIndex(int64_t dim, int64_t extent, const Mask &mask, mlir::Operation *loop);
  bool isInvariantIn(mlir::Operation *loop, const Polynomial &value) { return !loop || isInvariant(value, loop); }
  std::optional<Polynomial> withIterations(const Polynomial &value);
  Bounds boundsOf(const Polynomial &value, const Extents &extents);
  bool isProven(const Polynomial &value, const Extents &extents, int64_t low, int64_t high);
  bool assume(const Polynomial &value, const Extents &extents, int64_t low, int64_t high);
  /// True if the signed and the unsigned reading are the same number.
  bool fitsUnsigned(const Polynomial &value, const Extents &extents) { return assume(value, extents, 0, INT64_MAX); }
  bool fits(const Polynomial &value, const Extents &extents, int64_t bits);
  /// True if the quotient does not wrap around: it does if the dividend is the smallest integer of its type, and the divisor -1.
  bool quotientFits(const Polynomial &dividend, const Extents &of, const Polynomial &divisor, const Extents &by, int64_t bits);
  bool isMadeOfSums(const Polynomial &value) const;

  tt::FuncOp function;
  const FailedGuards &failedGuards;
  GridLimits limits;
  int64_t numArguments;
  std::vector<Atom> atoms;
  std::map<AtomKey, int64_t> atomNumbers;
  llvm::DenseMap<int64_t, std::string> texts; // of atoms
  std::vector<LaunchGuard> assumed;
  llvm::DenseMap<mlir::Value, Polynomial> known; // congruent
  llvm::SmallPtrSet<void *, 8> inProgress;
  // If only the range of an index matters, a tile that is not a polynomial becomes an atom, like a scalar.
  bool namesTiles = false;
  std::map<ElementKey, Result<Polynomial>> congruentElements, exactElements;
  static constexpr int64_t deepest = 128;       // operations from an argument or a range to an index; deeper values are opaque
  int64_t depth = 0;                            // of the current evaluation
  static constexpr int64_t minAssumedBits = 32; // narrower arithmetic often wraps around on purpose, so nothing is assumed about it
};

/// Returns the width of an integer, or of a tile's elements.
int64_t bitsOf(mlir::Type type);
/// Returns the dimensions of the source of `op`, a broadcast, expand_dims or trans, from those of its result; nothing for other operations.
std::optional<llvm::SmallVector<int64_t>> sourceDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims);
/// Returns {0, 1, ..., rank - 1}: the dimensions of a tile in its own coordinates.
llvm::SmallVector<int64_t> ownDims(mlir::Value tile);

/// Returns the kernel argument from which a pointer, or a tile of pointers, is computed; null if unknown. All alias analyses use it.
mlir::BlockArgument baseArgument(mlir::Value pointer);
/// Returns the source name of an argument, such as "a_ptr", or "argument 3".
std::string nameOf(mlir::BlockArgument argument);

} // namespace tilewright::address
