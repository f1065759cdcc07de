// Explains the compilation of a kernel to its author: the layout of each tile, the memory accesses, the instructions of dots, the schedules
// of loops, and why nothing better was possible. The table of steps (driver/steps.cpp) names the function that sees the module after a
// step. Remarks are recorded as they appear, because later steps lose their operations.
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
  /// Records the strides of accesses, while the addresses have no layouts yet.
  void seeAddresses(mlir::ModuleOp module);
  /// Records the tiles and their layouts, the width of accesses, the instruction of each dot.
  void seeTiles(mlir::ModuleOp module);
  /// Records the loads that became copies, circular buffers, buffers, conversions.
  void seeBuffers(mlir::ModuleOp module);
  /// Records the warps of the partitions, and the remarks that no other finding has.
  void seePartitions(mlir::ModuleOp module);
  Explanation explanation(const GpuArtifact &artifact) const;
  /// Returns larger pictures of the layout with this name ("L3"), or of the layouts of a line number. Null if there is none.
  std::optional<std::string> layouts(llvm::StringRef wanted) const;

  struct Impl;

private:
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright::gpu
