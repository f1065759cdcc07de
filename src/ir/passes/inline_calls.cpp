// Back ends lower one function with structured control flow. The front end emits several functions, and an early `return` is a branch
// between blocks. So this pass first lifts every body to scf, which makes it one block. Then it inlines the bodies, callees before callers.
//   before: cf.cond_br %done, ^bb1, ^bb2    ^bb1: tt.return    ^bb2: ... tt.call @helper(%x) ... tt.return
//   after:  scf.if %done {} else { ... the body of @helper, with %x for its argument ... }    tt.return
// A function that calls itself, directly or through other functions, is an error: tiles have no stack.
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/tt.h"

#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// MLIR's lifting, plus a return after an infinite loop.
class Lifting : public ControlFlowToSCFTransformation {
public:
  FailureOr<Operation *> createUnreachableTerminator(Location loc, OpBuilder &builder, Region &region) override {
    auto func = dyn_cast<tt::FuncOp>(region.getParentOp());
    if (!func) return refuse(loc, Diag::endlessMap, {});
    SmallVector<Value> results;
    for (Type type : func.getResultTypes())
      results.push_back(ub::PoisonOp::create(builder, loc, type));
    return tt::ReturnOp::create(builder, loc, results).getOperation();
  }
};

/// Replaces a switch on an index by a chain of scf.if, so that later stages need not support switches.
void convertToIfs(scf::IndexSwitchOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value flag = op.getArg();
  Operation *cast = flag.getDefiningOp();
  if (isa_and_present<arith::IndexCastOp, arith::IndexCastUIOp>(cast)) flag = cast->getOperand(0);
  SmallVector<Value> results;
  for (int64_t i = 0, count = op.getCases().size(); i < count; ++i) {
    Value number = arith::ConstantOp::create(b, loc, b.getIntegerAttr(flag.getType(), op.getCases()[i]));
    Value here = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, flag, number);
    auto branch = scf::IfOp::create(b, loc, op.getResultTypes(), here, /*addThenBlock=*/false, /*addElseBlock=*/false);
    branch.getThenRegion().takeBody(op.getCaseRegions()[i]);
    if (i == 0)
      results.assign(branch.result_begin(), branch.result_end());
    else
      scf::YieldOp::create(b, loc, branch.getResults());
    if (i + 1 == count)
      branch.getElseRegion().takeBody(op.getDefaultRegion());
    else
      b.createBlock(&branch.getElseRegion());
  }
  op.replaceAllUsesWith(results);
  op.erase();
  if (cast && isOpTriviallyDead(cast)) cast->erase();
}

class Inliner {
public:
  explicit Inliner(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run() {
    for (tt::FuncOp func : module.getOps<tt::FuncOp>())
      if (failed(visit(func))) return failure();
    for (tt::FuncOp func : llvm::make_early_inc_range(module.getOps<tt::FuncOp>()))
      if (func.isPrivate()) func.erase();
    return success();
  }

private:
  enum class State { open, done };

  LogicalResult visit(tt::FuncOp func) {
    if (states.count(func)) return success(); // a cycle is reported at its call
    states[func] = State::open;
    if (func.isExternal()) return refuse(func, Diag::declaredOnly, {func.getName().str()});
    if (failed(lift(func))) return failure();
    SmallVector<tt::CallOp> calls;
    func.walk([&](tt::CallOp call) { calls.push_back(call); });
    for (tt::CallOp call : calls) {
      auto callee = symbols.lookup<tt::FuncOp>(call.getCallee());
      if (!callee) return refuse(call, Diag::unknownCallee, {call.getCallee().str()});
      if (states.count(callee) && states[callee] == State::open) return refuse(call, Diag::recursiveIr, {callee.getName().str()});
      if (failed(visit(callee))) return failure();
      inlineBody(call, callee);
    }
    states[func] = State::done;
    return success();
  }

  LogicalResult lift(tt::FuncOp func) {
    SmallVector<Region *> regions;
    func.walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        if (!region.empty() && !region.hasOneBlock()) regions.push_back(&region);
    });
    IRRewriter rewriter(func.getContext());
    for (Region *region : regions) {
      (void)eraseUnreachableBlocks(rewriter, *region);
      Lifting lifting;
      DominanceInfo dominance(func);
      if (failed(transformCFGToSCF(*region, lifting, dominance)) || !region->hasOneBlock())
        return bug(func, "its branches could not be turned into if and while");
    }
    func.walk([](scf::IndexSwitchOp op) {
      if (!op.getCases().empty()) convertToIfs(op);
    });
    return success();
  }

  void inlineBody(tt::CallOp call, tt::FuncOp callee) {
    OpBuilder builder(call);
    IRMapping mapping;
    Block &body = callee.getBody().front();
    mapping.map(body.getArguments(), call.getArgs());
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping)->walk([&](Operation *inner) { inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc())); });
    for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }

  ModuleOp module;
  SymbolTable symbols;
  DenseMap<Operation *, State> states;
};

} // namespace

LogicalResult tilewright::inlineCalls(ModuleOp module) {
  return Inliner(module).run();
}
