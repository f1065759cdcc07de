// Matmul with block pointers: shape, strides and position are given once. It is the kernel of ../05_matmul_block_pointers.py.
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK_M, int BLOCK_N, int BLOCK_K>
void block_matmul(ptr<const T> a_ptr, ptr<const T> b_ptr, ptr<T> c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_ak, i32 stride_bk,
                  i32 stride_bn, i32 stride_cm, i32 stride_cn) {
  auto pid_m = program_id(0);
  auto pid_n = program_id(1);
  auto a_block = make_block_ptr<BLOCK_M, BLOCK_K>(a_ptr, at(M, K), at(stride_am, stride_ak), at(pid_m * BLOCK_M, 0));
  auto b_block = make_block_ptr<BLOCK_K, BLOCK_N>(b_ptr, at(K, N), at(stride_bk, stride_bn), at(0, pid_n * BLOCK_N));
  auto acc = zeros<float, BLOCK_M, BLOCK_N>();
  for_range(0, K, BLOCK_K, [&](i32) {
    auto a = load(a_block, boundary_check<0, 1>, {.padding_option = "zero"});
    auto b = load(b_block, boundary_check<0, 1>, {.padding_option = "zero"});
    acc = dot(a, b, acc);
    a_block = advance(a_block, at(0, BLOCK_K));
    b_block = advance(b_block, at(BLOCK_K, 0));
  });
  auto c_block = make_block_ptr<BLOCK_M, BLOCK_N>(c_ptr, at(M, N), at(stride_cm, stride_cn), at(pid_m * BLOCK_M, pid_n * BLOCK_N));
  store(c_block, cast<T>(acc), boundary_check<0, 1>);
}

inline auto matmul_kernel = jit<block_matmul<float, 64, 64, 64>>(
    "block_matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn)");

int main(int argc, char **argv) {
  const int M = 130, N = 70, K = 200;
  std::vector<float> a = common::randn(M * K, 1), b = common::randn(K * N, 2), c(M * N);
  if (common::wants_ir(argc, argv)) return common::print(matmul_kernel.emit("tt", a, b, c, M, N, K, K, 1, N, 1, N, 1));
  if (common::failed(matmul_kernel.launch(grid(cdiv(M, 64), cdiv(N, 64)), cpu, a, b, c, M, N, K, K, 1, N, 1, N, 1))) return 1;
  return common::check_matmul(
      "block pointers", c, N, K, [&](int i, int k) { return a[i * K + k]; }, [&](int k, int j) { return b[k * N + j]; }, 1e-4);
}
