// @jit functions: captured from Python, parsed when they are first needed, run by the interpreter where that is asked for. Launches of
// compiled code are in launch.cpp.

#include "kernel.h"

#include "evaluate/module.h"
#include "runtime/cache.h"
#include "runtime/cuda/kernel.h"
#include "support/artifact.h"
#include "support/settings.h"
#include "syntax/parser.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <set>

using namespace nb::literals;

namespace tilewright::python {

const char *engineName(Engine engine) {
  switch (engine) {
  case Engine::cpu: return "cpu";
  case Engine::interpret: return "interpret";
  case Engine::simulate: return "simulate";
  }
  return "";
}

EngineState &engineState() {
  // Each thread takes the process's default when it first launches.
  static const EngineState initial = [] {
    EngineState state;
    if (isSwitchedOn("TRITON_INTERPRET", false)) state.engine = Engine::interpret;
    return state;
  }();
  thread_local EngineState state = initial;
  return state;
}

std::atomic<int64_t> &defaultDevice() {
  static std::atomic<int64_t> device{undecidedDevice};
  return device;
}

llvm::IntrusiveRefCntPtr<PyKernel::State> PyKernel::State::fresh() const {
  auto copy = llvm::makeIntrusiveRefCnt<State>(*this);
  copy->function = nullptr;
  copy->kernel = nullptr;
  copy->used.clear();
  copy->objects.clear();
  copy->interpreted.clear();
  copy->shapes.clear();
  copy->warm.clear();
  return copy;
}

static const ast::FunctionStmt *functionIn(const ast::Module &module) {
  for (const ast::Stmt *statement : module.body)
    if (statement->kind == ast::StmtKind::function) return static_cast<const ast::FunctionStmt *>(statement);
  return nullptr;
}

const std::shared_ptr<const JitFunction> &PyKernel::jit() {
  if (!state) raise(PyExc_RuntimeError, "this kernel has no source");
  if (state->function) return state->function;
  Diagnostics diagnostics;
  if (!hasStack(stackToCompile, diagnostics)) raiseErrors(diagnostics, nullptr);
  std::shared_ptr<const ast::Module> module = parse(SourceFile::create(state->file, state->source, state->firstLine), diagnostics);
  if (!module) raiseErrors(diagnostics, nullptr);
  auto function = std::make_shared<JitFunction>();
  function->decl = functionIn(*module);
  if (!function->decl) raise(PyExc_ValueError, "the source of '" + state->name + "' in " + state->file + " holds no function");
  function->name = function->decl->name;
  function->module = std::move(module);
  function->globals = functionScope(state->globals, state->cells, state->file);
  function->noinline_ = state->noinline_;
  function->anySize = state->anySize;
  function->doNotSpecialize = state->doNotSpecialize;
  function->doNotSpecializeOnAlignment = state->doNotSpecializeOnAlignment;
  size_t index = 0;
  for (nb::handle row : nb::iter(nb::handle(state->parameters.get()))) {
    JitFunction::Parameter &parameter = function->parameters.emplace_back();
    parameter.name = nb::cast<std::string>(row[0]);
    parameter.isConstexpr = nb::cast<bool>(row[1]);
    parameter.isVariadic = nb::cast<bool>(row[2]);
    if (nb::object annotation = row[3]; !annotation.is_none()) parameter.annotation = toType(annotation);
    parameter.isConst = nb::cast<bool>(row[4]);
    if (nb::len(row) > 5) parameter.defaultValue = toValue(row[5]);
    if (index < function->decl->parameters.size()) parameter.range = function->decl->parameters[index].range;
    if (parameter.isConstexpr && (llvm::is_contained(state->doNotSpecialize, parameter.name) ||
                                  llvm::is_contained(state->doNotSpecializeOnAlignment, parameter.name)))
      diagnostics.error(parameter.range, Diag::unsupportedParameter,
                        {parameter.name, parameter.name +
                                             " marked as constexpr and listed in do_not_specialize/"
                                             "do_not_specialize_on_alignment. Remove constexpr designation or skip specialization."});
    ++index;
  }
  if (diagnostics.hasErrors()) raiseErrors(diagnostics, function.get());
  function->mustUse = mustUseOf(nb::find(this));
  state->function = std::move(function);
  return state->function;
}

// ---- the object that a launch returns

nb::object compiledObject(std::shared_ptr<PyCompiled> compiled, nb::handle kernel) {
  static constinit PackageMember make("compiler.compiler", "CompiledKernel");
  return make(nb::cast(std::move(compiled)), kernel);
}

CompileRequest PyCompiled::request() const {
  CompileRequest request;
  request.kernel = text ? KernelSource(text) : KernelSource(function.get());
  request.args = specs;
  request.options = options;
  if (simulated || gpu)
    request.gpu = simulated ? simulated : gpu;
  else if (compiled && compiled->gpu())
    request.gpu = gpuTarget(compiled->gpu()->artifact().target);
  else
    request.target = hostCpu();
  return request;
}

std::string PyCompiled::key() const {
  if (isRestored()) return savedKey;
  return function ? kernelCacheKey(request()) : std::string();
}

void storeUsed(PyKernel::State &state, std::vector<UsedGlobal> &fresh) {
  for (UsedGlobal &global : fresh) {
    bool known = false;
    for (const UsedGlobal &old : state.used)
      known = known || (old.holder == global.holder && old.name == global.name);
    if (!known) state.used.push_back(std::move(global));
  }
}

// ---- the interpreter

static bool isOnDevice(const Argument &argument) {
  for (const Argument &member : argument.members())
    if (isOnDevice(member)) return true;
  return (argument.kind() == Argument::Kind::pointer || argument.kind() == Argument::Kind::descriptor) && argument.device() >= 0;
}

static void show(std::string &printed) {
  std::fwrite(printed.data(), 1, printed.size(), stdout);
  std::fflush(stdout);
  printed.clear();
}

/// Hands the variables of a program at a breakpoint to Python's debugger.
/// The launch raises what the debugger raises (when the user quits).
static bool stopAt(const std::string &kernel, llvm::StringRef file, int64_t line, std::array<int64_t, 3> program,
                   llvm::ArrayRef<InterpretLocal> locals, std::exception_ptr &raised) {
  nb::gil_scoped_acquire acquire;
  nb::list variables;
  for (const InterpretLocal &local : locals)
    variables.append(
        nb::make_tuple(local.name, local.type, nb::tuple(nb::cast(local.shape)), nb::bytes(local.bytes.data(), local.bytes.size())));
  try {
    packageObject("runtime.breakpoints", "stop")(kernel, file.str(), line, nb::make_tuple(program[0], program[1], program[2]), variables);
  } catch (const nb::python_error &) {
    raised = std::current_exception();
  }
  return !raised;
}

/// Python's warnings about what a run has noticed: each once for a line of the kernel, as NumPy warns once for a line that calls it.
static void warnOf(const std::set<std::tuple<std::string, int64_t, std::string>> &noticed, const PyKernel::State &state) {
  if (noticed.empty()) return;
  nb::object registry = nb::borrow(state.globals.get()).attr("setdefault")("__warningregistry__", nb::dict());
  for (const auto &[file, line, text] : noticed)
    if (PyErr_WarnExplicit(PyExc_RuntimeWarning, text.c_str(), file.c_str(), static_cast<int>(line), nullptr, registry.ptr()) < 0)
      throw nb::python_error();
}

/// What an interpreted kernel is kept by: its specialization, options and, for the simulator, its target.
static std::string interpretedKey(const PyKernel::State &state, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options,
                                  const std::optional<GpuTarget> &target) {
  SpecializationKey key;
  appendSpecializationKey(*state.function, arguments, key);
  std::string text(key.begin(), key.end());
  text += options.kernel.debug ? options.kernel.sanitizeOverflow ? 'd' : 'n' : '-';
  text += options.kernel.fpFusion ? 'f' : '-';
  text += nameOf(options.kernel.numerics);
  text += options.kernel.overrideText + options.kernel.dotPrecision;
  if (target)
    text += target->name + " " + std::to_string(options.kernel.numWarps) + " " + std::to_string(options.kernel.numStages) + " " +
            std::to_string(options.kernel.numCtas);
  return text;
}

static std::pair<std::shared_ptr<InterpretedKernel>, Shared> compileInterpreted(nb::handle self, PyKernel::State &state,
                                                                                llvm::ArrayRef<Argument> arguments,
                                                                                const LaunchOptions &options,
                                                                                const std::optional<GpuTarget> &target) {
  Diagnostics diagnostics;
  auto compiled = std::make_shared<PyCompiled>();
  std::optional<std::vector<ArgumentSpec>> specs = specialize(*state.function, arguments, diagnostics);
  if (!specs) raiseErrors(diagnostics, state.function.get());
  compiled->specs = std::move(*specs);
  compiled->function = state.function;
  compiled->options = options.kernel;
  compiled->options.breakpoints = !target;
  compiled->simulated = target;
  if (target) {
    compiled->options.backend = "cuda";
    compiled->options.capability = target->capability;
  }
  std::vector<UsedGlobal> used;
  std::shared_ptr<InterpretedKernel> made;
  {
    Recorder recorder(used);
    WithoutGil release;
    Compiling compiling;
    made = InterpretedKernel::create(compiled->request(), diagnostics);
  }
  showWarnings(diagnostics);
  if (!made) raiseErrors(diagnostics, state.function.get());
  storeUsed(state, used);
  return {made, share(compiledObject(compiled, self))};
}

/// Runs the programs of a grid; raises what a breakpoint, the kernel or the interpreter has raised.
static void runPrograms(PyKernel::State &state, const InterpretedKernel &kernel, const Grid &grid, llvm::ArrayRef<Argument> arguments) {
  Diagnostics diagnostics;
  if (!programCount(grid, diagnostics) || !kernel.checkMemory(arguments, diagnostics)) raiseErrors(diagnostics, state.function.get());
  std::string printed, problem;
  bool checkBounds = engineState().checkBounds, interrupted = false;
  std::exception_ptr raised;
  auto onBreakpoint = [&](llvm::StringRef file, int64_t line, std::array<int64_t, 3> program, llvm::ArrayRef<InterpretLocal> locals) {
    show(printed);
    return stopAt(state.name, file, line, program, locals, raised);
  };
  std::set<std::tuple<std::string, int64_t, std::string>> noticed;
  std::function<void(llvm::StringRef, int64_t, llvm::StringRef)> onWarning;
  if (state.wantsInterpreter && !engineState().isChosen) // in place of upstream's interpreter, which computes with NumPy
    onWarning = [&](llvm::StringRef file, int64_t line, llvm::StringRef text) { noticed.emplace(file.str(), line, text.str()); };
  {
    Interruptible here;
    const std::atomic<bool> *stop = here.stop() ? here.stop() : &interpreterEnds();
    WithoutGil release;
    Compiling compiling;
    engineState().gaveUp = false;
    if (engineState().maxWork > 0) {
      SanitizedRun run = kernel.sanitize(grid, arguments, engineState().maxWork);
      problem = std::move(run.text);
      engineState().gaveUp = run.outcome == SanitizedRun::unknown;
    } else {
      auto print = [&](llvm::StringRef text) { printed += text; };
      problem = kernel.run(grid, arguments, {checkBounds, print, onBreakpoint, onWarning, stop});
    }
    interrupted = stop->load();
  }
  if (raised) std::rethrow_exception(raised);
  warnOf(noticed, state);
  bool tellsUnchecked = checkBounds && engineState().maxWork == 0;
  for (const std::string &name : tellsUnchecked ? kernel.unchecked(arguments) : std::vector<std::string>()) {
    std::string text = "the extent of '" + name + "' is not known: accesses through it are not checked";
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) < 0) throw nb::python_error();
  }
  show(printed);
  if (!problem.empty() && interrupted) diagnostics.error({}, Diag::interruptedLaunch, {state.function->name});
  if (diagnostics.hasErrors()) raiseErrors(diagnostics, state.function.get());
  if (problem.empty()) return;
  static constinit PackageMember type("runtime.errors", "InterpreterError");
  raise(type.ptr(), problem);
}

