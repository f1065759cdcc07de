// Estimates the time of a launch without running it: from the work and traffic of a program, counted in the tt IR of its configuration, and
// the machine's peaks. It ignores layouts, latencies and instructions. It is good enough to order configurations (which to measure first,
// which to use if nothing is measured). As a time (predictSeconds, for `tilewright explain`) it is rough: it ignores bank conflicts, caches
// that programs share, stalls inside a program, and clocks that are lower than when the peaks were measured.
//
//   matmul 1024 x 1024 x 1024 of fp16, 132 SMs
//   BLOCK 128 x 128: 64 programs, half of the machine idle          256 x 64, 128 x 64, ...: the whole machine busy; the one with the
//   BLOCK  16 x  16: each operand is loaded 64 times                sorted by traffic
#pragma once

#include "tune/peaks.h"
#include "tune/program_work.h"

namespace tilewright {

/// Returns the seconds of a launch of so many programs; infinite if a program's tiles do not fit. `gpu` null: this CPU.
double estimateSeconds(ProgramWork work, int64_t programs, const KernelOptions &options, const GpuTarget *gpu);

/// Returns the seconds of a launch on a machine with measured peaks, or peaks from a data sheet. `memoryBytes`: the bytes that all programs
/// together read from memory and write to it. `gpu` null: a CPU.
double predictSeconds(ProgramWork work, int64_t programs, double memoryBytes, const Peaks &peaks, const GpuTarget *gpu);

/// Returns the work of a launch with these arguments, and its estimate. Nothing, after an error, if it does not compile.
std::optional<double> estimateLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                     const LaunchOptions &options, const Grid &grid, Diagnostics &diagnostics);

} // namespace tilewright
