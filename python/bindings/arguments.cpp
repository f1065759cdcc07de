// Launch arguments. This code is on the path of every launch, so the kind of an object is determined
// once for its type: after that an argument costs a look into a small table and a read of its fields.
//
// NumPy's arrays are read in place: the head of PyArrayObject is part of NumPy's ABI since 1.0 and the same in 2.x. The buffer protocol
// would do, but it refuses ml_dtypes' element types and costs five times as much.

#include "exchange.h"
#include "torch.h"

#include "runtime/cuda/device.h"

#include "llvm/ADT/DenseMap.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace tilewright::python {

namespace {

struct ArrayHead {
  PyObject_HEAD char *data;
  int rank;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  PyObject *base;
  PyObject *dtype;
  int flags;
};

enum class Family : uint8_t {
  unknown,
  integer,
  floating,
  boolean,
  text,
  none,
  array,
  tensor,
  wrapper,
  torch,
  torchSubclass,
  cudaArray,
  exchange,
  buffer,
  tuple,
  ours,
  descriptor,
  torchDtype,
  numpyScalar
};

// The tables keep their objects alive, so that an address never comes to mean another object.
struct Tables {
  llvm::DenseMap<PyTypeObject *, Family> families;
  llvm::DenseMap<PyObject *, Scalar> dtypes;
};
Tables &tables() {
  static auto *instance = new Tables;
  return *instance;
}

[[noreturn]] void refuse(nb::handle object, const char *parameter, const std::string &why) {
  std::string text = "failed to specialize argument of type: " +
                     nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr()))).attr("__name__")));
  if (parameter) text = "parameter '" + std::string(parameter) + "': " + text;
  raise(PyExc_TypeError, text + (why.empty() ? "" : ": " + why));
}

/// The element type of arrays that a kernel may take. The language has no numbers of the microscaling formats, so kernels see their bytes:
/// that is what PyTorch's Inductor generates for such tensors.
std::optional<Scalar> elementNamed(const std::string &name) {
  llvm::StringRef last = llvm::StringRef(name).rsplit('.').second;
  if (last.empty()) last = name;
  return last == "float8_e8m0fnu" || last == "float4_e2m1fn_x2" ? Scalar::uint8 : scalarNamed(name);
}

Scalar scalarOf(nb::handle dtype, nb::handle object, const char *parameter) {
  auto &known = tables().dtypes;
  if (auto found = known.find(dtype.ptr()); found != known.end()) return found->second;
  nb::object order = memberOr(dtype, "isnative", nb::none());
  if (!order.is_none() && !nb::cast<bool>(order)) refuse(object, parameter, "its bytes are in the other order; convert it with .astype");
  std::string name = nb::cast<std::string>(nb::str(memberOr(dtype, "name", nb::borrow(dtype))));
  std::optional<Scalar> scalar = elementNamed(name);
  if (!scalar) refuse(object, parameter, "kernels have no element type '" + name + "'");
  // A process has few objects for element types; a program that makes many of them (by pickling, for instance) must not fill the table.
  if (known.size() < 256) known[dtype.inc_ref().ptr()] = *scalar;
  return *scalar;
}

/// How the elements of an array lie in memory.
struct Extent {
  int64_t bytes = 0;             // from the first element on if all elements have higher addresses; otherwise 0
  int64_t before = 0, after = 0; // bytes of the elements before the first one, and from it on
  bool known = false;            // otherwise all of the above is 0
  bool empty = false;            // there are no elements
  bool broadcast = false;        // several elements lie at one place
};

