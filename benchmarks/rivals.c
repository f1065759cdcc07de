// What a careful C programmer would write by hand for the memory-bound benchmarks: wide vectors, several accumulators,
// streaming stores where the output is larger than the caches, OpenMP over rows. Built by bench.py with -O3
// -march=native, so that the vectors are as wide as the machine's.
//
// A streaming (non-temporal) store saves reading the line first, which is a third of an addition's traffic. It takes up to
// twice the time if the output fits into the caches. So the caller chooses.

#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX512F__
#define W 16
typedef __m512 V;
typedef __m512i I;
#define load _mm512_loadu_ps
#define store _mm512_storeu_ps
#define stream _mm512_stream_ps
#define set1 _mm512_set1_ps
#define add _mm512_add_ps
#define sub _mm512_sub_ps
#define mul _mm512_mul_ps
#define fma _mm512_fmadd_ps
#define fnma _mm512_fnmadd_ps
#define vmax _mm512_max_ps
#define rint_(x) _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT)
#define power_of_two(n) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23))
#define reduce_add _mm512_reduce_add_ps
#define reduce_max _mm512_reduce_max_ps
#else
#define W 8
typedef __m256 V;
typedef __m256i I;
#define load _mm256_loadu_ps
#define store _mm256_storeu_ps
#define stream _mm256_stream_ps
#define set1 _mm256_set1_ps
#define add _mm256_add_ps
#define sub _mm256_sub_ps
#define mul _mm256_mul_ps
#define fma _mm256_fmadd_ps
#define fnma _mm256_fnmadd_ps
#define vmax _mm256_max_ps
#define rint_(x) _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define power_of_two(n) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23))
static float reduce_add(V x) {
  __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_add_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}
static float reduce_max(V x) {
  __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_max_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}
#endif

// A thread's share of n units: [*first, *last).
static void share(int64_t n, int64_t *first, int64_t *last) {
  int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
  *first = n * me / threads;
  *last = n * (me + 1) / threads;
}

// All arrays are aligned to 64 bytes, and n is a multiple of 4 W.
void rival_add(const float *x, const float *y, float *out, int64_t n, int threads, int streaming) {
#pragma omp parallel num_threads(threads)
  {
    int64_t first, last;
    share(n / (4 * W), &first, &last);
    if (streaming) {
      for (int64_t i = first * 4 * W; i < last * 4 * W; i += 4 * W)
        for (int64_t j = 0; j < 4 * W; j += W)
          stream(out + i + j, add(load(x + i + j), load(y + i + j)));
      _mm_sfence();
    } else {
      for (int64_t i = first * 4 * W; i < last * 4 * W; i += 4 * W)
        for (int64_t j = 0; j < 4 * W; j += W)
          store(out + i + j, add(load(x + i + j), load(y + i + j)));
    }
  }
}

// exp for arguments of at most 0: 2^n times a polynomial of degree 6 on [-ln 2 / 2, ln 2 / 2]; about 1 ULP.
static inline V exp_negative(V x) {
  x = vmax(x, set1(-87.0f));
  V n = rint_(mul(x, set1(1.44269504f)));
  x = fnma(n, set1(0.693359375f), x);
  x = fnma(n, set1(-2.12194440e-4f), x);
  V p = set1(1.9875691500e-4f);
  p = fma(p, x, set1(1.3981999507e-3f));
  p = fma(p, x, set1(8.3334519073e-3f));
  p = fma(p, x, set1(4.1665795894e-2f));
  p = fma(p, x, set1(1.6666665459e-1f));
  p = fma(p, x, set1(5.0000001201e-1f));
  p = add(fma(mul(p, x), x, x), set1(1.0f));
  return mul(p, power_of_two(n));
}

// Rows of a multiple of 4 W columns, at most 16384.
void rival_softmax(const float *in, float *out, int64_t rows, int64_t columns, int threads, int streaming) {
#pragma omp parallel num_threads(threads)
  {
    _Alignas(64) float row[16384];
    int64_t first, last;
    share(rows, &first, &last);
    for (int64_t r = first; r < last; ++r) {
      const float *x = in + r * columns;
      float *y = out + r * columns;
      V m[4], s[4];
      for (int j = 0; j < 4; ++j) {
        m[j] = load(x + j * W);
        s[j] = set1(0.0f);
      }
      for (int64_t i = 4 * W; i < columns; i += 4 * W)
        for (int j = 0; j < 4; ++j)
          m[j] = vmax(m[j], load(x + i + j * W));
      V top = set1(reduce_max(vmax(vmax(m[0], m[1]), vmax(m[2], m[3]))));
      for (int64_t i = 0; i < columns; i += 4 * W)
        for (int j = 0; j < 4; ++j) {
          V e = exp_negative(sub(load(x + i + j * W), top));
          store(row + i + j * W, e);
          s[j] = add(s[j], e);
        }
      V scale = set1(1.0f / reduce_add(add(add(s[0], s[1]), add(s[2], s[3]))));
      if (streaming)
        for (int64_t i = 0; i < columns; i += W)
          stream(y + i, mul(load(row + i), scale));
      else
        for (int64_t i = 0; i < columns; i += W)
          store(y + i, mul(load(row + i), scale));
    }
    if (streaming)
      _mm_sfence();
  }
}

void rival_layer_norm(const float *in, const float *weight, const float *bias, float *out, float *mean, float *rstd, int64_t rows,
                      int64_t columns, float eps, int threads, int streaming) {
#pragma omp parallel num_threads(threads)
  {
    int64_t first, last;
    share(rows, &first, &last);
    for (int64_t r = first; r < last; ++r) {
      const float *x = in + r * columns;
      float *y = out + r * columns;
      V s[4], q[4];
      for (int j = 0; j < 4; ++j)
        s[j] = q[j] = set1(0.0f);
      for (int64_t i = 0; i < columns; i += 4 * W)
        for (int j = 0; j < 4; ++j)
          s[j] = add(s[j], load(x + i + j * W));
      mean[r] = reduce_add(add(add(s[0], s[1]), add(s[2], s[3]))) / columns;
      V m = set1(mean[r]);
      for (int64_t i = 0; i < columns; i += 4 * W)
        for (int j = 0; j < 4; ++j) {
          V d = sub(load(x + i + j * W), m);
          q[j] = fma(d, d, q[j]);
        }
      rstd[r] = 1.0f / sqrtf(reduce_add(add(add(q[0], q[1]), add(q[2], q[3]))) / columns + eps);
      V scale = set1(rstd[r]);
      for (int64_t i = 0; i < columns; i += W) {
        V v = fma(mul(sub(load(x + i), m), scale), load(weight + i), load(bias + i));
        if (streaming)
          stream(y + i, v);
        else
          store(y + i, v);
      }
    }
    if (streaming)
      _mm_sfence();
  }
}

// Nanoseconds of one fork and join of `threads` threads, which a launch competes with.
double rival_fork_join(int threads, int64_t times) {
  double start = omp_get_wtime();
  for (int64_t i = 0; i < times; ++i) {
#pragma omp parallel num_threads(threads)
    { __asm__ volatile("" ::: "memory"); }
  }
  return (omp_get_wtime() - start) / times * 1e9;
}
