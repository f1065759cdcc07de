// The CPU lowering produces llvm.func bodies of structured loops and scalar or 1-D vector arithmetic. Upstream MLIR has patterns from
// each of these to the LLVM dialect, and this file applies them. Structured control flow becomes branches first, because its patterns
// create cf and arith operations. Then everything becomes the LLVM dialect in one more walk.
#include "codegen/lower.h"

#include "codegen/ptx/effect.h"
#include "ir/tt.h"

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
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
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

/// The patterns match completely before they change anything, so no rollback is needed.
static ConversionConfig configuration() {
  ConversionConfig config;
  config.allowPatternRollback = false;
  return config;
}

// ---- loops whose counter may pass the largest number of its type

/// True if the threads of a CTA cooperate in the loop: tensor cores, barriers, asynchronous copies. One more register would cause spills
/// there.
static bool actsTogether(scf::ForOp loop) {
  return loop
      ->walk([](Operation *op) {
        auto effect = op->getAttrOfType<IntegerAttr>(effectName);
        return effect && staysInPlace(static_cast<Effect>(effect.getInt())) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True if the induction variable may overflow: then `iv + step < upper` would always hold. A loop over vectors or tiles, created by the
/// compiler, counts elements in memory with 64 bits, and cannot overflow.
static bool mayWrap(scf::ForOp loop) {
  Type type = loop.getInductionVar().getType();
  bool isLong = type.isIndex() || type.getIntOrFloatBitWidth() >= 64;
  if (isLong && !loop->hasAttr(tt::kernelLoopName)) return false;
  llvm::APInt step, upper;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step))) return true;
  if (step.isOne()) return false;
  if (!matchPattern(loop.getUpperBound(), m_ConstantInt(&upper))) return true;
  bool overflows = false;
  (void)(loop.getUnsignedCmp() ? upper.uadd_ov(step - 1, overflows) : upper.sadd_ov(step - 1, overflows));
  return overflows;
}

/// Compares before it adds:
///   before: scf.for %i = %lower to %upper step %step { BODY }
///   after:  if %lower < %upper { do { BODY } while (%i < %last, %i += %step) }        %last = %upper - %step, saturated
/// An iteration has the same number of instructions. If registers are scarce, the test uses only the loop's own registers, and one more
/// instruction: %upper - %i > %step, unsigned, because %i < %upper holds there.
static scf::IfOp compareBeforeAdding(scf::ForOp loop, PatternRewriter &rewriter) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Type type = loop.getInductionVar().getType();
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  llvm::APInt minimum = loop.getUnsignedCmp() ? llvm::APInt::getZero(bits) : llvm::APInt::getSignedMinValue(bits);
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
  Value last;
  if (!actsTogether(loop)) {
    Value lowest = arith::ConstantOp::create(b, b.getIntegerAttr(type, minimum));
    Value isLow = b.createOrFold<arith::CmpIOp>(less, upper, b.createOrFold<arith::AddIOp>(lowest, step));
    last = b.createOrFold<arith::SelectOp>(isLow, lowest, b.createOrFold<arith::SubIOp>(upper, step));
  }
  auto branch = scf::IfOp::create(b, loop.getResultTypes(), b.createOrFold<arith::CmpIOp>(less, lower, upper), loop.getNumResults() != 0);
  if (loop.getNumResults() != 0) {
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loop.getInitArgs());
  }
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> inits = {lower};
  llvm::append_range(inits, loop.getInitArgs());
  SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  auto repeated = scf::WhileOp::create(b, types, inits);
  if (loop.getNumResults() != 0) scf::YieldOp::create(b, repeated.getResults().drop_front());
  SmallVector<Location> locations(types.size(), loop.getLoc());
  Block *test = b.createBlock(&repeated.getBefore(), {}, types, locations);
  Block *again = b.createBlock(&repeated.getAfter(), {}, types, locations);
  scf::YieldOp::create(b, again->getArguments());
  rewriter.inlineBlockBefore(loop.getBody(), test, test->end(), test->getArguments());
  auto yield = cast<scf::YieldOp>(test->back()); // from here on its operands are arguments of the new block
  SmallVector<Value> next = {Value()};
  llvm::append_range(next, yield.getOperands());
  rewriter.eraseOp(yield);
  b.setInsertionPointToEnd(test);
  Value counter = test->getArgument(0);
  Value goesOn = last ? b.createOrFold<arith::CmpIOp>(less, counter, last)
                      : b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ugt, b.createOrFold<arith::SubIOp>(upper, counter), step);
  next.front() = arith::AddIOp::create(b, counter, step);
  scf::ConditionOp::create(b, goesOn, next);
  rewriter.replaceOp(loop, branch.getResults());
  return branch;
}

/// The structured operations of a region that are not nested in others.
static void collectOutermost(Region &region, llvm::SmallVectorImpl<Operation *> &found) {
  for (Block &block : region)
    for (Operation &op : block)
      if (op.getNumRegions() > 0 && isa<scf::SCFDialect>(op.getDialect())) found.push_back(&op);
}

/// Processes the operations from the last to the first. Each lowering splits its block and moves the operations after it. In this order
/// few operations are moved, so the time is linear in the number of loops. Outer operations come before those nested in them.
static LogicalResult lowerStructured(Region &region, PatternRewriter &rewriter, PatternApplicator &patterns) {
  llvm::SmallVector<Operation *> waiting;
  collectOutermost(region, waiting);
  while (!waiting.empty()) {
    Operation *op = waiting.pop_back_val();
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && mayWrap(loop)) op = compareBeforeAdding(loop, rewriter);
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

/// The lowerings create many constants, and additions of zero. Folding them here is five times as fast as converting, verifying and
/// translating them.
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
