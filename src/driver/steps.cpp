#include "driver/steps.h"

#include "codegen/debug_info.h"
#include "codegen/lower.h"
#include "codegen/object.h"
#include "codegen/ptx/lower.h"
#include "codegen/ptx/text.h"
#include "cpu/lower.h"
#include "driver/given_ptx.h"
#include "driver/strict_rounding.h"
#include "frontend/link_library.h"
#include "gpu/passes.h"
#include "gpu/tiles/tensor_map.h"
#include "gpu/tiles/ttg.h"
#include "ir/newer_text.h"
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/slots.h"
#include "ir/written_arguments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {

//===------------------------------------------------------------------------------------------ steps that are not passes

/// TTGIR has been generated for a number of warps, which stands in its module.
static bool takeWarps(Compilation &c) {
  Attribute number = c.module.get()->removeAttr("ttg.num-warps");
  if (!number) return true;
  auto warps = dyn_cast<IntegerAttr>(number);
  c.options.numWarps = warps ? warps.getValue().getSExtValue() : 0;
  return c.options.check(c.request.gpu ? &*c.request.gpu : nullptr, c.diagnostics);
}

static LogicalResult emitKernel(Compilation &c) {
  c.module = c.request.kernel.emit(*c.context, c.request.args, c.options, c.diagnostics);
  if (c.module && !takeWarps(c)) return failure();
  bool overlaps = c.options.backend == "cuda" && c.options.capability >= 90;
  if (c.module) tt::expandGridDependencies(*c.module, overlaps);
  c.isVerified = c.request.kernel.function() && c.options.overrideText.empty(); // by the front end
  return success(c.module.get() != nullptr);
}

static LogicalResult link(Compilation &c) {
  return success(linkLibrary(*c.module, c.options, c.diagnostics));
}

/// Loops are the first form that knows about a launch: the slots of its arguments, the scratch memory of a worker.
static LogicalResult toLoops(Compilation &c) {
  LoopsInfo info;
  info.onExplained = c.request.onExplained;
  info.namesVariables = debugInfoIsOn();
  for (auto kernel : c.module->getOps<tt::FuncOp>())
    c.cpu.writes = writtenArguments(kernel);
  if (failed(lowerToLoops(*c.module, c.request.target, c.options.fpFusion, c.request.failedGuardsOf, info))) return failure();
  c.cpu.entry = info.entry;
  c.cpu.arenaBytes = info.arenaBytes;
  c.cpu.atomics = info.atomics;
  c.cpu.slots = std::move(info.slots);
  c.cpu.guards = std::move(info.guards);
  return success();
}

static LogicalResult loopsToLlvm(Compilation &c) {
  if (c.options.fpFusion) allowFpFusion(*c.module);
  return lowerToLlvm(*c.module);
}

/// The text, with its assumptions in front, for people: whoever launches it by other means must satisfy them.
static std::string withGuards(const std::string &text, llvm::StringRef comment, llvm::ArrayRef<LaunchGuard> guards) {
  std::string lines;
  for (const LaunchGuard &guard : guards)
    if (!guard.isVersioningRequest) lines += comment.str() + " assumes: " + guard.name + "\n";
  return lines + text;
}

/// Gives the function of an object the name that the request wants, and the object the size of its scratch memory.
static void nameSymbols(Compilation &c) {
  const std::string &symbol = c.request.symbol;
  if (symbol.empty()) return;
  auto entry = c.module->lookupSymbol<LLVM::LLVMFuncOp>(c.cpu.entry);
  entry.setSymName(symbol);
  c.cpu.entry = symbol;
  OpBuilder b(entry);
  LLVM::GlobalOp::create(b, entry.getLoc(), b.getI64Type(), /*isConstant=*/true, LLVM::Linkage::External, symbol + "_scratch_bytes",
                         b.getI64IntegerAttr(c.cpu.arenaBytes), /*alignment=*/8);
}

