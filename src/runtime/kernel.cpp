// The path from a launch to running code. Warm: writes a key to the stack, looks it up, fills the slots and starts the pool. Cold: loads
// the code from the cache folder, or compiles it.

#include "runtime/kernel.h"

#include "codegen/host_calls.h"
#include "runtime/cache.h"
#include "runtime/cuda/kernel.h"
#include "runtime/events.h"
#include "runtime/pointer_check.h"
#include "runtime/pool.h"
#include "runtime/version_search.h"
#include "runtime/write_watch.h"
#include "support/artifact_bytes.h"
#include "support/fork_gate.h"
#include "support/statistics.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>

namespace tilewright {

static double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<int64_t> programCount(const Grid &grid, Diagnostics &diagnostics) {
  if (grid.rank < 1 || grid.rank > 3) {
    diagnostics.error({}, Diag::badGrid, {"a grid of " + std::to_string(grid.rank) + " extents"});
    return std::nullopt;
  }
  int64_t count = 1;
  bool empty = false;
  for (int64_t i = 0; i < 3; ++i) {
    int64_t extent = grid.extent[static_cast<size_t>(i)];
    if (extent < 0 || extent > INT32_MAX) {
      diagnostics.error({}, Diag::badGrid, {"extent " + std::to_string(i) + " of the grid is " + std::to_string(extent)});
      return std::nullopt;
    }
    if (extent == 0) empty = true;
    // Two extents never overflow; a third may.
    if (!empty && __builtin_mul_overflow(count, extent, &count)) {
      diagnostics.error({}, Diag::badGrid, {"the grid has more programs than 63 bits can count"});
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

const std::string &CompiledKernel::entryName() const {
  return gpuKernel ? gpuKernel->artifact().entry : code.entry;
}

const std::vector<bool> &CompiledKernel::writes() const {
  return gpuKernel ? gpuKernel->artifact().writes : code.writes;
}

int64_t CompiledKernel::bytes() const {
  if (gpuKernel) return static_cast<int64_t>(gpuKernel->artifact().cubin.size() + gpuKernel->artifact().ptx.size());
  auto [begin, end] = codeRange;
  return static_cast<int64_t>(code.object.size() + (end - begin));
}

llvm::ArrayRef<SlotKind> CompiledKernel::slotKinds() const {
  return gpuKernel ? gpuKernel->artifact().slots : code.slots;
}

std::shared_ptr<CompiledKernel> CompiledKernel::load(GpuArtifact artifact) {
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->kernelName = artifact.entry;
  kernel->gpuKernel = std::make_unique<gpu::GpuKernel>(std::move(artifact));
  return kernel;
}

std::shared_ptr<CompiledKernel> CompiledKernel::load(CpuArtifact artifact, Diagnostics &diagnostics) {
  auto kernel = std::make_shared<CompiledKernel>();
  std::string problem;
  kernel->object = LoadedObject::load(artifact.object, problem);
  if (kernel->object) {
    kernel->function = reinterpret_cast<KernelEntry>(kernel->object->lookup(artifact.entry));
    if (!kernel->function) problem = "it has no symbol '" + artifact.entry + "'";
  }
  if (!kernel->function) {
    diagnostics.error({}, Diag::loadFailed, {artifact.entry, problem});
    return nullptr;
  }
  kernel->codeRange = kernel->object->codeRange();
  kernel->kernelName = artifact.entry;
  kernel->code = std::move(artifact);
  return kernel;
}

namespace {
struct LaunchContext {
  KernelEntry entry;
  const uint64_t *slots;
  int32_t grid[3];
  RunningLaunch running;
  WriteWatch *watch;          // null: writes are not watched
  const WorkControl *control; // null: nothing ends the launch between two programs
};

/// Runs the programs [first, last) of a launch on one thread.
struct LaunchPart {
  LaunchContext &launch;
  int64_t first, last;
  char *arena;

  void run() const {
    if (!launch.watch && !launch.control) return launch.entry(launch.slots, launch.grid, first, last, arena);
    for (int64_t program = first; program < last; ++program) {
      if (launch.control && !launch.control->mayContinue()) return launch.running.interrupted.store(true);
      launch.entry(launch.slots, launch.grid, program, program + 1, arena);
      if (launch.watch) launch.watch->check(launch.running.kernel, launch.grid, program);
    }
  }
};
} // namespace

static void runPart(void *context, int64_t first, int64_t last, char *arena) {
  LaunchContext &launch = *static_cast<LaunchContext *>(context);
  if (launch.running.isStopped()) return launch.running.interrupted.store(true);
  LaunchPart part{launch, first, last, arena};
  runGuarded(launch.running, [](void *data) { static_cast<LaunchPart *>(data)->run(); }, &part);
}

bool CompiledKernel::launch(const Grid &grid, llvm::ArrayRef<uint64_t> slots, int64_t threads, Diagnostics &diagnostics) const {
  LaunchOptions options;
  options.threads = threads;
  return launchOnCpu(grid, slots, options, diagnostics);
}

bool CompiledKernel::launchOnCpu(const Grid &grid, llvm::ArrayRef<uint64_t> slots, const LaunchOptions &options,
                                 Diagnostics &diagnostics) const {
  std::optional<int64_t> programs = programCount(grid, diagnostics);
  if (!programs) return false;
  if (slots.size() != code.slots.size()) {
    diagnostics.error({}, Diag::slotMismatch, {code.entry, std::to_string(code.slots.size()), std::to_string(slots.size())});
    return false;
  }
  if (*programs == 0) return true;
  const CompiledKernel *version = this;
  std::shared_ptr<const CompiledKernel> other;
  if (FailedGuardNames broken = guardsFailedBy(grid, slots, {}, -1)) {
    other = versionFor(broken, grid, slots, {}, -1, diagnostics);
    if (!other) return false;
    version = other.get();
  }
  return options.isDryRun || version->runOnCpu(grid, *programs, slots, options, diagnostics);
}

bool CompiledKernel::runOnCpu(const Grid &grid, int64_t programs, llvm::ArrayRef<uint64_t> slots, const LaunchOptions &options,
                              Diagnostics &diagnostics) const {
  LaunchContext context{function, slots.data(), {}, {}, watchedWrites(), options.control};
  RunningLaunch &running = context.running;
  running.kernel = kernelName;
  std::tie(running.codeBegin, running.codeEnd) = codeRange;
  running.slots = slots;
  running.kinds = code.slots;
  running.names = slotNames;
  running.stop = options.stop;
  for (size_t i = 0; i < 3; ++i)
    context.grid[i] = static_cast<int32_t>(grid.extent[i]);
  PoolJob job;
  job.body = runPart;
  job.context = &context;
  job.programs = programs;
  job.arenaBytes = code.arenaBytes;
  job.executor = options.executor;
  job.allocator = options.allocator;
  int64_t forced = forcedThreads();
  job.threads = context.watch ? 1 : forced ? forced : options.threads;
  int64_t available = options.executor ? options.executor->threads : defaultThreads();
  int64_t workers = std::min(job.threads > 0 ? job.threads : available, programs);
  AtomicLaunch atomicLaunch(code.atomics, code.atomics == Atomics::plain && aloneOrTogether.wantsAlone(workers));
  if (atomicLaunch.isAlone()) job.threads = 1, job.alone = true;
  job.inOrder = code.atomics != Atomics::none; // each program may wait for the previous one
  float known = programNanoseconds.load(std::memory_order_relaxed);
  job.programNanoseconds = forced ? -1 : known; // unknown: uses all threads
  PoolResult result = runOnPool(job);
  if (!result.ok) {
    Diagnostic &error = diagnostics.error({}, Diag::noArena, {std::to_string(code.arenaBytes), code.entry});
    if (!result.executorFailed) return false;
    error.message = "the executor did not run all programs of kernel '" + kernelName + "'", error.hint = "";
    if (options.executor->hasFailed) *options.executor->hasFailed = true;
    return false;
  }
  if (running.failed) {
    diagnostics.error({}, Diag::deviceAssert, {running.text});
    return false;
  }
  if (running.interrupted) {
    diagnostics.error({}, Diag::interruptedLaunch, {kernelName});
    return false;
  }
  if (code.atomics == Atomics::plain && workers > 1) aloneOrTogether.took(job.alone, result.programNanoseconds);
  // The first run includes cold caches, so later runs replace its time soon: they count half.
  float mean = known < 0 ? result.programNanoseconds : (known + result.programNanoseconds) / 2;
  programNanoseconds.store(mean, std::memory_order_relaxed);
  return true;
}

bool CompiledKernel::launch(const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options,
                            Diagnostics &diagnostics) const {
  llvm::SmallVector<uint64_t, 32> slots;
  if (!packSlots(arguments, slots, diagnostics)) return false;
  if (options.checksPointers && !checkPointers(kernelName, argumentSpecs, arguments, slotNames, writes(), diagnostics)) return false;
  if (!gpuKernel) return launchOnCpu(grid, slots, options, diagnostics);
  llvm::SmallVector<int64_t, 32> bytes;
  if (!gpuKernel->artifact().guards.empty()) appendTensorBytes(argumentSpecs, arguments, bytes);
  return launchOnGpu(grid, slots, bytes, options, diagnostics);
}

//===------------------------------------------------------------------------------------------------------ other versions

// A launch that fails a guard uses a version compiled without that guard, and without all guards that failed on the way there.
struct CompiledKernel::OtherVersions {
  CompileRequest request;
  std::mutex lock;
  std::vector<std::pair<std::vector<std::string>, std::shared_ptr<const CompiledKernel>>> made;
  // The last versions by their list of failed guards. They are found without comparing names.
  std::array<std::pair<FailedGuardNames, std::shared_ptr<const CompiledKernel>>, 4> taken;
  size_t nextTaken = 0;

  std::shared_ptr<const CompiledKernel> lastFor(const FailedGuardNames &broken);
  void remember(const FailedGuardNames &broken, const std::shared_ptr<const CompiledKernel> &version);
  /// Returns the version without these guards. Null after an error; null without an error if the version would only be faster
  /// (`isOptional`) and there are already too many.
  std::shared_ptr<const CompiledKernel> without(std::vector<std::string> failedGuards, bool isOptional, int64_t device,
                                                Diagnostics &diagnostics);
};

std::shared_ptr<const CompiledKernel> CompiledKernel::OtherVersions::lastFor(const FailedGuardNames &broken) {
  Compiling briefly;
  std::lock_guard<std::mutex> guard(lock);
  for (const auto &[names, version] : taken)
    if (names == broken) return version;
  return nullptr;
}

void CompiledKernel::OtherVersions::remember(const FailedGuardNames &broken, const std::shared_ptr<const CompiledKernel> &version) {
  Compiling briefly;
  std::lock_guard<std::mutex> guard(lock);
  taken[nextTaken++ % taken.size()] = {broken, version};
}

CompiledKernel::CompiledKernel() = default;
CompiledKernel::~CompiledKernel() = default;

void CompiledKernel::allowOtherVersions(const CompileRequest &request) {
  others = std::make_unique<OtherVersions>();
  others->request = request;
  others->request.onStep = {};
}

llvm::ArrayRef<LaunchGuard> CompiledKernel::guards() const {
  return gpuKernel ? gpuKernel->artifact().guards : code.guards;
}

FailedGuardNames CompiledKernel::guardsFailedBy(const Grid &grid, llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int64_t> bytes,
                                                int64_t device) const {
  if (gpuKernel) return gpuKernel->guardsFailedBy(grid.extent, slots, bytes, device);
  if (code.guards.empty()) return nullptr;
  return checks.failedBy(
      {code.guards, code.slots, grid.extent, slots, bytes}, [](llvm::MutableArrayRef<int64_t>) {},
      [](llvm::ArrayRef<uint64_t>, std::vector<std::string> &) {});
}

void CompiledKernel::reportFailed(llvm::StringRef name, const LaunchValues &launch, Diagnostics &diagnostics) const {
  const auto *guard = llvm::find_if(guards(), [&](const LaunchGuard &each) { return each.name == name; });
  std::string values = guard == guards().end() ? "the hardware has no such map" : describe(*guard, launch, slotNames);
  diagnostics.error({}, Diag::guardFailed, {entryName(), name.str(), values});
}

std::shared_ptr<const CompiledKernel> CompiledKernel::versionFor(const FailedGuardNames &first, const Grid &grid,
                                                                 llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int64_t> bytes,
                                                                 int64_t device, Diagnostics &diagnostics) const {
  FailedGuardNames broken = first;
  auto guardsHold = [&](const CompiledKernel &version) { return !(broken = version.guardsFailedBy(grid, slots, bytes, device)); };
  if (others)
    if (std::shared_ptr<const CompiledKernel> last = others->lastFor(first); last && (last.get() == this || guardsHold(*last))) return last;
  broken = first;
  bool isRight = areVersioningRequests(guards(), *first);
  std::shared_ptr<const CompiledKernel> self(std::shared_ptr<const CompiledKernel>(), this);
  VersionSearch search;
  while (others && search.add(*broken)) {
    Diagnostics problems;
    std::shared_ptr<const CompiledKernel> version = others->without(search.failed(), isRight, device, problems);
    if (!version && isRight) break;
    if (!version) { // the first version has reported the same warnings and prints
      diagnostics.append(problems);
      return nullptr;
    }
    if (!guardsHold(*version)) continue;
    others->remember(first, version);
    return version;
  }
  if (isRight) {
    if (others) others->remember(first, self);
    return self;
  }
  reportFailed(broken->front(), {signedSlots(slots, slotKinds()), bytes, grid.extent}, diagnostics);
  return nullptr;
}

bool CompiledKernel::launchOnGpu(const Grid &grid, llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int64_t> bytes,
                                 const LaunchOptions &options, Diagnostics &diagnostics) const {
  std::optional<int64_t> programs = programCount(grid, diagnostics);
  if (!programs) return false;
  if (*programs == 0) return true;
  const gpu::GpuKernel *code = gpuKernel.get();
  std::shared_ptr<const CompiledKernel> other;
  if (FailedGuardNames broken = guardsFailedBy(grid, slots, bytes, options.device)) {
    other = versionFor(broken, grid, slots, bytes, options.device, diagnostics);
    if (!other) return false;
    code = other->gpu();
  }
  if (options.isDryRun) return true;
  return code->launch(grid.extent, slots,
                      {options.device, static_cast<gpu::StreamHandle>(options.stream), options.cooperative, options.programmaticLaunch},
                      diagnostics);
}

static uint64_t floatSlot(SlotKind kind, double value) {
  const llvm::fltSemantics *semantics = nullptr;
  switch (kind) {
  case SlotKind::f64: {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    return bits;
  }
  case SlotKind::f32: {
    float narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    return bits;
  }
  case SlotKind::f16: semantics = &llvm::APFloat::IEEEhalf(); break;
  default: semantics = &llvm::APFloat::BFloat(); break;
  }
  llvm::APFloat number(value);
  bool inexact = false;
  number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt().getZExtValue();
}

static uint64_t slotOf(const Argument &argument, SlotKind kind) {
  switch (kind) {
  case SlotKind::pointer:
    return argument.isNumber() ? static_cast<uint64_t>(argument.asInteger()) : reinterpret_cast<uint64_t>(argument.address());
  case SlotKind::i1: return argument.kind() == Argument::Kind::floating ? argument.asDouble() != 0 : argument.asInteger() != 0;
  case SlotKind::i8:
  case SlotKind::i16:
  case SlotKind::i32:
  case SlotKind::i64: return static_cast<uint64_t>(argument.asInteger());
  case SlotKind::f16:
  case SlotKind::bf16:
  case SlotKind::f32:
  case SlotKind::f64: return floatSlot(kind, argument.asDouble());
  }
  return 0;
}

namespace {
/// Checks the memory of a launch's arguments, slot by slot.
struct MemoryCheck {
  llvm::StringRef kernel;
  llvm::ArrayRef<std::string> names;
  const std::vector<bool> &writes;
  Diagnostics &diagnostics;
  size_t slot = 0;

  bool visit(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].constant) continue;
      if (!specs[i].members.empty()) {
        if (!visit(specs[i].members, arguments[i].members())) return false;
        continue;
      }
      if (!look(arguments[i].memory())) return false;
      slot += 1 + arguments[i].shape().size() + arguments[i].strides().size();
    }
    return true;
  }

  bool look(Memory memory) {
    bool written = slot < writes.size() && writes[slot];
    if (memory == Memory::plain || (memory != Memory::absent && !written)) return true;
    Diag id = memory == Memory::readOnly    ? Diag::readOnlyArgument
              : memory == Memory::broadcast ? Diag::broadcastArgument
                                            : Diag::absentMemory;
    llvm::StringRef name = slot < names.size() ? llvm::StringRef(names[slot]).split('=').first : "an argument";
    diagnostics.error({}, id, {kernel.str(), name.str()});
    return false;
  }
};
} // namespace

bool checkMemory(llvm::StringRef kernel, llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                 llvm::ArrayRef<std::string> slotNames, const std::vector<bool> &writes, Diagnostics &diagnostics) {
  // Almost all launches have nothing to check.
  if (llvm::all_of(arguments, [](const Argument &argument) { return argument.memory() == Memory::plain; })) return true;
  return MemoryCheck{kernel, slotNames, writes, diagnostics}.visit(specs, arguments);
}

// A constant has no slot.
bool packArguments(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, llvm::ArrayRef<SlotKind> kinds,
                   llvm::SmallVectorImpl<uint64_t> &slots) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const ArgumentSpec &spec = specs[i];
    const Argument &argument = arguments[i];
    if (spec.constant) continue;
    if (!spec.members.empty()) {
      if (!packArguments(spec.members, argument.members(), kinds, slots)) return false;
      continue;
    }
    if (slots.size() >= kinds.size()) return false;
    slots.push_back(slotOf(argument, kinds[slots.size()]));
    if (argument.kind() != Argument::Kind::descriptor) continue;
    for (int64_t extent : argument.shape())
      slots.push_back(static_cast<uint64_t>(extent));
    for (int64_t stride : argument.strides())
      slots.push_back(static_cast<uint64_t>(stride));
  }
  return true;
}

