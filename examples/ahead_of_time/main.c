/* Launches relu(A @ B + bias) of matmul_bias.py in C, and checks the result. The program needs no compiler and no Python where it runs. */
#include "matmul_bias.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int check(int32_t m, int32_t n, int32_t k) {
  float *a = malloc(sizeof(float) * m * k), *b = malloc(sizeof(float) * k * n), *bias = malloc(sizeof(float) * n), *c = malloc(sizeof(float) * m * n);
  for (int32_t i = 0; i < m * k; ++i) a[i] = (float)(i % 7 - 3);
  for (int32_t i = 0; i < k * n; ++i) b[i] = (float)(i % 5 - 2);
  for (int32_t i = 0; i < n; ++i) bias[i] = (float)(i % 3);
  TwError *error = NULL;
  int wrong = 0;
  if (!matmul_bias(NULL, a, b, bias, c, m, n, k, &error)) {
    fprintf(stderr, "error %d: %s", twErrorCode(error), twErrorText(error));
    twErrorFree(error);
    wrong = 1;
  }
  for (int32_t i = 0; i < m && !wrong; ++i)
    for (int32_t j = 0; j < n && !wrong; ++j) {
      float sum = bias[j];
      for (int32_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      wrong = fabsf(c[i * n + j] - (sum > 0 ? sum : 0)) > 1e-3f;
    }
  printf("%d x %d x %d on %s: %s\n", m, n, k, twCpuLevel(), wrong ? "wrong" : "right");
  free(a), free(b), free(bias), free(c);
  return wrong;
}

int main(void) {
  return check(256, 128, 64) | check(97, 53, 31);
}
