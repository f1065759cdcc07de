// Python's objects as the compiler's values, and back.

#include "core.h"

#include "evaluate/builtins.h"
#include "evaluate/module.h"

#include "llvm/ADT/StringSwitch.h"

#include <nanobind/stl/string.h>

namespace tilewright::python {

Shared share(nb::handle object) {
  return Shared(object.inc_ref().ptr(), [](PyObject *held) {
    if (!Py_IsInitialized()) return;
    WithGil gil;
    Py_DECREF(held);
  });
}

nb::handle packageObject(const char *module, const char *name) {
  // Borrowed for ever: the package's modules outlive every kernel.
  nb::object found = nb::module_::import_((std::string("tilewright.") + module).c_str()).attr(name);
  return found.release();
}

PyObject *PackageMember::ptr() {
  if (!found) found = packageObject(module, name).ptr();
  return found;
}

void clearException() {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
  PyErr_Clear();
}

nb::object memberOr(nb::handle object, const char *name, nb::object otherwise) {
  nb::object found = nb::steal(PyObject_GetAttrString(object.ptr(), name));
  if (!found.is_valid()) clearException();
  return found.is_valid() ? found : otherwise;
}

bool hasMember(nb::handle object, const char *name) {
  return memberOr(object, name, nb::object()).is_valid();
}

void raise(PyObject *type, const std::string &message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

std::optional<Scalar> scalarNamed(std::string name) {
  if (size_t dot = name.rfind('.'); dot != std::string::npos) name = name.substr(dot + 1);
  std::optional<Type> type = parseTypeName(name);
  if (!type || !type->isScalar() || type->scalar() == Scalar::void_) return std::nullopt;
  return type->scalar();
}

std::optional<Type> toType(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) {
    std::string text = nb::cast<std::string>(object);
    if (std::optional<Type> type = parseTypeName(text)) return type;
    if (size_t dot = text.rfind('.'); dot != std::string::npos) text = text.substr(dot + 1);
    return languageType(text);
  }
  static constinit PackageMember dtype("language.core", "dtype");
  if (PyObject_IsInstance(object.ptr(), dtype.ptr()) != 1) return std::nullopt;
  return parseTypeName(nb::cast<std::string>(object.attr("_tilewright_name")));
}

std::optional<Value> languageValue(const std::string &path) {
  size_t dot = path.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  std::shared_ptr<Namespace> module = languageModule(path.substr(0, dot));
  Diagnostics ignored;
  return module ? module->lookup(path.substr(dot + 1), ignored) : std::nullopt;
}

static std::optional<Int> toInt(nb::handle object) {
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0) return value;
  nb::object high = nb::steal(PyNumber_Rshift(object.ptr(), nb::int_(64).ptr()));
  nb::object low = nb::steal(PyNumber_And(object.ptr(), nb::int_(~0ull).ptr()));
  long long top = PyLong_AsLongLongAndOverflow(high.ptr(), &overflow);
  if (overflow != 0) return std::nullopt;
  unsigned long long bottom = PyLong_AsUnsignedLongLong(low.ptr());
  return static_cast<Int>((static_cast<unsigned __int128>(static_cast<unsigned long long>(top)) << 64) | bottom);
}

static thread_local int64_t depth = 0;

NestedObject::NestedObject() {
  constexpr int64_t deepest = 100;
  if (depth == deepest)
    raise(PyExc_ValueError, "a kernel cannot use lists, tuples and dicts that are nested more than " + std::to_string(deepest) +
                                " levels deep, or that hold themselves");
  ++depth;
}
NestedObject::~NestedObject() {
  --depth;
}

static std::vector<Value> items(nb::handle sequence) {
  NestedObject nested;
  std::vector<Value> out;
  for (nb::handle item : nb::iter(sequence))
    out.push_back(toValue(item));
  return out;
}

static std::string typeName(nb::handle object) {
  nb::handle type(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr())));
  return nb::cast<std::string>(nb::str(type.attr("__module__"))) + "." + nb::cast<std::string>(nb::str(type.attr("__qualname__")));
}