static LogicalResult generateForCpu(Compilation &c) {
  nameSymbols(c);
  CodeKind kind = c.wanted == Stage::llvm ? CodeKind::llvm : c.wanted == Stage::assembly ? CodeKind::assembly : CodeKind::object;
  std::optional<std::string> code = generateCode(*c.module, c.request.target, kind);
  if (!code) return failure();
  c.output = c.wanted == Stage::assembly ? withGuards(*code, "#", c.cpu.guards) : std::move(*code);
  return success();
}

/// Marks the arguments that the author excludes from specialisation, and descriptors, for whose alignment hosts vouch.
static void noteNotSpecialized(tt::FuncOp kernel, const CompileRequest &request) {
  const JitFunction &face = *request.kernel.face();
  unsigned slot = 0;
  for (auto [parameter, spec] : llvm::zip(face.parameters, request.args)) {
    bool isExcluded = spec.type.isDescriptor() || llvm::is_contained(face.doNotSpecialize, parameter.name) ||
                      llvm::is_contained(face.doNotSpecializeOnAlignment, parameter.name);
    for (size_t end = slot + slotNames(parameter.name, spec).size(); slot < end; ++slot)
      if (isExcluded) kernel.setArgAttr(slot, ttg::notSpecializedName, UnitAttr::get(kernel.getContext()));
  }
}

/// A name as PTX allows it. Python's letters are those of all scripts: the bytes of the others are spelled as numbers.
static std::string ptxName(llvm::StringRef name) {
  std::string spelled;
  for (char c : name)
    spelled += llvm::isAlnum(c) || c == '_' || c == '$' ? std::string(1, c) : "_" + llvm::utohexstr(static_cast<unsigned char>(c));
  return spelled;
}

static void noteFailed(tt::FuncOp kernel, const CompileRequest &request) {
  llvm::SmallVector<llvm::StringRef> failedGuards(request.failedGuardsOf.begin(), request.failedGuardsOf.end());
  if (!failedGuards.empty()) kernel->setAttr(ttg::failedGuardsName, Builder(kernel.getContext()).getStrArrayAttr(failedGuards));
}

/// Writes on the kernel what it is compiled for, so that passes need only
/// the module. Notes the slots while arguments still have their types.
static LogicalResult configure(Compilation &c) {
  for (auto kernel : c.module->getOps<tt::FuncOp>()) {
    c.gpu.entry = ptxName(kernel.getName());
    kernel.setName(c.gpu.entry);
    for (mlir::Type type : kernel.getArgumentTypes()) {
      std::optional<SlotKind> slot = slotKindOf(type);
      if (!slot) return refuse(kernel, Diag::argumentSlot, {mlirText(type)});
      c.gpu.slots.push_back(*slot);
    }
    c.gpu.writes = writtenArguments(kernel);
    auto target = StringAttr::get(kernel.getContext(), c.request.gpu->name);
    kernel->setAttr(ttg::configName, ttg::ConfigAttr::get(kernel.getContext(), c.options.numWarps, c.options.numCtas, c.options.numStages,
                                                          c.options.maxnreg.value_or(0), target));
    noteFailed(kernel, c.request);
    noteNotSpecialized(kernel, c.request);
  }
  return success();
}

/// What a launch must provide: threads, shared memory, tensor maps.
static LogicalResult collectLaunchGuards(Compilation &c) {
  for (auto kernel : c.module->getOps<tt::FuncOp>()) {
    std::optional<std::vector<gpu::TensorMapSpec>> maps = gpu::takeTensorMaps(kernel);
    if (!maps) return failure();
    c.gpu.maps = std::move(*maps);
    c.gpu.guards = gpu::collectLaunchGuards(kernel);
    auto launch = kernel->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
    if (!launch) return bug(kernel, "it does not say how many threads it has");
    c.gpu.warps = launch.getThreads() / 32;
    c.gpu.ctas = launch.getCluster();
    c.gpu.sharedBytes = launch.getSharedBytes();
    c.gpu.maxnreg = launch.getMaxRegisters();
    kernel.walk([&](Operation *op) { c.gpu.printsOrAsserts |= isa<ptx::PrintOp, ptx::AssertFailOp>(op); });
  }
  return success();
}

