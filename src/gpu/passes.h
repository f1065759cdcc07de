// The passes of the NVIDIA back end, in pipeline order. Each is in a file with the same name. Before them, the kernel's tt.func has a
// `ttg.config`. From selectTensorCores to lowerToThreads every tile has a layout. Passes verify both and report an error otherwise.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
}

namespace tilewright::gpu {

/// Sets tt.divisibility of arguments that a launch has found to be multiples of 8, 4 or 2. If it is unknown and would make an access wider,
/// the kernel requests a version (LaunchGuard::isVersioningRequest): launches with such arguments then use another version.
llvm::LogicalResult specializeDivisibility(mlir::ModuleOp module);

/// Sets ttg.max_value of an argument that bounds the columns of a row, if its launch has found it to be well below the block's size
/// (gpu/tiles/specialize/row_length.h). If it is unknown, the kernel requests a version.
llvm::LogicalResult specializeLengths(mlir::ModuleOp module);

/// Splits f32 dots with input_precision tf32x3, bf16x3 or bf16x6 into several tf32 or bf16 dots, if tensor cores support them.
llvm::LogicalResult splitPrecision(mlir::ModuleOp module);

/// Raises num_warps of a kernel whose accumulators do not fit into the registers of the requested warps, and num_ctas = 1 if rows or
/// accumulators do not fit in one CTA.
llvm::LogicalResult chooseWarpsAndCtas(mlir::ModuleOp module);

/// Splits a program with several CTAs (num_ctas): tiles become slices along the cheapest dimension, and exchanges between CTAs go through
/// ttg.read_cluster.
llvm::LogicalResult splitCtas(mlir::ModuleOp module);

/// Replaces index % M by a mask in the loads of a dot's rows, if rows from M on are never stored. Addresses then stay affine.
llvm::LogicalResult moduloToMask(mlir::ModuleOp module);

/// Turns loads of dots' operands and stores of their results into descriptor_load and descriptor_store, if the address is affine and the
/// mask is the tensor's bounds. Each gets a tensor map as a new last argument of the kernel (`ttg.tensor_map` tells the launcher how to
/// create it). A remark gives the reason for other accesses. Does nothing on targets without TMA.
llvm::LogicalResult formDescriptors(mlir::ModuleOp module);

/// Hoists loads from a branch that waits for memory, if a store after the branch accesses the same addresses in any case. Hoists loads
/// above a kernel's first reduction.
llvm::LogicalResult hoistLoads(mlir::ModuleOp module);

/// Marks 32-bit offsets that do not wrap around with `ttg.no_wrap`. That is proven, or a launch guard checks it. Divisions of numbers that
/// are then not negative become unsigned.
llvm::LogicalResult assumeNoWrap(mlir::ModuleOp module);

/// Assigns a layout to every tile. Tiles linked by elementwise operations and control flow share one, chosen by the cost of their memory
/// operations, dots and reductions; conversions connect these classes. Rematerializable values (addresses, masks) are computed in each
/// layout that a user needs. Loads and stores get `ttg.vector`.
llvm::LogicalResult assignLayouts(mlir::ModuleOp module);

/// Hoists the cross-thread part of a reduction out of a loop that only accumulates it; the loop then carries per-thread sums.
llvm::LogicalResult optimizeThreadLocality(mlir::ModuleOp module);

/// Lowers dots to wgmma, mma.sync or multiply-add as chooseDot decided, and puts operands that these read from shared memory into buffers.
/// Nothing overlaps yet.
llvm::LogicalResult selectTensorCores(mlir::ModuleOp module);

/// Lets stores that overwrite what TMA stores write (tt.overwrites) wait until these are complete.
llvm::LogicalResult waitForStores(mlir::ModuleOp module);

/// Keeps long rows that are reduced several times in shared memory, in the type in which they were loaded. Does nothing on targets without
/// cp.async.
llvm::LogicalResult stageRows(mlir::ModuleOp module);

/// Gives the dequantization of a dot's second operand to a warp group of its own, in one loop of the kernel, if that pays. The loop then
/// needs a producer warp. Sets `ttg.partition` on the operations, and `ttg.operand_registers` on the function.
llvm::LogicalResult partitionDequantize(mlir::ModuleOp module);

/// Gives every transfer through a tensor map buffers of its own. Afterwards each load through a map has one use, the store to a buffer that
/// TMA can fill, in the same block; and no ttg.descriptor_store is left.
llvm::LogicalResult stageTmaTransfers(mlir::ModuleOp module);

/// Moves a dot by mma.sync that only the next iteration needs after arithmetic that follows it, but not past the next dot: in loops whose
/// threads do not hold whole operands, if fewer registers are live there and shared memory suffices.
llvm::LogicalResult delayDots(mlir::ModuleOp module);

/// Lets the two CTAs of a cluster multiply together, on targets with tcgen05, if the kernel only multiplies in loops whose second operand
/// is the same in both, and if that pays. Sets `paired` of its MMAs, whose second operand then has half of the columns.
llvm::LogicalResult pairCtas(mlir::ModuleOp module);

/// Lets a CTA execute the programs of CTAs whose launch it cancels (cluster launch control), if the kernel multiplies with tcgen05 and the
/// copies of the next program then run ahead. The kernel becomes a loop with a ttg.clc_program.
llvm::LogicalResult cancelLaunches(mlir::ModuleOp module);

/// Decides the software pipeline of every loop and writes it as its attribute `ttg.loop_schedule`: which loads run ahead in circular
/// buffers, as deep as shared memory permits, which MMAs stay in flight, and whether a producer warp starts the copies. Sets
/// `ttg.warp_specialized` in that case.
llvm::LogicalResult scheduleLoops(mlir::ModuleOp module);

/// Rewrites the loops that have a schedule: copies by TMA or cp.async that run ahead, circular buffers, barriers and waits. Reports an
/// error if a schedule is invalid.
llvm::LogicalResult pipelineLoops(mlir::ModuleOp module);

/// Replaces the loads through tensor maps that pipelineLoops has left by copies that are waited for. Afterwards no ttg.descriptor_load is
/// left, and every used ttg.tensor_map has its box and swizzle.
llvm::LogicalResult copyUnpipelined(mlir::ModuleOp module);

/// Decides how the MMAs of an iteration overlap with each other and with its arithmetic: each starts as early, and its wait is as late, as
/// the code between them permits. Writes the attribute `ttg.mma_schedule` on loops, and moves nothing.
llvm::LogicalResult scheduleMmas(mlir::ModuleOp module);

/// Moves MMAs and waits as `ttg.mma_schedule` says. Reports an error if that names operations which the loop does not have.
llvm::LogicalResult overlapMmas(mlir::ModuleOp module);

/// Plans the partition that issues the MMAs of a warp-specialized kernel, on targets with tcgen05: which MMAs wait for threads, and the
/// columns of tensor memory. Writes the plan as attributes (ttg.mma_partition and others).
llvm::LogicalResult planAccumulators(mlir::ModuleOp module);

/// Carries the plan out. Without one, the first warp of the threads issues the MMAs. A sum that a loop carries stays in tensor memory;
/// other values are loaded where an MMA has ended. Replaces ttg.mma_async and ttg.mma_async_wait. Reports an error if 512 columns do not
/// suffice.
llvm::LogicalResult placeAccumulators(mlir::ModuleOp module);

/// Assigns `ttg.offset` (bytes in shared memory) to every buffer, barrier and operation with scratch, and `ttg.shared_bytes` to the
/// function. Buffers that are not live at the same time share bytes.
llvm::LogicalResult allocateShared(mlir::ModuleOp module);

/// Inserts the barriers and fences that order accesses to the same bytes of shared memory.
llvm::LogicalResult insertBarriers(mlir::ModuleOp module);

/// Makes a region of each partition's program (ttg.warp_specialize), if the schedule gives copies a producer. Afterwards no operation
/// has a mark of its partition.
llvm::LogicalResult specializeWarps(mlir::ModuleOp module);

/// Decides what the lowering of an operation needs to know of other operations, and writes it down as properties and attributes of the
/// operation, or as operations (ttg.init_barriers, ttg.loop_variant_zero).
llvm::LogicalResult prepareLowering(mlir::ModuleOp module);

/// Inserts barriers between accesses to global memory of different threads that must keep their order, and before releases. Pointers of two
/// arguments are assumed disjoint, by a launch guard.
llvm::LogicalResult orderAccesses(mlir::ModuleOp module);

/// Lowers tiles to the elements of each thread: tt and ttg on tiles become scf, arith and ptx on scalars. The kernel's tt.func then takes
/// addresses as i64 and has `ptx.kernel`. Reports an error on each operation that GPUs do not support.
llvm::LogicalResult lowerToThreads(mlir::ModuleOp module);

/// Interleaves stores to shared memory with the computation of what they store, before fences that ask for it.
llvm::LogicalResult interleaveStores(mlir::ModuleOp module);

/// Combines what a loop has loaded from tensor memory while the rest of a tile is loaded.
llvm::LogicalResult overlapTensorLoads(mlir::ModuleOp module);

/// Pipelines what loops compute by special functions and store to tensor memory.
llvm::LogicalResult pipelineTensorStores(mlir::ModuleOp module);

/// Replaces addresses of one thread with constant distances by the first one plus a constant. Runs on the result of lowerToThreads,
/// preferably after simplify, which would undo some of it.
llvm::LogicalResult cseAddresses(mlir::ModuleOp module);

} // namespace tilewright::gpu
