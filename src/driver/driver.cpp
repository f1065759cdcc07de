// The compiler's pipeline from source to machine code, for every front end (a Python function, a C++ program, IR text) and every target.
//
// The steps and their order are a table (steps.cpp). An entry point chooses the first and the last step, and the observers. After each
// step, the module is verified, and checked for operations that the step should have removed. So a bug is reported in the step that
// caused it.

#include "driver/steps.h"

#include "driver/ir_text.h"
#include "driver/limits.h"
#include "driver/operations.h"
#include "driver/program.h"
#include "ir/passes.h"
#include "ir/tt.h"
#include "support/stack.h"
#include "syntax/parser.h"

#include "mlir/IR/Verifier.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>
#include <utility>

using namespace mlir;

namespace tilewright {

Compilation::Compilation(const CompileRequest &request, Stage wanted, Diagnostics &diagnostics)
    : request(request), options(request.options), wanted(wanted), diagnostics(diagnostics), context(ContextHold::any()),
      errors(*context, request.kernel.file(), request.dump, diagnostics) {
  options.backend = request.gpu ? "cuda" : "cpu";
  options.capability = request.gpu ? request.gpu->capability : 0;
}

namespace {
/// Hashes of a module, in a tenth of the verifier's time. `all` changes with everything that the verifier checks. `code` does not change
/// with the attributes of functions.
struct Fingerprint {
  uint64_t code = 0, all = 0;
};

/// The known state of the module between two steps.
struct Known {
  llvm::SmallVector<llvm::StringRef> gone; // the operations that must have been removed by now
  std::optional<Fingerprint> verified;     // the module that was verified, and searched for `gone`
  std::optional<uint64_t> simple;          // the code on which simplify has no effect
  bool isSimple = false;                   // the same for the output of the step that has just run
};
} // namespace

static uint64_t mixed(uint64_t code, uint64_t part) {
  code = (code ^ part) * 0x9e3779b97f4a7c15;
  return code ^ code >> 32;
}

static Fingerprint fingerprint(ModuleOp module) {
  Fingerprint print;
  auto add = [&print](const void *part) { print.code = mixed(print.code, reinterpret_cast<uintptr_t>(part)); };
  uint64_t attributes = 0;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    add(op);
    add(op->getBlock());
    add(op->getName().getAsOpaquePointer());
    const void *discardable = op->getDiscardableAttrDictionary().getAsOpaquePointer();
    uint64_t properties = op->getPropertiesStorageSize() > 0 ? static_cast<size_t>(op->hashProperties()) : 0;
    if (isa<tt::FuncOp>(op)) {
      attributes = mixed(mixed(attributes, reinterpret_cast<uintptr_t>(discardable)), properties);
    } else {
      add(discardable);
      print.code ^= properties;
    }
    for (mlir::Value operand : op->getOperands())
      add(operand.getAsOpaquePointer());
    for (mlir::Type result : op->getResultTypes())
      add(result.getAsOpaquePointer());
    for (Block *successor : op->getSuccessors())
      add(successor);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          add(argument.getAsOpaquePointer()), add(argument.getType().getAsOpaquePointer());
  });
  print.all = mixed(print.code, attributes);
  return print;
}

/// Verifies the output of a step. If the module has not changed, there is nothing to do: half of the steps change nothing in most
/// kernels. If only attributes of functions have changed, only the functions are verified.
static bool isWellFormed(Compilation &c, const std::optional<Fingerprint> &before, const Fingerprint &now) {
  if (std::exchange(c.isVerified, false)) return true;
  if (!before || before->code != now.code) return succeeded(verify(*c.module));
  return before->all == now.all || llvm::all_of(c.module->getOps<tt::FuncOp>(),
                                                [](tt::FuncOp kernel) { return succeeded(verify(kernel, /*verifyRecursively=*/false)); });
}