void appendTensorBytes(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, llvm::SmallVectorImpl<int64_t> &bytes) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const Argument &argument = arguments[i];
    if (specs[i].constant) continue;
    if (!specs[i].members.empty()) {
      appendTensorBytes(specs[i].members, argument.members(), bytes);
      continue;
    }
    bool isDescriptor = argument.kind() == Argument::Kind::descriptor;
    bytes.push_back(argument.isPointer() || isDescriptor ? argument.bytes() : 0);
    if (isDescriptor) bytes.append(argument.shape().size() + argument.strides().size(), 0);
  }
}

bool CompiledKernel::packSlots(llvm::ArrayRef<Argument> arguments, llvm::SmallVectorImpl<uint64_t> &slots, Diagnostics &diagnostics) const {
  llvm::ArrayRef<SlotKind> kinds = slotKinds();
  if (arguments.size() == argumentSpecs.size() && packArguments(argumentSpecs, arguments, kinds, slots) && slots.size() == kinds.size())
    return checkMemory(kernelName, argumentSpecs, arguments, slotNames, writes(), diagnostics);
  diagnostics.error({}, Diag::slotMismatch, {entryName(), std::to_string(kinds.size()), std::to_string(slots.size())});
  return false;
}

Kernel::Kernel(std::shared_ptr<const JitFunction> function) : jit(std::move(function)) {}
Kernel::Kernel(std::shared_ptr<const IrKernel> kernel) : jit(kernel->face), text(std::move(kernel)) {}
Kernel::~Kernel() {
  removeCode(*this);
}

