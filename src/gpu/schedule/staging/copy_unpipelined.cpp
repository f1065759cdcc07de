// Loads through a tensor map that no loop prefetches become copies, with a wait before the first reader:
//   before: %a = ttg.descriptor_load %map    ttg.store_shared %a, %buffer    ... read %buffer
//   after:  expect bytes on a barrier    ttg.tma_load %map to %buffer    ... wait for the barrier    read %buffer
// Loads whose tiles are stored next to each other share a barrier, and rows of numbers that of a tile. Its parity is carried through the
// loops around it. Barriers that are waited for in one block have one parity.
#include "gpu/passes.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/entry_values.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/schedule/staging/stageable.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Loads that are copied together where they stand: those whose tiles are stored next to each other.
struct CopyGroup {
  ttg::StoreSharedOp first;                       ///< of all adjacent stores
  llvm::SmallVector<ttg::StoreSharedOp> stores{}; ///< those that copies replace
  Operation *reader = nullptr;                    ///< the first reader of one of the buffers
  int64_t bytes = 0;
};

ttg::StoreSharedOp storeOf(ttg::DescriptorLoadOp load) {
  return cast<ttg::StoreSharedOp>(*load.getResult().user_begin());
}

bool isRow(ttg::DescriptorLoadOp load) {
  return cast<RankedTensorType>(load.getType()).getRank() == 1;
}

/// Returns the tile of the loop that arrives last before the row is read, if the row can be requested with it.
ttg::StoreSharedOp tileBefore(ttg::DescriptorLoadOp row, ArrayRef<ttg::DescriptorLoadOp> loads) {
  ttg::StoreSharedOp store = storeOf(row), last;
  if (!isa<scf::ForOp>(row->getParentOp()) || store->getBlock() != row->getBlock()) return last;
  for (ttg::DescriptorLoadOp load : loads) {
    ttg::StoreSharedOp tile = storeOf(load);
    if (isRow(load) || tile->getBlock() != row->getBlock() || !row->isBeforeInBlock(tile) || !tile->isBeforeInBlock(store)) continue;
    if (!last || last->isBeforeInBlock(tile)) last = tile;
  }
  return last;
}

/// Stores rows of numbers next to a tile that arrives before them, so that they share its barrier and its wait. Their buffers are in use
/// for a longer time then, for which shared memory must suffice. With tcgen05, other warps wait for rows than for tiles.
void joinRows(tt::FuncOp function, ArrayRef<ttg::DescriptorLoadOp> loads, const GpuTarget &target) {
  if (target.tcgen05) return;
  SmallVector<std::pair<ttg::StoreSharedOp, ttg::StoreSharedOp>> rows; // and tiles
  SmallVector<DeeperBuffer> buffers;
  for (ttg::DescriptorLoadOp load : loads) {
    auto alloc = storeOf(load).getBuffer().getDefiningOp<ttg::AllocOp>();
    ttg::StoreSharedOp tile = isRow(load) && alloc ? tileBefore(load, loads) : ttg::StoreSharedOp();
    if (!tile) continue;
    rows.emplace_back(storeOf(load), tile);
    buffers.push_back({alloc, 1, load->getParentOp()});
  }
  int64_t barriers = mbarrierBytes * static_cast<int64_t>(loads.size());
  if (rows.empty() || SharedPlanner(function).plan(buffers).bytes + barriers > target.sharedBytes) return;
  for (auto [row, tile] : rows)
    row->moveAfter(tile); // copyFirst moves the buffer
}

CopyGroup groupOf(ttg::DescriptorLoadOp load, ArrayRef<ttg::DescriptorLoadOp> loads) {
  CopyGroup group{storeOf(load)};
  while (isa_and_nonnull<ttg::StoreSharedOp>(group.first->getPrevNode()))
    group.first = cast<ttg::StoreSharedOp>(group.first->getPrevNode());
  for (Operation *op = group.first; isa_and_nonnull<ttg::StoreSharedOp>(op); op = op->getNextNode()) {
    auto source = cast<ttg::StoreSharedOp>(op).getSrc().getDefiningOp<ttg::DescriptorLoadOp>();
    if (source && llvm::is_contained(loads, source)) group.stores.push_back(cast<ttg::StoreSharedOp>(op));
  }
  Block *block = group.first->getBlock();
  for (ttg::StoreSharedOp store : group.stores) {
    auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
    group.bytes += copiedBytes(alloc);
    for (Operation *access : accessesOf(alloc)) {
      Operation *inBlock = block->findAncestorOpInBlock(*access);
      if (access != store && inBlock && (!group.reader || inBlock->isBeforeInBlock(group.reader))) group.reader = inBlock;
    }
  }
  return group;
}

