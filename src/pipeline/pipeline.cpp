// THE pipeline: how source becomes machine code, for every door (a Python function, a C++ program, IR text) and every machine.
//
// The steps and their order are a table (steps.cpp). A door chooses where to begin, where to end, and who watches. After each
// step the module is verified and searched for what the step has promised to remove; so a bug of ours is reported where it arose.

#include "pipeline/steps.h"

#include "ir/tt.h"
#include "pipeline/ir_text.h"
#include "pipeline/operations.h"
#include "pipeline/program.h"
#include "syntax/parser.h"

#include "mlir/IR/Verifier.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace mlir;

namespace tilewright {

Compilation::Compilation(const CompileRequest &request, Stage wanted, Diagnostics &diagnostics)
    : request(request), options(request.options), wanted(wanted), diagnostics(diagnostics), context(ContextHold::any()),
      errors(*context, request.kernel.file(), request.dump, diagnostics) {
  options.backend = request.gpu ? "cuda" : "cpu";
  options.capability = request.gpu ? request.gpu->capability : 0;
}

/// Every promise of `gone` so far, and those of this step.
static void promise(const Step &step, llvm::SmallVectorImpl<llvm::StringRef> &gone) {
  if (step.changesDialects) gone.clear();
  llvm::StringRef(step.gone).split(gone, ' ', -1, /*KeepEmpty=*/false);
}

/// A number that changes if anything changes that the verifier looks at; it takes a tenth of the verifier's time.
static uint64_t fingerprint(ModuleOp module) {
  uint64_t code = 0;
  auto add = [&code](const void *part) {
    code = (code ^ reinterpret_cast<uintptr_t>(part)) * 0x9e3779b97f4a7c15;
    code ^= code >> 32;
  };
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    add(op);
    add(op->getBlock());
    add(op->getName().getAsOpaquePointer());
    add(op->getDiscardableAttrDictionary().getAsOpaquePointer());
    if (op->getPropertiesStorageSize() > 0) code ^= static_cast<size_t>(op->hashProperties());
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
  return code;
}

/// Checks that what a step left is well-formed and contains nothing that must be gone. A module with the
/// fingerprint `verified` is as well-formed as it was: half of the steps leave most kernels unchanged.
static bool check(Compilation &c, const Step &step, llvm::ArrayRef<llvm::StringRef> gone, std::optional<uint64_t> &verified) {
  c.errors.enterCheck();
  auto now = step.changesDialects ? std::nullopt : std::optional(fingerprint(*c.module));
  if ((!now || now != verified) && failed(verify(*c.module))) return false;
  verified = now;
  std::string left = leftOver(*c.module, gone);
  if (left.empty()) return true;
  c.errors.bug("'" + left + "' must not be in the module any more");
  return false;
}

static bool runStep(const Step &step, Compilation &c) {
  c.errors.enter(step.name);
  auto start = std::chrono::steady_clock::now();
  bool done = succeeded(step.pass ? step.pass(*c.module) : step.run(c));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!done && !c.diagnostics.hasErrors()) c.errors.bug("it gives no reason");
  if (!done) return false;
  bool isCode = !c.output.empty();
  ModuleOp module = *c.module;
  llvm::StringRef suffix = c.request.gpu ? (c.gpu.cubin.empty() ? "ptx" : "cubin") : c.wanted == Stage::assembly ? "s" : "o";
  if (c.wanted == Stage::llvm) suffix = "ll";
  if (c.request.onStep) c.request.onStep({step.name, seconds, isCode ? nullptr : &module, c.output, suffix});
  return true;
}

/// Runs the steps from `from` (empty: the first) to `until`. The first step always runs: it makes the module.
static bool runSteps(Compilation &c, llvm::StringRef from, llvm::StringRef until) {
  if (!c.request.options.check(c.request.gpu ? &*c.request.gpu : nullptr, c.diagnostics)) return false;
  llvm::SmallVector<llvm::StringRef> gone;
  std::optional<uint64_t> verified;
  bool skipping = !from.empty(), first = true;
  for (const Step *step : stepsFor(c.request)) {
    skipping = skipping && step->name != from;
    if (!skipping || first) {
      if (!runStep(*step, c)) return false;
      if (!skipping) promise(*step, gone);
      if (c.output.empty() && !check(c, *step, gone, verified)) return false;
    }
    first = false;
    if (step->name == until) return true;
  }
  return true;
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
      {"a cubin for " + request.gpu->name + " needs ptxas, which is not found", "put it on PATH, or name it in TILEWRIGHT_PTXAS"});
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
