// @jit functions and their launches.
//
// A warm launch does this: arguments are converted (arguments.cpp), put in the order of the parameters, looked up by what they specialise
// to, and the grid runs. All of it is here or in the runtime, so that Python's part of a launch is one call.

#include "compiled.h"
#include "core.h"

#include "frontend/module.h"
#include "gpu/artifact.h"
#include "runtime/cuda_kernel.h"
#include "syntax/parser.h"

#include "llvm/ADT/StringSwitch.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <unordered_map>

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
  // The process's default is taken by each thread when it first launches.
  static const EngineState initial = [] {
    const char *interpret = std::getenv("TRITON_INTERPRET");
    EngineState state;
    if (interpret && (std::string_view(interpret) == "1" || std::string_view(interpret) == "true")) state.engine = Engine::interpret;
    return state;
  }();
  thread_local EngineState state = initial;
  return state;
}

std::atomic<int64_t> &defaultDevice() {
  static std::atomic<int64_t> device{-1};
  return device;
}

struct PyKernel::State {
  std::string source, file, name, qualifiedName;
  int64_t firstLine = 1;
  Shared globals, cells;
  Shared parameters; // tuples (name, constexpr, variadic, annotation, const, default or the mark for none)
  bool noinline_ = false;
  std::vector<std::string> doNotSpecialize, doNotSpecializeOnAlignment;

  std::shared_ptr<const JitFunction> function;
  std::shared_ptr<Kernel> kernel;
  std::vector<UsedGlobal> used;
  std::unordered_map<const CompiledKernel *, Shared> objects; // what launches return
  std::unordered_map<std::string, std::pair<std::shared_ptr<InterpretedKernel>, Shared>> interpreted;
};

static const ast::FunctionStmt *functionIn(const ast::Module &module) {
  for (const ast::Stmt *statement : module.body)
    if (statement->kind == ast::StmtKind::function) return static_cast<const ast::FunctionStmt *>(statement);
  return nullptr;
}

std::shared_ptr<const JitFunction> PyKernel::jit() {
  if (!state) raise(PyExc_RuntimeError, "this kernel has no source");
  if (state->function) return state->function;
  Diagnostics diagnostics;
  std::shared_ptr<const ast::Module> module = parse(SourceFile::create(state->file, state->source, state->firstLine), diagnostics);
  if (!module) raiseErrors(diagnostics, nullptr);
  auto function = std::make_shared<JitFunction>();
  function->decl = functionIn(*module);
  if (!function->decl) raise(PyExc_ValueError, "the source of '" + state->name + "' in " + state->file + " holds no function");
  function->name = function->decl->name;
  function->module = std::move(module);
  function->globals = functionScope(nb::borrow<nb::dict>(state->globals.get()), nb::borrow<nb::dict>(state->cells.get()), state->file);
  function->noinline_ = state->noinline_;
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
    ++index;
  }
  state->function = function;
  return function;
}

// ---- the object that a launch returns

static nb::object compiledObject(std::shared_ptr<PyCompiled> compiled) {
  static nb::handle make = packageObject("compiler.compiler", "CompiledKernel");
  return make(nb::cast(std::move(compiled)));
}

CompileRequest PyCompiled::request() const {
  CompileRequest request;
  request.kernel = function.get();
  request.args = specs;
  request.options = options;
  if (simulated)
    request.gpu = simulated;
  else if (compiled && compiled->gpu())
    request.gpu = gpuTarget(compiled->gpu()->artifact().target);
  else
    request.target = hostCpu();
  return request;
}

// ---- launch options

