// From a Python call to a launch: which argument belongs to which parameter, and what the launch options say.
//
//   add[grid](x, y, out, n, BLOCK=1024, num_warps=8)    ->    x, y, out, n, 1024 in the order of the parameters; 8 warps
//
// Names are compared once for each place that a kernel is called from (CallShape); after that a keyword costs what a positional argument
// costs.

#include "kernel.h"

#include "support/files.h"
#include "support/settings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <nanobind/stl/string.h>

#include <cstdlib>

namespace tilewright::python {

Option optionNamed(llvm::StringRef name) {
  return llvm::StringSwitch<Option>(name)
      .Case("num_warps", Option::numWarps)
      .Case("num_stages", Option::numStages)
      .Case("num_ctas", Option::numCtas)
      .Case("maxnreg", Option::maxnreg)
      .Case("enable_fp_fusion", Option::fpFusion)
      .Case("numerics", Option::numerics)
      .Case("debug", Option::debug)
      .Case("sanitize_overflow", Option::sanitizeOverflow)
      .Case("ir_override", Option::irOverride)
      .Case("arch", Option::arch)
      .Case("ptx_options", Option::ptxOptions)
      .Case("enable_reflect_ftz", Option::reflectFtz)
      .Case("extern_libs", Option::externLibs)
      .Cases({"num_threads", "num_cpu_threads"}, Option::threads)
      .Case("stream", Option::stream)
      .Case("launch_cooperative_grid", Option::cooperative)
      .Case("launch_pdl", Option::programmaticLaunch)
      .Default(isForeignOption(name) ? Option::ignored : Option::unknown);
}

std::string overridingText(nb::handle path) {
  if (path.is_none()) return "";
  std::string name = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(path));
  llvm::StringRef ending = llvm::StringRef(name).rsplit('.').second;
  if (ending != "ttir" && ending != "ptx")
    raise(PyExc_ValueError, "ir_override: '" + name + "' is no .ttir and no .ptx file; layouts are this compiler's own");
  Result<std::string> text = readFile(name);
  if (!text) raise(PyExc_FileNotFoundError, "ir_override: cannot read '" + name + "': " + text.error());
  return *text;
}

/// extern_libs of a launch: {name: path}, or pairs.
static std::optional<KernelOptions::Libraries> externLibs(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  nb::dict given;
  given.attr("update")(value); // upstream takes pairs as well
  KernelOptions::Libraries libraries;
  for (auto [name, path] : given)
    libraries.emplace_back(nb::cast<std::string>(nb::str(name)), nb::cast<std::string>(nb::str(path)));
  return libraries;
}

std::string settingOf(const char *group, const char *name, const char *variable) {
  PyObject *settings = PyDict_GetItemString(packageObject("knobs", "__dict__").ptr(), group);
  PyObject *set = settings ? PyObject_GenericGetDict(settings, nullptr) : nullptr;
  PyObject *value = set ? PyDict_GetItemString(set, name) : nullptr; // the group keeps it
  Py_XDECREF(set);
  PyErr_Clear();
  if (!value) {
    const char *text = std::getenv(variable);
    return text ? text : "";
  }
  if (PyBool_Check(value)) return value == Py_True ? "1" : "0";
  return PyUnicode_Check(value) ? nb::cast<std::string>(nb::handle(value)) : "";
}

/// Whether nothing may be fused, whatever a launch asks for.
static bool forbidsFusion() {
  return switchOf(settingOf("language", "force_disable_fp_fusion", "TRITON_FORCE_DISABLE_FP_FUSION")).value_or(false);
}

void readSettings(KernelOptions &options) {
  options.dotPrecision = settingOf("language", "fp32_default", "TRITON_F32_DEFAULT");
  options.setNumerics(options.numerics);
  std::optional<bool> wanted = switchOf(settingOf("language", "default_fp_fusion", "TRITON_DEFAULT_FP_FUSION"));
  if (wanted && options.numerics != Numerics::strict) options.fpFusion = *wanted;
  options.fpFusion &= !forbidsFusion();
}

static Numerics numericsOf(nb::handle value) {
  std::string word = nb::cast<std::string>(nb::str(value));
  std::optional<Numerics> numerics = numericsNamed(word);
  if (!numerics) raise(PyExc_ValueError, "numerics is '3.9', '3.10' or 'strict', not '" + word + "'");
  return *numerics;
}

