// The TVM-FFI entry of a kernel: arguments as TVMFFIAny, tensors as DLPack's DLTensor. The layouts are those of tvm/ffi/c_api.h (version
// 0.1) and dlpack.h (version 1), which are stable. The process's TVM-FFI library is found by name, so nothing links it.
//
//     add(x, y, out, n)     DLTensor* or Tensor for pointers, int, bool and float for numbers, str for texts, None for a null pointer
//     add(x, y, out, n, grid_x, grid_y, grid_z)     if the kernel was built without --grid
//
// The convention has no options of a launch. TILEWRIGHT_CHECK_POINTERS=1 checks the pointers of these calls as `checkPointers` does.

#include "aot_runtime/elements.h"
#include "aot_runtime/kernel.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace tilewright::aot {
namespace {

enum Type : int32_t {
  none = 0,
  integer = 1,
  boolean = 2,
  floating = 3,
  opaquePointer = 4,
  tensorPointer = 7,
  rawText = 8,
  smallText = 11,
  textObject = 65,
  tensorObject = 70
};

struct Any {
  int32_t type;
  uint32_t textLength;
  union {
    int64_t integer;
    double floating;
    void *pointer;
    char text[8];
  };
};
static_assert(sizeof(Any) == 16);

struct Tensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t rank;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } type;
  int64_t *shape, *strides; // strides in elements; null: rows are contiguous
  uint64_t byteOffset;
};
static_assert(sizeof(Tensor) == 48);
constexpr size_t objectHeader = 24; // before the content of an object

enum DeviceType : int32_t { onCpu = 1, onCuda = 2, onCudaHost = 3, onCudaManaged = 13 };

template <typename F> F functionOfFfi(const char *name) {
  void *found = ::dlsym(RTLD_DEFAULT, name);
  if (!found)
    if (void *library = ::dlopen("libtvm_ffi.so", RTLD_NOLOAD | RTLD_LAZY)) found = ::dlsym(library, name);
  return reinterpret_cast<F>(found);
}

/// The arguments of a call, converted for Kernel::launch.
class Call {
public:
  Call(const Bundle &bundle, const Any *arguments, size_t count) : bundle(bundle), given(arguments), count(count) {}

  Problem run(Kernel &kernel) {
    size_t parameters = bundle.parameters.size(), wanted = parameters + (bundle.callerGivesGrid() ? 3 : 0);
    if (count != wanted)
      return wrong("it takes " + std::to_string(wanted) + " arguments" + (wanted > parameters ? ", the last three are the grid" : "") +
                   ", and the call gives " + std::to_string(count));
    if (count && !given) return wrong("the call gives " + std::to_string(count) + " arguments, whose address is null");
    for (size_t i = 0; i < parameters; ++i)
      if (Problem problem = read(bundle.parameters[i], given[i])) return problem;
    int64_t grid[3] = {1, 1, 1};
    for (size_t i = parameters; i < count; ++i) {
      if (given[i].type != integer) return wrong("an extent of the grid is not an int");
      grid[i - parameters] = given[i].integer;
    }
    options.bytes = sizes.data();
    if (options.useDevice)
      if (auto stream = functionOfFfi<void *(*)(int32_t, int32_t)>("TVMFFIEnvGetStream")) options.stream = stream(onCuda, options.device);
    return kernel.launch(options, bundle.callerGivesGrid() ? grid : nullptr, slots);
  }

private:
  Problem wrong(const std::string &text) const { return {TW_ERROR_INVALID_ARGUMENT, "kernel '" + bundle.kernel + "': " + text}; }