/// Runs on the interpreter or the simulator; a null grid only compiles.
nb::object runInterpreted(nb::handle self, PyKernel::State &state, const Grid *grid, llvm::ArrayRef<Argument> arguments,
                          const LaunchOptions &options) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (isOnDevice(arguments[i]))
      raise(PyExc_ValueError, "parameter '" + state.function->parameters[i].name + "': the tensor is on a GPU, and the " +
                                  engineName(engineState().engine) + " engine runs on the CPU; move it with .cpu()");
  std::optional<GpuTarget> target;
  if (engineState().engine == Engine::simulate) target = gpuTargetOfText(engineState().target);
  auto &entry = state.interpreted[interpretedKey(state, arguments, options, target)];
  if (!entry.first) entry = compileInterpreted(self, state, arguments, options, target);
  std::shared_ptr<InterpretedKernel> kernel = entry.first;
  Shared object = entry.second;
  if (grid && engineState().isCounting) {
    {
      Interruptible here;
      WithoutGil release;
      Compiling compiling;
      engineState().counted += kernel->arithmetic(*grid, arguments, here.stop() ? here.stop() : &interpreterEnds());
    }
    return nb::borrow(object.get());
  }
  if (grid) runPrograms(state, *kernel, *grid, arguments);
  return nb::borrow(object.get());
}