/// Copies the first of `loads`, and those stored next to it, where the tiles were stored. The first reader of one waits. Removes them from
/// `loads`. `waits`: for the copies so far.
LogicalResult copyFirst(SmallVectorImpl<ttg::DescriptorLoadOp> &loads, SmallVectorImpl<ttg::BarrierWaitOp> &waits, tt::FuncOp function,
                        const GpuTarget &target) {
  CopyGroup group = groupOf(loads.front(), loads);
  Location loc = group.stores.front().getLoc();
  // If one warp issues the MMAs, others need not wait for their operands.
  bool firstWarp = target.tcgen05 && llvm::all_of(group.stores, isReadByMmasOnly);
  Value barriers = allocBarriers(function, 1, 1), zero = entryConstant(function, 0);
  OpBuilder b(group.first); // the stores that stay remain adjacent
  Operation *expect = ttg::BarrierExpectOp::create(b, loc, barriers, zero, static_cast<int32_t>(group.bytes), Value());
  for (ttg::StoreSharedOp store : group.stores) {
    auto load = store.getSrc().getDefiningOp<ttg::DescriptorLoadOp>();
    auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
    if (!alloc->isBeforeInBlock(expect)) alloc->moveBefore(expect);
    FailureOr<Value> map =
        mapFor(function, load, load.getMap(), load.getCoordinates().size(), alloc.getType(), load.getOrder(), BoxParts());
    if (failed(map)) return failure();
    auto copy = ttg::TmaLoadOp::create(b, load.getLoc(), *map, load.getCoordinates(), alloc, barriers, zero, Value(), load.getEvict());
    if (Attribute reason = load->getAttr(ttg::notPipelinedName)) copy->setAttr(ttg::notPipelinedName, reason);
  }
  if (group.reader) b.setInsertionPoint(waitingPoint(group.reader));
  auto wait = ttg::BarrierWaitOp::create(b, loc, barriers, zero, zero, firstWarp);
  for (ttg::StoreSharedOp store : group.stores) {
    auto load = store.getSrc().getDefiningOp<ttg::DescriptorLoadOp>();
    llvm::erase(loads, load);
    eraseStore(store);
    load.erase();
  }
  auto *inBlock = llvm::find_if(waits, [&](ttg::BarrierWaitOp each) { return each->getBlock() == wait->getBlock(); });
  if (inBlock != waits.end()) {
    wait.getParityMutable().assign(inBlock->getParity());
    return success();
  }
  waits.push_back(wait);
  return LogicalResult(carryState(wait, {zero}, [&](ValueRange state) -> SmallVector<Value> {
    wait.getParityMutable().assign(state.front());
    if (state.front() == zero) return {zero};
    b.setInsertionPointAfter(wait);
    return {arith::XOrIOp::create(b, loc, state.front(), i32Constant(b, loc, 1))};
  }));
}

LogicalResult copyUnpipelined(tt::FuncOp function, const GpuTarget &target) {
  SmallVector<ttg::DescriptorLoadOp> loads;
  SmallVector<ttg::BarrierWaitOp> waits;
  function.walk([&](ttg::DescriptorLoadOp load) { loads.push_back(load); });
  joinRows(function, loads, target);
  while (!loads.empty())
    if (failed(copyFirst(loads, waits, function, target))) return failure();
  ttg::eraseDead(function);
  return success();
}

} // namespace

LogicalResult copyUnpipelined(ModuleOp module) {
  return ttg::onKernelsWithLayouts(
      module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &target) { return copyUnpipelined(function, target); });
}

} // namespace tilewright::gpu
