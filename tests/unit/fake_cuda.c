// See fake_cuda.h. The signatures are the driver's.

#include "fake_cuda.h"

#include <stddef.h>
#include <string.h>

// A machine with one H100, by default.
static FakeCuda state = {.version = 13000, .deviceCount = 1, .major = {9, 9}, .registers = 40, .maxThreads = 1024};

FakeCuda *fakeCuda(void) {
  return &state;
}
int fakeCudaCalls(void) {
  return state.calls;
}

int cuInit(unsigned flags) {
  ++state.calls;
  return flags ? 1 : state.initStatus;
}
int cuDriverGetVersion(int *version) {
  ++state.calls;
  return *version = state.version, 0;
}
int cuGetErrorName(int status, const char **name) {
  ++state.calls;
  *name = status == 1     ? "CUDA_ERROR_INVALID_VALUE"
          : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                          : NULL;
  return *name ? 0 : 1;
}
int cuGetErrorString(int status, const char **text) {
  ++state.calls;
  *text = status == 1 ? "invalid argument" : status == 700 ? "an illegal memory access was encountered" : NULL;
  return *text ? 0 : 1;
}
int cuDeviceGetCount(int *count) {
  ++state.calls;
  return *count = state.deviceCount, state.initStatus;
}
int cuDeviceGet(int *device, int ordinal) {
  ++state.calls;
  return *device = ordinal + 100, 0;
}
int cuDeviceGetName(char *name, int bytes, int device) {
  ++state.calls;
  return strncpy(name, device == 100 ? "Fake H100" : "Fake V100", (size_t)bytes), 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  ++state.calls;
  switch (attribute) {
  case 1: *value = 1024; break;
  case 10: *value = 32; break;
  case 12: *value = 65536; break;
  case 16: *value = 132; break;
  case 75: *value = state.major[device - 100]; break;
  case 76: *value = state.minor[device - 100]; break;
  case 97: *value = 232448; break;
  default: *value = attribute; break;
  }
  return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  ++state.calls;
  return *bytes = (size_t)80 << 30, 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  ++state.calls;
  return *context = (void *)(ptrdiff_t)(device * 16), 0;
}
int cuCtxGetCurrent(void **context) {
  ++state.calls;
  return *context = state.current, 0;
}
int cuCtxSetCurrent(void *context) {
  ++state.calls;
  return state.current = context, 0;
}
int cuCtxSynchronize(void) {
  ++state.calls;
  return ++state.syncs, state.syncStatus;
}
int cuStreamSynchronize(void *stream) {
  ++state.calls;
  return ++state.syncs, state.syncStatus;
}
int cuStreamIsCapturing(void *stream, int *capturing) {
  ++state.calls;
  return *capturing = state.capturing, 0;
}
int cuEventCreate(void **event, unsigned flags) {
  ++state.calls;
  return *event = &state, 0;
}
int cuEventDestroy_v2(void *event) {
  ++state.calls;
  return 0;
}
int cuEventRecord(void *event, void *stream) {
  ++state.calls;
  return 0;
}
int cuEventQuery(void *event) {
  ++state.calls;
  return state.eventsAreDone ? 0 : 600;
}
int cuEventSynchronize(void *event) {
  ++state.calls;
  return state.syncStatus;
}
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  ++state.calls;
  return *milliseconds = 2.5f, 0;
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  ++state.calls;
  const int deviceOrdinal = 9;
  if (attribute != deviceOrdinal || address != 0x10000) return 1; // what cuMemAlloc_v2 gave
  return *(int *)value = 0, 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  ++state.calls;
  return *address = 0x10000, bytes ? 0 : 1;
}
int cuMemFree_v2(uint64_t address) {
  ++state.calls;
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  ++state.calls;
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  ++state.calls;
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  ++state.calls;
  return 0;
}
int cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes, void *stream) {
  ++state.calls;
  return 0;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  ++state.calls;
  ++state.loads;
  state.contextOfCode = state.current;
  strncpy(state.image, image, sizeof(state.image) - 1);
  const char *info = state.infoLog, *error = state.errorLog;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 3 && info) strcpy(values[i], info);
    if (options[i] == 5 && error) strcpy(values[i], error);
  }
  *module = &state.loads;
  return memcmp(image, "//PTX", 5) ? state.cubinStatus : state.ptxStatus;
}
int cuModuleUnload(void *module) {
  ++state.calls;
  return ++state.unloads, 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  ++state.calls;
  strncpy(state.entry, name, sizeof(state.entry) - 1);
  *function = &state.launches;
  return strcmp(name, "absent") ? 0 : 500;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  ++state.calls;
  *value = attribute == 0   ? state.maxThreads
           : attribute == 1 ? state.staticShared
           : attribute == 3 ? state.localBytes
           : attribute == 4 ? state.registers
                            : 0;
  return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  ++state.calls;
  return state.functionAttributes[attribute] = value, 0;
}

typedef struct {
  int id;
  char padding[4];
  unsigned value[16];
} Attribute;
typedef struct {
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  Attribute *attributes;
  unsigned attributeCount;
} Config;

int cuLaunchKernelEx(const Config *config, void *function, void **parameters, void **extra) {
  ++state.calls;
  if (state.current != state.contextOfCode) return 201;
  ++state.launches;
  memcpy(state.grid, config->grid, sizeof(state.grid));
  memcpy(state.block, config->block, sizeof(state.block));
  state.sharedBytes = config->sharedBytes;
  state.stream = config->stream;
  state.attributeCount = config->attributeCount;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    state.attributeIds[i] = config->attributes[i].id;
    memcpy(state.attributeValues[i], config->attributes[i].value, 12);
  }
  for (int i = 0; i < state.parameterCount; ++i)
    memcpy(state.parameters[i], parameters[i], (size_t)state.parameterBytes[i]);
  state.contextAtLaunch = state.current;
  return state.launchStatus;
}

int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                   unsigned sharedBytes, void *stream, void **parameters, void **extra) {
  Config config = {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream, NULL, 0};
  return cuLaunchKernelEx(&config, function, parameters, extra);
}

int cuTensorMapEncodeTiled(void *map, unsigned type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides,
                           const unsigned *box, const unsigned *steps, unsigned interleave, unsigned swizzle, unsigned promotion,
                           unsigned fill) {
  ++state.calls;
  if (!state.current) return 201;
  ++state.encodes;
  state.mapType = type, state.mapRank = rank, state.mapSwizzle = swizzle, state.mapFill = fill;
  state.mapAddress = (uint64_t)address;
  memcpy(state.mapDims, dims, rank * 8);
  memcpy(state.mapStrides, strides, (rank - 1) * 8);
  memcpy(state.mapBox, box, rank * 4);
  memset(map, state.encodes, 128);
  return (uint64_t)map % 64 || steps[0] != 1 || interleave ? 1 : state.encodeStatus;
}