namespace {
/// A Python function as the compiler may call it: with constants, at compile time.
class PyCallable : public Callable {
public:
  PyCallable(nb::handle function, std::string name, bool isMember)
      : function(share(function)), functionName(std::move(name)), isMember(isMember) {}
  std::string name() const override { return functionName; }

  std::shared_ptr<const JitFunction> asHelper(Diagnostics &diagnostics) const override {
    WithGil gil;
    static constinit PackageMember constexprFunction("runtime.jit", "ConstexprFunction");
    if (!isMember && !isOfLanguage() && PyObject_IsInstance(function.get(), constexprFunction.ptr()) != 1) return nullptr;
    try {
      static constinit PackageMember helper("runtime.jit", "helper_kernel");
      nb::object kernel = helper(nb::handle(function.get()));
      auto made = std::make_shared<JitFunction>(*nb::cast<PyKernel &>(kernel).jit());
      made->isHelper = true;
      return made;
    } catch (nb::python_error &error) {
      noteRaised(error, {}, nb::cast<std::string>(nb::str(error.value())), diagnostics);
      return nullptr;
    }
  }

  bool isBuiltin() const override {
    WithGil gil;
    return isOfLanguage() && nb::cast<bool>(nb::bool_(memberOr(nb::handle(function.get()), "_tilewright_user_builtin", nb::none())));
  }

  std::optional<std::string> mustUse() const override {
    WithGil gil;
    return mustUseOf(nb::handle(function.get()));
  }

  std::optional<Value> call(const std::vector<Value> &args, const std::vector<std::pair<std::string, Value>> &keywords, SourceRange range,
                            Diagnostics &diagnostics) const override {
    WithGil gil;
    try {
      auto given = [own = isOfLanguage()](const Value &value) { // a function of the language's library is passed constants as such
        static constinit PackageMember constant("language.core", "constexpr");
        return own ? constant(fromValue(value)) : fromValue(value);
      };
      nb::list positional;
      for (const Value &arg : args)
        positional.append(given(arg));
      nb::dict named;
      for (const auto &[key, value] : keywords)
        named[key.c_str()] = given(value);
      nb::object result = nb::steal(PyObject_Call(function.get(), nb::tuple(positional).ptr(), named.ptr()));
      if (!result.is_valid()) throw nb::python_error();
      return toValue(result);
    } catch (nb::python_error &error) {
      std::string text = nb::cast<std::string>(nb::str(error.value()));
      std::string kind = nb::cast<std::string>(nb::str(error.type().attr("__name__")));
      noteRaised(error, range, text.empty() ? kind : kind + ": " + text, diagnostics);
      return std::nullopt;
    }
  }
  nb::handle object() const { return function.get(); }

private:
  bool isOfLanguage() const {
    nb::handle marked(function.get());
    if (memberOr(marked, "__triton_builtin__", nb::none()).ptr() != Py_True) return false;
    return nb::isinstance(marked, nb::module_::import_("types").attr("FunctionType")); // PyFunction_Check is not in the stable interface
  }

  Shared function;
  std::string functionName;
  bool isMember;
};
} // namespace

std::optional<std::string> mustUseOf(nb::handle function) {
  nb::object mark = memberOr(function, "_must_use_result", nb::none());
  if (nb::isinstance<nb::str>(mark)) return nb::cast<std::string>(mark);
  return mark.ptr() == Py_True ? std::optional(std::string()) : std::nullopt;
}

// The kernel's text does not contain what the function computes, so its name carries a digest of its code: thus it enters the cache key.
static std::shared_ptr<const Callable> callableOf(nb::handle object, bool isMember) {
  auto says = [&](const char *attribute, const char *text) { return nb::str(text).equal(memberOr(object, attribute, nb::none())); };
  if (says("__module__", "pdb") && says("__qualname__", "set_trace")) return std::make_shared<PyCallable>(object, "breakpoint", isMember);
  static constinit PackageMember fingerprint("runtime.fingerprint", "named_fingerprint");
  return std::make_shared<PyCallable>(object, nb::cast<std::string>(fingerprint(object)), isMember);
}

