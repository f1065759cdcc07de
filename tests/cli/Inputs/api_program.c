/* Null handles and texts in C, and the function of twOnWarning: nothing of it ends the process. */
#include "tilewright/c.h"

#include <stdio.h>
#include <string.h>

static int failures;

/* By address: arguments are evaluated in any order. */
static void expect_code(int failed, TwError **error, TwErrorCode code, const char *part) {
  const char *text = twErrorText(*error);
  if (!failed || !strstr(text, part)) printf("WRONG: no error with '%s' but '%s'\n", part, text), ++failures;
  if (twErrorCode(*error) != code) printf("WRONG: code %d, not %d: %s\n", (int)twErrorCode(*error), (int)code, text), ++failures;
  twErrorFree(*error), *error = NULL;
}

static void expect_error(int failed, TwError **error, const char *part) {
  expect_code(failed, error, TW_ERROR_INVALID_ARGUMENT, part);
}

static int ask(void *context, const TwMeta *meta, TwGrid *grid) {
  int found = 1;
  *(int64_t *)context = twMetaInteger(meta, "BLOCK", &found) + 10 * found + 100 * twMetaInteger(meta, "n", NULL);
  grid->extent[0] = twMetaInteger(meta, "n", NULL) / twMetaInteger(meta, "BLOCK", NULL);
  return 1;
}

/* A struct as a later version of the header would declare it. */
typedef struct LaterOptions {
  TwOptions known;
  int64_t added;
} LaterOptions;

static void sizes(TwKernel *kernel, const TwGrid *grid, const TwArgument *arguments) {
  TwError *error = NULL;
  TwOptions options;
  LaterOptions later;
  TwGrid small = {sizeof(TwGrid), {1, 1, 1}, 1};
  TwArgument mixed[2];
  memset(&options, 0, sizeof options), memset(&later, 0, sizeof later);
  expect_error(!twLaunch(kernel, grid, NULL, NULL, arguments, 2, &options, &error), &error, "the size of a TwOptions is 0");
  options.size = SIZE_MAX;
  expect_error(!twLaunch(kernel, grid, NULL, NULL, arguments, 2, &options, &error), &error, "set it to sizeof(TwOptions)");
  options.size = offsetof(TwOptions, numWarps), options.numWarps = 3; /* an older header had no numWarps */
  if (!twLaunch(kernel, grid, NULL, NULL, arguments, 2, &options, &error)) puts("WRONG: smaller options"), ++failures;
  later.known.size = sizeof later;
  if (!twLaunch(kernel, grid, NULL, NULL, arguments, 2, &later.known, &error)) puts("WRONG: larger options"), ++failures;
  later.added = 1;
  expect_error(!twLaunch(kernel, grid, NULL, NULL, arguments, 2, &later.known, &error), &error, "does not know");
  small.size = 0;
  expect_error(!twLaunch(kernel, &small, NULL, NULL, arguments, 2, NULL, &error), &error, "the size of a TwGrid is 0");
  mixed[0] = arguments[0], mixed[1] = arguments[1], mixed[1].size = sizeof(TwArgument) - 8;
  expect_error(!twLaunch(kernel, grid, NULL, NULL, mixed, 2, NULL, &error), &error, "argument 1 cannot be used: its size");
}

