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
Dims mmaExtent(tt::DotOp dot);

/// Returns the value of `ttg::copiedExtentName`; empty: all.
llvm::ArrayRef<int64_t> copiedExtent(mlir::Operation *op);
/// Returns `buffer` with the same copied extent as `other`.
ttg::AllocOp copyingAsMuch(ttg::AllocOp buffer, ttg::AllocOp other);
/// The parts into which a TMA box is cut.
struct BoxParts {
  int64_t count = 1;
  size_t dim = 1;    ///< of the box, that is cut
  int64_t bytes = 0; ///< of a part
};
/// How the CTAs of a cluster share a tile's boxes, of which each copies a part to all: they alternate in whole boxes, or each brings a part
/// of every box. Null if neither is possible. Pairs also cut boxes that are not swizzled, as those of scales.
std::optional<BoxParts> partsPerBox(ttg::BufferType tile, int64_t ctas, bool paired);
/// Returns how TMA fills a buffer.
std::optional<TmaBox> copiedBox(ttg::AllocOp alloc);
int64_t copiedBytes(ttg::AllocOp alloc);
int64_t tileBytes(ttg::AllocOp alloc);

/// Returns the extent of a wgmma; empty: all.
llvm::ArrayRef<int64_t> mmaExtent(ttg::MmaAsyncOp wgmma);
/// True if a wgmma of this extent accumulates into this register of some thread.
bool isInMmaExtent(const Layout &layout, llvm::ArrayRef<int64_t> extent, int64_t reg);
/// Returns how many registers of a thread the wgmma accumulates into.
int64_t mmaRegisters(ttg::MmaAsyncOp wgmma);

/// Maps accumulators to the rows and columns that MMAs compute, if these are not all.
using Sums = llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>>;
/// Returns the entries for all such MMAs of the function and for aliases of their results: loop-carried values, branch results and waits.
Sums partialSums(mlir::Operation *function);

} // namespace tilewright::gpu