  Problem read(const Parameter &parameter, const Any &argument) {
    if (parameter.isPointer) return readTensor(parameter, argument);
    if (parameter.element == Element::text) return readText(parameter, argument);
    sizes.push_back(0);
    bool isFloat = infoOf(parameter.element).isFloat;
    bool isNumber = argument.type == integer || argument.type == boolean || (isFloat && argument.type == floating);
    if (!isNumber)
      return wrong("argument '" + parameter.name + "' must be " + (isFloat ? "a float" : "an int") + " for " +
                   infoOf(parameter.element).name);
    if (!isFloat) return addInteger(parameter, argument.integer);
    double value = argument.type == floating ? argument.floating : static_cast<double>(argument.integer);
    float narrow = static_cast<float>(value);
    uint64_t bits = 0;
    if (parameter.element == Element::fp64) std::memcpy(&bits, &value, sizeof value);
    if (parameter.element != Element::fp64) std::memcpy(&bits, &narrow, sizeof narrow);
    slots.push_back(bits);
    return {};
  }

  Problem addInteger(const Parameter &parameter, int64_t value) {
    const ElementInfo info = infoOf(parameter.element);
    bool isUnsigned = std::string_view(info.name).starts_with("u");
    int64_t max = info.bits == 64 ? INT64_MAX : (int64_t(1) << (info.bits - (isUnsigned || info.bits == 1 ? 0 : 1))) - 1;
    int64_t min = isUnsigned || info.bits == 1 ? (info.bits == 64 ? INT64_MIN : 0) : -max - 1;
    if (value < min || value > max)
      return wrong("argument '" + parameter.name + "' is " + std::to_string(value) + ", which " + info.name + " cannot hold");
    slots.push_back(static_cast<uint64_t>(value));
    return {};
  }

  Problem readText(const Parameter &parameter, const Any &argument) {
    sizes.push_back(0);
    const char *text = nullptr;
    if (argument.type == rawText) text = static_cast<const char *>(argument.pointer);
    if (argument.type == smallText) text = argument.text;
    if (argument.type == textObject) std::memcpy(&text, static_cast<const char *>(argument.pointer) + objectHeader, sizeof text);
    if (!text) return wrong("argument '" + parameter.name + "' must be a str");
    slots.push_back(reinterpret_cast<uint64_t>(text));
    return {};
  }

  Problem readTensor(const Parameter &parameter, const Any &argument) {
    sizes.push_back(0);
    if (argument.type == none || argument.type == opaquePointer) {
      slots.push_back(argument.type == none ? 0 : reinterpret_cast<uint64_t>(argument.pointer));
      return {};
    }
    if (argument.type != tensorPointer && argument.type != tensorObject)
      return wrong("argument '" + parameter.name + "' must be a tensor of " + infoOf(parameter.element).name);
    if (!argument.pointer) return wrong("argument '" + parameter.name + "' is a tensor whose address is null");
    const auto *tensor =
        reinterpret_cast<const Tensor *>(static_cast<const char *>(argument.pointer) + (argument.type == tensorObject ? objectHeader : 0));
    if (Problem problem = checkType(parameter, *tensor)) return problem;
    if (Problem problem = checkMemory(parameter, *tensor)) return problem;
    if (Problem problem = setDevice(parameter, *tensor)) return problem;
    slots.push_back(reinterpret_cast<uint64_t>(tensor->data) + tensor->byteOffset);
    int64_t bytes = 0;
    if (!reachOf(*tensor, bytesOf(parameter.element), bytes))
      return wrong("argument '" + parameter.name + "' has more bytes than the address space");
    sizes[sizes.size() - 1] = bytes;
    return {};
  }

  static std::string typeText(const Tensor &tensor) {
    for (int i = 0; i < static_cast<int>(Element::text); ++i) {
      Element element = static_cast<Element>(i);
      if (matches(element, tensor)) return infoOf(element).name;
    }
    return "DLPack's type " + std::to_string(tensor.type.code) + " of " + std::to_string(tensor.type.bits) + " bits";
  }
  static bool matches(Element element, const Tensor &tensor) {
    const ElementInfo info = infoOf(element);
    int bits = element == Element::int1 ? 8 : info.bits; // DLPack's bool takes a byte
    return info.bits > 0 && info.dlpackCode == tensor.type.code && bits == tensor.type.bits && tensor.type.lanes == 1;
  }
  Problem checkType(const Parameter &parameter, const Tensor &tensor) const {
    if (matches(parameter.element, tensor)) return {};
    return wrong("argument '" + parameter.name + "' is a tensor of " + typeText(tensor) + ", and the kernel takes " +
                 infoOf(parameter.element).name);
  }

