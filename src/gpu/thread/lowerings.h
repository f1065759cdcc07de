// The lowerings, one function an operation, in the files that their headings name; lower_to_threads.cpp has the table of all of them. Each
// reads the scalars that stand for its operands from the context, and leaves there those that stand for its results. What several of them
// use stands behind them.
#pragma once

#include "gpu/schedule/scratch.h"
#include "gpu/thread/thread_context.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

// ---- lower_to_threads.cpp: control flow, shapes
LogicalResult lowerBlock(ThreadContext &t, mlir::Block &block);
/// An operation that makes each register of its result from the same registers of its operands. A null value: it failed, and said why.
LogicalResult lowerElements(ThreadContext &t, mlir::Operation *op, llvm::function_ref<Value(mlir::ValueRange)> element);

// ---- memory.cpp
LogicalResult lowerLoad(ThreadContext &t, tt::LoadOp op);
LogicalResult lowerStore(ThreadContext &t, tt::StoreOp op);
LogicalResult lowerAtomic(ThreadContext &t, tt::AtomicRMWOp op);
LogicalResult lowerCompareSwap(ThreadContext &t, tt::AtomicCASOp op);
/// A loop of scalars that tries an atomic operation until it is through, and nothing else; null where it is another loop.
mlir::Operation *triedBy(mlir::scf::WhileOp loop);
/// One thread runs the loop, whose tries `attempt` makes; the others wait for it.
LogicalResult lowerSpin(ThreadContext &t, mlir::scf::WhileOp loop, mlir::Operation *attempt);
ptx::Eviction evictionOf(tt::EvictionPolicy policy);
/// All threads meet, if one of them may have made an access that the one to come must not overtake.
void meetBefore(ThreadContext &t, const GlobalAccess &next);
/// Accesses are ordered from here on as if the loop had made an iteration before.
void expectIteration(ThreadContext &t, mlir::Operation *loop);
/// A scalar as it lies in memory, where i1 is a byte; and back.
Type memoryType(ThreadContext &t, Type scalar);
Value toMemory(ThreadContext &t, Value scalar);
Value fromMemory(ThreadContext &t, Value stored, Type scalar);
/// `count` neighbours from any address, by loads of aligned words (covering_load.cpp). `masks`: one for each, or none.
Parts loadCovering(ThreadContext &t, Value address, llvm::ArrayRef<Value> masks, int64_t count, Type element, ptx::Cache cache,
                   ptx::Eviction eviction);

// ---- shared.cpp: buffers
LogicalResult lowerAlloc(ThreadContext &t, ttg::AllocOp op);
LogicalResult lowerAllocBarriers(ThreadContext &t, ttg::AllocBarriersOp op);
LogicalResult lowerSlot(ThreadContext &t, ttg::SlotOp op);
LogicalResult lowerView(ThreadContext &t, ttg::ViewOp op);
LogicalResult lowerLoadShared(ThreadContext &t, ttg::LoadSharedOp op);
LogicalResult lowerStoreShared(ThreadContext &t, ttg::StoreSharedOp op);
LogicalResult lowerSync(ThreadContext &t, ttg::SyncOp op);
LogicalResult lowerFenceAsync(ThreadContext &t, ttg::FenceAsyncOp op);
LogicalResult lowerBarrierExpect(ThreadContext &t, ttg::BarrierExpectOp op);
LogicalResult lowerBarrierArrive(ThreadContext &t, ttg::BarrierArriveOp op);
LogicalResult lowerBarrierWait(ThreadContext &t, ttg::BarrierWaitOp op);
LogicalResult lowerCopyAsync(ThreadContext &t, ttg::CopyAsyncOp op);
LogicalResult lowerCopyCommit(ThreadContext &t, ttg::CopyCommitOp op);
LogicalResult lowerCopyWait(ThreadContext &t, ttg::CopyWaitOp op);
LogicalResult lowerTmaLoad(ThreadContext &t, ttg::TmaLoadOp op);
LogicalResult lowerTmaStore(ThreadContext &t, ttg::TmaStoreOp op);
LogicalResult lowerTmaStoreWait(ThreadContext &t, ttg::TmaStoreWaitOp op);
/// A tile in `layout` from and to shared memory at `base`, where it lies as `shared` says. The plan of it is proven first; `op` is told.
/// `nothing`: see nothingOfIteration.
mlir::FailureOr<Parts> loadTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                                Type type);
LogicalResult storeTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                        mlir::ValueRange held, bool stmatrix, Value nothing);
/// Values side by side as one integer, the first lowest; and back.
Value packed(ThreadContext &t, mlir::ValueRange values);
Parts unpacked(ThreadContext &t, Value word, Type element);

