#include "driver/steps.h"

#include "codegen/debug_info.h"
#include "codegen/lower.h"
#include "codegen/object.h"
#include "codegen/ptx/lower.h"
#include "codegen/ptx/text.h"
#include "cpu/lower.h"
#include "driver/choose_cta_pairs.h"
#include "driver/given_ptx.h"
#include "driver/strict_rounding.h"
#include "frontend/link_library.h"
#include "gpu/cost_model/choose_occupancy.h"
#include "gpu/explain/explain.h"
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/tiles/tma/tensor_map.h"
#include "gpu/ttg/ttg.h"
#include "ir/element_functions.h"
#include "ir/newer_text.h"
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/slots.h"
#include "ir/written_arguments.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {

//===------------------------------------------------------------------------------------------ steps that are not passes

/// Takes the number of warps that TTGIR was generated for from its module.
static bool takeWarps(Compilation &c) {
  Attribute number = c.module.get()->removeAttr("ttg.num-warps");
  if (!number) return true;
  auto warps = dyn_cast<IntegerAttr>(number);
  c.options.numWarps = warps ? warps.getValue().getSExtValue() : 0;
  return c.options.check(c.request.gpu ? &*c.request.gpu : nullptr, c.diagnostics);
}

static LogicalResult emitKernel(Compilation &c) {
  c.module = c.request.kernel.emit(*c.context, c.request.args, c.options, c.diagnostics);
  if (!c.module || !takeWarps(c)) return failure();
  bool overlaps = c.options.backend == "cuda" && c.options.capability >= 90;
  tt::expandGridDependencies(*c.module, overlaps);
  c.isVerified = c.request.kernel.function() && c.options.overrideText.empty(); // by the front end
  return tt::checkElementFunctions(*c.module);
}

static LogicalResult link(Compilation &c) {
  return success(linkLibrary(*c.module, c.options, c.diagnostics));
}

/// Converts to loops. This form is the first with launch information: the slots of arguments, and the scratch memory of a worker.
static LogicalResult toLoops(Compilation &c) {
  LoopsInfo info;
  info.onExplained = c.request.onExplained;
  info.namesVariables = debugInfoIsOn();
  for (auto kernel : c.module->getOps<tt::FuncOp>())
    c.cpu.writes = writtenArguments(kernel);
  if (failed(lowerToLoops(*c.module, c.request.target, c.options.fpFusion, c.request.failedGuards, info))) return failure();
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

/// The text with its assumptions as comments before it. Callers that launch it by other means must satisfy them.
static std::string withGuards(const std::string &text, llvm::StringRef comment, llvm::ArrayRef<LaunchGuard> guards) {
  std::string lines;
  for (const LaunchGuard &guard : guards)
    if (!guard.isVersioningRequest) lines += comment.str() + " assumes: " + guard.name + "\n";
  return lines + text;
}

/// Gives an object's function the requested symbol, and adds a symbol for the size of its scratch memory.
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

/// Marks the arguments that the author excludes from specialization, and descriptors, whose alignment the host guarantees.
static void markNotSpecialized(tt::FuncOp kernel, const CompileRequest &request) {
  const JitFunction &face = *request.kernel.face();
  unsigned slot = 0;
  for (auto [parameter, spec] : llvm::zip(face.parameters, request.args)) {
    bool isExcluded = spec.type.isDescriptor() || llvm::is_contained(face.doNotSpecialize, parameter.name) ||
                      llvm::is_contained(face.doNotSpecializeOnAlignment, parameter.name);
    for (size_t end = slot + slotNames(parameter.name, spec).size(); slot < end; ++slot)
      if (isExcluded) kernel.setArgAttr(slot, ttg::notSpecializedName, UnitAttr::get(kernel.getContext()));
  }
}

/// A name in PTX's characters: the bytes of non-ASCII letters in Python's names become numbers.
static std::string ptxName(llvm::StringRef name) {
  std::string spelled;
  for (char c : name)
    spelled += llvm::isAlnum(c) || c == '_' || c == '$' ? std::string(1, c) : "_" + llvm::utohexstr(static_cast<unsigned char>(c));
  return spelled;
}

static void markFailedGuards(tt::FuncOp kernel, const CompileRequest &request) {
  llvm::SmallVector<llvm::StringRef> names(request.failedGuards.begin(), request.failedGuards.end());
  if (!names.empty()) kernel->setAttr(ttg::failedGuardsName, Builder(kernel.getContext()).getStrArrayAttr(names));
}

/// Refuses partitions of warps that the options or the GPU do not permit. The verifier knows them from the step configure on.
static LogicalResult checkPartitions(tt::FuncOp kernel) {
  std::string problem;
  ttg::WarpSpecializeOp refused;
  {
    mlir::ScopedDiagnosticHandler handler(kernel.getContext(), [&](mlir::Diagnostic &diagnostic) { problem = diagnostic.str(); });
    kernel.walk([&](ttg::WarpSpecializeOp partitions) {
      if (!refused && failed(partitions.verifyRegions())) refused = partitions;
    });
  }
  return refused ? LogicalResult(refuse(refused, Diag::invalidIr, {problem})) : success();
}

/// Stores the options of the compilation on the kernel, so that passes only need the module. Records the slots while arguments still have
/// their types.
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
    if (failed(checkPartitions(kernel))) return failure();
    markFailedGuards(kernel, c.request);
    markNotSpecialized(kernel, c.request);
  }
  return success();
}

