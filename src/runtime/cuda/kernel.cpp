// Loading: the cubin if there is one, otherwise PTX, which the driver assembles. Launching: one call of the driver, cuLaunchKernel. A
// launch with attributes uses cuLaunchKernelEx, which costs more.

#include "runtime/cuda/kernel.h"

#include "runtime/cuda/maps.h"
#include "support/gpu_hardware.h"
#include "support/guard_values.h"
#include "support/settings.h"

#include <chrono>
#include <cstdlib>
#include <sstream>

namespace tilewright::gpu {

// Caches the encoded map of each tensor. Some kernels alternate between two or three tensors (double buffers).
static constexpr size_t rememberedMaps = 4;

struct GpuKernel::Loaded {
  const CudaDevice *device = nullptr;
  ModuleHandle module = nullptr;
  FunctionHandle function = nullptr;
  int64_t registers = -1, localBytes = -1, spillBytes = -1;

  struct Encoded {
    bool used = false;
    TensorMapArguments arguments;
    TensorMap map;
  };
  struct Slot {
    std::array<Encoded, rememberedMaps> encoded;
    size_t next = 0;
  };
  mutable std::mutex mapLock;
  mutable std::vector<Slot> maps; // one for each map of the artifact
  mutable uint64_t standIns = 0;  // memory for loads from empty tensors and stores to them
};

/// Returns the number before `word` in a line; -1 if there is none.
static int64_t numberBefore(const std::string &line, const char *word) {
  size_t end = line.find(word);
  if (end == std::string::npos) return -1;
  while (end > 0 && line[end - 1] == ' ')
    --end;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  return begin < end && end - begin < 19 ? std::atoll(line.substr(begin, end - begin).c_str()) : -1;
}

static std::string trimmed(std::string text) {
  static const std::string blanks(" \t\r\n\0", 5);
  text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
  text.erase(text.find_last_not_of(blanks) + 1);
  return text;
}

AssemblerReport readAssemblerLog(llvm::StringRef log) {
  AssemblerReport report;
  std::istringstream lines(std::string(log.begin(), log.end()));
  for (std::string line; std::getline(lines, line);) {
    line = trimmed(line);
    auto contains = [&](const char *word) { return line.find(word) != std::string::npos; };
    if (int64_t number = numberBefore(line, " registers"); contains("Used ") && number >= 0) report.registers = number;
    if (int64_t number = numberBefore(line, " bytes spill stores"); number >= 0) report.spillBytes = number;
    // "info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized ..." is an info line.
    if (contains("warning") || contains("(C7")) report.warnings.push_back(line);
  }
  return report;
}

GpuKernel::GpuKernel(GpuArtifact artifact) : code(std::move(artifact)), info(std::make_shared<LaunchInfo>()) {
  info->kernel = code.entry;
  info->kinds = code.slots;
}

// The code stays loaded, because running launches, and graphs that contain launches, need it.
GpuKernel::~GpuKernel() {
  for (std::atomic<const Loaded *> &entry : devices)
    delete entry.load();
}

void GpuKernel::setSlotNames(std::vector<std::string> names) {
  info->names = std::move(names);
}

int64_t GpuKernel::registers() const {
  for (const std::atomic<const Loaded *> &entry : devices)
    if (const Loaded *found = entry.load(std::memory_order_acquire)) return found->registers;
  return code.registers;
}

double GpuKernel::loadSeconds() const {
  std::lock_guard<std::mutex> guard(loadLock);
  return loadedIn;
}

int64_t GpuKernel::spillBytes() const {
  for (const std::atomic<const Loaded *> &entry : devices)
    if (const Loaded *found = entry.load(std::memory_order_acquire))
      if (found->spillBytes >= 0) return found->spillBytes;
  return code.spillBytes;
}

static bool checkLimit(const char *name, int64_t required, int64_t limit, Diagnostics &diagnostics) {
  if (required <= limit) return true;
  diagnostics.error({}, Diag::outOfResources, {name, std::to_string(required), std::to_string(limit)});
  return false;
}

/// Assembles the PTX. Null after an error that it has reported.
std::optional<DriverStatus> GpuKernel::assembleWithDriver(Loaded &loaded, Diagnostics &diagnostics) const {
  const Driver &driver = *loaded.device->driver;
  std::vector<char> infoLog(16384), errorLog(16384);
  JitOption options[] = {JitOption::infoLog, JitOption::infoLogBytes, JitOption::errorLog, JitOption::errorLogBytes, JitOption::logVerbose};
  void *values[] = {infoLog.data(), reinterpret_cast<void *>(infoLog.size()), errorLog.data(), reinterpret_cast<void *>(errorLog.size()),
                    reinterpret_cast<void *>(1)};
  DriverStatus state = driver.loadModule(&loaded.module, code.ptx.c_str(), std::size(options), options, values);
  infoLog.back() = errorLog.back() = 0;
  if (state == status::unsupportedPtx) {
    diagnostics.error({}, Diag::cudaTooOld,
                      {std::to_string(driver.version / 1000) + "." + std::to_string(driver.version % 1000 / 10),
                       "one that takes PTX " + loaded.device->target.ptxVersion});
    return std::nullopt;
  }
  if (state != status::success && !isSticky(state)) {
    std::string log = trimmed(errorLog.data());
    diagnostics.error({}, Diag::assemblerFailed, {code.entry, driver.describe(state) + (log.empty() ? "" : "\n" + log)});
    return std::nullopt;
  }
  if (AssemblerReport report = readAssemblerLog(infoLog.data()); report.spillBytes >= 0) loaded.spillBytes = report.spillBytes;
  return state;
}

std::unique_ptr<GpuKernel::Loaded> GpuKernel::loadInto(const CudaDevice &device, Diagnostics &diagnostics) const {
  const Driver &driver = *device.driver;
  int64_t threads = 32 * code.warps;
  // Checked before the code is loaded: the driver's own message has fewer details.
  if (!checkLimit("shared memory", code.sharedBytes, device.sharedPerBlock, diagnostics)) return nullptr;
  if (!checkLimit("threads", threads, device.threadsPerBlock, diagnostics)) return nullptr;

  auto loaded = std::make_unique<Loaded>();
  loaded->device = &device;
  loaded->maps.resize(code.maps.size());
  loaded->spillBytes = code.spillBytes;
  ContextScope scope(device);
  DriverStatus state = status::noBinary;
  // A driver does not accept a cubin from a newer toolkit; it may accept the PTX.
  if (!code.cubin.empty()) state = driver.loadModule(&loaded->module, code.cubin.data(), 0, nullptr, nullptr);
  if (state != status::success && !isSticky(state) && !code.ptx.empty()) {
    std::optional<DriverStatus> assembled = assembleWithDriver(*loaded, diagnostics);
    if (!assembled) return nullptr;
    state = *assembled;
  }
  if (state == status::success) state = driver.moduleFunction(&loaded->function, loaded->module, code.entry.c_str());
  int staticShared = 0, registers = 0, localBytes = 0, maxThreads = 0;
  auto attribute = [&](int &field, FunctionAttribute name) {
    if (state == status::success) state = driver.functionAttribute(&field, name, loaded->function);
  };
  attribute(staticShared, FunctionAttribute::sharedBytes);
  attribute(registers, FunctionAttribute::registers);
  attribute(localBytes, FunctionAttribute::localBytes);
  attribute(maxThreads, FunctionAttribute::maxThreadsPerBlock);
  bool fits = true;
  if (state == status::success) {
    loaded->registers = registers;
    loaded->localBytes = localBytes;
    // The driver's limit uses this code's own count of registers. The count at the entry of a kernel that moves registers between warps
    // does not show it.
    fits = checkLimit("shared memory", code.sharedBytes + staticShared, device.sharedPerBlock, diagnostics);
    if (fits && threads > maxThreads) fits = checkLimit("registers", registers * threads, device.registersPerBlock, diagnostics);
    if (fits) fits = checkLimit("threads", threads, maxThreads, diagnostics);
  }
  if (fits && state == status::success && code.sharedBytes > 0)
    state = driver.setFunctionAttribute(loaded->function, FunctionAttribute::maxDynamicSharedBytes, static_cast<int>(code.sharedBytes));
  if (fits && state == status::success && code.ctas > 8)
    state = driver.setFunctionAttribute(loaded->function, FunctionAttribute::nonPortableClusters, 1);
  if (state == status::success && fits) return loaded;
  if (state != status::success) device.report(state, "loading the code of kernel '" + code.entry + "'", diagnostics);
  if (loaded->module) driver.unloadModule(loaded->module);
  return nullptr;
}

const GpuKernel::Loaded *GpuKernel::loaded(int64_t ordinal, Diagnostics &diagnostics) const {
  if (ordinal < 0 || ordinal >= static_cast<int64_t>(devices.size())) {
    CudaDevice::get(ordinal, diagnostics); // reports that there is none
    return nullptr;
  }
  std::atomic<const Loaded *> &entry = devices[static_cast<size_t>(ordinal)];
  if (const Loaded *found = entry.load(std::memory_order_acquire)) return found;
  std::lock_guard<std::mutex> guard(loadLock);
  if (const Loaded *found = entry.load(std::memory_order_acquire)) return found;
  const CudaDevice *device = CudaDevice::get(ordinal, diagnostics);
  if (!device) return nullptr;
  auto before = std::chrono::steady_clock::now();
  const Loaded *fresh = loadInto(*device, diagnostics).release();
  loadedIn = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  entry.store(fresh, std::memory_order_release);
  return fresh;
}

bool GpuKernel::encodeMaps(const Loaded &where, llvm::ArrayRef<uint64_t> slots, TensorMap *maps, Diagnostics &diagnostics) const {
  const Driver &driver = *where.device->driver;
  auto refuse = [&](const TensorMapSpec &spec, const std::string &reason) {
    size_t slot = static_cast<size_t>(spec.baseSlot);
    std::string name =
        slot < info->names.size() ? info->names[slot].substr(0, info->names[slot].find('=')) : "argument " + std::to_string(spec.baseSlot);
    diagnostics.error({}, Diag::tensorMapRefused, {code.entry, name, reason});
    return false;
  };
  InlineVector<uint64_t, 32> integers(slots);
  extendBySign(integers, code.slots);
  std::lock_guard<std::mutex> guard(where.mapLock);
  for (size_t i = 0; i < code.maps.size(); ++i) {
    const TensorMapSpec &spec = code.maps[i];
    Result<TensorMapArguments> arguments = tensorMapArguments(spec, integers);
    if (!arguments) return refuse(spec, arguments.error());
    if (!arguments->address) {
      if (!where.standIns) {
        const uint8_t zeros[2 * standInBytes] = {};
        ContextScope scope(*where.device);
        DriverStatus state = driver.allocate(&where.standIns, sizeof zeros);
        if (state == status::success) state = driver.copyToDevice(where.standIns, zeros, sizeof zeros);
        if (state != status::success) return refuse(spec, "its tensor is empty, and for its replacement, " + driver.describe(state));
      }
      arguments->address = where.standIns + (spec.stores ? standInBytes : 0);
    }
    Loaded::Slot &slot = where.maps[i];
    const TensorMap *found = nullptr;
    for (const Loaded::Encoded &encoded : slot.encoded)
      if (encoded.used && encoded.arguments == *arguments) found = &encoded.map;
    if (!found) {
      Loaded::Encoded &encoded = slot.encoded[slot.next++ % rememberedMaps];
      encoded.used = false;
      if (!driver.encodeTiled) return refuse(spec, "the driver has no cuTensorMapEncodeTiled");
      const TensorMapArguments &a = *arguments;
      ContextScope scope(*where.device); // the driver needs a current context: this may be the thread's first call
      DriverStatus state = driver.encodeTiled(&encoded.map, a.dataType, a.rank, reinterpret_cast<void *>(a.address), a.dims, a.strides,
                                              a.box, a.elementStrides, a.interleave, a.swizzle, a.l2Promotion, a.fill);
      if (state != status::success) return refuse(spec, driver.describe(state));
      encoded.arguments = a;
      encoded.used = true;
      found = &encoded.map;
    }
    maps[i] = *found;
  }
  return true;
}

/// Asks the driver for sizes of tensors that are not known otherwise, and only for those in a guard.
static void findBytes(const GpuArtifact &code, llvm::ArrayRef<uint64_t> slots, int64_t device, llvm::MutableArrayRef<int64_t> bytes) {
  Diagnostics ignored;
  const CudaDevice *known = nullptr;
  for (const LaunchGuard &guard : code.guards) {
    if (!guard.nodes.empty()) continue;
    for (int64_t slot : {guard.slot, guard.otherSlot}) {
      size_t i = static_cast<size_t>(slot);
      if (bytes[i] > 0 || slots[i] == 0) continue;
      if (!known) known = CudaDevice::get(device, ignored);
      if (known) bytes[i] = allocatedAfter(*known, slots[i]);
    }
  }
}

FailedGuardNames GpuKernel::guardsFailedBy(const std::array<int64_t, 3> &grid, llvm::ArrayRef<uint64_t> slots,
                                           llvm::ArrayRef<int64_t> bytes, int64_t device) const {
  if ((code.guards.empty() && code.maps.empty()) || slots.size() != code.slots.size()) return nullptr;
  return checks.failedBy(
      {code.guards, code.slots, grid, slots, bytes}, [&](llvm::MutableArrayRef<int64_t> known) { findBytes(code, slots, device, known); },
      [&](llvm::ArrayRef<uint64_t> integers, std::vector<std::string> &names) {
        for (const TensorMapSpec &map : code.maps)
          if (!tensorMapArguments(map, integers)) names.push_back(mapGuardName(map.baseSlot));
      });
}

static bool isBlocking() {
  static const bool blocking = isSwitchedOn("TILEWRIGHT_LAUNCH_BLOCKING", isSwitchedOn("CUDA_LAUNCH_BLOCKING", false));
  return blocking;
}

/// The sizes of a launch; nothing after an error.
static std::optional<LaunchConfig> configOf(const GpuArtifact &code, const std::array<int64_t, 3> &grid, Diagnostics &diagnostics) {
  int64_t extents[] = {grid[0] * code.ctas, grid[1], grid[2]};
  constexpr int64_t limits[] = {maxGridX, maxGridYZ, maxGridYZ};
  LaunchConfig config{};
  for (size_t i = 0; i < 3; ++i) {
    if (extents[i] > limits[i]) {
      diagnostics.error({}, Diag::badGrid,
                        {"extent " + std::to_string(i) + " of the grid is " + std::to_string(grid[i]) + ", and a GPU takes up to " +
                         std::to_string(limits[i] / (i == 0 ? code.ctas : 1))});
      return std::nullopt;
    }
    config.grid[i] = static_cast<uint32_t>(extents[i]);
    config.block[i] = i == 0 ? static_cast<uint32_t>(32 * code.warps) : 1;
  }
  config.sharedBytes = static_cast<uint32_t>(code.sharedBytes);
  return config;
}

/// Adds the attributes of a launch, at most three, for which `config` has room.
static void addAttributes(LaunchConfig &config, const GpuArtifact &code, const GpuLaunch &launch) {
  auto add = [&](LaunchAttribute::Id id) -> LaunchAttribute & {
    LaunchAttribute &attribute = config.attributes[config.attributeCount++];
    attribute.id = id;
    attribute.value.flag = 1;
    return attribute;
  };
  if (code.ctas > 1) {
    LaunchAttribute &cluster = add(LaunchAttribute::clusterDimension);
    cluster.value.cluster[0] = static_cast<uint32_t>(code.ctas);
    cluster.value.cluster[1] = cluster.value.cluster[2] = 1;
  }
  if (launch.cooperative) add(LaunchAttribute::cooperative);
  if (launch.programmaticLaunch) add(LaunchAttribute::programmaticSerialization);
}

bool GpuKernel::launch(const std::array<int64_t, 3> &grid, llvm::ArrayRef<uint64_t> slots, const GpuLaunch &launch,
                       Diagnostics &diagnostics) const {
  const Loaded *where = loaded(launch.device, diagnostics);
  if (!where) return false;
  if (slots.size() != code.slots.size()) {
    diagnostics.error({}, Diag::slotMismatch, {code.entry, std::to_string(code.slots.size()), std::to_string(slots.size())});
    return false;
  }
  std::optional<LaunchConfig> sizes = configOf(code, grid, diagnostics);
  if (!sizes) return false;
  LaunchConfig config = *sizes;
  config.stream = launch.stream;
  LaunchAttribute attributes[3];
  config.attributes = attributes;
  addAttributes(config, code, launch);

  InlineVector<TensorMap, 6> maps;
  maps.resize(code.maps.size(), TensorMap());
  if (!maps.empty() && !encodeMaps(*where, slots, maps.data(), diagnostics)) return false;
  // The low bytes of a slot are the parameter, because this machine is little-endian.
  InlineVector<void *, 40> parameters;
  for (const uint64_t &slot : slots)
    parameters.push_back(const_cast<uint64_t *>(&slot));
  for (TensorMap &map : maps)
    parameters.push_back(&map);
  uint64_t null = 0;
  parameters.resize(parameters.size() + GpuArtifact::scratchParameters, &null);

  const CudaDevice &device = *where->device;
  const Driver &driver = *device.driver;
  auto start = [&] {
    if (config.attributeCount > 0) return driver.launchWith(&config, where->function, parameters.data(), nullptr);
    return driver.launch(where->function, config.grid[0], config.grid[1], config.grid[2], config.block[0], 1, 1, config.sharedBytes,
                         config.stream, parameters.data(), nullptr);
  };
  // The driver does not start code in another context than its own. So the current context is checked only after a failed launch.
  DriverStatus state = start();
  if (state != status::success && !device.isCurrent()) {
    ContextScope scope(device);
    state = start();
  }
  if (state != status::success) {
    device.report(state, "the launch of kernel '" + code.entry + "'", diagnostics);
    return false;
  }
  device.noteLaunch(info, config.grid, slots);
  if (!isBlocking()) return true;
  int capturing = 0;
  if (driver.streamCapturing(launch.stream, &capturing) == status::success && capturing) return true;
  return device.synchronize(launch.stream, diagnostics);
}

} // namespace tilewright::gpu
