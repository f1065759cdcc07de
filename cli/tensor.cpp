// Elements are converted through double. This is exact except for 64-bit integers above 2^53, which no generator makes.

#include "cli/tensor.h"

#include "runtime/element.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace tilewright {

// A tensor has its own pages, with inaccessible pages before and after them. A kernel without a needed mask gets a signal there
// (runtime/signals.h). Within the last page, the canary bytes after the tensor show the write.
static constexpr char canary = 0x3F;                   // as a float a number near 1, which arithmetic changes
static constexpr size_t guardBytes = size_t(16) << 20; // address space alone

static size_t pagesOf(size_t bytes) {
  auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// Returns zeros; null if no memory is left.
static std::shared_ptr<char> guardedMemory(size_t bytes) {
  size_t used = pagesOf(bytes), whole = used + 2 * guardBytes;
  void *all = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  std::shared_ptr<char> memory(static_cast<char *>(all) + guardBytes, [all, whole](char *) { ::munmap(all, whole); });
  if (::mprotect(memory.get(), used, PROT_READ | PROT_WRITE) != 0) return nullptr;
  std::memset(memory.get() + bytes, canary, used - bytes);
  return memory;
}

Tensor::Tensor(Scalar element, std::vector<int64_t> shape, bool transposed)
    : scalar(element), isTransposed(transposed), extents(std::move(shape)) {
  total = 1;
  for (int64_t extent : extents)
    total *= extent;
  // The last two axes are swapped in memory.
  std::vector<size_t> order(extents.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  if (transposed && order.size() >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
  steps.assign(extents.size(), 1);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    steps[order[i]] = step;
    step *= extents[order[i]];
  }
  memory = guardedMemory(static_cast<size_t>(std::max<int64_t>(1, total * byteSize(scalar))));
}

size_t Tensor::guardedBytes() const {
  return pagesOf(static_cast<size_t>(std::max<int64_t>(1, bytes())));
}

bool Tensor::isIntact() const {
  const char *begin = memory.get(), *end = begin + std::max<int64_t>(1, bytes());
  return std::all_of(end, begin + guardedBytes(), [](char c) { return c == canary; });
}

int64_t Tensor::offset(int64_t index) const {
  if (!isTransposed) return index;
  int64_t result = 0;
  for (size_t i = extents.size(); i-- > 0;) {
    result += index % extents[i] * steps[i];
    index /= extents[i];
  }
  return result;
}

double Tensor::get(int64_t index) const {
  return loadElement(scalar, memory.get() + offset(index) * byteSize(scalar));
}

void Tensor::set(int64_t index, double value) {
  storeElement(scalar, memory.get() + offset(index) * byteSize(scalar), value);
}

std::string Tensor::contiguousBytes() const {
  std::string all(memory.get(), static_cast<size_t>(bytes()));
  auto width = static_cast<size_t>(byteSize(scalar));
  for (int64_t i = 0; isTransposed && i < total; ++i)
    std::memcpy(&all[static_cast<size_t>(i) * width], memory.get() + static_cast<size_t>(offset(i)) * width, width);
  return all;
}

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return "[" + text + "]";
}

std::string Tensor::describe() const {
  return scalarName(scalar).str() + shapeText(extents) + (isTransposed ? "^T" : "");
}

namespace {

/// SplitMix64: small, good enough for test data, and the same on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 0x1234567) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }

private:
  uint64_t state;
};

struct Source {
  std::string generator;
  std::vector<double> parameters;
  Scalar scalar = Scalar::fp32;
  std::vector<int64_t> shape;
  bool transposed = false;
};

bool isNpy(const std::string &text) {
  size_t at = text.rfind(".npy");
  return at != std::string::npos && (at + 4 == text.size() || text[at + 4] == ':');
}

Result<Scalar> scalarWord(const std::string &word) {
  std::optional<Type> type = parseTypeName(word);
  if (type && type->isScalar() && type->scalar() == Scalar::fp8e4b15) return Failure{"numbers of fp8e4b15 cannot be written or read here"};
  if (type && type->isScalar() && type->scalar() != Scalar::void_) return type->scalar();
  return Failure{"'" + word + "' is not an element type; write fp32, fp16, bf16, fp64, i1, i8, i16, i32, i64, u8, ..., fp8e5 or fp8e4nv"};
}

Result<Source> parseSource(const std::string &text) {
  Source source;
  size_t colon = text.rfind(':'), open = text.find('[', colon == std::string::npos ? 0 : colon);
  if (colon == std::string::npos || open == std::string::npos)
    return Failure{"'" + text + "' is not a tensor; write one as randn:fp32[64x32]"};
  std::string generator = text.substr(0, colon);
  if (size_t paren = generator.find('('); paren != std::string::npos) {
    if (generator.back() != ')') return Failure{"'" + generator + "' has no closing parenthesis"};
    const char *at = generator.c_str() + paren + 1;
    while (*at && *at != ')') {
      char *end = nullptr;
      source.parameters.push_back(std::strtod(at, &end));
      if (end == at) return Failure{"'" + generator + "' has a parameter that is not a number"};
      for (at = end; *at == ',' || *at == ' ';)
        ++at;
    }
    generator.resize(paren);
  }
  source.generator = generator;
  Result<Scalar> scalar = scalarWord(text.substr(colon + 1, open - colon - 1));
  if (!scalar) return Failure{scalar.error()};
  source.scalar = *scalar;
  size_t close = text.find(']', open);
  if (close == std::string::npos) return Failure{"the shape of '" + text + "' has no closing bracket"};
  int64_t count = 1;
  for (const char *at = text.c_str() + open + 1; *at != ']';) {
    char *end = nullptr;
    int64_t extent = std::strtoll(at, &end, 10);
    if (end == at || extent < 0) return Failure{"the shape of '" + text + "' is not numbers with x between them"};
    if (__builtin_mul_overflow(count, extent, &count) || count > (int64_t(1) << 40))
      return Failure{"the shape of '" + text + "' is too large"};
    source.shape.push_back(extent);
    for (at = end; *at == 'x' || *at == ',' || *at == ' ';)
      ++at;
  }
  std::string rest = text.substr(close + 1);
  source.transposed = rest == "^T";
  if (!rest.empty() && !source.transposed) return Failure{"'" + rest + "' is not understood after a shape; ^T is"};
  return source;
}

Result<Tensor> fromFile(const std::string &text) {
  size_t end = text.rfind(".npy") + 4;
  Result<NpyArray> array = readNpy(text.substr(0, end));
  if (!array) return Failure{"'" + text.substr(0, end) + "': " + array.error()};
  static const std::pair<const char *, Scalar> words[] = {
      {"b1", Scalar::int1},  {"i1", Scalar::int8},   {"i2", Scalar::int16},  {"i4", Scalar::int32},  {"i8", Scalar::int64},
      {"u1", Scalar::uint8}, {"u2", Scalar::uint16}, {"u4", Scalar::uint32}, {"u8", Scalar::uint64}, {"f2", Scalar::fp16},
      {"f4", Scalar::fp32},  {"f8", Scalar::fp64},   {"V2", Scalar::bf16},   {"V1", Scalar::fp8e4nv}};
  std::optional<Scalar> scalar;
  for (const auto &[word, value] : words)
    if (array->dtype == word) scalar = value;
  if (!scalar) return Failure{"'" + text + "': elements of type '" + array->dtype + "' cannot be read"};
  if (end < text.size()) {
    Result<Scalar> wanted = scalarWord(text.substr(end + 1));
    if (!wanted) return Failure{wanted.error()};
    if (byteSize(*wanted) != byteSize(*scalar)) return Failure{"'" + text + "': its elements are of another size"};
    scalar = *wanted;
  }
  if (array->fortranOrder && array->shape.size() > 2) return Failure{"'" + text + "': Fortran order is read for two axes only"};
  Tensor tensor(*scalar, array->shape, array->fortranOrder);
  if (!tensor.data()) return Failure{"there is no memory for '" + text + "'"};
  std::memcpy(tensor.data(), array->bytes.data(), array->bytes.size());
  return tensor;
}

} // namespace

