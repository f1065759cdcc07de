// Softmax of the rows of a matrix, in one pass over memory: the kernel of ../02_fused_softmax.py.
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK, int STAGES>
void softmax_rows(ptr<T> out_ptr, ptr<const T> in_ptr, i32 in_row_stride, i32 out_row_stride, i32 n_rows, i32 n_cols) {
  auto row_start = program_id(0);
  auto row_step = num_programs(0);
  for_range(row_start, n_rows, row_step,
            [&](i32 row) {
              auto columns = arange<BLOCK>();
              auto mask = columns < n_cols;
              // Elements after the row's end are -inf: they are never the maximum, and add exp(-inf) = 0 to the sum.
              auto x = cast<float>(load(in_ptr + row * in_row_stride + columns, mask, -INFINITY));
              auto numerator = exp(x - max<0>(x));
              auto y = numerator / sum<0>(numerator);
              store(out_ptr + row * out_row_stride + columns, cast<T>(y), mask);
            },
            {.num_stages = STAGES});
}

inline auto softmax_kernel =
    jit<softmax_rows<float, 1024, 2>>("softmax_kernel(out_ptr, in_ptr, in_row_stride, out_row_stride, n_rows, n_cols)");

int main(int argc, char **argv) {
  const int rows = 64, columns = 781;
  std::vector<float> x = common::randn(rows * columns, 1), out(x.size());
  if (common::wants_ir(argc, argv)) return common::print(softmax_kernel.emit("tt", out, x, columns, columns, rows, columns));
  if (common::failed(softmax_kernel.launch(grid(rows), cpu, out, x, columns, columns, rows, columns))) return 1;
  auto expected = [&](size_t i) {
    const float *row = &x[i / columns * columns];
    double total = 0;
    for (int j = 0; j < columns; ++j)
      total += std::exp(double(row[j]));
    return std::exp(double(x[i])) / total;
  };
  return common::check("softmax", out, expected, 1e-6);
}