std::shared_ptr<const CompiledKernel> Kernel::release(const std::string &key) {
  std::lock_guard<std::mutex> guard(mapLock);
  auto found = versions.find(key);
  if (found == versions.end()) return nullptr;
  std::shared_ptr<const CompiledKernel> code = std::move(found->second);
  versions.erase(found);
  return code;
}

// The devices of the tensors seen so far.
namespace {
struct Placement {
  const Argument *firstOnDevice = nullptr, *mixed = nullptr;
  size_t deviceParameter = 0, mixedParameter = 0;
  llvm::SmallVector<std::pair<size_t, const Argument *>, 24> onHost; // does not grow: launches allocate nothing

  void add(size_t parameter, const Argument &argument) {
    for (const Argument &member : argument.members())
      add(parameter, member);
    if (argument.kind() != Argument::Kind::pointer && argument.kind() != Argument::Kind::descriptor) return;
    if (!argument.address()) return; // null, or an empty tensor: it has no device
    if (argument.device() < 0) {
      if (onHost.size() < onHost.capacity()) onHost.push_back({parameter, &argument});
      return;
    }
    if (!firstOnDevice) {
      firstOnDevice = &argument;
      deviceParameter = parameter;
    } else if (firstOnDevice->device() != argument.device() && !mixed) {
      mixed = &argument;
      mixedParameter = parameter;
    }
  }
};
} // namespace

