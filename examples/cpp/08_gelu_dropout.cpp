// GELU followed by dropout, with stateless random numbers, and tuned: the kernel of ../08_gelu_dropout.py.
#include "common.h"

using namespace tilewright;

struct Config {
  int BLOCK, num_warps;
};
constexpr Config configs[] = {{1024, 4}, {4096, 8}};

template <typename T, int BLOCK> void gelu_dropout(ptr<const T> x_ptr, ptr<T> out_ptr, i32 n_elements, f32 p, i32 seed) {
  auto offsets = program_id(0) * BLOCK + arange<BLOCK>();
  auto mask = offsets < n_elements;
  auto x = cast<float>(load(x_ptr + offsets, mask));
  auto gelu = 0.5 * x * (1.0 + erf(x * 0.7071067811865476));
  auto keep = rand(seed, offsets) > p;
  auto y = where(keep, gelu / (1.0 - p), 0.0);
  store(out_ptr + offsets, cast<T>(y), mask);
}

inline auto tuned_kernel = tuned<configs>(
    "gelu_dropout_kernel(x_ptr, out_ptr, n_elements, p, seed)", []<Config C> { return gelu_dropout<float, C.BLOCK>; }, key("n_elements"));
inline auto plain_kernel = jit<gelu_dropout<float, 1024>>("gelu_dropout_kernel(x_ptr, out_ptr, n_elements, p, seed)");

int main(int argc, char **argv) {
  const int n = 98432;
  const float p = 0.25f;
  std::vector<float> x = common::randn(n, 1), out(n);
  if (common::wants_ir(argc, argv)) return common::print(plain_kernel.emit("tt", x, out, n, p, 1234));
  auto programs = [&](const Config &c) { return grid(cdiv(n, c.BLOCK)); };
  if (common::failed(tuned_kernel.launch(programs, cpu, x, out, n, p, 1234))) return 1;
  auto gelu = [&](size_t i) { return 0.5 * x[i] * (1 + std::erf(x[i] * std::sqrt(0.5))); };
  size_t dropped = 0;
  for (size_t i = 0; i < out.size(); ++i)
    dropped += out[i] == 0 && x[i] != 0;
  if (std::abs(double(dropped) / n - p) > 0.01) return std::fprintf(stderr, "%zu elements are dropped\n", dropped), 1;
  return common::check("gelu and dropout", out, [&](size_t i) { return out[i] == 0 ? 0.0 : gelu(i) / (1 - p); }, 1e-5);
}
