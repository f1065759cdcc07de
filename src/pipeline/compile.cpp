// THE pipeline: source -> artifact. The only place that knows the order of things.

#include "pipeline/compile.h"

#include "codegen/lower.h"
#include "codegen/object.h"
#include "codegen/ptx/lower.h"
#include "codegen/ptx/text.h"
#include "cpu/lower.h"
#include "gpu/passes.h"
#include "gpu/tiles/tensor_map.h"
#include "gpu/tiles/ttg.h"
#include "ir/passes.h"
#include "ir/tt.h"
#include "support/artifact.h"
#include "support/hash.h"
#include "syntax/parser.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <chrono>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

using namespace mlir;

namespace tilewright {

//===---------------------------------------------------------------------------------------------------------- contexts

/// Contexts are expensive to fill with dialects, so a thread keeps its own.
static MLIRContext &threadContext() {
  thread_local std::unique_ptr<MLIRContext> context = [] {
    DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
    registerCodegenDialects(registry);
    auto fresh = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    fresh->loadAllAvailableDialects();
    return fresh;
  }();
  return *context;
}

//===------------------------------------------------------------------------------------------------------- diagnostics

/// The innermost place in a file that a location knows.
static FileLineColLoc placeOf(Location location) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    if (auto place = dyn_cast<FileLineColLoc>(part)) {
      found = place;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

static SourceRange rangeOf(Location location, const SourceFile *source) {
  FileLineColLoc place = placeOf(location);
  if (!place || !source || place.getFilename().getValue() != source->name()) return {};
  std::string_view text = source->text();
  int64_t line = source->position(0).line;
  size_t offset = 0;
  while (line < int64_t(place.getLine()) && offset < text.size()) {
    size_t next = text.find('\n', offset);
    if (next == std::string_view::npos) return {};
    offset = next + 1;
    ++line;
  }
  offset = std::min(text.size(), offset + std::max<size_t>(1, place.getColumn()) - 1);
  return {source, uint32_t(offset), uint32_t(std::min(text.size(), offset + 1))};
}

/// Turns the errors that passes attach to operations into diagnostics.
/// "out of resource: shared memory, Required: 524304, Hardware limit: 232448. ..." as the error that callers know: a tuner goes on with the
/// next configuration.
static bool forwardOutOfResource(llvm::StringRef text, SourceRange range, Diagnostics &diagnostics) {
  if (!text.consume_front("out of resource: ")) return false;
  auto [name, numbers] = text.split(", Required: ");
  auto [required, rest] = numbers.split(", Hardware limit: ");
  llvm::StringRef limit = rest.take_while(llvm::isDigit);
  if (required.empty() || limit.empty()) return false;
  diagnostics.error(range, Diag::outOfResources, {name.str(), required.str(), limit.str()});
  return true;
}

static auto forwardErrors(MLIRContext &context, const SourceFile *source, Diagnostics &diagnostics) {
  return ScopedDiagnosticHandler(&context, [source, &diagnostics](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error) return success();
    std::string text = diagnostic.str();
    SourceRange range = rangeOf(diagnostic.getLocation(), source);
    if (forwardOutOfResource(text, range, diagnostics)) return success();
    // MLIR answers foreign attributes with advice about options that nobody has here.
    if (llvm::StringRef(text).contains("unregistered dialect") || llvm::StringRef(text).contains("in dialect `ttg`"))
      text = "this names a dialect that is not read here: tt, arith, math, scf and cf are, as they stand before layouts of GPUs are chosen";
    if (!range.file)
      if (FileLineColLoc place = placeOf(diagnostic.getLocation()))
        text = place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": " + text;
    diagnostics.error(range, Diag::invalidIr, {text});
    return success();
  });
}

//===---------------------------------------------------------------------------------------------------------- pipeline

namespace {
struct Step {
  const char *name;
  LogicalResult (*run)(ModuleOp);
};
} // namespace

/// From what the front end emits to what the machines take.
constexpr Step machineFreeSteps[] = {
    {"inline-calls", inlineCalls}, {"expand-block-pointers", expandBlockPointers},
    {"simplify", simplify},        {"scalarize-carried", scalarizeCarried},
    {"simplify-again", simplify},
};

using OnStep = std::function<void(llvm::StringRef, double)>;

template <typename Function> static auto timed(const OnStep &onStep, llvm::StringRef name, Function function) {
  auto start = std::chrono::steady_clock::now();
  auto result = function();
  if (onStep) onStep(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

/// A pass that fails without a word is a bug of ours, and says so.
static bool runStep(const Step &step, ModuleOp module, const OnStep &onStep, Diagnostics &diagnostics) {
  if (succeeded(timed(onStep, step.name, [&] { return step.run(module); }))) return true;
  if (!diagnostics.hasErrors()) diagnostics.error({}, Diag::internalError, {step.name});
  return false;
}

static OwningOpRef<ModuleOp> emit(MLIRContext &context, const CompileRequest &request, Diagnostics &diagnostics) {
  return timed(request.onStep, "emit-tiles",
               [&] { return emitTiles(context, *request.kernel, request.args, request.options, diagnostics); });
}

/// tt -> loops -> the LLVM dialect. Stops before `last`.
static bool lowerForCpu(ModuleOp module, const CpuTarget &target, bool fpFusion, LoopsInfo &info, Stage last, const OnStep &onStep,
                        Diagnostics &diagnostics) {
  for (const Step &step : machineFreeSteps)
    if (!runStep(step, module, onStep, diagnostics)) return false;
  bool lowered = succeeded(timed(onStep, "lower-to-loops", [&] {
    return success(succeeded(lowerToLoops(module, target, fpFusion, info)) && succeeded(verify(module)));
  }));
  if (!lowered) {
    if (!diagnostics.hasErrors()) diagnostics.error({}, Diag::internalError, {"lower-to-loops"});
    return false;
  }
  if (last == Stage::loops) return true;
  if (fpFusion) allowFpFusion(module);
  if (failed(timed(onStep, "lower-to-llvm", [&] { return lowerToLlvm(module); }))) {
    if (!diagnostics.hasErrors()) diagnostics.error({}, Diag::internalError, {"lower-to-llvm"});
    return false;
  }
  return true;
}

/// From tiles to one thread's scalars.
// clang-format off
constexpr Step gpuSteps[] = {
    {"split-over-blocks", gpu::splitOverBlocks},
    {"drop-wraparound", gpu::dropWraparound},
    {"form-descriptors", gpu::formDescriptors},
    {"simplify-addresses", simplify},
    {"assign-layouts", gpu::assignLayouts},
    {"select-tensor-cores", gpu::selectTensorCores},
    {"pipeline", gpu::pipeline},
    {"allocate-shared", gpu::allocateShared},
    {"lower-to-threads", gpu::lowerToThreads},
    {"simplify-threads", simplify},
    {"share-addresses", gpu::shareAddresses},
};
// clang-format on

/// What the launcher puts in place of each argument of a kernel.
static std::optional<std::vector<SlotKind>> slotsOf(tt::FuncOp kernel) {
  std::vector<SlotKind> slots;
  for (mlir::Type type : kernel.getArgumentTypes()) {
    std::optional<SlotKind> kind = llvm::TypeSwitch<mlir::Type, std::optional<SlotKind>>(type)
                                       .Case<tt::PointerType>([](auto) { return SlotKind::pointer; })
                                       .Case<Float16Type>([](auto) { return SlotKind::f16; })
                                       .Case<BFloat16Type>([](auto) { return SlotKind::bf16; })
                                       .Case<Float32Type>([](auto) { return SlotKind::f32; })
                                       .Case<Float64Type>([](auto) { return SlotKind::f64; })
                                       .Case<IntegerType>([](IntegerType integer) -> std::optional<SlotKind> {
                                         switch (integer.getWidth()) {
                                         case 1: return SlotKind::i1;
                                         case 8: return SlotKind::i8;
                                         case 16: return SlotKind::i16;
                                         case 32: return SlotKind::i32;
                                         case 64: return SlotKind::i64;
                                         default: return std::nullopt;
                                         }
                                       })
                                       .Default([](mlir::Type) { return std::nullopt; });
    if (!kind) {
      kernel.emitError("a kernel for a GPU cannot take an argument of type ") << type;
      return std::nullopt;
    }
    slots.push_back(*kind);
  }
  return slots;
}

/// tt -> ttg -> ptx -> the LLVM dialect. Stops before `last`. What only the kernel's beginning knows is put in `artifact`.
static bool lowerForGpu(ModuleOp module, const CompileRequest &request, GpuArtifact &artifact, Stage last, Diagnostics &diagnostics) {
  for (const Step &step : machineFreeSteps)
    if (!runStep(step, module, request.onStep, diagnostics)) return false;
  for (auto kernel : module.getOps<tt::FuncOp>()) {
    std::optional<std::vector<SlotKind>> slots = slotsOf(kernel);
    if (!slots) return false;
    artifact.entry = kernel.getName().str();
    artifact.slots = std::move(*slots);
    const KernelOptions &options = request.options;
    auto config = ttg::ConfigAttr::get(module.getContext(), options.numWarps, options.numCtas, options.numStages,
                                       options.maxnreg.value_or(0), StringAttr::get(module.getContext(), request.gpu->name));
    kernel->setAttr(ttg::configName, config);
    llvm::SmallVector<llvm::StringRef> refuted(request.refutedFacts.begin(), request.refutedFacts.end());
    if (!refuted.empty()) kernel->setAttr(ttg::refutedName, Builder(module.getContext()).getStrArrayAttr(refuted));
  }
  for (const Step &step : gpuSteps) {
    if (last == Stage::ttg && step.run == gpu::lowerToThreads) return true;
    if (!runStep(step, module, request.onStep, diagnostics)) return false;
    if (request.onModule) request.onModule(step.name, module);
  }
  for (auto kernel : module.getOps<tt::FuncOp>()) {
    std::optional<std::vector<gpu::TensorMapSpec>> maps = gpu::takeTensorMaps(kernel);
    if (!maps) return false;
    artifact.maps = std::move(*maps);
    artifact.facts = gpu::takeLaunchFacts(kernel);
    auto launch = kernel->getAttrOfType<ptx::KernelAttr>("ptx.kernel");
    artifact.warps = launch.getThreads() / 32;
    artifact.ctas = launch.getCluster();
    artifact.sharedBytes = launch.getSharedBytes();
    artifact.maxnreg = launch.getMaxRegisters();
    kernel.walk([&](Operation *op) { artifact.printsOrAsserts |= isa<ptx::PrintOp, ptx::AssertFailOp>(op); });
  }
  if (last == Stage::threads) return true;
  if (request.options.fpFusion) allowFpFusion(module);
  bool lowered = succeeded(timed(request.onStep, "lower-to-llvm", [&] { return lowerPtxToLlvm(module, *request.gpu); }));
  if (!lowered && !diagnostics.hasErrors()) diagnostics.error({}, Diag::internalError, {"lower-to-llvm"});
  return lowered;
}

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.useLocalScope();
  module->print(stream, flags);
  stream << "\n";
  return text;
}

static std::unique_ptr<CpuArtifact> finish(ModuleOp module, const LoopsInfo &info, const CpuTarget &target, const OnStep &onStep,
                                           Diagnostics &diagnostics) {
  auto object = timed(onStep, "generate-code", [&] { return generateCode(module, target, CodeKind::object); });
  if (!object) {
    if (!diagnostics.hasErrors()) diagnostics.error({}, Diag::internalError, {"generate-code"});
    return nullptr;
  }
  auto artifact = std::make_unique<CpuArtifact>();
  artifact->entry = info.entry;
  artifact->object = std::move(*object);
  artifact->arenaBytes = info.arenaBytes;
  for (uint8_t slot : info.slots)
    artifact->slots.push_back(SlotKind(slot));
  return artifact;
}

std::unique_ptr<CpuArtifact> compileForCpu(const CompileRequest &request, Diagnostics &diagnostics) {
  MLIRContext &context = threadContext();
  auto handler = forwardErrors(context, request.kernel->module->source.get(), diagnostics);
  OwningOpRef<ModuleOp> module = emit(context, request, diagnostics);
  if (!module) return nullptr;
  LoopsInfo info;
  if (!lowerForCpu(*module, request.target, request.options.fpFusion, info, Stage::object, request.onStep, diagnostics)) return nullptr;
  return finish(*module, info, request.target, request.onStep, diagnostics);
}

/// PTX with what it takes for granted in front, for people: whoever launches it by other means must keep it.
static std::string withFacts(const std::string &ptx, const GpuArtifact &artifact) {
  std::string text;
  for (const LaunchFact &fact : artifact.facts)
    text += "// taken for granted: " + fact.name + "\n";
  return text + ptx;
}

/// Ends with the PTX, and with a cubin where there is an assembler.
static std::unique_ptr<GpuArtifact> finishForGpu(ModuleOp module, const CompileRequest &request, Diagnostics &diagnostics) {
  auto artifact = std::make_unique<GpuArtifact>();
  if (!lowerForGpu(module, request, *artifact, Stage::cubin, diagnostics)) return nullptr;
  auto ptx = timed(request.onStep, "generate-ptx", [&] { return generatePtx(module, *request.gpu, CodeKind::assembly); });
  if (!ptx) {
    if (!diagnostics.hasErrors()) diagnostics.error({}, Diag::internalError, {"generate-ptx"});
    return nullptr;
  }
  artifact->target = request.gpu->name;
  artifact->ptx = withFacts(*ptx, *artifact);
  std::string problem;
  if (findPtxas().empty()) return artifact; // the driver has an assembler of its own
  if (auto cubin = timed(request.onStep, "assemble", [&] { return assemblePtx(artifact->ptx, *request.gpu, problem); })) {
    artifact->cubin = std::move(cubin->bytes);
    artifact->registers = cubin->registers;
    artifact->spillBytes = cubin->spillBytes;
    artifact->localBytes = cubin->localBytes;
    return artifact;
  }
  diagnostics.error({}, Diag::assemblerFailed, {artifact->entry, problem});
  return nullptr;
}

std::unique_ptr<GpuArtifact> compileForGpu(const CompileRequest &request, Diagnostics &diagnostics) {
  MLIRContext &context = threadContext();
  auto handler = forwardErrors(context, request.kernel->module->source.get(), diagnostics);
  OwningOpRef<ModuleOp> module = emit(context, request, diagnostics);
  return module ? finishForGpu(*module, request, diagnostics) : nullptr;
}

/// What follows emission for a GPU, as far as `stage`.
static std::optional<std::string> emitGpuModule(ModuleOp module, const CompileRequest &request, Stage stage, Diagnostics &diagnostics) {
  if (stage == Stage::cubin) {
    std::unique_ptr<GpuArtifact> artifact = finishForGpu(module, request, diagnostics);
    if (!artifact) return std::nullopt;
    if (!artifact->cubin.empty()) return artifact->cubin;
    diagnostics.error(
        {}, Diag::invalidOption,
        {"a cubin for " + request.gpu->name + " needs ptxas, which is not found", "put it on PATH, or name it in TILEWRIGHT_PTXAS"});
    return std::nullopt;
  }
  GpuArtifact artifact;
  if (!lowerForGpu(module, request, artifact, stage, diagnostics)) return std::nullopt;
  if (stage == Stage::ttg || stage == Stage::threads) return textOf(module);
  auto text = timed(request.onStep, "generate-ptx",
                    [&] { return generatePtx(module, *request.gpu, stage == Stage::llvm ? CodeKind::llvm : CodeKind::assembly); });
  if (!text && !diagnostics.hasErrors()) diagnostics.error({}, Diag::internalError, {"generate-ptx"});
  return text && stage == Stage::ptx ? withFacts(*text, artifact) : text;
}

/// What follows emission, as far as `stage`.
static std::optional<std::string> emitModule(ModuleOp module, const CompileRequest &request, Stage stage, Diagnostics &diagnostics) {
  if (stage == Stage::tt) {
    if (!runStep(machineFreeSteps[0], module, request.onStep, diagnostics) ||
        !runStep(machineFreeSteps[2], module, request.onStep, diagnostics))
      return std::nullopt;
    return textOf(module);
  }
  if (request.gpu) return emitGpuModule(module, request, stage, diagnostics);
  LoopsInfo info;
  if (!lowerForCpu(module, request.target, request.options.fpFusion, info, stage, request.onStep, diagnostics)) return std::nullopt;
  if (stage == Stage::loops) return textOf(module);
  CodeKind kind = stage == Stage::llvm ? CodeKind::llvm : stage == Stage::assembly ? CodeKind::assembly : CodeKind::object;
  auto code = timed(request.onStep, "generate-code", [&] { return generateCode(module, request.target, kind); });
  if (!code && !diagnostics.hasErrors()) diagnostics.error({}, Diag::internalError, {"generate-code"});
  return code;
}

std::optional<std::string> emitStage(const CompileRequest &request, Stage stage, Diagnostics &diagnostics) {
  if (stage == Stage::ast) return printAst(*request.kernel->module);
  MLIRContext &context = threadContext();
  auto handler = forwardErrors(context, request.kernel->module->source.get(), diagnostics);
  OwningOpRef<ModuleOp> module = emit(context, request, diagnostics);
  if (!module) return std::nullopt;
  return emitModule(*module, request, stage, diagnostics);
}

//===------------------------------------------------------------------------------------------------------------ IR text

/// MLIR's parser recurses, and ends in a stack overflow on text that no compiler wrote. Where that would begin, or nothing.
static std::optional<uint32_t> tooDeep(llvm::StringRef text, int64_t most) {
  int64_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
        if (text[at] == '\\') ++at;
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '{' || c == '(' || c == '[') {
      if (++depth > most) return static_cast<uint32_t>(at);
    } else if (c == '}' || c == ')' || c == ']') {
      --depth;
    }
  }
  return std::nullopt;
}