/// True if the output of a step is well-formed and has none of the operations that must be gone.
static bool check(Compilation &c, const Step &step, Known &known) {
  c.errors.enterCheck();
  if (step.changesDialects) known.gone.clear(), known.verified.reset();
  llvm::StringRef(step.gone).split(known.gone, ' ', -1, /*KeepEmpty=*/false);
  Fingerprint now = fingerprint(*c.module);
  if (!isWellFormed(c, known.verified, now)) return false;
  bool searched = known.gone.empty() || (step.gone.empty() && known.verified && known.verified->code == now.code);
  known.verified = now;
  if (std::exchange(known.isSimple, false)) known.simple = now.code;
  std::string left = searched ? "" : leftOver(*c.module, known.gone);
  if (left.empty()) return true;
  c.errors.bug("the module still contains '" + left + "'");
  return false;
}

/// Runs a step. Skips simplify if the code has not changed since simplify had no effect.
static bool perform(const Step &step, Compilation &c, Known &known) {
  if (step.pass != simplify) return succeeded(step.pass ? step.pass(*c.module) : step.run(c));
  known.isSimple = (known.verified && known.simple == known.verified->code) || simplifyAll(*c.module);
  return true;
}

/// The stack for the steps after the first: MLIR and LLVM recurse deeper for longer kernels, and do not check the stack. The first step
/// checks it itself (support/stack.h), and calls back into Python, which depends on the current thread.
constexpr int64_t stackOfSteps = 4 << 20;

static bool runStep(const Step &step, Compilation &c, Known &known) {
  c.errors.enter(step.name);
  auto start = std::chrono::steady_clock::now();
  bool done = perform(step, c, known);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!done && !c.diagnostics.hasErrors()) c.errors.bug("it failed without an error message");
  if (!done) return false;
  bool isCode = !c.output.empty();
  ModuleOp module = *c.module;
  llvm::StringRef suffix = c.request.gpu ? (c.gpu.cubin.empty() ? "ptx" : "cubin") : c.wanted == Stage::assembly ? "s" : "o";
  if (c.wanted == Stage::llvm) suffix = "ll";
  if (c.request.onStep) c.request.onStep({step.name, seconds, isCode ? nullptr : &module, c.output, suffix});
  return true;
}

/// Runs the steps from `from` (empty: the first) to `until`. The first step always runs: it creates the module.
static bool runSteps(Compilation &c, llvm::StringRef from, llvm::StringRef until) {
  if (!c.request.options.check(c.request.gpu ? &*c.request.gpu : nullptr, c.diagnostics)) return false;
  Known known;
  CompileLimits limits;
  auto run = [&](const Step &step) {
    return limits.mayContinue(c.module ? *c.module : nullptr, c.diagnostics) && runStep(step, c, known) &&
           (!c.output.empty() || check(c, step, known));
  };
  std::vector<const Step *> steps = stepsFor(c.request);
  if (!run(*steps.front())) return false;
  bool skipping = !from.empty() && steps.front()->name != from, done = true;
  if (steps.front()->name == until) return true;
  onStackOf(stackOfSteps, [&] {
    for (const Step *step : llvm::drop_begin(steps)) {
      skipping = skipping && step->name != from;
      if (!skipping) done = run(*step);
      if (!done || step->name == until) return;
    }
  });
  return done && limits.mayContinue(nullptr, c.diagnostics); // the last step, the generation of code, can take the longest
}

std::unique_ptr<CpuArtifact> compileForCpu(const CompileRequest &request, Diagnostics &diagnostics) {
  Compilation c(request, Stage::object, diagnostics);
  if (!runSteps(c, "", lastStepOf(Stage::object, false))) return nullptr;
  c.cpu.object = std::move(c.output);
  return std::make_unique<CpuArtifact>(std::move(c.cpu));
}

