// Grouped matmul: rows of several groups, each multiplied by the matrix of its group. It is the kernel of ../15_grouped_matmul.py.
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK_M, int BLOCK_N, int BLOCK_K>
void grouped_gemm(ptr<const T> x_ptr, ptr<const T> w_ptr, ptr<T> out_ptr, ptr<const int32_t> group_ptr, ptr<const int32_t> first_ptr,
                  ptr<const int32_t> end_ptr, i32 N, i32 K, i32 stride_x, i32 stride_wg, i32 stride_wk, i32 stride_out) {
  auto tile = program_id(0);
  auto group = cast<int64_t>(load(group_ptr + tile));
  auto rows = load(first_ptr + tile) + arange<BLOCK_M>();
  auto inside = rows < load(end_ptr + tile);
  auto offs_n = program_id(1) * BLOCK_N + arange<BLOCK_N>();
  auto offs_k = arange<BLOCK_K>();
  auto w = w_ptr + group * stride_wg;
  auto acc = zeros<float, BLOCK_M, BLOCK_N>();
  for_range(0, K, BLOCK_K, [&](i32 k) {
    auto left = k + offs_k < K;
    auto x = load(x_ptr + rows(all, new_axis) * stride_x + (k + offs_k)(new_axis, all), inside(all, new_axis) & left(new_axis, all), 0);
    auto b =
        load(w + (k + offs_k)(all, new_axis) * stride_wk + offs_n(new_axis, all), left(all, new_axis) & (offs_n < N)(new_axis, all), 0);
    acc = dot(x, b, acc);
  });
  store(out_ptr + rows(all, new_axis) * stride_out + offs_n(new_axis, all), cast<T>(acc),
        inside(all, new_axis) & (offs_n < N)(new_axis, all));
}

inline auto gemm_kernel = jit<grouped_gemm<float, 64, 64, 64>>(
    "grouped_gemm_kernel(x_ptr, w_ptr, out_ptr, group_ptr, first_ptr, end_ptr, N, K, stride_x, stride_wg, stride_wk, stride_out)");

int main(int argc, char **argv) {
  const int sizes[] = {5, 0, 130, 64}, N = 96, K = 100;
  std::vector<int32_t> group, first, end;
  int rows = 0;
  for (int g = 0; g < 4; ++g) {
    for (int row = rows; row < rows + sizes[g]; row += 64) {
      group.push_back(g);
      first.push_back(row);
      end.push_back(rows + sizes[g]);
    }
    rows += sizes[g];
  }
  std::vector<float> x = common::randn(rows * K, 1), w = common::randn(4 * K * N, 2), out(rows * N);
  if (common::wants_ir(argc, argv)) return common::print(gemm_kernel.emit("tt", x, w, out, group, first, end, N, K, K, K * N, N, N));
  auto programs = grid(static_cast<int64_t>(group.size()), cdiv(N, 64));
  if (common::failed(gemm_kernel.launch(programs, cpu, x, w, out, group, first, end, N, K, K, K * N, N, N))) return 1;
  auto expected = [&](size_t i) {
    int row = int(i) / N, g = 0;
    for (int before = sizes[0]; row >= before; before += sizes[g])
      ++g;
    double sum = 0;
    for (int k = 0; k < K; ++k)
      sum += double(x[row * K + k]) * w[(g * K + k) * N + int(i) % N];
    return sum;
  };
  return common::check("grouped matmul", out, expected, 1e-4);
}
