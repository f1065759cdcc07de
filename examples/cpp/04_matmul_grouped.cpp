// Matmul with grouped ordering: the same tiles in an order that reuses the cache. It is the kernel of ../04_matmul_grouped.py.
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK_M, int BLOCK_N, int BLOCK_K, int GROUP_M>
void grouped_matmul(ptr<const T> a_ptr, ptr<const T> b_ptr, ptr<T> c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_ak, i32 stride_bk,
                    i32 stride_bn, i32 stride_cm, i32 stride_cn) {
  auto pid = program_id(0);
  auto tiles_m = cdiv(M, BLOCK_M);
  auto tiles_n = cdiv(N, BLOCK_N);
  auto tiles_in_group = GROUP_M * tiles_n;
  auto first_m = pid / tiles_in_group * GROUP_M;
  auto group_m = minimum(tiles_m - first_m, GROUP_M); // the last group may have fewer rows of tiles
  auto pid_m = first_m + (pid % tiles_in_group) % group_m;
  auto pid_n = (pid % tiles_in_group) / group_m;
  auto offs_am = (pid_m * BLOCK_M + arange<BLOCK_M>()) % M;
  auto offs_bn = (pid_n * BLOCK_N + arange<BLOCK_N>()) % N;
  auto offs_k = arange<BLOCK_K>();
  auto a_ptrs = a_ptr + (offs_am(all, new_axis) * stride_am + offs_k(new_axis, all) * stride_ak);
  auto b_ptrs = b_ptr + (offs_k(all, new_axis) * stride_bk + offs_bn(new_axis, all) * stride_bn);
  auto acc = zeros<float, BLOCK_M, BLOCK_N>();
  for_range(0, cdiv(K, BLOCK_K), [&](i32 k) {
    auto a = load(a_ptrs, offs_k(new_axis, all) < K - k * BLOCK_K, 0.0);
    auto b = load(b_ptrs, offs_k(all, new_axis) < K - k * BLOCK_K, 0.0);
    acc = dot(a, b, acc);
    a_ptrs += BLOCK_K * stride_ak;
    b_ptrs += BLOCK_K * stride_bk;
  });
  auto c = cast<T>(acc);
  auto offs_cm = pid_m * BLOCK_M + arange<BLOCK_M>();
  auto offs_cn = pid_n * BLOCK_N + arange<BLOCK_N>();
  auto c_ptrs = c_ptr + stride_cm * offs_cm(all, new_axis) + stride_cn * offs_cn(new_axis, all);
  store(c_ptrs, c, (offs_cm(all, new_axis) < M) & (offs_cn(new_axis, all) < N));
}

inline auto matmul_kernel = jit<grouped_matmul<float, 64, 64, 32, 8>>(
    "grouped_matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn)");

int main(int argc, char **argv) {
  const int M = 300, N = 130, K = 70;
  std::vector<float> a = common::randn(M * K, 1), b = common::randn(K * N, 2), c(M * N);
  if (common::wants_ir(argc, argv)) return common::print(matmul_kernel.emit("tt", a, b, c, M, N, K, K, 1, N, 1, N, 1));
  if (common::failed(matmul_kernel.launch(grid(cdiv(M, 64) * cdiv(N, 64)), cpu, a, b, c, M, N, K, K, 1, N, 1, N, 1))) return 1;
  return common::check_matmul(
      "grouped matmul", c, N, K, [&](int i, int k) { return a[i * K + k]; }, [&](int k, int j) { return b[k * N + j]; }, 1e-4);
}
