// PyTorch's tensors, read without going through Python.
//
//   x.dtype, x.get_device(), x.data_ptr()     200 ns: three attribute look-ups, three calls, three objects
//   aoti_torch_get_data_ptr(handle, &p) ...    10 ns: PyTorch's C interface, which keeps its form between versions
//
// The handle of that interface is the address of the at::Tensor in a Python tensor. Where it stands there is no part of an interface, so
// it is looked for once, in the first tensor that comes: `_cdata` says what must be found. If it is not where any version has had it, or if
// what the C functions say about that tensor is not what Python says, tensors are read by their methods as before.

#include "torch.h"

#include <cstring>
#include <dlfcn.h>

namespace tilewright::python {

namespace {

using GetNumber = int32_t (*)(void *tensor, int32_t *result);
using GetAddress = int32_t (*)(void *tensor, void **result);
using GetWide = int32_t (*)(void *tensor, int64_t *result);
using GetList = int32_t (*)(void *tensor, int64_t **result);
using GetStream = int32_t (*)(int32_t device, void **stream);
constexpr int32_t cudaType = 1; // c10::DeviceType

enum class Known : uint8_t { untried, no, yes };

struct Interface {
  Known state = Known::untried;
  size_t offset = 0; // of the at::Tensor in the object
  bool mayBorrow = false;
  GetAddress address = nullptr;
  GetWide rank = nullptr;
  GetList sizes = nullptr, strides = nullptr; // null, all three: nobody knows how large tensors are
  GetNumber dtype = nullptr, deviceType = nullptr, device = nullptr;
  std::array<std::optional<Scalar>, 64> scalars; // by PyTorch's number; filled as types are met
};
Interface interface;

template <typename F> bool find(F &function, const char *library, const char *name) {
  // Only if it is loaded: a tensor came from it.
  static_assert(std::is_pointer_v<F>);
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  function = handle ? reinterpret_cast<F>(dlsym(handle, name)) : nullptr;
  return function != nullptr;
}

uint64_t word(PyObject *tensor, size_t offset) {
  uint64_t value;
  std::memcpy(&value, reinterpret_cast<const char *>(tensor) + offset, sizeof(value));
  return value;
}

void *handleOf(PyObject *tensor) {
  char *start = reinterpret_cast<char *>(tensor);
  // A borrowed tensor stands elsewhere.
  if (interface.mayBorrow && start[sizeof(PyObject)] != 0) return nullptr;
  return start + interface.offset;
}

bool tryInterface(nb::handle tensor) {
  if (!find(interface.address, "libtorch_cpu.so", "aoti_torch_get_data_ptr") ||
      !find(interface.dtype, "libtorch_cpu.so", "aoti_torch_get_dtype") ||
      !find(interface.device, "libtorch_cpu.so", "aoti_torch_get_device_index") ||
      !find(interface.deviceType, "libtorch_cpu.so", "aoti_torch_get_device_type"))
    return false;
  if (!find(interface.rank, "libtorch_cpu.so", "aoti_torch_get_dim") || !find(interface.sizes, "libtorch_cpu.so", "aoti_torch_get_sizes") ||
      !find(interface.strides, "libtorch_cpu.so", "aoti_torch_get_strides"))
    interface.sizes = interface.strides = nullptr;
  nb::object data = nb::getattr(tensor, "_cdata", nb::none());
  if (!PyLong_Check(data.ptr())) return false;
  uint64_t expected = PyLong_AsUnsignedLongLong(data.ptr());
  if (word(tensor.ptr(), sizeof(PyObject)) == expected) { // since 2.10: the tensor follows the head
    interface.offset = sizeof(PyObject);
  } else if (word(tensor.ptr(), sizeof(PyObject) + 8) == expected) { // before: a flag says whether it is borrowed
    interface.offset = sizeof(PyObject) + 8;
    interface.mayBorrow = true;
  } else {
    return false;
  }
  void *handle = handleOf(tensor.ptr()), *address = nullptr;
  int32_t device = -1;
  if (!handle || interface.address(handle, &address) != 0 || interface.device(handle, &device) != 0) return false;
  return nb::cast<uint64_t>(tensor.attr("data_ptr")()) == reinterpret_cast<uint64_t>(address) &&
         nb::cast<int64_t>(tensor.attr("get_device")()) == device;
}

int32_t dtypeOf(PyObject *tensor) {
  int32_t dtype = -1;
  void *handle = interface.state == Known::yes ? handleOf(tensor) : nullptr;
  if (!handle || interface.dtype(handle, &dtype) != 0 || dtype >= static_cast<int32_t>(interface.scalars.size())) return -1;
  return dtype;
}

/// From the first element of a tensor to behind its last one; 0 if that is not known.
int64_t bytesOf(void *handle, int64_t itemBytes) {
  int64_t rank = 0, *sizes = nullptr, *strides = nullptr;
  if (!interface.sizes || !interface.strides) return 0;
  if (interface.rank(handle, &rank) != 0 || interface.sizes(handle, &sizes) != 0 || interface.strides(handle, &strides) != 0) return 0;
  int64_t last = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || strides[i] < 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return (last + 1) * itemBytes;
}

} // namespace

std::optional<Argument> readTorchTensor(nb::handle tensor) {
  if (interface.state != Known::yes) return std::nullopt;
  void *handle = handleOf(tensor.ptr()), *address = nullptr;
  int32_t dtype = -1, type = -1, device = -1;
  if (!handle || interface.deviceType(handle, &type) != 0 || type != cudaType) return std::nullopt;
  if (interface.dtype(handle, &dtype) != 0 || dtype < 0 || dtype >= static_cast<int32_t>(interface.scalars.size())) return std::nullopt;
  std::optional<Scalar> scalar = interface.scalars[static_cast<size_t>(dtype)];
  if (!scalar || interface.device(handle, &device) != 0 || interface.address(handle, &address) != 0) return std::nullopt;
  return Argument::pointer(address, *scalar, bytesOf(handle, byteSize(*scalar)), device);
}

void learnTorchTensor(nb::handle tensor, Scalar scalar) {
  if (interface.state == Known::untried) interface.state = tryInterface(tensor) ? Known::yes : Known::no;
  if (int32_t dtype = dtypeOf(tensor.ptr()); dtype >= 0) interface.scalars[static_cast<size_t>(dtype)] = scalar;
}

// torch._C._cuda_getCurrentRawStream, where there is a PyTorch with CUDA.
static PyObject *streamGetter() {
  static PyObject *getter = nullptr;
  if (getter) return getter;
  static PyObject *const name = PyUnicode_InternFromString("torch");
  PyObject *torch = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  if (!torch) return nullptr;
  nb::object found = nb::getattr(nb::getattr(torch, "_C", nb::none()), "_cuda_getCurrentRawStream", nb::none());
  if (!found.is_none()) getter = found.release().ptr();
  return getter;
}

std::optional<uint64_t> torchStream(int64_t device) {
  static Known state = Known::untried;
  static GetStream get = nullptr;
  void *stream = nullptr;
  if (state == Known::yes && get(static_cast<int32_t>(device), &stream) == 0) return reinterpret_cast<uint64_t>(stream);
  PyObject *getter = streamGetter();
  if (!getter) return std::nullopt;
  nb::object ordinal = nb::steal(PyLong_FromLongLong(device));
  PyObject *arguments[] = {nullptr, ordinal.ptr()};
  nb::object number = nb::steal(PyObject_Vectorcall(getter, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!number.is_valid()) throw nb::python_error();
  uint64_t found = PyLong_AsUnsignedLongLong(number.ptr());
  if (state == Known::untried) {
    bool same = find(get, "libtorch_cuda.so", "aoti_torch_get_current_cuda_stream") && get(static_cast<int32_t>(device), &stream) == 0 &&
                reinterpret_cast<uint64_t>(stream) == found;
    state = same ? Known::yes : Known::no;
  }
  return found;
}

} // namespace tilewright::python
