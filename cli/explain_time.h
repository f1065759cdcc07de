// How long a kernel takes: at least, given what a machine can do; by estimate; and, where it can run, as measured.
#pragma once

#include "cli/launch.h"
#include "ir/explanation.h"

namespace tilewright {

/// A launch that the command line describes, with all choices made.
struct DescribedLaunch {
  Setup setup;
  TunedKernel::Choice choice;
  Grid grid;
};
/// From --arg and --grid. Null after an error; `status` says which.
std::optional<DescribedLaunch> readLaunch(const CommandLine &line, int &status, Diagnostics &diagnostics);

/// Fills in the times of `explanation`. `launch` null: no launch was described, but the grid may be known. False after an error.
bool explainTime(const CompileRequest &request, const DescribedLaunch *launch, const std::optional<Grid> &grid, Explanation &explanation,
                 Diagnostics &diagnostics);

/// Runs the launch on the request's machine, again and again, and adds the time that it takes. False after an error.
bool measureTime(const CompileRequest &request, DescribedLaunch &launch, Explanation &explanation, Diagnostics &diagnostics);

} // namespace tilewright