GpuTarget gpuOfArch(const std::string &arch) {
  if (std::optional<GpuTarget> target = gpuTarget(arch)) return *target;
  llvm::StringRef number(arch);
  if (number.consume_front("sm"))
    for (const std::string &spelled : {number.str(), "sm_" + number.str()})
      if (std::optional<GpuTarget> target = gpuTarget(spelled)) return *target;
  raise(PyExc_ValueError, "there is no GPU target '" + arch + "': there are " + gpuTargetNames());
}

/// The number that an option is set to. Raises where it is none, or is wider than 64 bits.
static int64_t integerOption(nb::handle value, llvm::StringRef name) {
  nb::object number = PyLong_Check(value.ptr()) ? nb::borrow(value) : nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) {
    clearException();
    raise(PyExc_TypeError, "the launch option '" + name.str() + "' is an int, not " + nb::cast<std::string>(nb::repr(value)));
  }
  int overflow = 0;
  int64_t integer = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0)
    raise(PyExc_OverflowError, "the launch option '" + name.str() + "' does not fit in 64 bits: " + nb::cast<std::string>(nb::repr(value)));
  return integer;
}

bool setKernelOption(KernelOptions &options, Option option, nb::handle value, llvm::StringRef name) {
  auto flag = [&] { return nb::cast<bool>(nb::bool_(value)); };
  switch (option) {
  case Option::numWarps: options.numWarps = integerOption(value, name); return true;
  case Option::numCtas: options.numCtas = integerOption(value, name); return true;
  case Option::numStages: options.numStages = integerOption(value, name); return true;
  case Option::maxnreg:
    if (!value.is_none()) options.maxnreg = integerOption(value, name);
    return true;
  case Option::fpFusion: options.fpFusion = flag() && !forbidsFusion(); return true;
  case Option::numerics:
    if (!value.is_none()) options.setNumerics(numericsOf(value));
    return true;
  case Option::debug: options.debug = flag(); return true;
  case Option::sanitizeOverflow: options.sanitizeOverflow = flag(); return true;
  case Option::irOverride: options.overrideText = overridingText(value); return true;
  case Option::ptxOptions:
    if (!value.is_none()) options.ptxOptions = nb::cast<std::string>(nb::str(value));
    return true;
  case Option::reflectFtz: options.flushesExp2 = flag(); return true;
  case Option::externLibs: options.externLibs = externLibs(value); return true;
  default: return false;
  }
}

