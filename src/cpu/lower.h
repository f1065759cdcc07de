// tt -> loops of vectors for a CPU.
//
// A tile is an index space, not a vector. A tile that can be computed from its indices is never stored: whoever consumes it computes it
// inside its own loop, one machine vector at a time. Loops come only from roots: stores, dots, reductions, scans, carried tiles, and
// tiles that are expensive and wanted more than once; those live in a scratch arena. Code size therefore does not follow the block size.
#pragma once

#include "ir/explanation.h"
#include "support/arena.h"
#include "support/launch_facts.h"
#include "support/slots.h"
#include "support/target.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace tilewright {

struct LoopsInfo {
  std::string entry;      // symbol of the function of type KernelEntry
  int64_t arenaBytes = 0; // scratch of one worker
  Atomics atomics = Atomics::none;
  std::vector<SlotKind> slots;                          // of each argument
  std::vector<LaunchFact> facts;                        // what the code takes for granted about a launch
  std::function<void(const Explanation &)> onExplained; // set by the caller: told what was decided
  bool namesVariables = false;                          // likewise: debuggers are to find the kernel's variables
};

/// Replaces the kernel (the module's one public tt.func; calls inlined, block pointers expanded, carried pointers scalarised) by
/// `entry(args, grid, first, last, arena)` and the function of one program: llvm.func with scf, arith and llvm inside.
/// What the back end lacks is refused with an error on the op. Of facts about launches it may rely on all but those that are refuted.
llvm::LogicalResult lowerToLoops(mlir::ModuleOp module, const CpuTarget &target, bool fpFusion, llvm::ArrayRef<std::string> refutedFacts,
                                 LoopsInfo &info);

} // namespace tilewright
