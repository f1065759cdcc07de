// A warm launch of a kernel with a tuner: `tuned[grid](x, y, n, ACTIVATION="")`.
//
// It does what Autotuner.run does in Python, for launches whose configuration is known, which are nearly all: it
// finds the call's key, the configuration kept for it, the results of @heuristics and of the grid function, and
// launches with all these values as keywords. A product of 64x64 takes three microseconds, and this took four in
// Python. Anything unusual (a new key, a hook, a name given twice) is left to Autotuner.run, which reports mistakes.

#include "kernel.h"

namespace tilewright::python {

namespace {

/// Members of a tuner that are read in each launch, and of a configuration.
struct Names {
  PyObject *cache = PyUnicode_InternFromString("cache"), *configs = PyUnicode_InternFromString("configs"),
           *fixed = PyUnicode_InternFromString("_fixed"), *launched = PyUnicode_InternFromString("_launched"),
           *best = PyUnicode_InternFromString("best_config"), *preHook = PyUnicode_InternFromString("pre_hook"),
           *values = PyUnicode_InternFromString("values"), *dtype = PyUnicode_InternFromString("dtype"),
           *run = PyUnicode_InternFromString("run"), *grid = PyUnicode_InternFromString("grid"),
           *warmup = PyUnicode_InternFromString("warmup");
  PyObject *threads[2] = {PyUnicode_InternFromString("num_threads"), PyUnicode_InternFromString("num_cpu_threads")};
};

const Names &names() {
  static const Names known;
  return known;
}

nb::object checked(PyObject *made) {
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

nb::object member(nb::handle object, PyObject *name) {
  return checked(PyObject_GetAttr(object.ptr(), name));
}

/// Borrowed; null where the dict has no such key.
nb::handle found(nb::handle dict, nb::handle key) {
  PyObject *value = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  if (!value && PyErr_Occurred()) throw nb::python_error();
  return value;
}

void set(nb::handle dict, nb::handle key, nb::handle value) {
  if (PyDict_SetItem(dict.ptr(), key.ptr(), value.ptr()) != 0) throw nb::python_error();
}

nb::handle item(nb::handle tuple, size_t index) {
  return PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(index));
}

size_t sizeOf(nb::handle tuple) {
  return static_cast<size_t>(PyTuple_Size(tuple.ptr()));
}

/// The part of a tuner that never changes: Autotuner._fixed_part.
struct Fixed {
  explicit Fixed(nb::handle tuple)
      : kernel(item(tuple, 0)), rules(item(tuple, 1)), parameters(item(tuple, 2)), keyPlaces(item(tuple, 3)), defaults(item(tuple, 4)) {}
  nb::handle kernel, rules, parameters, keyPlaces, defaults;
};

/// The element type of a tensor; null for other objects.
nb::object elementType(nb::handle value) {
  PyObject *object = value.ptr();
  if (PyLong_Check(object) || PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || object == Py_None) return {};
  nb::object type = nb::steal(PyObject_GetAttr(object, names().dtype));
  if (type.is_valid()) return type.is_none() ? nb::object() : type;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
  PyErr_Clear();
  return {};
}

/// All arguments by name. Null if a name occurs twice, or if there are more arguments than parameters.
nb::object byName(const Fixed &fixed, const PyArguments &given) {
  if (given.positional > sizeOf(fixed.parameters)) return {};
  nb::object named = checked(PyDict_New());
  for (size_t i = 0; i < given.positional; ++i)
    set(named, item(fixed.parameters, i), given.values[i]);
  for (size_t i = 0; i < given.named(); ++i)
    set(named, item(given.names, i), given.values[given.positional + i]);
  return static_cast<size_t>(PyDict_Size(named.ptr())) == given.positional + given.named() ? named : nb::object();
}

/// As Autotuner._key: values of the key's parameters, the element types of all tensors, and the number of threads that the launch names.
nb::object keyOf(const Fixed &fixed, const PyArguments &given, nb::handle named) {
  llvm::SmallVector<nb::object, 16> parts;
  for (size_t i = 0, count = sizeOf(fixed.keyPlaces); i < count; ++i)
    if (nb::handle value = found(named, item(fixed.keyPlaces, i)); value.is_valid()) parts.push_back(nb::borrow(value));
  for (size_t i = 0; i < given.positional + given.named(); ++i) {
    nb::object type = elementType(given.values[i]);
    bool isParameter = i < given.positional || !type.is_valid() ||
                       PySequence_Contains(fixed.parameters.ptr(), item(given.names, i - given.positional).ptr()) == 1;
    if (type.is_valid() && isParameter) parts.push_back(std::move(type));
  }
  for (PyObject *name : names().threads)
    if (nb::handle value = found(named, name); value.is_valid()) parts.push_back(nb::borrow(value));
  nb::object key = checked(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  for (size_t i = 0; i < parts.size(); ++i)
    PyTuple_SetItem(key.ptr(), static_cast<Py_ssize_t>(i), parts[i].release().ptr());
  return key;
}

/// The only configuration, or the one that is kept for the call's key; null where that is unknown.
nb::object configOf(nb::handle tuner, const Fixed &fixed, const PyArguments &given, nb::handle named) {
  nb::object configs = member(tuner, names().configs), cache = member(tuner, names().cache);
  if (PyList_Check(configs.ptr()) && PyList_Size(configs.ptr()) == 1) return nb::borrow(PyList_GetItem(configs.ptr(), 0));
  if (!PyDict_Check(cache.ptr())) return {};
  return nb::borrow(found(cache, keyOf(fixed, given, named)));
}

/// The arguments of a launch: values, and the names of those at the end.
struct Keywords {
  llvm::SmallVector<nb::object, 16> names, values;
  /// False where the name is taken.
  bool add(nb::handle named, nb::handle name, nb::handle value) {
    if (PyDict_Contains(named.ptr(), name.ptr()) != 0) return false;
    set(named, name, value);
    names.push_back(nb::borrow(name));
    values.push_back(nb::borrow(value));
    return true;
  }
};

/// Adds what the rules of @heuristics derive. False where one derives what was given.
bool derive(const Fixed &fixed, nb::handle named, Keywords &more) {
  for (size_t i = 0, count = sizeOf(fixed.rules); i < count; ++i) {
    nb::object rules = member(item(fixed.rules, i), names().values);
    PyObject *name = nullptr, *rule = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(rules.ptr(), &at, &name, &rule);)
      if (PyDict_Contains(named.ptr(), name) != 0) return false;
    nb::object items = checked(PyDict_Items(rules.ptr())); // a rule may change the dict
    for (nb::handle pair : nb::iter(items))
      more.add(named, item(pair, 0), nb::handle(item(pair, 1))(named));
  }
  return true;
}

/// The grid of a launch; nothing where a parameter has no value.
nb::object gridOf(const Fixed &fixed, nb::handle grid, nb::handle named) {
  if (!PyCallable_Check(grid.ptr())) return nb::borrow(grid);
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(fixed.defaults.ptr(), &at, &name, &value);)
    if (PyDict_Contains(named.ptr(), name) == 0) set(named, name, value);
  for (size_t i = 0, count = sizeOf(fixed.parameters); i < count; ++i)
    if (PyDict_Contains(named.ptr(), item(fixed.parameters, i).ptr()) != 1) return {};
  return grid(named);
}

nb::object launch(const Fixed &fixed, nb::handle grid, const PyArguments &given, const Keywords &more) {
  size_t count = given.positional + given.named(), all = given.named() + more.names.size();
  llvm::SmallVector<PyObject *, 40> values(given.values, given.values + count);
  nb::object keywords = checked(PyTuple_New(static_cast<Py_ssize_t>(all)));
  for (size_t i = 0; i < all; ++i) {
    nb::object name = i < given.named() ? nb::borrow(item(given.names, i)) : more.names[i - given.named()];
    PyTuple_SetItem(keywords.ptr(), static_cast<Py_ssize_t>(i), name.release().ptr());
  }
  for (const nb::object &value : more.values)
    values.push_back(value.ptr());
  nb::object launcher = checked(PyObject_GetItem(fixed.kernel.ptr(), grid.ptr()));
  return checked(PyObject_Vectorcall(launcher.ptr(), values.data(), given.positional, keywords.ptr()));
}

/// Null where the launch is left to Autotuner.run.
nb::object launchKnown(nb::handle tuner, nb::handle grid, const PyArguments &given) {
  nb::object kept = member(tuner, names().fixed);
  if (kept.is_none() || grid.is_none()) return {};
  Fixed fixed(kept);
  nb::object named = byName(fixed, given);
  if (!named.is_valid() || PyDict_Contains(named.ptr(), names().warmup) != 0) return {};
  nb::object config = configOf(tuner, fixed, given, named);
  if (!config.is_valid() || !member(config, names().preHook).is_none()) return {};
  nb::object entry = nb::borrow(found(member(tuner, names().launched), checked(PyLong_FromVoidPtr(config.ptr()))));
  if (!entry.is_valid()) return {};
  Keywords more;
  nb::handle chosen = item(entry, 1), values = item(entry, 2);
  for (size_t i = 0, count = sizeOf(chosen); i < count; ++i)
    if (!more.add(named, item(chosen, i), item(values, i))) return {};
  if (!derive(fixed, named, more)) return {};
  nb::object extents = gridOf(fixed, grid, named);
  if (!extents.is_valid()) return {};
  if (PyObject_SetAttr(tuner.ptr(), names().best, config.ptr()) != 0) throw nb::python_error();
  return launch(fixed, extents, given, more);
}

nb::object runTuner(nb::handle tuner, nb::handle grid, const PyArguments &given) {
  size_t count = given.positional + given.named();
  llvm::SmallVector<PyObject *, 40> values(given.values, given.values + count);
  nb::object keywords = checked(PyTuple_New(static_cast<Py_ssize_t>(given.named() + 2)));
  auto put = [&](size_t at, nb::handle name) {
    PyTuple_SetItem(keywords.ptr(), static_cast<Py_ssize_t>(at), nb::borrow(name).release().ptr());
  };
  for (size_t i = 0; i < given.named(); ++i)
    put(i, item(given.names, i));
  put(given.named(), names().grid);
  put(given.named() + 1, names().warmup);
  values.push_back(grid.ptr());
  values.push_back(Py_False);
  return checked(PyObject_Vectorcall(member(tuner, names().run).ptr(), values.data(), given.positional, keywords.ptr()));
}

} // namespace

nb::object launchTuned(nb::handle tuner, nb::handle grid, const PyArguments &arguments) {
  nb::object launched = launchKnown(tuner, grid, arguments);
  return launched.is_valid() ? launched : runTuner(tuner, grid, arguments);
}

} // namespace tilewright::python
