// The options of one call, in the runtime's types: limits of its kernel, cancel token, timeout, and the caller's threads and memory.
#pragma once

#include "api/handles.h"

#include "runtime/pool.h"

#include <atomic>
#include <mutex>

struct TwCancel {
  std::atomic<bool> isRequested{false};
};

namespace tilewright::api {

class Call {
public:
  /// `options` may be null. Invalid ones are errors. `extraCancel`: a second flag that cancels; may be null.
  Call(const TwKernel &kernel, const TwOptions *options, const std::atomic<bool> *extraCancel, Diagnostics &diagnostics);
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  const LaunchOptions &launch() const { return converted; }
  bool sanitizes() const { return isSanitized; }
  /// Null if nothing ends the call early.
  const WorkControl *control() const { return converted.control; }
  /// Returns the code of the failed call.
  TwErrorCode codeOf(const Diagnostics &diagnostics, const GivenGrid *grid) const;
  /// Stores the error of the failed call. `grid` may be null.
  void fail(TwError **error, const Diagnostics &diagnostics, const GivenGrid *grid) const;

private:
  void convert(const TwOptions &options, const std::atomic<bool> *extraCancel, Diagnostics &diagnostics);
  void takeExecutor(const TwExecutor &given, Diagnostics &diagnostics);
  void takeAllocator(const TwAllocator &given, Diagnostics &diagnostics);
  void *allocate(int64_t bytes, int64_t alignment);
  void noteProblem(std::string text);

  LaunchOptions converted;
  bool isSanitized = false;
  WorkControl work;
  TwExecutor givenExecutor; // these two are set if `converted` refers to them
  TwAllocator givenAllocator;
  Executor executor;
  ScratchAllocator allocator;
  std::atomic<bool> callerFailed{false}; // the executor or the allocator failed or threw
  mutable std::mutex problemLock;        // of the next one: threads that run programs allocate memory
  std::string callerProblem;             // what the allocator did wrong
};

/// Reads the limits for a module; null: there are none. Invalid ones are errors.
WorkLimits limitsOf(const TwLimits *given, Diagnostics &diagnostics);

} // namespace tilewright::api
