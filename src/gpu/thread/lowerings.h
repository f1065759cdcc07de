// The lowerings, one function for each operation, in the files that the headings name. lower_to_threads.cpp has the table of all of them.
// Each reads the scalars of its operands from the context, and stores those of its results there. Shared helper functions follow the
// lowerings.
#pragma once

#include "gpu/schedule/scratch.h"
#include "gpu/thread/thread_context.h"
#include "gpu/tiles/arg_reduction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

// ---- lower_to_threads.cpp: control flow, shapes
LogicalResult lowerBlock(ThreadContext &t, mlir::Block &block);
/// The same for a loop body, a branch or a partition.
LogicalResult lowerPart(ThreadContext &t, mlir::Block &block);
/// Computes each register of the result from the same registers of the operands. `element` returns null if it has failed and reported an
/// error.
LogicalResult lowerElements(ThreadContext &t, mlir::Operation *op, llvm::function_ref<Value(mlir::ValueRange)> element);

// ---- partitions.cpp
LogicalResult lowerWarpSpecialize(ThreadContext &t, ttg::WarpSpecializeOp op);

// ---- memory.cpp
LogicalResult lowerLoad(ThreadContext &t, tt::LoadOp op);
LogicalResult lowerStore(ThreadContext &t, tt::StoreOp op);
LogicalResult lowerAtomic(ThreadContext &t, tt::AtomicRMWOp op);
LogicalResult lowerCompareSwap(ThreadContext &t, tt::AtomicCASOp op);
/// Returns the atomic operation of a scalar loop that does nothing but retry it; null for other loops.
mlir::Operation *triedBy(mlir::scf::WhileOp loop);
/// One thread runs the loop around `attempt`; the other threads wait for it.
LogicalResult lowerSpin(ThreadContext &t, mlir::scf::WhileOp loop, mlir::Operation *attempt);
ptx::Eviction evictionOf(tt::EvictionPolicy policy);
/// Inserts a barrier of all threads if this access must not overtake an earlier one of another thread. Returns true if it did. Later
/// accesses are checked against this one.
bool orderAccess(ThreadContext &t, mlir::Operation *op);
/// Adds the accesses of the loop's body to the log, as if an earlier iteration had made them.
void expectIteration(ThreadContext &t, mlir::Operation *loop);
/// The memory form of a scalar, where i1 is a byte; and back.
Type memoryType(ThreadContext &t, Type scalar);
Value toMemory(ThreadContext &t, Value scalar);
Value fromMemory(ThreadContext &t, Value stored, Type scalar);
/// `count` contiguous elements from any address, by loads of aligned words (unaligned_load.cpp). `masks`: one for each element, or none.
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
/// Loads or stores a tile in `layout` in shared memory at `base`, in the arrangement `shared`. The plan is verified first; errors go to
/// `op`. `variantZero`: see loopVariantZero.
mlir::FailureOr<ThreadValues> loadTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                                       Type type);
LogicalResult storeTile(ThreadContext &t, mlir::Operation *op, Value base, const Layout &layout, const SharedLayout &shared,
                        mlir::ValueRange held, bool stmatrix, Value variantZero);
/// Packs contiguous values into one integer, the first in the lowest bits; and back.
Value packed(ThreadContext &t, mlir::ValueRange values);
ThreadValues unpacked(ThreadContext &t, Value word, Type element);

// ---- matrix.cpp
/// Returns a loop-variant zero: the highest bit of a stage's address. ptxas hoists invariant values (matrix descriptors, buffer
/// addresses) out of the loop, and keeps each in a register. Adding this zero to an address stops that. Null if the buffer changes with
/// the loop, or if there are few such values.
Value loopVariantZero(ThreadContext &t, mlir::Operation *op, Value buffer);
LogicalResult lowerDot(ThreadContext &t, tt::DotOp op);
LogicalResult lowerWgmma(ThreadContext &t, ttg::WgmmaOp op);
LogicalResult lowerWgmmaWait(ThreadContext &t, ttg::WgmmaWaitOp op);
LogicalResult lowerFmaDot(ThreadContext &t, ttg::FmaDotOp op);

// ---- scaled_dot.cpp
LogicalResult lowerScaledDot(ThreadContext &t, tt::DotScaledOp op);

// ---- math.cpp
LogicalResult lowerElementwise(ThreadContext &t, mlir::Operation *op);
LogicalResult lowerMath(ThreadContext &t, mlir::Operation *op);
LogicalResult lowerExtern(ThreadContext &t, tt::ExternElementwiseOp op);
LogicalResult lowerFloatConversion(ThreadContext &t, mlir::Operation *op, bool towardZero);
ThreadValues convertFloats(ThreadContext &t, const ThreadValues &values, Type from, Type to, bool towardZero);
ThreadValues upcastBytes(ThreadContext &t, const ThreadValues &bytes, Type format); // to f32
/// The function that libm calls `name`, of floats of 16 to 64 bits; null if it is not known.
Value mathFunction(ThreadContext &t, llvm::StringRef name, mlir::ValueRange operands);

// ---- small_floats.cpp
LogicalResult lowerUnpackE2m1(ThreadContext &t, ttg::UnpackE2m1Op op);

// ---- convert.cpp
LogicalResult lowerConvert(ThreadContext &t, ttg::ConvertLayoutOp op);
/// Converts a tile to another layout. `op` provides the scratch memory and the location.
mlir::FailureOr<ThreadValues> convertThreadValues(ThreadContext &t, mlir::Operation *op, const ThreadValues &held, const Layout &from,
                                                  const Layout &to);

// ---- exchange.cpp, scan.cpp
LogicalResult lowerReadCluster(ThreadContext &t, ttg::ReadClusterOp op);
LogicalResult lowerReduce(ThreadContext &t, tt::ReduceOp op);
LogicalResult lowerScan(ThreadContext &t, tt::ScanOp op);
/// The registers of tiles with a common layout: [register][tile].
using HeldTiles = std::vector<ThreadValues>;
/// The tiles in `layout`; those with other layouts are converted.
mlir::FailureOr<HeldTiles> heldIn(ThreadContext &t, mlir::Operation *op, mlir::ValueRange tiles, const Layout &layout);
/// The values of the lane whose number differs by `bit`.
ThreadValues ofOtherLane(ThreadContext &t, mlir::ValueRange values, int64_t bit);
/// The reduction of an i32 over the lanes of a warp: one instruction, or a butterfly on GPUs without it. All lanes get the result.
Value reduceWarp(ThreadContext &t, ptx::Redux kind, Value value);
/// Sets the results of `op`, which are held in `layout`, converted to their own layouts.
LogicalResult setInLayouts(ThreadContext &t, mlir::Operation *op, const HeldTiles &held, const Layout &layout);
/// Lowers the region of a reduction or scan on scalars.
mlir::FailureOr<ThreadValues> combine(ThreadContext &t, mlir::Block &region, mlir::ValueRange first, mlir::ValueRange second);

// ---- arg_reduce.cpp
/// The pair (number, index) that an argmin or argmax reduction selects among the pairs of all threads of a warp; all threads get it.
/// `isNumberUsed`: the number has the right sign of zero. Otherwise it only compares equal.
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

/// If the next operation follows stores of values computed from tiles in shared memory: interleaves the stores with their producers.
void interleaveStores(ThreadContext &t);

} // namespace tilewright::gpu
