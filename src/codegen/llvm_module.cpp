// LLVM's -O3 spends most of its time on what the lowerings have already decided (vectors, unrolling, blocking), so a short list of passes
// replaces it, the same for every target.
#include "codegen/llvm_module.h"

#include "codegen/debug_info.h"
#include "codegen/line_scopes.h"
#include "codegen/stack_arguments.h"
#include "ir/refusal.h"
#include "support/settings.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LowerExpectIntrinsic.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <cstdlib>
#include <mutex>

using namespace llvm;

namespace tilewright {

namespace {
/// Collects errors that LLVM reports while it works; by default it would print a line on stderr and exit.
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

bool llvmOptimizes() {
  static const bool disabled = isSwitchedOn("DISABLE_LLVM_OPT", false);
  return !disabled;
}

static std::unique_ptr<TargetMachine> createMachine(const CodeGenerator &generator, bool fuse, std::string &error) {
  Triple triple(generator.triple);
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  if (!found) return nullptr;
  TargetOptions options;
  options.AllowFPOpFusion = fuse ? FPOpFusion::Fast : FPOpFusion::Standard;
  std::unique_ptr<TargetMachine> machine(found->createTargetMachine(triple, generator.cpu, generator.features, options, Reloc::PIC_,
                                                                    generator.model,
                                                                    llvmOptimizes() ? CodeGenOptLevel::Default : CodeGenOptLevel::None));
  // Once its register is reused, a parameter could be described as the value that the caller
  // passed. Our callers do not keep what they pass, so no debugger could find it there.
  if (machine) machine->Options.SupportsDebugEntryValues = false;
  return machine;
}

/// Null, with the reason in `error`, where this build of LLVM makes no code for the generator. A machine holds tables
/// of what its processor can do, which take a twentieth of a small kernel's compilation to make, so each thread keeps
/// the last one. It also accumulates names of what was compiled, so it is made anew from time to time, as contexts are.
static std::shared_ptr<TargetMachine> machineFor(const CodeGenerator &generator, bool fuse, std::string &error) {
  struct Stored {
    std::string key;
    std::shared_ptr<TargetMachine> machine;
    int64_t uses = 0;
  };
  constexpr int64_t maxUses = 64;
  thread_local Stored last;
  std::string key =
      join_items("|", generator.triple.str(), generator.cpu, generator.features, fuse ? "fused" : "", debugInfoIsOn() ? "lines" : "");
  if (last.key != key || !last.machine || last.uses == maxUses) last = {std::move(key), createMachine(generator, fuse, error)};
  ++last.uses;
  return last.machine;
}

/// The only lane of a constant mask that is true.
static std::optional<uint64_t> onlyLane(const Value *mask) {
  auto constant = dyn_cast<Constant>(mask);
  if (!constant) return std::nullopt;
  std::optional<uint64_t> only;
  for (unsigned lane = 0, lanes = cast<FixedVectorType>(mask->getType())->getNumElements(); lane < lanes; ++lane) {
    auto bit = dyn_cast_or_null<ConstantInt>(constant->getAggregateElement(lane));
    if (!bit || (bit->isOne() && only)) return std::nullopt;
    if (bit->isOne()) only = lane;
  }
  return only;
}

/// Masked stores of one element become plain ones. LLVM 22's code generation for x86 does so as well, but where the vector comes from a
/// truncation it stores the wide element, and writes past the tile:
///   masked.store (trunc <8 x i64> %x to <8 x i8>), %p, <i1 true, i1 false, ...>      movq %x, (%p)
static void storeSingleElements(Function &function) {
  SmallVector<std::pair<IntrinsicInst *, uint64_t>> found;
  for (Instruction &instruction : instructions(function))
    if (auto store = dyn_cast<IntrinsicInst>(&instruction); store && store->getIntrinsicID() == Intrinsic::masked_store)
      if (std::optional<uint64_t> lane = onlyLane(store->getArgOperand(2))) found.push_back({store, *lane});
  for (auto [store, lane] : found) {
    IRBuilder<> b(store);
    Value *vector = store->getArgOperand(0);
    Type *element = cast<VectorType>(vector->getType())->getElementType();
    uint64_t bytes = function.getDataLayout().getTypeStoreSize(element);
    Value *pointer = b.CreateConstGEP1_64(element, store->getArgOperand(1), lane);
    b.CreateAlignedStore(b.CreateExtractElement(vector, lane), pointer,
                         commonAlignment(store->getParamAlign(1).valueOrOne(), lane * bytes));
    store->eraseFromParent();
  }
}

static void cleanUp(Module &module, TargetMachine &machine) {
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
  if (!machine.getTargetTriple().isNVPTX()) passes.addPass(LowerExpectIntrinsicPass());
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  if (machine.getTargetTriple().isNVPTX()) passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  for (Function &function : module) {
    if (function.isDeclaration()) continue;
    passes.run(function, functions);
    if (machine.getTargetTriple().isX86()) storeSingleElements(function);
  }
}

/// What LLVM itself assumes about a kernel's own assembly; empty if the assembly satisfies that.
static std::string problemOfAssembly(const Module &module) {
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function)) {
      auto call = dyn_cast<CallInst>(&instruction);
      auto code = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
      if (!code) continue;
      if (Error problem = InlineAsm::verify(code->getFunctionType(), code->getConstraintString())) return toString(std::move(problem));
      for (const InlineAsm::ConstraintInfo &constraint : code->ParseConstraints())
        if (constraint.isIndirect) return "an indirect operand ('*') in '" + code->getConstraintString().str() + "'";
    }
  return "";
}

