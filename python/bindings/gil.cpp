// See gil.h. One word counts the compiling threads, and its top bit closes the gate: a thread that wants to fork sets
// the bit and waits until only its own count is left. That word is the whole state, so a child only has to reset it.

#include "gil.h"

#include "core.h"

#include <chrono>
#include <thread>
#include <unistd.h>

namespace tilewright::python {

/// The thread has no way back into Python.
[[noreturn]] static void stopForGood() {
  while (true)
    ::pause();
}

// What unwinds a thread is caught by `...` and must be thrown on from there; a thread that stays there is not asked to.
template <typename F> static auto orStopForGood(F &&take) {
  try {
    return take();
  } catch (...) {
    stopForGood();
  }
}

WithGil::WithGil() : state(orStopForGood([] { return PyGILState_Ensure(); })) {}
WithGil::~WithGil() {
  PyGILState_Release(state);
}

static constinit std::atomic<bool> ends{false};
// Of the thread that has closed the gate.
[[gnu::tls_model("initial-exec")]] static constinit thread_local bool closedHere = false;

WithoutGil::WithoutGil() : state(PyEval_SaveThread()) {}
WithoutGil::~WithoutGil() {
  // Python's own check comes too late for threads that are on their way through frames of C++.
  if (ends.load(std::memory_order_relaxed) && !closedHere) stopForGood();
  orStopForGood([&] { PyEval_RestoreThread(state); });
}

// ---- the gate

static constexpr uint32_t closedBit = uint32_t(1) << 31;
static constinit std::atomic<uint32_t> gate{0};
static constinit thread_local uint32_t nested = 0; // Compiling scopes of this thread

Compiling::Compiling() {
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

const std::atomic<bool> &interpreterEnds() {
  return ends;
}

/// Closes the gate and waits for the threads behind it, for a limited time.
static void closeGate(std::chrono::seconds most) {
  WithoutGil release;
  uint32_t seen = gate.load();
  while ((seen & closedBit) || !gate.compare_exchange_weak(seen, seen | closedBit)) {
    gate.wait(seen | closedBit);
    seen = gate.load();
  }
  uint32_t own = nested > 0 ? 1 : 0;
  auto start = std::chrono::steady_clock::now();
  while ((gate.load() & ~closedBit) != own && std::chrono::steady_clock::now() - start < most)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  closedHere = nested == 0;
}

static void openGate() {
  closedHere = false;
  gate.fetch_and(~closedBit);
  gate.notify_all();
}

void defineCompiling(nb::module_ &module) {
  nb::object os = nb::module_::import_("os"), atexit = nb::module_::import_("atexit");
  nb::object before = nb::cpp_function([] { closeGate(std::chrono::hours(1)); });
  nb::object after = nb::cpp_function(&openGate);
  nb::dict hooks;
  hooks["before"] = before;
  hooks["after_in_parent"] = after;
  hooks["after_in_child"] = nb::cpp_function([] {
    gate.store(nested > 0 ? 1 : 0);
    closedHere = false;
  });
  os.attr("register_at_fork")(**hooks);
  // Code that compiles must not run while the compiler's globals are destroyed. The main thread itself may still compile.
  atexit.attr("register")(nb::cpp_function([] {
    ends.store(true);
    closeGate(std::chrono::seconds(10));
  }));
}

} // namespace tilewright::python