/// From shape and strides, one dimension after the other; strides in units of `unit` bytes.
template <typename Shape, typename Strides>
Extent extentOf(int64_t rank, const Shape &shape, const Strides &strides, int64_t unit, int64_t itemBytes) {
  Extent extent;
  extent.known = true;
  extent.after = itemBytes;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = shape(i), stride = 0, reach = 0;
    bool fits = !__builtin_mul_overflow(strides(i), unit, &stride) && !__builtin_mul_overflow(size - 1, stride, &reach);
    extent.empty |= size == 0;
    extent.broadcast |= size > 1 && stride == 0;
    int64_t &total = reach < 0 ? extent.before : extent.after;
    // No array in memory is so large: nothing is known of its extent.
    if (!fits || __builtin_add_overflow(total, reach < 0 ? -reach : reach, &total)) extent.known = false;
  }
  extent.broadcast &= !extent.empty;
  if (extent.empty || !extent.known) extent.before = extent.after = 0;
  extent.bytes = extent.before == 0 ? extent.after : 0;
  return extent;
}

Memory memoryOf(const void *address, const Extent &extent, bool readOnly) {
  if (!address && !extent.empty) return Memory::absent;
  return readOnly ? Memory::readOnly : extent.broadcast ? Memory::broadcast : Memory::plain;
}

/// A pointer to an array's first element, with everything that is known about its memory.
Argument pointerTo(void *address, Scalar scalar, const Extent &extent, bool readOnly, int64_t device) {
  Argument argument = Argument::pointer(address, scalar, extent.bytes, device);
  if (extent.known && extent.bytes == 0) argument = argument.reaching(extent.before, extent.after);
  argument.setMemory(memoryOf(address, extent, readOnly));
  return argument;
}

Argument arrayArgument(nb::handle object, const char *parameter) {
  auto *array = reinterpret_cast<ArrayHead *>(object.ptr());
  Scalar scalar = scalarOf(array->dtype, object, parameter);
  constexpr int writeable = 0x0400; // NPY_ARRAY_WRITEABLE
  Extent extent =
      extentOf(array->rank, [&](int64_t i) { return array->shape[i]; }, [&](int64_t i) { return array->strides[i]; }, 1, byteSize(scalar));
  return pointerTo(array->data, scalar, extent, (array->flags & writeable) == 0, -1);
}

Argument tensorArgument(nb::handle object, const char *parameter);

void *addressOf(nb::handle number) {
  void *address = PyLong_AsVoidPtr(number.ptr());
  if (!address && PyErr_Occurred()) throw nb::python_error();
  return address;
}

/// The error for a tensor whose data_ptr() fails, such as PyTorch's fake tensors, with the parameter's name.
[[noreturn]] void refuseWithoutMemory(nb::python_error &error, const char *parameter) {
  if (!error.matches(PyExc_RuntimeError)) throw error;
  std::string text = parameter ? "parameter '" + std::string(parameter) + "': " : "";
  raise(PyExc_ValueError, text + "the memory of this tensor cannot be reached: " + nb::cast<std::string>(nb::str(error.value())));
}