static LogicalResult applyStrictRounding(Compilation &c) {
  if (c.options.numerics == Numerics::strict) setStrictRounding(*c.module);
  return success();
}

static LogicalResult threadsToLlvm(Compilation &c) {
  if (c.options.fpFusion) allowFpFusion(*c.module);
  return lowerPtxToLlvm(*c.module, *c.request.gpu, c.options.flushesExp2);
}

static LogicalResult generateForGpu(Compilation &c) {
  if (c.wanted != Stage::llvm && isPtx(c.options.overrideText)) {
    c.gpu.target = c.request.gpu->name;
    c.output = c.options.overrideText;
    return success(takePtx(c.output, c.gpu, c.diagnostics));
  }
  std::optional<std::string> text = generatePtx(*c.module, *c.request.gpu, c.wanted == Stage::llvm ? CodeKind::llvm : CodeKind::assembly);
  if (!text) return failure();
  c.gpu.target = c.request.gpu->name;
  c.output = c.wanted == Stage::llvm ? std::move(*text) : withGuards(*text, "//", c.gpu.guards);
  return success();
}

/// One thread makes eight e2m1 numbers from one register at a time. Blocks that share tiles have no such operation.
static LogicalResult expandForGpus(Compilation &c) {
  if (c.options.numCtas != 1) return expandScaledDots(*c.module);
  constexpr int64_t warpsOfTwoGroups = 8;
  bool isWarpSpecialized = c.request.gpu->setmaxnreg && c.request.gpu->tma && c.options.numWarps == warpsOfTwoGroups;
  for (auto kernel : c.module->getOps<tt::FuncOp>())
    noteFailed(kernel, c.request);
  return expandScaledDots(
      *c.module,
      [](ImplicitLocOpBuilder &b, mlir::Value bytes, int64_t dim, mlir::Type number, bool small) -> mlir::Value {
        auto tile = cast<RankedTensorType>(bytes.getType());
        llvm::SmallVector<int64_t> shape(tile.getShape());
        if (!llvm::all_of(shape, [](int64_t size) { return llvm::isPowerOf2_64(static_cast<uint64_t>(size)); })) return {};
        shape[static_cast<size_t>(dim)] *= 2;
        return ttg::UnpackE2m1Op::create(b, RankedTensorType::get(shape, number), bytes, static_cast<uint32_t>(dim), small);
      },
      isWarpSpecialized ? AssumeNoAlias(ttg::assumeNoAlias) : AssumeNoAlias());
}

/// Without an assembler on this machine the PTX is the artifact, and the driver assembles it.
static LogicalResult assemble(Compilation &c) {
  c.gpu.ptx = std::move(c.output);
  c.output.clear();
  if (findPtxas().empty()) return success();
  std::string problem;
  std::optional<Cubin> cubin = assemblePtx(c.gpu.ptx, *c.request.gpu, c.options.ptxOptions, problem);
  if (!cubin) {
    c.diagnostics.error({}, Diag::assemblerFailed, {c.gpu.entry, problem});
    return failure();
  }
  c.output = c.gpu.cubin = std::move(cubin->bytes);
  c.gpu.messages = {std::move(cubin->log)};
  c.gpu.registers = cubin->registers;
  c.gpu.spillBytes = cubin->spillBytes;
  c.gpu.localBytes = cubin->localBytes;
  return success();
}

//===---------------------------------------------------------------------------------------------------------- the table