namespace {

struct Call {
  LaunchOptions options;
  bool hasStream = false;
  llvm::SmallVector<Argument, 16> positional;
  llvm::SmallVector<NamedArgument, 16> named;
};

enum class Option {
  unknown,
  numWarps,
  numStages,
  numCtas,
  maxnreg,
  fpFusion,
  debug,
  threads,
  stream,
  cooperative,
  programmaticLaunch,
  ignored
};

Option optionNamed(llvm::StringRef name) {
  return llvm::StringSwitch<Option>(name)
      .Case("num_warps", Option::numWarps)
      .Case("num_stages", Option::numStages)
      .Case("num_ctas", Option::numCtas)
      .Case("maxnreg", Option::maxnreg)
      .Case("enable_fp_fusion", Option::fpFusion)
      .Case("debug", Option::debug)
      .Case("num_threads", Option::threads)
      .Case("stream", Option::stream)
      .Case("launch_cooperative_grid", Option::cooperative)
      .Case("launch_pdl", Option::programmaticLaunch)
      // What other code generators and launchers ask for.
      .Cases({"sanitize_overflow", "launch_cluster", "ir_override", "extern_libs", "arch"}, Option::ignored)
      .Cases({"ptx_version", "ptx_options", "supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "default_dot_input_precision"},
             Option::ignored)
      .Cases(
          {"allowed_dot_input_precisions", "max_num_imprecise_acc_default", "enable_reflect_ftz", "backend_name", "instrumentation_mode"},
          Option::ignored)
      .Cases({"cluster_dims", "min_shared_mem", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "warp_size", "allow_flush_denorm"},
             Option::ignored)
      .Default(Option::unknown);
}

int64_t integerOption(nb::handle value, llvm::StringRef name) {
  nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    raise(PyExc_TypeError, "the launch option '" + name.str() + "' is an int, not " + nb::cast<std::string>(nb::repr(value)));
  }
  return nb::cast<int64_t>(number);
}

void checkPowerOfTwo(int64_t value, llvm::StringRef name) {
  if (value <= 0 || (value & (value - 1)) != 0) raise(PyExc_ValueError, name.str() + " must be a power of 2, not " + std::to_string(value));
}

void setOption(LaunchOptions &options, Option option, nb::handle value, llvm::StringRef name) {
  switch (option) {
  case Option::numWarps: options.kernel.numWarps = integerOption(value, name); return checkPowerOfTwo(options.kernel.numWarps, name);
  case Option::numCtas: options.kernel.numCtas = integerOption(value, name); return checkPowerOfTwo(options.kernel.numCtas, name);
  case Option::numStages:
    options.kernel.numStages = integerOption(value, name);
    if (options.kernel.numStages < 0) raise(PyExc_ValueError, "num_stages must not be negative");
    return;
  case Option::maxnreg:
    if (!value.is_none()) options.kernel.maxnreg = integerOption(value, name);
    return;
  case Option::fpFusion: options.kernel.fpFusion = nb::cast<bool>(nb::bool_(value)); return;
  case Option::debug: options.kernel.debug = nb::cast<bool>(nb::bool_(value)); return;
  case Option::threads:
    if (!value.is_none()) options.threads = integerOption(value, name);
    if (options.threads < 0) raise(PyExc_ValueError, "num_threads must not be negative");
    return;
  case Option::cooperative: options.cooperative = nb::cast<bool>(nb::bool_(value)); return;
  case Option::programmaticLaunch: options.programmaticLaunch = nb::cast<bool>(nb::bool_(value)); return;
  default: return;
  }
}

/// A stream as a number, or as an object of PyTorch (cuda_stream), CuPy (ptr) or Numba (handle).
void setStream(Call &call, nb::handle value) {
  if (value.is_none()) return;
  nb::object number = nb::borrow(value);
  for (const char *name : {"cuda_stream", "ptr"})
    if (!PyLong_Check(number.ptr())) number = nb::getattr(value, name, number);
  if (!PyLong_Check(number.ptr())) raise(PyExc_TypeError, "a stream is an int, or an object with 'cuda_stream' or 'ptr'");
  call.options.stream = PyLong_AsVoidPtr(number.ptr());
  if (PyErr_Occurred()) throw nb::python_error();
  call.hasStream = true;
}

const JitFunction::Parameter *parameterNamed(const JitFunction &function, llvm::StringRef name) {
  for (const JitFunction::Parameter &parameter : function.parameters)
    if (parameter.name == name) return &parameter;
  return nullptr;
}

[[noreturn]] void unknownKeyword(const JitFunction &function, llvm::StringRef name) {
  std::string parameters;
  for (const JitFunction::Parameter &parameter : function.parameters)
    parameters += (parameters.empty() ? "" : ", ") + parameter.name;
  raise(PyExc_KeyError, "Keyword argument " + name.str() + " was specified but unrecognised: kernel '" + function.name +
                            "' has the parameters " + parameters +
                            ", and launches take num_warps, num_stages, num_ctas, maxnreg, enable_fp_fusion, debug, num_threads, stream, "
                            "launch_cooperative_grid, launch_pdl");
}

void readCall(const JitFunction &function, nb::handle args, nb::handle kwargs, Call &call) {
  StreamHints::current().reset();
  call.options.device = defaultDevice().load(std::memory_order_relaxed);
  Py_ssize_t count = PyTuple_Size(args.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    const char *parameter =
        static_cast<size_t>(i) < function.parameters.size() ? function.parameters[static_cast<size_t>(i)].name.c_str() : nullptr;
    call.positional.push_back(toArgument(PyTuple_GetItem(args.ptr(), i), parameter));
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (kwargs.is_valid() && PyDict_Next(kwargs.ptr(), &position, &key, &value)) {
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(key, &length);
    if (!text) throw nb::python_error();
    llvm::StringRef name(text, static_cast<size_t>(length));
    const JitFunction::Parameter *parameter = parameterNamed(function, name);
    Option option = optionNamed(name);
    if (parameter) call.named.push_back({name, toArgument(value, text)});
    if (option == Option::stream) {
      if (!parameter) setStream(call, value);
    } else if (option != Option::unknown)
      setOption(call.options, option, value, name);
    else if (!parameter)
      unknownKeyword(function, name);
  }
}

// ---- grids

/// The arguments by name, defaults included, as grid functions take them.
nb::dict boundDict(const PyKernel::State &state, nb::handle args, nb::handle kwargs) {
  nb::dict bound;
  Py_ssize_t given = PyTuple_Size(args.ptr()), index = 0;
  for (nb::handle row : nb::iter(nb::handle(state.parameters.get()))) {
    nb::object name = row[0];
    if (nb::cast<bool>(row[2])) { // *args
      bound[name] = nb::steal(PyTuple_GetSlice(args.ptr(), index, given));
      index = given;
      continue;
    }
    PyObject *value = index < given       ? PyTuple_GetItem(args.ptr(), index++)
                      : kwargs.is_valid() ? PyDict_GetItem(kwargs.ptr(), name.ptr())
                                          : nullptr;
    if (value)
      bound[name] = nb::handle(value);
    else if (nb::len(row) > 5)
      bound[name] = row[5];
  }
  return bound;
}

Grid readGrid(nb::handle grid) {
  bool isTuple = PyTuple_Check(grid.ptr()), isList = PyList_Check(grid.ptr());
  if (!isTuple && !isList)
    raise(PyExc_TypeError, "grid must be a tuple or a callable returning one, not " + nb::cast<std::string>(nb::repr(grid)) +
                               (PyLong_Check(grid.ptr()) ? "; write kernel[(n,)](...)" : ""));
  Py_ssize_t rank = PySequence_Size(grid.ptr());
  if (rank < 1 || rank > 3) raise(PyExc_ValueError, "a grid has one to three extents, not " + std::to_string(rank));
  Grid out;
  out.rank = rank;
  for (Py_ssize_t i = 0; i < rank; ++i) {
    PyObject *item = isTuple ? PyTuple_GetItem(grid.ptr(), i) : PyList_GetItem(grid.ptr(), i);
    nb::object number = nb::steal(PyNumber_Index(item));
    if (!number.is_valid()) {
      PyErr_Clear();
      raise(PyExc_TypeError, "the extents of a grid are ints, not " + nb::cast<std::string>(nb::repr(item)));
    }
    int overflow = 0;
    out.extent[static_cast<size_t>(i)] = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow) raise(PyExc_ValueError, "extent " + std::to_string(i) + " of the grid is too large");
  }
  return out;
}

void keepUsed(PyKernel::State &state, std::vector<UsedGlobal> &fresh) {
  for (UsedGlobal &global : fresh) {
    bool known = false;
    for (const UsedGlobal &old : state.used)
      known = known || (old.holder == global.holder && old.name == global.name);
    if (!known) state.used.push_back(std::move(global));
  }
}

// ---- launches

/// Where the launch runs and, on a GPU, in which stream.
bool place(const JitFunction &function, llvm::ArrayRef<Argument> arguments, Call &call, Diagnostics &diagnostics) {
  if (!placeLaunch(function, arguments, call.options, diagnostics)) return false;
  if (call.options.device >= 0 && !call.hasStream) call.options.stream = streamFor(call.options.device);
  return true;
}

bool isOnDevice(const Argument &argument) {
  for (const Argument &member : argument.members())
    if (isOnDevice(member)) return true;
  return (argument.kind() == Argument::Kind::pointer || argument.kind() == Argument::Kind::descriptor) && argument.device() >= 0;
}

/// Runs on the interpreter or the simulator; a null grid only compiles.
nb::object runInterpreted(PyKernel::State &state, const Grid *grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (isOnDevice(arguments[i]))
      raise(PyExc_ValueError, "parameter '" + state.function->parameters[i].name +
                                  "': the tensor is on a GPU, and the " + engineName(engineState().engine) +
                                  " engine runs on the CPU; move it with .cpu()");
  std::optional<GpuTarget> target;
  if (engineState().engine == Engine::simulate) target = gpuTarget(std::string_view(engineState().target).substr(5));
  SpecializationKey key;
  appendSpecializationKey(*state.function, arguments, key);
  std::string text(key.begin(), key.end());
  text += options.kernel.debug ? 'd' : '-';
  text += options.kernel.fpFusion ? 'f' : '-';
  if (target)
    text += target->name + " " + std::to_string(options.kernel.numWarps) + " " + std::to_string(options.kernel.numStages) + " " +
            std::to_string(options.kernel.numCtas);
  auto &entry = state.interpreted[text];
  if (!entry.first) {
    Diagnostics diagnostics;
    auto compiled = std::make_shared<PyCompiled>();
    std::optional<std::vector<ArgumentSpec>> specs = specialize(*state.function, arguments, diagnostics);
    if (!specs) raiseErrors(diagnostics, state.function.get());
    compiled->specs = std::move(*specs);
    compiled->function = state.function;
    compiled->options = options.kernel;
    compiled->simulated = target;
    if (target) {
      compiled->options.backend = "cuda";
      compiled->options.capability = target->capability;
    }
    std::vector<UsedGlobal> used;
    std::shared_ptr<InterpretedKernel> made;
    {
      Recorder recorder(used);
      nb::gil_scoped_release release;
      made = InterpretedKernel::create(compiled->request(), diagnostics);
    }
    showWarnings(diagnostics);
    if (!made) raiseErrors(diagnostics, state.function.get());
    keepUsed(state, used);
    entry = {made, share(compiledObject(compiled))};
  }
  std::shared_ptr<InterpretedKernel> kernel = entry.first;
  Shared object = entry.second;
  if (grid) {
    Diagnostics diagnostics;
    if (!programCount(*grid, diagnostics)) raiseErrors(diagnostics, state.function.get());
    std::string printed, problem;
    bool checkBounds = engineState().checkBounds;
    {
      nb::gil_scoped_release release;
      problem = kernel->run(*grid, arguments, checkBounds, printed);
    }
    if (!printed.empty()) {
      std::fwrite(printed.data(), 1, printed.size(), stdout);
      std::fflush(stdout);
    }
    if (!problem.empty()) {
      static nb::handle type = packageObject("runtime.errors", "InterpreterError");
      raise(type.ptr(), problem);
    }
  }
  return nb::borrow(object.get());
}

nb::object run(PyKernel &self, nb::handle gridObject, nb::handle args, nb::handle kwargs) {
  std::shared_ptr<const JitFunction> function = self.jit();
  std::shared_ptr<PyKernel::State> keep = self.state; // the source may be replaced while this runs
  PyKernel::State &state = *keep;
  Call call;
  readCall(*function, args, kwargs, call);
  Diagnostics diagnostics;
  std::optional<BoundArguments> bound = bindArguments(*function, call.positional, call.named, diagnostics);
  if (!bound) raiseErrors(diagnostics, function.get());
  bool launch = !gridObject.is_none();
  Grid grid;
  if (launch) {
    if (PyCallable_Check(gridObject.ptr())) {
      nb::object result = gridObject(boundDict(state, args, kwargs));
      grid = readGrid(result);
    } else {
      grid = readGrid(gridObject);
    }
  }
  if (!state.used.empty()) checkUnchanged(state.used);
  if (engineState().engine != Engine::cpu) return runInterpreted(state, launch ? &grid : nullptr, *bound, call.options);
  if (!place(*function, *bound, call, diagnostics)) raiseErrors(diagnostics, function.get());

  if (!state.kernel) state.kernel = std::make_shared<Kernel>(function);
  std::shared_ptr<Kernel> kernel = state.kernel;
  std::vector<UsedGlobal> used;
  std::shared_ptr<const CompiledKernel> compiled;
  bool ok = true;
  {
    Recorder recorder(used);
    nb::gil_scoped_release release;
    compiled = kernel->compile(*bound, call.options, diagnostics);
    if (compiled && launch) {
      llvm::SmallVector<uint64_t, 32> slots;
      ok = compiled->packSlots(*bound, slots, diagnostics) && compiled->launch(grid, slots, call.options, diagnostics);
    }
  }
  if (!diagnostics.all().empty()) showWarnings(diagnostics);
  if (!used.empty()) keepUsed(state, used);
  if (!compiled || !ok) raiseErrors(diagnostics, function.get());
  Shared &object = state.objects[compiled.get()];
  if (!object) {
    auto handle = std::make_shared<PyCompiled>();
    handle->compiled = compiled;
    handle->function = function;
    handle->specs = compiled->specs();
    handle->options = call.options.kernel;
    if (compiled->gpu()) {
      handle->options.backend = "cuda";
      if (std::optional<GpuTarget> target = gpuTarget(compiled->gpu()->artifact().target)) handle->options.capability = target->capability;
    }
    object = share(compiledObject(std::move(handle)));
  }
  return nb::borrow(object.get());
}

} // namespace