static std::string textOf(const Module &module) {
  std::string text;
  raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

/// Sets a switch that LLVM has only for the whole process. Where it is read while passes are added, each compilation sets its own value.
template <typename T> static void setSwitch(StringRef name, T value) {
  if (auto *found = static_cast<cl::opt<T> *>(cl::getRegisteredOptions().lookup(name))) found->setValue(value);
}

/// Processors' code goes without loop strength reduction, which takes a quarter of the time of code generation: what changes along a loop
/// is an index times a scale here, which fits their addressing modes, and the code without it is no slower and a tenth shorter. (Without
/// scheduling after register allocation, a twentieth of the time, products are 3 % slower on a Zen 5: it starts their loads earlier.)
///
/// LLVM's older analysis, which looks only at values, follows where variables are. It finds as many of them in the gallery's
/// kernels as the newer one, which follows all registers and stack slots, and debug info then takes less of the compile time.
///
/// Before an address is computed where it is used, LLVM looks at all uses of its base, again for each address, up to
/// a hundred uses. The micro-kernels' panels have that many; with a limit of forty the gallery's code is the same.
static bool addPasses(legacy::PassManager &passes, TargetMachine &machine, raw_pwrite_stream &out, CodeGenFileType type) {
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  static std::once_flag once;
  std::call_once(once, [] { // read while passes run
    setSwitch("experimental-debug-variable-locations", cl::BOU_FALSE);
    setSwitch("cgp-max-address-users-to-scan", 40u);
  });
  setSwitch("disable-lsr", !machine.getTargetTriple().isNVPTX());
  RegisterTargetPassConfigCallback addOurs([](TargetMachine &, PassManagerBase &, TargetPassConfig *config) {
    if (debugInfoIsOn()) config->insertPass(&FinalizeISelID, createStackArgumentsPass());
  });
  return !machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true);
}

/// Assembly or an object file. Null if the machine has no emitter for it.
static std::optional<std::string> emitFile(Module &module, TargetMachine &machine, CodeGenFileType type) {
  SmallString<0> bytes;
  raw_svector_ostream out(bytes);
  legacy::PassManager passes;
  if (!addPasses(passes, machine, out, type)) return std::nullopt;
  passes.run(module);
  return std::string(bytes);
}

/// Debuggers are also told about variables that are nowhere, so that they say "optimized out" and
/// not that there is no such variable. Variables that never have a place get only this record.
static void keepVariables(Module &module) {
  for (Function &function : module) {
    SetVector<Metadata *> variables;
    DenseSet<const Metadata *> somewhere;
    for (const Instruction &instruction : instructions(function))
      for (const DbgVariableRecord &record : filterDbgVars(instruction.getDbgRecordRange())) {
        variables.insert(record.getVariable());
        if (!record.isKillLocation()) somewhere.insert(record.getVariable());
      }
    for (Instruction &instruction : instructions(function))
      for (DbgVariableRecord &record : make_early_inc_range(filterDbgVars(instruction.getDbgRecordRange())))
        if (!somewhere.contains(record.getVariable())) record.eraseFromParent();
    if (DISubprogram *scope = function.getSubprogram(); scope && !variables.empty())
      scope->replaceRetainedNodes(MDTuple::get(module.getContext(), variables.getArrayRef()));
  }
}

std::optional<std::string> generate(mlir::ModuleOp module, const CodeGenerator &generator, CodeKind kind) {
  std::string error;
  std::shared_ptr<TargetMachine> machine = machineFor(generator, module->hasAttr(fusionAttribute), error);
  if (!machine) {
    refuse(module, Diag::noBackend, {generator.triple.str(), error});
    return std::nullopt;
  }
  LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(error));
  if (debugInfoIsOn()) addLineScopes(module, generator.triple.starts_with("nvptx"));
  std::unique_ptr<Module> translated = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!translated) return std::nullopt; // the translation has reported why
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  if (std::string problem = problemOfAssembly(*translated); !problem.empty()) {
    refuse(module, Diag::codeRefused, {problem});
    return std::nullopt;
  }
  if (debugInfoIsOn() && !generator.triple.starts_with("nvptx")) keepVariables(*translated);
  for (Function &function : *translated)
    generator.prepare(function);
  if (llvmOptimizes()) cleanUp(*translated, *machine);
  for (Function &function : *translated)
    if (!function.isDeclaration()) generator.finish(function);
  if (kind == CodeKind::llvm) return textOf(*translated);
  auto type = kind == CodeKind::assembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile;
  std::optional<std::string> code = emitFile(*translated, *machine, type);
  if (code && error.empty()) return code;
  refuse(module, Diag::codeRefused, {error.empty() ? "there is no emitter for this kind of file" : error});
  return std::nullopt;
}

} // namespace tilewright
