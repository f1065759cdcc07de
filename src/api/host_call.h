// What the launches of host code do besides running, while it is judged or measured: a thread that is in such a call says so here.
#pragma once

#include "runtime/kernel.h"

#include <string>

struct TwKernel;

namespace tilewright::api {

struct Arguments;

class HostCall {
public:
  enum class Mode : uint8_t {
    plain,       // launches run as they always do
    counted,     // and what they compute is counted, before they run
    interpreted, // they run on the interpreter
    checked      // they run on the interpreter with all checks, up to `maxWork` elements
  };
  explicit HostCall(Mode mode);
  ~HostCall();
  HostCall(const HostCall &) = delete;
  HostCall &operator=(const HostCall &) = delete;

  /// That of this thread; null outside of any.
  static HostCall *current();
  Mode mode() const { return own; }
  /// Counts a launch.
  void count(const TwKernel &kernel, const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options);

  double operations = 0; // of all launches
  bool hasDot = false;   // one of them multiplies matrices
  int64_t maxWork = 0;   // of each checked launch
  std::string fault;     // that a checked launch has found

private:
  Mode own;
  HostCall *before;
};

} // namespace tilewright::api