namespace {

void setOption(Call &call, Option option, nb::handle value, llvm::StringRef name) {
  LaunchOptions &options = call.options;
  call.hasFusion |= option == Option::fpFusion;
  call.hasReflectFtz |= option == Option::reflectFtz;
  bool fusion = options.kernel.fpFusion, flushes = options.kernel.flushesExp2;
  if (setKernelOption(options.kernel, option, value, name)) {
    if (option != Option::numerics) return; // the other two options override it, in any order
    if (call.hasFusion) options.kernel.fpFusion = fusion;
    if (call.hasReflectFtz) options.kernel.flushesExp2 = flushes;
    return;
  }
  switch (option) {
  case Option::arch: // a CPU level changes nothing
    if (std::string arch = nb::cast<std::string>(nb::str(value)); !value.is_none() && !cpuTarget(arch)) options.gpu = gpuOfArch(arch);
    return;
  case Option::threads:
    if (!value.is_none()) options.threads = integerOption(value, name);
    if (options.threads < 0) raise(PyExc_ValueError, "num_threads must not be negative");
    return;
  case Option::cooperative: options.cooperative = nb::cast<bool>(nb::bool_(value)); return;
  case Option::programmaticLaunch: options.programmaticLaunch = nb::cast<bool>(nb::bool_(value)); return;
  default: return;
  }
}

[[noreturn]] void unknownKeyword(const JitFunction &function, llvm::StringRef name) {
  std::string parameters;
  for (const JitFunction::Parameter &parameter : function.parameters)
    parameters += (parameters.empty() ? "" : ", ") + parameter.name;
  raise(PyExc_KeyError,
        "Keyword argument " + name.str() + " was specified but unrecognised: kernel '" + function.name + "' has the parameters " +
            parameters +
            ", and launches take num_warps, num_stages, num_ctas, maxnreg, enable_fp_fusion, numerics, debug, num_threads, stream, "
            "launch_cooperative_grid, launch_pdl");
}

llvm::StringRef textOf(PyObject *name) {
  Py_ssize_t length = 0;
  const char *text = PyUnicode_AsUTF8AndSize(name, &length);
  if (!text) throw nb::python_error();
  return llvm::StringRef(text, static_cast<size_t>(length));
}

llvm::IntrusiveRefCntPtr<const CallShape> makeShape(const JitFunction &function, const PyArguments &arguments) {
  auto shape = llvm::makeIntrusiveRefCnt<CallShape>();
  size_t count = function.parameters.size(), named = arguments.named();
  if (named > 0) shape->names = share(arguments.names);
  shape->positional = arguments.positional;
  llvm::SmallVector<bool, 24> filled(count, false);
  shape->direct = arguments.positional <= count;
  for (size_t i = 0; i < count; ++i) {
    if (function.parameters[i].isVariadic) shape->direct = false;
    if (i < arguments.positional) filled[i] = true;
  }
  for (size_t i = 0; i < named; ++i) {
    llvm::StringRef name = textOf(PyTuple_GetItem(arguments.names, static_cast<Py_ssize_t>(i)));
    CallShape::Keyword &keyword = shape->keywords.emplace_back();
    keyword.option = optionNamed(name);
    for (size_t p = 0; p < count && keyword.parameter < 0; ++p)
      if (function.parameters[p].name == name) keyword.parameter = static_cast<int64_t>(p);
    if (keyword.parameter < 0) {
      if (keyword.option == Option::unknown) unknownKeyword(function, name);
      continue;
    }
    if (keyword.option == Option::stream) keyword.option = Option::unknown;
    bool &slot = filled[static_cast<size_t>(keyword.parameter)];
    if (slot) shape->direct = false;
    slot = true;
  }
  for (size_t i = 0; i < count; ++i) {
    if (filled[i]) continue;
    if (function.parameters[i].defaultValue)
      shape->defaults.push_back({i, Argument::constant(*function.parameters[i].defaultValue)});
    else
      shape->direct = false;
  }
  return shape;
}

bool sameNames(PyObject *a, PyObject *b) {
  if (a == b) return true;
  if (!a || !b) return false;
  Py_ssize_t size = PyTuple_Size(a);
  if (PyTuple_Size(b) != size) return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (PyTuple_GetItem(a, i) != PyTuple_GetItem(b, i)) return false; // interned: the same text is the same object
  return true;
}

llvm::IntrusiveRefCntPtr<const CallShape> shapeOf(PyKernel::State &state, const JitFunction &function, const PyArguments &arguments) {
  PyObject *names = arguments.named() > 0 ? arguments.names : nullptr;
  for (const llvm::IntrusiveRefCntPtr<const CallShape> &shape : state.shapes)
    if (shape->positional == arguments.positional && sameNames(shape->names.get(), names)) return shape;
  llvm::IntrusiveRefCntPtr<const CallShape> shape = makeShape(function, arguments);
  constexpr size_t remembered = 8;
  if (state.shapes.size() < remembered)
    state.shapes.push_back(shape);
  else
    state.shapes[state.nextShape++ % remembered] = shape;
  return shape;
}

const char *parameterName(const JitFunction &function, size_t index) {
  return index < function.parameters.size() ? function.parameters[index].name.c_str() : nullptr;
}

/// The arguments of a call, still by position and by name.
struct SplitArguments {
  llvm::SmallVector<Argument, 16> positional;
  llvm::SmallVector<NamedArgument, 16> named;
};

static Argument argumentOf(nb::handle object, const JitFunction &function, size_t parameter) {
  const char *name = parameterName(function, parameter);
  bool isConstant = parameter < function.parameters.size() && function.parameters[parameter].isConstexpr;
  return isConstant ? toConstant(object, name) : toArgument(object, name);
}

SplitArguments splitArguments(const JitFunction &function, const PyArguments &arguments, const CallShape &shape) {
  SplitArguments split;
  for (size_t i = 0; i < arguments.positional; ++i)
    split.positional.push_back(argumentOf(arguments.values[i], function, i));
  for (size_t i = 0; i < shape.keywords.size(); ++i) {
    if (shape.keywords[i].parameter < 0) continue;
    llvm::StringRef name = textOf(PyTuple_GetItem(arguments.names, static_cast<Py_ssize_t>(i)));
    split.named.push_back({name, argumentOf(arguments.values[arguments.positional + i], function, size_t(shape.keywords[i].parameter))});
  }
  return split;
}

/// Variadic parameters, and all mistakes.
void bindSlowly(const JitFunction &function, const PyArguments &arguments, const CallShape &shape, Call &call) {
  SplitArguments split = splitArguments(function, arguments, shape);
  Diagnostics diagnostics;
  std::optional<BoundArguments> bound = bindArguments(function, split.positional, split.named, diagnostics);
  if (!bound) raiseErrors(diagnostics, &function);
  call.arguments = std::move(*bound);
}

void readOptions(const PyArguments &arguments, const CallShape &shape, Call &call) {
  StreamHints::current().reset();
  call.options.device = defaultDevice().load(std::memory_order_relaxed);
  PyObject *const *keywordValues = arguments.values + arguments.positional;
  for (size_t i = 0; i < shape.keywords.size(); ++i) {
    Option option = shape.keywords[i].option;
    if (option == Option::unknown) continue;
    if (option == Option::stream)
      setStream(call, keywordValues[i]);
    else
      setOption(call, option, keywordValues[i], textOf(PyTuple_GetItem(arguments.names, static_cast<Py_ssize_t>(i))));
  }
}

} // namespace

