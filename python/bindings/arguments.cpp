// Launch arguments. This is on the path of every launch, so what an object is, is found out once for its type: afterwards an argument costs
// a look into a small table and a read of its fields.
//
// NumPy's arrays are read in place: the head of PyArrayObject is part of NumPy's ABI since 1.0 and the same in 2.x. The buffer protocol
// would do, but it refuses ml_dtypes' element types and costs five times as much.

#include "core.h"
#include "torch.h"

#include "runtime/cuda/device.h"

#include "llvm/ADT/DenseMap.h"

#include <nanobind/ndarray.h>
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

// Objects in the tables are kept alive by them, so an address never comes to mean something else.
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

Scalar scalarOf(nb::handle dtype, nb::handle object, const char *parameter) {
  auto &known = tables().dtypes;
  if (auto found = known.find(dtype.ptr()); found != known.end()) return found->second;
  nb::object order = nb::getattr(dtype, "isnative", nb::none());
  if (!order.is_none() && !nb::cast<bool>(order)) refuse(object, parameter, "its bytes are in the other order; convert it with .astype");
  std::string name = nb::cast<std::string>(nb::str(nb::getattr(dtype, "name", dtype)));
  std::optional<Scalar> scalar = scalarNamed(name);
  if (!scalar) refuse(object, parameter, "kernels have no element type '" + name + "'");
  // Element types are few objects for the whole process; those made in numbers (by pickling, say) must not fill the table.
  if (known.size() < 256) known[dtype.inc_ref().ptr()] = *scalar;
  return *scalar;
}

// A pointer to an array's first element, with the memory that all its elements take. `strides` in bytes.
Argument pointerTo(void *data, Scalar scalar, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, int64_t device) {
  int64_t before = 0, after = byteSize(scalar);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return Argument::pointer(data, scalar, 0, device).reaching(0, 0);
    (strides[i] < 0 ? before : after) += (shape[i] - 1) * std::abs(strides[i]);
  }
  if (before == 0) return Argument::pointer(data, scalar, after, device);
  return Argument::pointer(data, scalar, 0, device).reaching(before, after);
}

Argument arrayArgument(nb::handle object, const char *parameter) {
  auto *array = reinterpret_cast<ArrayHead *>(object.ptr());
  Scalar scalar = scalarOf(array->dtype, object, parameter);
  size_t rank = static_cast<size_t>(array->rank);
  return pointerTo(array->data, scalar, {array->shape, rank}, {array->strides, rank}, -1);
}

Argument tensorArgument(nb::handle object, const char *parameter);