// Runs an already compiled kernel: one argument for each parameter, constants included.
void PyCompiled::launch(nb::handle gridObject, nb::handle args, nb::handle stream) const {
  if (!compiled) raise(PyExc_RuntimeError, "this kernel was not compiled for a machine; launch the function itself");
  if (!function) raise(PyExc_RuntimeError, "a kernel that was compiled from IR text cannot be launched from Python");
  Call call;
  readCall(*function, args, nb::handle(), call);
  Diagnostics diagnostics;
  std::optional<BoundArguments> bound = bindArguments(*function, call.positional, call.named, diagnostics);
  if (!bound) raiseErrors(diagnostics, function.get());
  Grid grid = readGrid(gridObject);
  setStream(call, stream);
  if (!place(*function, *bound, call, diagnostics)) raiseErrors(diagnostics, function.get());
  if ((call.options.device >= 0) != (compiled->gpu() != nullptr))
    raise(PyExc_ValueError, std::string("this kernel was compiled for ") + (compiled->gpu() ? "a GPU" : "the CPU") +
                                ", and its arguments are " + (compiled->gpu() ? "in the CPU's memory" : "on a GPU"));
  bool ok;
  {
    nb::gil_scoped_release release;
    llvm::SmallVector<uint64_t, 32> slots;
    ok = compiled->packSlots(*bound, slots, diagnostics) && compiled->launch(grid, slots, call.options, diagnostics);
  }
  if (!ok) raiseErrors(diagnostics, function.get());
}

