// The functions that compiled kernels call: for lines of tl.device_print and failed tl.device_assert. Loaded code finds them by name.
// This file also tracks the launch that a thread runs: a failed assertion, a bad address or an interruption ends a launch from inside.
#pragma once

#include "support/slots.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <atomic>
#include <csetjmp>
#include <mutex>
#include <string>

namespace tilewright {

/// The launch of a compiled kernel while it runs. The objects that it refers to must outlive it.
struct RunningLaunch {
  llvm::StringRef kernel; // ends with a NUL byte, because signal handlers read it
  uintptr_t codeBegin = 0, codeEnd = 0;
  llvm::ArrayRef<uint64_t> slots;
  llvm::ArrayRef<SlotKind> kinds;
  llvm::ArrayRef<std::string> names;       // of the slots, "x_ptr=*fp32"; may be empty
  const std::atomic<bool> *stop = nullptr; // set to true by another thread to end the launch

  std::atomic<bool> interrupted{false}; // the launch was ended because of `stop`
  std::mutex lock;
  bool failed = false; // guarded by `lock` while programs run
  std::string text;    // in the interpreter's form: PLACE: program (X, Y, Z): device-side assertion failed at element (I): MESSAGE

  bool isStopped() const { return stop && stop->load(std::memory_order_relaxed); }
};

/// Calls `run(data)` on this thread as a part of `launch`. Returns false if a failed assertion or an interruption ended the call;
/// programs own no resources that need cleaning up.
bool runGuarded(RunningLaunch &launch, void (*run)(void *data), void *data);

/// The launch whose programs this thread is running, or null. May be called from signal handlers.
RunningLaunch *runningLaunch();
/// Called from a signal handler that interrupted this thread at `counter`. If the launch is to stop and the thread is in the kernel's own
/// code, ends the call of runGuarded. Returns in code that the kernel calls, which may hold locks.
void leaveIfStopped(uintptr_t counter);

/// The address of the function that compiled code calls by that name (cpu/lower.h has the contract), or null.
void *hostCall(llvm::StringRef name);

} // namespace tilewright
