// What became of a kernel, for its author: where each tile lives, how memory is reached, what products and loops turned into, and why not
// something better. The compiler shows its module after each step; facts are taken down as they appear, since later steps lose them:
//     assign-layouts    tiles and their layouts, the width of accesses, which instruction each product gets
//     allocate-shared   which loads became copies, rings, buffers, conversions
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
  /// After the GPU step `step`, by its name in the pipeline.
  void see(llvm::StringRef step, mlir::ModuleOp module);
  Explanation explanation(const GpuArtifact &artifact) const;
  /// The layouts of one name ("L3"), or of a line by its number, in larger pictures. Null if there is none.
  std::optional<std::string> layouts(llvm::StringRef wanted) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright::gpu