static std::string deviceText(const Argument &argument) {
  return argument.device() < 0 ? "the CPU" : "CUDA device " + std::to_string(argument.device());
}

bool chooseDevice(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, LaunchOptions &options, Diagnostics &diagnostics) {
  Placement seen;
  for (size_t i = 0; i < arguments.size(); ++i)
    seen.add(i, arguments[i]);
  if (!seen.firstOnDevice) {
    if (!seen.onHost.empty()) options.device = -1;
    return true;
  }
  options.device = seen.firstOnDevice->device();
  const Argument *other = seen.mixed;
  size_t otherParameter = seen.mixedParameter;
  // The host's pinned memory also belongs to the device. Only the driver knows it, and it is asked only if memory is mixed.
  if (!other && !seen.onHost.empty()) {
    const gpu::CudaDevice *device = gpu::CudaDevice::get(options.device, diagnostics);
    if (!device) return false;
    for (auto [parameter, argument] : seen.onHost) {
      if (gpu::isHostMemoryOfDevice(*device, argument->address())) continue;
      other = argument;
      otherParameter = parameter;
      break;
    }
  }
  if (!other) return true;
  diagnostics.error(kernel.decl ? kernel.decl->range : SourceRange(), Diag::mixedDevices,
                    {kernel.name, kernel.parameters[seen.deviceParameter].name, deviceText(*seen.firstOnDevice),
                     kernel.parameters[otherParameter].name, deviceText(*other)});
  return false;
}

