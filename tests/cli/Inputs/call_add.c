// Calls an object of add.py: 1000 elements, in one program.
#include "add.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float x[1000], y[1000], out[1000];

int main(void) {
  for (int i = 0; i < 1000; ++i) x[i] = i, y[i] = 2 * i;
  float *tensors[3] = {x, y, out};
  uint64_t arguments[4];                // eight bytes each, constexprs left out
  memcpy(arguments, tensors, sizeof tensors);
  arguments[3] = 1000;                  // integers sign-extended, fp32 as its bits in the lower half
  int32_t grid[3] = {1, 1, 1};          // 1000 elements, 1024 in a program
  void *scratch = aligned_alloc(64, add_kernel_scratch_bytes);
  memset(scratch, 0, 64);
  add_kernel(arguments, grid, 0, 1, scratch);   // programs [0, 1) in launch order
  free(scratch);
  printf("%g\n", out[999]);
  return out[999] != 2997;
}
