// One specialization of a kernel on the reference interpreter or, if the request names a GPU, on the simulator.
#pragma once

#include "runtime/simulated.h"

namespace tilewright {

/// The outcome of a run that checks every access.
struct SanitizedRun {
  enum Outcome {
    good,
    bad,    // a race, a bad address, a failed assertion, a use of an undefined element
    unknown // the launch is too large, or has an operation that the interpreter does not know
  };
  Outcome outcome = good;
  std::string text; // unless good; begins with the line of the kernel
};

class InterpretedKernel {
public:
  /// Null after an error.
  static std::shared_ptr<InterpretedKernel> create(const CompileRequest &request, Diagnostics &diagnostics);
  ~InterpretedKernel();
  /// True if it may run on the memory of these arguments. False after an error.
  bool checkMemory(llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) const;
  /// Runs the grid. Returns the error as text, or an empty text.
  std::string run(const Grid &grid, llvm::ArrayRef<Argument> arguments, const SimulateLaunch &launch) const;
  /// Runs the grid on the interpreter with all checks, up to `maxWork` elements computed. Prints nothing.
  SanitizedRun sanitize(const Grid &grid, llvm::ArrayRef<Argument> arguments, int64_t maxWork) const;
  /// Returns the arithmetic of the grid's programs (ir/work.h), measured on a few of them. Those run, and their stores take effect.
  double arithmetic(const Grid &grid, llvm::ArrayRef<Argument> arguments, const std::atomic<bool> *stop) const;
  /// Returns the arguments whose memory has no known extent: accesses through these are not checked.
  std::vector<std::string> unchecked(llvm::ArrayRef<Argument> arguments) const;

private:
  InterpretedKernel();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
