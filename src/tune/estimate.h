// A guess at how long a launch takes, without running it: what a program computes and moves, by the tt IR of its configuration, against
// what a machine can do. It knows nothing of layouts, latencies or instructions, so it is good for an order (what to measure first, what to
// take where nothing is measured), and not for a time.
//
//   products 1024 x 1024 x 1024 of fp16, 132 multiprocessors
//   BLOCK 128 x 128: 64 programs, half of the machine idle          256 x 64, 128 x 64, ...: all of it busy; of these the one with the
//   BLOCK  16 x  16: each operand is loaded 64 times                least traffic comes first
#pragma once

#include "runtime/kernel.h"

#include <optional>

namespace tilewright {

/// What one program does, masked-off elements included. Where the trips of a loop are not known, 1 is taken.
struct ProgramWork {
  double arithmetic = 0; // operations on floats but for products (ir/work.h)
  double products = 0;   // those of products
  double bytes = 0;      // loaded and stored
  double tileBytes = 0;  // of the largest set of tiles that one loop loads in an iteration
  double sumBytes = 0;   // of the largest result of a product
  double sumTraffic = 0; // bytes of results that products add to, read and written each time
  double iterations = 0; // of all loops
};

/// Of a launch with these arguments, all of them bound. Nothing, after an error, where it does not compile.
std::optional<ProgramWork> workOfLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                        const LaunchOptions &options, Diagnostics &diagnostics);

/// Seconds of a launch of so many programs; infinite where a program's tiles do not fit. `gpu` null: this processor.
double estimateSeconds(const ProgramWork &work, int64_t programs, const KernelOptions &options, const GpuTarget *gpu);

/// Both, for a launch with these arguments. Nothing, after an error, where it does not compile.
std::optional<double> estimateLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                     const LaunchOptions &options, int64_t programs, Diagnostics &diagnostics);

} // namespace tilewright