// ---- the garbage collector

// A kernel holds its module's dict, which holds the kernel. Python frees such a cycle if each object
// names what it holds, each reference once: what several C++ objects share (a Shared) is one reference.
template <typename F> static void forEachReference(PyKernel::State &state, F &&visit) {
  for (Shared *shared : {&state.globals, &state.cells, &state.parameters})
    visit(*shared);
  for (UsedGlobal &used : state.used)
    for (Shared *shared : {&used.holder, &used.key, &used.value})
      visit(*shared);
  for (auto &[compiled, object] : state.objects)
    visit(object);
  for (auto &[key, kernel] : state.interpreted)
    visit(kernel.second);
}

static int traverseKernel(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  PyKernel *kernel = nb::inst_ptr<PyKernel>(self);
  if (kernel->hooks) Py_VISIT(kernel->hooks.get());
  if (!kernel->state) return 0;
  int result = 0;
  forEachReference(*kernel->state, [&](Shared &shared) {
    if (result == 0 && shared) result = visit(shared.get(), arg);
  });
  return result;
}

static int clearKernel(PyObject *self) {
  if (!nb::inst_ready(self)) return 0;
  PyKernel *kernel = nb::inst_ptr<PyKernel>(self);
  kernel->hooks.reset();
  kernel->state = llvm::makeIntrusiveRefCnt<PyKernel::State>();
  return 0;
}

