// The ttg dialect's C++ face. The operations themselves are in ttg.td.
#pragma once

#include "gpu/layout/layout.h"
#include "gpu/machine/ptx.h"
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

/// The name of a kernel's Config attribute.
constexpr llvm::StringLiteral configName = "ttg.config";
/// The name of a map argument's TensorMap attribute.
constexpr llvm::StringLiteral tensorMapName = "ttg.tensor_map";
/// What passes have decided about an operation (ttg.td describes the attributes with these names).
constexpr llvm::StringLiteral dotChoiceName = "ttg.dot_choice";
constexpr llvm::StringLiteral accessName = "ttg.access";
constexpr llvm::StringLiteral choicesName = "ttg.choices";
constexpr llvm::StringLiteral loopScheduleName = "ttg.loop_schedule";
/// On an operation of a program with several blocks: the dimension along which they share its tile, or -1: each has all of it.
constexpr llvm::StringLiteral ctaSplitName = "ttg.cta_split";
/// On a load or store that feeds or drains a product: why it has no tensor map (a string, for people).
constexpr llvm::StringLiteral noDescriptorName = "ttg.no_descriptor";
/// On a load in a loop: why it does not run ahead of it (a string, for people).
constexpr llvm::StringLiteral notPipelinedName = "ttg.not_pipelined";

/// On a kernel: what it assumes about its launches (Facts), and what it must not assume (strings; `everyGuard`: nothing at all).
constexpr llvm::StringLiteral guardsName = "ttg.launch_guards";
constexpr llvm::StringLiteral failedGuardsName = "ttg.failed_guards";
/// On an argument whose value must not be specialised on, as the kernel's author says (a unit attribute).
constexpr llvm::StringLiteral notSpecializedName = "ttg.not_specialized";

/// On an operation that makes a 64-bit number from a 32-bit one (arith.extsi, tt.addptr): the
/// narrow number equals its sums and products as exact numbers, which have not wrapped around.
constexpr llvm::StringLiteral noWrapName = "ttg.no_wrap";
/// On an allocation, and on an operation that needs scratch memory: its place, in bytes from the start of shared memory.
constexpr llvm::StringLiteral offsetName = "ttg.offset";
/// On an access to global memory: so many consecutive registers of a thread are neighbours in
/// memory, are aligned to their common size (at most 16 bytes), and share one value of the mask.
constexpr llvm::StringLiteral vectorName = "ttg.vector";
/// On an atomic operation: only the first block of the cluster performs it.
constexpr llvm::StringLiteral firstCtaName = "ttg.first_cta";
/// On a kernel: one warp starts the copies of its loops and does nothing else (specialize-warps).
constexpr llvm::StringLiteral warpSpecializedName = "ttg.warp_specialized";
/// On a kernel: why it has no warp that only starts copies (a string, for people).
constexpr llvm::StringLiteral notWarpSpecializedName = "ttg.not_warp_specialized";
/// On an operation in such a kernel: it is that warp's work.
constexpr llvm::StringLiteral producerName = "ttg.producer";
/// On a kernel: why more blocks work on its programs than were asked for (a string, for people).
constexpr llvm::StringLiteral moreCtasName = "ttg.more_ctas";
/// On a kernel: all the shared memory that it needs, in bytes.
constexpr llvm::StringLiteral sharedBytesName = "ttg.shared_bytes";

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