// ---- matrix.cpp
/// A zero that ptxas cannot tell from a number of the iteration: the highest bit of a slot's address. What a loop does not change (matrix
/// descriptors, addresses of a buffer) ptxas computes before the loop, and keeps each in a register; with this zero added it is computed
/// where it is used. Null where the buffer changes, or the registers are not worth it.
Value nothingOfIteration(ThreadContext &t, mlir::Operation *op, Value buffer);
LogicalResult lowerDot(ThreadContext &t, tt::DotOp op);
LogicalResult lowerWgmma(ThreadContext &t, ttg::WgmmaOp op);
LogicalResult lowerWgmmaWait(ThreadContext &t, ttg::WgmmaWaitOp op);
LogicalResult lowerFmaDot(ThreadContext &t, ttg::FmaDotOp op);

// ---- math.cpp
LogicalResult lowerElementwise(ThreadContext &t, mlir::Operation *op);
LogicalResult lowerMath(ThreadContext &t, mlir::Operation *op);
LogicalResult lowerExtern(ThreadContext &t, tt::ExternElementwiseOp op);
LogicalResult lowerFloatConversion(ThreadContext &t, mlir::Operation *op, bool towardZero);
Parts convertFloats(ThreadContext &t, const Parts &values, Type from, Type to, bool towardZero);
Parts widenBytes(ThreadContext &t, const Parts &bytes, Type format); // to f32
/// What libm calls `name`, of floats of 16 to 64 bits; null if it is not known.
Value mathFunction(ThreadContext &t, llvm::StringRef name, mlir::ValueRange operands);

// ---- small_floats.cpp
LogicalResult lowerUnpackE2m1(ThreadContext &t, ttg::UnpackE2m1Op op);

// ---- convert.cpp
LogicalResult lowerConvert(ThreadContext &t, ttg::ConvertLayoutOp op);
/// The tile in another layout, for `op`, whose scratch it may use.
mlir::FailureOr<Parts> convertParts(ThreadContext &t, mlir::Operation *op, const Parts &held, const Layout &from, const Layout &to);

// ---- exchange.cpp, scan.cpp
LogicalResult lowerReadBlocks(ThreadContext &t, ttg::ReadBlocksOp op);
LogicalResult lowerReduce(ThreadContext &t, tt::ReduceOp op);
LogicalResult lowerScan(ThreadContext &t, tt::ScanOp op);
/// What a thread holds of tiles of one layout: [register][tile].
using HeldTiles = std::vector<Parts>;
/// The tiles in `layout`, brought there where they are not.
mlir::FailureOr<HeldTiles> heldIn(ThreadContext &t, mlir::Operation *op, mlir::ValueRange tiles, const Layout &layout);
/// What the lane whose number differs by `bit` holds of these.
Parts ofOtherLane(ThreadContext &t, mlir::ValueRange values, int64_t bit);
/// The results of `op`, held in `layout`, in their own layouts.
LogicalResult setInLayouts(ThreadContext &t, mlir::Operation *op, const HeldTiles &held, const Layout &layout);
/// Runs the region of a reduction or a scan on scalars.
mlir::FailureOr<Parts> combine(ThreadContext &t, mlir::Block &region, mlir::ValueRange first, mlir::ValueRange second);

// ---- gather.cpp
LogicalResult lowerGather(ThreadContext &t, tt::GatherOp op);
LogicalResult lowerHistogram(ThreadContext &t, tt::HistogramOp op);
LogicalResult lowerCat(ThreadContext &t, tt::CatOp op);
/// The tile to shared memory in row-major order, from element `firstElement` on; each element by one thread.
void storeFlat(ThreadContext &t, Value base, const Parts &held, const Layout &layout, int64_t firstElement);
Value loadFlat(ThreadContext &t, Value base, Value index, Type type);
Parts loadAllFlat(ThreadContext &t, Value base, const Layout &layout, Type type);

// ---- debug.cpp
LogicalResult lowerPrint(ThreadContext &t, tt::PrintOp op);
LogicalResult lowerAssert(ThreadContext &t, tt::AssertOp op);
LogicalResult lowerInlineAsm(ThreadContext &t, tt::ElementwiseInlineAsmOp op);
LogicalResult lowerMapElementwise(ThreadContext &t, tt::MapElementwiseOp op);

/// Lets the stores in front of the next operation, of what is made out of tiles in shared memory, take turns with what makes it.
void storeAsMade(ThreadContext &t);

} // namespace tilewright::gpu
