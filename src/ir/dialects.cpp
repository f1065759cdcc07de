// Registers all dialects that a module may contain before lowering. The gpu and llvm dialects are needed for two operations of upstream's
// IR, gpu.barrier (tl.debug_barrier) and llvm.intr.assume (tl.assume). This is a separate file because their headers are large.
#include "ir/tt.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

void tilewright::tt::registerDialects(DialectRegistry &registry) {
  registry.insert<TTDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, cf::ControlFlowDialect, ub::UBDialect,
                  gpu::GPUDialect, LLVM::LLVMDialect>();
}
