// The GPU that a kernel is compiled for.
#pragma once

#include "support/target.h"

#include <optional>

namespace mlir {
class Operation;
}

namespace tilewright::ttg {

/// Returns the target of a kernel, or of the kernel around an operation. Null without a config, or if its target is unknown.
std::optional<GpuTarget> targetOf(mlir::Operation *op);

} // namespace tilewright::ttg
