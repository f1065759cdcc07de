// Interval arithmetic, compared with the results of all numbers in the intervals, and of numbers of any size.
#include "support/interval.h"

#include "llvm/ADT/APInt.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <vector>

using namespace tilewright;
using llvm::APInt;

namespace {

using Kind = BoundNode::Kind;
using Range = std::pair<int64_t, int64_t>;

constexpr Kind binaries[] = {Kind::sum, Kind::product, Kind::quotient,  Kind::remainder,   Kind::min,
                             Kind::max, Kind::hull,    Kind::induction, Kind::intersection};

Interval evaluate(llvm::ArrayRef<BoundNode> nodes) {
  return tilewright::evaluate(nodes, {}, {});
}

/// The smallest and the largest number that the operation can be; none if it is never computed.
std::optional<Range> resultsOf(Kind kind, int64_t x, int64_t y) {
  auto one = [](int64_t value) { return Range(value, value); };
  switch (kind) {
  case Kind::sum: return one(x + y);
  case Kind::product: return one(x * y);
  case Kind::quotient: return one(y ? x / y : -1);
  case Kind::remainder: return one(y ? x % y : x);
  case Kind::min: return one(std::min(x, y));
  case Kind::max: return one(std::max(x, y));
  case Kind::hull: return Range(std::min(x, y), std::max(x, y));
  case Kind::induction: return x < y ? std::optional(Range(x, y - 1)) : std::nullopt;
  default: return x == y ? std::optional(one(x)) : std::nullopt;
  }
}

/// The operation's results for all x of [a, b], where `ofEach` are those for each x from `first` on.
std::optional<Range> over(const std::vector<std::optional<Range>> &ofEach, int64_t first, int64_t a, int64_t b) {
  std::optional<Range> all;
  for (int64_t x = a; x <= b; ++x)
    if (const std::optional<Range> &one = ofEach[static_cast<size_t>(x - first)])
      all = all ? Range(std::min(all->first, one->first), std::max(all->second, one->second)) : *one;
  return all;
}

/// All pairs of intervals with these ends, in increasing order.
void checkAll(const std::vector<int64_t> &ends) {
  for (Kind kind : binaries)
    for (size_t c = 0; c < ends.size(); ++c)
      for (size_t d = c; d < ends.size(); ++d) {
        std::vector<std::optional<Range>> ofEach;
        for (int64_t x = ends.front(); x <= ends.back(); ++x) {
          std::vector<std::optional<Range>> row;
          for (int64_t y = ends[c]; y <= ends[d]; ++y)
            row.push_back(resultsOf(kind, x, y));
          ofEach.push_back(over(row, ends[c], ends[c], ends[d]));
        }
        for (size_t a = 0; a < ends.size(); ++a)
          for (size_t b = a; b < ends.size(); ++b) {
            std::optional<Range> results = over(ofEach, ends.front(), ends[a], ends[b]);
            if (!results) continue;
            BoundNode nodes[] = {{Kind::range, ends[a], ends[b]}, {Kind::range, ends[c], ends[d]}, {kind, 0, 1}};
            Interval found = evaluate(nodes);
            bool isExact = kind == Kind::remainder ? found.min <= results->first && found.max >= results->second
                                                   : found.min == results->first && found.max == results->second;
            ASSERT_TRUE(isExact) << int(kind) << " of [" << ends[a] << ", " << ends[b] << "] and [" << ends[c] << ", " << ends[d]
                                 << "] is [" << int64_t(found.min) << ", " << int64_t(found.max) << "], not [" << results->first << ", "
                                 << results->second << "]";
          }
      }
}

TEST(Intervals, AreThoseOfAllNumbersOf4Bits) {
  std::vector<int64_t> ends;
  for (int64_t end = -8; end < 8; ++end)
    ends.push_back(end);
  checkAll(ends);
}

TEST(Intervals, AreThoseOfNumbersOf8Bits) {
  checkAll({-128, -127, -64, -17, -8, -3, -1, 0, 1, 2, 7, 16, 63, 126, 127});
}

TEST(Intervals, OfShiftsRoundDown) {
  for (int64_t a = -128; a < 128; ++a)
    for (int64_t b = a; b < 128; ++b)
      for (int64_t amount = 0; amount < 10; ++amount) {
        BoundNode nodes[] = {{Kind::range, a, b}, {Kind::shift, 0, amount}};
        Interval found = evaluate(nodes);
        ASSERT_TRUE(found.min == a >> amount && found.max == b >> amount) << a << " " << b << " >> " << amount;
      }
}

TEST(Intervals, BeyondInfinityAreNoNumbers) {
  constexpr int64_t far = int64_t(1) << 62;
  // far * far - far/4 * far/4 does not fit in 64 bits.
  BoundNode difference[] = {{Kind::range, far, far}, {Kind::product, 0, 0}, {Kind::range, far / 4, far / 4},
                            {Kind::product, 2, 2},   {Kind::range, -1, -1}, {Kind::product, 3, 4},
                            {Kind::sum, 1, 5}};
  EXPECT_FALSE(evaluate(difference).isWithin(INT64_MIN, INT64_MAX));
  // far * far / far is far.
  BoundNode quotient[] = {{Kind::range, far, far}, {Kind::product, 0, 0}, {Kind::quotient, 1, 0}};
  EXPECT_TRUE(evaluate(quotient).min <= far && evaluate(quotient).max >= far);
  // Products keep their sign.
  BoundNode cube[] = {{Kind::range, INT64_MAX, INT64_MAX}, {Kind::product, 0, 0}, {Kind::product, 1, 1}};
  EXPECT_GT(evaluate(cube).min, 0);
  EXPECT_FALSE(evaluate(cube).isWithin(INT64_MIN, INT64_MAX));
}

/// The result of one step, as a number of 2048 bits: no number here is longer.
APInt compute(const BoundNode &node, const std::vector<APInt> &values) {
  const APInt &x = values[static_cast<size_t>(node.first)];
  if (node.kind == Kind::shift) return x.ashr(static_cast<unsigned>(node.second));
  const APInt &y = values[static_cast<size_t>(node.second)];
  switch (node.kind) {
  case Kind::sum: return x + y;
  case Kind::product: return x * y;
  case Kind::quotient: return y.isZero() ? APInt::getAllOnes(x.getBitWidth()) : x.sdiv(y);
  case Kind::remainder: return y.isZero() ? x : x.srem(y);
  case Kind::min: return x.slt(y) ? x : y;
  default: return x.sgt(y) ? x : y;
  }
}

bool contains(const Interval &interval, const APInt &value) {
  auto wide = [&](Interval::Wide number) {
    uint64_t words[] = {static_cast<uint64_t>(number), static_cast<uint64_t>(number >> 64)};
    return APInt(128, words).sext(value.getBitWidth());
  };
  bool isAbove = interval.min == -Interval::infinity || wide(interval.min).sle(value);
  return isAbove && (interval.max == Interval::infinity || wide(interval.max).sge(value));
}

TEST(Intervals, OfLongComputationsContainTheirResults) {
  constexpr Kind kinds[] = {Kind::sum, Kind::product, Kind::product, Kind::quotient, Kind::remainder, Kind::min, Kind::max, Kind::shift};
  std::mt19937_64 random(1);
  for (int64_t round = 0; round < 20000; ++round) {
    std::vector<BoundNode> nodes;
    std::vector<APInt> values;
    for (int64_t i = 0; i < 3; ++i) {
      int64_t number = static_cast<int64_t>(random()) >> (random() % 64);
      int64_t low = number - static_cast<int64_t>(random() % 2), high = number;
      nodes.push_back({Kind::range, low <= high ? low : high, high});
      values.push_back(APInt(2048, static_cast<uint64_t>(number), true));
    }
    for (int64_t i = 3; i < 8; ++i) {
      BoundNode node{kinds[random() % std::size(kinds)], static_cast<int64_t>(random() % nodes.size()), 0};
      node.second = static_cast<int64_t>(random() % (node.kind == Kind::shift ? 70 : nodes.size()));
      ASSERT_TRUE(isValid(node, nodes.size(), 0));
      values.push_back(compute(node, values));
      nodes.push_back(node);
      ASSERT_TRUE(contains(evaluate(nodes), values.back())) << "round " << round << ", step " << i;
    }
  }
}

} // namespace
