// Addresses and masks as polynomials. A tile of pointers is written as ranges, splats, broadcasts, products and sums, in any order and
// spread over several loops; what matters is what its element at (i, j) is:
//     %rows = make_range + splat %start; %p = addptr (splat %a) (expand %rows * splat %stride); addptr (broadcast %p) (broadcast %cols)
//     a + (i + start) * stride + j     ->     base a, offset  i*stride + start*stride + j
// Factors are the kernel's arguments, opaque scalars (program ids, results of divisions, values from memory), and at most one of the tile's
// coordinates. A scalar that a loop carries and increases by an invariant amount is init + (iv - lower) / step * increment, so that
// everything is in terms of induction variables and what does not change in the loop.
//
// Index arithmetic is taken not to overflow, as by upstream: widening and narrowing change nothing. Integer arguments are sizes, strides
// and positions: not negative. So are indices read from memory. What is divided by is positive.
#pragma once

#include "ir/tt.h"
#include "support/result.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace tilewright::gpu {

struct Term {
  int64_t coefficient = 0;
  int64_t dim = -1;               // of the tile, whose coordinate is a factor; -1: none
  std::vector<int64_t> factors{}; // atoms of an Indices, in order; one may stand more than once
  bool sameFactors(const Term &other) const { return dim == other.dim && factors == other.factors; }
  bool operator==(const Term &) const = default;
};

/// A sum of terms with different factors, none of which is zero. In one order, so that equality is that of the terms.
struct Polynomial {
  std::vector<Term> terms;

  Polynomial() = default;
  Polynomial(int64_t constant) { add({constant}); }
  explicit Polynomial(Term term) { add(std::move(term)); }
  void add(Term term);

  bool isZero() const { return terms.empty(); }
  /// The value, where it has no factors.
  std::optional<int64_t> constant() const;
  /// What the coordinate along `dim` is multiplied with; -1: the terms without a coordinate.
  Polynomial along(int64_t dim) const;
  /// Where all coefficients are multiples of `number` (not 0), the quotient.
  std::optional<Polynomial> dividedBy(int64_t number) const;
  bool operator==(const Polynomial &) const = default;
};

Polynomial operator+(const Polynomial &a, const Polynomial &b);
Polynomial operator-(const Polynomial &a, const Polynomial &b);
/// Nothing where two coordinates would be multiplied.
std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b);
/// The quotient of two terms, where factors and coefficient divide.
std::optional<Term> quotient(const Term &a, const Term &b);

/// One comparison of a mask: an element is let through only if the polynomial is negative. `rows < n` is  i + start - n.
using Conjunct = Polynomial;

/// An element is let through if all of it holds.
struct Mask {
  llvm::SmallVector<Conjunct> conjuncts;
  llvm::SmallVector<mlir::Value> conditions; // i1: of the whole tile at once
};

/// What the values of a function are in terms of its arguments. Lives as long as the function does not change.
class Indices {
public:
  explicit Indices(tt::FuncOp function) : function(function), numArguments(function.getFunctionType().getNumInputs()) {}

  struct Pointer {
    mlir::Value base; // an argument of the function, or what nobody sees through
    Polynomial offset;
  };

  /// A scalar integer. Always known: in the worst case it is an atom of its own.
  Polynomial scalar(mlir::Value value);
  /// The element of a tile of integers; its dimension i is dims[i] of the tile that the coordinates are of, or -1 where it has one element.
  Result<Polynomial> element(mlir::Value tile, llvm::ArrayRef<int64_t> dims);
  Result<Pointer> pointer(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  Result<Mask> mask(mlir::Value tile, llvm::ArrayRef<int64_t> dims);

  /// True only if the value cannot be negative, under the assumptions above.
  bool isNonNegative(const Polynomial &value);
  /// Whether it is the same in all turns of a loop.
  bool isInvariant(const Polynomial &value, mlir::Operation *loop);
  /// Whether all factors are arguments of the kernel.
  bool isOfArguments(const Polynomial &value) const;
  bool isArgument(int64_t atom) const;
  /// The index of the argument that an atom is.
  int64_t argumentOf(int64_t atom) const;
  /// A number that certainly divides the term; 0 divides only 0.
  int64_t divisorOf(const Term &term);
  /// The value (without coordinates) as an integer of 32 or 64 bits, at the builder's place; all it was made of must be visible there.
  mlir::Value make(mlir::OpBuilder &b, mlir::Location location, const Polynomial &value, int64_t bits = 32);
  /// "2*stride_am", for messages.
  std::string text(const Polynomial &value);

private:
  enum class Kind { value, induction, trip, quotient, remainder, least, most };
  struct Atom {
    Kind kind = Kind::value;
    mlir::Value value;               // null: a trip
    mlir::Operation *loop = nullptr; // of an induction variable or a trip: how often the loop has turned
    Polynomial left{}, right{};      // of quotients, remainders, minima and maxima
  };

  Polynomial atom(Atom atom);
  Polynomial evaluate(mlir::Value value);
  Polynomial evaluateBinary(Kind kind, mlir::Operation *op);
  Polynomial evaluateCarried(mlir::BlockArgument carried);
  Polynomial evaluateLoopResult(mlir::OpResult result);
  std::optional<Polynomial> increment(mlir::Value next, mlir::BlockArgument carried);
  std::optional<Polynomial> incrementOf(mlir::BlockArgument carried);
  std::optional<Polynomial> overSteps(const Polynomial &distance, mlir::Operation *loop, const Polynomial &increment);
  bool isNonNegativeAtom(int64_t atom);
  bool isNonNegativeValue(mlir::Value value);
  std::optional<Polynomial> withLowerBounds(const Polynomial &value);
  Result<void> collect(mlir::Value mask, llvm::ArrayRef<int64_t> dims, Mask &parts);

  tt::FuncOp function;
  int64_t numArguments;
  std::vector<Atom> atoms;
  llvm::DenseMap<mlir::Value, Polynomial> known;
  llvm::SmallPtrSet<void *, 8> inProgress;
};

/// The dimensions of the source of `op`, a broadcast, expand_dims or trans, given those of its result; nothing for other operations.
std::optional<llvm::SmallVector<int64_t>> sourceDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims);
/// {0, 1, ..., rank - 1}: a tile in its own coordinates.
llvm::SmallVector<int64_t> ownDims(mlir::Value tile);

} // namespace tilewright::gpu
