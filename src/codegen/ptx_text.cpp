// PTX is assembled once more by ptxas, which allocates registers and schedules. So LLVM only cleans up what a simple emitter leaves
// (repeated address arithmetic, dead code, values that do not change in a loop) and selects instructions; like the CPU's code generation it
// runs a short list of passes, in milliseconds.
//
// MLIR has no words for three facts about inline assembly, which are added to the LLVM IR before any pass looks at it:
//     asm "bar.sync 0;"         sideeffect                    -> convergent: not to be copied into, or moved out of, a branch
//     asm "ld.shared ..."       clobbers memory, no effect    -> memory(read): may be merged and dropped, not moved across a store
//     asm "ex2.approx ..."      neither                       -> memory(none)
#include "codegen/ptx_text.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace llvm;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tilewright {

static constexpr StringLiteral fusionAttribute = "tilewright.fp_fusion"; // of allowFpFusion
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

namespace {

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

} // namespace

static void describeAssembly(CallBase &call) {
  const auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand());
  if (!assembly) return;
  bool memory = StringRef(assembly->getConstraintString()).contains("~{memory}");
  call.setDoesNotThrow();
  if (assembly->hasSideEffects()) {
    call.setConvergent();
    if (!memory) call.setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
    return;
  }
  call.addFnAttr(Attribute::WillReturn);
  call.setMemoryEffects(memory ? MemoryEffects::readOnly() : MemoryEffects::none());
}

static void prepare(Module &module, const TargetMachine &machine) {
  module.setTargetTriple(Triple(tripleName));
  module.setDataLayout(machine.createDataLayout());
  for (Function &function : module) {
    function.setDoesNotThrow();
    if (function.isDeclaration()) continue;
    for (Argument &argument : function.args())
      if (argument.hasByValAttr()) argument.addAttr(Attribute::get(module.getContext(), "nvvm.grid_constant"));
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction)) describeAssembly(*call);
  }
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

static bool isWgmma(const Instruction &instruction) {
  const auto *call = dyn_cast<CallBase>(&instruction);
  const auto *assembly = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && StringRef(assembly->getAsmString()).contains("wgmma.mma_async");
}

/// Left to itself ptxas unrolls loops, and a loop of wgmma then waits where the schedule did not mean it to. The mark on a loop becomes
/// .pragma "nounroll".
static void keepWgmmaLoopsRolled(Function &function) {
  if (none_of(instructions(function), isWgmma)) return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop *loop : loops.getLoopsInPreorder())
    if (any_of(loop->blocks(), [](const BasicBlock *block) { return any_of(*block, isWgmma); })) loop->setLoopAlreadyUnrolled();
}

static std::string print(const Module &module) {
  std::string text;
  raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

static std::optional<std::string> emit(Module &module, TargetMachine &machine) {
  SmallString<0> bytes;
  raw_svector_ostream out(bytes);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, CodeGenFileType::AssemblyFile, /*DisableVerify=*/true)) return std::nullopt;
  passes.run(module);
  return std::string(bytes);
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
  optimise(*translated, *machine);
  for (Function &function : *translated)
    if (!function.isDeclaration()) keepWgmmaLoopsRolled(function);
  if (kind == CodeKind::llvm) return print(*translated);
  std::optional<std::string> text = emit(*translated, *machine);
  if (!error.empty() || !text) {
    module.emitError("LLVM cannot compile this module: ") << (error.empty() ? "no emitter for this kind of file" : error);
    return std::nullopt;
  }
  return text;
}

} // namespace tilewright
