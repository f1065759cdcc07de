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
/// What passes have decided about an operation (see the attributes of these names in ttg.td).
constexpr llvm::StringLiteral productName = "ttg.product";
constexpr llvm::StringLiteral accessName = "ttg.access";
constexpr llvm::StringLiteral choicesName = "ttg.choices";
constexpr llvm::StringLiteral pipelineName = "ttg.pipeline";
/// Of an operation of a program that runs on several blocks: the dimension along which they share its tile, or -1: each has all of it.
constexpr llvm::StringLiteral splitName = "ttg.split";
/// On a load or store that feeds or drains a product: why it goes without a tensor map (a string, for people).
constexpr llvm::StringLiteral noDescriptorName = "ttg.no_descriptor";
/// On a load in a loop: why it does not run ahead of it (a string, for people).
constexpr llvm::StringLiteral notAheadName = "ttg.not_ahead";

/// Of a kernel: what it takes for granted about its launches (Facts), and what it may not (strings; `everyFact`: nothing at all).
constexpr llvm::StringLiteral factsName = "ttg.facts";
constexpr llvm::StringLiteral refutedName = "ttg.refuted_facts";
/// Of an argument whose value its kernel's author does not want to be specialised on (a unit).
constexpr llvm::StringLiteral notSpecializedName = "ttg.not_specialized";

/// Of an operation that makes a 64-bit number of a 32-bit one (arith.extsi, tt.addptr): the narrow one is what its sums and products are as
/// exact numbers; they have not wrapped around.
constexpr llvm::StringLiteral exactName = "ttg.exact";
/// Of an allocation, and of an operation that needs scratch memory: where, in bytes from the start of shared memory.
constexpr llvm::StringLiteral offsetName = "ttg.offset";
/// Of an access to global memory: so many consecutive registers of a thread are neighbours in memory, aligned to their size together (at
/// most 16 bytes), and share one value of the mask.
constexpr llvm::StringLiteral vectorName = "ttg.vector";
/// Of an atomic operation: the first block of the cluster performs it alone.
constexpr llvm::StringLiteral firstBlockName = "ttg.first_block";
/// Of a kernel: one warp starts the copies of its loops and does nothing else (split-roles).
constexpr llvm::StringLiteral rolesName = "ttg.roles";
/// Of a kernel: why it has no warp that does nothing but start copies (a string, for people).
constexpr llvm::StringLiteral noRolesName = "ttg.no_roles";
/// Of an operation in such a kernel: that warp's work.
constexpr llvm::StringLiteral producerName = "ttg.producer";
/// Of a kernel: why more blocks work on its programs than were asked for (a string, for people).
constexpr llvm::StringLiteral moreBlocksName = "ttg.more_blocks";
/// Of a kernel: all the shared memory it needs, in bytes.
constexpr llvm::StringLiteral sharedBytesName = "ttg.shared_bytes";

/// What the kernel is compiled for; null if it has none.
ConfigAttr configOf(mlir::Operation *function);
/// The facts that this kernel must do without.
address::RefutedFacts refutedFacts(tt::FuncOp kernel);
/// Notes that the kernel's code relies on the facts.
void relyOn(tt::FuncOp kernel, llvm::ArrayRef<LaunchFact> facts);
/// Whether what one pointer reaches may be taken not to overlap what the other one does: they come from two arguments whose tensors lie
/// apart. The kernel relies on it from here on.
bool areApart(mlir::Value pointer, mlir::Value other);
/// Runs a pass on each kernel of the module, which it may replace; an error where a kernel has no config, or one for an unknown target.
mlir::LogicalResult onKernels(mlir::ModuleOp module,
                              llvm::function_ref<mlir::LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass);
/// The same for passes that work on tiles with layouts, which are checked first: each tile in the kernel has a layout of its own shape, for
/// as many threads as the kernel has, that holds all of its elements; and what is combined element by element has one layout.
mlir::LogicalResult onKernelsWithLayouts(mlir::ModuleOp module,
                                         llvm::function_ref<mlir::LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass);
/// Erases the operations inside of `root` that do nothing and whose results are not used.
void eraseDead(mlir::Operation *root);
/// The extents of a tile.
gpu::Dims shapeOf(mlir::Type tile);
/// The layout of a tile; it must have one.
gpu::Layout layoutOf(mlir::Type tile);
bool hasLayout(mlir::Type type);
/// `tile` with the layout `layout` in place of its own.
mlir::RankedTensorType withLayout(mlir::RankedTensorType tile, const gpu::Layout &layout);

} // namespace tilewright::ttg
