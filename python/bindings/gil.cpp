// See gil.h.

#include "gil.h"

#include "core.h"

#include <chrono>
#include <stdexcept>
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

WithoutGil::WithoutGil() : state(PyEval_SaveThread()) {}
WithoutGil::~WithoutGil() {
  // Python's own check comes too late for threads that are on their way through frames of C++.
  if (ends.load(std::memory_order_relaxed) && !hasClosedCompileGate()) stopForGood();
  orStopForGood([&] { PyEval_RestoreThread(state); });
}

const std::atomic<bool> &interpreterEnds() {
  return ends;
}

// Threads inside the gate may need the GIL to continue.
static void closeGate(std::chrono::seconds timeout) {
  WithoutGil release;
  closeCompileGate(timeout);
}

void defineCompiling(nb::module_ &module) {
  // Callbacks take the lock by PyGILState_Ensure, which knows the main interpreter's threads only: in another one they would wait for ever.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0)
    throw std::runtime_error("tilewright runs in Python's main interpreter only");
  nb::object os = nb::module_::import_("os"), atexit = nb::module_::import_("atexit");
  nb::object before = nb::cpp_function([] { closeGate(std::chrono::hours(1)); });
  nb::object after = nb::cpp_function(&openCompileGate);
  nb::dict hooks;
  hooks["before"] = before;
  hooks["after_in_parent"] = after;
  hooks["after_in_child"] = nb::cpp_function(&resetCompileGate);
  os.attr("register_at_fork")(**hooks);
  // Code that compiles must not run while the compiler's globals are destroyed. The main thread itself may still compile.
  atexit.attr("register")(nb::cpp_function([] {
    ends.store(true);
    closeGate(std::chrono::seconds(10));
  }));
}

} // namespace tilewright::python