bool isTensorSource(const std::string &text) {
  if (isNpy(text)) return true;
  if (!text.empty() && (text[0] == '\'' || text[0] == '"')) return false;
  size_t colon = text.rfind(':');
  return colon != std::string::npos && text.find('[', colon) != std::string::npos;
}

Result<Tensor> makeTensor(const std::string &text, uint64_t seed) {
  if (isNpy(text)) return fromFile(text);
  Result<Source> source = parseSource(text);
  if (!source) return Failure{source.error()};
  auto parameter = [&](size_t i, double otherwise) { return i < source->parameters.size() ? source->parameters[i] : otherwise; };
  Tensor tensor(source->scalar, source->shape, source->transposed);
  if (!tensor.data()) return Failure{"there is no memory for '" + text + "'"};
  Random random(seed);
  const std::string &name = source->generator;
  auto fill = [&](auto &&next) {
    for (int64_t i = 0; i < tensor.count(); ++i)
      tensor.set(i, next(i));
  };
  if (name == "randn") {
    fill([&](int64_t) { return parameter(0, 0) + parameter(1, 1) * random.normal(); });
  } else if (name == "rand") {
    double low = source->parameters.size() > 1 ? parameter(0, 0) : 0,
           high = source->parameters.size() > 1 ? parameter(1, 1) : parameter(0, 1);
    fill([&](int64_t) { return low + (high - low) * random.uniform(); });
  } else if (name == "randint") {
    int64_t low = static_cast<int64_t>(parameter(0, 0)), high = static_cast<int64_t>(parameter(1, 10));
    if (high <= low) return Failure{"randint(" + std::to_string(low) + "," + std::to_string(high) + ") has no values"};
    fill([&](int64_t) { return static_cast<double>(low + static_cast<int64_t>(random.next() % static_cast<uint64_t>(high - low))); });
  } else if (name == "arange") {
    fill([&](int64_t i) { return parameter(0, 0) + static_cast<double>(i) * parameter(1, 1); });
  } else if (name == "ones" || name == "full") {
    fill([&](int64_t) { return parameter(0, 1); });
  } else if (name == "empty") {
    // A pattern that shows elements without a store: NaN, or -1 as an integer.
    if (isFloat(source->scalar))
      fill([](int64_t) { return std::nan(""); });
    else
      std::memset(tensor.data(), source->scalar == Scalar::int1 ? 1 : 0xff, static_cast<size_t>(tensor.bytes()));
  } else if (name != "zeros") {
    return Failure{"'" + name + "' makes no tensor; randn, rand, randint(low,high), arange, ones, zeros, full(value) and empty do"};
  }
  return tensor;
}

