// Opens devices, and converts the driver's delayed errors to messages.

#include "runtime/cuda/device.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tilewright::gpu {

static constexpr int64_t maxDevices = 64;

int64_t cudaDeviceCount() {
  Diagnostics ignored;
  const Driver *driver = cudaDriver(ignored);
  int count = 0;
  if (!driver || driver->deviceCount(&count) != status::success) return 0;
  return std::min<int64_t>(count, maxDevices);
}

/// Returns the target of the code: the device, or the older GPU that TILEWRIGHT_GPU_TARGET names. Newer GPUs also run that code (their
/// driver assembles its PTX). Null after an error.
static std::optional<GpuTarget> targetOf(const CudaDevice &device, Diagnostics &diagnostics) {
  const char *name = std::getenv("TILEWRIGHT_GPU_TARGET");
  if (name && *name) {
    std::optional<GpuTarget> wanted = gpuTarget(name);
    if (wanted && runsOn(*wanted, device.major, device.minor)) return wanted;
    diagnostics.error({}, Diag::invalidOption,
                      {"TILEWRIGHT_GPU_TARGET is '" + std::string(name) + "', whose code " + device.name + " does not run",
                       "code is made for " + gpuTargetNames() + "; name the GPU's own or an older one"});
    return std::nullopt;
  }
  std::optional<GpuTarget> own = gpuTargetFor(device.major, device.minor);
  if (!own)
    diagnostics.error({}, Diag::cudaUnsupported,
                      {device.name + " (device " + std::to_string(device.ordinal) + ")",
                       std::to_string(device.major) + "." + std::to_string(device.minor), gpuTargetNames()});
  return own;
}

/// Returns the first CUDA version that accepts the target's PTX: 12.4 introduced 8.4.
static int64_t versionFor(const GpuTarget &target) {
  auto [major, minor] = target.ptxIsa();
  return (major + 4) * 1000 + minor * 10;
}

std::unique_ptr<CudaDevice> CudaDevice::open(int64_t ordinal, Diagnostics &diagnostics) {
  const Driver *driver = cudaDriver(diagnostics);
  if (!driver) return nullptr;
  std::string which = std::to_string(ordinal);
  int count = 0;
  DriverStatus counted = driver->deviceCount(&count);
  if (counted != status::success || ordinal >= count || ordinal < 0) {
    std::string reason = counted != status::success ? driver->describe(counted)
                         : count == 0               ? "this machine has none"
                                                    : "devices are numbered from 0 to " + std::to_string(count - 1);
    diagnostics.error({}, Diag::cudaNoDevice, {which, reason});
    return nullptr;
  }
  std::unique_ptr<CudaDevice> device(new CudaDevice);
  device->ordinal = ordinal;
  device->driver = driver;
  DeviceHandle handle = 0;
  DriverStatus state = driver->device(&handle, static_cast<int>(ordinal));
  auto attribute = [&](int64_t &field, DeviceAttribute name) {
    int value = 0;
    if (state == status::success) state = driver->deviceAttribute(&value, name, handle);
    field = value;
  };
  attribute(device->major, DeviceAttribute::major);
  attribute(device->minor, DeviceAttribute::minor);
  attribute(device->multiprocessors, DeviceAttribute::multiprocessors);
  attribute(device->threadsPerBlock, DeviceAttribute::maxThreadsPerBlock);
  attribute(device->registersPerBlock, DeviceAttribute::registersPerBlock);
  attribute(device->warpSize, DeviceAttribute::warpSize);
  attribute(device->sharedPerBlock, DeviceAttribute::sharedPerBlockOptin);
  attribute(device->sharedPerMultiprocessor, DeviceAttribute::sharedPerMultiprocessor);
  attribute(device->clockKhz, DeviceAttribute::clockRate);
  attribute(device->memoryClockKhz, DeviceAttribute::memoryClockRate);
  attribute(device->memoryBusBits, DeviceAttribute::memoryBusWidth);
  attribute(device->l2Bytes, DeviceAttribute::l2Bytes);
  char name[256] = "GPU";
  size_t bytes = 0;
  if (state == status::success) state = driver->deviceName(name, sizeof(name), handle);
  if (state == status::success) state = driver->deviceMemory(&bytes, handle);
  device->name = name;
  device->memoryBytes = static_cast<int64_t>(bytes);
  if (state != status::success) {
    diagnostics.error({}, Diag::cudaNoDevice, {which, driver->describe(state)});
    return nullptr;
  }
  std::optional<GpuTarget> target = targetOf(*device, diagnostics);
  if (!target) return nullptr;
  device->target = std::move(*target);
  if (int64_t needed = versionFor(device->target); driver->version < needed) {
    diagnostics.error({}, Diag::cudaTooOld, {versionText(driver->version), versionText(needed)});
    return nullptr;
  }
  state = driver->retainPrimaryContext(&device->context, handle);
  if (state == status::success) return device;
  diagnostics.error({}, Diag::cudaNoDevice, {which, "its context cannot be created: " + driver->describe(state)});
  return nullptr;
}

