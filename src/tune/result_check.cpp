#include "tune/result_check.h"

#include "frontend/frontend.h"
#include "runtime/cuda/device.h"
#include "support/half.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tilewright {

static constexpr size_t mostOnHost = size_t(1) << 30;
static constexpr size_t mostOnDevice = size_t(2) << 30;   // where two copies of it are kept
static constexpr size_t mostFromDevice = size_t(1) << 20; // is copied to the host: faster than the first launch of another kernel

bool resultsAreChecked() {
  const char *setting = std::getenv("TILEWRIGHT_CHECK_TUNING");
  return !(setting && std::string_view(setting) == "0");
}

std::vector<bool> writtenParameters(const CompiledKernel &kernel) {
  std::vector<bool> written;
  size_t slot = 0;
  for (const ArgumentSpec &spec : kernel.specs()) {
    bool any = false;
    for (size_t end = slot + slotNames("", spec).size(); slot < end; ++slot)
      any |= slot < kernel.writes().size() && kernel.writes()[slot];
    written.push_back(any);
  }
  return written;
}

/// The host's tensors are touched directly, a GPU's by the driver, behind all that is queued there.
static std::vector<char> bytesOf(const Argument &tensor) {
  auto [begin, end] = *tensor.reach();
  std::vector<char> bytes(end - begin);
  if (tensor.device() < 0) {
    std::memcpy(bytes.data(), reinterpret_cast<const void *>(begin), bytes.size());
    return bytes;
  }
  Diagnostics ignored; // a device that fails here fails the launch, too, which reports it
  const gpu::CudaDevice *device = gpu::CudaDevice::get(tensor.device(), ignored);
  if (!device) return bytes;
  gpu::ContextScope scope(*device);
  if (device->driver->synchronizeContext() == gpu::status::success) device->driver->copyToHost(bytes.data(), begin, bytes.size());
  return bytes;
}

static void setBytes(const Argument &tensor, const std::vector<char> &bytes) {
  uint64_t begin = tensor.reach()->first;
  if (tensor.device() < 0) {
    std::memcpy(reinterpret_cast<void *>(begin), bytes.data(), bytes.size());
    return;
  }
  Diagnostics ignored;
  const gpu::CudaDevice *device = gpu::CudaDevice::get(tensor.device(), ignored);
  if (!device) return;
  gpu::ContextScope scope(*device);
  if (device->driver->synchronizeContext() == gpu::status::success) device->driver->copyToDevice(begin, bytes.data(), bytes.size());
}

void ResultCheck::add(const Argument &argument) {
  for (const Argument &member : argument.members())
    add(member);
  std::optional<std::pair<uint64_t, uint64_t>> reach = argument.reach();
  if (!reach || reach->first == reach->second || argument.memory() != Memory::plain) return;
  bool isOnHost = argument.device() < 0;
  size_t bytes = reach->second - reach->first;
  if (total + bytes > (isOnHost ? mostOnHost : mostOnDevice)) return;
  std::unique_ptr<CardCopy> card = isOnHost || bytes <= mostFromDevice ? nullptr : CardCopy::create(argument);
  if (!card && !isOnHost && bytes > mostFromDevice) return;
  total += bytes;
  std::vector<char> before = card ? std::vector<char>() : bytesOf(argument);
  tensors.push_back({argument, std::move(before), {}, std::move(card)});
}

ResultCheck::ResultCheck(llvm::ArrayRef<Argument> written) {
  for (const Argument &argument : written)
    add(argument);
}

void ResultCheck::restore() const {
  for (const Tensor &tensor : tensors) {
    if (tensor.card)
      tensor.card->restore();
    else
      setBytes(tensor.argument, tensor.before);
  }
}

namespace {
/// Elements of a float type, of which a part may differ.
struct Floats {
  Scalar type;
  const char *data;

  size_t count(size_t bytes) const { return bytes / static_cast<size_t>(byteSize(type)); }
  double operator[](size_t index) const {
    const char *at = data + index * static_cast<size_t>(byteSize(type));
    auto load = [&]<typename T>(T value) { return std::memcpy(&value, at, sizeof(T)), value; };
    switch (type) {
    case Scalar::fp64: return load(double());
    case Scalar::fp32: return static_cast<double>(load(float()));
    case Scalar::fp16: return static_cast<double>(halfValue(load(uint16_t())));
    default: return static_cast<double>(bfloatValue(load(uint16_t())));
    }
  }
};
} // namespace

/// How far sums in another order may be apart, in parts of the largest element. Nothing: elements have to be equal.
static std::optional<double> tolerance(Scalar type) {
  switch (type) {
  case Scalar::fp64: return 1e-9;
  case Scalar::fp32: return 1e-3;
  case Scalar::fp16:
  case Scalar::bf16: return 2e-2;
  default: return std::nullopt;
  }
}

static std::string differAt(size_t index, double value, double expected) {
  char text[128];
  std::snprintf(text, sizeof(text), "element %zu of a tensor is %.6g, and not %.6g", index, value, expected);
  return text;
}

static std::optional<std::string> compareFloats(const Floats &results, const Floats &expected, size_t count, double part) {
  double largest = 0;
  for (size_t i = 0; i < count; ++i)
    if (std::isfinite(expected[i])) largest = std::max(largest, std::abs(expected[i]));
  for (size_t i = 0; i < count; ++i) {
    double value = results[i], wanted = expected[i];
    bool isSame = value == wanted || (std::isnan(value) && std::isnan(wanted)) || std::abs(value - wanted) <= part * largest;
    if (!isSame) return differAt(i, value, wanted);
  }
  return std::nullopt;
}

std::optional<std::string> ResultCheck::compare(Tensor &tensor) const {
  Scalar type = tensor.argument.element();
  std::optional<double> part = tolerance(type);
  if (isFirst && tensor.card) return tensor.card->expect(), std::nullopt;
  if (!isFirst && isFp8(type)) return std::nullopt; // an 8-bit float has no last bits
  if (tensor.card && tensor.card->isAsExpected(part).value_or(false)) return std::nullopt;
  std::vector<char> now = bytesOf(tensor.argument);
  if (isFirst) return tensor.expected = std::move(now), std::nullopt;
  if (tensor.card) tensor.expected = tensor.card->expectedBytes();
  const std::vector<char> &wanted = tensor.expected;
  if (now == wanted) return std::nullopt;
  auto place = static_cast<size_t>(std::mismatch(now.begin(), now.end(), wanted.begin()).first - now.begin());
  if (!part)
    return "element " + std::to_string(place / static_cast<size_t>(std::max<int64_t>(byteSize(type), 1))) + " of a tensor is another";
  Floats results{type, now.data()}, expected{type, wanted.data()};
  return compareFloats(results, expected, results.count(now.size()), *part);
}

std::optional<std::string> ResultCheck::compare() {
  isOther = true;
  for (Tensor &tensor : tensors)
    if (std::optional<std::string> difference = compare(tensor)) return difference;
  isFirst = isOther = false;
  return std::nullopt;
}

static constexpr llvm::StringLiteral otherWords = " gives other results than ";

std::string otherResults(const std::string &config, const std::string &first, const std::string &difference) {
  return "'" + config + "'" + otherWords.str() + "'" + first + "': " + difference;
}

bool isOtherResults(llvm::StringRef failure) {
  return failure.contains(otherWords);
}

} // namespace tilewright