static void appendOptions(const LaunchOptions &options, const GpuTarget *gpu, SpecializationKey &key) {
  const KernelOptions &kernel = options.kernel;
  int64_t numbers[] = {kernel.numWarps,
                       kernel.numStages,
                       kernel.numCtas,
                       kernel.maxnreg.value_or(-1),
                       gpu ? gpu->capability : kernel.capability,
                       (kernel.debug ? 1 : 0) + (kernel.fpFusion ? 2 : 0) + (gpu ? 4 : 0) + (kernel.sanitizeOverflow ? 8 : 0) +
                           (kernel.flushesExp2 ? 16 : 0) + 32 * static_cast<int64_t>(kernel.numerics)};
  auto *bytes = reinterpret_cast<const uint8_t *>(numbers);
  key.append(bytes, bytes + sizeof(numbers));
  if (!gpu) key.append(kernel.backend.begin(), kernel.backend.end());
  if (options.gpu) key.append(options.gpu->name.begin(), options.gpu->name.end());
  key.append(kernel.overrideText.begin(), kernel.overrideText.end());
  key.append(kernel.dotPrecision.begin(), kernel.dotPrecision.end());
  key.append(kernel.ptxOptions.begin(), kernel.ptxOptions.end());
  if (kernel.externLibs) {
    key.push_back('l');
    for (const auto &[name, path] : *kernel.externLibs)
      for (const std::string *text : {&name, &path})
        key.append(text->c_str(), text->c_str() + text->size() + 1);
  }
}