Result<void> writeTensor(const std::string &path, const Tensor &tensor) {
  NpyArray array;
  Scalar scalar = tensor.element();
  std::string size = std::to_string(byteSize(scalar));
  if (scalar == Scalar::int1)
    array.dtype = "b1";
  else if (scalar == Scalar::bf16 || isFp8(scalar))
    array.dtype = "V" + size;
  else
    array.dtype = (isFloat(scalar) ? "f" : isSigned(scalar) ? "i" : "u") + size;
  array.shape = tensor.shape();
  array.bytes = tensor.contiguousBytes();
  return writeNpy(path, array);
}

static std::string numberText(const Tensor &tensor, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), isFloat(tensor.element()) ? "%.6g" : "%.0f", value);
  return text;
}

std::string indexText(const Tensor &tensor, int64_t index) {
  std::string text;
  for (size_t i = tensor.shape().size(); i-- > 0;) {
    text = std::to_string(index % tensor.shape()[i]) + (text.empty() ? "" : ", ") + text;
    index /= tensor.shape()[i];
  }
  return "[" + text + "]";
}

Extremes extremesOf(const Tensor &tensor) {
  Extremes found;
  double sum = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    double value = tensor.get(i);
    if (value != value) {
      ++found.nans;
      continue;
    }
    found.min = std::min(found.min, value);
    found.max = std::max(found.max, value);
    sum += value;
  }
  found.mean = sum / static_cast<double>(tensor.count() - found.nans);
  return found;
}

std::string summary(const Tensor &tensor) {
  Extremes found = extremesOf(tensor);
  std::string text = tensor.describe() + "\n";
  if (tensor.count() > found.nans) {
    char mean[64];
    std::snprintf(mean, sizeof(mean), "%.6g", found.mean);
    text += "  min " + numberText(tensor, found.min) + ", max " + numberText(tensor, found.max) + ", mean " + mean + "\n";
  }
  if (found.nans) text += "  " + std::to_string(found.nans) + " elements are NaN\n";
  // One line a row, at most 8 rows of 8.
  int64_t columns = tensor.shape().empty() ? 1 : tensor.shape().back(), rows = columns ? tensor.count() / columns : 0;
  for (int64_t row = 0; row < std::min<int64_t>(rows, 8); ++row) {
    text += "  [";
    for (int64_t column = 0; column < std::min<int64_t>(columns, 8); ++column)
      text += (column ? ", " : "") + numberText(tensor, tensor.get(row * columns + column));
    text += columns > 8 ? ", ...]\n" : "]\n";
  }
  if (rows > 8) text += "  ...\n";
  return text;
}

} // namespace tilewright
