// NumPy's .npy files: the command line reads and writes tensors in them.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct NpyArray {
  std::string dtype; // "f4", "i8", "u2", "b1", "V2", ...: the descr without its byte order
  std::vector<int64_t> shape;
  bool fortranOrder = false;
  std::string bytes; // little endian
};

/// Reads versions 1 to 3 of the format, with little-endian data of fixed-size elements.
Result<NpyArray> readNpy(const std::string &path);
Result<NpyArray> parseNpy(std::string_view file);
std::string formatNpy(const NpyArray &array);
Result<void> writeNpy(const std::string &path, const NpyArray &array);

} // namespace tilewright
