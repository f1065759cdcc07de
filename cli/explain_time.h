// The time of a kernel: its lower bound from the machine's peak, an estimate and, if it can run here, a measurement.
#pragma once

#include "cli/launch.h"
#include "ir/explanation.h"
#include "tune/predict_launch.h"

namespace tilewright {

/// A launch that the command line describes, with all choices made.
struct DescribedLaunch {
  Setup setup;
  TunedKernel::Choice choice;
  Grid grid;
};
/// From --arg and --grid. Null after an error; `status` says which.
std::optional<DescribedLaunch> readLaunch(const CommandLine &line, int &status, Diagnostics &diagnostics);

/// Fills in the times of `explanation`. `launch` null: no launch was described, but the grid may be known. `compiled`: of the request for a
/// GPU. False after an error.
bool explainTime(const CompileRequest &request, const DescribedLaunch *launch, const std::optional<Grid> &grid,
                 const ModeledVersion &compiled, Explanation &explanation, Diagnostics &diagnostics);

/// Runs the launch on the request's machine repeatedly, and adds its time. False after an error.
bool measureTime(const CompileRequest &request, DescribedLaunch &launch, Explanation &explanation, Diagnostics &diagnostics);

} // namespace tilewright
