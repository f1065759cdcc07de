// Reductions of the lower triangle of a matrix: maximum, its index, and sum. It is the kernel of ../11_reductions.py.
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK_ROWS, int BLOCK>
void causal_reduce(ptr<const T> x_ptr, ptr<float> max_ptr, ptr<int32_t> argmax_ptr, ptr<float> sum_ptr, i32 n, i32 stride) {
  auto rows = program_id(0) * BLOCK_ROWS + arange<BLOCK_ROWS>();
  auto columns = arange<BLOCK>();
  auto inside = (rows(all, new_axis) < n) & (columns(new_axis, all) < n);
  auto x = cast<float>(load(x_ptr + rows(all, new_axis) * stride + columns(new_axis, all), inside, 0.0));
  auto seen = columns(new_axis, all) <= rows(all, new_axis);
  auto masked = where(seen, x, -INFINITY);
  store(max_ptr + rows, max<1>(masked), rows < n);
  store(argmax_ptr + rows, argmax<1>(masked), rows < n);
  store(sum_ptr + rows, sum<1>(where(seen, x, 0.0)), rows < n);
}

inline auto reduce_kernel = jit<causal_reduce<float, 8, 128>>("causal_reduce_kernel(x_ptr, max_ptr, argmax_ptr, sum_ptr, n, stride)");

int main(int argc, char **argv) {
  const int n = 100;
  std::vector<float> x = common::randn(n * n, 1), largest(n), total(n);
  std::vector<int32_t> index(n);
  if (common::wants_ir(argc, argv)) return common::print(reduce_kernel.emit("tt", x, largest, index, total, n, n));
  if (common::failed(reduce_kernel.launch(grid(cdiv(n, 8)), cpu, x, largest, index, total, n, n))) return 1;
  auto row = [&](size_t i) { return &x[i * n]; };
  auto last = [&](size_t i) { return row(i) + i + 1; };
  int wrong = common::check("maximum", largest, [&](size_t i) { return *std::max_element(row(i), last(i)); }, 0);
  wrong += common::check("its index", index, [&](size_t i) { return double(std::max_element(row(i), last(i)) - row(i)); }, 0);
  return wrong + common::check(
                     "sum", total,
                     [&](size_t i) {
                       double s = 0;
                       for (const float *p = row(i); p != last(i); ++p)
                         s += *p;
                       return s;
                     },
                     1e-5);
}
