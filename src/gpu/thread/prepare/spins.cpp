// Loops that only retry an atomic operation or a volatile load. One thread makes the attempts:
//   before: scf.while { tt.atomic_cas %lock, 0, 1 .. }     after: .. {ttg.spin, ttg.spin_lock}
#include "gpu/thread/prepare/steps.h"
#include "gpu/ttg/ttg.h"
#include "ir/volatile_load.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::gpu {

/// The atomic operation or volatile load of a scalar loop that does nothing but retry it; null for other loops.
static Operation *triedBy(scf::WhileOp loop) {
  auto isAttempt = [](Operation &op) {
    auto load = dyn_cast<tt::LoadOp>(op);
    return isa<tt::AtomicCASOp, tt::AtomicRMWOp>(op) || (load && tt::isVolatileLoad(load));
  };
  Block &test = loop.getBefore().front();
  auto attempt = llvm::find_if(test, isAttempt);
  if (attempt == test.end() || !loop.getInits().empty() || loop->getNumResults()) return nullptr;
  bool isPlain = llvm::all_of(test.without_terminator(), [&](Operation &op) {
    return &op == &*attempt || (isPure(&op) && op.getNumRegions() == 0 && !isa<RankedTensorType>(op.getResult(0).getType()));
  });
  bool isScalar = !isa<RankedTensorType>(attempt->getOperand(0).getType());
  return isPlain && isScalar && llvm::hasSingleElement(loop.getAfter().front()) ? &*attempt : nullptr;
}

/// True if each attempt tries to take a lock, and the loop continues while another program holds it. A failed attempt changes nothing.
static bool isSpinLock(scf::WhileOp loop, tt::AtomicCASOp swap) {
  auto compare = loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
  APInt expected, taken, seen;
  if (!swap || !compare || compare.getLhs() != swap.getResult() || !matchPattern(swap.getCmp(), m_ConstantInt(&expected)) ||
      !matchPattern(swap.getVal(), m_ConstantInt(&taken)) || !matchPattern(compare.getRhs(), m_ConstantInt(&seen)))
    return false;
  arith::CmpIPredicate goesOn = compare.getPredicate();
  return expected != taken &&
         (goesOn == arith::CmpIPredicate::ne ? seen == expected : goesOn == arith::CmpIPredicate::eq && seen != expected);
}

LogicalResult markSpins(tt::FuncOp kernel, ttg::ConfigAttr config) {
  if (config.getCtas() != 1) return success();
  kernel.walk([](scf::WhileOp loop) {
    Operation *attempt = triedBy(loop);
    if (!attempt) return;
    auto unit = UnitAttr::get(loop.getContext());
    loop->setAttr(ttg::spinName, unit);
    if (isSpinLock(loop, dyn_cast<tt::AtomicCASOp>(attempt))) loop->setAttr(ttg::spinLockName, unit);
  });
  return success();
}

} // namespace tilewright::gpu
