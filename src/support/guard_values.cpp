// Evaluates launch guards. Intervals are exact at their ends, or wider than necessary: never too narrow.
#include "support/guard_values.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace tilewright {

using Wide = Interval::Wide;

/// Larger than a product of two 32-bit numbers and a third, and small enough that sums and differences of two such numbers do not overflow.
static constexpr Wide farthest = Wide(1) << 100;
static constexpr Interval anything{-farthest, farthest};

static Wide clamped(Wide value) {
  return std::clamp(value, -farthest, farthest);
}

static Wide timesClamped(Wide a, Wide b) {
  Wide product;
  if (!__builtin_mul_overflow(a, b, &product)) return clamped(product);
  return (a < 0) == (b < 0) ? farthest : -farthest;
}

static Interval product(const Interval &a, const Interval &b) {
  std::array<Wide, 4> corners{timesClamped(a.min, b.min), timesClamped(a.min, b.max), timesClamped(a.max, b.min),
                              timesClamped(a.max, b.max)};
  auto [min, max] = std::minmax_element(corners.begin(), corners.end());
  return {*min, *max};
}

/// A kernel that divides by 0 is undefined, so only nonzero divisors count.
static Interval quotient(const Interval &a, Interval b) {
  if (b.min == 0) b.min = 1;
  if (b.max == 0) b.max = -1;
  if (b.min > b.max) return anything;
  if (b.min < 0 && b.max > 0) {
    Wide largest = std::max(-a.min, a.max);
    return {-largest, largest};
  }
  std::array<Wide, 4> corners{a.min / b.min, a.min / b.max, a.max / b.min, a.max / b.max};
  auto [min, max] = std::minmax_element(corners.begin(), corners.end());
  return {*min, *max};
}

static Interval remainder(const Interval &a, const Interval &b) {
  if (a.min == a.max && b.min == b.max && b.min != 0) return {a.min % b.min, a.min % b.min};
  Wide below = std::max(std::max(-b.min, b.max) - 1, Wide(0)); // the largest remainder
  if (a.min >= 0 && a.max <= below && b.min > a.max) return a;
  return {a.min >= 0 ? Wide(0) : std::max(a.min, -below), a.max <= 0 ? Wide(0) : std::min(a.max, below)};
}

/// Returns the intersection. If it is empty, the code is never reached.
static Interval both(const Interval &a, const Interval &b) {
  Interval result{std::max(a.min, b.min), std::min(a.max, b.max)};
  return result.min <= result.max ? result : a;
}

static Interval combine(BoundNode::Kind kind, const Interval &a, const Interval &b) {
  using Kind = BoundNode::Kind;
  switch (kind) {
  case Kind::sum: return {clamped(a.min + b.min), clamped(a.max + b.max)};
  case Kind::product: return product(a, b);
  case Kind::quotient: return quotient(a, b);
  case Kind::remainder: return remainder(a, b);
  case Kind::min: return {std::min(a.min, b.min), std::min(a.max, b.max)};
  case Kind::max: return {std::max(a.min, b.min), std::max(a.max, b.max)};
  case Kind::either: return {std::min(a.min, b.min), std::max(a.max, b.max)};
  case Kind::both: return both(a, b);
  case Kind::counter: return {a.min, std::max(a.min, b.max - 1)};
  default: return anything;
  }
}

Interval evaluate(llvm::ArrayRef<BoundNode> nodes, llvm::ArrayRef<Interval> slots, const std::array<Interval, 3> &programs) {
  using Kind = BoundNode::Kind;
  InlineVector<Interval, 32> values;
  for (const BoundNode &node : nodes) {
    size_t index = static_cast<size_t>(node.first);
    switch (node.kind) {
    case Kind::between: values.push_back({node.first, node.second}); break;
    case Kind::slot: values.push_back(slots[index]); break;
    case Kind::programs: values.push_back(programs[index]); break;
    case Kind::program: values.push_back({0, std::max<Wide>(programs[index].max - 1, 0)}); break;
    default: values.push_back(combine(node.kind, values[index], values[static_cast<size_t>(node.second)]));
    }
  }
  return values.empty() ? anything : values[values.size() - 1];
}

