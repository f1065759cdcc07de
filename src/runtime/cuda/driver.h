// The NVIDIA driver's own interface (libcuda.so.1), opened when a program first asks for a GPU.
//
// A program that links libcuda cannot start without it, and needs a CUDA header to be built. The part used here is small and stable since
// CUDA 12.0, so it is declared here and looked up by name:
//     const Driver *driver = cudaDriver(diagnostics);      null, with the reason, on a machine without a GPU
//     driver->launchWith(&config, function, parameters, nullptr);
#pragma once

#include "support/diagnostics.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tilewright::gpu {

using DriverStatus = int32_t;
using DeviceHandle = int32_t;
using ContextHandle = void *;
using ModuleHandle = void *;
using FunctionHandle = void *;
using StreamHandle = void *;
using EventHandle = void *;

namespace status {
constexpr DriverStatus success = 0, stubLibrary = 34, noDevice = 100, noBinary = 209, unsupportedPtx = 222;
} // namespace status

/// True if code on a GPU causes this error. The context is lost then: every later call returns the same error.
constexpr bool isSticky(DriverStatus status) {
  constexpr DriverStatus illegalAddress = 700, launchTimeout = 702, assertion = 710, hardwareStack = 714, launchFailed = 719;
  return status == illegalAddress || status == launchTimeout || status == assertion || (status >= hardwareStack && status <= launchFailed);
}

enum class DeviceAttribute : int32_t {
  maxThreadsPerBlock = 1,
  warpSize = 10,
  registersPerBlock = 12,
  clockRate = 13,
  multiprocessors = 16,
  memoryClockRate = 36,
  memoryBusWidth = 37,
  l2Bytes = 38,
  major = 75,
  minor = 76,
  sharedPerMultiprocessor = 81,
  sharedPerBlockOptin = 97,
};

enum class FunctionAttribute : int32_t {
  maxThreadsPerBlock = 0,
  sharedBytes = 1, // static
  localBytes = 3,
  registers = 4,
  maxDynamicSharedBytes = 8,
  nonPortableClusters = 14,
};

enum class PointerAttribute : int32_t { devicePointer = 3, deviceOrdinal = 9, rangeStart = 11, rangeBytes = 12 };

enum class JitOption : int32_t { infoLog = 3, infoLogBytes = 4, errorLog = 5, errorLogBytes = 6, logVerbose = 12 };

