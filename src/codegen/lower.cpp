// The CPU lowering leaves llvm.func bodies of structured loops and scalar or 1-D vector arithmetic. Upstream MLIR knows how each of these
// becomes the LLVM dialect; this file only strings its patterns together: structured control flow to branches first (its patterns create
// cf and arith operations), then everything to the LLVM dialect in one more walk.
#include "codegen/lower.h"

#include "codegen/ptx/effect.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/FoldUtils.h"

using namespace mlir;

namespace tilewright {

/// Our patterns match completely before they change anything, so nothing has to be recorded for undoing.
static ConversionConfig configuration() {
  ConversionConfig config;
  config.allowPatternRollback = false;
  return config;
}

static LogicalResult lowerStructuredLoops(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns), configuration());
}

/// The lowerings write a constant down wherever one is used, and sums with zero. What is folded here need not be converted, verified and
/// translated, which takes five times as long.
static void foldConstants(ModuleOp module) {
  OperationFolder folder(module.getContext());
  module.walk([&](Operation *op) {
    if (isa<arith::ArithDialect>(op->getDialect()) || op->hasTrait<OpTrait::ConstantLike>()) (void)folder.tryToFold(op);
  });
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op)) op->erase();
  });
}

LogicalResult lowerToLlvm(ModuleOp module) {
  foldConstants(module);
  if (failed(lowerStructuredLoops(module))) return failure();
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  LLVMTypeConverter types(context, options);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  ub::populateUBToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, ub::UBDialect>();
  return applyPartialConversion(module, target, std::move(patterns), configuration());
}

void registerCodegenDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, scf::SCFDialect, ub::UBDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerEffects(registry);
}

} // namespace tilewright
