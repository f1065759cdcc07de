// A driver library without a GPU: it answers as told and writes down what it is asked. Tests set the first part and read the second.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  // Answers.
  int version, deviceCount, initStatus;
  int major[2], minor[2]; // of the two devices
  int registers, localBytes, staticShared, maxThreads;
  int cubinStatus, ptxStatus, launchStatus, syncStatus, encodeStatus;
  int capturing;
  int eventsAreDone; // before they are waited for
  const char *infoLog, *errorLog;
  int parameterCount;
  int parameterBytes[16];

  // What was asked.
  int calls; // of any function
  int loads, unloads, launches, syncs, encodes;
  int functionAttributes[16];
  char entry[64];
  char image[64];
  unsigned grid[3], block[3], sharedBytes, attributeCount;
  void *stream;
  int attributeIds[4];
  unsigned attributeValues[4][3];
  unsigned char parameters[16][128];
  void *contextAtLaunch, *contextOfCode, *current;
  unsigned mapType, mapRank, mapSwizzle, mapFill, mapBox[5];
  uint64_t mapAddress, mapDims[5], mapStrides[4];
} FakeCuda;

typedef FakeCuda *(*FakeCudaAccess)(void);
/// Exported as "fakeCuda".
FakeCuda *fakeCuda(void);
/// How many functions were called so far: for tests in Python.
int fakeCudaCalls(void);

#ifdef __cplusplus
}
#endif
