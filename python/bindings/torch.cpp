// PyTorch's tensors, read without going through Python.
//
//   x.dtype, x.get_device(), x.data_ptr()     200 ns: three attribute look-ups, three calls, three objects
//   aoti_torch_get_data_ptr(handle, &p) ...    10 ns: PyTorch's C interface, which keeps its form between versions
//
// The handle of that interface is the address of the at::Tensor in a Python tensor. Its place there is not part of any interface,
// so it is searched once, in the first tensor that comes: `_cdata` says what must be found. If it is at no place where a known
// version has it, or if the C functions and Python disagree about that tensor, tensors are read by their methods as before.

#include "torch.h"

#include <array>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <memory>

namespace tilewright::python {

namespace {

using GetNumber = int32_t (*)(void *tensor, int32_t *result);
using GetAddress = int32_t (*)(void *tensor, void **result);
using GetWide = int32_t (*)(void *tensor, int64_t *result);
using GetList = int32_t (*)(void *tensor, int64_t **result);
using GetStream = int32_t (*)(int32_t device, void **stream);
constexpr int32_t cpuType = 0, cudaType = 1; // c10::DeviceType
constexpr int32_t stridedLayout = 0; // c10::Layout; a tensor with another layout has no address, and asking for one writes to stderr

/// What was found out. It never changes, so threads may read it without a lock.
struct Interface {
  size_t offset = 0; // of the at::Tensor in the object
  bool mayBorrow = false;
  GetAddress address = nullptr;
  GetWide rank = nullptr;
  GetList sizes = nullptr, strides = nullptr;
  GetNumber dtype = nullptr, layout = nullptr, deviceType = nullptr, device = nullptr;
};
constinit std::atomic<const Interface *> interface{nullptr}; // null: not looked for yet, or not there
constinit std::atomic<bool> lookedFor{false};
// By PyTorch's number of an element type, our number plus one; 0: not met yet. Filled as types are met.
constinit std::array<std::atomic<uint8_t>, 64> scalars{};

template <typename F> bool find(F &function, const char *library, const char *name) {
  // Only if it is loaded: some tensor came from it.
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

void *handleOf(const Interface &found, PyObject *tensor) {
  char *start = reinterpret_cast<char *>(tensor);
  // A borrowed tensor has another place.
  if (found.mayBorrow && start[sizeof(PyObject)] != 0) return nullptr;
  return start + found.offset;
}

std::optional<Interface> findInterface(nb::handle tensor) {
  Interface found;
  if (!find(found.address, "libtorch_cpu.so", "aoti_torch_get_data_ptr") || !find(found.dtype, "libtorch_cpu.so", "aoti_torch_get_dtype") ||
      !find(found.device, "libtorch_cpu.so", "aoti_torch_get_device_index") ||
      !find(found.deviceType, "libtorch_cpu.so", "aoti_torch_get_device_type") ||
      !find(found.layout, "libtorch_cpu.so", "aoti_torch_get_layout") || !find(found.rank, "libtorch_cpu.so", "aoti_torch_get_dim") ||
      !find(found.sizes, "libtorch_cpu.so", "aoti_torch_get_sizes") || !find(found.strides, "libtorch_cpu.so", "aoti_torch_get_strides"))
    return std::nullopt;
  nb::object data = memberOr(tensor, "_cdata", nb::none());
  if (!PyLong_Check(data.ptr())) return std::nullopt;
  uint64_t expected = PyLong_AsUnsignedLongLong(data.ptr());
  if (word(tensor.ptr(), sizeof(PyObject)) == expected) { // since 2.10: the tensor follows the head
    found.offset = sizeof(PyObject);
  } else if (word(tensor.ptr(), sizeof(PyObject) + 8) == expected) { // before: a flag says whether it is borrowed
    found.offset = sizeof(PyObject) + 8;
    found.mayBorrow = true;
  } else {
    return std::nullopt;
  }
  void *handle = handleOf(found, tensor.ptr()), *address = nullptr;
  int32_t device = -1;
  if (!handle || found.address(handle, &address) != 0 || found.device(handle, &device) != 0) return std::nullopt;
  bool agrees = nb::cast<uint64_t>(tensor.attr("data_ptr")()) == reinterpret_cast<uint64_t>(address) &&
                nb::cast<int64_t>(tensor.attr("get_device")()) == device;
  return agrees ? std::optional(found) : std::nullopt;
}

/// PyTorch's number of the tensor's element type, or -1.
int32_t dtypeOf(const Interface &found, void *handle) {
  int32_t dtype = -1;
  if (!handle || found.dtype(handle, &dtype) != 0 || dtype >= static_cast<int32_t>(scalars.size())) return -1;
  return dtype;
}

} // namespace

std::optional<TorchTensor> readTorchTensor(nb::handle tensor) {
  const Interface *found = interface.load(std::memory_order_acquire);
  if (!found) return std::nullopt;
  void *handle = handleOf(*found, tensor.ptr());
  int32_t type = -1, layout = -1;
  if (!handle || found->deviceType(handle, &type) != 0 || (type != cpuType && type != cudaType)) return std::nullopt;
  if (found->layout(handle, &layout) != 0 || layout != stridedLayout) return std::nullopt;
  TorchTensor read;
  int32_t dtype = dtypeOf(*found, handle);
  uint8_t scalar = dtype < 0 ? 0 : scalars[static_cast<size_t>(dtype)].load(std::memory_order_relaxed);
  if (scalar == 0 || found->address(handle, &read.address) != 0) return std::nullopt;
  // An empty tensor, or one without memory: its methods tell which.
  if (!read.address) return std::nullopt;
  if (type == cudaType && found->device(handle, &read.device) != 0) return std::nullopt;
  if (found->rank(handle, &read.rank) != 0 || found->sizes(handle, &read.sizes) != 0 || found->strides(handle, &read.strides) != 0)
    return std::nullopt;
  read.element = static_cast<Scalar>(scalar - 1);
  return read;
}

void learnTorchTensor(nb::handle tensor, Scalar scalar) {
  // Two threads may both look; one answer is kept.
  if (!lookedFor.load(std::memory_order_acquire)) {
    std::optional<Interface> found = findInterface(tensor);
    const Interface *none = nullptr;
    if (found)
      if (auto fresh = std::make_unique<Interface>(*found); interface.compare_exchange_strong(none, fresh.get())) fresh.release();
    lookedFor.store(true, std::memory_order_release);
  }
  const Interface *found = interface.load(std::memory_order_acquire);
  if (!found) return;
  if (int32_t dtype = dtypeOf(*found, handleOf(*found, tensor.ptr())); dtype >= 0)
    scalars[static_cast<size_t>(dtype)].store(static_cast<uint8_t>(scalar) + 1, std::memory_order_relaxed);
}

// torch._C._cuda_getCurrentRawStream, where there is a PyTorch with CUDA.
static PyObject *streamGetter() {
  static constinit std::atomic<PyObject *> getter{nullptr};
  if (PyObject *known = getter.load(std::memory_order_acquire)) return known;
  static PyObject *const name = PyUnicode_InternFromString("torch");
  PyObject *torch = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  if (!torch) return nullptr;
  nb::object found = memberOr(memberOr(torch, "_C", nb::none()), "_cuda_getCurrentRawStream", nb::none());
  if (found.is_none()) return nullptr;
  // Kept for good; two threads find the same object.
  getter.store(found.inc_ref().ptr(), std::memory_order_release);
  return found.ptr();
}

std::optional<uint64_t> torchStream(int64_t device) {
  static constinit std::atomic<GetStream> known{nullptr};
  static constinit std::atomic<bool> tried{false};
  void *stream = nullptr;
  if (GetStream get = known.load(std::memory_order_acquire); get && get(static_cast<int32_t>(device), &stream) == 0)
    return reinterpret_cast<uint64_t>(stream);
  PyObject *getter = streamGetter();
  if (!getter) return std::nullopt;
  nb::object ordinal = nb::steal(PyLong_FromLongLong(device));
  PyObject *arguments[] = {nullptr, ordinal.ptr()};
  nb::object number = nb::steal(PyObject_Vectorcall(getter, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!number.is_valid()) throw nb::python_error();
  uint64_t found = PyLong_AsUnsignedLongLong(number.ptr());
  if (!tried.exchange(true)) {
    GetStream get = nullptr;
    if (find(get, "libtorch_cuda.so", "aoti_torch_get_current_cuda_stream") && get(static_cast<int32_t>(device), &stream) == 0 &&
        reinterpret_cast<uint64_t>(stream) == found)
      known.store(get, std::memory_order_release);
  }
  return found;
}

} // namespace tilewright::python
