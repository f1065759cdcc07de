// A kernel must compile in milliseconds at its first launch, and the lowering has already chosen vectors, unrolling and blocking. So
// LLVM's -O3 is not used: vectorizers, unrollers and interprocedural passes take most of its time, and some undo these choices. Instead,
// a short list of passes cleans up repeated address arithmetic, dead code and loop-invariant values. Then LLVM selects instructions,
// schedules them and allocates registers.
#include "codegen/object.h"

#include "codegen/llvm_module.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/IR/Function.h"

#include <mutex>

using namespace llvm;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeX86AsmParser(); // for inline assembly in kernels
}

namespace tilewright {

void allowFpFusion(mlir::ModuleOp module) {
  module->setAttr(fusionAttribute, mlir::UnitAttr::get(module.getContext()));
}

/// Omits unwind tables: the functions that a kernel calls do not throw.
static void prepare(Function &function) {
  function.setDoesNotThrow();
}

void registerCpuBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

std::optional<std::string> generateCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind) {
  registerCpuBackend();
  CodeGenerator generator{"x86_64-unknown-linux-gnu", target.cpu, target.features, CodeModel::Small, prepare, [](Function &) {}};
  return generate(module, generator, kind);
}

} // namespace tilewright