Value memberValue(nb::handle object) {
  bool isPython = hasMember(object, "__code__") || hasMember(object, "__func__") || hasMember(object, "fn");
  if (isPython && !nb::isinstance<PyKernel>(object)) return Value::callable(callableOf(object, true));
  return toValue(object);
}

std::shared_ptr<const Callable> classCallable(nb::handle type) {
  return std::make_shared<PyCallable>(type, nb::cast<std::string>(type.attr("__name__")), false);
}

static bool isFrom(nb::handle object, const char *module) {
  nb::object from = memberOr(object, "__module__", nb::none());
  return nb::isinstance<nb::str>(from) && nb::cast<std::string>(from) == module;
}

static Value valueOfClass(nb::handle object) {
  if (isFrom(object, "builtins"))
    if (std::optional<Value> function = pythonFunction(nb::cast<std::string>(object.attr("__name__")))) return *function;
  if (std::shared_ptr<Namespace> type = classScope(object)) return Value::nameSpace(std::move(type));
  // Classes are both: names to look up, and functions. Enumerations and holders of constants are what kernels use.
  return Value::nameSpace(objectScope(object, "the class " + nb::cast<std::string>(object.attr("__name__"))));
}

static std::string moduleName(nb::handle module) {
  nb::object name = memberOr(module, "__name__", nb::none());
  return name.is_none() ? "?" : nb::cast<std::string>(nb::str(name));
}

static Value valueOfModule(nb::handle object) {
  std::string name = moduleName(object);
  llvm::StringRef rest = name;
  if (rest.consume_front("tilewright") || rest.consume_front("triton")) {
    bool isTritons = !rest.empty() || memberOr(object, "__version__", nb::none()).equal(nb::str(tritonVersion().text.c_str()));
    if (std::shared_ptr<Namespace> ours = languageModule((isTritons ? "triton" : "tilewright") + rest.str())) return Value::nameSpace(ours);
  }
  return Value::nameSpace(objectScope(object, name));
}

static std::optional<Value> aggregateOf(nb::handle object) {
  std::shared_ptr<Namespace> type = classScope(nb::handle(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr()))));
  if (!type) return std::nullopt;
  std::vector<Value> fields;
  for (const std::string &name : type->classInfo()->fieldNames())
    fields.push_back(toValue(object.attr(name.c_str())));
  return Value::instance(std::move(type), std::move(fields));
}

