#include "tune/device_copy.h"

#include "evaluate/module.h"
#include "runtime/cuda/device.h"
#include "syntax/parser.h"

namespace tilewright {

static constexpr int64_t blockBytes = 16384;
static constexpr size_t noteBytes = 8;

/// One of the kernels of compare_tensors.py. Null where they do not compile, which a test would tell.
static Kernel *comparison(llvm::StringRef name) {
  static const char source[] = {
#include "tune/compare_tensors.inc"
  };
  static const std::shared_ptr<Namespace> module = [] {
    Diagnostics problems;
    auto file = SourceFile::create("<compare_tensors>", std::string(source, sizeof(source)), 1);
    std::shared_ptr<const ast::Module> parsed = parse(file, problems);
    return parsed ? moduleScope(std::move(parsed)) : nullptr;
  }();
  static std::mutex lock;
  static auto &kernels = *new llvm::StringMap<std::unique_ptr<Kernel>>; // never destroyed: the device may be gone by then
  std::lock_guard<std::mutex> guard(lock);
  std::unique_ptr<Kernel> &kernel = kernels[name];
  Diagnostics problems;
  if (!kernel && module)
    if (std::shared_ptr<const JitFunction> function = findKernel(*module, name, problems)) kernel = std::make_unique<Kernel>(function);
  return kernel.get();
}

std::unique_ptr<DeviceCopy> DeviceCopy::create(const Argument &tensor) {
  Diagnostics ignored; // a device that fails here fails the launch, too, which reports it
  std::unique_ptr<DeviceCopy> copy(new DeviceCopy);
  copy->device = gpu::CudaDevice::get(tensor.device(), ignored);
  if (!copy->device) return nullptr;
  copy->tensor = tensor;
  auto [begin, end] = *tensor.reach();
  copy->begin = begin, copy->bytes = end - begin;
  gpu::ContextScope scope(*copy->device);
  const gpu::Driver &driver = *copy->device->driver;
  auto works = [](gpu::DriverStatus state) { return state == gpu::status::success; };
  // All writes to the tensor, in whatever stream, must be done before it is read.
  bool isReady = works(driver.synchronizeContext()) && works(driver.allocate(&copy->before, copy->bytes)) &&
                 works(driver.allocate(&copy->notes, noteBytes)) && works(driver.copyOnDevice(copy->before, begin, copy->bytes, nullptr)) &&
                 works(driver.synchronizeContext());
  return isReady ? std::move(copy) : nullptr;
}

DeviceCopy::~DeviceCopy() {
  if (!device) return;
  gpu::ContextScope scope(*device);
  for (uint64_t memory : kept)
    device->driver->release(memory);
  for (uint64_t memory : {before, notes})
    if (memory) device->driver->release(memory);
}

void DeviceCopy::restore() const {
  gpu::ContextScope scope(*device);
  if (device->driver->synchronizeContext() != gpu::status::success) return;
  device->driver->copyOnDevice(begin, before, bytes, nullptr);
  device->driver->synchronizeContext();
}

bool DeviceCopy::keep() {
  gpu::ContextScope scope(*device);
  const gpu::Driver &driver = *device->driver;
  uint64_t memory = 0;
  if (driver.synchronizeContext() != gpu::status::success || driver.allocate(&memory, bytes) != gpu::status::success) return false;
  kept.push_back(memory);
  bool isCopied = driver.copyOnDevice(memory, begin, bytes, nullptr) == gpu::status::success &&
                  driver.fillBytes(notes, 0, noteBytes, nullptr) == gpu::status::success &&
                  driver.synchronizeContext() == gpu::status::success;
  if (!isCopied) forget();
  return isCopied;
}

void DeviceCopy::forget() {
  if (kept.empty()) return;
  gpu::ContextScope scope(*device);
  device->driver->release(kept.back());
  kept.pop_back();
}

std::vector<char> DeviceCopy::copied(uint64_t from) const {
  std::vector<char> found(bytes);
  gpu::ContextScope scope(*device);
  device->driver->copyToHost(found.data(), from, bytes);
  return found;
}

std::vector<char> DeviceCopy::cachedPanelBytes(size_t index) const {
  return copied(kept[index]);
}
std::vector<char> DeviceCopy::bytesBefore() const {
  return copied(before);
}

std::optional<bool> DeviceCopy::equalsStored(size_t index, std::optional<Closeness> near) const {
  bool asFloats = near && tensor.element() != Scalar::fp64;
  if (near && !asFloats) return std::nullopt; // the kernels compute in f32
  Scalar element = asFloats ? tensor.element() : Scalar::int8;
  int64_t size = asFloats ? byteSize(element) : 1, count = static_cast<int64_t>(bytes) / size;
  auto pointer = [&](uint64_t address, Scalar type, size_t length) {
    return Argument::pointer(reinterpret_cast<void *>(address), type, static_cast<int64_t>(length), tensor.device());
  };
  Argument now = pointer(begin, element, bytes), wanted = pointer(kept[index], element, bytes);
  Argument flag = pointer(notes, Scalar::int32, 4), squares = pointer(notes + 4, Scalar::fp32, 4);
  Argument length = Argument::integer(count), block = Argument::integer(blockBytes / size);
  LaunchOptions options;
  options.device = tensor.device();
  Grid grid((count * size + blockBytes - 1) / blockBytes);
  Diagnostics problems;
  auto run = [&](llvm::StringRef name, std::vector<Argument> arguments) {
    Kernel *kernel = comparison(name);
    std::optional<BoundArguments> bound = kernel ? bindArguments(kernel->function(), arguments, {}, problems) : std::nullopt;
    return bound && kernel->launch(grid, *bound, options, problems);
  };
  gpu::ContextScope scope(*device);
  const gpu::Driver &driver = *device->driver;
  if (driver.synchronizeContext() != gpu::status::success) return std::nullopt;
  driver.fillBytes(notes, 0, noteBytes, nullptr);
  bool ran = asFloats ? run("sum_squares", {wanted, squares, length, block}) &&
                            run("floats_differ", {now, wanted, squares, flag, Argument::floating(near->ofElement),
                                                  Argument::floating(near->ofTypical), length, block})
                      : run("bytes_differ", {now, wanted, flag, length, block});
  int32_t raised = 0;
  ran = ran && driver.synchronizeContext() == gpu::status::success &&
        driver.copyToHost(&raised, notes, sizeof(raised)) == gpu::status::success;
  return ran ? std::optional(raised == 0) : std::nullopt;
}

} // namespace tilewright