// Calls a method without arguments, by an interned name.
nb::object callMethod(nb::handle object, PyObject *name) {
  PyObject *arguments[] = {object.ptr()};
  PyObject *result = PyObject_VectorcallMethod(name, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

// A tensor of PyTorch, by its methods: three calls into C, and nothing is made but small ints.
Argument torchSubclassArgument(nb::handle object, const char *parameter) {
  static PyObject *const dtypeName = PyUnicode_InternFromString("dtype"), *const deviceName = PyUnicode_InternFromString("get_device"),
                         *const addressName = PyUnicode_InternFromString("data_ptr");
  nb::object dtype = nb::steal(PyObject_GetAttr(object.ptr(), dtypeName));
  if (!dtype.is_valid()) throw nb::python_error();
  Scalar scalar = scalarOf(dtype, object, parameter);
  long device = PyLong_AsLong(callMethod(object, deviceName).ptr());
  if (device < 0) { // the CPU, or a kind of device that has no numbers
    if (PyErr_Occurred()) throw nb::python_error();
    return tensorArgument(object, parameter);
  }
  void *address = PyLong_AsVoidPtr(callMethod(object, addressName).ptr());
  if (!address && PyErr_Occurred()) throw nb::python_error();
  // Other accelerators number their devices, too. Memory of theirs is known by the device's type only, which is found out once.
  static const bool isCuda = nb::cast<std::string>(object.attr("device").attr("type")) == "cuda";
  if (!isCuda) return tensorArgument(object, parameter);
  StreamHints::current().torch = true;
  return Argument::pointer(address, scalar, 0, device);
}

// PyTorch's own types, whose methods nobody overrides.
Argument torchArgument(nb::handle object, const char *parameter) {
  if (std::optional<Argument> argument = readTorchTensor(object)) {
    StreamHints::current().torch = true;
    return *argument;
  }
  Argument argument = torchSubclassArgument(object, parameter);
  learnTorchTensor(object, argument.element());
  return argument;
}

// What PyTorch's tensors look like; many others look so, too.
Argument tensorArgument(nb::handle object, const char *parameter) {
  Scalar scalar = scalarOf(object.attr("dtype"), object, parameter);
  int64_t ordinal = -1;
  if (nb::object device = nb::getattr(object, "device", nb::none()); !device.is_none()) {
    nb::object kind = nb::getattr(device, "type", nb::none());
    std::string type = nb::isinstance<nb::str>(kind) ? nb::cast<std::string>(kind) : "cpu";
    if (type == "cuda") {
      nb::object index = nb::getattr(device, "index", nb::none());
      ordinal = index.is_none() ? 0 : nb::cast<int64_t>(index);
      StreamHints::current().torch = true;
    } else if (type != "cpu" && type != "meta") {
      raise(PyExc_ValueError, std::string("parameter '") + (parameter ? parameter : "?") + "': the tensor is on '" +
                                  nb::cast<std::string>(nb::str(device)) + "', where kernels do not run; they run on 'cpu' and 'cuda'");
    }
  }
  nb::object address = object.attr("data_ptr")();
  void *data = PyLong_AsVoidPtr(address.ptr());
  if (PyErr_Occurred()) throw nb::python_error();
  int64_t bytes = 0;
  if (nb::object count = nb::getattr(object, "numel", nb::object()); count.is_valid() && PyCallable_Check(count.ptr())) {
    nb::object contiguous = nb::getattr(object, "is_contiguous", nb::object());
    if (contiguous.is_valid() && nb::cast<bool>(contiguous())) bytes = nb::cast<int64_t>(count()) * byteSize(scalar);
  }
  return Argument::pointer(data, scalar, bytes, ordinal);
}

// The device whose memory an address is, where the array does not say.
int64_t deviceOfAddress(void *address) {
  Diagnostics diagnostics;
  const gpu::Driver *driver = gpu::cudaDriver(diagnostics);
  int ordinal = 0;
  if (driver &&
      driver->pointerAttribute(&ordinal, gpu::PointerAttribute::deviceOrdinal, reinterpret_cast<uint64_t>(address)) == gpu::status::success)
    return ordinal;
  return 0;
}

// CuPy's arrays and others with __cuda_array_interface__.
Argument cudaArrayArgument(nb::handle object, const char *parameter) {
  nb::object interface = object.attr("__cuda_array_interface__");
  Scalar scalar;
  if (nb::object dtype = nb::getattr(object, "dtype", nb::none()); !dtype.is_none()) {
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
  void *address = PyLong_AsVoidPtr(nb::object(interface["data"][0]).ptr());
  if (!address && PyErr_Occurred()) throw nb::python_error();
  nb::object stream = interface.attr("get")("stream");
  if (!stream.is_none()) {
    StreamHints &hints = StreamHints::current();
    hints.known = true;
    hints.stream = nb::cast<uint64_t>(stream);
  }
  int64_t device = 0;
  nb::object own = nb::getattr(nb::getattr(object, "device", nb::none()), "id", nb::none());
  if (nb::isinstance<nb::int_>(own))
    device = nb::cast<int64_t>(own);
  else if (address)
    device = deviceOfAddress(address);
  return Argument::pointer(address, scalar, 0, device);
}

std::optional<Scalar> dlpackScalar(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  auto sized = [&](Scalar b8, Scalar b16, Scalar b32, Scalar b64) -> std::optional<Scalar> {
    switch (type.bits) {
    case 8: return b8;
    case 16: return b16;
    case 32: return b32;
    case 64: return b64;
    default: return std::nullopt;
    }
  };
  if (type.lanes != 1) return std::nullopt;
  switch (static_cast<int>(type.code)) {
  case static_cast<int>(Code::Int): return sized(Scalar::int8, Scalar::int16, Scalar::int32, Scalar::int64);
  case static_cast<int>(Code::UInt): return sized(Scalar::uint8, Scalar::uint16, Scalar::uint32, Scalar::uint64);
  case static_cast<int>(Code::Float): return type.bits == 8 ? std::nullopt : sized(Scalar::fp16, Scalar::fp16, Scalar::fp32, Scalar::fp64);
  case static_cast<int>(Code::Bfloat): return Scalar::bf16;
  case static_cast<int>(Code::Bool): return Scalar::int1;
  // DLPack 1.1: the 8-bit floats.
  case 9: return Scalar::fp8e4b15;
  case 10: return Scalar::fp8e4nv;
  case 11: return Scalar::fp8e4b8;
  case 12: return Scalar::fp8e5;
  case 13: return Scalar::fp8e5b16;
  default: return std::nullopt;
  }
}

Argument exchangedArgument(nb::handle object, const char *parameter) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array)) {
    PyErr_Clear();
    refuse(object, parameter, "it cannot be read through DLPack or the buffer protocol");
  }
  int kind = array.device_type();
  // Pinned and managed memory (3, 13) is the host's and the device's.
  bool isDevice = kind == nb::device::cuda::value || kind == 13;
  if (!isDevice && kind != nb::device::cpu::value && kind != 3)
    raise(PyExc_ValueError, std::string("parameter '") + (parameter ? parameter : "?") +
                                "': the array is neither in the CPU's memory nor in that of an NVIDIA GPU");
  std::optional<Scalar> scalar = dlpackScalar(array.dtype());
  if (!scalar) refuse(object, parameter, "kernels have no such element type");
  // The object itself keeps the memory; the caller holds it for as long as the launch takes.
  llvm::SmallVector<int64_t, 8> shape, strides;
  for (size_t i = 0; i < array.ndim(); ++i) {
    shape.push_back(static_cast<int64_t>(array.shape(i)));
    strides.push_back(array.stride(i) * byteSize(*scalar));
  }
  return pointerTo(const_cast<void *>(array.data()), *scalar, shape, strides, isDevice ? array.device_id() : -1);
}