// Writes the device itself, not its kind, which takes no query.
void appendLaunchKey(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, SpecializationKey &key) {
  appendSpecializationKey(kernel, arguments, key);
  key.push_back(static_cast<uint8_t>(options.device + 1));
  appendOptions(options, nullptr, key);
}

std::vector<std::string> namesOfSlots(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> specs) {
  std::vector<std::string> names;
  for (size_t i = 0; i < specs.size(); ++i)
    llvm::append_range(names, slotNames(kernel.parameters[i].name, specs[i]));
  return names;
}

void CompiledKernel::setSpecs(const JitFunction &kernel, std::vector<ArgumentSpec> specs) {
  kernelName = kernel.name;
  slotNames = namesOfSlots(kernel, specs);
  if (gpuKernel) gpuKernel->setSlotNames(slotNames);
  argumentSpecs = std::move(specs);
}

// Loads a kernel from the cache folder, or compiles it.
template <typename Artifact, typename Compile, typename Decode>
static std::optional<Artifact> obtain(const CompileRequest &request, bool &fromCache, Compile compile, Decode decode,
                                      Diagnostics &diagnostics) {
  std::string cacheKey = cacheEnabled() ? kernelCacheKey(request) : "";
  std::optional<Artifact> artifact;
  int64_t size = 0;
  if (!cacheKey.empty() && cacheIsRead())
    if (std::optional<std::string> bytes = loadCached(cacheKey, CacheKind::kernel, diagnostics)) {
      size = static_cast<int64_t>(bytes->size());
      artifact = decode(*bytes);
    }
  fromCache = artifact.has_value();
  if (hasObserver() && !cacheKey.empty())
    report({fromCache ? RuntimeEvent::Kind::cacheHit : RuntimeEvent::Kind::cacheMiss, request.kernel.face()->name, 0, size, false});
  if (fromCache) return artifact;
  std::unique_ptr<Artifact> fresh = compile(request, diagnostics);
  if (!fresh) return std::nullopt;
  if (!cacheKey.empty()) storeCached(cacheKey, CacheKind::kernel, encodeArtifact(*fresh), diagnostics);
  return std::move(*fresh);
}

