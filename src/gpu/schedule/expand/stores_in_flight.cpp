// A store's buffer is written again in the next iteration at the earliest, so the wait for the store moves there:
//   before: for %tile { store_shared %tile, %p    fence_async    tma_store %p    tma_store_wait 0 }
//   after:  for %tile { tma_store_wait 0    store_shared %tile, %p    fence_async    tma_store %p }    tma_store_wait 0
// If all warps must pass a barrier to store a tile, nothing multiplies between two tiles of a matmul. Where copies have a warp of their
// own, each of two warp groups stores the rows that it holds. Its barriers are only for its own warps, so one warp group stores while the
// other still multiplies, or continues with the next tile.
//   before: tma_store_wait 0    store_shared %tile, %p    fence_async    tma_store %p
//   after:  tma_store_wait 0    group barrier    store_shared %tile, %p    fence_async    group barrier    tma_store half of %p
// A program's stores take effect in order. Those of one warp group do, because it waits for its own. Those of two warp groups have no
// order, so they must not touch the same memory: a tile's rows start at a multiple of their number, so that each row belongs to the same
// warp group in all tiles, and what goes through other maps is disjoint.
#include "gpu/machine/ptx.h"
#include "gpu/schedule/expand/expansion.h"
#include "gpu/schedule/loops/persistent_loop.h"
#include "gpu/schedule/named_barriers.h"
#include "gpu/schedule/program_loop.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "support/gpu_hardware.h"

using namespace mlir;

namespace tilewright::gpu {

/// The map's box becomes the box of one warp group.
static void halveBox(Value map, ttg::BufferType type) {
  auto argument = cast<BlockArgument>(map);
  ttg::TensorMapAttr recipe = ttg::tensorMapOf(map);
  SmallVector<int64_t> box(recipe.getBox().asArrayRef());
  box[1] = type.getShape()[0] / storingGroups;
  Builder b(map.getContext());
  auto own = ttg::TensorMapAttr::get(b.getContext(), recipe.getBase(), recipe.getOffset(), recipe.getDims(), recipe.getStrides(),
                                     b.getDenseI64ArrayAttr(box), recipe.getElement(), recipe.getSwizzle());
  cast<tt::FuncOp>(argument.getOwner()->getParentOp()).setArgAttr(argument.getArgNumber(), ttg::tensorMapName, own);
}

static void storePerWarpGroup(TileStore each, bool inProgramLoop) {
  for (Operation *next : {each.write.getOperation(), each.store.getOperation()}) {
    OpBuilder b(next);
    // ptxas does not know that all threads go through a program loop together. If one of its barriers depends on the thread, ptxas takes
    // no value of the kernel for uniform: MMAs and TMA get their operands from one thread after another, and registers spill.
    Value warp = inProgramLoop ? ptx::WarpIdOp::create(b, next->getLoc(), b.getI32Type()) : Value(); // null: the thread's id may be read
    ptx::BarrierOp::create(b, next->getLoc(), warp, groupBarrier, static_cast<uint32_t>(threadsOfGroup), /*perWarpGroup=*/true);
  }
  halveBox(each.store.getMap(), cast<ttg::BufferType>(each.store.getBuffer().getType()));
  each.store.setPerWarpGroup(true);
}

void keepStoresInFlight(scf::ForOp loop, bool perWarpGroup) {
  SmallVector<ttg::AllocOp> buffers; // one for all tiles of a type
  bool inProgramLoop = clcProgramOf(loop) != nullptr;
  for (TileStore &each : storesOf(loop)) {
    each.wait->moveBefore(each.write);
    auto same = llvm::find_if(buffers, [&](ttg::AllocOp other) { return other.getType() == each.alloc.getType(); });
    if (same == buffers.end()) {
      each.alloc->moveBefore(loop);
      buffers.push_back(each.alloc);
    } else {
      each.alloc.getResult().replaceAllUsesWith(same->getResult());
      each.alloc->erase();
    }
    if (perWarpGroup) storePerWarpGroup(each, inProgramLoop);
  }
  if (buffers.empty()) return;
  OpBuilder b(loop.getContext());
  b.setInsertionPointAfter(loop);
  ttg::TmaStoreWaitOp::create(b, loop.getLoc(), 0);
}

} // namespace tilewright::gpu
