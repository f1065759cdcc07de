// One word counts the compiling threads, and its top bit closes the gate. A thread that wants to fork sets the bit and waits until only its
// own count is left. The word is the whole state, so a child only has to reset it.

#include "support/fork_gate.h"

#include <atomic>
#include <cstdint>
#include <thread>

namespace tilewright {

static constexpr uint32_t closedBit = uint32_t(1) << 31;
static constinit std::atomic<uint32_t> gate{0};
static constinit std::atomic<uint64_t> begun{0};
static constinit thread_local uint32_t nested = 0; // nested Compiling scopes of this thread
static constinit thread_local bool closedHere = false;

uint64_t preparations() {
  return begun.load(std::memory_order_relaxed);
}

void notePreparation() {
  begun.fetch_add(1, std::memory_order_relaxed);
}

Compiling::Compiling() {
  notePreparation();
  if (nested++ > 0 || closedHere) return;
  uint32_t seen = gate.load();
  while (true) {
    if (seen & closedBit) {
      gate.wait(seen);
      seen = gate.load();
    } else if (gate.compare_exchange_weak(seen, seen + 1)) {
      return;
    }
  }
}

Compiling::~Compiling() {
  if (--nested == 0 && !closedHere) gate.fetch_sub(1);
}

void closeCompileGate(std::chrono::seconds timeout) {
  uint32_t seen = gate.load();
  while ((seen & closedBit) || !gate.compare_exchange_weak(seen, seen | closedBit)) {
    gate.wait(seen | closedBit);
    seen = gate.load();
  }
  uint32_t own = nested > 0 ? 1 : 0;
  auto start = std::chrono::steady_clock::now();
  while ((gate.load() & ~closedBit) != own && std::chrono::steady_clock::now() - start < timeout)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  closedHere = nested == 0;
}

void openCompileGate() {
  closedHere = false;
  gate.fetch_and(~closedBit);
  gate.notify_all();
}

void resetCompileGate() {
  gate.store(nested > 0 ? 1 : 0);
  closedHere = false;
}

bool hasClosedCompileGate() {
  return closedHere;
}

} // namespace tilewright
