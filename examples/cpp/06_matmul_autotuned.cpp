// Matmul for production: autotuned and specialized, with a fused epilogue. It is the kernel of ../06_matmul_autotuned.py, with the
// configurations that suit CPUs.
#define TILEWRIGHT_ANY_SIZE // tiles may have extents that are not powers of two
#include "common.h"

using namespace tilewright;

struct Config {
  int BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M = 8, EXTRA_N = 0, EDGE = 0, TRANSPOSED = 0;
  int num_warps = 4, num_stages = 3, num_ctas = 1;
};
constexpr Config configs[] = {{64, 64, 64}, {128, 128, 32}, {64, 256, 256, 32}, {48, 64, 64}, {64, 64, 64, 8, 32}, {64, 64, 64, 8, 0, 16}};

// Shapes are template parameters. What chooses code, such as `even_k`, is an ordinary argument: kernels run while they are built, so a
// plain `if` selects, and C++ compiles one function for both.

/// Matrices of rows and columns with any strides.
template <typename T> struct Operands {
  ptr<const T> a, b;
  ptr<T> c;
  i32 M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn;
};

template <typename X> auto leaky_relu(const X &x) {
  return where(x >= 0, x, 0.01 * x);
}

template <typename P, typename O> auto load_step(bool even_k, const P &ptrs, const O &offs_k, const i32 &left) {
  if (even_k) return load(ptrs);
  return load(ptrs, offs_k < left, 0.0);
}

template <typename T, typename A, typename R, typename C>
void store_tile(bool leaky, ptr<T> c_ptr, A acc, const R &offs_m, const C &offs_n, i32 M, i32 N, i32 stride_cm, i32 stride_cn) {
  if (leaky) acc = leaky_relu(acc);
  auto c_ptrs = c_ptr + stride_cm * offs_m(all, new_axis) + stride_cn * offs_n(new_axis, all);
  store(c_ptrs, cast<T>(acc), (offs_m(all, new_axis) < M) & (offs_n(new_axis, all) < N));
}

template <int BLOCK_M, int BLOCK_N, int EXTRA_N, int BLOCK_K, typename T>
void matmul_tile(const Operands<T> &m, i32 row, i32 column, bool even_k, bool leaky, int stages) {
  auto offs_m = row + arange<BLOCK_M>();
  auto offs_n = column + arange<BLOCK_N>();
  auto offs_k = arange<BLOCK_K>();
  auto a_ptrs = m.a + ((offs_m % m.M)(all, new_axis) * m.stride_am + offs_k(new_axis, all) * m.stride_ak);
  auto b_ptrs = m.b + (offs_k(all, new_axis) * m.stride_bk + (offs_n % m.N)(new_axis, all) * m.stride_bn);
  auto acc = zeros<float, BLOCK_M, BLOCK_N>();
  constexpr int WIDTH = EXTRA_N ? EXTRA_N : 1;
  auto more_n = column + BLOCK_N + arange<WIDTH>();
  auto more_ptrs = m.b + (offs_k(all, new_axis) * m.stride_bk + (more_n % m.N)(new_axis, all) * m.stride_bn);
  auto more = zeros<float, BLOCK_M, WIDTH>();
  for_range(0, cdiv(m.K, BLOCK_K), 1,
            [&](i32 k) {
              auto left = m.K - k * BLOCK_K;
              auto a = load_step(even_k, a_ptrs, offs_k(new_axis, all), left);
              acc = dot(a, load_step(even_k, b_ptrs, offs_k(all, new_axis), left), acc);
              if constexpr (EXTRA_N) {
                more = dot(a, load_step(even_k, more_ptrs, offs_k(all, new_axis), left), more);
                more_ptrs += BLOCK_K * m.stride_bk;
              }
              a_ptrs += BLOCK_K * m.stride_ak;
              b_ptrs += BLOCK_K * m.stride_bk;
            },
            {.num_stages = stages, .warp_specialize = EXTRA_N != 0});
  store_tile(leaky, m.c, acc, offs_m, offs_n, m.M, m.N, m.stride_cm, m.stride_cn);
  if constexpr (EXTRA_N) store_tile(leaky, m.c, more, offs_m, more_n, m.M, m.N, m.stride_cm, m.stride_cn);
}

template <int BLOCK_M, int BLOCK_N, int BLOCK_K, typename T>
void transposed_matmul_tile(const Operands<T> &m, i32 row, i32 column, bool shared, bool leaky) {
  auto offs_m = row + arange<BLOCK_M>();
  auto offs_n = column + arange<BLOCK_N>();
  auto acc = zeros<float, BLOCK_N, BLOCK_M>();
  for_range(0, m.K, BLOCK_K,
            [&](i32 k) {
              auto offs_k = k + arange<BLOCK_K>();
              auto a_ptrs = m.a + (offs_m(all, new_axis) * m.stride_am + offs_k(new_axis, all) * m.stride_ak);
              auto b_ptrs = m.b + (offs_k(all, new_axis) * m.stride_bk + offs_n(new_axis, all) * m.stride_bn);
              auto a = load(a_ptrs, (offs_m(all, new_axis) < m.M) & (offs_k(new_axis, all) < m.K), 0.0);
              auto b = load(b_ptrs, (offs_k(all, new_axis) < m.K) & (offs_n(new_axis, all) < m.N), 0.0);
              acc = dot(trans(b), trans(a), acc);
            },
            {.warp_specialize = shared});
  store_tile(leaky, m.c, acc, offs_n, offs_m, m.N, m.M, m.stride_cn, m.stride_cm);
}

