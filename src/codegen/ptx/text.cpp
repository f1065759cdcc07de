// PTX is assembled once more by ptxas, which allocates registers and schedules. So LLVM only cleans up what a simple emitter leaves
// (repeated address arithmetic, dead code, values that do not change in a loop) and selects instructions; like the CPU's code generation it
// runs a short list of passes, in milliseconds. What inline assembly does is known to them: effect.cpp.
#include "codegen/ptx/text.h"

#include "codegen/llvm_module.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace llvm;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tilewright {

static constexpr StringLiteral tripleName = "nvptx64-nvidia-cuda";

static std::unique_ptr<TargetMachine> createMachine(const GpuTarget &target, bool fuse, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  const Target *found = TargetRegistry::lookupTarget(Triple(tripleName), error);
  if (!found) return nullptr;
  TargetOptions options;
  options.AllowFPOpFusion = fuse ? FPOpFusion::Fast : FPOpFusion::Standard;
  return std::unique_ptr<TargetMachine>(found->createTargetMachine(Triple(tripleName), target.name, target.llvmFeatures(), options,
                                                                   Reloc::PIC_, std::nullopt, CodeGenOptLevel::Default));
}

static void prepare(Module &module, const TargetMachine &machine) {
  module.setTargetTriple(Triple(tripleName));
  module.setDataLayout(machine.createDataLayout());
  for (Function &function : module) {
    function.setDoesNotThrow();
    if (function.isDeclaration()) continue;
    for (Argument &argument : function.args())
      if (argument.hasByValAttr()) argument.addAttr(Attribute::get(module.getContext(), "nvvm.grid_constant"));
  }
}

static bool keepsLoopRolled(const Instruction &instruction) {
  const auto *call = dyn_cast<CallBase>(&instruction);
  return call && call->hasFnAttr(keepRolledName);
}

/// Left to itself ptxas unrolls loops, and a loop of wgmma then waits where the schedule did not mean it to. The mark on a loop becomes
/// .pragma "nounroll".
static void keepLoopsRolled(Function &function) {
  if (none_of(instructions(function), keepsLoopRolled)) return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop *loop : loops.getLoopsInPreorder())
    if (any_of(loop->blocks(), [](const BasicBlock *block) { return any_of(*block, keepsLoopRolled); })) loop->setLoopAlreadyUnrolled();
}

std::optional<std::string> generatePtx(mlir::ModuleOp module, const GpuTarget &target, CodeKind kind) {
  std::string error;
  std::unique_ptr<TargetMachine> machine = createMachine(target, module->hasAttr(fusionAttribute), error);
  if (!machine) {
    module.emitError("this build of LLVM cannot generate PTX: ") << error;
    return std::nullopt;
  }
  if (kind == CodeKind::object) {
    module.emitError("machine code of a GPU is made from PTX, by assemblePtx");
    return std::nullopt;
  }
  LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(error));
  std::unique_ptr<Module> translated = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!translated) return std::nullopt; // the translation has reported why
  prepare(*translated, *machine);
  cleanUp(*translated, *machine);
  for (Function &function : *translated)
    if (!function.isDeclaration()) keepLoopsRolled(function);
  if (kind == CodeKind::llvm) return textOf(*translated);
  std::optional<std::string> text = emitFile(*translated, *machine, CodeGenFileType::AssemblyFile);
  if (!error.empty() || !text) {
    module.emitError("LLVM cannot compile this module: ") << (error.empty() ? "no emitter for this kind of file" : error);
    return std::nullopt;
  }
  return text;
}

} // namespace tilewright
