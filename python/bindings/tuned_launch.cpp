// A warm launch of a kernel with a tuner: `tuned[grid](x, y, n, ACTIVATION="")`.
//
// It does what Autotuner.run does in Python, for launches whose configuration is known, which are nearly all: it
// finds the call's key, the configuration kept for it, the results of @heuristics and of the grid function, and
// launches with all these values as keywords. A product of 64x64 takes three microseconds, and this took four in
// Python. Anything unusual (a new key, a hook, a name given twice) is left to Autotuner.run, which reports mistakes.
//
// A program calls a tuner in few ways. What follows from the names of a call alone is found once (Shape), and what follows from them and
// the configuration as well (Plan): where the key's values are, a dict in which all names stand already, the names of the launch.

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

/// A launch of calls of one shape with one configuration.
struct Plan : llvm::RefCountedBase<Plan> {
  nb::object config;
  nb::object named;                             // a dict: the call's names, without values, and what the configuration adds
  llvm::SmallVector<nb::object> chosen, values; // names and values that the configuration adds
  llvm::SmallVector<nb::object> derived;        // the names that rules added last time
  nb::object keywords;                          // the names of the launch, these among them
  bool isComplete = false;                      // then, with defaults, all parameters have values
};

/// Calls with the same names, and as many arguments without.
struct Shape : llvm::RefCountedBase<Shape> {
  size_t positional;
  nb::object names;                    // a tuple; null if there are none
  bool isOrdinary = false;             // no name occurs twice, and none has a meaning of its own
  llvm::SmallVector<size_t> keys;      // the arguments that are of the key, in its order
  llvm::SmallVector<bool> isParameter; // of each argument
  llvm::SmallVector<size_t> threads;   // arguments that say how many
  llvm::SmallVector<llvm::IntrusiveRefCntPtr<Plan>> plans = {};
};

} // namespace

/// What is known of a tuner's calls.
struct LaunchPlans {
  llvm::SmallVector<llvm::IntrusiveRefCntPtr<Shape>> shapes;
  size_t next = 0; // which one is forgotten next
};

