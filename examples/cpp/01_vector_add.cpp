// Vector addition: the smallest complete kernel in C++. It is the kernel of ../01_vector_add.py.
//
//   clang++-22 -std=c++20 -Iinclude examples/cpp/01_vector_add.cpp -Lbuild/lib -Wl,-rpath,$PWD/build/lib -ltilewright -o add
#include "common.h"

using namespace tilewright;

template <typename T, int BLOCK> void add(ptr<const T> x_ptr, ptr<const T> y_ptr, ptr<T> out_ptr, i32 n) {
  auto pid = program_id(0);
  auto offsets = pid * BLOCK + arange<BLOCK>();
  auto mask = offsets < n;
  auto x = load(x_ptr + offsets, mask);
  auto y = load(y_ptr + offsets, mask);
  store(out_ptr + offsets, x + y, mask);
}

inline auto add_kernel = jit<add<float, 1024>>("add_kernel(x_ptr, y_ptr, out_ptr, n)");

int main(int argc, char **argv) {
  const int n = 98432;
  std::vector<float> x = common::randn(n, 1), y = common::randn(n, 2), out(n);
  if (common::wants_ir(argc, argv)) return common::print(add_kernel.emit("tt", x, y, out, n));
  if (common::failed(add_kernel.launch(grid(cdiv(n, 1024)), cpu, x, y, out, n))) return 1;
  return common::check("vector add", out, [&](size_t i) { return x[i] + y[i]; }, 0);
}
