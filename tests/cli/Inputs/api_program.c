/* Null handles and texts in C, and the function of twOnWarning: nothing of it ends the process. */
#include "tilewright/c.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void expect_error(int failed, TwError **error, const char *part) { /* by address: arguments are evaluated in any order */
  const char *text = twErrorText(*error);
  if (!failed || !strstr(text, part)) printf("WRONG: no error with '%s' but '%s'\n", part, text), ++failures;
  twErrorFree(*error), *error = NULL;
}

static int ask(void *context, const TwMeta *meta, TwGrid *grid) {
  int found = 1;
  *(int64_t *)context = twMetaInteger(meta, "BLOCK", &found) + 10 * found + 100 * twMetaInteger(meta, "n", NULL);
  grid->extent[0] = twMetaInteger(meta, "n", NULL) / twMetaInteger(meta, "BLOCK", NULL);
  return 1;
}

int main(void) {
  TwError *error = NULL;
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
  TwArgument arguments[2] = {{NULL, TW_POINTER, TW_F32, sizeof x, {0}, 0, 0}, {NULL, TW_INT, TW_I32, 0, {0}, 0, 0}};
  arguments[0].value.pointer = x, arguments[1].value.integer = 3;
  TwGrid grid = {{1, 1, 1}, 1}, none = {{1, 1, 1}, 0}, four = {{1, 1, 1}, 4};
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
  expect_error(!twLaunch(kernel, &grid, NULL, NULL, arguments, 2, NULL, &error), &error, "read-only");
  arguments[0].readOnly = 0;
  if (!twLaunch(kernel, &grid, NULL, NULL, arguments, 2, NULL, &error) || x[0] != 3) puts("WRONG: no result"), ++failures;
  twKernelFree(kernel);
  twModuleFree(module);
  puts(failures == 0 ? "all is as it should be" : "some of it is wrong");
  return failures != 0;
}