std::vector<int64_t> integers(nb::handle sequence) {
  std::vector<int64_t> out;
  for (nb::handle item : nb::iter(sequence)) {
    nb::object number = nb::steal(PyNumber_Index(item.ptr()));
    if (!number.is_valid()) {
      PyErr_Clear();
      number = nb::steal(PyNumber_Index(item.attr("value").ptr())); // a constexpr
      if (!number.is_valid()) throw nb::python_error();
    }
    out.push_back(nb::cast<int64_t>(number));
  }
  return out;
}

Argument descriptorArgument(nb::handle object, const char *parameter) {
  Argument base = toArgument(object.attr("base"), parameter);
  if (!base.isPointer()) refuse(object, parameter, "its base is no tensor");
  if (nb::object padding = nb::getattr(object, "padding", nb::none());
      nb::isinstance<nb::str>(padding) && nb::cast<std::string>(padding) != "zero")
    raise(PyExc_ValueError,
          "host-side tensor descriptors are padded with zeros only; make the descriptor in the kernel for padding_option='nan'");
  Argument result = Argument::descriptor(base.address(), base.element(), integers(object.attr("shape")), integers(object.attr("strides")),
                                         integers(object.attr("block_shape")), base.bytes(), base.device());
  if (auto memory = base.memory(); memory && base.bytes() == 0) {
    auto address = reinterpret_cast<uint64_t>(base.address());
    return result.reaching(static_cast<int64_t>(address - memory->first), static_cast<int64_t>(memory->second - address));
  }
  return result;
}

