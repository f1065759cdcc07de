// ptxas compiles PTX again: it allocates registers and schedules. So LLVM only cleans up repeated address arithmetic, dead code and
// loop-invariant values, and selects instructions. As for the CPU, a short list of passes does that in milliseconds. They know the
// effects of inline assembly: effect.cpp.
#include "codegen/ptx/text.h"

#include "codegen/llvm_module.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

#include <mutex>

using namespace llvm;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tilewright {

static void prepare(Function &function) {
  function.setDoesNotThrow();
  if (function.isDeclaration()) return;
  for (Argument &argument : function.args())
    if (argument.hasByValAttr()) argument.addAttr(Attribute::get(function.getContext(), "nvvm.grid_constant"));
}

static bool keepsLoopRolled(const Instruction &instruction) {
  const auto *call = dyn_cast<CallBase>(&instruction);
  return call && call->hasFnAttr(keepRolledName);
}

/// ptxas unrolls loops by default, and a loop of wgmma then waits where the schedule did not intend it. The loop metadata becomes .pragma
/// "nounroll".
static void keepLoopsRolled(Function &function) {
  if (none_of(instructions(function), keepsLoopRolled)) return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop *loop : loops.getLoopsInPreorder())
    if (any_of(loop->blocks(), [](const BasicBlock *block) { return any_of(*block, keepsLoopRolled); })) loop->setLoopAlreadyUnrolled();
}

std::optional<std::string> generatePtx(mlir::ModuleOp module, const GpuTarget &target, CodeKind kind) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  CodeGenerator generator{"nvptx64-nvidia-cuda", target.name, target.llvmFeatures(), std::nullopt, prepare, keepLoopsRolled};
  return generate(module, generator, kind);
}

} // namespace tilewright
