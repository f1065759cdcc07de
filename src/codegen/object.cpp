// A kernel must compile in milliseconds at its first launch, and the lowering has already chosen vectors, unrolling and
// blocking. So LLVM's -O3 does not fit (vectorisers, unrollers, interprocedural passes: most of its time, and several undo
// the lowering's choices). What does is to clean up what a simple emitter leaves (repeated address arithmetic, dead code,
// invariant values in loops), and then instruction selection, scheduling and register allocation, which LLVM does well.
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
void LLVMInitializeX86AsmParser(); // for a kernel's own assembly
}

namespace tilewright {

void allowFpFusion(mlir::ModuleOp module) {
  module->setAttr(fusionAttribute, mlir::UnitAttr::get(module.getContext()));
}

/// No unwind tables: nothing that a kernel calls throws.
static void prepare(Function &function) {
  function.setDoesNotThrow();
}

std::optional<std::string> generateCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
  CodeGenerator generator{"x86_64-unknown-linux-gnu", target.cpu, target.features, CodeModel::Small, prepare, [](Function &) {}};
  return generate(module, generator, kind);
}

} // namespace tilewright
