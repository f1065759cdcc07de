// The interpreter as the command line uses it: to the end, or one operation at a time.
#pragma once

#include "driver/program.h"
#include "ir/interpret/interpret.h"
#include "runtime/kernel.h"

#include <string>
#include <vector>

namespace tilewright {

struct InterpretRun {
  CompileRequest request;
  std::vector<Argument> arguments;
  Grid grid;
  bool checkBounds = false;
  bool step = false;
  int64_t stepLimit = 0; // with `step`: show this many operations without asking; 0: ask after each
};

/// Runs all programs in launch order, and prints the kernel's output. Returns the exit status.
int interpretKernel(const InterpretRun &run);

} // namespace tilewright
