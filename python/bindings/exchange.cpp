// Memory that other libraries export: DLPack capsules and the buffer protocol.
//
// An exporter may hand out memory that lives only as long as the export itself: `__dlpack__` may make a copy, and the capsule is its only
// owner. So the capsule (or the view of the buffer) is kept as long as the Call that the argument belongs to. The capsule is read and
// never consumed: when it goes, its own destructor calls the exporter's deleter.
//
// The structures are DLPack's: https://dmlc.github.io/dlpack/latest/c_api.html

#include "exchange.h"

#include <nanobind/stl/string.h>

#include <algorithm>

namespace tilewright::python {

namespace {

struct DlpackTensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides; // strides in elements; null: row-major
  uint64_t byteOffset;
};

struct DlpackVersioned {
  uint32_t major, minor;
  void *manager;
  void (*deleter)(DlpackVersioned *);
  uint64_t flags;
  DlpackTensor tensor;
};

constexpr uint32_t dlpackMajor = 1;
constexpr uint64_t dlpackReadOnly = 1;
constexpr int32_t maxDimensions = 1024;

StoredObjects *&keeping() {
  thread_local StoredObjects *current = nullptr;
  return current;
}

/// Strides of a row-major array, in units of `unit`. Nothing where they do not fit into 64 bits.
bool rowMajor(Exported &exported, int64_t unit) {
  exported.strides.assign(exported.shape.size(), unit);
  for (size_t i = exported.shape.size(); i-- > 1;)
    if (__builtin_mul_overflow(exported.strides[i], std::max<int64_t>(exported.shape[i], 1), &exported.strides[i - 1])) return false;
  return true;
}

Result<Exported> readTensor(const DlpackTensor &tensor, bool isReadOnly) {
  Exported exported;
  exported.isReadOnly = isReadOnly;
  exported.deviceType = tensor.deviceType;
  exported.deviceId = tensor.deviceId;
  std::optional<Scalar> scalar = tensor.lanes == 1 ? dlpackScalar(tensor.code, tensor.bits) : std::nullopt;
  if (!scalar)
    return Failure{"kernels have no element type of DLPack's code " + std::to_string(tensor.code) + ", " + std::to_string(tensor.bits) +
                   " bits and " + std::to_string(tensor.lanes) + " lanes"};
  exported.element = *scalar;
  if (tensor.rank < 0 || tensor.rank > maxDimensions)
    return Failure{"its DLPack tensor has " + std::to_string(tensor.rank) + " dimensions"};
  if (tensor.rank > 0 && !tensor.shape) return Failure{"its DLPack tensor has dimensions and no shape"};
  exported.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  for (int64_t size : exported.shape)
    if (size < 0) return Failure{"its DLPack tensor has a dimension of size " + std::to_string(size)};
  int64_t bytes = byteSize(*scalar);
  if (!tensor.strides) {
    if (!rowMajor(exported, bytes)) return Failure{"the strides of its DLPack tensor do not fit in 64 bits"};
  } else {
    for (int64_t stride : llvm::ArrayRef(tensor.strides, static_cast<size_t>(tensor.rank)))
      if (__builtin_mul_overflow(stride, bytes, &exported.strides.emplace_back()))
        return Failure{"the strides of its DLPack tensor do not fit in 64 bits"};
  }
  exported.address = tensor.data ? static_cast<char *>(tensor.data) + tensor.byteOffset : nullptr;
  return exported;
}

Result<Exported> readCapsule(nb::handle capsule) {
  if (!PyCapsule_CheckExact(capsule.ptr()))
    return Failure{"its __dlpack__ returns no capsule, but " + nb::cast<std::string>(nb::str(nb::handle(capsule.type())))};
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor"))
    return readTensor(*static_cast<const DlpackTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor")), false);
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    const char *name = PyCapsule_GetName(capsule.ptr());
    clearException();
    return Failure{std::string("its __dlpack__ returns a capsule named '") + (name ? name : "") +
                   "', which is not an unused DLPack tensor"};
  }
  const auto &versioned = *static_cast<const DlpackVersioned *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
  if (versioned.major != dlpackMajor)
    return Failure{"its capsule has version " + std::to_string(versioned.major) + "." + std::to_string(versioned.minor) +
                   " of DLPack; versions 0 and 1 are known"};
  return readTensor(versioned.tensor, (versioned.flags & dlpackReadOnly) != 0);
}

/// The capsule of an exporter, asked for version 1 first: older ones do not know this keyword.
nb::object capsuleOf(nb::handle object) {
  nb::object method = object.attr("__dlpack__");
  try {
    using namespace nb::literals;
    return method("max_version"_a = nb::make_tuple(1, 0));
  } catch (nb::python_error &error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();
}

Result<Exported> fromDlpack(nb::handle object) {
  nb::object capsule;
  try {
    capsule = capsuleOf(object);
  } catch (nb::python_error &error) {
    if (!error.matches(PyExc_Exception)) throw;
    return Failure{"its __dlpack__ raises " + nb::cast<std::string>(nb::str(error.type().attr("__name__"))) + ": " +
                   nb::cast<std::string>(nb::str(error.value()))};
  }
  Result<Exported> exported = readCapsule(capsule);
  if (exported) keepObject(capsule);
  return exported;
}

/// The element type of a buffer's format, as the struct module spells it: one letter, in the order of bytes of this machine.
std::optional<Scalar> formatScalar(std::string_view format, int64_t bytes) {
  if (format.size() == 2 && std::string_view("@=<|").find(format[0]) != std::string_view::npos) format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  char letter = format[0];
  if (letter == '?') return Scalar::int1;
  std::string bits = std::to_string(8 * bytes);
  if (std::string_view("cbhilqn").find(letter) != std::string_view::npos) return scalarNamed("int" + bits);
  if (std::string_view("BHILQN").find(letter) != std::string_view::npos) return scalarNamed("uint" + bits);
  if (std::string_view("efd").find(letter) != std::string_view::npos) return scalarNamed("float" + bits);
  return std::nullopt;
}

Result<Exported> fromBuffer(nb::handle object) {
  nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr())); // it has strides where the exporter gives none, as ctypes does
  Py_buffer memory;
  if (!view.is_valid() || PyObject_GetBuffer(view.ptr(), &memory, PyBUF_FULL_RO) != 0) {
    clearException();
    return Failure{"it cannot be read through DLPack or the buffer protocol"};
  }
  Exported exported;
  exported.isReadOnly = memory.readonly != 0;
  exported.address = memory.buf;
  std::optional<Scalar> scalar = formatScalar(memory.format ? memory.format : "B", memory.itemsize);
  std::string format = memory.format ? memory.format : "";
  bool isIndirect = memory.suboffsets != nullptr, isWhole = memory.ndim == 0 || memory.shape;
  if (isWhole) exported.shape.assign(memory.shape, memory.shape + memory.ndim);
  bool fits = true;
  if (memory.strides)
    exported.strides.assign(memory.strides, memory.strides + memory.ndim);
  else
    fits = rowMajor(exported, memory.itemsize);
  PyBuffer_Release(&memory);
  if (!scalar) return Failure{"kernels have no element type of the format '" + format + "'"};
  if (isIndirect || !isWhole || !fits) return Failure{"its memory cannot be described by a shape and strides"};
  exported.element = *scalar;
  keepObject(view);
  return exported;
}

} // namespace

KeepScope::KeepScope(StoredObjects &objects) : previous(keeping()) {
  keeping() = &objects;
}

KeepScope::~KeepScope() {
  keeping() = previous;
}

void keepObject(nb::handle object) {
  if (StoredObjects *objects = keeping()) objects->push_back(share(object));
}

Result<Exported> readExported(nb::handle object, bool hasDlpack) {
  if (!hasDlpack) return fromBuffer(object);
  Result<Exported> exported = fromDlpack(object);
  if (exported || !PyObject_CheckBuffer(object.ptr())) return exported;
  Result<Exported> buffer = fromBuffer(object);
  return buffer ? buffer : exported;
}

} // namespace tilewright::python
