// What reductions, scans and other exchanges between threads share.
#pragma once

#include "gpu/thread/thread_context.h"
#include "gpu/tiles/arg_reduction.h"

namespace tilewright::gpu {

/// Converts a tile to another layout (convert.cpp). `op` provides the scratch memory and the location.
mlir::FailureOr<ThreadValues> convertThreadValues(ThreadContext &t, mlir::Operation *op, const ThreadValues &held, const Layout &from,
                                                  const Layout &to);
/// The registers of tiles with a common layout: [register][tile].
using HeldTiles = std::vector<ThreadValues>;
/// The tiles in `layout`; those with other layouts are converted.
mlir::FailureOr<HeldTiles> heldIn(ThreadContext &t, mlir::Operation *op, mlir::ValueRange tiles, const Layout &layout);
/// The values of the lane whose number differs by `bit`.
ThreadValues ofOtherLane(ThreadContext &t, mlir::ValueRange values, int64_t bit);
/// The reduction of two integers of 32 bits.
Value reducePair(ThreadContext &t, ptx::Redux kind, Value a, Value b);
/// The reduction of an i32 over the lanes of a warp: one instruction, or a butterfly on GPUs without it. All lanes get the result.
Value reduceWarp(ThreadContext &t, ptx::Redux kind, Value value);
/// Sets the results of `op`, which are held in `layout`, converted to their own layouts.
LogicalResult setInLayouts(ThreadContext &t, mlir::Operation *op, const HeldTiles &held, const Layout &layout);
/// Lowers the region of a reduction or scan on scalars.
mlir::FailureOr<ThreadValues> combine(ThreadContext &t, mlir::Block &region, mlir::ValueRange first, mlir::ValueRange second);
/// The pair (number, index) that an argmin or argmax reduction selects among the pairs of all threads of a warp; all threads get it
/// (arg_reduce.cpp). `isNumberUsed`: the number has the right sign of zero. Otherwise it only compares equal.
ThreadValues argReduceInWarp(ThreadContext &t, const ArgReduction &pick, llvm::ArrayRef<ThreadValues> pairs, bool isNumberUsed);

} // namespace tilewright::gpu