struct LaunchAttribute {
  enum Id : int32_t { cooperative = 2, clusterDimension = 4, programmaticSerialization = 6 };
  Id id{};
  char padding[4]{};
  union Value {
    char bytes[64];
    uint32_t cluster[3];
    int32_t flag;
  } value{};
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  uint32_t attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

struct alignas(64) TensorMap {
  uint64_t words[16];
};
static_assert(sizeof(TensorMap) == 128);

/// The arguments of cuTensorMapEncodeTiled. They are compared as bytes, so the struct has no padding.
struct TensorMapArguments {
  uint64_t address = 0;
  uint64_t dims[5]{};
  uint64_t strides[4]{}; // bytes, of dims 1..
  uint32_t box[5]{};
  uint32_t elementStrides[5]{1, 1, 1, 1, 1};
  uint32_t dataType = 0, rank = 0, interleave = 0, swizzle = 0, l2Promotion = 0, fill = 0;
  bool operator==(const TensorMapArguments &) const = default;
};
static_assert(sizeof(TensorMapArguments) == 10 * 8 + 16 * 4);

// CUDA_FUNCTION(name here, name in the library, parameters)
#define TILEWRIGHT_CUDA_FUNCTIONS(CUDA_FUNCTION)                                                                                           \
  CUDA_FUNCTION(initialize, "cuInit", (uint32_t flags))                                                                                    \
  CUDA_FUNCTION(driverVersion, "cuDriverGetVersion", (int *version))                                                                       \
  CUDA_FUNCTION(errorName, "cuGetErrorName", (DriverStatus status, const char **name))                                                     \
  CUDA_FUNCTION(errorText, "cuGetErrorString", (DriverStatus status, const char **text))                                                   \
  CUDA_FUNCTION(deviceCount, "cuDeviceGetCount", (int *count))                                                                             \
  CUDA_FUNCTION(device, "cuDeviceGet", (DeviceHandle * device, int ordinal))                                                               \
  CUDA_FUNCTION(deviceName, "cuDeviceGetName", (char *name, int bytes, DeviceHandle device))                                               \
  CUDA_FUNCTION(deviceAttribute, "cuDeviceGetAttribute", (int *value, DeviceAttribute attribute, DeviceHandle device))                     \
  CUDA_FUNCTION(deviceMemory, "cuDeviceTotalMem_v2", (size_t *bytes, DeviceHandle device))                                                 \
  CUDA_FUNCTION(retainPrimaryContext, "cuDevicePrimaryCtxRetain", (ContextHandle * context, DeviceHandle device))                          \
  CUDA_FUNCTION(currentContext, "cuCtxGetCurrent", (ContextHandle * context))                                                              \
  CUDA_FUNCTION(setCurrentContext, "cuCtxSetCurrent", (ContextHandle context))                                                             \
  CUDA_FUNCTION(synchronizeContext, "cuCtxSynchronize", ())                                                                                \
  CUDA_FUNCTION(synchronizeStream, "cuStreamSynchronize", (StreamHandle stream))                                                           \
  CUDA_FUNCTION(streamCapturing, "cuStreamIsCapturing", (StreamHandle stream, int *state))                                                 \
  CUDA_FUNCTION(createEvent, "cuEventCreate", (EventHandle * event, uint32_t flags))                                                       \
  CUDA_FUNCTION(destroyEvent, "cuEventDestroy_v2", (EventHandle event))                                                                    \
  CUDA_FUNCTION(recordEvent, "cuEventRecord", (EventHandle event, StreamHandle stream))                                                    \
  CUDA_FUNCTION(queryEvent, "cuEventQuery", (EventHandle event))                                                                           \
  CUDA_FUNCTION(synchronizeEvent, "cuEventSynchronize", (EventHandle event))                                                               \
  CUDA_FUNCTION(elapsedMilliseconds, "cuEventElapsedTime", (float *milliseconds, EventHandle start, EventHandle end))                      \
  CUDA_FUNCTION(pointerAttribute, "cuPointerGetAttribute", (void *value, PointerAttribute attribute, uint64_t address))                    \
  CUDA_FUNCTION(allocate, "cuMemAlloc_v2", (uint64_t *address, size_t bytes))                                                              \
  CUDA_FUNCTION(release, "cuMemFree_v2", (uint64_t address))                                                                               \
  CUDA_FUNCTION(copyToDevice, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t bytes))                                            \
  CUDA_FUNCTION(copyToHost, "cuMemcpyDtoH_v2", (void *to, uint64_t from, size_t bytes))                                                    \
  CUDA_FUNCTION(copyOnDevice, "cuMemcpyDtoDAsync_v2", (uint64_t to, uint64_t from, size_t bytes, StreamHandle stream))                     \
  CUDA_FUNCTION(fillBytes, "cuMemsetD8Async", (uint64_t address, uint8_t value, size_t bytes, StreamHandle stream))                        \
  CUDA_FUNCTION(loadModule, "cuModuleLoadDataEx",                                                                                          \
                (ModuleHandle * module, const void *image, uint32_t count, JitOption *options, void **values))                             \
  CUDA_FUNCTION(unloadModule, "cuModuleUnload", (ModuleHandle module))                                                                     \
  CUDA_FUNCTION(moduleFunction, "cuModuleGetFunction", (FunctionHandle * function, ModuleHandle module, const char *name))                 \
  CUDA_FUNCTION(functionAttribute, "cuFuncGetAttribute", (int *value, FunctionAttribute attribute, FunctionHandle function))               \
  CUDA_FUNCTION(setFunctionAttribute, "cuFuncSetAttribute", (FunctionHandle function, FunctionAttribute attribute, int value))             \
  CUDA_FUNCTION(launch, "cuLaunchKernel",                                                                                                  \
                (FunctionHandle function, uint32_t gridX, uint32_t gridY, uint32_t gridZ, uint32_t blockX, uint32_t blockY,                \
                 uint32_t blockZ, uint32_t sharedBytes, StreamHandle stream, void **parameters, void **extra))                             \
  CUDA_FUNCTION(launchWith, "cuLaunchKernelEx", (const LaunchConfig *config, FunctionHandle function, void **parameters, void **extra))    \
  CUDA_FUNCTION(encodeTiled, "cuTensorMapEncodeTiled",                                                                                     \
                (TensorMap * map, uint32_t type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,              \
                 const uint32_t *box, const uint32_t *elementStrides, uint32_t interleave, uint32_t swizzle, uint32_t promotion,           \
                 uint32_t fill))

/// The functions of one loaded and initialized driver library. It is never unloaded: other libraries of the process use it, too.
struct Driver {
#define CUDA_FUNCTION(name, symbol, parameters) DriverStatus(*name) parameters = nullptr;
  TILEWRIGHT_CUDA_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
  int64_t version = 0; // 12040: CUDA 12.4

  /// Opens a library by its name or path. Null after an error.
  static std::unique_ptr<Driver> open(const std::string &path, Diagnostics &diagnostics);

  /// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered".
  std::string describe(DriverStatus status) const;
};

/// Returns "12.4" for 12040.
std::string versionText(int64_t version);

/// Returns the process's driver: libcuda.so.1, or the library that TILEWRIGHT_LIBCUDA names. Null if it is not usable; then every call
/// reports the reason. A driver without a device counts as usable.
const Driver *cudaDriver(Diagnostics &diagnostics);

} // namespace tilewright::gpu
