// What accesses of a buffer need to know of its allocation: the distance of its stages, and how much of the tile TMA copies.
//   before: ttg.stage %x[%i]    ttg.tma_load .. to %s     after: ttg.stage %x[%i] {distance = 8192}    .. {copiedExtent = [64, 152]}
#include "gpu/thread/prepare/steps.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "ir/refusal.h"

using namespace mlir;

namespace tilewright::gpu {

template <typename Copy> static void setCopiedExtent(Copy copy) {
  if (ttg::AllocOp alloc = allocOf(copy.getBuffer())) copy.setCopiedExtent(alloc.getCopiedExtent());
}

LogicalResult setBufferSizes(tt::FuncOp kernel, ttg::ConfigAttr) {
  kernel.walk([](ttg::TmaLoadOp copy) { setCopiedExtent(copy); });
  kernel.walk([](ttg::TmaStoreOp copy) { setCopiedExtent(copy); });
  WalkResult walk = kernel.walk([](ttg::StageOp stage) -> WalkResult {
    ttg::AllocOp alloc = allocOf(stage.getBuffer());
    if (!alloc) return bug(stage, "it is a stage of a buffer without an allocation");
    stage.setDistance(static_cast<uint32_t>(stageBytes(alloc)));
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

} // namespace tilewright::gpu
