// A kernel must compile in milliseconds at its first launch, and the lowering has already chosen vectors, unrolling and blocking. So LLVM's
// -O3 (vectorisers, unrollers, interprocedural passes: most of its time, and several undo the lowering's choices) is not what is wanted.
// What is: clean-up of what a simple emitter leaves (repeated address arithmetic, dead code, values that do not change in a loop), then
// instruction selection, loop strength reduction, scheduling and register allocation, which are LLVM's to do well.
#include "codegen/object.h"

#include "codegen/llvm_module.h"
#include "ir/refusal.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace llvm;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace tilewright {

static constexpr StringLiteral tripleName = "x86_64-unknown-linux-gnu";

void allowFpFusion(mlir::ModuleOp module) {
  module->setAttr(fusionAttribute, mlir::UnitAttr::get(module.getContext()));
}

static const Target *x86(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  return TargetRegistry::lookupTarget(Triple(tripleName), error);
}

static std::unique_ptr<TargetMachine> createMachine(const CpuTarget &target, bool fuse, std::string &error) {
  const Target *found = x86(error);
  if (!found) return nullptr;
  TargetOptions options;
  options.AllowFPOpFusion = fuse ? FPOpFusion::Fast : FPOpFusion::Standard;
  return std::unique_ptr<TargetMachine>(found->createTargetMachine(Triple(tripleName), target.cpu, target.features, options, Reloc::PIC_,
                                                                   CodeModel::Small, CodeGenOptLevel::Default));
}

static void prepare(Module &module, const TargetMachine &machine) {
  module.setTargetTriple(Triple(tripleName));
  module.setDataLayout(machine.createDataLayout());
  for (Function &function : module)
    function.setDoesNotThrow(); // no unwind tables: nothing that a kernel calls throws
}

std::optional<std::string> generateCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind) {
  std::string error;
  std::unique_ptr<TargetMachine> machine = createMachine(target, module->hasAttr(fusionAttribute), error);
  if (!machine) {
    refuse(module, Diag::noCode, {error});
    return std::nullopt;
  }
  LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(error));
  std::unique_ptr<Module> translated = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!translated) return std::nullopt; // the translation has reported why
  prepare(*translated, *machine);
  cleanUp(*translated, *machine);
  if (kind == CodeKind::llvm) return textOf(*translated);
  auto type = kind == CodeKind::assembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile;
  std::optional<std::string> code = emitFile(*translated, *machine, type);
  if (!error.empty() || !code) {
    refuse(module, Diag::noCode, {error.empty() ? "it has no emitter for this kind of file" : error});
    return std::nullopt;
  }
  return code;
}

} // namespace tilewright
