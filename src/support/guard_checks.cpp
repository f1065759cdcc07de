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
  auto isSame = [&](const Launch &other) {
    return other.grid == launch.grid && launch.slots == llvm::ArrayRef<uint64_t>(other.slots) &&
           launch.bytes == llvm::ArrayRef<int64_t>(other.bytes);
  };
  if (const Launch *same = held ? launches.find(isSame) : nullptr) return same->failed;
  auto hasSameNumbers = [&](const Numbers &other) {
    return other.grid == launch.grid && haveSameNumbers(launch.slots, other.slots, launch.kinds);
  };
  bool areKnown = held && numbers.find(hasSameNumbers), numbersHold = true;
  InlineVector<uint64_t, 32> integers(launch.slots);
  extendBySign(integers, launch.kinds);
  InlineVector<int64_t, 32> bytes(launch.bytes);
  bytes.resize(launch.slots.size(), 0);
  InlineVector<int64_t, 32> given(bytes);
  findBytes(bytes);
  std::vector<std::string> failed;
  for (const LaunchGuard &guard : launch.guards) {
    bool sameForNumbers = isOfNumbers(guard, launch.kinds);
    if ((sameForNumbers && areKnown) || holds(guard, {integers, bytes, launch.grid})) continue;
    if (sameForNumbers) numbersHold = false;
    failed.push_back(guard.name);
  }
  breakMore(integers, failed);
  const FailedGuardNames *known = held ? names.find([&](const FailedGuardNames &other) { return *other == failed; }) : nullptr;
  FailedGuardNames result = known ? *known : failed.empty() ? nullptr : std::make_shared<const std::vector<std::string>>(std::move(failed));
  if (!held) return result;
  if (result && !known) names.add(result);
  if (numbersHold && !areKnown) numbers.add({launch.grid, InlineVector<uint64_t, 16>(launch.slots)});
  if (llvm::ArrayRef<int64_t>(bytes) == llvm::ArrayRef<int64_t>(given))
    launches.add({launch.grid, InlineVector<uint64_t, 16>(launch.slots), InlineVector<int64_t, 16>(launch.bytes), result});
  return result;
}

} // namespace tilewright
