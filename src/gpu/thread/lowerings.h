// The lowerings, one function for each operation, in the files that the headings name; lower_to_threads.cpp
// has the table of all of them. Each reads the scalars that stand for its operands from the context, and
// leaves there those that stand for its results. Functions that several of them use follow after them.
#pragma once

#include "gpu/schedule/scratch.h"
#include "gpu/thread/thread_context.h"
#include "gpu/tiles/arg_reduction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

// ---- lower_to_threads.cpp: control flow, shapes
LogicalResult lowerBlock(ThreadContext &t, mlir::Block &block);
/// An operation that makes each register of its result from the same registers of its operands. Null: it has failed and said why.
LogicalResult lowerElements(ThreadContext &t, mlir::Operation *op, llvm::function_ref<Value(mlir::ValueRange)> element);

// ---- memory.cpp
LogicalResult lowerLoad(ThreadContext &t, tt::LoadOp op);
LogicalResult lowerStore(ThreadContext &t, tt::StoreOp op);
LogicalResult lowerAtomic(ThreadContext &t, tt::AtomicRMWOp op);
LogicalResult lowerCompareSwap(ThreadContext &t, tt::AtomicCASOp op);
/// A loop of scalars that tries an atomic operation until it is through, and nothing else; null where it is another loop.
mlir::Operation *triedBy(mlir::scf::WhileOp loop);
/// One thread runs the loop, whose attempts `attempt` makes; the others wait for it.
LogicalResult lowerSpin(ThreadContext &t, mlir::scf::WhileOp loop, mlir::Operation *attempt);
ptx::Eviction evictionOf(tt::EvictionPolicy policy);
/// All threads meet, if one of them may have made an access that this one must not overtake. Returns whether they do. Later accesses look
/// back at this one.
bool orderAccess(ThreadContext &t, mlir::Operation *op);
/// Accesses are ordered from here on as if the loop had made an iteration before.
void expectIteration(ThreadContext &t, mlir::Operation *loop);
/// A scalar in the form that it has in memory, where i1 is a byte; and back.
Type memoryType(ThreadContext &t, Type scalar);
Value toMemory(ThreadContext &t, Value scalar);
Value fromMemory(ThreadContext &t, Value stored, Type scalar);
/// `count` neighbours from any address, by loads of aligned words (unaligned_load.cpp). `masks`: one for each element, or none.
ThreadValues loadUnaligned(ThreadContext &t, Value address, llvm::ArrayRef<Value> masks, int64_t count, Type element, ptx::Cache cache,
                   ptx::Eviction eviction);

// ---- shared.cpp: buffers
LogicalResult lowerAlloc(ThreadContext &t, ttg::AllocOp op);
LogicalResult lowerAllocBarriers(ThreadContext &t, ttg::AllocBarriersOp op);
LogicalResult lowerStage(ThreadContext &t, ttg::StageOp op);
LogicalResult lowerView(ThreadContext &t, ttg::ViewOp op);
LogicalResult lowerLoadShared(ThreadContext &t, ttg::LoadSharedOp op);
LogicalResult lowerStoreShared(ThreadContext &t, ttg::StoreSharedOp op);
LogicalResult lowerCtaBarrier(ThreadContext &t, ttg::CtaBarrierOp op);
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
/// A tile in `layout` from and to shared memory at `base`, where `shared` describes its
/// place. The plan is proven first; errors go to `op`. `nothing`: see loopVariantZero.
mlir::FailureOr<ThreadValues> loadTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                                Type type);
LogicalResult storeTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                        mlir::ValueRange held, bool stmatrix, Value nothing);
/// Values side by side as one integer, the first lowest; and back.
Value packed(ThreadContext &t, mlir::ValueRange values);
ThreadValues unpacked(ThreadContext &t, Value word, Type element);

// ---- matrix.cpp
/// A zero that ptxas cannot distinguish from a number of the iteration: the highest bit of a slot's address. ptxas computes
/// invariant values (matrix descriptors, addresses of a buffer) before the loop and keeps each in a register; with this
/// zero added, they are computed where they are used. Null if the buffer changes, or the registers are not worth it.
Value loopVariantZero(ThreadContext &t, mlir::Operation *op, Value buffer);
LogicalResult lowerDot(ThreadContext &t, tt::DotOp op);
LogicalResult lowerWgmma(ThreadContext &t, ttg::WgmmaOp op);
LogicalResult lowerWgmmaWait(ThreadContext &t, ttg::WgmmaWaitOp op);
LogicalResult lowerFmaDot(ThreadContext &t, ttg::FmaDotOp op);

