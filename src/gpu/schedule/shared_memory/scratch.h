// Which operations on tiles pass through shared memory on their way from thread to thread, and how much of it each needs while it runs:
//     %y = ttg.convert_layout %x : tensor<64x64xf16, #a> -> tensor<64x64xf16, #b>      8192 bytes, or none if a shuffle does
// Everything follows from the operation's types, so that memory can be reserved
// before anything is lowered, and the lowering gets what was reserved.
#pragma once

#include "gpu/layout/layout.h"
#include "gpu/ttg/ttg.h"

namespace mlir {
class Operation;
class Type;
} // namespace mlir
namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// How a conversion is done.
struct ConversionPlan {
  Conversion kind = Conversion::none;
  std::optional<ShufflePlan> shuffle; // set for Conversion::shuffle
  std::optional<ScratchPlan> scratch; // set for Conversion::shared
};
/// `from` and `to` have one shape. A shuffle that would cost more than the way through shared memory is not chosen.
ConversionPlan planConversion(const Layout &from, const Layout &to, mlir::Type element, const GpuTarget &target);

/// How threads read a tile of such elements from a buffer, or write it there: as 8x8 matrices where they can, otherwise as vectors.
std::optional<MatrixPlan> matricesRead(const Layout &layout, const SharedLayout &shared, mlir::Type element);
std::optional<MatrixPlan> matricesWritten(const Layout &layout, const SharedLayout &shared, mlir::Type element, bool stmatrix);

/// The layout in which a scan works: the operand's own, or one that satisfies scanOrder.
Layout scanLayout(const Layout &layout, int64_t dim);
/// The same for a reduction and reductionPlan.
Layout reductionLayout(const Layout &layout, int64_t dim);

/// Bytes of shared memory that the operation needs while it runs; 0 for most.
int64_t scratchBytes(mlir::Operation *op);
/// The next exchange in adding the sums of the CTAs (split_k_in_cluster.h); null: none.
ttg::ReadClusterOp nextOfSum(ttg::ReadClusterOp exchange);
/// Where all CTAs must have read what an exchange has left for them: before this operation, or at the exchange if it has left much.
mlir::Operation *lastUseOfExchange(mlir::Operation *exchange);

} // namespace tilewright::gpu
