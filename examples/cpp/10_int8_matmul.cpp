// Matmul of 8-bit integers with scales: the kernel of ../10_int8_matmul.py. `SCALED` says whether the scaled result is wanted.
#include "common.h"

using namespace tilewright;

template <bool SCALED, int BLOCK_M, int BLOCK_N, int BLOCK_K>
void int8_matmul(ptr<const int8_t> a_ptr, ptr<const int8_t> b_ptr, ptr<const float> row_scale_ptr, ptr<const float> column_scale_ptr,
                 ptr<int32_t> exact_ptr, ptr<float> c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_ak, i32 stride_bk, i32 stride_bn,
                 i32 stride_cm, i32 stride_cn) {
  auto pid_m = program_id(0);
  auto pid_n = program_id(1);
  auto offs_m = pid_m * BLOCK_M + arange<BLOCK_M>();
  auto offs_n = pid_n * BLOCK_N + arange<BLOCK_N>();
  auto offs_k = arange<BLOCK_K>();
  auto a_ptrs = a_ptr + offs_m(all, new_axis) * stride_am + offs_k(new_axis, all) * stride_ak;
  auto b_ptrs = b_ptr + offs_k(all, new_axis) * stride_bk + offs_n(new_axis, all) * stride_bn;

  auto acc = zeros<int32_t, BLOCK_M, BLOCK_N>();
  for_range(0, K, BLOCK_K, [&](i32 k) {
    auto a = load(a_ptrs, (offs_m(all, new_axis) < M) & (offs_k(new_axis, all) < K - k), 0);
    auto b = load(b_ptrs, (offs_k(all, new_axis) < K - k) & (offs_n(new_axis, all) < N), 0);
    acc = dot<int32_t>(a, b, acc);
    a_ptrs += BLOCK_K * stride_ak;
    b_ptrs += BLOCK_K * stride_bk;
  });

  auto at = offs_m(all, new_axis) * stride_cm + offs_n(new_axis, all) * stride_cn;
  auto inside = (offs_m(all, new_axis) < M) & (offs_n(new_axis, all) < N);
  store(exact_ptr + at, acc, inside);
  if constexpr (SCALED) {
    auto row_scale = load(row_scale_ptr + offs_m, offs_m < M, 0.0);
    auto column_scale = load(column_scale_ptr + offs_n, offs_n < N, 0.0);
    auto c = cast<float>(acc) * row_scale(all, new_axis) * column_scale(new_axis, all);
    store(c_ptr + at, c, inside);
  }
}

inline auto matmul_kernel = jit<int8_matmul<true, 64, 64, 64>>(
    "int8_matmul_kernel(a_ptr, b_ptr, row_scale_ptr, column_scale_ptr, exact_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, "
    "stride_bn, stride_cm, stride_cn)");

int main(int argc, char **argv) {
  const int M = 100, N = 70, K = 130;
  std::vector<int8_t> a(M * K), b(K * N);
  std::vector<uint8_t> bits = common::bytes(a.size() + b.size(), 1, 256);
  std::copy_n(bits.begin(), a.size(), a.begin());
  std::copy_n(bits.begin() + a.size(), b.size(), b.begin());
  std::vector<float> rows = common::randn(M, 2), columns = common::randn(N, 3), c(M * N);
  std::vector<int32_t> exact(M * N);
  if (common::wants_ir(argc, argv))
    return common::print(matmul_kernel.emit("tt", a, b, rows, columns, exact, c, M, N, K, K, 1, N, 1, N, 1));
  auto programs = grid(cdiv(M, 64), cdiv(N, 64));
  if (common::failed(matmul_kernel.launch(programs, cpu, a, b, rows, columns, exact, c, M, N, K, K, 1, N, 1, N, 1))) return 1;
  int wrong = common::check_matmul(
      "int8 matmul", exact, N, K, [&](int i, int k) { return a[i * K + k]; }, [&](int k, int j) { return b[k * N + j]; }, 0);
  return wrong + common::check("scaled", c, [&](size_t i) { return double(exact[i]) * rows[i / N] * columns[i % N]; }, 1e-6);
}
