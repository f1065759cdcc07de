// Python's lock, the GIL: scopes take it and give it up, as nanobind's do, with one difference. When the interpreter ends,
// Python (before 3.14) ends every other thread that asks for the lock by unwinding its stack, which destructors and compiled
// frames do not survive: the process would abort. Here such a thread stops instead, and the process ends without it.
#pragma once

#include "support/fork_gate.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <string>

namespace tilewright::python {

/// Holds the GIL, whichever thread this is.
class WithGil {
public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil &) = delete;
  WithGil &operator=(const WithGil &) = delete;

private:
  PyGILState_STATE state;
};

/// Gives up the GIL, which this thread holds.
class WithoutGil {
public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;

private:
  PyThreadState *state;
};

/// Adds what Python calls before and after fork, and at its end: fork() waits for whoever compiles (support/fork_gate.h).
void defineCompiling(nanobind::module_ &module);
/// Whether the interpreter is ending: then work on other threads should end, too.
const std::atomic<bool> &interpreterEnds();

// ---- interrupts.cpp

/// As long as this lives, Ctrl-C ends the work of this thread, if it is Python's main one.
/// Made and destroyed with the GIL. Raises what the handler of a pending signal raises.
class Interruptible {
public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;
  /// Becomes true when the work must end. Null on other threads: as in Python, signals do not concern them.
  const std::atomic<bool> *stop() const { return active ? &stopped : nullptr; }

private:
  friend class Watcher;
  bool active = false;
  std::atomic<bool> stopped{false};
};

/// After work that was stopped: raises what the handler of the signal raises, or KeyboardInterrupt with that message.
[[noreturn]] void raiseInterrupt(const std::string &message);

} // namespace tilewright::python
