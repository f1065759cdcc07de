// Addresses and masks as polynomials. A tile of pointers is written as ranges, splats, broadcasts, products and sums, in any order and
// spread over several loops; what matters is what its element at (i, j) is:
//     %rows = make_range + splat %start; %p = addptr (splat %a) (expand %rows * splat %stride); addptr (broadcast %p) (broadcast %cols)
//     a + (i + start) * stride + j     ->     base a, offset  i*stride + start*stride + j
// Factors are the kernel's arguments, opaque scalars (program ids, results of divisions, values from memory), and at most one of the tile's
// coordinates. A scalar that a loop carries and increases by an invariant amount is init + (iv - lower) / step * increment, so that
// everything is in terms of induction variables and what does not change in the loop.
//
// Integers are signed, have the width of their type, and wrap around. Sums, products and narrowing of wrapped numbers are still right
// modulo 2^width, so a polynomial is at first only *congruent* to its value. It is taken as the value itself (where it is widened,
// compared, divided, or added to a pointer) only where it cannot have left its type: this is proven by interval arithmetic at compile
// time, or assumed as a fact that the launch checks (support/launch_guards.h). Where neither is possible, the value is opaque.
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
#include <tuple>

namespace tilewright::address {

/// One comparison of a mask: it admits an element only where the polynomial is negative. `rows < n` is  i + start - n.
using Conjunct = Polynomial;

/// A mask admits an element if all of these hold.
struct Mask {
  llvm::SmallVector<Conjunct> conjuncts;
  llvm::SmallVector<mlir::Value> conditions; // i1: each holds for the whole tile or not at all
};

/// The facts that must not be assumed, because launches have refuted them. If `everyGuard` is among them, nothing may be assumed.
using FailedGuards = llvm::StringSet<>;

/// What the values of a function are in terms of its arguments. Valid as long as the function does not change and the set of facts lives.
class Indices {
public:
  Indices(tt::FuncOp function, const FailedGuards &failedGuards)
      : function(function), failedGuards(failedGuards), numArguments(function.getFunctionType().getNumInputs()) {}
  Indices(tt::FuncOp function, const FailedGuards &&failedGuards) = delete; // the set would be gone before the first question

  struct Pointer {
    mlir::Value base; // an argument of the function, or a value that the analysis does not follow
    Polynomial offset;
  };

