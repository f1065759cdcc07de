// Explains the compilation of a kernel to its author: the layout of each tile, the memory accesses, the instructions of dots, the schedules
// of loops, and why nothing better was possible. The compiler calls see() after each step. Remarks are recorded as they appear, because
// later steps lose their operations:
//     assign-layouts    tiles and their layouts, the width of accesses, the instruction of each dot
//     allocate-shared   the loads that became copies, circular buffers, buffers, conversions
//     specialize-warps  the warps of the partitions
#pragma once

#include "ir/explanation.h"
#include "support/artifact.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>

namespace mlir {
class ModuleOp;
}

namespace tilewright::gpu {

class Explainer {
public:
  Explainer();
  ~Explainer();
  /// Records the remarks of the module after the GPU step with this name.
  void see(llvm::StringRef step, mlir::ModuleOp module);
  Explanation explanation(const GpuArtifact &artifact) const;
  /// Returns larger pictures of the layout with this name ("L3"), or of the layouts of a line number. Null if there is none.
  std::optional<std::string> layouts(llvm::StringRef wanted) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright::gpu
