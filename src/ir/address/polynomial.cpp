// See polynomial.h.
#include "ir/address/polynomial.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tilewright::address {

static int64_t wrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
static int64_t wrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

void Polynomial::add(Term term) {
  if (term.coefficient == 0) return;
  auto less = [](const Term &a, const Term &b) { return std::tie(a.dim, a.factors) < std::tie(b.dim, b.factors); };
  auto it = llvm::lower_bound(terms, term, less);
  if (it == terms.end() || !it->sameFactors(term)) {
    terms.insert(it, std::move(term));
    return;
  }
  it->coefficient = wrappingSum(it->coefficient, term.coefficient);
  if (it->coefficient == 0) terms.erase(it);
}

bool Polynomial::isShort() const {
  constexpr size_t maxTerms = 32, maxFactors = 8;
  return terms.size() <= maxTerms && llvm::all_of(terms, [](const Term &term) { return term.factors.size() <= maxFactors; });
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
    if (number == 0 || term.coefficient % number != 0 || (number == -1 && term.coefficient == INT64_MIN)) return std::nullopt;
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
    sum.add({wrappingMul(-1, term.coefficient), term.dim, term.factors});
  return sum;
}

/// Below this norm the coefficients are exact, also in the sum with a second polynomial.
static constexpr double maxNorm = 0x1p62;

/// Returns the sum of the magnitudes of the coefficients. That of a sum or product is at most the sum or product of the norms.
static double norm(const Polynomial &value) {
  double sum = 0;
  for (const Term &term : value.terms)
    sum += std::abs(static_cast<double>(term.coefficient));
  return sum;
}

std::optional<Polynomial> exactDifference(const Polynomial &a, const Polynomial &b) {
  return norm(a) + norm(b) < maxNorm ? std::optional(a - b) : std::nullopt;
}

std::optional<Polynomial> substitute(const Polynomial &value, int64_t atom, const Polynomial &replacement) {
  Polynomial result;
  double bound = 0;
  for (Term rest : value.terms) {
    double scale = std::abs(static_cast<double>(rest.coefficient));
    Polynomial power(1);
    for (; llvm::is_contained(rest.factors, atom); rest.factors.erase(llvm::find(rest.factors, atom))) {
      power = *product(power, replacement);
      scale *= norm(replacement);
    }
    bound += scale;
    if (bound >= maxNorm || !power.isShort()) return std::nullopt;
    std::optional<Polynomial> term = product(power, Polynomial(rest));
    if (!term) return std::nullopt;
    result = result + *term;
  }
  return result.isShort() ? std::optional(result) : std::nullopt;
}

std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b) {
  Polynomial sum;
  for (const Term &x : a.terms)
    for (const Term &y : b.terms) {
      if (x.dim >= 0 && y.dim >= 0) return std::nullopt;
      Term term{wrappingMul(x.coefficient, y.coefficient), std::max(x.dim, y.dim), x.factors};
      llvm::append_range(term.factors, y.factors);
      llvm::sort(term.factors);
      sum.add(std::move(term));
    }
  return sum;
}

std::optional<Term> quotient(const Term &a, const Term &b) {
  if (b.coefficient == 0 || b.coefficient == -1 || a.coefficient % b.coefficient != 0 || (b.dim >= 0 && b.dim != a.dim))
    return std::nullopt;
  Term result{a.coefficient / b.coefficient, b.dim >= 0 ? -1 : a.dim, {}};
  if (!std::includes(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end())) return std::nullopt;
  std::set_difference(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), std::back_inserter(result.factors));
  return result;
}

} // namespace tilewright::address
