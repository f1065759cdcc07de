// Matmul of 8-bit floats with a scale for each row and column, in a persistent loop. It is the kernel of ../16_fp8_matmul.py.
#define TILEWRIGHT_ANY_SIZE // tiles may have extents that are not powers of two
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK_M, int BLOCK_N, int BLOCK_K, int GROUP_M, int PROMOTION_INTERVAL>
void fp8_matmul(ptr<const uint8_t> a_ptr, ptr<const uint8_t> b_ptr, ptr<const float> row_scale_ptr, ptr<const float> column_scale_ptr,
                ptr<T> c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_bn, i32 stride_cm) {
  auto tiles_m = cdiv(M, BLOCK_M), tiles_n = cdiv(N, BLOCK_N);
  // Persistent loop: while a program stores a tile, the first loads of the next tile are in flight.
  for_range(program_id(0), tiles_m * tiles_n, num_programs(0), [&](i32 tile) {
    // Grouped order: tiles that run at the same time share rows of A and B in the cache.
    auto first_m = tile / (GROUP_M * tiles_n) * GROUP_M;
    auto group_m = minimum(tiles_m - first_m, GROUP_M);
    auto offs_m = (first_m + tile % (GROUP_M * tiles_n) % group_m) * BLOCK_M + arange<BLOCK_M>();
    auto offs_n = tile % (GROUP_M * tiles_n) / group_m * BLOCK_N + arange<BLOCK_N>();
    auto offs_k = arange<BLOCK_K>();
    auto rows = offs_m < M;
    auto columns = offs_n < N;
    auto acc = zeros<float, BLOCK_M, BLOCK_N>();
    for_range(0, K, BLOCK_K, [&](i32 k) {
      auto inside = k + offs_k < K;
      auto a =
          load(a_ptr + offs_m(all, new_axis) * stride_am + (k + offs_k)(new_axis, all), rows(all, new_axis) & inside(new_axis, all), 0);
      auto b =
          load(b_ptr + offs_n(all, new_axis) * stride_bn + (k + offs_k)(new_axis, all), columns(all, new_axis) & inside(new_axis, all), 0);
      acc = dot(cast<float8e4>(a, {.bitcast = true}), trans(cast<float8e4>(b, {.bitcast = true})), acc,
                {.max_num_imprecise_acc = PROMOTION_INTERVAL});
    });
    auto row_scale = load(row_scale_ptr + offs_m, rows, 0.0);
    auto column_scale = load(column_scale_ptr + offs_n, columns, 0.0);
    auto c = acc * row_scale(all, new_axis) * column_scale(new_axis, all);
    store(c_ptr + offs_m(all, new_axis) * stride_cm + offs_n(new_axis, all), cast<T>(c), rows(all, new_axis) & columns(new_axis, all));
  });
}

inline auto matmul_kernel = jit<fp8_matmul<float, 64, 144, 128, 16, 128>>(
    "fp8_matmul_kernel(a_ptr, b_ptr, row_scale_ptr, column_scale_ptr, c_ptr, M, N, K, stride_am, stride_bn, stride_cm)",
    {.any_size = true});

static double e4m3(uint8_t bits) {
  int exponent = bits >> 3 & 15, fraction = bits & 7;
  double value = exponent ? std::ldexp(8 + fraction, exponent - 10) : std::ldexp(fraction, -9);
  return bits & 128 ? -value : value;
}

int main(int argc, char **argv) {
  const int M = 100, N = 200, K = 300;
  std::vector<uint8_t> a = common::bytes(M * K, 1, 64), b = common::bytes(N * K, 2, 64);
  std::vector<float> rows = common::randn(M, 3), columns = common::randn(N, 4), c(M * N);
  if (common::wants_ir(argc, argv)) return common::print(matmul_kernel.emit("tt", a, b, rows, columns, c, M, N, K, K, K, N));
  if (common::failed(matmul_kernel.launch(grid(3), cpu, a, b, rows, columns, c, M, N, K, K, K, N))) return 1;
  return common::check_matmul(
      "fp8 matmul", c, N, K, [&](int i, int k) { return e4m3(a[i * K + k]) * rows[i]; },
      [&](int k, int j) { return e4m3(b[j * K + k]) * columns[j]; }, 1e-4);
}
