// Launch guards: evaluation, and conversion to numbers.
#include "support/launch_guards.h"

#include "support/guard_checks.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

using Kind = BoundNode::Kind;

Interval interval(std::vector<BoundNode> nodes, std::vector<int64_t> slots, std::array<int64_t, 3> grid = {1, 1, 1}) {
  BoundContext context;
  for (int64_t slot : slots)
    context.slots.push_back({slot, slot});
  for (size_t i = 0; i < 3; ++i)
    context.programs[i] = {grid[i], grid[i]};
  return evaluate(nodes, context);
}

BoundNode range(int64_t min, int64_t max) {
  return {Kind::range, min, max};
}

void expectInterval(Interval found, int64_t min, int64_t max) {
  EXPECT_EQ(int64_t(found.min), min);
  EXPECT_EQ(int64_t(found.max), max);
}

TEST(LaunchGuard, ComputesWithTheLaunch) {
  expectInterval(interval({{Kind::program, 1, 0}}, {}, {2, 7, 1}), 0, 6);
  expectInterval(interval({{Kind::programs, 1, 0}}, {}, {2, 7, 1}), 7, 7);
  expectInterval(interval({{Kind::slot, 0, 0}, {Kind::slot, 1, 0}, {Kind::induction, 0, 1}}, {3, 10}), 3, 9);
  expectInterval(interval({{Kind::slot, 0, 0}, {Kind::slot, 1, 0}, {Kind::induction, 0, 1}}, {3, -10}), 3, 3);
  expectInterval(interval({range(-5, 5), range(0, 100), {Kind::intersection, 0, 1}}, {}), 0, 5);
}

// program_id(0)*slot 1 fits in 32 bits.
LaunchGuard offsetFits() {
  return {"offset", {{Kind::program, 0, 0}, {Kind::slot, 1, 0}, {Kind::product, 0, 1}}, INT32_MIN, INT32_MAX, -1, -1};
}

TEST(LaunchGuard, Holds) {
  uint64_t slots[] = {0x1000, 1 << 20};
  EXPECT_TRUE(holds(offsetFits(), {slots, {}, {2048, 1, 1}}));
  EXPECT_FALSE(holds(offsetFits(), {slots, {}, {2049, 1, 1}}));
  slots[1] = uint64_t(-(1 << 20));
  EXPECT_TRUE(holds(offsetFits(), {slots, {}, {2049, 1, 1}}));
}

TEST(LaunchGuard, OfTensorsThatMayOverlap) {
  LaunchGuard disjoint{"disjoint", {}, 0, 0, 0, 2};
  uint64_t slots[] = {0x1000, 5, 0x2000};
  int64_t bytes[] = {0x1000, 0, 0x10};
  EXPECT_TRUE(holds(disjoint, {slots, bytes, {}}));
  bytes[0] = 0x1001;
  EXPECT_FALSE(holds(disjoint, {slots, bytes, {}}));
  EXPECT_FALSE(holds(disjoint, {slots, {}, {}})); // their sizes are unknown
  slots[2] = 0x0ff0;
  EXPECT_TRUE(holds(disjoint, {slots, bytes, {}}));
  slots[2] = 0x1000;
  EXPECT_FALSE(holds(disjoint, {slots, bytes, {}}));
  slots[2] = 0; // an empty tensor
  EXPECT_TRUE(holds(disjoint, {slots, bytes, {}}));
}

// A divisor of 0 is that of the language: the quotient is -1, the remainder the dividend.
TEST(LaunchGuard, DividesByZero) {
  LaunchGuard quotient{"a // b >= 0", {{Kind::slot, 0}, {Kind::slot, 1}, {Kind::quotient, 0, 1}}, 0, INT64_MAX};
  LaunchGuard remainder{"a % b < 8", {{Kind::slot, 0}, {Kind::slot, 1}, {Kind::remainder, 0, 1}}, -8, 7};
  auto passes = [](const LaunchGuard &guard, int64_t a, int64_t b) {
    uint64_t slots[] = {uint64_t(a), uint64_t(b)};
    return holds(guard, {slots, {}, {}});
  };
  EXPECT_TRUE(passes(quotient, 100, 8));
  EXPECT_FALSE(passes(quotient, 100, 0));
  EXPECT_FALSE(passes(quotient, 0, 0));
  EXPECT_TRUE(passes(remainder, 100, 8));
  EXPECT_FALSE(passes(remainder, 100, 0));
  EXPECT_FALSE(passes(remainder, -100, 0));
  EXPECT_TRUE(passes(remainder, 7, 0));
  EXPECT_TRUE(passes(remainder, INT64_MIN, -1));
  EXPECT_TRUE(passes(quotient, INT64_MIN + 1, -1));
  EXPECT_FALSE(passes({"a // b fits in 64 bits", quotient.nodes, INT64_MIN, INT64_MAX}, INT64_MIN, -1));
}

