// All dialects that a module may hold before lowering. The gpu and llvm dialects are here for two operations of upstream's text,
// gpu.barrier (tl.debug_barrier) and llvm.intr.assume (tl.assume); their headers are why this is a file of its own.
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