  /// A scalar integer, read as signed. Never unknown: in the worst case it becomes an atom of its own.
  Polynomial scalar(mlir::Value value);
  /// The element of a tile of integers. Its dimension i is dimension dims[i] of the coordinates' tile; -1: it has one element.
  Result<Polynomial> element(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Result<Pointer> pointer(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  Result<Mask> mask(mlir::Value tile, llvm::ArrayRef<int64_t> dims);

  /// True only if the value (without coordinates) is in [least, most] at every launch.
  bool isProven(const Polynomial &value, int64_t least, int64_t most);
  /// The same, or assumed from here on: then `facts` contains it. False where no launch could be expected to satisfy it.
  bool assume(const Polynomial &value, int64_t least, int64_t most);
  bool isNonNegative(const Polynomial &value) { return isProven(value, 0, INT64_MAX); }
  bool assumeNonNegative(const Polynomial &value) { return assume(value, 0, INT64_MAX); }
  /// The interval of all elements of a tile, or of a scalar.
  bool assumeNonNegativeElements(mlir::Value value);
  /// Whether the integer, or each element of the tile, equals its sums and products as exact numbers,
  /// so that the result has not left the range of its type. This is proven, or assumed from here on.
  bool assumeNoWrapOf(mlir::Value value);
  /// All that has been assumed so far.
  const std::vector<LaunchGuard> &guards() const { return assumed; }

  /// Whether the value is the same in all iterations of a loop.
  bool isInvariant(const Polynomial &value, mlir::Operation *loop);
  /// Whether all factors are arguments of the kernel.
  bool isOfArguments(const Polynomial &value) const;
  bool isArgument(int64_t atom) const { return atom < numArguments; }
  /// The index of the argument that an atom is.
  int64_t argumentOf(int64_t atom) const { return atom; }
  /// A number that certainly divides the term; 0 divides only 0.
  int64_t divisorOf(const Term &term);
  /// The value (without coordinates) as an integer of 32 or 64 bits, at the builder's place, where all its atoms must be visible.
  mlir::Value make(mlir::OpBuilder &b, mlir::Location location, const Polynomial &value, int64_t bits);
  /// "2*stride_am", for messages and for the names of facts.
  std::string text(const Polynomial &value);

private:
  enum class Kind { value, induction, trip, quotient, remainder, least, most };
  struct Atom {
    Kind kind = Kind::value;
    mlir::Value value;                 // null for the number of a loop's iterations
    mlir::Operation *loop = nullptr;   // of an induction variable or a trip: how many iterations there were before
    Polynomial left{}, right{};        // of quotients, remainders, minima and maxima; these are exact
    llvm::SmallVector<int64_t> dims{}; // of a value that is a tile: the coordinates that its dimensions correspond to
  };
  /// How many elements the tile has along each coordinate.
  using Extents = llvm::SmallVector<int64_t>;
  struct Bounds;

  const Atom &atomAt(int64_t atom) const { return atoms[static_cast<size_t>(atom - numArguments)]; }
  std::string textOf(int64_t atom);
  Polynomial atom(Atom atom);
  Polynomial opaque(mlir::Value value) { return atom({Kind::value, value}); }
  Polynomial opaqueElement(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Polynomial elementOrOpaque(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  Polynomial congruent(mlir::Value value);
  Polynomial evaluate(mlir::Value value);
  Polynomial evaluateBinary(Kind kind, mlir::Operation *op, bool isUnsigned);
  Polynomial evaluateExtension(mlir::Operation *op, bool isUnsigned);
  Polynomial evaluateCarried(mlir::BlockArgument carried);
  Polynomial evaluateLoopResult(mlir::OpResult result);
  std::optional<Polynomial> increment(mlir::Value next, mlir::BlockArgument carried);
  std::optional<Polynomial> incrementOf(mlir::BlockArgument carried);
  std::optional<Polynomial> overSteps(const Polynomial &distance, mlir::Operation *loop, const Polynomial &increment);
  Result<Polynomial> congruentElement(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Result<Polynomial> evaluateElement(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Result<Polynomial> evaluateBinaryElement(Kind kind, mlir::Operation *op, llvm::ArrayRef<int64_t> dims);
  Result<void> collect(mlir::Value mask, llvm::ArrayRef<int64_t> dims, Mask &parts);
  Result<void> compare(mlir::Operation *comparison, llvm::ArrayRef<int64_t> dims, Mask &parts);

  std::optional<Polynomial> withIterations(const Polynomial &value);
  Bounds boundsOf(const Polynomial &value, const Extents &extents);
  bool isProven(const Polynomial &value, const Extents &extents, int64_t least, int64_t most);
  bool assume(const Polynomial &value, const Extents &extents, int64_t least, int64_t most);
  /// Whether it is the same number read as signed and as unsigned.
  bool fitsUnsigned(const Polynomial &value, const Extents &extents) { return assume(value, extents, 0, INT64_MAX); }
  bool fits(const Polynomial &value, const Extents &extents, int64_t bits);
  bool isMadeOfSums(const Polynomial &value) const;
  /// Whether the dividend may be the least number of its type and the divisor -1: the quotient wraps around.
  bool mayOverflow(const Polynomial &dividend, const Extents &of, const Polynomial &divisor, const Extents &by, int64_t bits);

  tt::FuncOp function;
  const FailedGuards &failedGuards;
  int64_t numArguments;
  std::vector<Atom> atoms;
  std::vector<LaunchGuard> assumed;
  llvm::DenseMap<mlir::Value, Polynomial> known; // congruent
  llvm::SmallPtrSet<void *, 8> inProgress;
  // Where only the size of an index matters, a tile that is no polynomial becomes an atom, like a scalar.
  bool namesTiles = false;
  std::map<std::tuple<const void *, std::vector<int64_t>, bool>, Result<Polynomial>> knownElements; // congruent; by `namesTiles`, too
  static constexpr int64_t deepest = 128; // operations from an argument or a range to an index; beyond, a value is opaque
  int64_t depth = 0;                      // of the evaluation that is under way
};

/// Of an integer, or of a tile's elements.
int64_t bitsOf(mlir::Type type);
/// The dimensions of the source of `op`, a broadcast, expand_dims or trans, given those of its result; nothing for other operations.
std::optional<llvm::SmallVector<int64_t>> sourceDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims);
/// {0, 1, ..., rank - 1}: a tile in its own coordinates.
llvm::SmallVector<int64_t> ownDims(mlir::Value tile);

/// The argument of the kernel that address arithmetic has made a pointer, or a tile of pointers, from; null where that cannot be seen.
/// Every question about which accesses may touch the same memory is asked in these terms.
mlir::BlockArgument baseArgument(mlir::Value pointer);
/// The name that the kernel's author gave to an argument: "a_ptr", or "argument 3".
std::string nameOf(mlir::BlockArgument argument);

} // namespace tilewright::address