// Calls a method without arguments, by an interned name.
nb::object callMethod(nb::handle object, PyObject *name) {
  PyObject *arguments[] = {object.ptr()};
  PyObject *result = PyObject_VectorcallMethod(name, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

// A tensor of PyTorch, by its methods: three calls into C, which make nothing but small ints.
Argument torchSubclassArgument(nb::handle object, const char *parameter) {
  static PyObject *const dtypeName = PyUnicode_InternFromString("dtype"), *const deviceName = PyUnicode_InternFromString("get_device"),
                         *const addressName = PyUnicode_InternFromString("data_ptr");
  nb::object dtype = nb::steal(PyObject_GetAttr(object.ptr(), dtypeName));
  if (!dtype.is_valid()) throw nb::python_error();
  Scalar scalar = scalarOf(dtype, object, parameter);
  long device = PyLong_AsLong(callMethod(object, deviceName).ptr());
  if (device < 0) { // the CPU, or a kind of device without numbers
    if (PyErr_Occurred()) throw nb::python_error();
    return tensorArgument(object, parameter);
  }
  void *address = nullptr;
  try {
    address = addressOf(callMethod(object, addressName));
  } catch (nb::python_error &error) {
    refuseWithoutMemory(error, parameter);
  }
  if (!address) return tensorArgument(object, parameter); // it is empty, or only describes a tensor
  // Other accelerators number their devices, too. Only the device's type distinguishes them, which is read once.
  static const bool isCuda = nb::cast<std::string>(object.attr("device").attr("type")) == "cuda";
  if (!isCuda) return tensorArgument(object, parameter);
  StreamHints::current().torch = true;
  return Argument::pointer(address, scalar, 0, device);
}

// PyTorch's own types, whose methods are not overridden.
Argument torchArgument(nb::handle object, const char *parameter) {
  if (std::optional<TorchTensor> tensor = readTorchTensor(object)) {
    int64_t bytes = byteSize(tensor->element);
    Extent extent =
        extentOf(tensor->rank, [&](int64_t i) { return tensor->sizes[i]; }, [&](int64_t i) { return tensor->strides[i]; }, bytes, bytes);
    if (tensor->device < 0) return pointerTo(tensor->address, tensor->element, extent, false, -1);
    StreamHints::current().torch = true;
    return Argument::pointer(tensor->address, tensor->element, extent.bytes, tensor->device);
  }
  Argument argument = torchSubclassArgument(object, parameter);
  learnTorchTensor(object, argument.element());
  return argument;
}

/// A list or tuple of ints, or a method that gives one; nothing if the object has no such attribute.
std::optional<std::vector<int64_t>> extentsOf(nb::handle object, const char *name) {
  nb::object found = memberOr(object, name, nb::none());
  if (PyCallable_Check(found.ptr())) found = found();
  std::vector<int64_t> extents;
  if (!nb::try_cast(found, extents)) return std::nullopt;
  return extents;
}

/// Where the elements of a tensor-like object lie, as far as it says.
Extent extentOfTensor(nb::handle object, int64_t itemBytes) {
  std::optional<std::vector<int64_t>> shape = extentsOf(object, "shape");
  if (!shape) {
    nb::object count = memberOr(object, "numel", nb::none());
    Extent extent;
    extent.known = extent.empty = PyCallable_Check(count.ptr()) && nb::cast<int64_t>(count()) == 0;
    return extent;
  }
  auto rank = static_cast<int64_t>(shape->size());
  std::optional<std::vector<int64_t>> strides = extentsOf(object, "stride");
  bool known = strides && strides->size() == shape->size();
  auto at = [](const std::vector<int64_t> &list) { return [&list](int64_t i) { return list[static_cast<size_t>(i)]; }; };
  if (known) return extentOf(rank, at(*shape), at(*strides), itemBytes, itemBytes);
  Extent extent;
  extent.known = extent.empty = llvm::is_contained(*shape, 0);
  return extent;
}

/// The device that an address belongs to, where the array does not say; null where CUDA knows of none.
std::optional<int64_t> deviceOfAddress(void *address) {
  Diagnostics diagnostics;
  const gpu::Driver *driver = gpu::cudaDriver(diagnostics);
  int ordinal = 0;
  if (driver &&
      driver->pointerAttribute(&ordinal, gpu::PointerAttribute::deviceOrdinal, reinterpret_cast<uint64_t>(address)) == gpu::status::success)
    return ordinal;
  return std::nullopt;
}

// What PyTorch's tensors look like; many others look so, too.
Argument tensorArgument(nb::handle object, const char *parameter) {
  Scalar scalar = scalarOf(object.attr("dtype"), object, parameter);
  int64_t ordinal = -1;
  nb::object device = memberOr(object, "device", nb::none());
  if (!device.is_none()) {
    nb::object kind = memberOr(device, "type", nb::none());
    std::string type = nb::isinstance<nb::str>(kind) ? nb::cast<std::string>(kind) : "cpu";
    if (type == "cuda") {
      nb::object index = memberOr(device, "index", nb::none());
      ordinal = index.is_none() ? 0 : nb::cast<int64_t>(index);
      StreamHints::current().torch = true;
    } else if (type != "cpu" && type != "meta") {
      raise(PyExc_ValueError, std::string("parameter '") + (parameter ? parameter : "?") + "': the tensor is on '" +
                                  nb::cast<std::string>(nb::str(device)) + "', where kernels do not run; they run on 'cpu' and 'cuda'");
    }
  }
  void *data = nullptr;
  try {
    data = addressOf(object.attr("data_ptr")());
  } catch (nb::python_error &error) {
    refuseWithoutMemory(error, parameter);
  }
  if (device.is_none() && data) ordinal = deviceOfAddress(data).value_or(-1);
  Extent extent = extentOfTensor(object, byteSize(scalar));
  return pointerTo(data, scalar, extent, false, ordinal);
}

/// What tilewright.reinterpret gives: the memory of another array, with elements of another type.
Argument wrappedArgument(nb::handle object, const char *parameter) {
  nb::object owner = object.attr("base");
  keepObject(owner); // a property may have made it
  Argument base = toArgument(owner, parameter);
  if (!base.isPointer()) refuse(object, parameter, "its base is no tensor");
  Argument argument = Argument::pointer(base.address(), scalarOf(object.attr("dtype"), object, parameter), base.bytes(), base.device());
  argument.setMemory(base.memory());
  return argument;
}

// CuPy's arrays and others with __cuda_array_interface__.
Argument cudaArrayArgument(nb::handle object, const char *parameter) {
  nb::object interface = object.attr("__cuda_array_interface__");
  keepObject(interface);
  Scalar scalar;
  if (nb::object dtype = memberOr(object, "dtype", nb::none()); !dtype.is_none()) {
    scalar = scalarOf(dtype, object, parameter);
  } else {
    std::string type = nb::cast<std::string>(interface["typestr"]); // "<f4"
    std::string kind = type.size() > 2 ? type.substr(1, 1) : "", bytes = type.size() > 2 ? type.substr(2) : "0";
    std::string word = kind == "f" ? "float" : kind == "i" ? "int" : kind == "u" ? "uint" : kind == "b" ? "bool" : "";
    std::optional<Scalar> known;
    if (type[0] != '>' && !word.empty()) known = scalarNamed(kind == "b" ? word : word + std::to_string(8 * std::atoi(bytes.c_str())));
    if (!known) refuse(object, parameter, "kernels have no element type '" + type + "'");
    scalar = *known;
  }
  void *address = addressOf(interface["data"][0]);
  bool readOnly = nb::cast<bool>(nb::bool_(interface["data"][1]));
  nb::object stream = interface.attr("get")("stream");
  if (!stream.is_none()) {
    StreamHints &hints = StreamHints::current();
    hints.known = true;
    hints.stream = nb::cast<uint64_t>(stream);
  }
  int64_t device = 0;
  nb::object own = memberOr(memberOr(object, "device", nb::none()), "id", nb::none());
  if (nb::isinstance<nb::int_>(own))
    device = nb::cast<int64_t>(own);
  else if (address)
    device = deviceOfAddress(address).value_or(0);
  std::vector<int64_t> shape;
  Extent extent;
  extent.known = extent.empty = nb::try_cast(nb::object(interface.attr("get")("shape")), shape) && llvm::is_contained(shape, 0);
  return pointerTo(address, scalar, extent, readOnly, device);
}

// What offers DLPack or the buffer protocol alone.
Argument exportedArgument(nb::handle object, const char *parameter, bool hasDlpack) {
  Result<Exported> exported = readExported(object, hasDlpack);
  if (!exported) refuse(object, parameter, exported.error());
  // Pinned and managed memory (3, 13) is the host's and the device's.
  bool isDevice = exported->deviceType == 2 || exported->deviceType == 13;
  if (!isDevice && exported->deviceType != 1 && exported->deviceType != 3)
    raise(PyExc_ValueError, std::string("parameter '") + (parameter ? parameter : "?") +
                                "': the array is neither in the CPU's memory nor in that of an NVIDIA GPU");
  Extent extent = extentOf(
      static_cast<int64_t>(exported->shape.size()), [&](int64_t i) { return exported->shape[static_cast<size_t>(i)]; },
      [&](int64_t i) { return exported->strides[static_cast<size_t>(i)]; }, 1, byteSize(exported->element));
  return pointerTo(exported->address, exported->element, extent, exported->isReadOnly, isDevice ? exported->deviceId : -1);
}

std::vector<int64_t> integers(nb::handle sequence) {
  std::vector<int64_t> out;
  for (nb::handle item : nb::iter(sequence)) {
    nb::object number = nb::steal(PyNumber_Index(item.ptr()));
    if (!number.is_valid()) {
      clearException();
      nb::object value = memberOr(item, "value", nb::none()); // a constexpr
      number = nb::steal(PyNumber_Index(value.ptr()));
      if (!number.is_valid()) {
        clearException();
        raise(PyExc_TypeError,
              "the shape, strides and block_shape of a tensor descriptor are ints, not " + nb::cast<std::string>(nb::repr(item)));
      }
    }
    int overflow = 0;
    out.push_back(PyLong_AsLongLongAndOverflow(number.ptr(), &overflow));
    if (overflow) raise(PyExc_OverflowError, nb::cast<std::string>(nb::str(number)) + " does not fit in 64 bits");
  }
  return out;
}

Argument descriptorArgument(nb::handle object, const char *parameter) {
  nb::object owner = object.attr("base");
  keepObject(owner); // a property may have made it
  Argument base = toArgument(owner, parameter);
  if (!base.isPointer()) refuse(object, parameter, "its base is no tensor");
  DescriptorMode mode;
  nb::object padding = memberOr(object, "padding", nb::none()), rounds = memberOr(object, "round_f32_to_tf32", nb::none());
  mode.padsWithNan = nb::isinstance<nb::str>(padding) && nb::cast<std::string>(padding) == "nan";
  mode.roundsToTf32 = rounds.ptr() == Py_True;
  std::vector<int64_t> shape = integers(object.attr("shape")), strides = integers(object.attr("strides")),
                       block = integers(object.attr("block_shape"));
  auto text = [](const std::vector<int64_t> &numbers) { return nb::cast<std::string>(nb::str(nb::cast(numbers))); };
  auto wrong = [&](const std::string &what) {
    raise(PyExc_ValueError, (parameter ? "parameter '" + std::string(parameter) + "': " : "") + "a tensor descriptor " + what);
  };
  if (mode.padsWithNan && !isFloat(base.element())) wrong("of integers cannot be padded with NaN");
  if (mode.roundsToTf32 && base.element() != Scalar::fp32) wrong("with round_f32_to_tf32 is one of fp32");
  if (block.empty()) wrong("needs a block_shape of at least one dimension");
  if (shape.size() != block.size() || strides.size() != block.size())
    wrong("has one extent and one stride for each dimension of its block_shape " + text(block) + "; its shape is " + text(shape) +
          " and its strides are " + text(strides));
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 0; })) wrong("has no negative extents; its shape is " + text(shape));
  if (llvm::any_of(block, [](int64_t extent) { return extent <= 0; })) wrong("has a block_shape of positive extents, not " + text(block));
  Argument argument = Argument::descriptor(base.address(), base.element(), std::move(shape), std::move(strides), std::move(block), mode,
                                           base.bytes(), base.device());
  if (auto reach = base.reach(); reach && base.bytes() == 0) {
    auto address = reinterpret_cast<uint64_t>(base.address());
    argument = argument.reaching(static_cast<int64_t>(address - reach->first), static_cast<int64_t>(reach->second - address));
  }
  argument.setMemory(base.memory());
  return argument;
}

