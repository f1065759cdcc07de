// What compiled kernels call back for: lines of tl.device_print and failed tl.device_assert. Loaded code finds these functions by name.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <csetjmp>
#include <functional>
#include <mutex>
#include <string>

namespace tilewright {

/// Where lines of tl.device_print go, line break included; they come one at a time, from any thread. Null: the standard output.
void setPrintSink(std::function<void(llvm::StringRef line)> sink);

/// The first failed assertion of one launch.
struct LaunchFailure {
  std::mutex lock;
  bool failed = false; // under `lock` while programs run
  std::string text;    // as the interpreter says it: PLACE: program (X, Y, Z): assertion failed at element (I): MESSAGE
};

/// Calls `run(data)` on this thread with `failure` to report to. A failed assertion ends the call at once; programs keep nothing that
/// would have to be cleaned up. Returns false then.
bool runGuarded(LaunchFailure &failure, void (*run)(void *data), void *data);

/// The address of the function that compiled code calls by that name (the contract is in cpu/lower.h), or null.
void *hostCall(llvm::StringRef name);

} // namespace tilewright