/// The module in `source`, with the function `name` (if not empty) as its only public one.
static OwningOpRef<ModuleOp> readText(MLIRContext &context, const SourceFile &source, llvm::StringRef name, Diagnostics &diagnostics) {
  constexpr int64_t deepest = 1000;
  if (std::optional<uint32_t> at = tooDeep(source.text(), deepest)) {
    diagnostics.error({&source, *at, *at + 1}, Diag::nestedTooDeeply, {std::to_string(deepest)});
    return nullptr;
  }
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source.text(), ParserConfig(&context), source.name());
  if (!module || name.empty()) return module;
  bool found = false;
  std::string names;
  for (auto function : module->getOps<tt::FuncOp>()) {
    if (!function.isPublic()) continue;
    found |= function.getName() == name;
    names += (names.empty() ? "" : ", ") + function.getName().str();
    if (function.getName() != name) function.setPrivate();
  }
  if (found) return module;
  std::string hint = names.empty() ? "no tt.func of it is public" : "its kernels are " + names;
  diagnostics.error({}, Diag::unknownKernel, {name.str(), std::string(source.name()), hint});
  return nullptr;
}

std::unique_ptr<CpuArtifact> compileTextForCpu(const std::string &text, const std::string &fileName, llvm::StringRef name,
                                               const CpuTarget &target, Diagnostics &diagnostics) {
  MLIRContext &context = threadContext();
  auto source = SourceFile::create(fileName, text, 1);
  auto handler = forwardErrors(context, source.get(), diagnostics);
  OwningOpRef<ModuleOp> module = readText(context, *source, name, diagnostics);
  if (!module) return nullptr;
  LoopsInfo info;
  if (!lowerForCpu(*module, target, true, info, Stage::object, {}, diagnostics)) return nullptr;
  return finish(*module, info, target, {}, diagnostics);
}

