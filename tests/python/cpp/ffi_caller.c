/* Calls a kernel by the TVM-FFI calling convention. */
#include "ffi.h"

/* The process's TVM-FFI library has this function, which keeps the error of a call that fails. */
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) { printf("%s: %s\n", kind, text); }

static float x[1000], out[1000];

static int call(uint8_t bits, int64_t n) {
  int64_t shape = 1000;
  Tensor from = {x, 1, 0, 1, 2, bits, 1, &shape, NULL, 0}, to = {out, 1, 0, 1, 2, 32, 1, &shape, NULL, 0};
  Any given[4] = {{tensorPointer, 0, {.pointer = &from}}, {tensorPointer, 0, {.pointer = &to}}, {floating, 0, {.floating = 2.5}}, {integer, 0, {.integer = n}}};
  Any result = {0};
  return __tvm_ffi_scale(NULL, given, 4, &result);
}

int main(void) {
  int wrong = 0;
  for (int i = 0; i < 1000; ++i) x[i] = (float)i;
  if (call(32, 1000) != 0) return 1;
  for (int i = 0; i < 1000; ++i) wrong += out[i] != 2.5f * (float)i;
  printf("%d wrong\n", wrong);
  return call(64, 1000) == 0 || call(32, 5000000000) == 0;
}
