// Matmul, first version: one program for each tile of C. It is the kernel of ../03_matmul_basic.py.
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK_M, int BLOCK_N, int BLOCK_K>
void matmul(ptr<const T> a_ptr, ptr<const T> b_ptr, ptr<T> c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_ak, i32 stride_bk,
            i32 stride_bn, i32 stride_cm, i32 stride_cn) {
  auto pid = program_id(0);
  auto tiles_n = cdiv(N, BLOCK_N);
  auto pid_m = pid / tiles_n;
  auto pid_n = pid % tiles_n;
  auto offs_m = pid_m * BLOCK_M + arange<BLOCK_M>();
  auto offs_n = pid_n * BLOCK_N + arange<BLOCK_N>();
  auto offs_k = arange<BLOCK_K>();
  auto a_ptrs = a_ptr + offs_m(all, new_axis) * stride_am + offs_k(new_axis, all) * stride_ak;
  auto b_ptrs = b_ptr + offs_k(all, new_axis) * stride_bk + offs_n(new_axis, all) * stride_bn;
  auto acc = zeros<float, BLOCK_M, BLOCK_N>();
  for_range(0, cdiv(K, BLOCK_K), [&](i32 k) {
    auto left = K - k * BLOCK_K;
    auto a = load(a_ptrs, (offs_m(all, new_axis) < M) & (offs_k(new_axis, all) < left), 0.0);
    auto b = load(b_ptrs, (offs_k(all, new_axis) < left) & (offs_n(new_axis, all) < N), 0.0);
    acc += dot(a, b);
    a_ptrs += BLOCK_K * stride_ak;
    b_ptrs += BLOCK_K * stride_bk;
  });
  auto c_ptrs = c_ptr + offs_m(all, new_axis) * stride_cm + offs_n(new_axis, all) * stride_cn;
  store(c_ptrs, cast<T>(acc), (offs_m(all, new_axis) < M) & (offs_n(new_axis, all) < N));
}

inline auto matmul_kernel = jit<matmul<float, 64, 64, 32>>(
    "matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn)");

int main(int argc, char **argv) {
  const int M = 100, N = 130, K = 70;
  std::vector<float> a = common::randn(M * K, 1), b = common::randn(K * N, 2), c(M * N);
  if (common::wants_ir(argc, argv)) return common::print(matmul_kernel.emit("tt", a, b, c, M, N, K, K, 1, N, 1, N, 1));
  if (common::failed(matmul_kernel.launch(grid(cdiv(M, 64) * cdiv(N, 64)), cpu, a, b, c, M, N, K, K, 1, N, 1, N, 1))) return 1;
  return common::check_matmul(
      "matmul", c, N, K, [&](int i, int k) { return a[i * K + k]; }, [&](int k, int j) { return b[k * N + j]; }, 1e-4);
}