/// Reports an error and returns false if the setting of the CPU level is wrong.
static bool isSettingValid(Diagnostics &diagnostics) {
  static const std::string problem = cpuSettingProblem();
  if (!problem.empty()) diagnostics.error({}, Diag::cpuSetting, {problem});
  return problem.empty();
}

std::shared_ptr<CompiledKernel> CompiledKernel::make(const CompileRequest &request, Diagnostics &diagnostics) {
  if (!hasObserver()) return makeNow(request, diagnostics);
  const std::string &name = request.kernel.face()->name;
  double start = secondsNow();
  report({RuntimeEvent::Kind::compileStarted, name, 0, 0, false});
  std::shared_ptr<CompiledKernel> made = makeNow(request, diagnostics);
  report({RuntimeEvent::Kind::compileFinished, name, secondsNow() - start, made ? made->bytes() : 0, made == nullptr});
  return made;
}

std::shared_ptr<CompiledKernel> CompiledKernel::makeNow(const CompileRequest &wanted, Diagnostics &diagnostics) {
  if (!wanted.gpu && !isSettingValid(diagnostics)) return nullptr;
  double start = secondsNow(), assembling = 0;
  std::vector<std::pair<std::string, double>> steps;
  CompileRequest request = wanted;
  request.onStep = [&](const StepDone &done) {
    steps.emplace_back(done.step.str(), done.seconds);
    if (done.step == "assemble") assembling += done.seconds;
  };
  bool fromCache = false;
  std::shared_ptr<CompiledKernel> loaded;
  if (request.gpu) {
    std::optional<GpuArtifact> artifact = obtain<GpuArtifact>(request, fromCache, compileForGpu, decodeGpuArtifact, diagnostics);
    if (!artifact) return nullptr;
    loaded = load(std::move(*artifact));
  } else {
    std::optional<CpuArtifact> artifact = obtain<CpuArtifact>(request, fromCache, compileForCpu, decodeArtifact, diagnostics);
    if (artifact) loaded = load(std::move(*artifact), diagnostics);
    if (!loaded) return nullptr;
  }
  loaded->allowOtherVersions(wanted);
  loaded->setSpecs(*request.kernel.face(), request.kernel.irKernel() ? request.kernel.irKernel()->specs : request.args);
  loaded->cached = fromCache;
  loaded->seconds = fromCache ? 0 : secondsNow() - start;
  loaded->secondsAssembling = fromCache ? 0 : assembling;
  loaded->steps = std::move(steps);
  return loaded;
}

std::shared_ptr<const CompiledKernel> CompiledKernel::OtherVersions::without(std::vector<std::string> failedGuards, bool isOptional,
                                                                             int64_t device, Diagnostics &diagnostics) {
  Compiling compiling;
  std::lock_guard<std::mutex> guard(lock);
  for (const auto &[names, version] : made)
    if (names == failedGuards) return version;
  constexpr size_t maxOptionalVersions = 16;
  if (isOptional && made.size() >= maxOptionalVersions) return nullptr;
  CompileRequest wanted = request;
  wanted.failedGuards = failedGuards;
  std::shared_ptr<CompiledKernel> version = make(wanted, diagnostics);
  if (!version || (version->gpu() && !version->gpu()->load(device, diagnostics))) return nullptr;
  made.emplace_back(std::move(failedGuards), version);
  return version;
}

// Returns the key of a launch's specialization. It is on the stack, because a warm launch allocates nothing.
static SpecializationKey versionKey(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options,
                                    const GpuTarget *gpu) {
  SpecializationKey key;
  appendSpecializationKey(kernel, arguments, key);
  appendOptions(options, gpu, key);
  return key;
}

static std::string_view textOf(const SpecializationKey &key) {
  return {reinterpret_cast<const char *>(key.data()), key.size()};
}

std::shared_ptr<const CompiledKernel> Kernel::known(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options) const {
  Diagnostics ignored;
  const gpu::CudaDevice *device = options.device >= 0 ? gpu::CudaDevice::get(options.device, ignored) : nullptr;
  SpecializationKey key = versionKey(*jit, arguments, options, device ? &device->target : nullptr);
  std::lock_guard<std::mutex> guard(mapLock);
  auto found = versions.find(textOf(key));
  return found == versions.end() ? nullptr : found->second;
}

