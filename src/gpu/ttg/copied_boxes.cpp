#include "gpu/ttg/copied_boxes.h"

#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {

std::optional<TmaBox> copiedBox(const SharedLayout &layout, ArrayRef<int64_t> extents) {
  std::optional<TmaBox> box = tmaBox(layout);
  for (size_t i = 0; box && i < extents.size(); ++i) {
    int64_t extent = extents[static_cast<size_t>(box->order[i])];
    if (i == 0 && box->spanBytes > 0)
      box->copies = (extent + box->box[0] - 1) / box->box[0];
    else
      box->box[i] = extent;
  }
  return box;
}

std::optional<TmaBox> copiedBox(ttg::AllocOp alloc) {
  return copiedBox(alloc.getType().getLayout().layout(), alloc.getCopiedExtent());
}

static int64_t bytesOfBox(ttg::AllocOp alloc, const TmaBox &box) {
  return elementCount(box.box) * alloc.getType().getLayout().layout().elementBytes();
}

int64_t copiedBytes(ttg::AllocOp alloc) {
  SharedLayout layout = alloc.getType().getLayout().layout();
  std::optional<TmaBox> box = copiedBox(alloc);
  if (alloc.getCopiedExtent().empty() || !box) return elementCount(layout.shape) * layout.elementBytes(); // TMA does not count padding
  return box->copies * bytesOfBox(alloc, *box);
}

int64_t stageBytes(ttg::AllocOp alloc) {
  std::optional<TmaBox> box = copiedBox(alloc);
  if (alloc.getCopiedExtent().empty() || !box) return alloc.getType().paddedTileBytes();
  int64_t bytes = (box->copies - 1) * box->bytes + bytesOfBox(alloc, *box);
  return (bytes + swizzleAlignment - 1) / swizzleAlignment * swizzleAlignment;
}

/// The outermost dimension of a box without a swizzle is cut.
static std::optional<BoxParts> partsOfPlain(const TmaBox &box, int64_t ctas) {
  size_t dim = box.box.size() - 1;
  while (dim > 0 && box.box[dim] == 1)
    --dim;
  if (box.box[dim] % ctas != 0 || box.bytes % (ctas * plainAlignment) != 0) return {};
  return BoxParts{ctas, dim, box.bytes / ctas};
}

std::optional<BoxParts> partsPerBox(ttg::BufferType tile, int64_t ctas, bool paired) {
  std::optional<TmaBox> box = tmaBox(tile.getLayout().layout());
  if (!box) return {};
  if (box->copies % ctas == 0) return BoxParts{};
  if (paired && box->spanBytes == 0) return partsOfPlain(*box, ctas);
  if (box->box.size() != 2 || box->spanBytes == 0 || box->box[1] % (swizzleRows * ctas) != 0) return {};
  return BoxParts{ctas, 1, box->box[1] / ctas * box->spanBytes};
}

} // namespace tilewright::gpu
