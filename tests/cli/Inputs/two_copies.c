/* Two copies of the library in one process, each loaded for itself. Both compile and run a kernel, alternately. */
#include "tilewright/c.h"

#include <dlfcn.h>
#include <stdio.h>

static const char *const source = "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, n, B: tl.constexpr):\n"
                                  "    i = tl.arange(0, B)\n    tl.store(x + i, tl.load(x + i) + n)\n";

typedef struct Copy {
  TwModule *(*load)(const char *, const char *, TwError **);
  TwKernel *(*find)(TwModule *, const char *, TwError **);
  int (*launch)(TwKernel *, const TwGrid *, TwGridFunction, void *, const TwArgument *, size_t, const TwOptions *, TwError **);
  const char *(*text)(const TwError *);
  int (*code_use)(TwCodeUse *);
  TwModule *module;
  TwKernel *kernel;
} Copy;

static int open_copy(const char *path, Copy *copy) {
  TwError *error = NULL;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return printf("WRONG: %s\n", dlerror()), 0;
  *(void **)&copy->load = dlsym(library, "twModuleFromSource");
  *(void **)&copy->find = dlsym(library, "twKernelFind");
  *(void **)&copy->launch = dlsym(library, "twLaunch");
  *(void **)&copy->text = dlsym(library, "twErrorText");
  *(void **)&copy->code_use = dlsym(library, "twCodeUse");
  copy->module = copy->load(source, "k.py", &error);
  copy->kernel = copy->find(copy->module, "k", &error);
  return copy->kernel ? 1 : (printf("WRONG: %s\n", copy->text(error)), 0);
}

static int add(Copy *copy, float *x, int number, int block) {
  TwError *error = NULL;
  TwGrid grid = {sizeof(TwGrid), {1, 1, 1}, 1};
  TwArgument arguments[3] = {{sizeof(TwArgument), NULL, TW_POINTER, TW_F32, 64 * sizeof *x, {0}, 0, 0},
                             {sizeof(TwArgument), NULL, TW_INT, TW_I32, 0, {0}, 0, 0},
                             {sizeof(TwArgument), NULL, TW_INT, TW_I32, 0, {0}, 0, 0}};
  arguments[0].value.pointer = x, arguments[1].value.integer = number, arguments[2].value.integer = block;
  if (copy->launch(copy->kernel, &grid, NULL, NULL, arguments, 3, NULL, &error)) return 1;
  return printf("WRONG: %s\n", copy->text(error)), 0;
}

int main(int argc, char **argv) {
  Copy first, second;
  float x[64] = {0};
  TwCodeUse one = {sizeof(TwCodeUse), 0, 0, 0}, two = one;
  int block;
  if (argc != 3 || !open_copy(argv[1], &first) || !open_copy(argv[2], &second)) return 1;
  if (first.launch == second.launch) return puts("WRONG: there is only one copy"), 1;
  for (block = 64; block >= 16; block /= 2)
    if (!add(&first, x, 1, block) || !add(&second, x, 10, block)) return 1;
  first.code_use(&one);
  if (!add(&second, x, 100, 8)) return 1;
  second.code_use(&two);
  if (one.kernels != 3 || two.kernels != 4) return printf("WRONG: %d and %d kernels\n", (int)one.kernels, (int)two.kernels), 1;
  return puts(x[0] == 133 && x[15] == 33 && x[63] == 11 ? "both copies work" : "WRONG: results"), 0;
}
