// The mode of launches inside host code that is being verified or measured. The thread that runs such a call sets it.
#pragma once

#include "runtime/kernel.h"

#include <string>

struct TwKernel;

namespace tilewright::api {

struct Arguments;

class HostCall {
public:
  enum class Mode : uint8_t {
    plain,       // launches run normally
    counted,     // launches run normally, and their operations are counted first
    interpreted, // launches run on the interpreter
    checked      // launches run on the interpreter with all checks, up to `maxWork` elements
  };
  explicit HostCall(Mode mode);
  ~HostCall();
  HostCall(const HostCall &) = delete;
  HostCall &operator=(const HostCall &) = delete;

  /// Returns the call of this thread; null outside of any.
  static HostCall *current();
  Mode mode() const { return own; }
  /// Counts a launch.
  void count(const TwKernel &kernel, const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options);

  double operations = 0; // of all launches
  bool hasDot = false;   // at least one of them has a dot
  int64_t maxWork = 0;   // of each checked launch
  std::string fault;     // found by a checked launch

private:
  Mode own;
  HostCall *before;
};

} // namespace tilewright::api
