// How far a load moves from one iteration to the next.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// Returns how many bytes the load's bytes move in every iteration, if an aligned word holds those of several whole iterations; nothing if
/// it does not.
std::optional<int64_t> bytesOfIteration(tt::LoadOp load, mlir::scf::ForOp loop);

} // namespace tilewright::gpu
