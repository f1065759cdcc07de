#include "support/guard_checks.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright {

/// Whether two launches differ in their tensors alone.
static bool haveSameNumbers(llvm::ArrayRef<uint64_t> a, llvm::ArrayRef<uint64_t> b, llvm::ArrayRef<SlotKind> kinds) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && kinds[i] != SlotKind::pointer) return false;
  return true;
}

/// Whether launches that differ in their tensors alone agree about the fact.
static bool isOfNumbers(const LaunchGuard &fact, llvm::ArrayRef<SlotKind> kinds) {
  return !fact.nodes.empty() && llvm::none_of(fact.nodes, [&](const BoundNode &node) {
    return node.kind == BoundNode::Kind::slot && kinds[static_cast<size_t>(node.first)] == SlotKind::pointer;
  });
}

FailedGuardNames GuardChecks::failedBy(const Question &launch, llvm::function_ref<void(llvm::MutableArrayRef<int64_t>)> findBytes,
                                 llvm::function_ref<void(llvm::ArrayRef<uint64_t>, std::vector<std::string> &)> breakMore) {
  // Who finds another launch here checks for itself. A child may find the lock held for good.
  std::unique_lock<std::mutex> guard(lock, std::try_to_lock);
  llvm::MutableArrayRef<Checked> known = guard ? llvm::MutableArrayRef<Checked>(checked) : llvm::MutableArrayRef<Checked>();
  bool numbersHold = false;
  for (const Checked &before : known) {
    if (before.grid != launch.grid || !haveSameNumbers(launch.slots, before.slots, launch.kinds)) continue;
    if (launch.slots == llvm::ArrayRef(before.slots) && launch.bytes == llvm::ArrayRef(before.bytes)) return before.broken;
    numbersHold |= before.numbersHold;
  }
  llvm::SmallVector<uint64_t, 32> integers = signedSlots(launch.slots, launch.kinds);
  llvm::SmallVector<int64_t, 32> bytes(launch.bytes.begin(), launch.bytes.end());
  bytes.resize(launch.slots.size(), 0);
  findBytes(bytes);
  std::vector<std::string> broken;
  Checked fresh{launch.grid, {launch.slots.begin(), launch.slots.end()}, {launch.bytes.begin(), launch.bytes.end()}, true, nullptr};
  for (const LaunchGuard &fact : launch.guards) {
    bool sameForNumbers = isOfNumbers(fact, launch.kinds);
    if ((sameForNumbers && numbersHold) || holds(fact, {integers, bytes, launch.grid})) continue;
    if (sameForNumbers) fresh.numbersHold = false;
    broken.push_back(fact.name);
  }
  breakMore(integers, broken);
  for (const Checked &before : known)
    if (before.broken && *before.broken == broken) fresh.broken = before.broken;
  if (!fresh.broken && !broken.empty()) fresh.broken = std::make_shared<const std::vector<std::string>>(std::move(broken));
  if (guard) checked[next++ % checked.size()] = fresh;
  return fresh.broken;
}

} // namespace tilewright