static void defineLaunches(nb::class_<PyKernel> &kernel) {
  kernel
      .def(
          "launch",
          [](nb::handle_t<PyKernel> self, nb::handle grid, nb::args args, nb::kwargs kwargs) {
            return launchKernel(self, grid, UnpackedArguments(args, kwargs), grid.is_none() ? Purpose::warmup : Purpose::run);
          },
          "Compiles if needed and runs the grid; a grid of None only compiles. Returns the compiled kernel.", "grid"_a.none(), "args"_a,
          "kwargs"_a)
      .def(
          "prepare",
          [](nb::handle_t<PyKernel> self, nb::args args, nb::kwargs kwargs) {
            return launchKernel(self, nb::none(), UnpackedArguments(args, kwargs), Purpose::prepare);
          },
          "The compiled kernel of a launch that is about to follow.", "args"_a, "kwargs"_a)
      .def(
          "dry_run",
          [](nb::handle_t<PyKernel> self, nb::handle grid, nb::args args, nb::kwargs kwargs) {
            return launchKernel(self, grid, UnpackedArguments(args, kwargs), Purpose::dryRun);
          },
          "A launch without the run: compiles and loads the kernel.", "grid"_a, "args"_a, "kwargs"_a)
      .def(
          "_describe",
          [](nb::handle_t<PyKernel> self, nb::args args, nb::kwargs kwargs) {
            return describeLaunch(self, UnpackedArguments(args, kwargs));
          },
          "What a launch would compile.", "args"_a, "kwargs"_a)
      .def("_compiled",
           [](PyKernel &self) {
             nb::list out;
             for (auto &[compiled, object] : self.state->objects)
               out.append(nb::borrow(object.get()));
             return out;
           })
      .def("_bind", [](PyKernel &self, nb::args args,
                       nb::kwargs kwargs) { return boundDict(*self.state, *self.jit(), UnpackedArguments(args, kwargs)); })
      .def("_dependency_hash",
           [](PyKernel &self) {
             std::shared_ptr<const JitFunction> function = self.jit();
             std::string hash;
             {
               WithoutGil release;
               Compiling compiling;
               hash = dependencyHash(*function);
             }
             raiseKept();
             return hash;
           })
      .def(
          "_observe",
          [](PyKernel &self, nb::handle hooks, bool hasOwnSettings) {
            self.hooks = share(hooks);
            self.hasOwnSettings = hasOwnSettings;
          },
          "Tells what launches ask: the list of hooks, and whether they go through `run` in any case.", "hooks"_a, "has_own_settings"_a)
      .def("_compiled_count", [](PyKernel &self) { return self.state->kernel ? self.state->kernel->compiledCount() : int64_t(0); })
      .def("_reset", [](PyKernel &self) {
        self.state = self.state->fresh(); // running launches keep what they have
      });
}