const CudaDevice *CudaDevice::get(int64_t ordinal, Diagnostics &diagnostics) {
  static std::array<std::atomic<const CudaDevice *>, maxDevices> known{};
  static std::mutex lock;
  bool inRange = ordinal >= 0 && ordinal < maxDevices;
  if (inRange)
    if (const CudaDevice *found = known[static_cast<size_t>(ordinal)].load(std::memory_order_acquire)) return found;
  std::lock_guard<std::mutex> guard(lock);
  if (inRange)
    if (const CudaDevice *found = known[static_cast<size_t>(ordinal)].load(std::memory_order_acquire)) return found;
  const CudaDevice *device = open(ordinal, diagnostics).release();
  if (device) known[static_cast<size_t>(ordinal)].store(device, std::memory_order_release);
  return device;
}

void CudaDevice::noteLaunch(const std::shared_ptr<const LaunchInfo> &info, const uint32_t *grid, llvm::ArrayRef<uint64_t> slots) const {
  std::lock_guard<std::mutex> guard(recordLock);
  Record &record = records[recorded++ % records.size()];
  record.info = info;
  std::copy(grid, grid + 3, record.grid);
  record.count = static_cast<uint32_t>(std::min(slots.size(), std::size(record.slots)));
  std::copy(slots.begin(), slots.begin() + record.count, record.slots);
}

static std::string slotText(SlotKind kind, uint64_t slot) {
  switch (kind) {
  case SlotKind::pointer: {
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(slot));
    return text;
  }
  case SlotKind::f32: {
    float value;
    uint32_t bits = static_cast<uint32_t>(slot);
    std::memcpy(&value, &bits, 4);
    return std::to_string(value);
  }
  case SlotKind::f64: {
    double value;
    std::memcpy(&value, &slot, 8);
    return std::to_string(value);
  }
  default: return std::to_string(static_cast<int64_t>(slot));
  }
}

std::vector<std::string> CudaDevice::lastLaunches() const {
  std::lock_guard<std::mutex> guard(recordLock);
  std::vector<std::string> texts;
  for (uint64_t age = 0; age < std::min<uint64_t>(recorded, records.size()); ++age) {
    const Record &record = records[(recorded - 1 - age) % records.size()];
    const LaunchInfo &info = *record.info;
    std::string text = "`" + info.kernel + "` grid (" + std::to_string(record.grid[0]) + ", " + std::to_string(record.grid[1]) + ", " +
                       std::to_string(record.grid[2]) + ")";
    for (uint32_t i = 0; i < record.count && i < info.kinds.size(); ++i) {
      text += i ? ", " : " ";
      if (i < info.names.size()) text += info.names[i] + " ";
      text += slotText(info.kinds[i], record.slots[i]);
    }
    if (info.kinds.size() > record.count) text += ", ...";
    texts.push_back(std::move(text));
  }
  return texts;
}

