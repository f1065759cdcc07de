// See fake_cupti.h. The signatures and the records are CUPTI's.

#include "fake_cupti.h"

#include <stddef.h>
#include <string.h>

enum { maxRecords = 64 };

static FakeCupti state;
static uint64_t marks[maxRecords];
static int depth;

typedef struct {
  int kind, externalKind;
  uint64_t external;
  uint32_t correlation, reserved;
} Correlation;
typedef struct {
  int kind;
  char shape[12];
  uint64_t start, end;
  char launch[60];
  uint32_t correlation;
  char rest[112];
} Kernel;
typedef struct {
  int kind;
  char what[4];
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  char rest[40];
} Memory;

static struct {
  size_t bytes;
  char content[256];
} records[2 * maxRecords];
static int count;
static uint32_t lastCorrelation;

FakeCupti *fakeCupti(void) {
  return &state;
}

static void add(const void *record, size_t bytes) {
  records[count].bytes = bytes;
  memcpy(records[count++].content, record, bytes);
}

void fakeCuptiRan(int kind, uint64_t start, uint64_t end) {
  uint32_t correlation = ++lastCorrelation;
  if (kind == 10) {
    Kernel kernel = {.kind = kind, .start = start, .end = end, .correlation = correlation};
    add(&kernel, sizeof(kernel));
  } else {
    Memory memory = {.kind = kind, .start = start, .end = end, .correlation = correlation};
    add(&memory, sizeof(memory));
  }
  if (depth == 0) return;
  Correlation call = {.kind = 39, .externalKind = 3, .external = marks[depth - 1], .correlation = correlation};
  add(&call, sizeof(call));
}

int cuptiGetResultString(int status, const char **text) {
  return *text = status == 15 ? "CUPTI_ERROR_NOT_INITIALIZED" : NULL, 0;
}
int cuptiSubscribe(void **subscriber, void *callback, void *user) {
  (void)callback, (void)user;
  if (state.subscribeStatus) return state.subscribeStatus;
  return *subscriber = &state, ++state.subscribers, 0;
}
int cuptiUnsubscribe(void *subscriber) {
  return --state.subscribers, subscriber != &state;
}
int cuptiGetTimestamp(uint64_t *now) {
  return *now = state.now, 0;
}
static void (*wanted)(uint8_t **, size_t *, size_t *);
static void (*full)(void *, uint32_t, uint8_t *, size_t, size_t);
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t)) {
  return wanted = request, full = complete, 0;
}
int cuptiActivityEnable(int kind) {
  (void)kind;
  return state.enableStatus ? state.enableStatus : (++state.enabled, 0);
}
int cuptiActivityDisable(int kind) {
  (void)kind;
  return --state.enabled, 0;
}
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, void **record) {
  // In this buffer each record follows its size.
  uint8_t *at = *record ? (uint8_t *)*record + ((size_t *)*record)[-1] : buffer;
  if (at >= buffer + used) return 12; // no more of them
  return *record = at + sizeof(size_t), 0;
}
int cuptiActivityFlushAll(uint32_t flags) {
  ++state.flushes;
  if (flags || count == 0) return 0;
  uint8_t *buffer = NULL;
  size_t bytes = 0, maxRecords = 1, used = 0;
  wanted(&buffer, &bytes, &maxRecords);
  for (int i = 0; i < count; ++i) {
    memcpy(buffer + used, &records[i].bytes, sizeof(size_t));
    memcpy(buffer + used + sizeof(size_t), records[i].content, records[i].bytes);
    used += sizeof(size_t) + records[i].bytes;
  }
  count = 0;
  return full(NULL, 0, buffer, bytes, used), 0;
}
int cuptiActivityPushExternalCorrelationId(int kind, uint64_t number) {
  return marks[depth++] = number, kind != 3;
}
int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *number) {
  if (depth == 0) return 19; // nothing was pushed
  --depth;
  if (number) *number = marks[depth];
  return kind != 3;
}