void defineKernel(nb::module_ &module) {
  nb::class_<PyKernel>(module, "Kernel", nb::dynamic_attr())
      .def(nb::init<>())
      .def(
          "_capture",
          [](PyKernel &self, std::string source, std::string file, int64_t line, std::string name, nb::dict globals, nb::dict cells,
             nb::list parameters, bool noinline_, std::vector<std::string> doNotSpecialize,
             std::vector<std::string> doNotSpecializeOnAlignment) {
            auto state = std::make_shared<PyKernel::State>();
            state->source = std::move(source);
            state->file = std::move(file);
            state->firstLine = line;
            state->name = std::move(name);
            state->globals = share(globals);
            state->cells = share(cells);
            state->parameters = share(parameters);
            state->noinline_ = noinline_;
            state->doNotSpecialize = std::move(doNotSpecialize);
            state->doNotSpecializeOnAlignment = std::move(doNotSpecializeOnAlignment);
            self.state = std::move(state);
          },
          "source"_a, "file"_a, "line"_a, "name"_a, "globals"_a, "cells"_a, "parameters"_a, "noinline"_a, "do_not_specialize"_a,
          "do_not_specialize_on_alignment"_a)
      .def(
          "launch", [](PyKernel &self, nb::handle grid, nb::args args, nb::kwargs kwargs) { return run(self, grid, args, kwargs); },
          "Compiles if needed and runs the grid; a grid of None only compiles. Returns the compiled kernel.", "grid"_a.none(), "args"_a,
          "kwargs"_a)
      .def("_bind", [](PyKernel &self, nb::args args, nb::kwargs kwargs) { return boundDict(*self.state, args, kwargs); })
      .def("_dependency_hash",
           [](PyKernel &self) {
             std::shared_ptr<const JitFunction> function = self.jit();
             nb::gil_scoped_release release;
             return dependencyHash(*function);
           })
      .def("_compiled_count", [](PyKernel &self) { return self.state->kernel ? self.state->kernel->compiledCount() : int64_t(0); })
      .def("_reset", [](PyKernel &self) {
        // Running launches keep what they have.
        auto fresh = std::make_shared<PyKernel::State>(*self.state);
        fresh->function = nullptr;
        fresh->kernel = nullptr;
        fresh->used.clear();
        fresh->objects.clear();
        fresh->interpreted.clear();
        self.state = std::move(fresh);
      });
}

} // namespace tilewright::python