static LogicalResult chooseOccupancy(Compilation &c) {
  for (auto kernel : c.module->getOps<tt::FuncOp>())
    gpu::chooseOccupancy(kernel);
  return success();
}

/// Collects the requirements of a launch: threads, shared memory, tensor maps.
static LogicalResult collectLaunchGuards(Compilation &c) {
  for (auto kernel : c.module->getOps<tt::FuncOp>()) {
    std::optional<std::vector<gpu::TensorMapSpec>> maps = gpu::takeTensorMaps(kernel);
    if (!maps) return failure();
    c.gpu.maps = std::move(*maps);
    std::optional<std::vector<LaunchGuard>> guards = gpu::collectLaunchGuards(kernel);
    if (!guards) return failure();
    c.gpu.guards = std::move(*guards);
    auto launch = kernel->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
    if (!launch) return bug(kernel, "it has no number of threads");
    c.gpu.warps = launch.getThreads() / 32;
    c.gpu.ctas = launch.getCluster();
    c.gpu.sharedBytes = launch.getSharedBytes();
    c.gpu.maxnreg = launch.getMaxRegisters();
    c.triesMoreCtas = launch.getTryMoreCtas();
    kernel.walk([&](Operation *op) { c.gpu.printsOrAsserts |= isa<ptx::PrintOp, ptx::AssertFailOp>(op); });
  }
  return success();
}

static LogicalResult applyStrictRounding(Compilation &c) {
  if (c.options.numerics == Numerics::strict) setStrictRounding(*c.module);
  return success();
}

/// With one instruction instead of four, exp2 of f32 returns 0 instead of a denormal.
static LogicalResult flushDenormals(Compilation &c) {
  if (!c.options.flushesExp2) return success();
  c.module->walk([](ptx::SpecialOp op) {
    if (op.getKind() == ptx::Unit::ex2) op.setFlushes(true);
  });
  return success();
}

