// Blocks that split a product's columns where pad-tiles has added some: each has as many of the real ones as the others. Its slice begins
// where the one before ends, and reaches into the next one, whose columns it computes and does not store:
//   before: %i = tt.make_range {0, 512, tt.valid_extent = 352}              after: %i = tt.make_range {0, 256} + rank * 176
//           tt.dot ... {tt.valid_extent = [192, 352]}                              tt.dot ... {tt.valid_extent = [192, 176]}
//           tt.store %p, %x, %i < 352                                      tt.store %p, %x, make_range {0, 256} < 176
// Of halves of the larger tile the first block would have 256 columns and the second one 96.
#pragma once

#include "gpu/tiles/ttg.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::gpu {

/// Wherever a tile is split along a dimension of so many elements, each of so many slices has some of its own, which come first.
struct UnevenSplit {
  int64_t extent, own, blocks;
};

/// How the blocks of a program share the columns of its products, if they do: where a product's rows are no whole ones of all of a block's
/// warpgroups, all products agree, and no element of a slice is compared with others, or goes where its place counts.
std::optional<UnevenSplit> unevenSplitOf(tt::FuncOp function, int64_t warps, int64_t blocks);

/// Whether a range that is split may be one of these columns': where a tile has as many rows, those have a range of the same extent.
bool isOfColumns(tt::MakeRangeOp range, const UnevenSplit &overlap);

/// Whether a comparison says which elements of a tile along `dim` are real. That of a slice says which are its own.
bool statesValidExtent(mlir::Operation *op, int64_t dim, const UnevenSplit &overlap);
/// Which elements of a slice of this shape along `dim` are its own.
mlir::Value ownedElements(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<int64_t> shape, int64_t dim, const UnevenSplit &overlap);
/// A store of a slice leaves out what is the next one's, if its mask does not do so anyway.
void storeOwn(mlir::ImplicitLocOpBuilder &b, tt::StoreOp store, int64_t dim, const UnevenSplit &overlap);
/// A range is that of a slice from now on.
void dropValidExtent(tt::MakeRangeOp range);

} // namespace tilewright::gpu
