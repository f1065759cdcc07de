// The ttg dialect's C++ face. The operations themselves are in ttg.td.
#pragma once

#include "gpu/layout/layout.h"
#include "gpu/machine/ptx.h"
#include "gpu/tiles/ttg_attributes.h"
#include "ir/address/indices.h"
#include "ir/tt.h"

#include "gpu/tiles/ttg_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "gpu/tiles/ttg_attrs.h.inc"
#include "gpu/tiles/ttg_dialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "gpu/tiles/ttg_types.h.inc"
#define GET_OP_CLASSES
#include "gpu/tiles/ttg_ops.h.inc"

namespace mlir {
class ModuleOp;
}
namespace tilewright {
struct GpuTarget;
}

namespace tilewright::ttg {

/// What the kernel is compiled for; null if it has none.
ConfigAttr configOf(mlir::Operation *function);
/// The facts that this kernel must do without.
address::FailedGuards failedGuardsOf(tt::FuncOp kernel);
/// Notes that the kernel's code relies on the facts.
void relyOn(tt::FuncOp kernel, llvm::ArrayRef<LaunchGuard> guards);
/// Whether the memory behind one pointer may be assumed not to overlap that behind the other:
/// they come from two arguments whose tensors lie apart. From here on the kernel relies on that.
bool assumeNoAlias(mlir::Value pointer, mlir::Value other);
/// Runs a pass on each kernel of the module, which it may replace; an error where a kernel has no config, or one for an unknown target.
mlir::LogicalResult onKernels(mlir::ModuleOp module,
                              llvm::function_ref<mlir::LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass);
/// The same for passes that work on tiles with layouts, which are checked first: each tile in the kernel has a layout of its own shape, for
/// as many threads as the kernel has, that holds all of its elements; and what is combined element by element has one layout.
mlir::LogicalResult onKernelsWithLayouts(mlir::ModuleOp module,
                                         llvm::function_ref<mlir::LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass);
/// Erases operations inside `root` that have no effect and whose results are not used.
void eraseDead(mlir::Operation *root);
/// The extents of a tile.
gpu::Dims shapeOf(mlir::Type tile);
/// The layout of a tile; it must have one.
gpu::Layout layoutOf(mlir::Type tile);
bool hasLayout(mlir::Type type);
/// `tile` with the layout `layout` instead of its own.
mlir::RankedTensorType withLayout(mlir::RankedTensorType tile, const gpu::Layout &layout);

} // namespace tilewright::ttg
