// Which programs of the grid an SM gets, and how many operations these have.
#include "gpu/sm_model/sm.h"

#include "support/gpu_hardware.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace tilewright::gpu::model {

/// Returns the program of this SM's CTA with this number. An SM gets CTAs from all parts of the grid, in order.
int64_t Sm::programOf(int64_t cta) const {
  int64_t programs = launch.programs(), stride = std::max<int64_t>(programs / std::max<int64_t>(wanted, 1), 1);
  constexpr double goldenRatio = 0.6180339887;
  double fraction = static_cast<double>(cta) * goldenRatio;
  auto within = static_cast<int64_t>((fraction - std::floor(fraction)) * static_cast<double>(stride));
  return std::min(cta * stride + within, programs - 1);
}

/// Describes a warp of the first CTA of a program's cluster.
Place Sm::placeOf(int64_t program, int64_t warp) const {
  auto [x, y, z] = launch.grid;
  Place place{launch.arguments, {program % x * cluster, program / x % y, program / x / y}, launch.grid, warp};
  place.grid[0] *= cluster;
  return place;
}

//===--------------------------------------------------------------------------------------------------------- launch control

/// A CTA takes the next program of this SM, which then starts no CTA for it.
void Sm::takeProgram(Step &step) {
  auto request = cast<ptx::ClcTryCancelOp>(step.node.op);
  Integer address = step.warp.lanesWhere(request.getPredicate()) ? step.warp.inLane(request.getResponse(), 0) : std::nullopt;
  if (!address) return;
  ctaOf(step.index).responses[*address] = started < wanted ? std::optional(programOf(started++)) : std::nullopt;
  arrive(mbarrierAt(step, request.getBarrier(), Value()), 0, -clcResponseBytes, step.time + clcLatency);
}

void Sm::readResponse(Step &step) {
  Integer address = step.warp.inLane(cast<ptx::ClcQueryOp>(step.node.op).getResponse(), 0);
  std::optional<int64_t> program = address ? ctaOf(step.index).responses[*address] : std::nullopt;
  std::array<int64_t, 3> block = placeOf(program.value_or(0), 0).block;
  step.warp.setInteger(step.node.results[0], program.has_value());
  for (size_t axis = 0; axis < block.size(); ++axis)
    step.warp.setInteger(step.node.results[axis + 1], block[axis]);
}

//===---------------------------------------------------------------------------------------------------------------- counting

constexpr int64_t maxSamples = 64, maxProgramsOfAxis = 512; ///< whose operations are counted

double Sm::stepsOf(int64_t program) const {
  constexpr int64_t maxCounted = 50'000'000; // of all warps of all these programs
  int64_t programs = std::min(wanted, maxSamples) + std::min(launch.grid[0], maxProgramsOfAxis);
  double steps = 0;
  for (int64_t warp = 0; warp < warpsOfCta; ++warp)
    steps += Warp(code, placeOf(program, warp)).countSteps(maxCounted / (warpsOfCta * programs));
  return steps;
}

double Sm::totalSteps(int64_t count) const {
  int64_t samples = std::min(count, maxSamples);
  double steps = 0;
  for (int64_t sample = 0; sample < samples; ++sample)
    steps += stepsOf(programOf(samples == 1 ? 0 : sample * (count - 1) / (samples - 1)));
  return steps / static_cast<double>(samples) * static_cast<double>(count);
}

/// Returns the operations of the SM with the most of them: each CTA goes to the SM that is free first. Programs of one position along the
/// first axis count as alike.
double Sm::stepsOfBusiestSm() const {
  constexpr int64_t maxPrograms = 65536;
  int64_t programs = launch.programs();
  if (programs > maxPrograms) return 0;
  std::vector<double> steps(static_cast<size_t>(std::min(launch.grid[0], maxProgramsOfAxis)));
  for (auto [index, count] : llvm::enumerate(steps))
    count = stepsOf(static_cast<int64_t>(index) * launch.grid[0] / static_cast<int64_t>(steps.size()));
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int64_t sm = 0; sm < std::max<int64_t>(rates.sms / cluster, 1); ++sm)
    free.push(0);
  double most = 0;
  for (int64_t program = 0; program < programs; ++program) {
    auto x = static_cast<size_t>(program % launch.grid[0] * static_cast<int64_t>(steps.size()) / launch.grid[0]);
    double done = free.top() + steps[x];
    free.pop();
    free.push(done);
    most = std::max(most, done);
  }
  return most;
}

Steps Sm::countSteps(int64_t count) {
  wanted = count;
  return {totalSteps(count), stepsOfBusiestSm()};
}

} // namespace tilewright::gpu::model