Family familyOf(nb::handle object) {
  PyObject *raw = object.ptr();
  if (PyLong_Check(raw)) return Family::integer;
  if (PyFloat_Check(raw)) return Family::floating;
  if (PyUnicode_Check(raw)) return Family::text;
  if (PyTuple_Check(raw) || PyList_Check(raw)) return Family::tuple;
  static constinit PackageMember tupleClass("language.core", "tuple");
  if (PyObject_IsInstance(raw, tupleClass.ptr()) == 1) return Family::tuple;
  if (hasMember(object, "_tilewright_value") || hasMember(object, "_tilewright_name") || nb::isinstance<PyKernel>(object))
    return Family::ours;
  if (hasMember(object, "data_ptr")) {
    static constinit PackageMember wrapper("runtime.jit", "TensorWrapper");
    if (PyObject_IsInstance(raw, wrapper.ptr()) == 1) return Family::wrapper;
    nb::object modules = nb::module_::import_("sys").attr("modules");
    if (PyObject *torch = PyDict_GetItemString(modules.ptr(), "torch"))
      if (nb::object tensor = memberOr(torch, "Tensor", nb::none());
          PyType_Check(tensor.ptr()) && PyObject_IsInstance(raw, tensor.ptr()) == 1) {
        auto *type = reinterpret_cast<PyObject *>(Py_TYPE(raw));
        nb::object parameter = memberOr(memberOr(torch, "nn", nb::none()), "Parameter", nb::none());
        return type == tensor.ptr() || type == parameter.ptr() ? Family::torch : Family::torchSubclass;
      }
    return Family::tensor;
  }
  nb::handle type(reinterpret_cast<PyObject *>(Py_TYPE(raw)));
  nb::object modules = nb::module_::import_("sys").attr("modules");
  if (PyDict_GetItemString(modules.ptr(), "numpy")) {
    nb::object numpy = modules["numpy"];
    if (PyObject_IsInstance(raw, numpy.attr("ndarray").ptr()) == 1) return Family::array;
    if (PyObject_IsInstance(raw, numpy.attr("generic").ptr()) == 1) return Family::numpyScalar;
    if (PyObject_IsInstance(raw, numpy.attr("dtype").ptr()) == 1) return Family::torchDtype;
  }
  if (hasMember(object, "block_shape") && hasMember(object, "base")) return Family::descriptor;
  if (hasMember(object, "__cuda_array_interface__")) return Family::cudaArray;
  if (hasMember(object, "__dlpack__")) return Family::exchange;
  if (PyObject_CheckBuffer(raw)) return Family::buffer;
  if (nb::cast<std::string>(nb::str(type.attr("__module__"))) == "torch" && nb::cast<std::string>(type.attr("__name__")) == "dtype")
    return Family::torchDtype;
  return Family::ours; // functions and other constants, or nothing that a kernel can take
}

