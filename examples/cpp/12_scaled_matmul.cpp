// Matmul of microscaling formats: e4m3 times e2m1, with a scale for each 32 elements of K. It is the kernel of ../12_scaled_matmul.py.
#include "common.h"

using namespace tilewright;

template <int BLOCK_M, int BLOCK_N, int BLOCK_K>
void scaled_matmul(ptr<const uint8_t> a_ptr, ptr<const uint8_t> a_scale_ptr, ptr<const uint8_t> b_ptr, ptr<const uint8_t> b_scale_ptr,
                   ptr<float> c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_bn, i32 stride_as, i32 stride_bs, i32 stride_cm) {
  auto offs_m = program_id(0) * BLOCK_M + arange<BLOCK_M>();
  auto offs_n = program_id(1) * BLOCK_N + arange<BLOCK_N>();
  auto offs_k = arange<BLOCK_K>();
  auto pairs = arange<BLOCK_K / 2>(); // two numbers per byte
  auto groups = arange<BLOCK_K / 32>();
  auto rows = offs_m(all, new_axis) < M;
  auto columns = offs_n < N;

  auto acc = zeros<float, BLOCK_M, BLOCK_N>();
  for_range(0, K, BLOCK_K, [&](i32 k) {
    auto a = load(a_ptr + offs_m(all, new_axis) * stride_am + (k + offs_k)(new_axis, all), rows & (k + offs_k < K)(new_axis, all), 0);
    auto b = load(b_ptr + offs_n(new_axis, all) * stride_bn + (k / 2 + pairs)(all, new_axis),
                  columns(new_axis, all) & (k / 2 + pairs < K / 2)(all, new_axis), 0);
    auto inside = (k / 32 + groups < K / 32)(new_axis, all);
    auto a_scale = load(a_scale_ptr + offs_m(all, new_axis) * stride_as + (k / 32 + groups)(new_axis, all), rows & inside, 0);
    auto b_scale =
        load(b_scale_ptr + offs_n(all, new_axis) * stride_bs + (k / 32 + groups)(new_axis, all), columns(all, new_axis) & inside, 0);
    acc = dot_scaled(a, a_scale, "e4m3", b, b_scale, "e2m1", acc);
  });
  store(c_ptr + offs_m(all, new_axis) * stride_cm + offs_n(new_axis, all), acc, rows & columns(new_axis, all));
}

inline auto matmul_kernel = jit<scaled_matmul<64, 64, 64>>(
    "scaled_matmul_kernel(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, stride_am, stride_bn, stride_as, stride_bs, stride_cm)");

static double e4m3(uint8_t bits) {
  int exponent = bits >> 3 & 15, fraction = bits & 7;
  double value = exponent ? std::ldexp(8 + fraction, exponent - 10) : std::ldexp(fraction, -9);
  return bits & 128 ? -value : value;
}
static double e2m1(uint8_t bits) {
  constexpr double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return bits & 8 ? -values[bits & 7] : values[bits & 7];
}

int main(int argc, char **argv) {
  const int M = 70, N = 100, K = 192;
  std::vector<uint8_t> a = common::bytes(M * K, 1, 127), b = common::bytes(N * K / 2, 2, 256), as = common::bytes(M * K / 32, 3, 4),
                       bs = common::bytes(N * K / 32, 4, 4);
  for (std::vector<uint8_t> *scales : {&as, &bs})
    for (uint8_t &scale : *scales)
      scale += 125; // 2^-2 to 2^1
  std::vector<float> c(M * N);
  if (common::wants_ir(argc, argv)) return common::print(matmul_kernel.emit("tt", a, as, b, bs, c, M, N, K, K, K / 2, K / 32, K / 32, N));
  auto programs = grid(cdiv(M, 64), cdiv(N, 64));
  if (common::failed(matmul_kernel.launch(programs, cpu, a, as, b, bs, c, M, N, K, K, K / 2, K / 32, K / 32, N))) return 1;
  return common::check_matmul(
      "scaled matmul", c, N, K, [&](int i, int k) { return std::ldexp(e4m3(a[i * K + k]), as[i * K / 32 + k / 32] - 127); },
      [&](int k, int j) { return std::ldexp(e2m1(b[(j * K + k) / 2] >> k % 2 * 4 & 15), bs[j * K / 32 + k / 32] - 127); }, 1e-4);
}