// clang-format off
constexpr Step steps[] = {
    // tt: tiles, for any machine
    {"emit-tiles", Machine::any, nullptr, emitKernel, "",
     "translate the Python function, or read the IR text"},
    {"link-library", Machine::any, nullptr, link, "",
     "bring in the functions of libdevice that are written in the language"},
    {"inline-calls", Machine::any, inlineCalls, nullptr, "tt.call cf.",
     "replace every call by what it calls, and branches by structured control flow"},
    {"simplify-calls", Machine::any, simplify, nullptr, "",
     "clean up what inlining has left"},
    {"unroll-loops", Machine::any, unrollLoops, nullptr, "",
     "repeat the bodies of loops whose author asks for it"},
    {"expand-block-pointers", Machine::any, expandBlockPointers, nullptr,
     "tt.make_tensor_ptr tt.advance tt.make_tensor_descriptor tt.descriptor_load tt.descriptor_store tt.descriptor_reduce tt.descriptor_gather tt.descriptor_scatter",
     "turn block pointers and tensor descriptors into tiles of pointers with masks"},
    {"expand-scaled-dots", Machine::cpu, expandScaledDots, nullptr, "tt.dot_scaled",
     "turn products of microscaling formats into products of bf16 or fp16"},
    {"expand-scaled-dots-for-gpus", Machine::gpu, nullptr, expandForGpus, "tt.dot_scaled",
     "the same, with numbers of e2m1 made from bytes by one operation, and loops in fp16 first"},
    {"pad-tiles", Machine::any, padTiles, nullptr, "",
     "bring tiles of any size to powers of two"},
    {"simplify", Machine::any, simplify, nullptr, "",
     "fold, canonicalise, remove what is common or unused, and hoist out of loops"},
    {"scalarize-carried", Machine::any, scalarizeCarried, nullptr, "",
     "carry one scalar through a loop where a tile only moves by a uniform amount"},
    {"simplify-again", Machine::any, simplify, nullptr, "",
     "bring the carried scalars to the bases of their pointers"},

    // processors: loops of vectors
    {"lower-to-loops", Machine::cpu, nullptr, toLoops, "tt. tile",
     "turn tiles into loop nests of vectors", true},
    {"lower-to-llvm", Machine::cpu, nullptr, loopsToLlvm, "scf. arith. math. cf. ub.",
     "turn loops and arithmetic into the LLVM dialect", true},
    {"generate-code", Machine::cpu, nullptr, generateForCpu, "",
     "select instructions: object code"},

    // GPUs: tiles with layouts
    {"strict-rounding", Machine::gpu, nullptr, applyStrictRounding, "",
     "round divisions and square roots to nearest, where the numerics are strict"},
    {"configure", Machine::gpu, nullptr, configure, "",
     "say on the kernel what it is compiled for"},
    {"specialize-divisibility", Machine::gpu, gpu::specializeDivisibility, nullptr, "",
     "let launches whose arguments are multiples of 8, 4 or 2 have wider accesses"},
    {"specialize-lengths", Machine::gpu, gpu::specializeLengths, nullptr, "",
     "let launches whose rows are well below their block's size leave out what lies behind them"},
    {"split-precision", Machine::gpu, gpu::splitPrecision, nullptr, "",
     "compute products of f32 as several of tf32 or bf16, where their author asks for it"},
    {"split-ctas", Machine::gpu, gpu::splitCtas, nullptr, "",
     "let the blocks of a program share its tiles"},
    {"modulo-to-mask", Machine::gpu, gpu::moduloToMask, nullptr, "",
     "turn the modulo in addresses of products' operands into masks"},
    {"form-descriptors", Machine::gpu, gpu::formDescriptors, nullptr, "",
     "load and store products' tiles through tensor maps, where addresses are affine"},
    {"simplify-addresses", Machine::gpu, simplify, nullptr, "",
     "drop the address arithmetic that tensor maps have replaced"},
    {"choose-warps", Machine::gpu, gpu::chooseWarps, nullptr, "",
     "take more warps than asked for where accumulators do not fit"},
    {"hoist-loads", Machine::gpu, gpu::hoistLoads, nullptr, "",
     "load in front of a branch that waits for memory what it loads and is stored behind it, and a few weights of a row in front of its sums"},
    {"assume-no-wrap", Machine::gpu, gpu::assumeNoWrap, nullptr, "",
     "note which offsets of 32 bits do not wrap around, and ask launches for it"},
    {"assign-layouts", Machine::gpu, gpu::assignLayouts, nullptr, "",
     "say which thread of a GPU holds which element of each tile"},
    {"optimize-thread-locality", Machine::gpu, gpu::optimizeThreadLocality, nullptr, "",
     "add up behind a loop, once, what its iterations sum over threads"},
    {"select-tensor-cores", Machine::gpu, gpu::selectTensorCores, nullptr, "",
     "turn products into instructions, and their operands into buffers"},
    {"pipeline-loops", Machine::gpu, gpu::pipeline, nullptr, "ttg.descriptor_load ttg.descriptor_store",
     "start loads ahead of the loop that needs them, through rings in shared memory"},
    {"overlap-mmas", Machine::gpu, gpu::overlapMmas, nullptr, "",
     "start products earlier and wait for them later, within an iteration"},
    {"allocate-shared", Machine::gpu, gpu::allocateShared, nullptr, "",
     "give buffers, barriers and scratch their places in shared memory"},
    {"specialize-warps", Machine::gpu, gpu::specializeWarps, nullptr, "",
     "part the warp that starts copies from those that multiply"},
    // ptx: the scalars of one thread
    {"lower-to-threads", Machine::gpu, gpu::lowerToThreads, nullptr, "ttg. tile",
     "turn tiles with layouts into one GPU thread's scalars", true},
    {"simplify-threads", Machine::gpu, simplify, nullptr, "",
     "clean up one thread's scalars"},
    {"cse-addresses", Machine::gpu, gpu::cseAddresses, nullptr, "",
     "let addresses of a GPU thread at constant distances share their computation"},
    {"collect-launch-guards", Machine::gpu, nullptr, collectLaunchGuards, "",
     "note what a launch must bring: threads, shared memory, tensor maps"},
    {"lower-ptx", Machine::gpu, nullptr, threadsToLlvm, "tt. ptx. scf. arith. math. cf. ub.",
     "spell each PTX operation for LLVM", true},
    {"generate-ptx", Machine::gpu, nullptr, generateForGpu, "",
     "select instructions: PTX"},
    {"assemble", Machine::gpu, nullptr, assemble, "",
     "assemble the PTX, where there is ptxas"},
};
// clang-format on

