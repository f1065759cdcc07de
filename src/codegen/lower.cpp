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
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/FoldUtils.h"

using namespace mlir;

namespace tilewright {

/// Our patterns match completely before they change anything, so no changes need to be recorded for rollback.
static ConversionConfig configuration() {
  ConversionConfig config;
  config.allowPatternRollback = false;
  return config;
}

/// The structured operations of a region, except those nested in others.
static void collectOutermost(Region &region, llvm::SmallVectorImpl<Operation *> &found) {
  for (Block &block : region)
    for (Operation &op : block)
      if (op.getNumRegions() > 0 && isa<scf::SCFDialect>(op.getDialect())) found.push_back(&op);
}

/// Goes from the last to the first: each one splits its block and moves what follows it, which is little if that is in blocks of its own
/// already. From the first on, a kernel of a thousand loops in a row took quadratic time. Outer operations go before those inside them.
static LogicalResult lowerStructured(Region &region, PatternRewriter &rewriter, PatternApplicator &patterns) {
  llvm::SmallVector<Operation *> waiting;
  collectOutermost(region, waiting);
  while (!waiting.empty()) {
    Operation *op = waiting.pop_back_val();
    for (Region &inner : op->getRegions())
      collectOutermost(inner, waiting);
    rewriter.setInsertionPoint(op);
    if (failed(patterns.matchAndRewrite(op, rewriter))) return op->emitError("structured control flow without a lowering");
  }
  return success();
}

static LogicalResult lowerStructuredLoops(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  PatternApplicator applicator(frozen);
  applicator.applyDefaultCostModel();
  PatternRewriter rewriter(context);
  for (Operation &op : module.getOps())
    for (Region &region : op.getRegions())
      if (failed(lowerStructured(region, rewriter, applicator))) return failure();
  return success();
}

/// The lowerings write a constant wherever one is used, and sums with zero. What is folded
/// here need not be converted, verified and translated, which takes five times as long.
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