std::shared_ptr<const CompiledKernel> Kernel::compile(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options,
                                                      Diagnostics &diagnostics) {
  if (text && !fitsText(*text, arguments, diagnostics)) return nullptr;
  const gpu::CudaDevice *device = nullptr;
  if (options.device >= 0) {
    device = gpu::CudaDevice::get(options.device, diagnostics);
    if (!device) return nullptr;
  }
  SpecializationKey key = versionKey(*jit, arguments, options, device ? &device->target : nullptr);
  std::string_view view = textOf(key);
  {
    // One thread compiles a version, and other threads that need it wait. Other versions compile at the same time.
    std::unique_lock<std::mutex> guard(mapLock);
    finished.wait(guard, [&] { return !underWay.contains(view); });
    if (auto found = versions.find(view); found != versions.end()) {
      found->second->touch();
      return found->second;
    }
    underWay.emplace(view);
  }
  std::shared_ptr<const CompiledKernel> made = compileNow(arguments, options, device, diagnostics);
  {
    std::lock_guard<std::mutex> guard(mapLock);
    underWay.erase(underWay.find(view));
    finished.notify_all();
    if (made) versions.emplace(view, made);
  }
  if (made) addCode(*this, std::string(view), made);
  return made;
}

std::shared_ptr<const CompiledKernel> Kernel::compileNow(llvm::ArrayRef<Argument> arguments, const LaunchOptions &options,
                                                         const gpu::CudaDevice *device, Diagnostics &diagnostics) {
  std::optional<std::vector<ArgumentSpec>> specs = text ? std::optional(text->specs) : specialize(*jit, arguments, diagnostics);
  if (!specs) return nullptr;
  CompileRequest request;
  request.kernel = text ? KernelSource(text) : KernelSource(jit);
  request.args = std::move(*specs);
  request.options = options.kernel;
  if (options.gpu)
    request.gpu = options.gpu;
  else if (device)
    request.gpu = device->target;
  else
    request.target = hostCpu();
  std::shared_ptr<CompiledKernel> made = CompiledKernel::make(request, diagnostics);
  if (!made) return nullptr;
  if (device && runsOn(*request.gpu, device->major, device->minor)) { // otherwise the launch reports that this GPU cannot run the code
    if (!made->gpu()->load(options.device, diagnostics)) return nullptr;
    if (!made->fromCache()) made->secondsAssembling += made->gpu()->loadSeconds();
  }
  return made;
}

bool Kernel::launch(const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics) {
  LaunchOptions launchOptions = options;
  return chooseDevice(*jit, arguments, launchOptions, diagnostics) && launchOn(grid, arguments, launchOptions, diagnostics);
}

bool Kernel::launchOn(const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options, Diagnostics &diagnostics) {
  std::shared_ptr<const CompiledKernel> compiled = compile(arguments, options, diagnostics);
  if (!compiled) return false;
  if (options.control && !options.control->mayContinue()) {
    Diagnostic &error = diagnostics.error({}, Diag::interruptedLaunch, {jit->name});
    error.message =
        (options.isDryRun ? "preparing kernel '" : "the launch of kernel '") + jit->name + "' stops: " + options.control->describe();
    error.hint = options.isDryRun ? "" : "no program has run";
    return false;
  }
  if (!hasObserver() || options.isDryRun) return compiled->launch(grid, arguments, options, diagnostics);
  double start = secondsNow();
  bool done = compiled->launch(grid, arguments, options, diagnostics);
  report({RuntimeEvent::Kind::launch, jit->name, secondsNow() - start, 0, !done});
  return done;
}

int64_t Kernel::compiledCount() const {
  std::lock_guard<std::mutex> guard(mapLock);
  return static_cast<int64_t>(versions.size());
}

std::optional<Timing> timeRuns(const std::function<bool()> &run, double warmUpSeconds, double seconds) {
  for (double start = secondsNow();;) {
    if (!run()) return std::nullopt;
    if (secondsNow() - start >= warmUpSeconds) break;
  }
  std::vector<double> times;
  double start = secondsNow(), before = start;
  while (times.size() < 3 || (before - start < seconds && times.size() < 10000)) {
    if (!run()) return std::nullopt;
    double after = secondsNow();
    times.push_back(after - before);
    before = after;
  }
  std::vector<double> found = quantilesOf(times, {0.5, 0.2, 0.8});
  return Timing{found[0], found[1], found[2], static_cast<int64_t>(times.size())};
}

} // namespace tilewright