template <Config C, typename T> void matmul_tiles(const Operands<T> &m, bool even_k, bool leaky) {
  constexpr int WIDTH = C.BLOCK_N + C.EXTRA_N, LONG = 256, EDGE = C.EDGE ? C.EDGE : 1;
  auto tile = program_id(0);
  auto tiles_m = cdiv(m.M - C.EDGE, C.BLOCK_M);
  auto tiles_n = cdiv(m.N - C.EDGE, WIDTH);
  auto whole = [&] {
    auto tiles_in_group = C.GROUP_M * tiles_n;
    auto first_m = tile / tiles_in_group * C.GROUP_M;
    auto group_m = minimum(tiles_m - first_m, C.GROUP_M);
    auto row = (first_m + (tile % tiles_in_group) % group_m) * C.BLOCK_M;
    auto column = (tile % tiles_in_group) / group_m * WIDTH;
    matmul_tile<C.BLOCK_M, C.BLOCK_N, C.EXTRA_N, C.BLOCK_K>(m, row, column, even_k, leaky, 0);
  };
  if constexpr (C.TRANSPOSED) {
    auto tiles_in_group = C.GROUP_M * tiles_m;
    auto first_n = tile / tiles_in_group * C.GROUP_M;
    auto group_n = minimum(tiles_n - first_n, C.GROUP_M);
    auto row = (tile % tiles_in_group) / group_n * C.BLOCK_M;
    auto column = (first_n + (tile % tiles_in_group) % group_n) * C.BLOCK_N;
    transposed_matmul_tile<C.BLOCK_M, C.BLOCK_N, C.BLOCK_K>(m, row, column, C.TRANSPOSED == 2, leaky);
  } else if constexpr (C.EDGE == 0) {
    whole();
  } else {
    if_(tile < tiles_m * tiles_n, whole, [&] { // else the rows below the whole tiles, then the columns to their right
      auto rest = tile - tiles_m * tiles_n;
      auto across = cdiv(m.N, LONG);
      auto below = cdiv(maximum(m.M - tiles_m * C.BLOCK_M, 0), EDGE) * across;
      if_(
          rest < below,
          [&] {
            matmul_tile<EDGE, LONG, 0, C.BLOCK_K>(m, tiles_m * C.BLOCK_M + rest / across * EDGE, rest % across * LONG, even_k, leaky, 8);
          },
          [&] {
            auto down = cdiv(tiles_m * C.BLOCK_M, LONG);
            matmul_tile<LONG, EDGE, 0, C.BLOCK_K>(m, (rest - below) % down * LONG, tiles_n * WIDTH + (rest - below) / down * EDGE, even_k,
                                                  leaky, 8);
          });
    });
  }
}

template <Config C, bool EVEN_K, bool LEAKY, typename T>
void matmul(ptr<const T> a_ptr, ptr<const T> b_ptr, ptr<T> c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_ak, i32 stride_bk,
            i32 stride_bn, i32 stride_cm, i32 stride_cn) {
  Operands<T> m{a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn};
  matmul_tiles<C>(m, EVEN_K, LEAKY);
}

constexpr const char *signature =
    "tuned_matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn)";
inline auto tuned_kernel = tuned<configs>(
    signature, []<Config C, bool EVEN_K> { return matmul<C, EVEN_K, true, float>; },
    tuning{.key = key("M", "N", "K", "stride_am", "stride_bk"), .any_size = true},
    [](const Config &c, Meta arguments) { return arguments["K"] % c.BLOCK_K == 0; });
inline auto plain_kernel = jit<matmul<Config{64, 64, 64}, false, true, float>>(signature, {.any_size = true});

/// The number of tiles: whole tiles and edge tiles.
static int64_t tiles_of(int64_t M, int64_t N, const Config &c) {
  int64_t width = c.BLOCK_N + c.EXTRA_N, tiles_m = cdiv(M - c.EDGE, c.BLOCK_M), tiles_n = cdiv(N - c.EDGE, width);
  int64_t rows = tiles_m * c.BLOCK_M, columns = tiles_n * width;
  int64_t below = M > rows ? cdiv(M - rows, c.EDGE) * cdiv(N, 256) : 0;
  int64_t right = N > columns ? cdiv(N - columns, c.EDGE) * cdiv(rows, 256) : 0;
  return tiles_m * tiles_n + below + right;
}

int main(int argc, char **argv) {
  const int M = 100, N = 300, K = 70;
  std::vector<float> a = common::randn(M * K, 1), b = common::randn(K * N, 2), c(M * N);
  if (common::wants_ir(argc, argv)) return common::print(plain_kernel.emit("tt", a, b, c, M, N, K, K, 1, N, 1, N, 1));
  auto programs = [&](const Config &config) { return grid(tiles_of(M, N, config)); };
  if (common::failed(tuned_kernel.launch(programs, cpu, a, b, c, M, N, K, K, 1, N, 1, N, 1))) return 1;
  auto expected = [&](size_t index) {
    double sum = 0;
    for (int k = 0; k < K; ++k)
      sum += double(a[index / N * K + k]) * b[k * N + index % N];
    return sum >= 0 ? sum : 0.01 * sum;
  };
  return common::check("tuned matmul", c, expected, 1e-4);
}
