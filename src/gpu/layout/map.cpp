// Linear maps over F2 by Gaussian elimination, with one machine word for each vector.
#include "gpu/layout/map.h"

#include <algorithm>
#include <bit>

namespace tilewright::gpu {

Echelon::Reduced Echelon::reduce(uint64_t vector) const {
  Reduced result{vector, 0};
  for (const Row &row : rows)
    if (result.rest & std::bit_floor(row.vector)) {
      result.rest ^= row.vector;
      result.tag ^= row.tag;
    }
  return result;
}

bool Echelon::add(uint64_t vector, uint64_t tag) {
  Reduced reduced = reduce(vector);
  if (reduced.rest == 0) return false;
  auto below = std::find_if(rows.begin(), rows.end(), [&](const Row &row) { return row.vector < reduced.rest; });
  rows.insert(below, Row{reduced.rest, reduced.tag ^ tag});
  return true;
}

Echelon spanOfAll(const Vectors &vectors) {
  Echelon span;
  for (uint64_t vector : vectors)
    span.add(vector);
  return span;
}

// Vectors of `right` have themselves as tags, those of `left` have 0. If a vector of `right` reduces to 0, the part subtracted from `left`
// equals the part from `right`, so the tag is in both spans.
Vectors intersection(const Vectors &left, const Vectors &right) {
  Echelon span = spanOfAll(left);
  Vectors common;
  Echelon found;
  for (uint64_t vector : right) {
    Echelon::Reduced reduced = span.reduce(vector);
    if (reduced.rest != 0) {
      span.add(vector, vector);
    } else if (uint64_t shared = reduced.tag ^ vector; found.add(shared)) {
      common.push_back(shared);
    }
  }
  return common;
}

Vectors independentOf(const Vectors &base, const Vectors &vectors) {
  Echelon span = spanOfAll(base);
  Vectors result;
  for (uint64_t vector : vectors)
    if (span.add(vector)) result.push_back(vector);
  return result;
}

std::optional<uint64_t> commonPoint(uint64_t a, const Vectors &p, uint64_t b, const Vectors &q) {
  Echelon span;
  for (uint64_t vector : p)
    span.add(vector, vector);
  for (uint64_t vector : q)
    span.add(vector, 0);
  Echelon::Reduced reduced = span.reduce(a ^ b);
  if (reduced.rest != 0) return std::nullopt;
  return a ^ reduced.tag;
}

Vectors join(Vectors left, const Vectors &right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

SplitPair splitPair(const Vectors &p, const Vectors &q, const Vectors &whole) {
  SplitPair result;
  // Vectors that are literally in both lists come first: sparse vectors make short addresses.
  Vectors literal;
  for (uint64_t vector : p)
    if (std::find(q.begin(), q.end(), vector) != q.end()) literal.push_back(vector);
  result.shared = independentOf({}, join(literal, intersection(p, q)));
  result.left = independentOf(result.shared, p);
  result.right = independentOf(result.shared, q);
  result.outside = independentOf(join(join(result.shared, result.left), result.right), whole);
  return result;
}

uint32_t LinearMap::apply(uint64_t input) const {
  uint32_t image = 0;
  for (size_t bit = 0; bit < columns.size(); ++bit)
    if (input >> bit & 1) image ^= columns[bit];
  return image;
}

int64_t LinearMap::rank() const {
  Echelon span;
  for (uint32_t column : columns)
    span.add(column);
  return span.rank();
}

static Echelon solver(const LinearMap &map) {
  Echelon span;
  for (size_t bit = 0; bit < map.columns.size(); ++bit)
    span.add(map.columns[bit], uint64_t(1) << bit);
  return span;
}

std::optional<uint64_t> LinearMap::solve(uint32_t output) const {
  Echelon::Reduced reduced = solver(*this).reduce(output);
  if (reduced.rest != 0) return std::nullopt;
  return reduced.tag;
}

// Output bits outside the image map to 0: their unit vectors have an empty tag. Inputs fit in 32 bits, as tiles and CTAs do.
LinearMap LinearMap::pseudoInverse(int64_t outputBits) const {
  Echelon span = solver(*this);
  for (int64_t bit = 0; bit < outputBits; ++bit)
    span.add(uint64_t(1) << bit, 0);
  LinearMap inverse;
  for (int64_t bit = 0; bit < outputBits; ++bit)
    inverse.columns.push_back(static_cast<uint32_t>(span.reduce(uint64_t(1) << bit).tag));
  return inverse;
}

} // namespace tilewright::gpu
