// Runs kernels for 64-bit ARM under qemu-aarch64, at the requests of tests/run/arm_device.py.
//
//   in   load LIBRARY SYMBOL                                out  ok HANDLE
//   in   run HANDLE X Y Z SCRATCH COUNT {p|v}NUMBER ...     out  ok, or assert X Y Z ELEMENT TEXT
//
// A number after `p` is an offset in the file of shared memory, argv[1]; one after `v` is the value of an argument. Numbers are hexadecimal.
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void Entry(const uint64_t *arguments, const int32_t *grid, int64_t first, int64_t last, void *scratch);

static jmp_buf leave;

// What compiled programs call (src/support/host_names.h). The texts that a program prints are not compared.
void tilewright_print(int32_t x, int32_t y, int32_t z, const char *format, int64_t element, uint64_t bits) {}

void tilewright_assert_failed(int32_t x, int32_t y, int32_t z, const char *format, int64_t element) {
  printf("assert %" PRId32 " %" PRId32 " %" PRId32 " %" PRId64 " ", x, y, z, element);
  for (; *format; ++format) printf("%02x", (unsigned char)*format);
  printf("\n");
  longjmp(leave, 1);
}

static void fail(const char *what) {
  fprintf(stderr, "arm_worker: %s\n", what);
  exit(1);
}

static void load(char *words) {
  char *library = strtok(words, " "), *symbol = strtok(NULL, " \n");
  void *handle = dlopen(library, RTLD_NOW);
  if (!handle) fail(dlerror());
  void *entry = dlsym(handle, symbol);
  if (!entry) fail(dlerror());
  printf("ok %" PRIxPTR "\n", (uintptr_t)entry);
}

static uint64_t next(void) {
  char *word = strtok(NULL, " \n");
  if (!word) fail("a request ends too early");
  return strtoull(word, NULL, 16);
}

/// Maps the file as it is now: the caller lets it grow.
static char *sharedMemory(const char *path) {
  static char *base;
  static off_t size;
  struct stat status;
  int file = open(path, O_RDWR);
  if (file < 0 || fstat(file, &status)) fail("the shared memory cannot be opened");
  if (status.st_size != size) {
    if (base) munmap(base, size);
    base = mmap(NULL, size = status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) fail("the shared memory cannot be mapped");
  }
  close(file);
  return base;
}

static void run(const char *path, char *words) {
  char *base = sharedMemory(path);
  Entry *entry = (Entry *)strtoull(strtok(words, " "), NULL, 16);
  int32_t grid[3];
  for (int i = 0; i < 3; ++i) grid[i] = (int32_t)next();
  uint64_t bytes = (next() + 63) / 64 * 64, count = next();
  uint64_t *arguments = calloc(count + 1, 8);
  for (uint64_t i = 0; i < count; ++i) {
    char *word = strtok(NULL, " \n");
    uint64_t value = strtoull(word + 1, NULL, 16);
    arguments[i] = word[0] == 'p' ? (uint64_t)(base + value) : value;
  }
  char *scratch = aligned_alloc(64, bytes + 64);
  memset(scratch, 0, 64);
  if (!setjmp(leave)) {
    entry(arguments, grid, 0, (int64_t)grid[0] * grid[1] * grid[2], scratch);
    printf("ok\n");
  }
  free(scratch);
  free(arguments);
}

int main(int count, char **words) {
  static char line[1 << 20];
  if (count != 2) fail("usage: arm_worker FILE");
  while (fgets(line, sizeof line, stdin)) {
    if (!strncmp(line, "load ", 5)) load(line + 5);
    else if (!strncmp(line, "run ", 4)) run(words[1], line + 4);
    else fail("unknown request");
    fflush(stdout);
  }
  return 0;
}
