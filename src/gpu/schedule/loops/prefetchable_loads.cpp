// The loads of a loop that may run ahead of it, and the operands of MMAs that its threads compute: what schedules are made of. Copies that
// are first read at one place share a circular buffer, so that one wait serves all of them.
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/mma_waits.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/kernel_target.h"
#include "gpu/ttg/written_memory.h"
#include "ir/zeros.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

//===---------------------------------------------------------------------------------------------------------- candidates

/// Bytes that one cp.async of this load would move: what the pointers are known to have in a row, and the buffer, too.
static int64_t asyncBytes(tt::LoadOp load, ttg::AllocOp alloc) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (load->hasAttr(ttg::unalignedName)) return 0;
  if (!tile || !ttg::hasLayout(tile) || ttg::elementBits(tile) < 8) return 0;
  auto vector = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
  int64_t inMemory = (vector ? vector.getInt() : 1) * ttg::elementBits(tile) / 8;
  // Several threads would copy the same bytes.
  Layout layout = ttg::layoutOf(tile);
  if (layout.freeMask(Axis::lane) || layout.freeMask(Axis::warp)) return 0;
  SharedLayout shared = alloc.getType().getLayout().layout();
  return std::min(inMemory, registersInOrder(vectorAccess(layout, shared)) * shared.elementBytes());
}

/// Checks that cp.async can do what the load and the store to its buffer do.
static Result<void> checkCopyAsync(tt::LoadOp load, ttg::AllocOp alloc, scf::ForOp loop, bool mayCopyAsync) {
  auto tile = cast<RankedTensorType>(load.getType());
  if (!mayCopyAsync) return Failure{"the GPU has no cp.async"};
  if (Result<LaunchGuards> unwritten = ttg::unwrittenGuards(load, loop); !unwritten) return Failure{unwritten.error()};
  if (load.getOther() && !tt::isZeros(load.getOther())) return Failure{"elements outside of its mask are not 0"};
  if (tile.getElementType() != alloc.getType().getElementType()) return Failure{"the buffer holds elements of another type"};
  if (asyncBytes(load, alloc) < minCopyAsyncBytes) return Failure{"cp.async copies at least 4 bytes"};
  return {};
}

/// Checks that the load can be made before its iteration.
static Result<void> checkEarlier(Operation *load, scf::ForOp loop) {
  LoopIterations iterations(loop);
  if (!llvm::all_of(load->getOperands(), [&](Value operand) { return iterations.canClone(operand); }))
    return Failure{"its address cannot be computed before the iteration"};
  if (contains(loop, ProgramOrder::learnsWrites)) return Failure{"the loop may wait for data that another program writes"};
  if (!llvm::all_of(iterations.loads(load->getOperands()), [&](tt::LoadOp each) { return bool(ttg::unwrittenGuards(each, loop)); }))
    return Failure{"the loop may write what its address is loaded from"};
  return {};
}

Result<void> checkPrefetch(Operation *load, ttg::AllocOp alloc, scf::ForOp loop, bool mayCopyAsync) {
  IntegerAttr step;
  bool falls = matchPattern(loop.getStep(), m_Constant(&step)) && !step.getValue().isStrictlyPositive();
  if (loop.getUnsignedCmp() || falls) return Failure{"the loop does not count up in signed numbers"};
  Result<void> valid = checkEarlier(load, loop);
  auto plain = dyn_cast<tt::LoadOp>(load);
  return valid && plain ? checkCopyAsync(plain, alloc, loop, mayCopyAsync) : valid;
}

Result<void> checkRegisterPrefetch(tt::LoadOp load, scf::ForOp loop) {
  if (!isa<RankedTensorType>(load.getType())) return Failure{"it loads no tile"};
  if (Result<LaunchGuards> unwritten = ttg::unwrittenGuards(load, loop); !unwritten) return Failure{unwritten.error()};
  return checkEarlier(load, loop);
}

static bool findReaders(CopiedTiles &tiles, const Copy &copy, Block *body) {
  ttg::StoreSharedOp store = copy.store;
  for (Operation *access : accessesOf(copy.alloc)) {
    if (access == store) continue;
    Operation *reader = body->findAncestorOpInBlock(*access);
    bool threads = isa<ttg::LoadSharedOp, ttg::FmaDotOp>(access), mma = isa<ttg::MmaAsyncOp>(access);
    if (!reader || !store->isBeforeInBlock(reader) || !(threads || mma)) return false;
    Operation *endOfReads = mma && reader == access ? waitForAllAfter(access).getOperation() : reader;
    if (!endOfReads) return false;
    tiles.threadsRead |= threads;
    tiles.mmasRead |= mma;
    if (!tiles.firstReader || reader->isBeforeInBlock(tiles.firstReader)) tiles.firstReader = reader;
    if (!tiles.endOfReads || tiles.endOfReads->isBeforeInBlock(endOfReads)) tiles.endOfReads = endOfReads;
  }
  return tiles.firstReader != nullptr;
}

bool findReaders(CopiedTiles &tiles, Block *body) {
  return llvm::all_of(tiles.copies, [&](const Copy &copy) { return findReaders(tiles, copy, body); });
}

/// Copies that are first read at one place are one circular buffer.
static void addCircularBuffer(LoopLoads &loads, CircularBuffer circular) {
  auto same = llvm::find_if(loads.circularBuffers,
                            [&](CircularBuffer &r) { return r.tma == circular.tma && r.firstReader == circular.firstReader; });
  if (same == loads.circularBuffers.end())
    loads.circularBuffers.push_back(std::move(circular));
  else
    same->append(circular);
}

