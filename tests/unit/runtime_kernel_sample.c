/* A kernel as the compiler would make it, to test loading and launching alone: out[i] += x[i] * scale, one program an element. */
#include <math.h>
#include <stdint.h>

void sample_kernel(const uint64_t *args, const int32_t *grid, int64_t first, int64_t last, char *arena) {
  float *out = (float *)args[0];
  const float *x = (const float *)args[1];
  union { uint32_t bits; float value; } scale = {(uint32_t)args[2]};
  for (int64_t i = first; i < last; ++i) {
    ((float *)arena)[0] = expf(x[i]);
    out[i] += logf(((float *)arena)[0]) * scale.value + (float)grid[1];
  }
}

_Float16 sample_half(float value) { return (_Float16)value; }
void nothing_kernel(const uint64_t *args, const int32_t *grid, int64_t first, int64_t last, char *arena) {}