UnpackedArguments::UnpackedArguments(nb::handle args, nb::handle kwargs) {
  Py_ssize_t count = PyTuple_Size(args.ptr()), more = kwargs.is_valid() ? PyDict_Size(kwargs.ptr()) : 0;
  positional = static_cast<size_t>(count);
  for (Py_ssize_t i = 0; i < count; ++i)
    values.push_back(PyTuple_GetItem(args.ptr(), i));
  if (more == 0) return;
  names = nb::steal(PyTuple_New(more));
  PyObject *key, *value;
  Py_ssize_t position = 0, index = 0;
  while (PyDict_Next(kwargs.ptr(), &position, &key, &value)) {
    Py_INCREF(key);
    PyTuple_SetItem(names.ptr(), index++, key);
    values.push_back(value);
  }
}

UnpackedArguments::operator PyArguments() const {
  return {values.data(), positional, names.ptr()};
}

void setStream(Call &call, nb::handle value) {
  if (value.is_none()) return;
  nb::object number = nb::borrow(value);
  for (const char *name : {"cuda_stream", "ptr"})
    if (!PyLong_Check(number.ptr())) number = memberOr(value, name, number);
  if (!PyLong_Check(number.ptr())) raise(PyExc_TypeError, "a stream is an int, or an object with 'cuda_stream' or 'ptr'");
  call.options.stream = PyLong_AsVoidPtr(number.ptr());
  if (PyErr_Occurred()) throw nb::python_error();
  call.hasStream = true;
}

/// Makes an argument in its final memory. A copy right after the stores would stall: its loads are wider than the stores, so the CPU cannot
/// forward them.
template <typename F> struct InPlace {
  F make;
  operator Argument() const { return make(); }
};

void readCall(PyKernel::State &state, const JitFunction &function, const PyArguments &arguments, Call &call) {
  llvm::IntrusiveRefCntPtr<const CallShape> shape = shapeOf(state, function, arguments);
  KeepScope scope(call.kept);
  readOptions(arguments, *shape, call);
  if (!shape->direct) return bindSlowly(function, arguments, *shape, call);
  PyObject *const *keywordValues = arguments.values + arguments.positional;

  size_t count = function.parameters.size();
  BoundArguments &bound = call.arguments;
  for (size_t i = 0; i < arguments.positional; ++i)
    bound.emplace_back(InPlace{[&] { return argumentOf(arguments.values[i], function, i); }});
  bound.resize(count);
  for (size_t i = 0; i < shape->keywords.size(); ++i)
    if (int64_t parameter = shape->keywords[i].parameter; parameter >= 0)
      bound[static_cast<size_t>(parameter)] = argumentOf(keywordValues[i], function, static_cast<size_t>(parameter));
  for (const auto &[index, value] : shape->defaults)
    bound[index] = value;
  // A constant sequence for a run-time parameter is taken apart.
  for (size_t i = 0; i < count; ++i)
    if (bound[i].kind() == Argument::Kind::constant && !function.parameters[i].isConstexpr)
      return bindSlowly(function, arguments, *shape, call);
}

void checkKeyword(const JitFunction &function, llvm::StringRef name) {
  auto isNamed = [&](const JitFunction::Parameter &parameter) { return parameter.name == name; };
  if (optionNamed(name) == Option::unknown && llvm::none_of(function.parameters, isNamed)) unknownKeyword(function, name);
}