void defineKernel(nb::module_ &module) {
  static PyType_Slot slots[] = {{Py_mp_subscript, reinterpret_cast<void *>(subscriptKernel)},
                                {Py_tp_traverse, reinterpret_cast<void *>(traverseKernel)},
                                {Py_tp_clear, reinterpret_cast<void *>(clearKernel)},
                                {0, nullptr}};
  // Attributes belong to the Python class derived from it, which has a dict.
  nb::class_<PyKernel> kernel(module, "Kernel", nb::type_slots(slots));
  kernel.def(nb::init<>())
      .def(
          "_capture",
          [](PyKernel &self, std::string source, std::string file, int64_t line, std::string name, nb::dict globals, nb::dict cells,
             nb::list parameters, bool noinline_, bool anySize, std::vector<std::string> doNotSpecialize,
             std::vector<std::string> doNotSpecializeOnAlignment, bool wantsInterpreter) {
            auto state = llvm::makeIntrusiveRefCnt<PyKernel::State>();
            state->source = std::move(source);
            state->file = std::move(file);
            state->firstLine = line;
            state->name = std::move(name);
            state->globals = share(globals);
            state->cells = share(cells);
            state->parameters = share(parameters);
            state->noinline_ = noinline_;
            state->anySize = anySize;
            state->wantsInterpreter = wantsInterpreter;
            state->doNotSpecialize = std::move(doNotSpecialize);
            state->doNotSpecializeOnAlignment = std::move(doNotSpecializeOnAlignment);
            self.state = std::move(state);
          },
          "source"_a, "file"_a, "line"_a, "name"_a, "globals"_a, "cells"_a, "parameters"_a, "noinline"_a, "any_size"_a,
          "do_not_specialize"_a, "do_not_specialize_on_alignment"_a, "interpreted"_a);
  defineLaunches(kernel);
  module.def(
      "tuned_launcher", [](nb::handle tuner, nb::handle grid) { return nb::steal(subscriptTuner(tuner.ptr(), grid.ptr())); },
      "What a call launches with: a kernel with a tuner, and a grid.", "tuner"_a, "grid"_a.none());
}

} // namespace tilewright::python
