// The extension module tilewright._core: what the .py files of the package stand on.

#include "compiled.h"
#include "core.h"

#include "driver/build_id.h"
#include "evaluate/builtins.h"
#include "evaluate/module.h"
#include "evaluate/reference.h"
#include "runtime/cache.h"
#include "runtime/cpu_peaks.h"
#include "runtime/cuda/activity.h"
#include "runtime/cuda/kernel.h"
#include "runtime/pool.h"
#include "runtime/write_watch.h"
#include "support/artifact.h"
#include "support/c_names.h"
#include "support/files.h"
#include "support/options.h"
#include "support/settings.h"
#include "support/target.h"

#include "llvm/ADT/STLExtras.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

using namespace nb::literals;

namespace tilewright::python {

/// The rows of element_types.def: (name, word of signatures, attribute, group, bits, mantissa bits, exponent bias, other words).
static nb::list elementTypes() {
  nb::list rows;
#define ELEMENT(enumerator, name, signature, attribute, group, bits, mantissa, bias, dlpack, others)                                       \
  rows.append(nb::make_tuple(name, signature, attribute, #group, bits, mantissa, bias, others));
#include "evaluate/element_types.def"
  return rows;
}

static std::string referenceOf(const std::string &path) {
  return referenceText(path).str();
}

static std::vector<std::tuple<std::string, std::string, std::string>> builtinRows() {
  std::vector<std::tuple<std::string, std::string, std::string>> rows;
  for (const Builtin *builtin : allBuiltins())
    rows.emplace_back(builtin->path.str(), builtin->signature.str(), builtin->summary.str());
  return rows;
}

static std::vector<std::tuple<std::string, std::string, std::string>> libraryRows() {
  return {
#define LIBRARY(path, signature, summary) {path, signature, summary},
#include "evaluate/library.def"
#undef LIBRARY
  };
}

/// The names below a module of the language and what each is: "builtin", "function", "type", "module", "other".
static std::vector<std::pair<std::string, std::string>> languageMembers(const std::string &path) {
  std::vector<std::pair<std::string, std::string>> members;
  std::shared_ptr<Namespace> module = languageModule(path);
  if (!module) return members;
  for (const std::string &name : module->names()) {
    Diagnostics ignored;
    std::optional<Value> value = module->lookup(name, ignored);
    if (!value) continue;
    const char *kind = value->asBuiltin()     ? "builtin"
                       : value->asFunction()  ? "function"
                       : value->asType()      ? "type"
                       : value->asNamespace() ? "module"
                                              : "other";
    members.emplace_back(name, kind);
  }
  return members;
}

static nb::dict targetProperties() {
  const CpuTarget &target = hostCpu();
  nb::dict properties;
  properties["level"] = target.name;
  properties["cpu"] = target.cpu;
  properties["vector_bytes"] = target.vectorBytes;
  properties["registers"] = target.registers;
  properties["l2_bytes"] = target.l2Bytes;
  properties["llc_bytes"] = target.llcBytes;
  properties["threads"] = defaultThreads();
  properties["levels"] = cpuLevelNames(hostIsa);
  properties["all_levels"] = cpuLevelNames();
  return properties;
}

static nb::dict cudaDevice(int64_t ordinal) {
  Diagnostics diagnostics;
  const gpu::CudaDevice *device = gpu::CudaDevice::get(ordinal, diagnostics);
  if (!device) raiseErrors(diagnostics, nullptr);
  nb::dict properties;
  properties["name"] = device->name;
  properties["major"] = device->major;
  properties["minor"] = device->minor;
  properties["target"] = device->target.name;
  properties["max_shared_mem"] = device->sharedPerBlock;
  properties["max_num_regs"] = device->registersPerBlock;
  properties["multiprocessor_count"] = device->multiprocessors;
  properties["warpSize"] = device->warpSize;
  properties["sm_clock_rate"] = device->clockKhz;
  properties["mem_clock_rate"] = device->memoryClockKhz;
  properties["mem_bus_width"] = device->memoryBusBits;
  properties["l2_bytes"] = device->l2Bytes;
  properties["total_memory"] = device->memoryBytes;
  return properties;
}

static void cudaSynchronize(int64_t ordinal) {
  Diagnostics diagnostics;
  {
    WithoutGil release;
    if (const gpu::CudaDevice *device = gpu::CudaDevice::get(ordinal, diagnostics)) device->synchronize(diagnostics);
  }
  if (diagnostics.hasErrors()) raiseErrors(diagnostics, nullptr);
}

/// A call of the driver about memory of the first GPU, in its context.
static void onFirstGpu(const char *what, llvm::function_ref<gpu::DriverStatus(const gpu::Driver &)> call) {
  Diagnostics diagnostics;
  {
    WithoutGil release;
    if (const gpu::CudaDevice *device = gpu::CudaDevice::get(0, diagnostics)) {
      gpu::ContextScope scope(*device);
      if (gpu::DriverStatus status = call(*device->driver); status != gpu::status::success) device->report(status, what, diagnostics);
    }
  }
  if (diagnostics.hasErrors()) raiseErrors(diagnostics, nullptr);
}

static uint64_t cudaAllocate(size_t bytes) {
  uint64_t address = 0;
  onFirstGpu("allocation", [&](const gpu::Driver &driver) { return driver.allocate(&address, bytes); });
  return address;
}

static void cudaRelease(uint64_t address) {
  onFirstGpu("release of memory", [&](const gpu::Driver &driver) { return driver.release(address); });
}

static void cudaWrite(uint64_t address, nb::bytes data) {
  onFirstGpu("copy to the GPU", [&](const gpu::Driver &driver) { return driver.copyToDevice(address, data.data(), data.size()); });
}

static nb::bytes cudaRead(uint64_t address, size_t bytes) {
  std::string data(bytes, '\0');
  onFirstGpu("copy from the GPU", [&](const gpu::Driver &driver) { return driver.copyToHost(data.data(), address, bytes); });
  return nb::bytes(data.data(), data.size());
}

static nb::tuple setEngine(const std::string &name, bool checkBounds, std::optional<std::string> wanted, bool isChosen, int64_t maxWork) {
  EngineState &state = engineState();
  std::string target = wanted.value_or(defaultGpuText());
  if (!gpuTargetOfText(target))
    raise(PyExc_ValueError, "there is no target '" + target + "' to simulate: cuda:NAME, with NAME one of " + gpuTargetNames());
  nb::tuple before = nb::make_tuple(engineName(state.engine), state.checkBounds, state.target, state.isChosen, state.maxWork);
  if (name == "interpret")
    state.engine = Engine::interpret;
  else if (name == "cpu")
    state.engine = Engine::cpu;
  else if (name == "simulate")
    state.engine = Engine::simulate;
  else
    raise(PyExc_ValueError, "there is no engine '" + name + "': there are 'cpu', 'interpret' and 'simulate'");
  state.target = target;
  state.checkBounds = checkBounds;
  state.isChosen = isChosen;
  state.maxWork = maxWork;
  return before;
}

/// (kernel, program) that changed the watched bytes last; None where nothing did. Ends the watch.
static nb::object watchedWriter() {
  WriteWatch *watch = watchedWrites();
  if (!watch || !watch->lastWriter()) {
    watchWrites(std::nullopt);
    return nb::none();
  }
  auto [kernel, program] = *watch->lastWriter();
  watchWrites(std::nullopt);
  return nb::make_tuple(kernel, nb::make_tuple(program[0], program[1], program[2]));
}

/// Functions for verify and bench.
static void defineVerification(nb::module_ &module) {
  module.def("interpreter_gave_up", [] { return engineState().gaveUp; });
  module.def(
      "count_arithmetic",
      [](bool on) {
        engineState().isCounting = on;
        return std::exchange(engineState().counted, 0);
      },
      "From here on, or no more, launches of this thread count their operations on floats. Returns those counted so far.", "on"_a);
  module.def("cpu_text", [] { return cpuText(); }, "The name of this CPU, its level and the number of threads.");
  module.def(
      "watch_writes", [](uintptr_t address, size_t bytes) { watchWrites(WriteWatch(reinterpret_cast<const char *>(address), bytes)); },
      "Launches of this thread record which of their programs writes to these bytes; CPU only.", "address"_a, "bytes"_a);
  module.def("watched_writer", &watchedWriter, "Ends the watch: (kernel, program) that wrote last, or None.");
}

/// What ran with a mark: (begin, end, nanoseconds of all kernels, how many); None where nothing was seen.
static nb::object activityTimesOf(uint64_t mark, int64_t ordinal) {
  std::optional<gpu::ActivityTimes> times;
  {
    WithoutGil release;
    Diagnostics ignored; // a device that fails here has failed a launch, which reports it
    if (const gpu::CudaDevice *device = gpu::CudaDevice::get(ordinal, ignored)) times = gpu::activityTimes(mark, *device);
  }
  if (!times) return nb::none();
  return nb::make_tuple(times->begin, times->end, times->busy, times->count);
}

static void defineActivities(nb::module_ &module) {
  module.def(
      "start_activities",
      [] {
        WithoutGil release;
        return gpu::startActivities();
      },
      "Records what runs on GPUs, until stop_activities() was called as often. None, or why it cannot.");
  module.def("stop_activities", [] {
    WithoutGil release;
    gpu::stopActivities();
  });
  module.def("enter_activity", &gpu::enterActivity, "What this thread launches from here on has the mark that is returned.");
  module.def("leave_activity", &gpu::leaveActivity, "mark"_a);
  module.def("activity_times", &activityTimesOf, "mark"_a, "device"_a);
}

/// The compiler's own version, and the release of Triton that it stands for.
static void defineVersions(nb::module_ &module) {
  if (Diagnostics settings; !checkVersionSettings(settings)) raise(PyExc_ValueError, settings.render());
  module.attr("__version__") = TILEWRIGHT_VERSION;
  module.attr("triton_version") = tritonVersion().text;
}

} // namespace tilewright::python

NB_MODULE(_core, module) {
  using namespace tilewright;
  using namespace tilewright::python;
  nb::set_leak_warnings(false); // kernels live in module globals, which outlive the extension's own end
  module.doc() = "Tilewright's compiler and runtime.";
  defineVersions(module);
  defineKernel(module);
  defineCompiled(module);
  defineCompiling(module);
  defineTuner(module);
  defineLaunchPlans(module);
  defineAuthor(module);
  defineVerification(module);
  defineActivities(module);
  module.def("reference", &referenceOf, "What the reference says of a builtin or a function of the library, by its path; may be empty.");
  module.def("builtins", &builtinRows, "Path, signature and summary of every builtin of the language.");
  module.def("library", &libraryRows, "The same of every function that is written in the language.");
  module.def("element_types", &elementTypes, "What is known of each element type.");
  module.def("language_members", &languageMembers, "path"_a);
  module.def("target", &targetProperties);
  module.def(
      "switch_of", [](const std::string &word) { return switchOf(word); },
      "What a word says of a setting that is on or off: True, False, or None where it says neither.");
  module.def("c_parameter_names", &parameterNames, "Names in C for a function's parameters, none of them in `taken`.", "names"_a,
             "taken"_a);
  module.def("build_id", [] { return buildId(); });
  module.def("set_engine", &setEngine, "name"_a, "check_bounds"_a = false, "target"_a = nb::none(), "is_chosen"_a = true, "max_work"_a = 0);
  module.def("engine", [] { return engineName(engineState().engine); });
  module.def("set_default_threads", [](int64_t threads) { setDefaultThreads(threads); }, "threads"_a);
  module.def("cuda_device_count", [] { return gpu::cudaDeviceCount(); }, "How many GPUs the NVIDIA driver knows; 0 without a driver.");
  module.def("cuda_device", &cudaDevice, "What a GPU is. RuntimeError if there is none, or none that code is made for.", "ordinal"_a = 0);
  module.def("cuda_synchronize", &cudaSynchronize, "Waits for a GPU's work; errors of earlier launches come here.", "ordinal"_a = 0);
  module.def("cuda_allocate", &cudaAllocate, "The address of memory of the first GPU, for programs without a tensor library.", "bytes"_a);
  module.def("cuda_release", &cudaRelease, "Gives such memory back.", "address"_a);
  module.def("cuda_write", &cudaWrite, "Copies bytes to memory of a GPU.", "address"_a, "data"_a);
  module.def("cuda_read", &cudaRead, "Bytes of a GPU's memory.", "address"_a, "bytes"_a);
  module.def(
      "set_default_device", [](int64_t device) { return defaultDevice().exchange(device); },
      "Where launches without tensors run: a CUDA device, or -1 for the CPU. Returns what it was.", "device"_a);
  module.def("cache_directory", [] { return cacheDirectory(); });
}
