/* Inputs that are wrong, through the C interface: prints the code and the text of each error. argv[1]: a file of large text, argv[2]: a
 * file of deep text. */
#include "tilewright/c.h"

#include <stdio.h>
#include <string.h>

static const char *const source = "import triton\nimport triton.language as tl\n"
                                  "@triton.jit\ndef add(x, out: tl.pointer_type(tl.float32), n: tl.int32, B: tl.constexpr = 16):\n"
                                  "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
                                  "    tl.store(out + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)\n";

static void report(const char *name, int done, TwError **error) {
  printf("== %s\n%d %s\n", name, (int)twErrorCode(*error), done ? "no error" : twErrorText(*error));
  twErrorFree(*error), *error = NULL;
}

static TwArgument pointer(void *memory, TwType type, int64_t bytes) {
  TwArgument argument = {sizeof(TwArgument), NULL, TW_POINTER, type, bytes, {0}, 0, 0};
  argument.value.pointer = memory;
  return argument;
}
static TwArgument integer(int64_t value) {
  TwArgument argument = {sizeof(TwArgument), NULL, TW_INT, TW_I64, 0, {0}, 0, 0};
  argument.value.integer = value;
  return argument;
}

int main(int argc, char **argv) {
  TwError *error = NULL;
  float x[10] = {0}, out[10] = {0};
  double wide[10] = {0};
  TwGrid grid = {sizeof(TwGrid), {1, 1, 1}, 1}, below = {sizeof(TwGrid), {-1, 1, 1}, 1};
  TwOptions sanitized;
  memset(&sanitized, 0, sizeof sanitized);
  sanitized.size = sizeof sanitized, sanitized.sanitize = 1;
  TwModule *module = twModuleFromSource(source, "add.py", &error);
  TwKernel *kernel = twKernelFind(module, "add", &error);
  TwArgument arguments[3] = {pointer(x, TW_F32, sizeof x), pointer(out, TW_F32, sizeof out), integer(10)};
  report("right", twLaunch(kernel, &grid, NULL, NULL, arguments, 3, NULL, &error), &error);
  arguments[1] = pointer(wide, TW_F64, sizeof wide);
  report("dtype of a tensor", twLaunch(kernel, &grid, NULL, NULL, arguments, 3, NULL, &error), &error);
  report("dtype of a tensor, prepared", twPrepare(kernel, &grid, NULL, NULL, arguments, 3, NULL, &error), &error);
  arguments[1] = integer(4096);
  report("a number for a tensor", twLaunch(kernel, &grid, NULL, NULL, arguments, 3, NULL, &error), &error);
  arguments[1] = pointer(out, TW_F32, sizeof out), arguments[2] = integer(5000000000);
  report("range of a number", twLaunch(kernel, &grid, NULL, NULL, arguments, 3, NULL, &error), &error);
  arguments[2].kind = TW_FLOAT, arguments[2].value.floating = 9.5;
  report("a float for an integer", twLaunch(kernel, &grid, NULL, NULL, arguments, 3, NULL, &error), &error);
  arguments[2] = integer(11);
  report("extent", twLaunch(kernel, &grid, NULL, NULL, arguments, 3, &sanitized, &error), &error);
  report("extent of the grid", twLaunch(kernel, &below, NULL, NULL, arguments, 3, NULL, &error), &error);
  for (int i = 1; i < argc; ++i) {
    TwModule *text = twModuleFromFile(argv[i], &error);
    TwKernel *last = text ? twKernelFind(text, "last", &error) : NULL;
    TwArgument one = pointer(out, TW_F32, sizeof out);
    report(i == 1 ? "large text" : "deep text", last && twLaunch(last, &grid, NULL, NULL, &one, 1, NULL, &error), &error);
    twKernelFree(last);
    twModuleFree(text);
  }
  twKernelFree(kernel);
  twModuleFree(module);
  return 0;
}
