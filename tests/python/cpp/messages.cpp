// Kernels with mistakes that C++ sees while it compiles. The comment of a line is the sentence that both compilers print for it.
#include "tilewright/language.h"

using namespace tilewright;

void kernel(ptr<float> out, ptr<const float> in, i32 n) {
  auto a = zeros<float, 16, 32>();
  auto b = zeros<float, 16>();
  auto h = zeros<half, 32, 16>();
  auto i = arange<16>();
  a + zeros<float, 8, 32>();                          // The shapes of the two operands do not fit
  dot(a, a);                                          // The inner sizes of dot differ
  dot(a, h);                                          // dot multiplies two tiles of one element type
  exp(h);                                             // exp takes tiles of float or double
  b & 1;                                              // Bitwise operators and shifts take integers
  b = i;                                              // A variable keeps its element type and shape
  b += zeros<float, 8, 16>();                         // A compound assignment changes the element type or the shape
  tile<float, 16> c = h;                              // A tile of this type and shape cannot be made from a tile of another one
  load(in + i, n);                                    // The mask is a tile of bools
  load(in + i, arange<8>() < n);                      // The shape of the mask does not fit
  store(in + i, b);                                   // A kernel cannot store to ptr<const T>
  store(out + i, a);                                  // The shape of the stored value does not fit
  in + b;                                             // The offset of a pointer is an integer
  in + in;                                            // Two pointers cannot be added
  reshape<8>(b);                                      // The new shape has another number of elements
  sum<1>(b);                                          // The tile has no such axis
  zeros<float, 12>();                                 // The extents of a tile are powers of two
  if (n > 2) store(out, 1);                           // A kernel's value is not known while the kernel is built
  if_(i > 2, [] {});                                  // A condition is one bool, not a tile
  while_(n > 2, [] {});                               // The condition of while_ is a lambda
  i32 k = 1.5;                                        // A floating-point number cannot initialize an integer
  topk<3>(b);                                         // topk<K> takes a power of two
  reduce<0>(b, [](f32 x, f32) { return x > 1; });     // returns a scalar of the tile's element type
  make_block_ptr<16, 16>(in, at(n), at(1), at(0, 0)); // There must be one number for each dimension
}

inline auto compiled = jit<kernel>("kernel(out, in, n)");

void host(std::vector<float> &x, const std::vector<float> &fixed, std::vector<double> &wide) {
  (void)compiled.launch(grid(1), cpu, x, x);        // another number of arguments than the kernel has parameters
  (void)compiled.launch(grid(1), cpu, fixed, x, 1); // the argument is constant
  (void)compiled.launch(grid(1), cpu, x, wide, 1);  // The argument points to elements of another type
  (void)compiled.launch(grid(1), cpu, x, x, 1.5);   // This parameter of the kernel is an integer
  (void)compiled.launch(grid(1), cpu, x, x, x);     // This parameter of the kernel is a number
  (void)compiled.launch(grid(1), cpu, x, 3, 1);     // This parameter of the kernel is a pointer
}
