// How long a kernel takes: at least, by what a machine can do; by estimate; and, where it may run, as measured.
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
/// By --arg and --grid. Nothing after an error; `status` says which.
std::optional<DescribedLaunch> readLaunch(const CommandLine &line, int &status, Diagnostics &diagnostics);

/// Fills what `explanation` says of time. `launch` null: nobody has described one, but the grid may be known. False after an error.
bool explainTime(const CompileRequest &request, const DescribedLaunch *launch, const std::optional<Grid> &grid, Explanation &explanation,
                 Diagnostics &diagnostics);

/// Runs the launch on the request's machine, again and again, and adds the time that it takes. False after an error.
bool measureTime(const CompileRequest &request, DescribedLaunch &launch, Explanation &explanation, Diagnostics &diagnostics);

} // namespace tilewright
