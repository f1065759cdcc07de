// Tensors of the command line: made by a generator or read from a file, compared, printed, written.
#pragma once

#include "evaluate/types.h"
#include "support/npy.h"
#include "support/result.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// A tensor in memory. Elements have an index in row-major order of the shape, whatever the strides are.
class Tensor {
public:
  Tensor(Scalar element, std::vector<int64_t> shape, bool transposed);

  Scalar element() const { return scalar; }
  const std::vector<int64_t> &shape() const { return extents; }
  const std::vector<int64_t> &strides() const { return steps; } // in elements
  int64_t count() const { return total; }
  int64_t bytes() const { return total * byteSize(scalar); }
  void *data() const { return memory.get(); }
  /// True if the canary bytes between the tensor's end and the end of its last page are unchanged.
  bool isIntact() const;
  size_t guardedBytes() const;
  /// Returns the elements in row-major order of the shape.
  std::string contiguousBytes() const;
  double get(int64_t index) const;
  void set(int64_t index, double value);
  /// "fp32[64x32]"
  std::string describe() const;

private:
  int64_t offset(int64_t index) const;
  Scalar scalar;
  bool isTransposed;
  std::vector<int64_t> extents, steps;
  int64_t total;
  std::shared_ptr<char> memory;
};

/// Whether `text` is a tensor source: "randn:fp32[64x32]", "randint(0,9):i32[7]", "randn:fp16[64x32]^T", "x.npy", "x.npy:bf16".
bool isTensorSource(const std::string &text);
/// Makes the tensor. `seed` is for the random generators.
Result<Tensor> makeTensor(const std::string &text, uint64_t seed);

Result<void> writeTensor(const std::string &path, const Tensor &tensor);

/// Statistics of the elements that are numbers. Without any, the bounds are infinite and the mean is NaN.
struct Extremes {
  double min = INFINITY, max = -INFINITY, mean = 0;
  int64_t nans = 0;
};
Extremes extremesOf(const Tensor &tensor);
/// Type, shape, min, max, mean, the first elements.
std::string summary(const Tensor &tensor);
/// "[3, 17]"
std::string indexText(const Tensor &tensor, int64_t index);

} // namespace tilewright
