// Ends compilations and launches early: a caller cancels them, their time is over, or an untrusted kernel exceeds a limit.
//
// The entry point makes a WorkControl and opens a scope for it on its thread. The evaluator, the driver (between two steps), the tuner and
// the workers of a launch (between two programs) ask it. It remembers the first reason, so the entry point can tell it from other errors.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tilewright {

/// Limits for the text of a kernel. 0: the default of the compiler, or no limit.
struct WorkLimits {
  int64_t textBytes = 0;      // of the text
  int64_t evaluatorSteps = 0; // of one evaluation at compile time; default 4,000,000
  int64_t evaluatorBytes = 0; // allocated by one evaluation; default 256 MiB
  int64_t tileElements = 0;   // of one tile
  int64_t operations = 0;     // of the IR after a step
  int64_t memoryBytes = 0;    // growth of the process during one compilation, measured between two steps
  double compileSeconds = 0;  // of one compilation, measured between two steps
  bool deniesFiles = false;   // imports find no files, and the environment is hidden
};

class WorkControl {
public:
  using Clock = std::chrono::steady_clock;
  enum class Ended : uint8_t { no, canceled, deadline, limit };

  WorkLimits limits;
  std::array<const std::atomic<bool> *, 2> cancels{}; // set to true by other threads; null: nothing cancels
  std::optional<Clock::time_point> deadline;

  WorkControl() = default;
  WorkControl(const WorkControl &) = delete;
  WorkControl &operator=(const WorkControl &) = delete;

  /// True unless the work is canceled or its time is over. Any thread may call it.
  bool mayContinue() const;
  /// Records that a limit is exceeded.
  void exceed() const { end(Ended::limit); }
  Ended ended() const { return reason.load(std::memory_order_relaxed); }
  /// Returns why the work ended: "it was canceled", "its time is over".
  std::string describe() const;

private:
  void end(Ended why) const;
  mutable std::atomic<Ended> reason{Ended::no};
};

/// The control of this thread's work; null: nothing ends it.
const WorkControl *currentControl();

/// Makes a control that of this thread. Null keeps the current one.
class ControlScope {
public:
  explicit ControlScope(const WorkControl *control);
  ~ControlScope();
  ControlScope(const ControlScope &) = delete;
  ControlScope &operator=(const ControlScope &) = delete;

private:
  const WorkControl *before;
};

/// Returns the bytes of memory that this process uses; 0 if it is not known.
int64_t residentBytes();

} // namespace tilewright
