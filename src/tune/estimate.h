// A guess at how long a launch takes, without running it: what a program computes and moves, from the tt IR of its configuration,
// compared with what a machine can do. It ignores layouts, latencies and instructions, so it is good enough for an order (what to
// measure first, what to take if nothing is measured). As a time (predictSeconds, for `tilewright explain`) it is rough: it leaves out
// bank conflicts, caches that programs share, waiting inside a program, and clocks that are lower than during the roof's measurement.
//
//   products 1024 x 1024 x 1024 of fp16, 132 multiprocessors
//   BLOCK 128 x 128: 64 programs, half of the machine idle          256 x 64, 128 x 64, ...: all of it busy; of these the one with the
//   BLOCK  16 x  16: each operand is loaded 64 times                least traffic comes first
#pragma once

#include "tune/peaks.h"
#include "tune/program_work.h"

namespace tilewright {

/// Seconds of a launch of so many programs; infinite where a program's tiles do not fit. `gpu` null: this processor.
double estimateSeconds(ProgramWork work, int64_t programs, const KernelOptions &options, const GpuTarget *gpu);

/// Seconds of a launch on a machine that was measured, or that a data sheet describes. `memoryBytes`:
/// what all programs together read from memory and write to it. `gpu` null: a processor.
double predictSeconds(ProgramWork work, int64_t programs, double memoryBytes, const Peaks &peaks, const GpuTarget *gpu);

/// The work and its estimate, for a launch with these arguments. Nothing, after an error, where it does not compile.
std::optional<double> estimateLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                     const LaunchOptions &options, const Grid &grid, Diagnostics &diagnostics);

} // namespace tilewright
