// Of a product that pad-tiles has made larger, nobody looks at the rows and columns that it has added:
//   %d = tt.dot %a, %b, %c {tt.valid_extent = [128, 152]} : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
// So wgmma multiplies by 152 columns in place of 256, B is copied as far as its instruction reads, the space behind that in shared memory
// is free, and no thread has registers for the sums of what is not multiplied. What lies beyond in a tile may be anything there.
#pragma once

#include "gpu/tiles/ttg.h"

namespace tilewright::gpu {

/// Of a ttg.descriptor_load, and of the ttg.alloc that it fills (integers): how much of each dimension is copied. Of what is behind that
/// there is nothing in shared memory.
constexpr llvm::StringLiteral copiedExtentName = "ttg.copied_extent";
/// Of a ttg.wgmma (two integers): how many rows and columns it multiplies. The others of its result are those of c.
constexpr llvm::StringLiteral mmaExtentName = "ttg.mma_extent";

/// How many rows and columns of a product's result are real: all, unless pad-tiles has added some.
Dims validExtent(tt::DotOp dot);
/// A product has become that of one of several blocks, which share its dimension `dim`: real is what is real in each of them, where they
/// share what pad-tiles has not made larger or each has `own` of what is real, and else all of it.
void splitValidExtent(tt::DotOp dot, int64_t dim, int64_t blocks, std::optional<int64_t> own);
/// How much of a tile is looked at, by dimension: all of it, unless products alone read it.
Dims demandedExtent(mlir::Value tile);
/// How many rows and columns the instructions of warpgroups multiply, so that the real ones are among them. The result has a layout.
Dims mmaExtent(tt::DotOp dot);

/// What `copiedExtentName` says; none: all.
llvm::ArrayRef<int64_t> copiedExtent(mlir::Operation *op);
/// `buffer`, which is filled with as much as `other`.
ttg::AllocOp copyingAsMuch(ttg::AllocOp buffer, ttg::AllocOp other);
/// How the copy engine fills a buffer; bytes of a tile that it brings, and from one tile to the next.
std::optional<TmaBox> copiedBox(ttg::AllocOp alloc);
int64_t copiedBytes(ttg::AllocOp alloc);
int64_t tileBytes(ttg::AllocOp alloc);

/// What `mmaExtentName` says; none: all.
llvm::ArrayRef<int64_t> mmaExtent(ttg::WgmmaOp product);
/// Whether a product by warpgroups that multiplies so many rows and columns adds to this register of some thread.
bool isInMmaExtent(const Layout &layout, llvm::ArrayRef<int64_t> extent, int64_t reg);
/// How many registers of a thread the product adds to.
int64_t mmaRegisters(ttg::WgmmaOp product);

/// How many rows and columns of tiles products add to, where that is not all.
using Sums = llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>>;
/// Of the results of such products in the function, under their names in other iterations, and behind branches and waits.
Sums partialSums(mlir::Operation *function);

} // namespace tilewright::gpu
