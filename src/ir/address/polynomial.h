// Sums of products of unknown integers:  2*stride_am*program_id(0) + i.
// A factor ("atom") is only a number here; indices.h defines its meaning. A term may contain one coordinate of a tile. Coefficients wrap
// around as 64-bit integers, as addresses do. So sums, differences and products hold modulo 2^64.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::address {

struct Term {
  int64_t coefficient = 0;
  int64_t dim = -1;               // the dimension of the tile whose coordinate is a factor; -1: none
  std::vector<int64_t> factors{}; // sorted atoms, which may repeat
  bool sameFactors(const Term &other) const { return dim == other.dim && factors == other.factors; }
  auto operator<=>(const Term &) const = default;
};

/// A sum of nonzero terms with different factors, in a fixed order, so that equal polynomials have equal terms.
struct Polynomial {
  std::vector<Term> terms;

  Polynomial() = default;
  Polynomial(int64_t constant) { add({constant}); }
  explicit Polynomial(Term term) { add(std::move(term)); }
  void add(Term term);

  bool isZero() const { return terms.empty(); }
  /// True if the polynomial is short enough to compute with. Addresses are short; repeated squaring doubles the length each time.
  bool isShort() const;
  /// Returns the value if there are no factors.
  std::optional<int64_t> constant() const;
  /// Returns the factor of the coordinate along `dim`; for -1, the terms without a coordinate.
  Polynomial along(int64_t dim) const;
  /// Returns the quotient if all coefficients are multiples of `number`, which must not be 0.
  std::optional<Polynomial> dividedBy(int64_t number) const;
  auto operator<=>(const Polynomial &) const = default;
};

Polynomial operator+(const Polynomial &a, const Polynomial &b);
Polynomial operator-(const Polynomial &a, const Polynomial &b);
/// Returns a - b as an integer, not modulo 2^64; null if a coefficient is close to the limits of 64 bits.
std::optional<Polynomial> exactDifference(const Polynomial &a, const Polynomial &b);
/// Returns `value` with `replacement` for an atom, as an integer; null if it is not short, or a coefficient is close to the limits of 64
/// bits.
std::optional<Polynomial> substitute(const Polynomial &value, int64_t atom, const Polynomial &replacement);
/// Returns the product, or null if it would multiply two coordinates.
std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b);
/// Returns the quotient of two terms if factors and coefficient divide.
std::optional<Term> quotient(const Term &a, const Term &b);

} // namespace tilewright::address
