// pad-tiles pads the operands and the result of a dot to powers of two. Nothing reads the padded rows and columns of the result:
//   %d = tt.dot %a, %b, %c {tt.valid_extent = [128, 152]} : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
// Padding costs nothing: wgmma uses N=152, and TMA copies only as much of B as the instruction reads. The rest of B's buffer is free, and
// no accumulator registers exist for padding. The padding of a tile may hold any value.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// Returns how many rows and columns of a dot's result are valid: all, unless pad-tiles has added some.
Dims validExtent(tt::DotOp dot);
/// Returns the valid extent of one CTA's slice of a tile, split along `dim` into as many slices of the shape `slice` as there are CTAs. If
/// pad-tiles has not padded `dim`, the valid extent is divided. If each CTA has `own` valid elements, that is the new extent. Otherwise all
/// elements count as valid.
Dims slicedExtent(Dims valid, const Dims &slice, int64_t dim, int64_t ctas, std::optional<int64_t> own);
/// Updates the valid extent of a dot that has become one CTA's slice.
void splitValidExtent(tt::DotOp dot, int64_t dim, int64_t ctas, std::optional<int64_t> own);
/// Returns the demanded elements of a tile by dimension: all of it, unless only dots read it.
Dims demandedExtent(mlir::Value tile);
/// Returns the rows and columns that wgmma instructions compute so that they cover the valid ones. The result must have a layout.
Dims coveringExtent(tt::DotOp dot);

} // namespace tilewright::gpu
