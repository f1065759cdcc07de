// The ptx dialect -> the LLVM dialect: how each instruction of a GPU thread is spelled.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

struct GpuTarget;

/// Turns each kernel of the module (a tt.func with the attribute `ptx.kernel`, whose body is scf, arith, cf, ub and ptx on scalars) into an
/// llvm.func that generatePtx takes. An instruction that the target lacks, or of a form that PTX lacks, is an error on its operation.
/// `flushesExp2`: exp2 gives 0 where its result is a denormal.
llvm::LogicalResult lowerPtxToLlvm(mlir::ModuleOp module, const GpuTarget &target, bool flushesExp2);

} // namespace tilewright
