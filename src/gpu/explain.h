// What became of a kernel, for its author: where each tile lives, how memory is reached, what products and loops turned into, and why not
// something better. The compiler shows its module after each step; facts are taken down as they appear, since later steps lose them:
//     assign-layouts    tiles and their layouts, the width of accesses, which instruction each product gets
//     allocate-shared   which loads became copies, rings, buffers, conversions
#pragma once

#include "gpu/layout/layout.h"
#include "support/artifact.h"

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir {
class ModuleOp;
}

namespace tilewright::gpu {

struct ExplainOptions {
  std::string layout; ///< "L3", or the number of a line: only its layouts, in larger pictures. Empty: all there is to say
};

class Explainer {
public:
  Explainer();
  ~Explainer();
  /// After the GPU step `step`, by its name in the pipeline.
  void see(llvm::StringRef step, mlir::ModuleOp module);
  /// Nothing if no layout is what the options ask for.
  std::optional<std::string> text(const GpuArtifact &artifact, const ExplainOptions &options) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright::gpu