std::unique_ptr<GpuArtifact> compileForGpu(const CompileRequest &request, Diagnostics &diagnostics) {
  Compilation c(request, Stage::cubin, diagnostics);
  if (!runSteps(c, "", lastStepOf(Stage::cubin, true))) return nullptr;
  return std::make_unique<GpuArtifact>(std::move(c.gpu));
}

static std::optional<std::string> emit(const CompileRequest &request, llvm::StringRef from, llvm::StringRef until, Stage wanted,
                                       Diagnostics &diagnostics) {
  Compilation c(request, wanted, diagnostics);
  if (!runSteps(c, from, until)) return std::nullopt;
  if (!c.output.empty()) return std::move(c.output);
  if (until != lastStepOf(Stage::cubin, true)) return irText(*c.module);
  diagnostics.error(
      {}, Diag::invalidOption,
      {"a cubin for " + request.gpu->name + " needs ptxas, which was not found", "add it to PATH, or set TILEWRIGHT_PTXAS to its path"});
  return std::nullopt;
}

std::optional<std::string> emitStage(const CompileRequest &request, Stage stage, Diagnostics &diagnostics) {
  if (stage == Stage::ast) return printAst(*request.kernel.function()->module);
  return emitStageFrom(request, "", stage, diagnostics);
}

std::optional<std::string> emitStageFrom(const CompileRequest &request, llvm::StringRef from, Stage stage, Diagnostics &diagnostics) {
  return emit(request, from, lastStepOf(stage, request.gpu.has_value()), stage, diagnostics);
}

std::optional<std::string> emitAfter(const CompileRequest &request, llvm::StringRef from, llvm::StringRef until, Diagnostics &diagnostics) {
  return emit(request, from, until, request.gpu ? Stage::cubin : Stage::object, diagnostics);
}

std::optional<std::string> emittedTiles(const CompileRequest &request, Diagnostics &diagnostics) {
  Compilation c(request, Stage::tt, diagnostics);
  if (!runSteps(c, "", "emit-tiles")) return std::nullopt;
  return numberedIrText(*c.module);
}

std::optional<TileOperations> emittedOperations(const CompileRequest &request, Diagnostics &diagnostics) {
  Compilation c(request, Stage::tt, diagnostics);
  if (!runSteps(c, "", "emit-tiles")) return std::nullopt;
  return operationsOf(*c.module);
}

std::optional<std::string> locatedTiles(const CompileRequest &request, Diagnostics &diagnostics) {
  Compilation c(request, Stage::tt, diagnostics);
  if (!runSteps(c, "", lastStepOf(Stage::tt, request.gpu.has_value()))) return std::nullopt;
  for (auto kernel : c.module->getOps<tt::FuncOp>())
    if (kernel.isPublic()) c.module->getOperation()->setLoc(kernel.getLoc());
  return locatedIrText(*c.module);
}

std::unique_ptr<TileProgram> TileProgram::create(const CompileRequest &request, Diagnostics &diagnostics) {
  Compilation c(request, Stage::tt, diagnostics);
  if (!runSteps(c, "", "link-library")) return nullptr;
  return std::make_unique<TileProgram>(c.context.shared(), std::move(c.module));
}

std::unique_ptr<TileProgram> TileProgram::createSimplified(const CompileRequest &request, Diagnostics &diagnostics) {
  Compilation c(request, Stage::tt, diagnostics);
  if (!runSteps(c, "", "simplify")) return nullptr;
  return std::make_unique<TileProgram>(c.context.shared(), std::move(c.module));
}

std::unique_ptr<ThreadProgram> ThreadProgram::create(const CompileRequest &request, Diagnostics &diagnostics) {
  Compilation c(request, Stage::threads, diagnostics);
  if (!runSteps(c, "", lastStepOf(Stage::threads, true))) return nullptr;
  return std::make_unique<ThreadProgram>(c.context.shared(), std::move(c.module), std::make_unique<GpuArtifact>(std::move(c.gpu)));
}

} // namespace tilewright
