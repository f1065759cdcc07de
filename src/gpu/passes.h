// The passes of the NVIDIA back end, in the order of a kernel's flow. Each is one file of the same name. Before them, the kernel's tt.func
// has a `ttg.config`.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
}

namespace tilewright::gpu {

/// Gives every tile a layout: tiles linked by elementwise work and control flow share one, chosen by what their memory operations, products
/// and reductions cost in it; conversions stand between. Tiles that are cheap to compute (addresses, masks) are computed in each layout that
/// is wanted. Loads and stores get `ttg.vector`.
llvm::LogicalResult assignLayouts(mlir::ModuleOp module);

/// Products become wgmma, mma.sync or multiply-and-add, as chooseDot says, and their operands tiles in shared memory where those read them
/// from there. Nothing overlaps yet.
llvm::LogicalResult selectTensorCores(mlir::ModuleOp module);

/// Tiles -> what each thread does with its own elements: tt and ttg on tiles become scf, arith and ptx on scalars. The kernel's tt.func
/// then takes addresses as i64 and carries `ptx.kernel`. What is not built for GPUs is refused with an error on the operation.
llvm::LogicalResult lowerToThreads(mlir::ModuleOp module);

} // namespace tilewright::gpu
