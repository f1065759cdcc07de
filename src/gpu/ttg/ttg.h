// C++ declarations of the ttg dialect. The operations are defined in ttg.td.
#pragma once

#include "gpu/layout/layout.h"
#include "gpu/ttg/ttg_attributes.h"
#include "ir/address/indices.h"
#include "ir/tt.h"

#include "gpu/ttg/ttg_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "gpu/ttg/ttg_attrs.h.inc"
#include "gpu/ttg/ttg_dialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "gpu/ttg/ttg_types.h.inc"
#define GET_OP_CLASSES
#include "gpu/ttg/ttg_ops.h.inc"

namespace mlir {
class ModuleOp;
}
namespace tilewright {
struct GpuTarget;
/// The launch guards that an answer about a kernel rests on. An analysis records nothing: the pass that acts on the answer calls relyOn.
using LaunchGuards = std::vector<LaunchGuard>;
} // namespace tilewright

namespace tilewright::ttg {

/// Returns the kernel's compile configuration; null if it has none.
ConfigAttr configOf(mlir::Operation *function);
/// Returns the partitions with which the kernel ends; null if there are none.
WarpSpecializeOp partitionsAtEnd(tt::FuncOp kernel);
/// Returns the launch guards that have failed, so this kernel must not assume them.
address::FailedGuards failedGuardsOf(tt::FuncOp kernel);
/// Records that the kernel's code relies on the guards.
void relyOn(tt::FuncOp kernel, llvm::ArrayRef<LaunchGuard> guards);
/// Returns the launch guard under which the memory of one pointer is disjoint from that of the other: they come from two arguments whose
/// tensors do not overlap. Null if this cannot be assumed.
std::optional<LaunchGuard> noAliasGuard(mlir::Value pointer, mlir::Value other);
/// Records for explain what a pass has decided about an operation with a location, or about a layout, and why.
void remark(tt::FuncOp kernel, llvm::StringRef pass, mlir::Attribute about, llvm::StringRef text);
/// Returns all remarks of the kernel's passes.
llvm::SmallVector<RemarkAttr> remarksOf(tt::FuncOp kernel);
/// Runs a pass on each kernel of the module, which it may replace. Reports an error if a kernel has no config, or one for an unknown
/// target.
mlir::LogicalResult onKernels(mlir::ModuleOp module,
                              llvm::function_ref<mlir::LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass);
/// Runs a pass that works on tiles with layouts, and verifies the layouts first. Each tile's layout has the tile's shape, fits the number
/// of threads and holds all elements. All operands and results of an elementwise operation have one layout.
mlir::LogicalResult onKernelsWithLayouts(mlir::ModuleOp module,
                                         llvm::function_ref<mlir::LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass);
/// Returns the partition whose warps run the operation: its attribute `ttg.partition`; the consumers', without one.
Partition partitionOf(mlir::Operation *op);
void setPartition(mlir::Operation *op, Partition partition);
/// True for gpu.barrier, which tl.debug_barrier becomes: all threads of the program wait for each other, those of all CTAs of a cluster.
bool isDebugBarrier(mlir::Operation *op);
/// Erases operations inside `root` that have no effect and whose results are not used.
void eraseDead(mlir::Operation *root);
/// Returns the extents of a tile.
gpu::Dims shapeOf(mlir::Type tile);
/// Returns the layout of a tile; it must have one.
gpu::Layout layoutOf(mlir::Type tile);
bool hasLayout(mlir::Type type);
/// Returns the type `tile` with the layout `layout` instead of its own.
mlir::RankedTensorType withLayout(mlir::RankedTensorType tile, const gpu::Layout &layout);

} // namespace tilewright::ttg
