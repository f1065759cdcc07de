#include "gpu/schedule/staging/stageable.h"

#include "gpu/schedule/buffers.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/volatile_load.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"

#include <numeric>

using namespace mlir;

namespace tilewright::gpu {

ttg::AllocOp ownBuffer(ttg::StoreSharedOp store) {
  auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
  if (!alloc || alloc.getType().getDepth() != 1) return {};
  for (Operation *access : accessesOf(alloc))
    if (access != store && !isa<ttg::LoadSharedOp, ttg::FmaDotOp, ttg::MmaAsyncOp>(access)) return {};
  return alloc;
}

ttg::StoreSharedOp directStore(ttg::DescriptorLoadOp load, OpOperand &use) {
  auto store = dyn_cast<ttg::StoreSharedOp>(use.getOwner());
  ttg::AllocOp alloc = store && store->getBlock() == load->getBlock() ? ownBuffer(store) : ttg::AllocOp();
  bool isDirect = alloc && boxOf(alloc.getType(), load.getOrder()) &&
                  alloc.getType().getElementType() == cast<RankedTensorType>(load.getType()).getElementType();
  return isDirect ? store : ttg::StoreSharedOp();
}

bool isReadByMmasOnly(ttg::StoreSharedOp store) {
  return llvm::all_of(accessesOf(store.getBuffer().getDefiningOp<ttg::AllocOp>()),
                      [&](Operation *access) { return access == store || isa<ttg::MmaAsyncOp>(access); });
}

bool isStageableRow(tt::LoadOp load) {
  auto tile = cast<RankedTensorType>(load.getType());
  int64_t bits = ttg::elementBits(tile);
  auto vector = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
  bool zeros = !load.getOther() || tt::isZeros(load.getOther());
  Layout layout = ttg::layoutOf(tile);
  return bits < registerBits && vector && vector.getInt() * bits / 8 == maxAccessBytes && zeros && !tt::isVolatileLoad(load) &&
         !layout.freeMask(Axis::lane) && !layout.freeMask(Axis::warp);
}

/// Returns the dimensions of a tile, first the one along which a thread holds contiguous elements.
static Dims orderOf(const Layout &layout) {
  Dims order(layout.shape.size()), step = layout.coordinates(layout.basesOf(Axis::reg).front());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t x, int64_t y) { return step[static_cast<size_t>(x)] > step[static_cast<size_t>(y)]; });
  return order;
}

ttg::BufferType bufferOfRow(tt::LoadOp load) {
  auto tile = cast<RankedTensorType>(load.getType());
  auto shared = SharedLayout::rowMajor(ttg::shapeOf(tile), ttg::elementBits(tile), orderOf(ttg::layoutOf(tile)));
  return ttg::BufferType::get(1, tile.getElementType(), shared);
}

} // namespace tilewright::gpu
