// Uneven N split: CTAs split the columns of a dot that pad-tiles has padded, and each gets the same number of valid columns. A CTA's slice
// starts where the previous one ends and overlaps the next one. It computes the overlapping columns but does not store them:
//   before: %i = tt.make_range {0, 512, tt.valid_extent = 352}              after: %i = tt.make_range {0, 256} + rank * 176
//           tt.dot ... {tt.valid_extent = [192, 352]}                              tt.dot ... {tt.valid_extent = [192, 176]}
//           tt.store %p, %x, %i < 352                                      tt.store %p, %x, make_range {0, 256} < 176
// An even split of the padded tile would give the first CTA 256 columns and the second one 96.
#pragma once

#include "gpu/ttg/ttg.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::gpu {

/// The split of a dimension of `extent` elements: each of `ctas` slices owns its first `own` elements.
struct UnevenSplit {
  int64_t extent, own, ctas;
};

/// Returns how the CTAs split the columns of the kernel's dots, or null if they do not. The rows must not divide evenly among the warp
/// groups of all CTAs, and all dots must agree. No operation may compare elements of a slice or depend on their position.
std::optional<UnevenSplit> unevenSplitOf(tt::FuncOp function, int64_t warps, int64_t ctas);

/// True if a split range may index these columns. If a tile has as many rows, a range of the same extent may index those.
bool isOfColumns(tt::MakeRangeOp range, const UnevenSplit &split);

/// True if a comparison selects the valid elements of a tile along `dim`. In a slice it selects the owned ones.
bool statesValidExtent(mlir::Operation *op, int64_t dim, const UnevenSplit &split);
/// Returns a mask of the owned elements along `dim` of a slice of this shape.
mlir::Value ownedElements(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<int64_t> shape, int64_t dim, const UnevenSplit &split);
/// Masks a store of a slice so that it leaves out the next slice's elements, unless its mask does that.
void storeOwn(mlir::ImplicitLocOpBuilder &b, tt::StoreOp store, int64_t dim, const UnevenSplit &split);

} // namespace tilewright::gpu