void CudaDevice::report(DriverStatus status, const std::string &call, Diagnostics &diagnostics) const {
  std::vector<std::string> launches;
  if (isSticky(status)) launches = lastLaunches();
  if (launches.empty()) {
    diagnostics.error({}, Diag::cudaFailed, {call, driver->describe(status)});
    return;
  }
  Diagnostic &error = diagnostics.error({}, Diag::cudaFault, {driver->describe(status), launches.front()});
  for (size_t i = 1; i < launches.size(); ++i)
    error.notes.push_back(Diagnostics::note({}, "launched before it: " + launches[i]));
}

bool CudaDevice::isCurrent() const {
  ContextHandle current = nullptr;
  return driver->currentContext(&current) == status::success && current == context;
}

bool CudaDevice::synchronize(Diagnostics &diagnostics) const {
  ContextScope scope(*this);
  DriverStatus state = driver->synchronizeContext();
  if (state == status::success) return true;
  report(state, "waiting for device " + std::to_string(ordinal), diagnostics);
  return false;
}

bool CudaDevice::synchronize(StreamHandle stream, Diagnostics &diagnostics) const {
  ContextScope scope(*this);
  DriverStatus state = driver->synchronizeStream(stream);
  if (state == status::success) return true;
  report(state, "waiting for a stream", diagnostics);
  return false;
}

std::optional<GpuTime> CudaDevice::time(StreamHandle stream, const std::function<bool()> &body, Diagnostics &diagnostics) const {
  ContextScope scope(*this);
  EventHandle start = nullptr, end = nullptr;
  DriverStatus state = driver->createEvent(&start, 0);
  if (state == status::success) state = driver->createEvent(&end, 0);
  if (state == status::success) state = driver->recordEvent(start, stream);
  bool ran = state == status::success && body();
  bool waited = ran && driver->queryEvent(start) == status::success;
  float milliseconds = 0;
  if (ran) state = driver->recordEvent(end, stream);
  if (ran && state == status::success) state = driver->synchronizeEvent(end);
  if (ran && state == status::success) state = driver->elapsedMilliseconds(&milliseconds, start, end);
  if (start) driver->destroyEvent(start);
  if (end) driver->destroyEvent(end);
  if (state != status::success) report(state, "timing", diagnostics);
  if (!ran || state != status::success) return std::nullopt;
  return GpuTime{milliseconds * 1e-3, waited};
}

ContextScope::ContextScope(const CudaDevice &device) : driver(*device.driver) {
  if (driver.currentContext(&before) == status::success && before == device.context) return;
  // A thread without a context keeps this one: any other library would choose the same.
  changed = driver.setCurrentContext(device.context) == status::success && before;
}

ContextScope::~ContextScope() {
  if (changed) driver.setCurrentContext(before);
}

int64_t allocatedAfter(const CudaDevice &device, uint64_t address) {
  ContextScope scope(device);
  uint64_t start = 0;
  size_t bytes = 0;
  const Driver &driver = *device.driver;
  bool known = driver.pointerAttribute(&start, PointerAttribute::rangeStart, address) == status::success &&
               driver.pointerAttribute(&bytes, PointerAttribute::rangeBytes, address) == status::success;
  return known && start <= address && address < start + bytes ? static_cast<int64_t>(start + bytes - address) : 0;
}

bool isHostMemoryOfDevice(const CudaDevice &device, const void *address) {
  ContextScope scope(device);
  uint64_t mapped = 0;
  return device.driver->pointerAttribute(&mapped, PointerAttribute::devicePointer, reinterpret_cast<uint64_t>(address)) ==
             status::success &&
         mapped == reinterpret_cast<uint64_t>(address);
}

} // namespace tilewright::gpu