namespace {

/// The part of a tuner that never changes: Autotuner._fixed_part.
struct Fixed {
  explicit Fixed(nb::handle tuple)
      : kernel(item(tuple, 0)), rules(item(tuple, 1)), parameters(item(tuple, 2)), keyIndices(item(tuple, 3)), defaults(item(tuple, 4)),
        plans(*nb::inst_ptr<LaunchPlans>(item(tuple, 5))) {}
  nb::handle kernel, rules, parameters, keyIndices, defaults;
  LaunchPlans &plans;
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

bool contains(nb::handle tuple, nb::handle name) {
  int found = PySequence_Contains(tuple.ptr(), name.ptr());
  if (found < 0) throw nb::python_error();
  return found == 1;
}

bool isAmong(PyObject *name, nb::handle other) {
  return name == other.ptr() || PyObject_RichCompareBool(name, other.ptr(), Py_EQ) == 1;
}

/// The name of an argument of the call.
nb::handle nameOf(const Fixed &fixed, const PyArguments &given, size_t index) {
  return index < given.positional ? item(fixed.parameters, index) : item(given.names, index - given.positional);
}

/// Whether two tuples of names (or null) hold the same objects: names in a program's text are one object each.
bool areSame(PyObject *names, PyObject *others) {
  if (names == others || !names || !others) return names == others;
  Py_ssize_t count = PyTuple_Size(names);
  if (count != PyTuple_Size(others)) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_GetItem(names, i) != PyTuple_GetItem(others, i)) return false;
  return true;
}

llvm::IntrusiveRefCntPtr<Shape> newShape(const Fixed &fixed, const PyArguments &given) {
  auto shape = llvm::makeIntrusiveRefCnt<Shape>();
  shape->positional = given.positional;
  if (given.names) shape->names = nb::borrow(given.names);
  size_t count = given.positional + given.named();
  if (given.positional > sizeOf(fixed.parameters)) return shape;
  nb::object places = checked(PyDict_New());
  for (size_t i = 0; i < count; ++i) {
    nb::handle name = nameOf(fixed, given, i);
    set(places, name, checked(PyLong_FromSize_t(i)));
    shape->isParameter.push_back(i < given.positional || contains(fixed.parameters, name));
    if (i < given.positional) continue;
    for (PyObject *threads : names().threads)
      if (isAmong(threads, name)) shape->threads.push_back(i);
  }
  shape->isOrdinary = static_cast<size_t>(PyDict_Size(places.ptr())) == count && !found(places, names().warmup).is_valid();
  for (size_t i = 0, keys = sizeOf(fixed.keyIndices); i < keys; ++i)
    if (nb::handle place = found(places, item(fixed.keyIndices, i)); place.is_valid()) shape->keys.push_back(PyLong_AsSize_t(place.ptr()));
  return shape;
}

llvm::IntrusiveRefCntPtr<Shape> shapeOf(const Fixed &fixed, const PyArguments &given) {
  constexpr size_t maxShapes = 8; // calls of other shapes are rare
  for (const llvm::IntrusiveRefCntPtr<Shape> &shape : fixed.plans.shapes)
    if (shape->positional == given.positional && areSame(shape->names.ptr(), given.names)) return shape;
  llvm::IntrusiveRefCntPtr<Shape> shape = newShape(fixed, given);
  LaunchPlans &plans = fixed.plans;
  if (plans.shapes.size() < maxShapes)
    plans.shapes.push_back(shape);
  else
    plans.shapes[plans.next++ % maxShapes] = shape;
  return shape;
}

/// As Autotuner._key: values of the key's parameters, the element types of all tensors, and the number of threads that the launch names.
nb::object keyOf(const Shape &shape, const PyArguments &given) {
  llvm::SmallVector<nb::object, 16> parts;
  for (size_t place : shape.keys)
    parts.push_back(nb::borrow(given.values[place]));
  for (size_t i = 0; i < given.positional + given.named(); ++i) {
    if (!shape.isParameter[i]) continue;
    if (nb::object type = elementType(given.values[i]); type.is_valid()) parts.push_back(std::move(type));
  }
  for (size_t place : shape.threads)
    parts.push_back(nb::borrow(given.values[place]));
  nb::object key = checked(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  for (size_t i = 0; i < parts.size(); ++i)
    PyTuple_SetItem(key.ptr(), static_cast<Py_ssize_t>(i), parts[i].release().ptr());
  return key;
}

/// The only configuration, or the one that is kept for the call's key; null where that is unknown.
nb::object configOf(nb::handle tuner, const Shape &shape, const PyArguments &given) {
  nb::object configs = member(tuner, names().configs), cache = member(tuner, names().cache);
  if (PyList_Check(configs.ptr()) && PyList_Size(configs.ptr()) == 1) return nb::borrow(PyList_GetItem(configs.ptr(), 0));
  if (!PyDict_Check(cache.ptr())) return {};
  return nb::borrow(found(cache, keyOf(shape, given)));
}

/// Null where the configuration was never launched, or adds what the call gives.
llvm::IntrusiveRefCntPtr<Plan> newPlan(nb::handle tuner, const Fixed &fixed, const PyArguments &given, nb::handle config) {
  nb::object entry = nb::borrow(found(member(tuner, names().launched), checked(PyLong_FromVoidPtr(config.ptr()))));
  if (!entry.is_valid()) return nullptr;
  auto plan = llvm::makeIntrusiveRefCnt<Plan>();
  plan->config = nb::borrow(config);
  plan->named = checked(PyDict_New());
  size_t count = given.positional + given.named();
  for (size_t i = 0; i < count; ++i)
    set(plan->named, nameOf(fixed, given, i), nb::none());
  nb::handle names = item(entry, 1), values = item(entry, 2);
  for (size_t i = 0; i < sizeOf(names); ++i) {
    set(plan->named, item(names, i), item(values, i));
    plan->chosen.push_back(nb::borrow(item(names, i)));
    plan->values.push_back(nb::borrow(item(values, i)));
  }
  return static_cast<size_t>(PyDict_Size(plan->named.ptr())) == count + sizeOf(names) ? plan : nullptr;
}

llvm::IntrusiveRefCntPtr<Plan> planOf(nb::handle tuner, const Fixed &fixed, Shape &shape, const PyArguments &given, nb::handle config) {
  for (const llvm::IntrusiveRefCntPtr<Plan> &plan : shape.plans)
    if (plan->config.ptr() == config.ptr()) return plan;
  llvm::IntrusiveRefCntPtr<Plan> plan = newPlan(tuner, fixed, given, config);
  if (plan) shape.plans.push_back(plan);
  return plan;
}

/// What the rules of @heuristics add to a launch.
struct Derived {
  llvm::SmallVector<nb::object, 4> names, values;
};

/// Adds what the rules derive. False where one derives what was given.
bool derive(const Fixed &fixed, nb::handle named, Derived &more) {
  for (size_t i = 0, count = sizeOf(fixed.rules); i < count; ++i) {
    nb::object rules = member(item(fixed.rules, i), names().values);
    PyObject *name = nullptr, *rule = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(rules.ptr(), &at, &name, &rule);)
      if (PyDict_Contains(named.ptr(), name) != 0) return false;
    nb::object items = checked(PyDict_Items(rules.ptr())); // a rule may change the dict
    for (Py_ssize_t at = 0, rulesCount = PyList_Size(items.ptr()); at < rulesCount; ++at) {
      nb::handle pair = PyList_GetItem(items.ptr(), at);
      nb::object value = nb::handle(item(pair, 1))(named);
      if (PyDict_Contains(named.ptr(), item(pair, 0).ptr()) != 0) continue;
      set(named, item(pair, 0), value);
      more.names.push_back(nb::borrow(item(pair, 0)));
      more.values.push_back(std::move(value));
    }
  }
  return true;
}

/// Brings the plan up to date with the names that rules add: they are the same each time, unless a rule changes the rules.
void follow(Plan &plan, const Fixed &fixed, const PyArguments &given, const Derived &more) {
  auto isSame = [](const nb::object &a, const nb::object &b) { return a.ptr() == b.ptr(); };
  if (plan.keywords.is_valid() && llvm::equal(plan.derived, more.names, isSame)) return;
  plan.derived.assign(more.names.begin(), more.names.end());
  llvm::SmallVector<nb::object, 32> all;
  for (size_t i = 0; i < given.named(); ++i)
    all.push_back(nb::borrow(item(given.names, i)));
  llvm::append_range(all, plan.chosen);
  llvm::append_range(all, more.names);
  nb::object has = checked(PyDict_Copy(fixed.defaults.ptr()));
  for (size_t i = 0; i < given.positional; ++i)
    set(has, item(fixed.parameters, i), nb::none());
  for (const nb::object &name : all)
    set(has, name, nb::none());
  plan.isComplete = true;
  for (size_t i = 0, count = sizeOf(fixed.parameters); i < count; ++i)
    plan.isComplete &= PyDict_Contains(has.ptr(), item(fixed.parameters, i).ptr()) == 1;
  plan.keywords = checked(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
  for (size_t i = 0; i < all.size(); ++i)
    PyTuple_SetItem(plan.keywords.ptr(), static_cast<Py_ssize_t>(i), all[i].release().ptr());
}

/// The grid of a launch; nothing where a parameter has no value.
nb::object gridOf(const Fixed &fixed, nb::handle grid, nb::handle named, bool isComplete) {
  if (!PyCallable_Check(grid.ptr())) return nb::borrow(grid);
  if (!isComplete) return {};
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(fixed.defaults.ptr(), &at, &name, &value);)
    if (PyDict_Contains(named.ptr(), name) == 0) set(named, name, value);
  return grid(named);
}

/// Null where the launch is left to Autotuner.run.
nb::object launchKnown(nb::handle tuner, nb::handle grid, const PyArguments &given) {
  nb::object kept = member(tuner, names().fixed);
  if (kept.is_none() || grid.is_none()) return {};
  Fixed fixed(kept);
  // Rules and the grid's function may launch this kernel in another shape: what is in use here stays.
  llvm::IntrusiveRefCntPtr<Shape> shape = shapeOf(fixed, given);
  if (!shape->isOrdinary) return {};
  nb::object config = configOf(tuner, *shape, given);
  if (!config.is_valid() || !member(config, names().preHook).is_none()) return {};
  llvm::IntrusiveRefCntPtr<Plan> plan = planOf(tuner, fixed, *shape, given, config);
  if (!plan) return {};
  nb::object named = checked(PyDict_Copy(plan->named.ptr()));
  for (size_t i = 0, count = given.positional + given.named(); i < count; ++i)
    set(named, nameOf(fixed, given, i), given.values[i]);
  Derived more;
  if (!derive(fixed, named, more)) return {};
  follow(*plan, fixed, given, more);
  nb::object keywords = plan->keywords;
  nb::object extents = gridOf(fixed, grid, named, plan->isComplete);
  if (!extents.is_valid()) return {};
  if (PyObject_SetAttr(tuner.ptr(), names().best, config.ptr()) != 0) throw nb::python_error();
  llvm::SmallVector<PyObject *, 40> values(given.values, given.values + given.positional + given.named());
  for (const nb::object &value : plan->values)
    values.push_back(value.ptr());
  for (const nb::object &value : more.values)
    values.push_back(value.ptr());
  nb::object launcher = checked(PyObject_GetItem(fixed.kernel.ptr(), extents.ptr()));
  return checked(PyObject_Vectorcall(launcher.ptr(), values.data(), given.positional, keywords.ptr()));
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

void defineLaunchPlans(nb::module_ &module) {
  nb::class_<LaunchPlans>(module, "LaunchPlans", "What is known of a tuner's calls; a copy knows nothing yet.")
      .def(nb::init<>())
      .def("__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple()); });
}

nb::object launchTuned(nb::handle tuner, nb::handle grid, const PyArguments &arguments) {
  nb::object launched = launchKnown(tuner, grid, arguments);
  return launched.is_valid() ? launched : runTuner(tuner, grid, arguments);
}

} // namespace tilewright::python
