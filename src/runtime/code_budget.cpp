// One table has all specializations of the process. Locks: the table's before a kernel's. Evicted code is freed after both are released,
// because unloading takes time.
#include "runtime/code_budget.h"

#include "runtime/events.h"
#include "runtime/kernel.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

namespace tilewright {

namespace {

struct Entry {
  Kernel *owner;
  std::string key;
  std::weak_ptr<const CompiledKernel> code;
  int64_t bytes;
};

struct Table {
  std::mutex lock; // of the members below
  std::list<Entry> entries;
  CodeLimits limits;
  CodeUse use;
};

Table &table() {
  static auto &only = *new Table; // never destroyed: kernels may end after static objects
  return only;
}

std::atomic<uint64_t> now{0};

bool exceeds(const Table &all) {
  return (all.limits.kernels && all.use.kernels > all.limits.kernels) || (all.limits.bytes && all.use.bytes > all.limits.bytes);
}

void forget(Table &all, std::list<Entry>::iterator entry) {
  --all.use.kernels;
  all.use.bytes -= entry->bytes;
  all.entries.erase(entry);
}

uint64_t lastUse(const Entry &entry) {
  std::shared_ptr<const CompiledKernel> code = entry.code.lock();
  return code ? code->lastUse() : 0;
}

/// Takes entries out of their kernels until the limits hold. One that was just added stays, so that a launch always has its code.
std::vector<std::shared_ptr<const CompiledKernel>> evict(Table &all, const CompiledKernel *added) {
  std::vector<std::shared_ptr<const CompiledKernel>> evicted;
  while (exceeds(all)) {
    auto oldest = all.entries.end();
    for (auto entry = all.entries.begin(); entry != all.entries.end(); ++entry)
      if (entry->code.lock().get() != added && (oldest == all.entries.end() || lastUse(*entry) < lastUse(*oldest))) oldest = entry;
    if (oldest == all.entries.end()) break;
    if (std::shared_ptr<const CompiledKernel> code = oldest->owner->release(oldest->key)) evicted.push_back(std::move(code));
    ++all.use.evicted;
    forget(all, oldest);
  }
  return evicted;
}

void reportEvicted(const std::vector<std::shared_ptr<const CompiledKernel>> &evicted) {
  if (!hasObserver()) return;
  for (const std::shared_ptr<const CompiledKernel> &code : evicted)
    report({RuntimeEvent::Kind::evicted, code->name(), 0, code->bytes(), false});
}

} // namespace

uint64_t codeTime() {
  return now.load(std::memory_order_relaxed);
}

void setCodeLimits(const CodeLimits &limits) {
  std::vector<std::shared_ptr<const CompiledKernel>> evicted;
  {
    std::lock_guard<std::mutex> guard(table().lock);
    table().limits = limits;
    evicted = evict(table(), nullptr);
  }
  reportEvicted(evicted);
}

CodeUse codeUse() {
  std::lock_guard<std::mutex> guard(table().lock);
  return table().use;
}

void addCode(Kernel &owner, const std::string &key, const std::shared_ptr<const CompiledKernel> &code) {
  std::vector<std::shared_ptr<const CompiledKernel>> evicted;
  {
    std::lock_guard<std::mutex> guard(table().lock);
    now.fetch_add(1, std::memory_order_relaxed);
    code->touch();
    table().entries.push_back({&owner, key, code, code->bytes()});
    ++table().use.kernels;
    table().use.bytes += code->bytes();
    evicted = evict(table(), code.get());
  }
  reportEvicted(evicted);
}

void removeCode(Kernel &owner) {
  std::lock_guard<std::mutex> guard(table().lock);
  for (auto entry = table().entries.begin(); entry != table().entries.end();) {
    auto next = std::next(entry);
    if (entry->owner == &owner) forget(table(), entry);
    entry = next;
  }
}

} // namespace tilewright
