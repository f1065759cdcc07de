// A gate that makes fork() wait for compilations.
//
// A child has a copy of every lock, and none of the threads that hold them. So work that takes locks of the compiler is counted while it
// runs. A process that wants to fork closes the gate, so that no such work begins, and waits until the running work has ended.
#pragma once

#include <chrono>
#include <cstdint>

namespace tilewright {

/// While this object lives, its thread compiles, or runs a kernel on the interpreter or the simulator. The constructor waits while the gate
/// is closed. Scopes may be nested. The caller must not hold a lock that the forking thread may hold, such as Python's GIL.
class Compiling {
public:
  Compiling();
  ~Compiling();
  Compiling(const Compiling &) = delete;
  Compiling &operator=(const Compiling &) = delete;
};

/// Returns how often threads of this process have begun to compile or to tune. If two readings are equal, only launches ran between them.
uint64_t preparations();
/// Counts a tuning, which does not enter the gate.
void notePreparation();

/// Closes the gate and waits, for a limited time, for the other threads inside it. This thread may still compile.
void closeCompileGate(std::chrono::seconds timeout);
void openCompileGate();
/// Opens the gate in a child process, where at most this thread is inside it.
void resetCompileGate();
/// True if this thread has closed the gate.
bool hasClosedCompileGate();

} // namespace tilewright
