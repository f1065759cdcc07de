// The passes of the NVIDIA back end, in the order of a kernel's flow. Each is one file of the same name. Before them, the kernel's tt.func
// has a `ttg.config`. From selectTensorCores to lowerToThreads every tile has a layout. Both are checked: a pass that does not find what it
// needs says so.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
}

namespace tilewright::gpu {

/// Arguments that a launch has found to be multiples of 8, 4 or 2 get that as their tt.divisibility. Where it would widen an access and is
/// not known, the kernel prefers that they are none (LaunchGuard::isVersioningRequest), so that launches for which they are use another version.
llvm::LogicalResult specializeDivisibility(mlir::ModuleOp module);

/// An argument that bounds the columns of a row, and that its launch has found to be well below the block's size, gets that as its
/// ttg.max_value (gpu/tiles/row_length.h); where it is not known, the kernel prefers that it is more.
llvm::LogicalResult specializeLengths(mlir::ModuleOp module);

/// Products of f32 with input_precision tf32x3, bf16x3 or bf16x6 become several of tf32 or bf16, where tensor cores take those.
llvm::LogicalResult splitPrecision(mlir::ModuleOp module);

/// A program that runs on several blocks (num_ctas) becomes the program of one of them: tiles become
/// slices, along the cheapest dimension; what the blocks exchange goes through ttg.read_cluster.
llvm::LogicalResult splitCtas(mlir::ModuleOp module);

/// A product's rows may be loaded at index % M if rows from M on are never
/// stored: the modulo becomes a mask, so that addresses stay affine.
llvm::LogicalResult moduloToMask(mlir::ModuleOp module);

/// Loads of products' operands and stores of their results become descriptor_load and descriptor_store where the address is affine and the
/// mask is the tensor's bounds: each gets a tensor map as a new last argument of the kernel (`ttg.tensor_map` says how the launcher makes
/// it). Others keep a `ttg.no_descriptor` that says why. Does nothing on targets without a copy engine.
llvm::LogicalResult formDescriptors(mlir::ModuleOp module);

/// A kernel whose accumulators do not fit into the registers of the warps that its author asked for gets more warps.
llvm::LogicalResult chooseWarps(mlir::ModuleOp module);

/// Loads in one arm of a branch, whose place a store after the branch writes in any case, start while the branch waits for memory.
llvm::LogicalResult hoistLoads(mlir::ModuleOp module);

/// Offsets of 32 bits that do not wrap around, which is proven or a fact of launches, are marked `ttg.no_wrap`.
llvm::LogicalResult assumeNoWrap(mlir::ModuleOp module);

/// Gives every tile a layout: tiles linked by elementwise work and control flow share one, chosen by what their
/// memory operations, products and reductions cost in it; between such groups there are conversions. Tiles that are
/// cheap to compute (addresses, masks) are computed in each layout that is needed. Loads and stores get `ttg.vector`.
llvm::LogicalResult assignLayouts(mlir::ModuleOp module);

/// A sum over a tile's dimension that a loop only adds up is made behind the loop, which carries the sums of single threads.
llvm::LogicalResult optimizeThreadLocality(mlir::ModuleOp module);

/// Products become wgmma, mma.sync or multiply-and-add, as chooseDot says, and operands
/// that those read from shared memory become tiles there. Nothing overlaps yet.
llvm::LogicalResult selectTensorCores(mlir::ModuleOp module);

/// Loads that only feed a buffer run ahead of the loop that reads it, in rings of `stages` slots as far as shared memory reaches, by the
/// copy engine or cp.async; products stay in flight over the back edge where they accumulate in place. Afterwards no ttg.descriptor_load
/// and no ttg.descriptor_store is left, and every used ttg.tensor_map has its box and swizzle.
llvm::LogicalResult pipeline(mlir::ModuleOp module);

/// Products of an iteration run at the same time, and under its arithmetic: each
/// starts as early, and is waited for as late, as the code between them allows.
llvm::LogicalResult overlapMmas(mlir::ModuleOp module);

/// Every buffer, barrier and operation with scratch gets its `ttg.offset` (bytes) in shared memory, the function its `ttg.shared_bytes`.
/// What is not in use at the same time shares bytes; the syncs that this requires are inserted, and syncs that nothing needs are dropped.
llvm::LogicalResult allocateShared(mlir::ModuleOp module);

/// Where copies have a producer (the pipeline says so), its program is separated
/// from that of the warps that multiply, and it hands registers to them.
llvm::LogicalResult specializeWarps(mlir::ModuleOp module);

/// Tiles -> what each thread does with its own elements: tt and ttg on tiles become scf, arith and ptx on scalars. The kernel's tt.func
/// then takes addresses as i64 and carries `ptx.kernel`. What is not built for GPUs is refused with an error on the operation.
llvm::LogicalResult lowerToThreads(mlir::ModuleOp module);

/// If addresses of one thread have constant distances from one another, all but the first become the first plus
/// a constant. Works on what lowerToThreads makes, preferably after simplify, which would undo some of it.
llvm::LogicalResult cseAddresses(mlir::ModuleOp module);

} // namespace tilewright::gpu
