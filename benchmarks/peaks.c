// What cores multiply and add at best: one instruction over and over, on as many sums as registers hold, so that none waits for another,
// and nothing from memory. The rows of bench.py say what share of it a product reaches.

#include <immintrin.h>
#include <omp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { steps = 1 << 20, rounds = 6 };

#define VECTORS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12"
#define LOOP(body)                                                                                                                         \
  for (int64_t n = 0; n < steps; ++n)                                                                                                      \
    __asm__ volatile(body ::: VECTORS);

#define SIX(op, m, a, b, c, d, e, f)                                                                                                       \
  op " %%" m "12, %%" m "12, %%" m #a "\n" op " %%" m "12, %%" m "12, %%" m #b "\n" op " %%" m "12, %%" m "12, %%" m #c "\n" op " %%" m    \
     "12, %%" m "12, %%" m #d "\n" op " %%" m "12, %%" m "12, %%" m #e "\n" op " %%" m "12, %%" m "12, %%" m #f "\n"
#define TWELVE(op, m) SIX(op, m, 0, 1, 2, 3, 4, 5) SIX(op, m, 6, 7, 8, 9, 10, 11)

static double vectors(int kind) {
  _mm256_zeroall();
  switch (kind) {
  case 0: LOOP(TWELVE("vfmadd231ps", "ymm")) return 16. * 12 * steps;
  case 1: LOOP(TWELVE("vfmadd231ps", "zmm")) return 32. * 12 * steps;
  case 2: LOOP(TWELVE("vdpbf16ps", "zmm")) return 64. * 12 * steps;
  default: LOOP(TWELVE("vpdpbusd", "zmm")) return 128. * 12 * steps;
  }
}

static void configure(void) {
  struct {
    uint8_t palette, row, unused[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } shape = {.palette = 1};
  for (int i = 0; i < 8; ++i)
    shape.bytes[i] = 64, shape.rows[i] = 16;
  __asm__ volatile("ldtilecfg %0" : : "m"(shape));
  __asm__ volatile("tilezero %tmm0\ntilezero %tmm1\ntilezero %tmm2\ntilezero %tmm3\n"
                   "tilezero %tmm4\ntilezero %tmm5\ntilezero %tmm6\ntilezero %tmm7");
}

#define FOUR(op) op " %tmm4, %tmm6, %tmm0\n" op " %tmm4, %tmm7, %tmm1\n" op " %tmm5, %tmm6, %tmm2\n" op " %tmm5, %tmm7, %tmm3"

static double tiles(int bytes) {
  enum { fewer = steps / 16 };
  configure();
  for (int64_t n = 0; n < fewer; ++n)
    if (bytes)
      __asm__ volatile(FOUR("tdpbssd"));
    else
      __asm__ volatile(FOUR("tdpbf16ps"));
  __asm__ volatile("tilerelease");
  return 2. * 16 * 16 * (bytes ? 64 : 32) * 4 * fewer;
}

/// Whether this process may use AMX's tiles: Linux keeps them until it is asked.
static int has_tiles(void) {
  unsigned a = 7, b = 0, c = 0, d = 0;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (d >> 24 & 3) == 3 && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

static int has(int kind) {
  __builtin_cpu_init();
  switch (kind) {
  case 0: return __builtin_cpu_supports("fma");
  case 1: return __builtin_cpu_supports("avx512f");
  case 2: return __builtin_cpu_supports("avx512bf16");
  case 3: return __builtin_cpu_supports("avx512vnni");
  default: return has_tiles();
  }
}

/// Operations a second of `threads` cores; 0 if the CPU lacks the instructions. 0: multiply-adds of fp32 in 32 bytes, 1: in 64,
/// 2: dot products of bf16, 3: of bytes, 4: of bf16 in tiles, 5: of bytes in tiles.
double rival_peak(int kind, int threads) {
  if (!has(kind)) return 0;
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    double done = 0, start = omp_get_wtime();
#pragma omp parallel num_threads(threads) reduction(+ : done)
    done += kind < 4 ? vectors(kind) : tiles(kind == 5);
    double rate = done / (omp_get_wtime() - start);
    if (rate > best) best = rate;
  }
  return best;
}
