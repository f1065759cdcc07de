// The few functions and records of CUPTI that are used here, declared as the driver's are (runtime/cuda/driver.h). The layouts have not
// changed since CUDA 10; tests/unit compares them with NVIDIA's headers where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::gpu::cupti {

using Status = int32_t;
constexpr Status success = 0, otherSubscriber = 39;

enum class Kind : int32_t { copy = 1, fill = 2, driverCall = 4, runtimeCall = 5, kernel = 10, externalCorrelation = 39 };
constexpr int32_t ownCorrelation = 3; // the first kind of external numbers that nobody else uses

/// All records begin with their kind, and are packed to multiples of 8 bytes.
struct Record {
  Kind kind;
};
struct KernelRecord {
  Kind kind;
  char shape[12];
  uint64_t start, end;
  char launch[60];
  uint32_t correlation;
};
struct MemoryRecord { // of a copy, of a fill
  Kind kind;
  char what[4];
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
};
struct CorrelationRecord {
  Kind kind;
  int32_t externalKind;
  uint64_t external;
  uint32_t correlation;
  uint32_t reserved;
};
static_assert(offsetof(KernelRecord, correlation) == 92 && offsetof(MemoryRecord, correlation) == 44);

using Subscriber = void *;
using Callback = void (*)(void *user, int32_t domain, uint32_t function, const void *data);
using BufferWanted = void (*)(uint8_t **buffer, size_t *bytes, size_t *maxRecords);
using BufferFull = void (*)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t used);

// CUPTI_FUNCTION(name here, name in the library, parameters)
#define TILEWRIGHT_CUPTI_FUNCTIONS(CUPTI_FUNCTION)                                                                                         \
  CUPTI_FUNCTION(errorText, "cuptiGetResultString", (Status status, const char **text))                                                    \
  CUPTI_FUNCTION(subscribe, "cuptiSubscribe", (Subscriber * subscriber, Callback callback, void *user))                                    \
  CUPTI_FUNCTION(unsubscribe, "cuptiUnsubscribe", (Subscriber subscriber))                                                                 \
  CUPTI_FUNCTION(timestamp, "cuptiGetTimestamp", (uint64_t *nanoseconds))                                                                  \
  CUPTI_FUNCTION(registerBuffers, "cuptiActivityRegisterCallbacks", (BufferWanted wanted, BufferFull full))                                \
  CUPTI_FUNCTION(enable, "cuptiActivityEnable", (Kind kind))                                                                               \
  CUPTI_FUNCTION(disable, "cuptiActivityDisable", (Kind kind))                                                                             \
  CUPTI_FUNCTION(nextRecord, "cuptiActivityGetNextRecord", (uint8_t *buffer, size_t used, Record **record))                                \
  CUPTI_FUNCTION(flush, "cuptiActivityFlushAll", (uint32_t flags))                                                                         \
  CUPTI_FUNCTION(push, "cuptiActivityPushExternalCorrelationId", (int32_t kind, uint64_t number))                                          \
  CUPTI_FUNCTION(pop, "cuptiActivityPopExternalCorrelationId", (int32_t kind, uint64_t *number))

struct Library {
#define CUPTI_FUNCTION(name, symbol, parameters) Status(*name) parameters = nullptr;
  TILEWRIGHT_CUPTI_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
};

} // namespace tilewright::gpu::cupti
