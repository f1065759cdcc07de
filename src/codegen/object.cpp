// A kernel must compile in milliseconds at its first launch, and the lowering has already chosen vectors, unrolling and blocking. So LLVM's
// -O3 (vectorisers, unrollers, interprocedural passes: most of its time, and several undo the lowering's choices) is not what is wanted.
// What is: clean-up of what a simple emitter leaves (repeated address arithmetic, dead code, values that do not change in a loop), then
// instruction selection, loop strength reduction, scheduling and register allocation, which are LLVM's to do well.
#include "codegen/object.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace llvm;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace tilewright {

static constexpr StringLiteral fusionAttribute = "tilewright.fp_fusion";
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

/// Errors that LLVM reports while it works, instead of the line on stderr and the exit that are its default.
class CollectErrors : public DiagnosticHandler {
public:
  explicit CollectErrors(std::string &text) : text(text) {}
  bool handleDiagnostics(const DiagnosticInfo &info) override {
    if (info.getSeverity() != DS_Error) return true;
    raw_string_ostream out(text);
    if (!text.empty()) out << "; ";
    DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    return true;
  }

private:
  std::string &text;
};

static void prepare(Module &module, const TargetMachine &machine) {
  module.setTargetTriple(Triple(tripleName));
  module.setDataLayout(machine.createDataLayout());
  for (Function &function : module)
    function.setDoesNotThrow(); // no unwind tables: nothing that a kernel calls throws
}

static void optimise(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);

  FunctionPassManager passes;
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  for (Function &function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

static std::string print(const Module &module) {
  std::string text;
  raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

static std::optional<std::string> emit(Module &module, TargetMachine &machine, CodeGenFileType type) {
  SmallString<0> bytes;
  raw_svector_ostream out(bytes);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true)) return std::nullopt;
  passes.run(module);
  return std::string(bytes);
}

std::optional<std::string> generateCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind) {
  std::string error;
  std::unique_ptr<TargetMachine> machine = createMachine(target, module->hasAttr(fusionAttribute), error);
  if (!machine) {
    module.emitError("this build of LLVM cannot generate x86-64 code: ") << error;
    return std::nullopt;
  }
  LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(error));
  std::unique_ptr<Module> translated = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!translated) return std::nullopt; // the translation has reported why
  prepare(*translated, *machine);
  optimise(*translated, *machine);
  if (kind == CodeKind::llvm) return print(*translated);
  auto type = kind == CodeKind::assembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile;
  std::optional<std::string> code = emit(*translated, *machine, type);
  if (!error.empty() || !code) {
    module.emitError("LLVM cannot compile this module: ") << (error.empty() ? "no emitter for this kind of file" : error);
    return std::nullopt;
  }
  return code;
}

} // namespace tilewright