void readKnownCall(const JitFunction &function, const PyArguments &arguments, Call &call) {
  llvm::IntrusiveRefCntPtr<const CallShape> shape = makeShape(function, arguments);
  KeepScope scope(call.kept);
  readOptions(arguments, *shape, call);
  SplitArguments split = splitArguments(function, arguments, *shape);
  Diagnostics diagnostics;
  std::optional<BoundArguments> bound = bindKnownArguments(function, split.positional, split.named, diagnostics);
  if (!bound) raiseErrors(diagnostics, &function);
  call.arguments = std::move(*bound);
}

nb::dict boundDict(PyKernel::State &state, const JitFunction &function, const PyArguments &arguments) {
  llvm::IntrusiveRefCntPtr<const CallShape> shape = shapeOf(state, function, arguments);
  llvm::SmallVector<PyObject *, 32> byKeyword(function.parameters.size(), nullptr);
  for (size_t i = 0; i < shape->keywords.size(); ++i)
    if (int64_t parameter = shape->keywords[i].parameter; parameter >= 0)
      byKeyword[static_cast<size_t>(parameter)] = arguments.values[arguments.positional + i];
  nb::dict bound;
  auto set = [&](PyObject *name, PyObject *value) {
    if (PyDict_SetItem(bound.ptr(), name, value) != 0) throw nb::python_error();
  };
  size_t index = 0;
  PyObject *rows = state.parameters.get();
  for (Py_ssize_t i = 0, count = PyList_Size(rows); i < count; ++i) {
    PyObject *row = PyList_GetItem(rows, i), *name = PyTuple_GetItem(row, 0);
    if (PyTuple_GetItem(row, 2) == Py_True) { // *args
      nb::object rest = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(arguments.positional - index)));
      for (Py_ssize_t to = 0; index < arguments.positional; ++index, ++to)
        PyTuple_SetItem(rest.ptr(), to, nb::borrow(arguments.values[index]).release().ptr());
      set(name, rest.ptr());
      continue;
    }
    PyObject *value = index < arguments.positional ? arguments.values[index++] : byKeyword[static_cast<size_t>(i)];
    if (!value && PyTuple_Size(row) > 5) value = PyTuple_GetItem(row, 5);
    if (value) set(name, value);
  }
  return bound;
}

static int64_t extentOf(nb::handle item, Py_ssize_t place) {
  nb::object number;
  if (!PyLong_Check(item.ptr())) {
    number = nb::steal(PyNumber_Index(item.ptr()));
    if (!number.is_valid()) {
      clearException();
      raise(PyExc_TypeError, "the extents of a grid are ints, not " + nb::cast<std::string>(nb::repr(item)));
    }
    item = number;
  }
  int overflow = 0;
  int64_t extent = PyLong_AsLongLongAndOverflow(item.ptr(), &overflow);
  if (overflow) raise(PyExc_ValueError, "extent " + std::to_string(place) + " of the grid is too large");
  return extent;
}

Grid readExtents(PyObject *const *extents, size_t rank) {
  Grid grid;
  grid.rank = static_cast<decltype(grid.rank)>(rank);
  for (size_t i = 0; i < rank; ++i)
    grid.extent[i] = extentOf(extents[i], static_cast<Py_ssize_t>(i));
  return grid;
}

Grid readGrid(nb::handle given) {
  if (PyList_Check(given.ptr())) { // it may change while its items are asked what numbers they are
    nb::object items = nb::steal(PyList_AsTuple(given.ptr()));
    if (!items.is_valid()) throw nb::python_error();
    return readGrid(items);
  }
  if (!PyTuple_Check(given.ptr()))
    raise(PyExc_TypeError, "grid must be a tuple or a callable returning one, not " + nb::cast<std::string>(nb::repr(given)) +
                               (PyLong_Check(given.ptr()) ? "; write kernel[(n,)](...)" : ""));
  Py_ssize_t rank = PyTuple_Size(given.ptr());
  if (rank < 1 || rank > 3) raise(PyExc_ValueError, "a grid has one to three extents, not " + std::to_string(rank));
  PyObject *extents[3];
  for (Py_ssize_t i = 0; i < rank; ++i)
    extents[i] = PyTuple_GetItem(given.ptr(), i);
  return readExtents(extents, static_cast<size_t>(rank));
}

} // namespace tilewright::python
