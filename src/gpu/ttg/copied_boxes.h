// The boxes by which TMA fills buffers. A box copies only as much of a tile as MMAs read (demanded_extent.h), and CTAs share boxes.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

/// The parts into which a TMA box is cut.
struct BoxParts {
  int64_t count = 1;
  size_t dim = 1;    ///< of the box, that is cut
  int64_t bytes = 0; ///< of a part
};
/// How the CTAs of a cluster share a tile's boxes, of which each copies a part to all: they alternate in whole boxes, or each brings a part
/// of every box. Null if neither is possible. Pairs also cut boxes that are not swizzled, as those of scales.
std::optional<BoxParts> partsPerBox(ttg::BufferType tile, int64_t ctas, bool paired);
/// Returns how TMA fills a buffer, of which it copies `copiedExtent` of each dimension (empty: all); null if it cannot.
std::optional<TmaBox> copiedBox(const SharedLayout &layout, llvm::ArrayRef<int64_t> copiedExtent);
std::optional<TmaBox> copiedBox(ttg::AllocOp alloc);
/// Returns the bytes that TMA copies to a stage of the buffer.
int64_t copiedBytes(ttg::AllocOp alloc);
/// Returns the distance between two stages of the buffer. It has no room for parts of a tile that are not copied.
int64_t stageBytes(ttg::AllocOp alloc);

} // namespace tilewright::gpu
