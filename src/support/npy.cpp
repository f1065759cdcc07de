// The format: "\x93NUMPY", a version, the length of a header, the header (a Python dict as text), the data. The header is matched by its
// three keys, not parsed as Python: NumPy itself writes nothing else.

#include "support/npy.h"

#include "support/files.h"

#include <cctype>
#include <cstdlib>

namespace tilewright {

// Returns the text after `'key':` in the header, without leading blanks.
static std::string_view valueOf(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = quote + std::string(key) + quote;
    size_t at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    at = header.find(':', at);
    if (at == std::string_view::npos) return {};
    std::string_view rest = header.substr(at + 1);
    while (!rest.empty() && rest.front() == ' ')
      rest.remove_prefix(1);
    return rest;
  }
  return {};
}

// Returns the bytes of one element by its dtype word, or 0.
static int64_t elementBytes(std::string_view dtype) {
  if (dtype.size() < 2 || std::string_view("biufV").find(dtype[0]) == std::string_view::npos) return 0;
  int64_t size = 0;
  for (char digit : dtype.substr(1)) {
    if (!std::isdigit(static_cast<unsigned char>(digit))) return 0;
    size = size * 10 + (digit - '0');
  }
  return size <= 8 ? size : 0;
}

Result<NpyArray> parseNpy(std::string_view file) {
  if (file.size() < 10 || file.substr(0, 6) != "\x93NUMPY") return Failure{"it is not a .npy file"};
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(file[i])); };
  bool isLong = file[6] >= 2;
  if (isLong && file.size() < 12) return Failure{"it ends within its header"};
  size_t start = isLong ? 12 : 10;
  size_t length = isLong ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24 : byte(8) | byte(9) << 8;
  if (file.size() - start < length) return Failure{"it ends within its header"};
  std::string_view header = file.substr(start, length);

  NpyArray array;
  std::string_view descr = valueOf(header, "descr");
  if (descr.size() < 4 || (descr.front() != '\'' && descr.front() != '"')) return Failure{"its elements are records, which cannot be read"};
  size_t close = descr.find(descr.front(), 1);
  if (close == std::string_view::npos) return Failure{"its header cannot be read"};
  descr = descr.substr(1, close - 1);
  if (descr.front() == '>') return Failure{"its data are big-endian, which cannot be read"};
  if (descr.front() == '<' || descr.front() == '|' || descr.front() == '=') descr.remove_prefix(1);
  int64_t size = elementBytes(descr);
  if (size == 0) return Failure{"elements of type '" + std::string(descr) + "' cannot be read"};
  array.dtype = std::string(descr);
  array.fortranOrder = valueOf(header, "fortran_order").substr(0, 4) == "True";

  std::string_view shape = valueOf(header, "shape");
  if (shape.empty() || shape.front() != '(') return Failure{"its header has no shape"};
  int64_t count = 1;
  for (size_t i = 1; i < shape.size() && shape[i] != ')';) {
    if (!std::isdigit(static_cast<unsigned char>(shape[i]))) {
      ++i;
      continue;
    }
    int64_t extent = 0;
    for (; i < shape.size() && std::isdigit(static_cast<unsigned char>(shape[i])); ++i)
      if (__builtin_mul_overflow(extent, int64_t(10), &extent) || __builtin_add_overflow(extent, int64_t(shape[i] - '0'), &extent))
        return Failure{"its shape is too large"};
    array.shape.push_back(extent);
    if (__builtin_mul_overflow(count, extent, &count)) return Failure{"its shape is too large"};
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return Failure{"its shape is too large"};
  std::string_view data = file.substr(start + length);
  if (static_cast<int64_t>(data.size()) < bytes) return Failure{"it ends within its data"};
  array.bytes = std::string(data.substr(0, static_cast<size_t>(bytes)));
  return array;
}

Result<NpyArray> readNpy(const std::string &path) {
  Result<std::string> file = readFile(path);
  if (!file) return Failure{file.error()};
  return parseNpy(*file);
}

std::string formatNpy(const NpyArray &array) {
  std::string shape;
  for (int64_t extent : array.shape)
    shape += std::to_string(extent) + ", ";
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  bool hasOrder = array.dtype.size() == 2 && array.dtype[1] != '1' && array.dtype[0] != 'V';
  std::string header = std::string("{'descr': '") + (hasOrder ? '<' : '|') + array.dtype +
                       "', 'fortran_order': " + (array.fortranOrder ? "True" : "False") + ", 'shape': (" + shape + "), }";
  // The data begin at a multiple of 64, so readers can map the file.
  size_t total = (10 + header.size() + 1 + 63) / 64 * 64;
  header.append(total - 10 - header.size() - 1, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  return file + header + array.bytes;
}

Result<void> writeNpy(const std::string &path, const NpyArray &array) {
  return writeOutputFile(path, formatNpy(array));
}

} // namespace tilewright