Family familyOf(nb::handle object) {
  PyObject *raw = object.ptr();
  if (PyLong_Check(raw)) return Family::integer;
  if (PyFloat_Check(raw)) return Family::floating;
  if (PyUnicode_Check(raw)) return Family::text;
  if (PyTuple_Check(raw) || PyList_Check(raw)) return Family::tuple;
  if (nb::hasattr(object, "_tilewright_value") || nb::hasattr(object, "_tilewright_name") || nb::isinstance<PyKernel>(object))
    return Family::ours;
  if (nb::hasattr(object, "data_ptr")) {
    nb::object modules = nb::module_::import_("sys").attr("modules");
    if (PyObject *torch = PyDict_GetItemString(modules.ptr(), "torch"))
      if (nb::object tensor = nb::getattr(torch, "Tensor", nb::none());
          PyType_Check(tensor.ptr()) && PyObject_IsInstance(raw, tensor.ptr()) == 1) {
        auto *type = reinterpret_cast<PyObject *>(Py_TYPE(raw));
        nb::object parameter = nb::getattr(nb::getattr(torch, "nn", nb::none()), "Parameter", nb::none());
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
  if (nb::hasattr(object, "block_shape") && nb::hasattr(object, "base")) return Family::descriptor;
  if (nb::hasattr(object, "__cuda_array_interface__")) return Family::cudaArray;
  if (nb::hasattr(object, "__dlpack__")) return Family::exchange;
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
    PyErr_Clear();
  }
  raise(PyExc_OverflowError, "integer argument " + nb::cast<std::string>(nb::str(object)) + " does not fit in 64 bits");
}

Argument tupleArgument(nb::handle object, const char *parameter) {
  std::vector<Argument> members;
  for (nb::handle item : nb::iter(object))
    members.push_back(toArgument(item, parameter));
  std::vector<std::string> names;
  if (nb::object fields = nb::getattr(object, "_fields", nb::none()); !fields.is_none())
    for (nb::handle field : nb::iter(fields))
      names.push_back(nb::cast<std::string>(nb::str(field)));
  return Argument::tuple(std::move(members), std::move(names));
}

Argument constantArgument(nb::handle object, const char *parameter) {
  Value value = toValue(object);
  if (value.asHost()) refuse(object, parameter, "");
  return Argument::constant(std::move(value));
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

Argument toArgument(nb::handle object, const char *parameter) {
  PyObject *raw = object.ptr();
  if (raw == Py_None) return Argument::none();
  if (raw == Py_True || raw == Py_False) return Argument::boolean(raw == Py_True);
  auto &families = tables().families;
  PyTypeObject *type = Py_TYPE(raw);
  Family family;
  if (auto found = families.find(type); found != families.end()) {
    family = found->second;
  } else {
    family = familyOf(object);
    if (families.size() < 1024) {
      Py_INCREF(reinterpret_cast<PyObject *>(type));
      families[type] = family;
    }
  }
  switch (family) {
  case Family::integer: return integerArgument(object);
  case Family::floating: return Argument::floating(PyFloat_AsDouble(raw));
  case Family::array: return arrayArgument(object, parameter);
  case Family::torch: return torchArgument(object, parameter);
  case Family::torchSubclass: return torchSubclassArgument(object, parameter);
  case Family::tensor: return tensorArgument(object, parameter);
  case Family::cudaArray: return cudaArrayArgument(object, parameter);
  case Family::exchange:
  case Family::buffer: return exchangedArgument(object, parameter);
  case Family::tuple: return tupleArgument(object, parameter);
  case Family::descriptor: return descriptorArgument(object, parameter);
  case Family::torchDtype: {
    Scalar scalar = scalarOf(object, object, parameter);
    return Argument::constant(Value::type(scalar));
  }
  case Family::numpyScalar: return toArgument(object.attr("item")(), parameter);
  default: return constantArgument(object, parameter);
  }
}

} // namespace tilewright::python
