// Copies of tiles by TMA, between global and shared memory.
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/memory.h"
#include "gpu/thread/memory/shared.h"
#include "gpu/ttg/copied_boxes.h"
#include "ir/refusal.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

/// Emits the TMA boxes of a tile: one for each block of columns. `emit` gets a box, its coordinates and its address in the buffer.
static LogicalResult forBoxes(ThreadContext &t, Operation *op, Value buffer, ArrayRef<int64_t> copiedExtent, ValueRange coordinates,
                              llvm::function_ref<void(const TmaBox &, ValueRange, Value)> emit) {
  std::optional<TmaBox> box = copiedBox(sharedOf(buffer), copiedExtent);
  if (!box) return bug(op, "TMA cannot fill this buffer");
  Value base = t.getScalar(buffer);
  for (int64_t i = 0; i < box->copies; ++i) {
    SmallVector<Value> at;
    for (Value coordinate : coordinates)
      at.push_back(t.getScalar(coordinate));
    if (i) at[0] = arith::AddIOp::create(t.b, at[0], t.i32(i * box->box[0]));
    if (box->isPadded) at[0] = arith::ShLIOp::create(t.b, at[0], t.i32(1)); // it counts numbers, two in a byte
    emit(*box, at, i ? Value(arith::AddIOp::create(t.b, base, t.i32(i * box->bytes))) : base);
  }
  return success();
}

static LogicalResult lowerTmaLoad(ThreadContext &t, ttg::TmaLoadOp op) {
  Value barrier = barrierAt(t, op.getBarriers(), op.getIndex());
  Value predicate = isFirstThread(t);
  if (op.getPredicate()) predicate = arith::AndIOp::create(t.b, predicate, t.getScalar(op.getPredicate()));
  ptx::Eviction evict = evictionOf(static_cast<tt::EvictionPolicy>(op.getEvict()));
  bool isForAll = op.getMulticast();
  int64_t blocks = t.kernel.config.getCtas(), box = 0;
  Value rank = isForAll ? Value(ptx::ClusterRankOp::create(t.b, t.b.getI32Type())) : Value();
  IntegerAttr all = isForAll ? t.b.getI32IntegerAttr((1 << blocks) - 1) : IntegerAttr();
  std::optional<BoxParts> parts = isForAll ? partsPerBox(op.getBuffer().getType(), blocks, op.getToLeader()) : BoxParts();
  if (!parts) return bug(op, "the CTAs of the cluster cannot share this tile");
  return forBoxes(t, op, op.getBuffer(), op.getCopiedExtent(), op.getCoordinates(), [&](const TmaBox &whole, ValueRange at, Value address) {
    Value starts = predicate;
    SmallVector<Value> coordinates(at);
    if (parts->count != 1) { // its part of each box
      int64_t extent = whole.box[parts->dim] / parts->count, bytes = whole.spanBytes ? extent * whole.spanBytes : parts->bytes;
      coordinates[parts->dim] = arith::AddIOp::create(t.b, coordinates[parts->dim], arith::MulIOp::create(t.b, rank, t.i32(extent)));
      address = arith::AddIOp::create(t.b, address, arith::MulIOp::create(t.b, rank, t.i32(bytes)));
    } else if (isForAll) {
      Value isMine = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, rank, t.i32(box++ % blocks));
      starts = arith::AndIOp::create(t.b, predicate, isMine);
    }
    ptx::TmaLoadOp::create(t.b, t.getScalar(op.getMap()), coordinates, address, barrier, starts, evict, all, op.getToLeader());
  });
}

/// For a per-warp-group store: what a warpgroup adds to the first row and to the address of a box, and its first thread.
struct WarpGroupRows {
  Value row, offset, isFirst;
};
/// Null if the buffer has no rows that TMA can read.
static std::optional<WarpGroupRows> warpGroupRows(ThreadContext &t, ttg::TmaStoreOp op) {
  SharedLayout shared = sharedOf(op.getBuffer());
  std::optional<TmaBox> box = tmaBox(shared);
  if (!box || box->spanBytes == 0 || op.getCoordinates().size() < 2) return std::nullopt;
  int64_t rows = shared.shape[0] / (t.threads.warps / warpsOfGroup);
  Value group = arith::ShRUIOp::create(t.b, t.threads.warp, t.i32(warpGroupBit));
  Value inGroup = arith::AndIOp::create(t.b, t.threads.index, t.i32(threadsOfGroup - 1));
  return WarpGroupRows{arith::MulIOp::create(t.b, group, t.i32(rows)), arith::MulIOp::create(t.b, group, t.i32(rows * box->spanBytes)),
                       arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, inGroup, t.i32(0))};
}

static LogicalResult lowerTmaStore(ThreadContext &t, ttg::TmaStoreOp op) {
  bool perGroup = op.getPerWarpGroup();
  std::optional<WarpGroupRows> rows = perGroup ? warpGroupRows(t, op) : WarpGroupRows{};
  if (!rows) return bug(op, "TMA cannot read this buffer");
  Value predicate = perGroup ? rows->isFirst : isFirstThread(t);
  LogicalResult done =
      forBoxes(t, op, op.getBuffer(), op.getCopiedExtent(), op.getCoordinates(), [&](const TmaBox &, ValueRange at, Value address) {
        SmallVector<Value> coordinates(at);
        if (perGroup) {
          coordinates[1] = arith::AddIOp::create(t.b, coordinates[1], rows->row);
          address = arith::AddIOp::create(t.b, address, rows->offset);
        }
        auto reduce = op.getReduce() ? ptx::ReduxAttr::get(t.b.getContext(), *ptx::symbolizeRedux(ttg::stringifyReduction(*op.getReduce())))
                                     : ptx::ReduxAttr();
        ptx::TmaStoreOp::create(t.b, t.getScalar(op.getMap()), coordinates, address, predicate, reduce);
      });
  if (succeeded(done)) ptx::TmaCommitOp::create(t.b); // the other threads commit empty groups
  return done;
}

static LogicalResult lowerTmaStoreWait(ThreadContext &t, ttg::TmaStoreWaitOp op) {
  ptx::TmaWaitOp::create(t.b, op.getPending(), /*read=*/!op.getUntilWritten());
  return success();
}

void addTmaLowerings(LoweringTable &table) {
  addLowerings<lowerTmaLoad, lowerTmaStore, lowerTmaStoreWait>(table);
}

} // namespace tilewright::gpu
