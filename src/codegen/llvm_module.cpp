// The lowerings have already chosen vectors, unrolling and blocking, on which LLVM's -O3 spends most of its time. So a short list of
// passes replaces -O3, the same for every target.
#include "codegen/llvm_module.h"

#include "codegen/debug_info.h"
#include "codegen/fatal_errors.h"
#include "codegen/float16_calls.h"
#include "codegen/line_scopes.h"
#include "codegen/stack_arguments.h"
#include "codegen/unroll_loads.h"
#include "codegen/unselectable.h"
#include "ir/refusal.h"
#include "support/settings.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"
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
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/LowerExpectIntrinsic.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <cstdlib>
#include <mutex>
#include <utility>

using namespace llvm;

namespace tilewright {

namespace {
/// Collects errors that LLVM reports; the default handler would print a line on stderr and exit.
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

/// Skips optional passes of LLVM whose time is quadratic or cubic in something of which a module has too much. With them, a block of 4,000
/// accesses takes minutes; without, less than a second.
class SkipSlowPasses : public OptPassGate {
public:
  explicit SkipSlowPasses(const Module &module) {
    for (const Function &function : module) {
      ptrdiff_t sums = 0;
      for (const BasicBlock &block : function) {
        ptrdiff_t accesses = count_if(block, [](const Instruction &op) { return op.mayReadOrWriteMemory(); });
        sums += count_if(
            block, [](const Instruction &op) { return isa<GetElementPtrInst, BinaryOperator>(op) && !op.getType()->isFPOrFPVectorTy(); });
        if (accesses > maxAccesses) skipped.insert("machine-scheduler");
      }
      if (sums > maxSums) skipped.insert_range(ArrayRef<StringRef>{"nary-reassociate", "slsr"});
    }
  }
  bool isEnabled() const override { return !skipped.empty(); }
  bool shouldRunPass(StringRef pass, StringRef) const override { return !skipped.contains(pass); }

private:
  static constexpr ptrdiff_t maxAccesses = 256; ///< of a block
  static constexpr ptrdiff_t maxSums = 768;     ///< of a function: addresses and integer arithmetic
  SmallSet<StringRef, 4> skipped;
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
  // If a parameter's register is reused, LLVM could describe it by the value that the caller passed. Our callers do not preserve that
  // value, so a debugger would not find it.
  if (machine) machine->Options.SupportsDebugEntryValues = false;
  return machine;
}

namespace {
struct CachedMachine {
  std::string key;
  std::shared_ptr<TargetMachine> machine;
  int64_t uses = 0;
};
} // namespace

/// A target machine has tables of its CPU's features; creating them takes a twentieth of a small kernel's compile time. So each thread
/// keeps the last one.
static thread_local CachedMachine lastMachine;

/// Returns null, with the reason in `error`, if this build of LLVM has no back end for the generator. A machine accumulates the names of
/// compiled functions, so it is replaced from time to time, like contexts.
static std::shared_ptr<TargetMachine> machineFor(const CodeGenerator &generator, bool fuse, std::string &error) {
  constexpr int64_t maxUses = 64;
  CachedMachine &last = lastMachine;
  std::string key =
      join_items("|", generator.triple.str(), generator.cpu, generator.features, fuse ? "fused" : "", debugInfoIsOn() ? "lines" : "");
  if (last.key != key || !last.machine || last.uses == maxUses) last = {std::move(key), createMachine(generator, fuse, error)};
  ++last.uses;
  return last.machine;
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
  if (machine.getTargetTriple().isNVPTX()) {
    passes.addPass(UnrollLoadsPass());
    passes.addPass(LoopUnrollPass(LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
    passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(InstCombinePass());
  }
  passes.addPass(SimplifyCFGPass());
  for (Function &function : module) {
    if (function.isDeclaration()) continue;
    passes.run(function, functions);
    replaceUnselectable(function, machine.getTargetTriple());
  }
}

/// Checks LLVM's assumptions about a kernel's inline assembly; returns the violated one, or an empty string.
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

/// Sets a global option of LLVM. It is read while passes are added, so each compilation sets its own value.
template <typename T> static void setSwitch(StringRef name, T value) {
  if (auto *found = static_cast<cl::opt<T> *>(cl::getRegisteredOptions().lookup(name))) found->setValue(value);
}

/// CPU code is generated without loop strength reduction, which takes a quarter of the code generation time. Addresses in loops are an
/// index times a scale, which fits the addressing modes. Without the pass, code is a tenth shorter and not slower. Post-RA scheduling
/// takes a twentieth of the time and stays: without it, matmuls are 3 % slower on Zen 5.
///
/// LLVM's older debug-value analysis only looks at values. It finds as many variables in the example kernels as the newer one, which
/// follows all registers and stack slots, and takes less compile time.
///
/// Before LLVM sinks an address computation to its use, it looks at up to a hundred uses of the base, for each address. The
/// micro-kernels' panels have that many. A limit of forty gives the same code for the examples.
///
/// After each change of the control flow, LLVM's CodeGenPrepare looks at all blocks of the function again, unless the function is huge.
/// Kernels of many loops have thousands of blocks and such changes. If every function counts as huge, it only looks at new blocks.
///
/// The lock and the registered callback must end here, so a fatal error of LLVM is caught first, and then passed on.
static bool addPasses(legacy::PassManager &passes, TargetMachine &machine, raw_pwrite_stream &out, CodeGenFileType type) {
  bool isAdded = false;
  std::optional<std::string> fatal;
  {
    static std::mutex lock;
    std::lock_guard<std::mutex> guard(lock);
    static std::once_flag once;
    std::call_once(once, [] { // read while passes run
      setSwitch("experimental-debug-variable-locations", cl::BOU_FALSE);
      setSwitch("cgp-max-address-users-to-scan", 40u);
      setSwitch("cgpp-huge-func", 0u);
    });
    setSwitch("disable-lsr", !machine.getTargetTriple().isNVPTX());
    RegisterTargetPassConfigCallback addOurs([](TargetMachine &, PassManagerBase &, TargetPassConfig *config) {
      if (debugInfoIsOn()) config->insertPass(&FinalizeISelID, createStackArgumentsPass());
    });
    fatal = fatalErrorOf([&] { isAdded = !machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true); });
  }
  if (fatal) reportFatalInternalError(StringRef(*fatal));
  return isAdded;
}

/// Emits assembly or an object file. Null if the target machine has no emitter for it.
static std::optional<std::string> emitFile(Module &module, TargetMachine &machine, CodeGenFileType type) {
  SmallString<0> bytes;
  raw_svector_ostream out(bytes);
  SkipSlowPasses gate(module);
  module.getContext().setOptPassGate(gate);
  legacy::PassManager passes;
  if (!addPasses(passes, machine, out, type)) return std::nullopt;
  passes.run(module);
  return std::string(bytes);
}

/// Keeps records of variables without a location, so that debuggers print "optimized out" instead of an unknown-variable error.
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

static std::optional<std::string> optimizeAndEmit(Module &module, TargetMachine &machine, const CodeGenerator &generator, CodeKind kind) {
  for (Function &function : module)
    generator.prepare(function);
  if (llvmOptimizes()) cleanUp(module, machine);
  for (Function &function : module)
    if (!function.isDeclaration()) generator.finish(function);
  if (machine.getTargetTriple().isX86()) defineFloat16Calls(module, machine);
  if (kind == CodeKind::llvm) return textOf(module);
  return emitFile(module, machine, kind == CodeKind::assembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile);
}

std::optional<std::string> generate(mlir::ModuleOp module, const CodeGenerator &generator, CodeKind kind) {
  std::string error;
  std::shared_ptr<TargetMachine> machine = machineFor(generator, module->hasAttr(fusionAttribute), error);
  if (!machine) {
    refuse(module, Diag::noBackend, {generator.triple.str(), error});
    return std::nullopt;
  }
  auto context = std::make_unique<LLVMContext>();
  context->setDiagnosticHandler(std::make_unique<CollectErrors>(error));
  if (debugInfoIsOn()) addLineScopes(module, generator.triple.starts_with("nvptx"));
  std::unique_ptr<Module> translated = mlir::translateModuleToLLVMIR(module, *context, "kernel");
  if (!translated) return std::nullopt; // the translation has reported the error
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  if (std::string problem = problemOfAssembly(*translated); !problem.empty()) {
    refuse(module, Diag::codeRefused, {problem});
    return std::nullopt;
  }
  if (debugInfoIsOn() && !generator.triple.starts_with("nvptx")) keepVariables(*translated);
  std::optional<std::string> code;
  std::optional<std::string> fatal = fatalErrorOf([&] { code = optimizeAndEmit(*translated, *machine, generator, kind); });
  if (!fatal && code && error.empty()) return code;
  if (fatal) { // LLVM may still refer to these
    translated.release();
    context.release();
    new std::shared_ptr<TargetMachine>(std::move(machine));
    lastMachine = {};
    if (generator.fallback) {
      CodeGenerator simpler = generator;
      simpler.prepare = std::exchange(simpler.fallback, nullptr);
      return generate(module, simpler, kind);
    }
    error = StringRef(*fatal).split('\n').first;
  }
  refuse(module, Diag::codeRefused, {error.empty() ? "LLVM has no emitter for this kind of file" : error});
  return std::nullopt;
}

} // namespace tilewright
