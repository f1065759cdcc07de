// See interval.h. Each function returns the exact smallest and largest result, or a wider interval.
#include "support/interval.h"

#include "support/inline_vector.h"

#include <algorithm>
#include <optional>

namespace tilewright {

using Wide = Interval::Wide;
using Kind = BoundNode::Kind;

static constexpr Wide infinity = Interval::infinity;
static constexpr Interval anything{-infinity, infinity};
static constexpr int64_t maxShift = 127; // leaves only the sign

static Wide clamped(Wide value) {
  return std::clamp(value, -infinity, infinity);
}

static Interval sum(const Interval &a, const Interval &b) {
  return {a.min == -infinity || b.min == -infinity ? -infinity : clamped(a.min + b.min),
          a.max == infinity || b.max == infinity ? infinity : clamped(a.max + b.max)};
}

static Interval negated(const Interval &a) {
  return {-a.max, -a.min};
}

static Interval hull(const Interval &a, const Interval &b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

/// Returns the intersection. If it is empty, the code is never reached.
static Interval intersection(const Interval &a, const Interval &b) {
  Interval result{std::max(a.min, b.min), std::min(a.max, b.max)};
  return result.min <= result.max ? result : a;
}

static Wide timesClamped(Wide a, Wide b) {
  Wide product;
  if (!__builtin_mul_overflow(a, b, &product)) return clamped(product);
  return (a < 0) == (b < 0) ? infinity : -infinity;
}

static Interval product(const Interval &a, const Interval &b) {
  std::array<Wide, 4> corners{timesClamped(a.min, b.min), timesClamped(a.min, b.max), timesClamped(a.max, b.min),
                              timesClamped(a.max, b.max)};
  auto [min, max] = std::minmax_element(corners.begin(), corners.end());
  return {*min, *max};
}

/// The divisors are at least 1.
static Interval dividedByPositive(const Interval &a, const Interval &b) {
  auto towardsZero = [&](Wide value) { return b.max == infinity ? Wide(0) : value / b.max; };
  return {a.min == -infinity ? -infinity
          : a.min >= 0       ? towardsZero(a.min)
                             : a.min / b.min,
          a.max == infinity ? infinity
          : a.max >= 0      ? a.max / b.min
                            : towardsZero(a.max)};
}

static Interval quotient(const Interval &a, const Interval &b) {
  std::optional<Interval> result;
  auto add = [&](const Interval &part) { result = result ? hull(*result, part) : part; };
  if (b.max > 0) add(dividedByPositive(a, {std::max<Wide>(b.min, 1), b.max}));
  if (b.min < 0) add(dividedByPositive(negated(a), {std::max<Wide>(-b.max, 1), -b.min}));
  if (b.min <= 0 && b.max >= 0) add({-1, -1});
  return *result;
}

static Interval remainder(const Interval &a, const Interval &b) {
  bool mayBeZero = b.min <= 0 && b.max >= 0;
  Wide largest = std::max(-b.min, b.max); // of the divisors' magnitudes
  if (!mayBeZero && b.min == b.max && a.min == a.max && largest < infinity && a.min > -infinity && a.max < infinity)
    return {a.min % b.min, a.min % b.min};
  Wide below = mayBeZero || largest == infinity ? infinity : largest - 1;
  if (a.min >= 0 && b.min > a.max) return a;
  return {a.min >= 0 ? Wide(0) : std::max(a.min, -below), a.max <= 0 ? Wide(0) : std::min(a.max, below)};
}

static Interval induction(const Interval &from, const Interval &to) {
  return {from.min, std::max(from.min, sum(to, {-1, -1}).max)};
}

static Interval shifted(const Interval &a, int64_t amount) {
  return {a.min == -infinity ? -infinity : a.min >> amount, a.max == infinity ? infinity : a.max >> amount};
}

static Interval combine(Kind kind, const Interval &a, const Interval &b) {
  switch (kind) {
  case Kind::sum: return sum(a, b);
  case Kind::product: return product(a, b);
  case Kind::quotient: return quotient(a, b);
  case Kind::remainder: return remainder(a, b);
  case Kind::min: return {std::min(a.min, b.min), std::min(a.max, b.max)};
  case Kind::max: return {std::max(a.min, b.min), std::max(a.max, b.max)};
  case Kind::hull: return hull(a, b);
  case Kind::intersection: return intersection(a, b);
  case Kind::induction: return induction(a, b);
  default: return anything;
  }
}

Interval evaluate(llvm::ArrayRef<BoundNode> nodes, llvm::ArrayRef<Interval> slots, const std::array<Interval, 3> &programs) {
  InlineVector<Interval, 32> values;
  for (const BoundNode &node : nodes) {
    size_t first = static_cast<size_t>(node.first);
    switch (node.kind) {
    case Kind::range: values.push_back({node.first, node.second}); break;
    case Kind::slot: values.push_back(slots[first]); break;
    case Kind::programs: values.push_back(programs[first]); break;
    case Kind::program: values.push_back({0, std::max<Wide>(programs[first].max - 1, 0)}); break;
    case Kind::shift: values.push_back(shifted(values[first], node.second)); break;
    default: values.push_back(combine(node.kind, values[first], values[static_cast<size_t>(node.second)]));
    }
  }
  return values.empty() ? anything : values[values.size() - 1];
}

bool isValid(const BoundNode &node, size_t position, int64_t slots) {
  auto isEarlier = [&](int64_t index) { return index >= 0 && index < static_cast<int64_t>(position); };
  switch (node.kind) {
  case Kind::range: return node.first <= node.second;
  case Kind::slot: return node.first >= 0 && node.first < slots;
  case Kind::programs:
  case Kind::program: return node.first >= 0 && node.first < 3;
  case Kind::shift: return isEarlier(node.first) && node.second >= 0 && node.second <= maxShift;
  default: return node.kind < Kind::shift && isEarlier(node.first) && isEarlier(node.second);
  }
}

} // namespace tilewright
