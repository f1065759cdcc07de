// Linear maps over F2 on vectors of at most 64 bits, stored in machine words: the basis of layouts. Addition is XOR, and a map is the list
// of the images of its input bits. Gaussian elimination answers every question (is it onto, which inputs give this output).
//   map {1, 2, 8}: input 0b101 -> 1 ^ 8 = 9
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::gpu {

inline int64_t log2Of(int64_t value) {
  return std::bit_width(static_cast<uint64_t>(value)) - 1;
}

/// A growing span in echelon form. Every vector has a tag, and all additions apply to the tags as well. The caller defines the meaning of
/// tags (input bits: for solving; the vector itself or 0: for intersecting).
class Echelon {
public:
  struct Reduced {
    uint64_t rest = 0; ///< the rest of the vector: 0 if it lies in the span
    uint64_t tag = 0;  ///< sum of the tags of the vectors subtracted
  };

  /// Subtracts from a vector everything that the span contains.
  Reduced reduce(uint64_t vector) const;
  /// Adds a vector; false if the span contains it already.
  bool add(uint64_t vector, uint64_t tag);
  bool add(uint64_t vector) { return add(vector, 0); }
  bool contains(uint64_t vector) const { return reduce(vector).rest == 0; }
  int64_t rank() const { return static_cast<int64_t>(rows.size()); }

private:
  struct Row {
    uint64_t vector, tag;
  };
  std::vector<Row> rows; // distinct leading bits, the highest first
};

using Vectors = std::vector<uint64_t>;

/// Returns the vectors of both lists.
Vectors join(Vectors left, const Vectors &right);
Echelon spanOfAll(const Vectors &vectors);
/// Returns a basis of the intersection of two spans.
Vectors intersection(const Vectors &left, const Vectors &right);
/// Returns those of `vectors` that, taken in order, each enlarge the span of `base`.
Vectors independentOf(const Vectors &base, const Vectors &vectors);
/// Returns a vector of the affine space (a + span(p)) that is also in (b + span(q)).
std::optional<uint64_t> commonPoint(uint64_t a, const Vectors &p, uint64_t b, const Vectors &q);

/// Subspaces P and Q of a space, sorted for the choice of a third one that intersects neither: P = span(shared, left), Q = span(shared,
/// right), and `outside` completes both to the whole. A sum of one vector of left and one of right is in neither of them.
struct SplitPair {
  Vectors shared, left, right, outside;
};
SplitPair splitPair(const Vectors &p, const Vectors &q, const Vectors &whole);

/// A linear map: column i is the image of input bit i.
class LinearMap {
public:
  std::vector<uint32_t> columns;

  uint32_t apply(uint64_t input) const;
  int64_t rank() const;
  bool isSurjective(int64_t outputBits) const { return rank() == outputBits; }
  /// Returns the input with the smallest pivots for this output: input bits whose columns depend on earlier ones stay 0. Null if there is
  /// none.
  std::optional<uint64_t> solve(uint32_t output) const;
  /// Returns G with L G L = L: a right inverse if L is onto, the inverse if it is a bijection. Never uses columns that depend on earlier
  /// ones.
  LinearMap pseudoInverse(int64_t outputBits) const;
  bool operator==(const LinearMap &) const = default;
};

} // namespace tilewright::gpu