// ---- math.cpp
LogicalResult lowerElementwise(ThreadContext &t, mlir::Operation *op);
LogicalResult lowerMath(ThreadContext &t, mlir::Operation *op);
LogicalResult lowerExtern(ThreadContext &t, tt::ExternElementwiseOp op);
LogicalResult lowerFloatConversion(ThreadContext &t, mlir::Operation *op, bool towardZero);
ThreadValues convertFloats(ThreadContext &t, const ThreadValues &values, Type from, Type to, bool towardZero);
ThreadValues upcastBytes(ThreadContext &t, const ThreadValues &bytes, Type format); // to f32
/// What libm calls `name`, of floats of 16 to 64 bits; null if it is not known.
Value mathFunction(ThreadContext &t, llvm::StringRef name, mlir::ValueRange operands);

// ---- small_floats.cpp
LogicalResult lowerUnpackE2m1(ThreadContext &t, ttg::UnpackE2m1Op op);

// ---- convert.cpp
LogicalResult lowerConvert(ThreadContext &t, ttg::ConvertLayoutOp op);
/// The tile in another layout, on behalf of `op`, whose scratch it may use.
mlir::FailureOr<ThreadValues> convertThreadValues(ThreadContext &t, mlir::Operation *op, const ThreadValues &held, const Layout &from, const Layout &to);

// ---- exchange.cpp, scan.cpp
LogicalResult lowerReadCluster(ThreadContext &t, ttg::ReadClusterOp op);
LogicalResult lowerReduce(ThreadContext &t, tt::ReduceOp op);
LogicalResult lowerScan(ThreadContext &t, tt::ScanOp op);
/// What a thread holds of tiles with one layout: [register][tile].
using HeldTiles = std::vector<ThreadValues>;
/// The tiles in `layout`; those with other layouts are converted.
mlir::FailureOr<HeldTiles> heldIn(ThreadContext &t, mlir::Operation *op, mlir::ValueRange tiles, const Layout &layout);
/// The values of the lane whose number differs by `bit`.
ThreadValues ofOtherLane(ThreadContext &t, mlir::ValueRange values, int64_t bit);
/// The results of `op`, which are held in `layout`, converted to their own layouts.
LogicalResult setInLayouts(ThreadContext &t, mlir::Operation *op, const HeldTiles &held, const Layout &layout);
/// Runs the region of a reduction or a scan on scalars.
mlir::FailureOr<ThreadValues> combine(ThreadContext &t, mlir::Block &region, mlir::ValueRange first, mlir::ValueRange second);

// ---- pick.cpp
/// The pair (number, index) that a reduction picks of those that all threads of the warp hold, in all of them. `isNumberUsed`: it has
/// the sign of its zero; otherwise it is only equal.
ThreadValues argReduceInWarp(ThreadContext &t, const ArgReduction &pick, llvm::ArrayRef<ThreadValues> pairs, bool isNumberUsed);

// ---- gather.cpp
LogicalResult lowerGather(ThreadContext &t, tt::GatherOp op);
LogicalResult lowerHistogram(ThreadContext &t, tt::HistogramOp op);
LogicalResult lowerCat(ThreadContext &t, tt::CatOp op);
/// Writes the tile to shared memory in row-major order, from element `firstElement` on; one thread writes each element.
void storeFlat(ThreadContext &t, Value base, const ThreadValues &held, const Layout &layout, int64_t firstElement);
Value loadFlat(ThreadContext &t, Value base, Value index, Type type);
ThreadValues loadAllFlat(ThreadContext &t, Value base, const Layout &layout, Type type);

// ---- debug.cpp
LogicalResult lowerPrint(ThreadContext &t, tt::PrintOp op);
LogicalResult lowerAssert(ThreadContext &t, tt::AssertOp op);
LogicalResult lowerInlineAsm(ThreadContext &t, tt::ElementwiseInlineAsmOp op);
LogicalResult lowerMapElementwise(ThreadContext &t, tt::MapElementwiseOp op);

/// Interleaves the stores before the next operation, if they store what is made from tiles in shared memory, with the code that makes it.
void interleaveStores(ThreadContext &t);

} // namespace tilewright::gpu
