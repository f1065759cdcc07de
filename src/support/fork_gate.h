// What fork() waits for.
//
// A child has a copy of every lock, and none of the threads that hold them. So work that takes locks of the compiler's is counted while it
// runs, and a process that wants to fork closes a gate, behind which no such work begins, and waits until what has begun is done.
#pragma once

#include <chrono>
#include <cstdint>

namespace tilewright {

/// As long as this lives, this thread compiles, or runs a kernel on the interpreter or the simulator. Waits while the gate is closed.
/// It may be nested. The caller holds no lock that the thread which forks may hold: Python's GIL, above all.
class Compiling {
public:
  Compiling();
  ~Compiling();
  Compiling(const Compiling &) = delete;
  Compiling &operator=(const Compiling &) = delete;
};

/// How often threads of this process have begun to compile or to tune: between two readings that agree, launches only ran.
uint64_t preparations();
/// Counts what is not behind the gate: a tuning.
void notePreparation();

/// Closes the gate and waits for the threads behind it, this one left out, for a limited time. This thread may still compile.
void closeCompileGate(std::chrono::seconds most);
void openCompileGate();
/// In a child: the gate is open, and nobody is behind it but perhaps this thread.
void resetCompileGate();
/// Whether this thread has closed the gate.
bool hasClosedCompileGate();

} // namespace tilewright
