// Counts the operations and the memory traffic of a launch's programs in their simplified tt IR, without running them:
//
//     for k in range(0, K, 64):             K = 4096: 64 iterations
//         a = tl.load(a_ptrs)               64 x 128x64 f16: 1 MiB
//         acc = tl.dot(a, b, acc)           64 x 2*128*128*64 operations of float16
//
// A loop whose length depends only on integer arguments and the program ID is counted completely, any other loop once. Programs differ (a
// causal loop is longer in later ones), so the mean of a few programs is used.
#pragma once

#include "ir/explanation.h"
#include "runtime/kernel.h"

#include <map>
#include <optional>

namespace tilewright {

/// The operations of one line.
struct LineWork {
  double arithmetic = 0, functions = 0, dots = 0, bytes = 0;
};

/// The work of one program, masked-off elements included.
struct ProgramWork {
  double arithmetic = 0;   // operations on floats outside of dots (ir/work.h)
  double functions = 0;    // exponentials, logarithms and similar, also counted in `arithmetic`
  double dots = 0;         // operations of dots
  double bytes = 0;        // loaded and stored
  double tileBytes = 0;    // of the largest set of tiles that one loop loads in an iteration
  double sumBytes = 0;     // of the largest result of a dot
  double sumTraffic = 0;   // bytes of results to which dots add, for each read and write
  double iterations = 0;   // of all loops
  bool isExact = true;     // the trip count of each loop is known
  bool splitsSums = false; // on a GPU, the CTAs of the cluster (num_ctas) each multiply a part of K and add the results (split-K)

  std::map<std::string, double> dotOperations; // by the type of their operands, named as in tune/peaks.h: "float16"
  std::map<SourceLine, LineWork> lines;
};

/// Counts the work of a compile request. `arguments`: those of a launch, one for each parameter; empty: unknown. Without a grid: for
/// program 0. Null, after an error, if it does not compile.
std::optional<ProgramWork> workOfRequest(const CompileRequest &request, llvm::ArrayRef<Argument> arguments, const std::optional<Grid> &grid,
                                         Diagnostics &diagnostics);

/// Counts the work of a launch with these bound arguments. Null, after an error, if it does not compile.
std::optional<ProgramWork> workOfLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                        const LaunchOptions &options, const Grid &grid, Diagnostics &diagnostics);

} // namespace tilewright