  /// A tensor without elements may have no memory.
  Problem checkMemory(const Parameter &parameter, const Tensor &tensor) const {
    if (tensor.rank < 0 || (tensor.rank > 0 && !tensor.shape))
      return wrong("argument '" + parameter.name + "' is a tensor of rank " + std::to_string(tensor.rank) + " without a shape");
    if (tensor.data || std::find(tensor.shape, tensor.shape + tensor.rank, 0) != tensor.shape + tensor.rank) return {};
    return wrong("argument '" + parameter.name + "' is a tensor with elements, and the address of its memory is null");
  }

  Problem setDevice(const Parameter &parameter, const Tensor &tensor) {
    int32_t type = tensor.device.type;
    bool isCuda = type == onCuda || type == onCudaManaged;
    if (!isCuda && type != onCpu && type != onCudaHost)
      return wrong("argument '" + parameter.name + "' is on a device of DLPack's type " + std::to_string(type) +
                   "; kernels run on CPUs and CUDA devices");
    int32_t id = isCuda ? tensor.device.id : 0;
    if (sawTensor && (isCuda != (options.useDevice != 0) || (isCuda && id != options.device)))
      return wrong("argument '" + parameter.name + "' is on another device than the tensors before it");
    sawTensor = true;
    options.useDevice = isCuda, options.device = id;
    return {};
  }

  /// Computes the bytes from the data to the end of the last element; 0 if it is not known, or there are none. False if they overflow.
  static bool reachOf(const Tensor &tensor, int64_t width, int64_t &bytes) {
    int64_t reach = 1, stride = 1;
    for (int32_t i = 0; i < tensor.rank; ++i)
      if (tensor.shape[i] <= 0) return true;
    for (int32_t i = tensor.rank - 1; i >= 0; --i) {
      int64_t step = tensor.strides ? tensor.strides[i] : stride;
      if (step < 0) return true;
      if (__builtin_mul_overflow(tensor.shape[i] - 1, step, &step) || __builtin_add_overflow(reach, step, &reach) ||
          (!tensor.strides && __builtin_mul_overflow(stride, tensor.shape[i], &stride)))
        return false;
    }
    return !__builtin_mul_overflow(reach, width, &bytes);
  }

  const Bundle &bundle;
  const Any *given;
  size_t count;
  TwLaunchOptions options = TW_LAUNCH_OPTIONS_INIT;
  bool sawTensor = false;
  InlineVector<uint64_t, 32> slots;
  InlineVector<int64_t, 32> sizes;
};

const char *kindOf(TwErrorCode code) {
  return code == TW_ERROR_INVALID_ARGUMENT ? "ValueError" : code == TW_ERROR_OUT_OF_MEMORY ? "MemoryError" : "RuntimeError";
}

} // namespace
} // namespace tilewright::aot

using namespace tilewright::aot;

int32_t twArtifactCallFfi(TwArtifact *artifact, const void *arguments, int32_t count, void *result) {
  TwError *error = nullptr;
  int done = tilewright::api::guarded(&error, 0, [&] {
    Problem problem;
    if (Kernel *kernel = Kernel::of(artifact, problem))
      problem = Call(kernel->bundle(), static_cast<const Any *>(arguments), static_cast<size_t>(std::max(count, 0))).run(*kernel);
    if (problem) tilewright::api::setError(&error, problem.code, std::move(problem.text));
    return problem ? 0 : 1;
  });
  if (done) {
    if (result) std::memset(result, 0, sizeof(Any)); // None
    return 0;
  }
  if (auto raise = functionOfFfi<void (*)(const char *, const char *)>("TVMFFIErrorSetRaisedFromCStr"))
    raise(kindOf(twErrorCode(error)), twErrorText(error));
  twErrorFree(error);
  return -1;
}
