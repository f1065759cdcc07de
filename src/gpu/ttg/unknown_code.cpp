#include "gpu/ttg/unknown_code.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright {

bool ttg::mayAccessAnyMemory(Operation *op) {
  if (!isa<tt::ElementwiseInlineAsmOp, tt::ExternElementwiseOp>(op) || isMemoryEffectFree(op)) return false;
  auto assembly = dyn_cast<tt::ElementwiseInlineAsmOp>(op);
  return !assembly || assembly.getAsmString().contains('[');
}

bool ttg::mayDependOnLaunch(Operation *op) {
  auto assembly = dyn_cast<tt::ElementwiseInlineAsmOp>(op);
  return assembly && (!assembly.getPure() || assembly.getAsmString().contains('%') || assembly.getAsmString().contains("bar"));
}

} // namespace tilewright
