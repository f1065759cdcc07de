#include "support/guard_checks.h"

#include "support/guard_values.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright {

/// True if two launches differ only in their tensors.
static bool haveSameNumbers(llvm::ArrayRef<uint64_t> a, llvm::ArrayRef<uint64_t> b, llvm::ArrayRef<SlotKind> kinds) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && kinds[i] != SlotKind::pointer) return false;
  return true;
}

/// True if the guard does not depend on tensors.
static bool isOfNumbers(const LaunchGuard &guard, llvm::ArrayRef<SlotKind> kinds) {
  return !guard.nodes.empty() && llvm::none_of(guard.nodes, [&](const BoundNode &node) {
    return node.kind == BoundNode::Kind::slot && kinds[static_cast<size_t>(node.first)] == SlotKind::pointer;
  });
}

FailedGuardNames GuardChecks::failedBy(const Question &launch, llvm::function_ref<void(llvm::MutableArrayRef<int64_t>)> findBytes,
                                       llvm::function_ref<void(llvm::ArrayRef<uint64_t>, std::vector<std::string> &)> breakMore) {
  // A thread that does not get the lock checks for itself. In a child process the lock may stay held forever.
  std::unique_lock<std::mutex> held(lock, std::try_to_lock);
  llvm::MutableArrayRef<Checked> known = held ? llvm::MutableArrayRef<Checked>(checked) : llvm::MutableArrayRef<Checked>();
  bool numbersHold = false;
  for (const Checked &before : known) {
    if (before.grid != launch.grid || !haveSameNumbers(launch.slots, before.slots, launch.kinds)) continue;
    if (before.isWhole && launch.slots == llvm::ArrayRef<uint64_t>(before.slots) && launch.bytes == llvm::ArrayRef<int64_t>(before.bytes))
      return before.broken;
    numbersHold |= before.numbersHold;
  }
  InlineVector<uint64_t, 32> integers(launch.slots);
  extendBySign(integers, launch.kinds);
  InlineVector<int64_t, 32> bytes(launch.bytes);
  bytes.resize(launch.slots.size(), 0);
  InlineVector<int64_t, 32> given(bytes);
  findBytes(bytes);
  std::vector<std::string> broken;
  Checked fresh;
  fresh.grid = launch.grid;
  fresh.slots = InlineVector<uint64_t, 16>(launch.slots);
  fresh.bytes = InlineVector<int64_t, 16>(launch.bytes);
  fresh.numbersHold = true;
  fresh.isWhole = llvm::ArrayRef<int64_t>(bytes) == llvm::ArrayRef<int64_t>(given);
  for (const LaunchGuard &guard : launch.guards) {
    bool sameForNumbers = isOfNumbers(guard, launch.kinds);
    if ((sameForNumbers && numbersHold) || holds(guard, {integers, bytes, launch.grid})) continue;
    if (sameForNumbers) fresh.numbersHold = false;
    broken.push_back(guard.name);
  }
  breakMore(integers, broken);
  for (const Checked &before : known)
    if (before.broken && *before.broken == broken) fresh.broken = before.broken;
  if (!fresh.broken && !broken.empty()) fresh.broken = std::make_shared<const std::vector<std::string>>(std::move(broken));
  if (held) checked[next++ % checked.size()] = fresh;
  return fresh.broken;
}

} // namespace tilewright
