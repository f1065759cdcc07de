#include "aot_runtime/kernel.h"

#include "aot_runtime/elements.h"
#include "api/sized.h"
#include "runtime/pool.h"
#include "support/half.h"
#include "support/memory_map.h"
#include "support/settings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstring>

namespace tilewright::aot {

Problem problemOf(const Diagnostics &diagnostics) {
  Problem problem{TW_ERROR_DEVICE, ""};
  for (const Diagnostic &each : diagnostics.all()) {
    if (each.severity != Severity::error) continue;
    if (each.id == Diag::outOfResources || each.id == Diag::tensorMapRefused || each.id == Diag::cudaUnsupported)
      problem.code = TW_ERROR_UNSUPPORTED;
    if (each.id == Diag::badGrid || each.id == Diag::slotMismatch) problem.code = TW_ERROR_INVALID_ARGUMENT;
    if (each.id == Diag::cudaFault) problem.code = TW_ERROR_EXECUTION;
    problem.text += each.message + (each.hint.empty() ? "" : "; " + each.hint) + "\n";
    for (const Diagnostic &note : each.notes)
      problem.text += "  " + note.message + "\n";
  }
  return problem;
}

/// True if the environment asks for the check of each launch.
static bool checksEachLaunch() {
  static const bool checks = isSwitchedOn("TILEWRIGHT_CHECK_POINTERS", false);
  return checks;
}

Problem readOptions(const TwLaunchOptions *given, TwLaunchOptions &options) {
  options = TW_LAUNCH_OPTIONS_INIT;
  if (!given) return {};
  std::string reason = api::readSized(given, options, "TwLaunchOptions");
  if (reason.empty() && options.threads < 0) reason = "the number of threads is " + std::to_string(options.threads);
  if (reason.empty() && options.device < 0) reason = "the CUDA device is " + std::to_string(options.device);
  if (!reason.empty()) return {TW_ERROR_INVALID_ARGUMENT, reason + "\n"};
  return {};
}

//===------------------------------------------------------------------------------------------------------ loading

Kernel::Kernel(Bundle bundle, llvm::ArrayRef<TwEntry> entries) : content(std::move(bundle)) {
  for (const Variant &variant : content.variants) {
    Loaded &loaded = variants.emplace_back();
    loaded.variant = &variant;
    for (const CpuCode &code : variant.cpu) {
      bool runs = code.level == "native" ? contain(cpuFeatures(), code.features) : runsLevel(code.level);
      if (!runs) continue;
      OnCpu &onCpu = *loaded.cpu.emplace_back(std::make_unique<OnCpu>());
      onCpu.code = &code;
      onCpu.entry = entries[static_cast<size_t>(code.entry)];
    }
    std::vector<std::string> names;
    for (int64_t parameter : variant.parameterOfSlot)
      names.push_back(content.parameters[static_cast<size_t>(parameter)].name);
    for (const GpuArtifact &code : variant.gpu)
      loaded.gpu.emplace_back(std::make_unique<gpu::GpuKernel>(code))->setSlotNames(names);
  }
}

Kernel *Kernel::of(TwArtifact *artifact, Problem &problem) {
  if (!artifact || artifact->size != sizeof(TwArtifact)) {
    problem = {TW_ERROR_INVALID_ARGUMENT, "there is no artifact: its handle is null or was not made by this version of tilewright build\n"};
    return nullptr;
  }
  std::atomic_ref<void *> state(artifact->state);
  if (void *known = state.load(std::memory_order_acquire)) return static_cast<Kernel *>(known);
  Result<Bundle> bundle =
      decodeBundle({static_cast<const char *>(artifact->bytes), artifact->byteCount}, static_cast<int64_t>(artifact->entryCount));
  if (!bundle) {
    problem = {TW_ERROR_ARTIFACT, "the artifact cannot be used: " + bundle.error() + "\n"};
    return nullptr;
  }
  auto *fresh = new Kernel(std::move(*bundle), {artifact->entries, artifact->entryCount});
  void *expected = nullptr;
  if (state.compare_exchange_strong(expected, fresh)) return fresh;
  delete fresh;
  return static_cast<Kernel *>(expected);
}

//===------------------------------------------------------------------------------------------------------ selecting

static bool isMet(const Condition &condition, llvm::ArrayRef<uint64_t> arguments) {
  uint64_t value = arguments[static_cast<size_t>(condition.parameter)];
  switch (condition.kind) {
  case Condition::Kind::equals: return value == static_cast<uint64_t>(condition.value);
  case Condition::Kind::isMultiple: return value % static_cast<uint64_t>(condition.value) == 0;
  case Condition::Kind::isText: return value && condition.text == reinterpret_cast<const char *>(value);
  }
  return false;
}

static bool haveSameConditions(const Variant &a, const Variant &b) {
  auto same = [](const Condition &x, const Condition &y) {
    return x.parameter == y.parameter && x.kind == y.kind && x.value == y.value && x.text == y.text;
  };
  return std::equal(a.conditions.begin(), a.conditions.end(), b.conditions.begin(), b.conditions.end(), same);
}

/// Returns how far the launch is from the nearest problem of a tuned variant: the sum of the differences of the key's logarithms.
static double distance(const Bundle &bundle, const Variant &variant, llvm::ArrayRef<uint64_t> arguments) {
  auto size = [](int64_t value) { return std::log2(static_cast<double>(std::max<int64_t>(value, 1))); };
  double nearest = INFINITY;
  for (const std::vector<int64_t> &problem : variant.problems) {
    double sum = 0;
    for (size_t i = 0; i < problem.size(); ++i)
      sum += std::abs(size(problem[i]) - size(static_cast<int64_t>(arguments[static_cast<size_t>(bundle.key[i])])));
    nearest = std::min(nearest, sum);
  }
  return nearest;
}

/// The values of parameters in messages.
static std::string valueText(const Parameter &parameter, uint64_t value) {
  if (parameter.element == Element::text) return value ? "'" + std::string(reinterpret_cast<const char *>(value)) + "'" : "null";
  if (parameter.isPointer) return value % 16 == 0 ? "a multiple of 16" : "not a multiple of 16";
  if (!infoOf(parameter.element).isFloat) return std::to_string(static_cast<int64_t>(value));
  double wide = 0;
  float narrow = 0;
  std::memcpy(&wide, &value, sizeof wide);
  std::memcpy(&narrow, &value, sizeof narrow);
  return std::to_string(parameter.element == Element::fp64 ? wide : static_cast<double>(narrow));
}

/// The target of code that a device runs. Null if the device does not run it.
static std::optional<GpuTarget> targetHere(const GpuArtifact &code, const gpu::CudaDevice &device) {
  std::optional<GpuTarget> target = gpuTarget(code.target);
  return target && runsOn(*target, device.major, device.minor) ? target : std::nullopt;
}

std::optional<int64_t> Kernel::Loaded::rank(const gpu::CudaDevice *device) const {
  if (!device) return cpu.empty() ? std::nullopt : std::optional(cpu.front()->code->rank());
  for (const std::unique_ptr<gpu::GpuKernel> &each : gpu)
    if (std::optional<GpuTarget> target = targetHere(each->artifact(), *device)) return target->rank();
  return std::nullopt;
}

Kernel::Loaded *Kernel::select(llvm::ArrayRef<uint64_t> arguments, const TwLaunchOptions &options, Problem &problem) {
  bool onGpu = options.useDevice != 0, lacksCode = false;
  Loaded *selected = nullptr;
  const gpu::CudaDevice *device = nullptr; // while it is not needed
  int64_t best = 0;
  double nearest = 0;
  for (Loaded &loaded : variants) {
    const Variant &variant = *loaded.variant;
    bool fits = llvm::all_of(variant.conditions, [&](const Condition &condition) { return isMet(condition, arguments); }) &&
                llvm::all_of(variant.rules, [&](const RuleCondition &rule) { return evaluate(rule.program, arguments) == rule.result; });
    if (!fits) continue;
    if (onGpu ? loaded.gpu.empty() : loaded.cpu.empty()) {
      lacksCode = true;
      continue;
    }
    if (variant.problems.empty()) { // not tuned: the first that fits
      if (!selected) selected = &loaded;
      break;
    }
    if (selected && !haveSameConditions(*selected->variant, variant)) continue;
    if (onGpu && !device) {
      Diagnostics diagnostics;
      device = gpu::CudaDevice::get(options.device, diagnostics);
      if (!device) return problem = problemOf(diagnostics), nullptr;
    }
    std::optional<int64_t> rank = loaded.rank(device);
    if (!rank) {
      lacksCode = true;
      continue;
    }
    if (selected && *rank < best) continue;
    double far = distance(content, variant, arguments);
    if (!selected || *rank > best || far < nearest) selected = &loaded, best = *rank, nearest = far;
  }
  if (selected) return selected;
  if (lacksCode) {
    problem = noCodeHere(onGpu ? "CUDA devices" : std::string("this CPU, whose level is ") + cpuLevelName());
    return nullptr;
  }
  problem = {TW_ERROR_INVALID_ARGUMENT, "there is no specialization of kernel '" + content.kernel + "' for"};
  const char *separator = " ";
  for (size_t i = 0; i < content.parameters.size(); ++i) {
    problem.text += separator + content.parameters[i].name + " = " + valueText(content.parameters[i], arguments[i]);
    separator = ", ";
  }
  problem.text += "; the artifact has:\n";
  for (const Variant &variant : content.variants)
    problem.text += "  " + variant.description + "\n";
  return nullptr;
}

Problem Kernel::gridOf(const Variant &variant, const int64_t *given, llvm::ArrayRef<uint64_t> arguments, Grid &grid) const {
  auto wrong = [&](const std::string &what) {
    return Problem{TW_ERROR_INVALID_ARGUMENT, "kernel '" + content.kernel + "': " + what + "\n"};
  };
  if (content.callerGivesGrid() != (given != nullptr))
    return wrong(given ? "the artifact computes the grid, so the launch must not give one" : "the launch gives no grid");
  int64_t programs = 1;
  for (size_t i = 0; i < 3; ++i) {
    std::optional<int64_t> extent = given ? given[i] : evaluate(variant.grid[i], arguments);
    std::string which = "extent " + std::to_string(i) + " of the grid";
    if (!extent) return wrong(which + " divides by 0, or is too large");
    if (*extent < 0 || *extent > INT32_MAX) return wrong(which + " is " + std::to_string(*extent));
    if (__builtin_mul_overflow(programs, *extent, &programs)) return wrong("the grid has too many programs");
    grid[i] = *extent;
  }
  return {};
}

/// Converts a launcher's argument to the kernel's slot.
static uint64_t slotOf(SlotKind kind, uint64_t argument) {
  float value = 0;
  uint32_t bits = static_cast<uint32_t>(argument);
  std::memcpy(&value, &bits, sizeof value);
  switch (kind) {
  case SlotKind::i1: return argument != 0;
  case SlotKind::f16: return halfBits(static_cast<double>(value));
  case SlotKind::bf16: return bfloatBits(value);
  default: return argument;
  }
}

Problem Kernel::noCodeHere(const std::string &machine) const {
  std::vector<std::string> targets;
  for (const Variant &variant : content.variants) {
    auto add = [&](const std::string &target) {
      if (!llvm::is_contained(targets, target)) targets.push_back(target);
    };
    for (const CpuCode &code : variant.cpu)
      add("cpu:" + code.level);
    for (const GpuArtifact &code : variant.gpu)
      add("cuda:" + code.target);
  }
  return {TW_ERROR_UNSUPPORTED,
          "kernel '" + content.kernel + "' has no code for " + machine + "; the artifact has code for " + llvm::join(targets, ", ") + "\n"};
}

//===------------------------------------------------------------------------------------------------------ launching

Problem Kernel::launch(const TwLaunchOptions &options, const int64_t *given, llvm::ArrayRef<uint64_t> arguments) {
  if (arguments.size() != content.parameters.size())
    return {TW_ERROR_INVALID_ARGUMENT, "kernel '" + content.kernel + "' takes " + std::to_string(content.parameters.size()) +
                                           " arguments, and the launch gives " + std::to_string(arguments.size()) + "\n"};
  Problem problem;
  bool isGpu = options.useDevice != 0;
  Loaded *loaded = select(arguments, options, problem);
  if (!loaded) return problem;
  const Variant &variant = *loaded->variant;
  Grid grid;
  if (Problem wrong = gridOf(variant, given, arguments, grid)) return wrong;
  const std::vector<SlotKind> &kinds = isGpu ? loaded->gpu.front()->artifact().slots : loaded->cpu.front()->code->slots;
  Slots slots;
  Sizes sizes;
  for (size_t i = 0; i < kinds.size(); ++i) {
    size_t parameter = static_cast<size_t>(variant.parameterOfSlot[i]);
    slots.push_back(slotOf(kinds[i], arguments[parameter]));
    int64_t size = options.bytes && kinds[i] == SlotKind::pointer ? options.bytes[parameter] : 0;
    if (size < 0 || (size > 0 && slots[i] > UINT64_MAX - static_cast<uint64_t>(size)))
      return {TW_ERROR_INVALID_ARGUMENT, "kernel '" + content.kernel + "': the size of '" + content.parameters[parameter].name + "' is " +
                                             std::to_string(size) + " bytes" + (size < 0 ? "" : ", which reach beyond the address space") +
                                             "\n"};
    sizes.push_back(size == 0 && options.disjoint ? 1 : size);
  }
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return {};
  if (!isGpu && (options.checkPointers || checksEachLaunch()))
    if (Problem bad = pointerProblem(variant, kinds, slots, sizes)) return bad;
  return isGpu ? launchOnGpu(*loaded, options, grid, slots, sizes) : launchOnCpu(*loaded, options, grid, slots, sizes);
}

Problem Kernel::pointerProblem(const Variant &variant, const std::vector<SlotKind> &kinds, const Slots &slots, const Sizes &sizes) const {
  std::optional<MemoryMap> map = MemoryMap::ofProcess();
  if (!map) return {TW_ERROR_UNSUPPORTED, "pointers cannot be checked: the system does not list the mappings; mount /proc\n"};
  for (size_t i = 0; i < kinds.size(); ++i) {
    const Parameter &parameter = content.parameters[static_cast<size_t>(variant.parameterOfSlot[i])];
    if (kinds[i] != SlotKind::pointer) continue;
    int64_t size = std::max(sizes[i], bytesOf(parameter.element));
    std::string problem =
        slots[i] ? map->problemOf(slots[i], slots[i] + static_cast<uint64_t>(size), parameter.isWritten) : std::string("it is null");
    if (!problem.empty())
      return {TW_ERROR_MEMORY, "kernel '" + content.kernel + "' cannot use '" + parameter.name + "': " + problem + "\n"};
  }
  return {};
}

Problem Kernel::launchOnCpu(Loaded &loaded, const TwLaunchOptions &options, const Grid &grid, const Slots &slots, const Sizes &sizes) {
  OnCpu *chosen = nullptr;
  for (const std::unique_ptr<OnCpu> &each : loaded.cpu) {
    const CpuCode &code = *each->code;
    FailedGuardNames failed = each->checks.failedBy(
        {code.guards, code.slots, grid, slots, sizes}, [](llvm::MutableArrayRef<int64_t>) {},
        [](llvm::ArrayRef<uint64_t>, std::vector<std::string> &) {});
    if (failed && !areVersioningRequests(code.guards, *failed)) continue;
    chosen = each.get();
    break;
  }
  if (!chosen) return {TW_ERROR_ARTIFACT, "kernel '" + content.kernel + "' has no code without launch guards\n"};
  struct Context {
    TwEntry entry;
    const uint64_t *slots;
    int32_t grid[3];
  } context{chosen->entry, slots.data(), {}};
  for (size_t i = 0; i < 3; ++i)
    context.grid[i] = static_cast<int32_t>(grid[i]);
  PoolJob job;
  job.body = [](void *given, int64_t first, int64_t last, char *arena) {
    auto *context = static_cast<Context *>(given);
    context->entry(context->slots, context->grid, first, last, arena);
  };
  job.context = &context;
  job.programs = grid[0] * grid[1] * grid[2];
  job.arenaBytes = chosen->code->arenaBytes;
  job.threads = options.threads;
  job.inOrder = chosen->code->atomics != Atomics::none; // each program may wait for the previous one
  float known = chosen->programNanoseconds.load(std::memory_order_relaxed);
  job.programNanoseconds = known;
  PoolResult result = runOnPool(job);
  if (!result.ok)
    return {TW_ERROR_OUT_OF_MEMORY, "there is no memory for the " + std::to_string(job.arenaBytes) + " bytes of scratch memory that each " +
                                        "thread of kernel '" + content.kernel + "' needs\n"};
  // The first run includes cold caches, so later runs replace its time soon: they count half.
  chosen->programNanoseconds.store(known < 0 ? result.programNanoseconds : (known + result.programNanoseconds) / 2,
                                   std::memory_order_relaxed);
  return {};
}

Problem Kernel::launchOnGpu(Loaded &loaded, const TwLaunchOptions &options, const Grid &grid, const Slots &slots, const Sizes &sizes) {
  Diagnostics diagnostics;
  const gpu::CudaDevice *device = gpu::CudaDevice::get(options.device, diagnostics);
  if (!device) return problemOf(diagnostics);
  for (const std::unique_ptr<gpu::GpuKernel> &each : loaded.gpu) {
    if (!targetHere(each->artifact(), *device)) continue;
    FailedGuardNames failed = each->guardsFailedBy(grid, slots, sizes, options.device);
    if (failed && !areVersioningRequests(each->artifact().guards, *failed)) continue;
    gpu::GpuLaunch launch{options.device, options.stream, false, false};
    if (each->launch(grid, slots, launch, diagnostics)) return {};
    return problemOf(diagnostics);
  }
  return noCodeHere(device->name + ", of compute capability " + std::to_string(device->major) + "." + std::to_string(device->minor));
}

Problem Kernel::load(const TwLaunchOptions &options) {
  if (!options.useDevice) return {}; // code for the CPU is a part of the artifact
  Diagnostics diagnostics;
  const gpu::CudaDevice *device = gpu::CudaDevice::get(options.device, diagnostics);
  if (!device) return problemOf(diagnostics);
  for (Loaded &loaded : variants)
    for (const std::unique_ptr<gpu::GpuKernel> &each : loaded.gpu)
      if (targetHere(each->artifact(), *device) && !each->load(options.device, diagnostics)) return problemOf(diagnostics);
  return {};
}

std::string Kernel::describe() const {
  std::string text = "kernel " + content.kernel + ", compiled by Tilewright " + content.compiler + "\n";
  for (const Parameter &parameter : content.parameters)
    text += "  " + parameter.name + ": " + (parameter.isPointer ? "pointer to " : "") + infoOf(parameter.element).name +
            (parameter.isWritten ? ", written" : "") + "\n";
  for (const Loaded &loaded : variants) {
    text += "specialization " + loaded.variant->description + "\n";
    for (const CpuCode &code : loaded.variant->cpu)
      text += "  cpu:" + code.level + ", " + std::to_string(code.arenaBytes) + " bytes of scratch memory" +
              (code.guards.empty() ? "" : ", " + std::to_string(code.guards.size()) + " launch guards") +
              (!loaded.cpu.empty() && loaded.cpu.front()->code == &code ? ", the best for this CPU" : "") + "\n";
    for (const GpuArtifact &code : loaded.variant->gpu)
      text += "  cuda:" + code.target + ", " + (code.cubin.empty() ? "PTX" : "cubin") +
              (code.guards.empty() ? "" : ", " + std::to_string(code.guards.size()) + " launch guards") + "\n";
  }
  return text;
}

} // namespace tilewright::aot
