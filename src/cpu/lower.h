// tt -> loops of vectors for a CPU.
//
// A tile is an index space, not a vector. A tile that can be computed from its indices is never stored: each consumer computes it inside
// its own loop, one machine vector at a time. Only roots make loops: stores, dots, reductions, scans, carried tiles, and tiles that are
// expensive and needed more than once, which live in a scratch arena. So the size of the code does not depend on the block size.
#pragma once

#include "ir/explanation.h"
#include "support/arena.h"
#include "support/launch_guards.h"
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
  std::vector<LaunchGuard> facts;                        // what the code assumes about a launch
  std::function<void(const Explanation &)> onExplained; // set by the caller: receives what was decided
  bool namesVariables = false;                          // set by the caller: debuggers should find the kernel's variables
};

/// Replaces the kernel (the module's one public tt.func; calls inlined, block pointers expanded, carried pointers scalarised) by
/// `entry(args, grid, first, last, arena)` and the function of one program: llvm.func with scf, arith and llvm inside.
/// What the back end lacks is refused with an error on the op. It may rely on all facts about launches except the refuted ones.
llvm::LogicalResult lowerToLoops(mlir::ModuleOp module, const CpuTarget &target, bool fpFusion, llvm::ArrayRef<std::string> failedGuardsOf,
                                 LoopsInfo &info);

} // namespace tilewright
