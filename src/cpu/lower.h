// Lowers tt to loops of vectors for a CPU.
//
// A tile is an index space, not a vector. A tile that can be computed from its indices is never stored: each consumer computes it inside
// its own loop, one machine vector at a time. Only roots have loop nests: stores, dots, reductions, scans, carried tiles, and tiles that
// are expensive and needed more than once. The latter live in a scratch arena. So the code size does not depend on the block size.
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
  int64_t arenaBytes = 0; // scratch bytes of one worker
  Atomics atomics = Atomics::none;
  std::vector<SlotKind> slots;                          // of each argument
  std::vector<LaunchGuard> guards;                      // assumptions of the code about a launch
  std::function<void(const Explanation &)> onExplained; // set by the caller: receives the decisions
  bool namesVariables = false;                          // set by the caller: emit the kernel's variables for debuggers
};

/// Replaces the kernel (the module's one public tt.func) by `entry(args, grid, first, last, arena)` and the function of one program: an
/// llvm.func with scf, arith and llvm inside. Calls are inlined, block pointers expanded and carried pointers scalarized beforehand. Emits
/// an error on an operation that the back end does not support. May assume any launch guard except the failed ones.
llvm::LogicalResult lowerToLoops(mlir::ModuleOp module, const CpuTarget &target, bool fpFusion,
                                 llvm::ArrayRef<std::string> failedGuardNames, LoopsInfo &info);

} // namespace tilewright
