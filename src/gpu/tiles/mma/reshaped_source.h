// Tiles that differ from another tile only in the numbers of their elements: a chain of reshapes, transpositions and bitcasts. Where such a
// tile goes to shared memory, the buffer can have the layout that its reader wants, in terms of the first tile of the chain. So the chain
// costs nothing, and copies fill the buffer directly. Example, scales in memory in the order in which tcgen05.cp reads them:
//   %x = tt.load : 2x4x32x4x4     %y = tt.trans %x {0, 3, 2, 1, 4} : 2x4x32x4x4     %z = tt.reshape %y : 256x16
//   SharedLayout::scales of 256x16, in terms of %x: row-major
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

struct ReshapedSource {
  mlir::Value tile;
  LinearMap toTile; ///< flat index of an element of the last tile of the chain -> flat index of the same element of `tile`

  /// Returns the layout of a buffer of `tile` in which the last tile of the chain has the layout `wanted`.
  SharedLayout layout(const SharedLayout &wanted) const;
};

/// True if the operation's result has the elements of its operand, with other numbers, in another layout, or as another type of their size.
bool onlyRenumbers(mlir::Operation *op);
/// Returns the tile at the start of the chain that ends with `tile`.
ReshapedSource reshapedSourceOf(mlir::Value tile);

} // namespace tilewright::gpu