llvm::ArrayRef<Step> allSteps() {
  return steps;
}

std::vector<const Step *> stepsFor(const CompileRequest &request) {
  std::vector<const Step *> way;
  auto machine = static_cast<uint8_t>(request.gpu ? Machine::gpu : Machine::cpu);
  for (const Step &step : steps)
    if (static_cast<uint8_t>(step.machine) & machine) way.push_back(&step);
  return way;
}

llvm::StringRef lastStepOf(Stage stage, bool gpu) {
  switch (stage) {
  case Stage::ast: return "";
  case Stage::tt: return "unroll-loops";
  case Stage::loops: return "lower-to-loops";
  case Stage::ttg: return "specialize-warps";
  case Stage::threads: return "collect-launch-guards";
  case Stage::llvm: return gpu ? "generate-ptx" : "generate-code";
  case Stage::assembly:
  case Stage::object: return "generate-code";
  case Stage::ptx: return "generate-ptx";
  case Stage::cubin: return "assemble";
  }
  return "";
}

std::string leftOver(ModuleOp module, llvm::ArrayRef<llvm::StringRef> gone) {
  bool noTiles = llvm::is_contained(gone, "tile");
  llvm::SmallDenseMap<OperationName, bool, 32> allowed; // a module has a few dozen kinds of operations
  Operation *found = nullptr;
  module->walk([&](Operation *op) {
    auto [known, fresh] = allowed.try_emplace(op->getName(), true);
    if (fresh)
      for (llvm::StringRef name : gone) {
        llvm::StringRef kind = op->getName().getStringRef();
        bool kept = kind == "tt.func" || kind == "tt.return"; // a kernel is one to its end
        if (!kept && (name.ends_with(".") ? kind.starts_with(name) : kind == name)) known->second = false;
      }
    bool tile = noTiles && llvm::any_of(op->getResultTypes(), [](mlir::Type type) { return isa<RankedTensorType>(type); });
    if (known->second && !tile) return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found ? found->getName().getStringRef().str() : "";
}

} // namespace tilewright
