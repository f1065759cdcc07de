// See guard_values.h.
#include "support/guard_values.h"

#include "support/inline_vector.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright {

std::vector<int64_t> numbersOf(const LaunchGuard &guard) {
  std::vector<int64_t> numbers{guard.min, guard.max, guard.slot, guard.otherSlot, guard.isVersioningRequest};
  for (const BoundNode &node : guard.nodes)
    numbers.insert(numbers.end(), {static_cast<int64_t>(node.kind), node.first, node.second});
  return numbers;
}

std::optional<LaunchGuard> guardOf(std::string name, llvm::ArrayRef<int64_t> numbers, int64_t slots) {
  constexpr size_t header = 5, each = 3;
  if (numbers.size() < header || (numbers.size() - header) % each != 0) return std::nullopt;
  LaunchGuard guard{std::move(name), {}, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] != 0};
  for (size_t at = header; at < numbers.size(); at += each) {
    if (numbers[at] < 0 || numbers[at] > UINT8_MAX) return std::nullopt;
    BoundNode node{static_cast<BoundNode::Kind>(numbers[at]), numbers[at + 1], numbers[at + 2]};
    if (!isValid(node, guard.nodes.size(), slots)) return std::nullopt;
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
