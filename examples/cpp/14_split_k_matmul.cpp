// Split-K matmul: several programs compute parts of K of one tile, and a second kernel adds them. The kernels of ../14_split_k_matmul.py.
#include "common.h"

using namespace tilewright;

template <typename T, int PART, int BLOCK_M, int BLOCK_N, int BLOCK_K>
void split_k(ptr<const T> a_ptr, ptr<const T> b_ptr, ptr<float> sums_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_bk,
             i32 stride_bn) {
  auto tile = program_id(0), part = program_id(1);
  auto tiles_n = cdiv(N, BLOCK_N);
  auto offs_m = tile / tiles_n * BLOCK_M + arange<BLOCK_M>();
  auto offs_n = tile % tiles_n * BLOCK_N + arange<BLOCK_N>();
  auto offs_k = arange<BLOCK_K>();
  auto first = part * PART;
  auto acc = zeros<float, BLOCK_M, BLOCK_N>();
  for_range(first, minimum(first + PART, K), BLOCK_K, [&](i32 k) {
    auto inside = k + offs_k < K;
    auto a = load(a_ptr + offs_m(all, new_axis) * stride_am + (k + offs_k)(new_axis, all),
                  (offs_m < M)(all, new_axis) & inside(new_axis, all), 0);
    auto b = load(b_ptr + (k + offs_k)(all, new_axis) * stride_bk + offs_n(new_axis, all) * stride_bn,
                  inside(all, new_axis) & (offs_n < N)(new_axis, all), 0);
    acc = dot(a, b, acc);
  });
  auto at = cast<int64_t>(part * M + offs_m)(all, new_axis) * N + offs_n(new_axis, all);
  store(sums_ptr + at, acc, (offs_m < M)(all, new_axis) & (offs_n < N)(new_axis, all));
}

template <typename T, int PARTS, int BLOCK> void add_parts(ptr<const float> sums_ptr, ptr<T> c_ptr, i32 elements) {
  auto at = program_id(0) * BLOCK + arange<BLOCK>();
  auto total = zeros<float, BLOCK>();
  for (int part = 0; part < PARTS; ++part) // unrolled
    total += load(sums_ptr + part * elements + at, at < elements, 0);
  store(c_ptr + at, cast<T>(total), at < elements);
}

inline auto split_k_kernel =
    jit<split_k<float, 512, 64, 64, 64>>("split_k_kernel(a_ptr, b_ptr, sums_ptr, M, N, K, stride_am, stride_bk, stride_bn)");
inline auto add_parts_kernel = jit<add_parts<float, 4, 1024>>("add_parts_kernel(sums_ptr, c_ptr, elements)");

int main(int argc, char **argv) {
  const int M = 64, N = 100, K = 2000, parts = 4; // of 512
  std::vector<float> a = common::randn(M * K, 1), b = common::randn(K * N, 2), sums(parts * M * N), c(M * N);
  if (common::wants_ir(argc, argv))
    return common::print(split_k_kernel.emit("tt", a, b, sums, M, N, K, K, N, 1), add_parts_kernel.emit("tt", sums, c, M * N));
  if (common::failed(split_k_kernel.launch(grid(cdiv(M, 64) * cdiv(N, 64), parts), cpu, a, b, sums, M, N, K, K, N, 1))) return 1;
  if (common::failed(add_parts_kernel.launch(grid(cdiv(M * N, 1024)), cpu, sums, c, M * N))) return 1;
  return common::check_matmul(
      "split-K matmul", c, N, K, [&](int i, int k) { return a[i * K + k]; }, [&](int k, int j) { return b[k * N + j]; }, 1e-3);
}