static LogicalResult threadsToLlvm(Compilation &c) {
  if (c.options.fpFusion) allowFpFusion(*c.module);
  return lowerPtxToLlvm(*c.module, *c.request.gpu);
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

/// One thread converts eight e2m1 numbers from one register at a time. If the launch asks for several CTAs, dots of numbers are split
/// better than this operation. choose-warps-and-ctas may split a program with it.
static LogicalResult expandNotNative(Compilation &c) {
  auto isNative = [&](tt::DotScaledOp op) {
    return gpu::scaledDotSplit(op, *c.request.gpu, c.options.numWarps, c.options.numCtas).has_value();
  };
  if (c.options.numCtas != 1) return expandScaledDots(*c.module, nullptr, Assumptions(), isNative);
  bool mayBeWarpSpecialized = c.request.gpu->wgmma && c.request.gpu->tma && c.options.numWarps == 2 * gpu::warpsOfGroup;
  for (auto kernel : c.module->getOps<tt::FuncOp>())
    markFailedGuards(kernel, c.request);
  return expandScaledDots(
      *c.module,
      [](ImplicitLocOpBuilder &b, mlir::Value bytes, int64_t dim, mlir::Type number, bool small) -> mlir::Value {
        auto tile = cast<RankedTensorType>(bytes.getType());
        llvm::SmallVector<int64_t> shape(tile.getShape());
        if (!llvm::all_of(shape, [](int64_t size) { return llvm::isPowerOf2_64(static_cast<uint64_t>(size)); })) return {};
        shape[static_cast<size_t>(dim)] *= 2;
        return ttg::UnpackE2m1Op::create(b, RankedTensorType::get(shape, number), bytes, static_cast<uint32_t>(dim), small);
      },
      mayBeWarpSpecialized ? Assumptions{ttg::noAliasGuard, ttg::relyOn} : Assumptions(), isNative);
}

static LogicalResult expandForGpus(Compilation &c) {
  if (failed(expandNotNative(c))) return failure();
  c.module->walk([&](tt::DotScaledOp dot) { packScaledOperands(dot, c.request.gpu->tcgen05BlockScales); });
  return success();
}

/// Runs ptxas, and runs it again for one more CTA per SM if that one nearly fits.
static std::optional<Cubin> runAssembler(Compilation &c, AssemblerProblem &problem) {
  const GpuTarget &target = *c.request.gpu;
  std::optional<Cubin> cubin = assemblePtx(c.gpu.ptx, target, c.options.ptxOptions, problem);
  if (!cubin || !c.triesMoreCtas) return cubin;
  int64_t ctas = gpu::ctasThatNearlyFit({c.gpu.warps * 32, cubin->registers, std::max(c.gpu.sharedBytes, cubin->sharedBytes)}, target);
  if (ctas == 0) return cubin;
  AssemblerProblem refused;
  std::optional<Cubin> smaller = assemblePtx(c.gpu.ptx, target, c.options.ptxOptions + minCtasOption(ctas), refused);
  bool isBetter = smaller && gpu::suitsMoreCtas({cubin->spillBytes, cubin->localBytes}, {smaller->spillBytes, smaller->localBytes});
  return isBetter ? smaller : cubin;
}

/// Without ptxas the PTX is the artifact, and the driver assembles it.
static LogicalResult assemble(Compilation &c) {
  c.gpu.ptx = std::move(c.output);
  c.output.clear();
  if (findPtxas().empty()) return success();
  AssemblerProblem problem;
  std::optional<Cubin> cubin = runAssembler(c, problem);
  if (!cubin) {
    c.diagnostics.error({}, problem.isOfSystem ? Diag::assemblerCannotRun : Diag::assemblerFailed, {c.gpu.entry, problem.text});
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
    // tt: tiles, for all targets
    {"emit-tiles", Machine::any, nullptr, emitKernel, "",
     "translate the Python function, or read the IR text"},
    {"link-library", Machine::any, nullptr, link, "",
     "link the libdevice functions that are written in the language"},
    {"inline-calls", Machine::any, inlineCalls, nullptr, "tt.call cf.",
     "inline all calls, and replace branches by structured control flow"},
    {"simplify-calls", Machine::any, simplify, nullptr, "",
     "simplify the code after inlining"},
    {"unroll-loops", Machine::any, unrollLoops, nullptr, "",
     "unroll loops whose author requests it (loop_unroll_factor)"},
    {"expand-block-pointers", Machine::any, expandBlockPointers, nullptr,
     "tt.make_tensor_ptr tt.advance tt.make_tensor_descriptor tt.descriptor_load tt.descriptor_store tt.descriptor_reduce tt.descriptor_gather tt.descriptor_scatter",
     "replace block pointers and tensor descriptors by tiles of pointers with masks"},
    {"expand-scaled-dots", Machine::cpu, expandScaledDots, nullptr, "tt.dot_scaled",
     "replace dots of microscaling formats by dots of bf16 or fp16"},
    {"expand-scaled-dots-for-gpus", Machine::gpu, nullptr, expandForGpus, "",
     "the same for GPUs without such MMAs: one operation unpacks e2m1 numbers, and loops use fp16 where possible"},
    {"pad-tiles", Machine::any, padTiles, nullptr, "",
     "pad tiles to powers of two"},
    {"simplify", Machine::any, simplify, nullptr, "",
     "fold and canonicalize; eliminate common and dead code; hoist loop invariants"},
    {"fold-comparisons", Machine::any, foldComparisons, nullptr, "",
     "replace comparisons that hold for all elements of a tile in every launch"},
    {"scalarize-carried", Machine::any, scalarizeCarried, nullptr, "",
     "replace loop-carried tiles that move by a uniform amount, or whose elements are equal, by one scalar"},
    {"simplify-again", Machine::any, simplify, nullptr, "",
     "add the carried scalars to the bases of their pointers, and drop masks that are true"},

    // CPUs: loops of vectors
    {"lower-to-loops", Machine::cpu, nullptr, toLoops, "tt. tile",
     "lower tiles to loop nests of vectors", true},
    {"lower-to-llvm", Machine::cpu, nullptr, loopsToLlvm, "scf. arith. math. cf. ub.",
     "lower loops and arithmetic to the LLVM dialect", true},
    {"generate-code", Machine::cpu, nullptr, generateForCpu, "",
     "generate object code with LLVM"},

    // GPUs: tiles with layouts
    {"strict-rounding", Machine::gpu, nullptr, applyStrictRounding, "",
     "round divisions and square roots to nearest, if numerics are strict"},
    {"configure", Machine::gpu, nullptr, configure, "",
     "store the target and the options on the kernel", false, &gpu::Explainer::seeAddresses},
    {"split-precision", Machine::gpu, gpu::splitPrecision, nullptr, "",
     "split f32 dots into several of tf32 or bf16, if their author requests it"},
    {"choose-cta-pairs", Machine::gpu, chooseCtaPairs, nullptr, "",
     "let two CTAs run a program whose dots they can multiply together (cta_group::2)"},
    {"choose-warps-and-ctas", Machine::gpu, gpu::chooseWarpsAndCtas, nullptr, "",
     "use more warps or CTAs than requested if accumulators or rows do not fit"},
    {"specialize-divisibility", Machine::gpu, gpu::specializeDivisibility, nullptr, "",
     "use wider accesses in versions for arguments that are multiples of 8, 4 or 2"},
    {"specialize-lengths", Machine::gpu, gpu::specializeLengths, nullptr, "",
     "skip the padding of rows in versions for rows well below the block size"},
    {"split-ctas", Machine::gpu, gpu::splitCtas, nullptr, "",
     "distribute the tiles of a program over the CTAs of a cluster"},
    {"modulo-to-mask", Machine::gpu, gpu::moduloToMask, nullptr, "",
     "replace the modulo in addresses of dot operands by masks"},
    {"form-descriptors", Machine::gpu, gpu::formDescriptors, nullptr, "",
     "use TMA tensor maps for tiles of dots with affine addresses"},
    {"simplify-addresses", Machine::gpu, simplify, nullptr, "",
     "remove the address arithmetic that tensor maps have replaced"},
    {"hoist-loads", Machine::gpu, gpu::hoistLoads, nullptr, "",
     "hoist loads before branches that wait for memory, and a row's weights before its reductions"},
    {"assume-no-wrap", Machine::gpu, gpu::assumeNoWrap, nullptr, "",
     "mark 32-bit offsets that do not wrap, with launch guards for the assumption"},
    {"assign-layouts", Machine::gpu, gpu::assignLayouts, nullptr, "",
     "assign a layout to each tile: which thread holds which element", false, &gpu::Explainer::seeTiles},
    {"optimize-thread-locality", Machine::gpu, gpu::optimizeThreadLocality, nullptr, "",
     "hoist cross-thread reductions out of loops"},
    {"select-tensor-cores", Machine::gpu, gpu::selectTensorCores, nullptr, "",
     "select MMA instructions for dots, and shared-memory buffers for operands"},
    {"wait-for-stores", Machine::gpu, gpu::waitForStores, nullptr, "",
     "let stores wait for the TMA stores whose results they overwrite"},
    {"stage-rows", Machine::gpu, gpu::stageRows, nullptr, "",
     "keep rows that are reduced several times in shared memory"},
    {"partition-dequantize", Machine::gpu, gpu::partitionDequantize, nullptr, "",
     "give the dequantization of a dot's operand to a warpgroup of its own"},
    {"stage-tma-transfers", Machine::gpu, gpu::stageTmaTransfers, nullptr, "ttg.descriptor_store",
     "give each transfer through a tensor map a buffer in shared memory"},
    {"delay-dots", Machine::gpu, gpu::delayDots, nullptr, "",
     "delay dots by mma.sync to where fewer registers are live"},
    {"pair-ctas", Machine::gpu, gpu::pairCtas, nullptr, "",
     "let the two CTAs of a cluster multiply together, each with half of the second operand (cta_group::2)"},
    {"cancel-launches", Machine::gpu, gpu::cancelLaunches, nullptr, "",
     "let a CTA cancel the launch of others and execute their programs, on GPUs with cluster launch control"},
    {"schedule-loops", Machine::gpu, gpu::scheduleLoops, nullptr, "",
     "schedule the software pipeline of each loop: stages, order, partitions, buffers"},
    {"pipeline-loops", Machine::gpu, gpu::pipelineLoops, nullptr, "",
     "rewrite loops by their schedule: circular buffers, copies that run ahead, waits"},
    {"copy-unpipelined", Machine::gpu, gpu::copyUnpipelined, nullptr, "ttg.descriptor_load",
     "replace the other loads through tensor maps by copies that are waited for"},
    {"schedule-mmas", Machine::gpu, gpu::scheduleMmas, nullptr, "",
     "decide the order of MMAs within an iteration, and where they are waited for"},
    {"overlap-mmas", Machine::gpu, gpu::overlapMmas, nullptr, "",
     "issue MMAs earlier and wait for them later within an iteration"},
    {"plan-accumulators", Machine::gpu, gpu::planAccumulators, nullptr, "",
     "plan a partition that issues MMAs, and its columns of tensor memory, on GPUs that have it"},
    {"place-accumulators", Machine::gpu, gpu::placeAccumulators, nullptr, "",
     "carry that plan out, or let the first warp of the threads issue the MMAs"},
    {"allocate-shared", Machine::gpu, gpu::allocateShared, nullptr, "",
     "allocate shared memory for buffers, barriers and scratch", false, &gpu::Explainer::seeBuffers},
    {"insert-barriers", Machine::gpu, gpu::insertBarriers, nullptr, "",
     "insert barriers between accesses to the same bytes of shared memory"},
    {"specialize-warps", Machine::gpu, gpu::specializeWarps, nullptr, "",
     "specialize warps: a producer warp issues TMA copies, consumer warps multiply", false, &gpu::Explainer::seePartitions},
    {"prepare-lowering", Machine::gpu, gpu::prepareLowering, nullptr, "",
     "decide what the lowering of an operation needs to know of others"},
    {"order-accesses", Machine::gpu, gpu::orderAccesses, nullptr, "gpu.barrier",
     "insert barriers between accesses to global memory that must keep their order"},
    // ptx: the scalars of one thread
    {"lower-to-threads", Machine::gpu, gpu::lowerToThreads, nullptr, "ttg. tile",
     "lower tiles with layouts to the scalars of one GPU thread", true},
    {"interleave-stores", Machine::gpu, gpu::interleaveStores, nullptr, "",
     "interleave stores of MMA operands with the arithmetic that computes them"},
    {"overlap-tensor-loads", Machine::gpu, gpu::overlapTensorLoads, nullptr, "",
     "combine what is loaded from tensor memory while the rest of a tile is loaded"},
    {"pipeline-tensor-stores", Machine::gpu, gpu::pipelineTensorStores, nullptr, "",
     "pipeline special functions with other arithmetic and stores to tensor memory"},
    {"flush-denormals", Machine::gpu, nullptr, flushDenormals, "",
     "let exp2 return 0 instead of denormals, unless numerics are strict"},
    {"simplify-threads", Machine::gpu, simplify, nullptr, "",
     "simplify the scalars of one thread"},
    {"cse-addresses", Machine::gpu, gpu::cseAddresses, nullptr, "",
     "compute addresses of a thread from one another if they are at constant distances"},
    {"choose-occupancy", Machine::gpu, nullptr, chooseOccupancy, "",
     "choose how many CTAs per SM the kernel promises ptxas"},
    {"collect-launch-guards", Machine::gpu, nullptr, collectLaunchGuards, "",
     "collect the launch requirements: threads, shared memory, tensor maps"},
    {"lower-ptx", Machine::gpu, nullptr, threadsToLlvm, "tt. ptx. scf. arith. math. cf. ub.",
     "lower ptx operations to inline assembly and LLVM intrinsics", true},
    {"generate-ptx", Machine::gpu, nullptr, generateForGpu, "",
     "generate PTX with LLVM"},
    {"assemble", Machine::gpu, nullptr, assemble, "",
     "assemble the PTX, if ptxas is available"},
};
// clang-format on

llvm::ArrayRef<Step> allSteps() {
  return steps;
}

std::vector<const Step *> stepsFor(const CompileRequest &request) {
  std::vector<const Step *> selected;
  auto machine = static_cast<uint8_t>(request.gpu ? Machine::gpu : Machine::cpu);
  for (const Step &step : steps)
    if (static_cast<uint8_t>(step.machine) & machine) selected.push_back(&step);
  return selected;
}

void explainStep(gpu::Explainer &explainer, llvm::StringRef name, ModuleOp module) {
  for (const Step &step : steps)
    if (step.name == name && step.explained) (explainer.*step.explained)(module);
}

llvm::StringRef lastStepOf(Stage stage, bool gpu) {
  switch (stage) {
  case Stage::ast: return "";
  case Stage::tt: return "unroll-loops";
  case Stage::loops: return "lower-to-loops";
  case Stage::ttg: return "order-accesses";
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
        bool isFunction = kind == "tt.func" || kind == "tt.return"; // a kernel stays a tt.func until the end
        if (!isFunction && (name.ends_with(".") ? kind.starts_with(name) : kind == name)) known->second = false;
      }
    bool tile = noTiles && llvm::any_of(op->getResultTypes(), [](mlir::Type type) { return isa<RankedTensorType>(type); });
    if (known->second && !tile) return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found ? found->getName().getStringRef().str() : "";
}

} // namespace tilewright