int main(void) {
  TwError *error = NULL;
  if (twErrorCode(NULL) != TW_ERROR_NONE || *twErrorText(NULL)) puts("WRONG: null is an error"), ++failures;
  if (twVersionNumber() != TILEWRIGHT_VERSION_NUMBER) puts("WRONG: header and library differ"), ++failures;
  error = twErrorNew("mine");
  expect_code(1, &error, TW_ERROR_CALLBACK, "mine");
  error = twErrorNewWithCode(TW_ERROR_IO, "disk");
  expect_code(1, &error, TW_ERROR_IO, "disk");
  expect_code(!twModuleFromFile("nowhere.py", &error), &error, TW_ERROR_NOT_FOUND, "nowhere.py");
  expect_code(!twModuleFromSource("def f(:\n", "bad.py", &error), &error, TW_ERROR_KERNEL, "bad.py:1");
  expect_error(!twModuleFromFile(NULL, &error), &error, "the path of the module is null");
  expect_error(!twModuleFromSource(NULL, "k.py", &error), &error, "is null");
  expect_error(!twKernelFind(NULL, "k", &error), &error, "there is no module");
  expect_error(!twLaunch(NULL, NULL, NULL, NULL, NULL, 0, NULL, &error), &error, "there is no kernel");
  expect_error(!twEmit(NULL, "tt", NULL, 0, NULL, &error), &error, "there is no kernel");
  expect_error(!twMeasureLaunch(NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, &error), &error, "there is no kernel");
  expect_error(!twVerify(NULL, NULL, &error), &error, "there is no subject");
  expect_error(!twBench(NULL, NULL, NULL, &error), &error, "there is no subject");
  expect_error(!twCompare(NULL, NULL, NULL, &error), &error, "is null");
  if (twModuleKernelCount(NULL) != 0 || twModuleKernelName(NULL, 0)) puts("WRONG: a null module has kernels"), ++failures;
  twModuleFree(NULL), twKernelFree(NULL), twErrorFree(NULL), twStringFree(NULL);

  TwModule *module = twModuleFromSource("import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, n):\n    tl.store(x, n)\n",
                                        "k.py", &error);
  TwKernel *kernel = twKernelFind(module, "k", &error);
  float x[4] = {0};
  expect_code(!twKernelFind(module, "kk", &error), &error, TW_ERROR_NOT_FOUND, "kk");
  expect_code(!twEmit(kernel, "elf", NULL, 0, NULL, &error), &error, TW_ERROR_NOT_FOUND, "there is no stage 'elf'");
  TwArgument arguments[2] = {{sizeof(TwArgument), NULL, TW_POINTER, TW_F32, sizeof x, {0}, 0, 0}, {sizeof(TwArgument), NULL, TW_INT, TW_I32, 0, {0}, 0, 0}};
  arguments[0].value.pointer = x, arguments[1].value.integer = 3;
  TwGrid grid = {sizeof(TwGrid), {1, 1, 1}, 1}, none = grid, four = grid;
  none.rank = 0, four.rank = 4;
  int64_t seen = 0;
  expect_error(!twLaunch(kernel, NULL, ask, &seen, arguments, 2, NULL, &error), &error, "the grid function reads 'BLOCK'");
  if (seen != 300) printf("WRONG: the grid function saw %d\n", (int)seen), ++failures;
  expect_error(!twLaunch(kernel, NULL, NULL, NULL, arguments, 2, NULL, &error), &error, "there is no grid");
  expect_error(!twLaunch(kernel, &none, NULL, NULL, arguments, 2, NULL, &error), &error, "a grid of rank 0");
  expect_error(!twLaunch(kernel, &four, NULL, NULL, arguments, 2, NULL, &error), &error, "a grid of rank 4");
  expect_error(!twLaunch(kernel, &grid, NULL, NULL, NULL, 2, NULL, &error), &error, "their address is null");
  arguments[0].kind = (TwKind)42;
  expect_error(!twLaunch(kernel, &grid, NULL, NULL, arguments, 2, NULL, &error), &error, "its kind is 42");
  arguments[0].kind = TW_POINTER, arguments[0].bytes = -2;
  expect_error(!twLaunch(kernel, &grid, NULL, NULL, arguments, 2, NULL, &error), &error, "its size is -2 bytes");
  arguments[0].bytes = sizeof x, arguments[0].readOnly = 1;
  expect_code(!twLaunch(kernel, &grid, NULL, NULL, arguments, 2, NULL, &error), &error, TW_ERROR_MEMORY, "read-only");
  arguments[0].readOnly = 0;
  sizes(kernel, &grid, arguments);
  if (!twLaunch(kernel, &grid, NULL, NULL, arguments, 2, NULL, &error) || x[0] != 3) puts("WRONG: no result"), ++failures;
  twKernelFree(kernel);
  twModuleFree(module);
  puts(failures == 0 ? "all is as it should be" : "some of it is wrong");
  return failures != 0;
}