Argument integerArgument(nb::handle object) {
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0) return Argument::integer(value);
  if (overflow > 0) {
    unsigned long long large = PyLong_AsUnsignedLongLong(object.ptr());
    if (!PyErr_Occurred()) return Argument::unsignedInteger(large);
    clearException();
  }
  raise(PyExc_OverflowError, "integer argument " + nb::cast<std::string>(nb::str(object)) + " does not fit in 64 bits");
}

Argument tupleArgument(nb::handle object, const char *parameter) {
  NestedObject nested;
  std::vector<Argument> members;
  bool holdsItems = PyTuple_CheckExact(object.ptr()); // a list may change, and an iterator of the object's own may make its items
  for (nb::handle item : nb::iter(object)) {
    if (!holdsItems) keepObject(item);
    members.push_back(toArgument(item, parameter));
  }
  std::vector<std::string> names;
  if (nb::object fields = memberOr(object, "_fields", nb::none()); !fields.is_none())
    for (nb::handle field : nb::iter(fields))
      names.push_back(nb::cast<std::string>(nb::str(field)));
  return Argument::tuple(std::move(members), std::move(names));
}

Argument constantArgument(nb::handle object, const char *parameter) {
  Value value = toValue(object);
  if (value.asHost()) refuse(object, parameter, "");
  static constinit PackageMember constexprClass("language.core", "constexpr");
  Argument argument = Argument::constant(std::move(value));
  return PyObject_IsInstance(object.ptr(), constexprClass.ptr()) == 1 ? argument.fixed() : argument;
}

