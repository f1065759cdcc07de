#include "gpu/schedule/loops/program_order.h"

#include "ir/volatile_load.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

ProgramOrder programOrderOf(Operation *op) {
  using enum ProgramOrder;
  if (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op)) return op->use_empty() ? atomic : atomic | learnsWrites;
  if (auto load = dyn_cast<tt::LoadOp>(op)) return tt::mayChangeMeanwhile(load) ? learnsWrites : none;
  if (auto assembly = dyn_cast<tt::ElementwiseInlineAsmOp>(op)) return assembly.getPure() ? none : learnsWrites;
  if (isa<scf::WhileOp>(op) || ttg::isDebugBarrier(op)) return waits;
  return isa<ttg::ReadClusterOp>(op) ? exchanges : none;
}

bool contains(Operation *within, ProgramOrder orders) {
  auto isFound = [&](Operation *op) { return any(programOrderOf(op) & orders) ? WalkResult::interrupt() : WalkResult::advance(); };
  return within->walk(isFound).wasInterrupted();
}

} // namespace tilewright::gpu
