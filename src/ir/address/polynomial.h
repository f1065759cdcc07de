// Sums of products of integers whose values are not known yet:  2*stride_am*program_id(0) + i.
// A factor ("atom") is only a number here; indices.h says what it stands for. A term may hold one coordinate of a tile as well.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::address {

struct Term {
  int64_t coefficient = 0;
  int64_t dim = -1;               // of the tile, whose coordinate is a factor; -1: none
  std::vector<int64_t> factors{}; // atoms, in order; one may stand more than once
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
  /// Whether it is worth computing with. Addresses are; `x * x`, repeated, doubles in length each time.
  bool isShort() const;
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
/// Null where two coordinates would be multiplied.
std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b);
/// The quotient of two terms, where factors and coefficient divide.
std::optional<Term> quotient(const Term &a, const Term &b);

} // namespace tilewright::address