std::vector<int64_t> numbersOf(const LaunchGuard &guard) {
  std::vector<int64_t> numbers{guard.min, guard.max, guard.slot, guard.otherSlot, guard.isVersioningRequest};
  for (const BoundNode &node : guard.nodes)
    numbers.insert(numbers.end(), {static_cast<int64_t>(node.kind), node.first, node.second});
  return numbers;
}

static bool isSound(const BoundNode &node, size_t position, int64_t slots) {
  using Kind = BoundNode::Kind;
  switch (node.kind) {
  case Kind::between: return node.first <= node.second;
  case Kind::slot: return node.first >= 0 && node.first < slots;
  case Kind::programs:
  case Kind::program: return node.first >= 0 && node.first < 3;
  default: break;
  }
  auto earlier = [&](int64_t index) { return index >= 0 && index < static_cast<int64_t>(position); };
  return earlier(node.first) && earlier(node.second);
}

std::optional<LaunchGuard> guardOf(std::string name, llvm::ArrayRef<int64_t> numbers, int64_t slots) {
  constexpr size_t header = 5, each = 3;
  if (numbers.size() < header || (numbers.size() - header) % each != 0) return std::nullopt;
  LaunchGuard guard{std::move(name), {}, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] != 0};
  for (size_t at = header; at < numbers.size(); at += each) {
    if (numbers[at] < 0 || numbers[at] > static_cast<int64_t>(BoundNode::Kind::counter)) return std::nullopt;
    BoundNode node{static_cast<BoundNode::Kind>(numbers[at]), numbers[at + 1], numbers[at + 2]};
    if (!isSound(node, guard.nodes.size(), slots)) return std::nullopt;
    guard.nodes.push_back(node);
  }
  auto isSlot = [&](int64_t slot) { return slot >= 0 && slot < slots; };
  if (guard.nodes.empty() && (!isSlot(guard.slot) || !isSlot(guard.otherSlot))) return std::nullopt;
  return guard;
}

bool areVersioningRequests(llvm::ArrayRef<LaunchGuard> guards, llvm::ArrayRef<std::string> names) {
  return llvm::all_of(names, [&](const std::string &name) {
    return llvm::any_of(guards, [&](const LaunchGuard &guard) { return guard.isVersioningRequest && guard.name == name; });
  });
}

void extendBySign(llvm::MutableArrayRef<uint64_t> slots, llvm::ArrayRef<SlotKind> kinds) {
  for (size_t i = 0; i < slots.size() && i < kinds.size(); ++i) {
    switch (kinds[i]) {
    case SlotKind::i8: slots[i] = static_cast<uint64_t>(int64_t(static_cast<int8_t>(slots[i]))); break;
    case SlotKind::i16: slots[i] = static_cast<uint64_t>(int64_t(static_cast<int16_t>(slots[i]))); break;
    case SlotKind::i32: slots[i] = static_cast<uint64_t>(int64_t(static_cast<int32_t>(slots[i]))); break;
    default: break;
    }
  }
}

static bool tensorsAreDisjoint(const LaunchGuard &guard, const LaunchValues &launch) {
  size_t a = static_cast<size_t>(guard.slot), b = static_cast<size_t>(guard.otherSlot);
  uint64_t first = launch.slots[a], second = launch.slots[b];
  if (first == 0 || second == 0) return true; // an empty tensor overlaps nothing
  if (a >= launch.bytes.size() || b >= launch.bytes.size()) return false;
  int64_t firstBytes = launch.bytes[a], secondBytes = launch.bytes[b];
  if (firstBytes <= 0 || secondBytes <= 0) return false;
  return first + static_cast<uint64_t>(firstBytes) <= second || second + static_cast<uint64_t>(secondBytes) <= first;
}

bool holds(const LaunchGuard &guard, const LaunchValues &launch) {
  if (guard.nodes.empty()) return tensorsAreDisjoint(guard, launch);
  InlineVector<Interval, 32> slots;
  for (uint64_t slot : launch.slots)
    slots.push_back({static_cast<int64_t>(slot), static_cast<int64_t>(slot)});
  std::array<Interval, 3> programs;
  for (size_t axis = 0; axis < 3; ++axis)
    programs[axis] = {launch.grid[axis], launch.grid[axis]};
  return evaluate(guard.nodes, slots, programs).isWithin(guard.min, guard.max) != guard.isVersioningRequest;
}

} // namespace tilewright
