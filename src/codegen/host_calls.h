// The functions that compiled kernels call: for lines of tl.device_print and failed tl.device_assert. Loaded code finds them by
// name. This file also knows what a thread runs: a failed assertion, a bad address and an interruption all end a launch from inside.
#pragma once

#include "support/slots.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <atomic>
#include <csetjmp>
#include <mutex>
#include <string>

namespace tilewright {

/// The launch of a compiled kernel while it runs. What it refers to outlives it.
struct RunningLaunch {
  llvm::StringRef kernel; // ends with a NUL byte, because signal handlers read it
  uintptr_t codeBegin = 0, codeEnd = 0;
  llvm::ArrayRef<uint64_t> slots;
  llvm::ArrayRef<SlotKind> kinds;
  llvm::ArrayRef<std::string> names;       // of the slots, "x_ptr=*fp32"; may be empty
  const std::atomic<bool> *stop = nullptr; // set to true by another thread: the launch must end

  std::atomic<bool> interrupted{false}; // the launch was ended for that reason
  std::mutex lock;
  bool failed = false; // under `lock` while programs run
  std::string text;    // as the interpreter says it: PLACE: program (X, Y, Z): device-side assertion failed at element (I): MESSAGE

  bool isStopped() const { return stop && stop->load(std::memory_order_relaxed); }
};

/// Calls `run(data)` on this thread as a part of `launch`. A failed assertion or an interruption
/// ends the call at once; programs own nothing that would have to be cleaned up. Returns false then.
bool runGuarded(RunningLaunch &launch, void (*run)(void *data), void *data);

/// The launch whose programs this thread is running, or null. Signal handlers may ask, too.
RunningLaunch *runningLaunch();
/// For a signal handler that interrupted this thread at `counter`: ends the call of runGuarded if its launch is to stop and the thread
/// is in the kernel's own code. In code that the kernel calls it returns: locks may be held there.
void leaveIfStopped(uintptr_t counter);

/// The address of the function that compiled code calls by that name (cpu/lower.h has the contract), or null.
void *hostCall(llvm::StringRef name);

} // namespace tilewright
