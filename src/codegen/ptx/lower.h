// The ptx dialect -> the LLVM dialect.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

struct GpuTarget;

/// Turns each kernel of the module into an llvm.func for generatePtx. A kernel is a tt.func with the attribute `ptx.kernel`; its body is
/// scf, arith, cf, ub and ptx on scalars. Instructions that the target or PTX lacks are errors on their operations.
llvm::LogicalResult lowerPtxToLlvm(mlir::ModuleOp module, const GpuTarget &target);

} // namespace tilewright