// Slot 0 is not a multiple of 8: requested, because there is faster code for multiples.
LaunchGuard noMultiple() {
  return {"n is not a multiple of 8", {{Kind::slot, 0, 0}, {Kind::range, 8, 8}, {Kind::remainder, 0, 1}}, 0, 0, -1, -1, true};
}

TEST(LaunchGuard, ThatIsPreferred) {
  for (int64_t number : {0, 8, -8, 1000, 1001, 1004, -4, -1}) {
    uint64_t slots[] = {uint64_t(number)};
    EXPECT_EQ(holds(noMultiple(), {slots, {}, {}}), number % 8 != 0) << number;
  }
  std::vector<LaunchGuard> guards = {noMultiple(), offsetFits()};
  EXPECT_TRUE(areVersioningRequests(guards, {"n is not a multiple of 8"}));
  EXPECT_FALSE(areVersioningRequests(guards, {"n is not a multiple of 8", "offset"}));
  EXPECT_FALSE(areVersioningRequests(guards, {"another kernel's"}));
}

TEST(LaunchGuard, AsNumbers) {
  LaunchGuard disjoint{"a and b do not overlap", {}, 0, 0, 0, 1};
  for (const LaunchGuard &guard : {offsetFits(), disjoint, noMultiple()}) {
    std::vector<int64_t> numbers = numbersOf(guard);
    EXPECT_EQ(guardOf(guard.name, numbers, 2), guard);
    EXPECT_FALSE(guardOf(guard.name, numbers, 0)); // a slot that is not there
    numbers.pop_back();
    EXPECT_FALSE(guardOf(guard.name, numbers, 2));
  }
  EXPECT_FALSE(guardOf("later", std::vector<int64_t>{0, 0, -1, -1, 0, int64_t(Kind::sum), 0, 0}, 2)); // an operand of itself
  EXPECT_FALSE(guardOf("unknown", std::vector<int64_t>{0, 0, -1, -1, 0, 99, 0, 0}, 2));
}

TEST(SignedSlots, AreAsWideAsTheirTypes) {
  uint64_t slots[] = {0xffffffffu, 200, 40000, 5000000000u, 0xffff000000000000u};
  SlotKind kinds[] = {SlotKind::i32, SlotKind::i8, SlotKind::i16, SlotKind::i64, SlotKind::pointer};
  llvm::SmallVector<uint64_t, 32> found = signedSlots(slots, kinds);
  EXPECT_EQ(int64_t(found[0]), -1);
  EXPECT_EQ(int64_t(found[1]), -56);
  EXPECT_EQ(int64_t(found[2]), 40000 - 65536);
  EXPECT_EQ(found[3], slots[3]);
  EXPECT_EQ(found[4], slots[4]);
}

// A driver's answer about an address is that of one launch: the memory may be freed and allocated again.
TEST(GuardChecks, SizesAreFoundAtEachLaunch) {
  const LaunchGuard disjoint[] = {{"a and b do not overlap", {}, 0, 0, 0, 1}};
  const SlotKind kinds[] = {SlotKind::pointer, SlotKind::pointer};
  const uint64_t slots[] = {0x1000, 0x2000};
  GuardChecks checks;
  int64_t allocated = 0x1000;
  int asked = 0;
  auto fails = [&](llvm::ArrayRef<int64_t> given) {
    auto findBytes = [&](llvm::MutableArrayRef<int64_t> bytes) {
      ++asked;
      for (int64_t &size : bytes)
        if (size == 0) size = allocated;
    };
    return checks.failedBy({disjoint, kinds, {1, 1, 1}, slots, given}, findBytes, [](auto, auto &) {}) != nullptr;
  };
  EXPECT_FALSE(fails({}));
  allocated = 0x2000;
  EXPECT_TRUE(fails({}));
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(fails({0x1000, 0x1000}));
  EXPECT_FALSE(fails({0x1000, 0x1000}));
  EXPECT_EQ(asked, 3); // given sizes decide
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(fails({}));
  EXPECT_FALSE(fails({0x1000, 0x1000}));
  EXPECT_EQ(asked, 11); // launches whose sizes are found do not replace others
}

} // namespace