std::optional<std::string> emitTextStage(const std::string &text, const std::string &fileName, const CompileRequest &request,
                                         llvm::StringRef name, Stage stage, Diagnostics &diagnostics) {
  MLIRContext &context = threadContext();
  auto source = SourceFile::create(fileName, text, 1);
  auto handler = forwardErrors(context, source.get(), diagnostics);
  OwningOpRef<ModuleOp> module = readText(context, *source, name, diagnostics);
  if (!module) return std::nullopt;
  return emitModule(*module, request, stage, diagnostics);
}

//===------------------------------------------------------------------------------------------------------ tile programs

struct TileProgram::Impl {
  OwningOpRef<ModuleOp> module;
};

TileProgram::TileProgram() : impl(std::make_unique<Impl>()) {}
TileProgram::~TileProgram() = default;
ModuleOp TileProgram::module() const {
  return *impl->module;
}

std::unique_ptr<TileProgram> TileProgram::create(const CompileRequest &request, Diagnostics &diagnostics) {
  MLIRContext &context = threadContext();
  auto handler = forwardErrors(context, request.kernel->module->source.get(), diagnostics);
  auto program = std::unique_ptr<TileProgram>(new TileProgram());
  program->impl->module = emit(context, request, diagnostics);
  if (!program->impl->module) return nullptr;
  return program;
}

