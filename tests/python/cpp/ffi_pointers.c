/* Calls a kernel by the TVM-FFI calling convention with bad pointers. */
#include "ffi.h"

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) { printf("%s: %s%s", kind, text, kind[0] == 'V' ? "\n" : ""); }

static float x[1000], out[1000];
static int64_t shape = 1000;
static const char constant[4000] = {1};

static Tensor at(const void *data) {
  Tensor tensor = {(void *)data, 1, 0, 1, 2, 32, 1, &shape, NULL, 0};
  return tensor;
}
static void call(int32_t type, const void *from, Tensor to, int64_t n) {
  Any given[4] = {{type, 0, {.pointer = from}}, {tensorPointer, 0, {.pointer = &to}}, {floating, 0, {.floating = 2.5}}, {integer, 0, {.integer = n}}};
  Any result = {0};
  if (__tvm_ffi_scale(NULL, given, 4, &result) == 0) printf("launched\n");
}

int main(void) {
  Tensor good = at(x), null = at(NULL), unmapped = at((void *)4096);
  Tensor shapeless = good;
  shapeless.shape = NULL;
  Any result;
  if (__tvm_ffi_scale(NULL, NULL, 4, &result) == 0) printf("launched\n");
  call(tensorPointer, NULL, good, 1000);
  call(tensorPointer, &shapeless, good, 1000);
  call(tensorPointer, &null, good, 1000);
  call(none, NULL, good, 1000);
  call(opaquePointer, NULL, good, 1000);
  call(tensorPointer, &unmapped, at(out), 1000);
  call(tensorPointer, &good, at(constant), 1000);
  call(tensorPointer, &good, at(out), 1000);
  call(none, NULL, at(out), 0);
  shape = 0;
  call(tensorPointer, &null, at(NULL), 0);
  return 0;
}
