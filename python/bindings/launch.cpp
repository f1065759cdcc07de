// Launches of compiled kernels.
//
// `kernel[grid](x, y, n, BLOCK=64)` is two calls from the interpreter: a subscript, which makes a small object with the grid, and a call of
// that object by the vectorcall protocol, so that no tuple and no dict is made. A warm launch does this: arguments are converted
// (arguments.cpp) into the order of the parameters (call.cpp); their specialization is compared with recent launches; the grid
// runs. It looks nothing up by name and allocates nothing but that object.

#include "kernel.h"

#include "runtime/cuda/kernel.h"
#include "runtime/signals.h"
#include "support/artifact.h"
#include "support/settings.h"
#include "support/stack.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <structmember.h>

namespace tilewright::python {

bool hasStack(int64_t needed, Diagnostics &diagnostics) {
  int64_t left = stackLeft();
  if (left >= needed) return true;
  diagnostics.error({}, Diag::smallStack, {std::to_string(left >> 10), std::to_string(needed >> 10)});
  return false;
}

bool place(const JitFunction &function, Call &call, Diagnostics &diagnostics) {
  if (!chooseDevice(function, call.arguments, call.options, diagnostics)) return false;
  if (call.options.device == undecidedDevice) {
    nb::getattr(packageObject("runtime.driver", "driver"), "active");
    call.options.device = std::max<int64_t>(defaultDevice().load(std::memory_order_relaxed), -1);
  }
  if (call.options.device >= 0 && !call.hasStream) call.options.stream = streamFor(call.options.device);
  return true;
}

namespace {

Shared objectFor(nb::handle self, PyKernel::State &state, const std::shared_ptr<const CompiledKernel> &compiled,
                 const std::shared_ptr<const JitFunction> &function, const LaunchOptions &options) {
  Shared &object = state.objects[compiled.get()];
  if (!object) {
    auto handle = std::make_shared<PyCompiled>();
    handle->compiled = compiled;
    handle->function = function;
    handle->specs = compiled->specs();
    handle->options = options.kernel;
    if (compiled->gpu()) {
      handle->options.backend = "cuda";
      if (std::optional<GpuTarget> target = gpuTarget(compiled->gpu()->artifact().target)) handle->options.capability = target->capability;
    }
    object = share(compiledObject(std::move(handle), self));
  }
  return object;
}

/// Called without the GIL. `diagnostics` says why it failed.
bool start(const CompiledKernel &compiled, const Grid &grid, Call &call, Diagnostics &diagnostics) {
  if (call.options.device < 0 && !hasStack(stackToRun, diagnostics)) return false;
  Interruptible here;
  call.options.stop = here.stop();
  WithoutGil release;
  return compiled.launch(grid, call.arguments, call.options, diagnostics);
}

void remember(PyKernel::State &state, const SpecializationKey &key, const std::shared_ptr<const CompiledKernel> &compiled,
              const Shared &object) {
  constexpr size_t remembered = 4;
  auto warm = llvm::makeIntrusiveRefCnt<PyKernel::State::Warm>(key, compiled, object);
  if (state.warm.size() < remembered)
    state.warm.push_back(std::move(warm));
  else
    state.warm[state.nextWarm++ % remembered] = std::move(warm);
}

} // namespace

namespace {

/// The kernel as it is about to be compiled.
std::shared_ptr<PyCompiled> describe(const std::shared_ptr<const JitFunction> &function, const Call &call) {
  Diagnostics diagnostics;
  auto handle = std::make_shared<PyCompiled>();
  std::optional<std::vector<ArgumentSpec>> specs = specialize(*function, call.arguments, diagnostics);
  if (!specs) raiseErrors(diagnostics, function.get());
  handle->function = function;
  handle->specs = std::move(*specs);
  handle->options = call.options.kernel;
  if (call.options.device >= 0)
    if (const gpu::CudaDevice *device = gpu::CudaDevice::get(call.options.device, diagnostics)) {
      handle->options.backend = "cuda";
      handle->options.capability = device->target.capability;
      handle->gpu = device->target;
    }
  if (call.options.gpu) {
    handle->options.backend = "cuda";
    handle->options.capability = call.options.gpu->capability;
    handle->gpu = call.options.gpu;
  }
  return handle;
}

/// `arch`, or the setting knobs.runtime.override_arch, which a compilation reads: code for a
/// GPU other than the device. Raises if it is to be launched and the device cannot run it.
void chooseArch(Call &call, Purpose purpose) {
  if (!call.options.gpu) {
    std::string arch = settingOf("runtime", "override_arch", "TRITON_OVERRIDE_ARCH");
    if (!arch.empty()) call.options.gpu = gpuOfArch(arch);
  }
  if (!call.options.gpu || purpose == Purpose::warmup) return;
  Diagnostics diagnostics;
  const gpu::CudaDevice *device = gpu::CudaDevice::get(call.options.device, diagnostics);
  if (!device) raiseErrors(diagnostics, nullptr);
  if (!runsOn(*call.options.gpu, device->major, device->minor))
    raise(PyExc_ValueError, "arch is " + call.options.gpu->name + ", whose code " + device->name + " (compute capability " +
                                std::to_string(device->major) + "." + std::to_string(device->minor) +
                                ") does not run: name the GPU's own or an older one");
}

/// Settings of knobs that a compilation reads, and a launch of compiled code does not, as in upstream.
void chooseSettings(Call &call, Purpose purpose) {
  bool fusion = call.options.kernel.fpFusion, flushes = call.options.kernel.flushesExp2;
  readSettings(call.options.kernel);
  if (call.hasFusion) call.options.kernel.fpFusion = fusion;
  if (call.hasReflectFtz) call.options.kernel.flushesExp2 = flushes;
  bool runsOnCpu = call.options.device < 0 && purpose != Purpose::warmup;
  if (!runsOnCpu) chooseArch(call, purpose);
}

/// Tells the host's hooks about a compilation, and takes the file that is to be compiled instead, if there is one. False if a
/// hook has said not to compile. No Python object may remain in a frame that compiles: its thread may end there, without the GIL.
bool announce(nb::handle kernelObject, const std::shared_ptr<const JitFunction> &function, Call &call, bool isWarmup) {
  static constinit PackageMember compiling("runtime.events", "compiling"), replacement("compiler.override", "replacement");
  nb::object described = nb::cast(describe(function, call));
  if (!nb::cast<bool>(compiling(kernelObject, described, isWarmup))) return false;
  if (!switchOf(settingOf("compilation", "override", "TRITON_KERNEL_OVERRIDE")).value_or(false)) return true;
  if (nb::object file = replacement(kernelObject, described); !file.is_none()) call.options.kernel.overrideText = overridingText(file);
  return true;
}

/// Not in memory: compiles, and tells the host's hooks before and after. Null where one of them said not to.
Shared compileLaunch(nb::handle kernelObject, PyKernel::State &state, const std::shared_ptr<const JitFunction> &function, Call &call,
                     Purpose purpose, std::shared_ptr<const CompiledKernel> &compiled) {
  static constinit PackageMember tell("runtime.events", "compiled");
  std::shared_ptr<Kernel> kernel = state.kernel;
  compiled = kernel->known(call.arguments, call.options);
  bool isNew = !compiled;
  Diagnostics diagnostics;
  if (isNew) {
    bool isAhead = purpose == Purpose::warmup || purpose == Purpose::dryRun;
    if (!announce(kernelObject, function, call, isAhead)) return nullptr;
    if (!hasStack(stackToCompile, diagnostics)) raiseErrors(diagnostics, function.get());
    if (call.options.device < 0) reportBadAddresses();
    std::vector<UsedGlobal> used;
    {
      Recorder recorder(used);
      WithoutGil release;
      Compiling compiling;
      compiled = kernel->compile(call.arguments, call.options, diagnostics);
    }
    showWarnings(diagnostics);
    if (!used.empty()) storeUsed(state, used);
    if (!compiled) raiseErrors(diagnostics, function.get());
  }
  Shared object = objectFor(kernelObject, state, compiled, function, call.options);
  if (isNew) tell(kernelObject, nb::handle(object.get()), purpose == Purpose::warmup || purpose == Purpose::dryRun);
  return object;
}

} // namespace

std::shared_ptr<PyCompiled> describeLaunch(nb::handle kernelObject, const PyArguments &arguments) {
  PyKernel &self = *nb::inst_ptr<PyKernel>(kernelObject);
  const std::shared_ptr<const JitFunction> &function = self.jit(); // the state's
  llvm::IntrusiveRefCntPtr<PyKernel::State> keep = self.state;
  Call call;
  Diagnostics diagnostics;
  readCall(*keep, *function, arguments, call);
  if (!place(*function, call, diagnostics)) raiseErrors(diagnostics, function.get());
  return describe(function, call);
}

nb::object launchKernel(nb::handle kernelObject, nb::handle gridObject, const PyArguments &arguments, Purpose purpose) {
  PyKernel &self = *nb::inst_ptr<PyKernel>(kernelObject);
  const std::shared_ptr<const JitFunction> &function = self.jit(); // the state's
  llvm::IntrusiveRefCntPtr<PyKernel::State> keep = self.state;     // the source may be replaced while this runs
  PyKernel::State &state = *keep;
  Call call;
  readCall(state, *function, arguments, call);
  bool launch = purpose == Purpose::run || purpose == Purpose::dryRun;
  call.options.isDryRun = purpose == Purpose::dryRun;
  Grid grid;
  if (launch)
    grid = PyCallable_Check(gridObject.ptr()) ? readGrid(gridObject(boundDict(state, *function, arguments))) : readGrid(gridObject);
  if (!state.used.empty()) checkUnchanged(state.used);
  if (engineState().isCounting && purpose == Purpose::run) runInterpreted(kernelObject, state, &grid, call.arguments, call.options);
  bool isInterpreted = engineState().engine != Engine::cpu || (state.wantsInterpreter && !engineState().isChosen);
  if (isInterpreted) {
    chooseSettings(call, Purpose::run);
    return runInterpreted(kernelObject, state, purpose == Purpose::run ? &grid : nullptr, call.arguments, call.options);
  }
  Diagnostics diagnostics;
  if (!place(*function, call, diagnostics)) raiseErrors(diagnostics, function.get());
  if (purpose == Purpose::warmup)
    chooseSettings(call, purpose);
  else if (call.options.device < 0)
    call.options.gpu.reset(); // whatever `arch` says about GPUs

  SpecializationKey key;
  appendLaunchKey(*function, call.arguments, call.options, key);
  for (const llvm::IntrusiveRefCntPtr<const PyKernel::State::Warm> &entry : state.warm) {
    if (entry->key.size() != key.size() || std::memcmp(entry->key.data(), key.data(), key.size()) != 0) continue;
    llvm::IntrusiveRefCntPtr<const PyKernel::State::Warm> warm = entry;
    if (launch && !start(*warm->compiled, grid, call, diagnostics)) raiseErrors(diagnostics, function.get());
    return nb::borrow(warm->object.get());
  }

  if (purpose != Purpose::warmup) chooseSettings(call, purpose);
  if (!state.kernel) state.kernel = std::make_shared<Kernel>(function);
  std::shared_ptr<const CompiledKernel> compiled;
  Shared object = compileLaunch(kernelObject, state, function, call, purpose, compiled);
  if (!object) return nb::none();
  bool ok = !launch || start(*compiled, grid, call, diagnostics);
  if (!diagnostics.all().empty()) showWarnings(diagnostics);
  if (!ok) raiseErrors(diagnostics, function.get());
  if (call.options.device >= 0 || !call.options.gpu) remember(state, key, compiled, object);
  return nb::borrow(object.get());
}

// Runs an already compiled kernel: one argument for each parameter, constants included.
void PyCompiled::launch(const Grid &grid, const PyArguments &arguments, nb::handle stream) const {
  if (!compiled) raise(PyExc_RuntimeError, "this kernel was compiled for the interpreter; launch the function itself");
  Call call;
  if (!calls) calls = llvm::makeIntrusiveRefCnt<PyKernel::State>();
  readCall(*calls, *function, arguments, call);
  setStream(call, stream);
  Diagnostics diagnostics;
  if (!place(*function, call, diagnostics)) raiseErrors(diagnostics, function.get());
  if ((call.options.device >= 0) != (compiled->gpu() != nullptr))
    raise(PyExc_ValueError, std::string("this kernel was compiled for ") + (compiled->gpu() ? "a GPU" : "the CPU") +
                                ", and its arguments are " + (compiled->gpu() ? "in the CPU's memory" : "on a GPU"));
  bool fits =
      text && !isRestored() ? fitsText(*text, call.arguments, diagnostics) : keepsMultiples(*function, specs, call.arguments, diagnostics);
  if (!fits) raiseErrors(diagnostics, nullptr);
  if (!start(*compiled, grid, call, diagnostics)) raiseErrors(diagnostics, function.get());
}

// ---- kernel[grid]

namespace {

struct Launcher {
  PyObject_HEAD vectorcallfunc call;
  PyObject *kernel, *grid;
};

Launcher *launcher(PyObject *object) {
  return reinterpret_cast<Launcher *>(object);
}

/// The vectorcall of a launcher: passes what the launcher holds to `launch`, with the arguments.
template <auto launch> PyObject *callLauncher(PyObject *self, PyObject *const *values, size_t flagged, PyObject *names) {
  try {
    PyArguments arguments{values, static_cast<size_t>(PyVectorcall_NARGS(flagged)), names};
    return launch(launcher(self)->kernel, launcher(self)->grid, arguments).release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

/// Whether a launch goes through JITFunction.run: the kernel has hooks or its own `debug`, knobs.runtime has, or the program has replaced
/// `run`, of this kernel or of its class.
bool isWatched(PyObject *kernel) {
  static PyObject *const debug = PyUnicode_InternFromString("debug"), *const run = PyUnicode_InternFromString("run");
  static constinit PackageMember knobs("knobs", "__dict__"), ownRun("runtime.jit", "_RUN");
  static PyObject *const group = PyUnicode_InternFromString("runtime");
  // Code that needs its own settings for a while puts another object into the module.
  static nb::handle runtime, state; // never released: there are few of them
  if (PyObject *now = PyDict_GetItem(knobs.ptr(), group); now && now != runtime.ptr()) {
    runtime = nb::borrow(now).release();
    state = nb::getattr(runtime, "__dict__").release();
  }
  static PyObject *const names[] = {debug, PyUnicode_InternFromString("launch_enter_hook"), PyUnicode_InternFromString("launch_exit_hook")};
  auto isSet = [](PyObject *value) { return value && value != Py_None && value != Py_False && PyObject_IsTrue(value) != 0; };
  for (PyObject *name : names)
    if (isSet(PyDict_GetItem(state.ptr(), name))) return true;
  const PyKernel &self = *nb::inst_ptr<PyKernel>(kernel);
  if (self.hasOwnSettings) return true;
  if (PyObject *hooks = self.hooks.get(); hooks && (PyList_Check(hooks) ? PyList_Size(hooks) > 0 : isSet(hooks))) return true;
  PyObject *classRun = PyObject_GetAttr(reinterpret_cast<PyObject *>(Py_TYPE(kernel)), run);
  if (!classRun) throw nb::python_error();
  bool isReplaced = classRun != ownRun.ptr();
  Py_DECREF(classRun);
  return isReplaced;
}

nb::object runWatched(nb::handle kernel, nb::handle grid, const PyArguments &given) {
  nb::object run = kernel.attr("_watched")(grid);
  PyObject *result = PyObject_Vectorcall(run.ptr(), given.values, given.positional, given.names);
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

nb::object runKernel(nb::handle kernel, nb::handle grid, const PyArguments &arguments) {
  if (isWatched(kernel.ptr())) return runWatched(kernel, grid, arguments);
  return launchKernel(kernel, grid, arguments, Purpose::run);
}

/// A compiled kernel's `run`, as generated host code calls it: three extents, stream, function, two kinds of metadata and two hooks, then
/// the arguments. With a hook, `watched` does all.
nb::object runCompiled(nb::handle compiled, nb::handle watched, const PyArguments &given) {
  constexpr size_t leading = 9, streamAt = 3, hooksAt = 7;
  auto isSet = [](PyObject *value) { return value != Py_None && PyObject_IsTrue(value) != 0; };
  if (given.names || given.positional < leading || isSet(given.values[hooksAt]) || isSet(given.values[hooksAt + 1])) {
    PyObject *result = PyObject_Vectorcall(watched.ptr(), given.values, given.positional, given.names);
    if (!result) throw nb::python_error();
    return nb::steal(result);
  }
  Grid grid = readExtents(given.values, 3);
  PyArguments arguments{given.values + leading, given.positional - leading, nullptr};
  nb::inst_ptr<PyCompiled>(compiled)->launch(grid, arguments, given.values[streamAt]);
  return nb::none();
}

int visitLauncher(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(launcher(self)->kernel);
  Py_VISIT(launcher(self)->grid);
  return 0;
}

int clearLauncher(PyObject *self) {
  Py_CLEAR(launcher(self)->kernel);
  Py_CLEAR(launcher(self)->grid);
  return 0;
}

void freeLauncher(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clearLauncher(self);
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject *>(type));
}

PyTypeObject *launcherType() {
  static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, call), READONLY, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_members, members},
                                {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                                {Py_tp_traverse, reinterpret_cast<void *>(visitLauncher)},
                                {Py_tp_clear, reinterpret_cast<void *>(clearLauncher)},
                                {Py_tp_dealloc, reinterpret_cast<void *>(freeLauncher)},
                                {Py_tp_doc, const_cast<char *>("A kernel and how it is launched; a call launches.")},
                                {0, nullptr}};
  static PyType_Spec spec = {"tilewright._core.Launcher", sizeof(Launcher), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  static PyTypeObject *type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return type;
}

PyObject *makeLauncher(vectorcallfunc call, PyObject *kernel, PyObject *grid) {
  PyTypeObject *type = launcherType();
  Launcher *made = type ? PyObject_GC_New(Launcher, type) : nullptr;
  if (!made) return nullptr;
  made->call = call;
  Py_INCREF(kernel);
  Py_INCREF(grid);
  made->kernel = kernel;
  made->grid = grid;
  PyObject *object = reinterpret_cast<PyObject *>(made);
  PyObject_GC_Track(object);
  return object;
}

} // namespace

PyObject *subscriptKernel(PyObject *kernel, PyObject *grid) {
  if (grid == Py_None) {
    PyErr_SetString(PyExc_TypeError, "grid must be a tuple or a callable returning one, not None");
    return nullptr;
  }
  return makeLauncher(callLauncher<runKernel>, kernel, grid);
}

PyObject *runnerOf(PyObject *compiled, PyObject *watched) {
  return makeLauncher(callLauncher<runCompiled>, compiled, watched);
}

PyObject *subscriptTuner(PyObject *tuner, PyObject *grid) {
  return makeLauncher(callLauncher<launchTuned>, tuner, grid);
}

} // namespace tilewright::python