//===---------------------------------------------------------------------------------------------------- thread programs

struct ThreadProgram::Impl {
  OwningOpRef<ModuleOp> module;
  GpuArtifact artifact;
};

ThreadProgram::ThreadProgram() : impl(std::make_unique<Impl>()) {}
ThreadProgram::~ThreadProgram() = default;
ModuleOp ThreadProgram::module() const {
  return *impl->module;
}
const GpuArtifact &ThreadProgram::artifact() const {
  return impl->artifact;
}

std::unique_ptr<ThreadProgram> ThreadProgram::create(const CompileRequest &request, Diagnostics &diagnostics) {
  MLIRContext &context = threadContext();
  auto handler = forwardErrors(context, request.kernel->module->source.get(), diagnostics);
  auto program = std::unique_ptr<ThreadProgram>(new ThreadProgram());
  program->impl->module = emit(context, request, diagnostics);
  if (!program->impl->module) return nullptr;
  if (!lowerForGpu(*program->impl->module, request, program->impl->artifact, Stage::threads, diagnostics)) return nullptr;
  return program;
}

//===------------------------------------------------------------------------------------------------------------ build

/// The build id that the linker wrote into the object file holding this code, or its path and size where it wrote none.
std::string buildId() {
  static const std::string id = [] {
    struct Search {
      uintptr_t address;
      std::string id;
    } search{reinterpret_cast<uintptr_t>(&buildId), {}};
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *data) -> int {
          auto &search = *static_cast<Search *>(data);
          bool ours = false;
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto &header = info->dlpi_phdr[i];
            uintptr_t start = info->dlpi_addr + header.p_vaddr;
            if (header.p_type == PT_LOAD && search.address >= start && search.address < start + header.p_memsz) ours = true;
          }
          if (!ours) return 0;
          Hasher hasher;
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto &header = info->dlpi_phdr[i];
            const char *start = reinterpret_cast<const char *>(info->dlpi_addr + header.p_vaddr);
            if (header.p_type == PT_NOTE) hasher.add(std::string_view(start, header.p_memsz));
            // Code is hashed too: the linker writes a build id only where it is asked to.
            if (header.p_type == PT_LOAD && (header.p_flags & PF_X)) hasher.add(std::string_view(start, header.p_memsz));
          }
          search.id = hasher.hex();
          return 1;
        },
        &search);
    return search.id;
  }();
  return id;
}

} // namespace tilewright
