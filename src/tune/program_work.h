// What the programs of a launch compute and move, counted in their simplified tt IR without running them:
//
//     for k in range(0, K, 64):             K = 4096: 64 iterations
//         a = tl.load(a_ptrs)               64 x 128x64 f16: 1 MiB
//         acc = tl.dot(a, b, acc)           64 x 2*128*128*64 operations of float16
//
// Loops whose lengths follow from integer arguments and the program's number are counted completely, others once.
// Programs differ (a causal loop is longer in later ones), so a few of them are counted, and the mean is used.
#pragma once

#include "ir/explanation.h"
#include "runtime/kernel.h"

#include <map>
#include <optional>

namespace tilewright {

/// What the operations of one line do.
struct LineWork {
  double arithmetic = 0, functions = 0, products = 0, bytes = 0;
};

/// What one program does, masked-off elements included.
struct ProgramWork {
  double arithmetic = 0;   // operations on floats but for products (ir/work.h)
  double functions = 0;    // those of them that are exponentials, logarithms and the like
  double products = 0;     // operations of products
  double bytes = 0;        // loaded and stored
  double tileBytes = 0;    // of the largest set of tiles that one loop loads in an iteration
  double sumBytes = 0;     // of the largest result of a product
  double sumTraffic = 0;   // bytes of results that products add to, read and written each time
  double iterations = 0;   // of all loops
  bool isExact = true;     // how often each loop runs is known
  bool splitsSums = false; // on a GPU, the blocks of a program (num_ctas) multiply a part of K each, and add up

  std::map<std::string, double> dotOperations; // by the type of their operands, in the words of tune/peaks.h: "float16"
  std::map<SourceLine, LineWork> lines;
};

/// For what this request compiles to. `arguments`: those of a launch, one for each parameter; empty:
/// they are unknown. Without a grid: for program 0. Null, after an error, where it does not compile.
std::optional<ProgramWork> workOfRequest(const CompileRequest &request, llvm::ArrayRef<Argument> arguments, const std::optional<Grid> &grid,
                                         Diagnostics &diagnostics);

/// For a launch with these arguments, all of them bound. Null, after an error, where it does not compile.
std::optional<ProgramWork> workOfLaunch(const std::shared_ptr<const JitFunction> &kernel, llvm::ArrayRef<Argument> arguments,
                                        const LaunchOptions &options, const Grid &grid, Diagnostics &diagnostics);

} // namespace tilewright
