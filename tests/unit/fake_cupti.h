// A library that answers as CUPTI does: it gives numbers to what the test says has run, and hands the records over when it is asked to
// flush.
#pragma once

#include <stdint.h>

typedef struct {
  int subscribeStatus; // what cuptiSubscribe answers: 39, another profiler is there
  int enableStatus;    // what cuptiActivityEnable answers
  int subscribers, enabled, flushes;
  uint64_t now;
} FakeCupti;

#ifdef __cplusplus
extern "C" {
#endif
FakeCupti *fakeCupti(void);
/// Something of this kind has run: 10 is a kernel, 1 a copy, 2 a fill.
void fakeCuptiRan(int kind, uint64_t start, uint64_t end);
#ifdef __cplusplus
}
#endif
typedef FakeCupti *(*FakeCuptiAccess)(void);
typedef void (*FakeCuptiRan)(int kind, uint64_t start, uint64_t end);
