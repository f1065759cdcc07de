// Launch guards of the compiler: their contexts at compile time, and their texts.
#include "support/guard_values.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright {

Interval evaluate(llvm::ArrayRef<BoundNode> nodes, const BoundContext &context) {
  return evaluate(nodes, context.slots, context.programs);
}

llvm::SmallVector<uint64_t, 32> signedSlots(llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<SlotKind> kinds) {
  llvm::SmallVector<uint64_t, 32> result(slots.begin(), slots.end());
  extendBySign(result, kinds);
  return result;
}

static bool asksForGrid(const LaunchGuard &guard) {
  return llvm::any_of(
      guard.nodes, [](const BoundNode &node) { return node.kind == BoundNode::Kind::program || node.kind == BoundNode::Kind::programs; });
}

std::string describe(const LaunchGuard &guard, const LaunchValues &launch, llvm::ArrayRef<std::string> names) {
  std::vector<int64_t> slots;
  if (guard.nodes.empty()) slots = {guard.slot, guard.otherSlot};
  for (const BoundNode &node : guard.nodes)
    if (node.kind == BoundNode::Kind::slot && !llvm::is_contained(slots, node.first)) slots.push_back(node.first);
  std::vector<std::string> parts;
  for (int64_t slot : slots) {
    size_t i = static_cast<size_t>(slot);
    std::string name = i < names.size() ? llvm::StringRef(names[i]).split('=').first.str() : "argument " + std::to_string(slot);
    bool isAddress = guard.nodes.empty();
    parts.push_back(name + " is " + (isAddress ? "at 0x" + llvm::utohexstr(launch.slots[i]) : std::to_string(int64_t(launch.slots[i]))));
  }
  auto extent = [&](size_t axis) { return std::to_string(launch.grid[axis]); };
  if (asksForGrid(guard)) parts.push_back("the grid is " + extent(0) + " x " + extent(1) + " x " + extent(2));
  return llvm::join(parts, ", ");
}

} // namespace tilewright
