// How much shared memory an operation needs while it runs, for what threads tell one another.
#pragma once

#include <cstdint>

namespace mlir {
class Operation;
}

namespace tilewright::gpu {

/// Bytes, from the operation's types alone; 0 for most. The operation meets a barrier before it writes there.
int64_t scratchBytes(mlir::Operation *op);

} // namespace tilewright::gpu