/// Rows of numbers arrive with the tile that is read last before them: one barrier a stage for both, and one wait. With tcgen05, other
/// warps wait for rows than for tiles.
static void mergeRows(LoopLoads &loads) {
  for (CircularBuffer &rows : loads.circularBuffers) {
    if (!rows.tma || !rows.holdsRows()) continue;
    CircularBuffer *tiles = nullptr;
    for (CircularBuffer &circular : loads.circularBuffers)
      if (circular.tma && !circular.holdsRows() && circular.firstReader->isBeforeInBlock(rows.firstReader))
        if (!tiles || tiles->firstReader->isBeforeInBlock(circular.firstReader)) tiles = &circular;
    if (!tiles) continue;
    tiles->append(rows);
    rows.copies.clear();
  }
  llvm::erase_if(loads.circularBuffers, [](const CircularBuffer &circular) { return circular.copies.empty(); });
}

/// Tiles that threads read one right after the other arrive together: they would wait for each.
static void mergeAdjacent(LoopLoads &loads) {
  auto isPassed = [](Operation *op) { // what is left of the copies, too
    return isa<ttg::LoadSharedOp, ttg::DescriptorLoadOp, ttg::AllocOp, ttg::StoreSharedOp>(op) || isMemoryEffectFree(op);
  };
  auto isReadTogether = [&](const CircularBuffer &first, const CircularBuffer &second) {
    if (!first.tma || !second.tma || first.mmasRead || second.mmasRead) return false;
    Operation *op = first.firstReader;
    while (op && op != second.firstReader && isPassed(op))
      op = op->getNextNode();
    return op == second.firstReader;
  };
  llvm::sort(loads.circularBuffers,
             [](const CircularBuffer &x, const CircularBuffer &y) { return x.firstReader->isBeforeInBlock(y.firstReader); });
  SmallVector<CircularBuffer> merged;
  for (CircularBuffer &circular : loads.circularBuffers) {
    if (!merged.empty() && isReadTogether(merged.back(), circular))
      merged.back().append(circular);
    else
      merged.push_back(std::move(circular));
  }
  loads.circularBuffers = std::move(merged);
}

Result<void> checkComputedOperand(ttg::StoreSharedOp store) {
  auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
  if (!alloc || alloc.getType().getDepth() != 1 || alloc->getBlock() != store->getBlock())
    return Failure{"its buffer is not the iteration's"};
  bool isOfPartition = ttg::partitionOf(store) == ttg::Partition::operands; // which also passes on scales
  bool isForReaders = llvm::all_of(accessesOf(alloc), [&](Operation *access) {
    bool reads = isa<ttg::MmaAsyncOp>(access) || (isOfPartition && isa<ttg::LoadSharedOp>(access));
    return access == store || (reads && access->getBlock() == store->getBlock() && store->isBeforeInBlock(access));
  });
  return isForReaders ? Result<void>() : Failure{"not only MMAs after it use its buffer"};
}

int64_t requestedStages(scf::ForOp loop, ttg::ConfigAttr config) {
  auto own = loop->getAttrOfType<IntegerAttr>(tt::numStagesName);
  int64_t stages = own ? own.getInt() : config.getStages();
  bool isSpecialized = loop->hasAttr(tt::warpSpecializeName) && ttg::targetOf(loop)->tcgen05;
  return isSpecialized ? std::max<int64_t>(stages, 2) : stages;
}

LoopLoads findPrefetchableLoads(scf::ForOp loop, const GpuTarget &target) {
  LoopLoads loads;
  loads.loop = loop;
  Block *body = loop.getBody();
  for (auto store : body->getOps<ttg::StoreSharedOp>()) {
    Operation *load = store.getSrc().getDefiningOp();
    auto alloc = store.getBuffer().getDefiningOp<ttg::AllocOp>();
    bool isLoad = load && load->getBlock() == body && load->getResult(0).hasOneUse() && isa<tt::LoadOp, ttg::DescriptorLoadOp>(load);
    if (ttg::partitionOf(store) == ttg::Partition::operands) {
      loads.computed.push_back(store);
      loads.operandPartition = true;
      continue;
    }
    if (!isLoad && checkComputedOperand(store)) loads.computed.push_back(store);
    if (!isLoad || !isa<RankedTensorType>(load->getResult(0).getType()) || !alloc || alloc.getType().getDepth() != 1) continue;
    CircularBuffer circular;
    circular.tma = isa<ttg::DescriptorLoadOp>(load);
    circular.copies.push_back({load, store, alloc});
    Result<void> isPrefetchable = checkPrefetch(load, alloc, loop, target.cpAsync);
    if (!isPrefetchable && isa<tt::LoadOp>(load) && checkComputedOperand(store)) loads.computed.push_back(store);
    if (!isPrefetchable)
      loads.unpipelined.push_back({load, isPrefetchable.error()});
    else if (!findReaders(circular, circular.copies.front(), body))
      loads.unpipelined.push_back({load, "its buffer is still in use at the end of the iteration"});
    else
      addCircularBuffer(loads, std::move(circular));
  }
  auto mmas = body->getOps<ttg::MmaAsyncOp>();
  loads.paired = hasPairedMmas(loop);
  if (std::distance(mmas.begin(), mmas.end()) >= minMmasToMergeRows && !target.tcgen05) mergeRows(loads);
  if (!loads.computed.empty()) mergeAdjacent(loads);
  return loads;
}

} // namespace tilewright::gpu