Argument numpyScalarArgument(nb::handle object, const char *parameter) {
  nb::object plain = object.attr("item")();
  if (Py_TYPE(plain.ptr()) == Py_TYPE(object.ptr())) // numpy.longdouble has no equal among Python's numbers
    refuse(object, parameter, "kernels have no such type; convert it with float() or int()");
  return toArgument(plain, parameter);
}

} // namespace

StreamHints &StreamHints::current() {
  thread_local StreamHints hints;
  return hints;
}

void *streamFor(int64_t device) {
  const StreamHints &hints = StreamHints::current();
  uint64_t stream = hints.stream;
  if (hints.torch || !hints.known) {
    if (std::optional<uint64_t> current = torchStream(device)) stream = *current;
    // An array whose data comes from another stream is waited for.
    if (hints.known && hints.stream != stream) {
      Diagnostics diagnostics;
      if (const gpu::CudaDevice *where = gpu::CudaDevice::get(device, diagnostics))
        where->synchronize(reinterpret_cast<gpu::StreamHandle>(hints.stream), diagnostics);
      if (diagnostics.hasErrors()) raiseErrors(diagnostics, nullptr);
    }
  }
  return reinterpret_cast<void *>(stream);
}

static Family knownFamily(nb::handle object) {
  auto &families = tables().families;
  PyTypeObject *type = Py_TYPE(object.ptr());
  if (auto found = families.find(type); found != families.end()) return found->second;
  Family family = familyOf(object);
  if (families.size() < 1024) {
    Py_INCREF(reinterpret_cast<PyObject *>(type));
    families[type] = family;
  }
  return family;
}

