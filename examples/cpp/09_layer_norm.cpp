// Layer normalization, forward: two reductions of a row that is loaded once. It is the kernel of ../09_layer_norm.py.
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK>
void layer_norm(ptr<const T> x_ptr, ptr<const T> weight_ptr, ptr<const T> bias_ptr, ptr<T> y_ptr, ptr<float> mean_ptr, ptr<float> rstd_ptr,
                i32 x_row_stride, i32 y_row_stride, i32 n_cols, f32 eps) {
  auto row = program_id(0);
  auto columns = arange<BLOCK>();
  auto mask = columns < n_cols;
  auto x = cast<float>(load(x_ptr + row * x_row_stride + columns, mask, 0.0));
  auto mean = sum<0>(x) / n_cols;
  auto centered = where(mask, x - mean, 0.0);
  auto rstd = 1.0 / sqrt(sum<0>(centered * centered) / n_cols + eps);

  auto weight = cast<float>(load(weight_ptr + columns, mask, 0.0));
  auto bias = cast<float>(load(bias_ptr + columns, mask, 0.0));
  auto y = centered * rstd * weight + bias;
  store(y_ptr + row * y_row_stride + columns, cast<T>(y), mask);
  // These stores come last: before the first store, the compiler may reload a long row instead of keeping it in registers.
  store(mean_ptr + row, mean);
  store(rstd_ptr + row, rstd);
}

inline auto layer_norm_kernel = jit<layer_norm<float, 1024>>(
    "layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, x_row_stride, y_row_stride, n_cols, eps)");

int main(int argc, char **argv) {
  const int rows = 50, n = 781;
  const float eps = 1e-5f;
  std::vector<float> x = common::randn(rows * n, 1), weight = common::randn(n, 2), bias = common::randn(n, 3), y(x.size()), mean(rows),
                     rstd(rows);
  if (common::wants_ir(argc, argv)) return common::print(layer_norm_kernel.emit("tt", x, weight, bias, y, mean, rstd, n, n, n, eps));
  if (common::failed(layer_norm_kernel.launch(grid(rows), cpu, x, weight, bias, y, mean, rstd, n, n, n, eps))) return 1;
  auto expected = [&](size_t i) {
    const float *row = &x[i / n * n];
    double average = 0, variance = 0;
    for (int j = 0; j < n; ++j)
      average += row[j] / double(n);
    for (int j = 0; j < n; ++j)
      variance += (row[j] - average) * (row[j] - average) / n;
    return (x[i] - average) / std::sqrt(variance + eps) * weight[i % n] + bias[i % n];
  };
  return common::check("layer norm", y, expected, 1e-5);
}