Value toValue(nb::handle object) {
  PyObject *raw = object.ptr();
  if (raw == Py_None) return Value::none();
  if (raw == Py_Ellipsis) return Value::ellipsis();
  if (PyBool_Check(raw)) return Value::boolean(raw == Py_True);
  if (PyLong_Check(raw)) {
    std::optional<Int> number = toInt(object);
    return number ? Value::integer(*number) : Value::host("an int of more than 128 bits");
  }
  if (PyFloat_Check(raw)) return Value::floating(PyFloat_AsDouble(raw));
  if (PyUnicode_Check(raw)) return Value::string(nb::cast<std::string>(object));
  if (PyTuple_Check(raw)) {
    std::shared_ptr<Namespace> type = classScope(nb::handle(reinterpret_cast<PyObject *>(Py_TYPE(raw))));
    return type ? Value::instance(std::move(type), items(object)) : Value::tuple(items(object));
  }
  if (PyList_Check(raw)) return Value::list(items(object));
  if (PyDict_Check(raw)) {
    NestedObject nested;
    std::vector<std::pair<Value, Value>> pairs;
    for (auto [key, value] : nb::borrow<nb::dict>(object))
      pairs.push_back({toValue(key), toValue(value)});
    return Value::dict(std::move(pairs));
  }
  if (PyAnySet_Check(raw)) return Value::set(items(object));
  if (nb::isinstance<PyKernel>(object)) return Value::function(nb::cast<PyKernel &>(object).jit());
  if (PyModule_Check(raw)) return valueOfModule(object);
  if (std::optional<Value> instance = aggregateOf(object)) return *instance;
  // Ours say what they are: constexprs, dtypes, builtins and the language's classes, the tuner's wrappers.
  if (nb::object inner = memberOr(object, "_tilewright_value", nb::object()); inner.is_valid()) {
    if (!PyType_Check(raw)) return toValue(inner);
  } else if (std::optional<Type> type = toType(object)) {
    return Value::type(*type);
  }
  if (nb::object path = memberOr(object, "_tilewright_path", nb::none()); nb::isinstance<nb::str>(path)) {
    // Instances of the language's classes (a tl.range made on the host) mean nothing here.
    bool itself = PyType_Check(raw) || hasMember(object, "_tilewright_builtin");
    if (itself)
      if (std::optional<Value> value = languageValue(nb::cast<std::string>(path))) return *value;
  }
  if (PyType_Check(raw)) return valueOfClass(object);
  if (PyCFunction_Check(raw) && isFrom(object, "builtins"))
    if (std::optional<Value> function = pythonFunction(nb::cast<std::string>(object.attr("__name__")))) return *function;
  if (PyCFunction_Check(raw) || hasMember(object, "__code__") || hasMember(object, "__func__"))
    return Value::callable(callableOf(object, false));
  if (PyIndex_Check(raw)) { // NumPy's integers
    nb::object number = nb::steal(PyNumber_Index(raw));
    if (!number.is_valid())
      clearException(); // arrays have __index__, too
    else if (std::optional<Int> value = toInt(number))
      return Value::integer(*value);
  }
  if (hasMember(object, "dtype") && hasMember(object, "shape") && hasMember(object, "item") && hasMember(object, "__float__") &&
      nb::isinstance<nb::tuple>(object.attr("shape")) && nb::len(nb::object(object.attr("shape"))) == 0) { // NumPy's scalars
    nb::object plain = object.attr("item")();
    if (PyFloat_Check(plain.ptr()) || PyBool_Check(plain.ptr())) return toValue(plain);
  }
  if (PyCallable_Check(raw)) return Value::callable(callableOf(object, false));
  if (typeName(object) == "torch.dtype") return Value::host(nb::cast<std::string>(nb::str(object))); // as in the evaluator
  return Value::host("the " + typeName(object) + " object");
}

static nb::object sequenceOf(const Sequence &sequence) {
  nb::list list;
  for (const Value &item : sequence.items)
    list.append(fromValue(item));
  if (sequence.isSet) return nb::steal(PySet_New(list.ptr()));
  if (sequence.type)
    if (nb::object made = instanceOf(*sequence.type, list); made.is_valid()) return made;
  if (!sequence.fieldNames.empty()) {
    nb::list fields;
    for (const std::string &name : sequence.fieldNames)
      fields.append(name);
    nb::object type = nb::module_::import_("collections").attr("namedtuple")("values", fields);
    return type(*nb::tuple(list));
  }
  return sequence.isTuple ? nb::object(nb::tuple(list)) : nb::object(list);
}

nb::object fromValue(const Value &value) {
  if (value.isNone()) return nb::none();
  if (value.isEllipsis()) return nb::ellipsis();
  if (const bool *truth = value.asBool()) return nb::bool_(*truth);
  if (const Int *number = value.asInt()) return nb::steal(PyLong_FromString(intToString(*number).c_str(), nullptr, 10));
  if (const double *number = value.asFloat()) return nb::float_(*number);
  if (const std::string *text = value.asString()) return nb::str(text->c_str(), text->size());
  if (const Sequence *sequence = value.asSequence()) return sequenceOf(*sequence);
  if (const Dict *dict = value.asDict()) {
    nb::dict out;
    for (const auto &[key, item] : dict->items)
      out[fromValue(key)] = fromValue(item);
    return out;
  }
  if (const Type *type = value.asType()) {
    static constinit PackageMember make("language.core", "type_named");
    return make(signatureName(*type));
  }
  if (const Builtin *builtin = value.asBuiltin()) {
    static constinit PackageMember find("language.core", "member_named");
    return find(builtin->path.str());
  }
  if (std::shared_ptr<const Callable> callable = value.asCallable())
    if (auto *ours = dynamic_cast<const PyCallable *>(callable.get())) return nb::borrow(ours->object());
  raise(PyExc_TypeError, value.describe() + " cannot be handed to a Python function");
}

} // namespace tilewright::python