Argument toConstant(nb::handle object, const char *parameter) {
  if (object.is_none() || knownFamily(object) != Family::ours || !toValue(object).asHost()) return toArgument(object, parameter);
  static constinit PackageMember named("runtime.fingerprint", "named_constant");
  static auto *scopes =
      new llvm::DenseMap<PyObject *, std::shared_ptr<Namespace>>; // by the objects that `named` keeps, one of those that are equal
  nb::object known = named(object);                               // (object, name)
  std::shared_ptr<Namespace> &scope = (*scopes)[nb::object(known[0]).ptr()];
  std::string name = nb::cast<std::string>(known[1]);
  if (!scope || scope->path() != name) scope = objectScope(known[0], name);
  return Argument::constant(Value::nameSpace(scope));
}

Argument toArgument(nb::handle object, const char *parameter) {
  PyObject *raw = object.ptr();
  if (raw == Py_None) return Argument::none();
  if (raw == Py_True || raw == Py_False) return Argument::boolean(raw == Py_True);
  switch (knownFamily(object)) {
  case Family::integer: return integerArgument(object);
  case Family::floating: return Argument::floating(PyFloat_AsDouble(raw));
  case Family::array: return arrayArgument(object, parameter);
  case Family::torch: return torchArgument(object, parameter);
  case Family::torchSubclass: return torchSubclassArgument(object, parameter);
  case Family::tensor: return tensorArgument(object, parameter);
  case Family::wrapper: return wrappedArgument(object, parameter);
  case Family::cudaArray: return cudaArrayArgument(object, parameter);
  case Family::exchange: return exportedArgument(object, parameter, true);
  case Family::buffer: return exportedArgument(object, parameter, false);
  case Family::tuple: return tupleArgument(object, parameter);
  case Family::descriptor: return descriptorArgument(object, parameter);
  case Family::torchDtype: {
    Scalar scalar = scalarOf(object, object, parameter);
    return Argument::constant(Value::type(scalar));
  }
  case Family::numpyScalar: return numpyScalarArgument(object, parameter);
  default: return constantArgument(object, parameter);
  }
}

} // namespace tilewright::python
