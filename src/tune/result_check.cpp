#include "tune/result_check.h"

#include "frontend/frontend.h"
#include "runtime/cuda/device.h"
#include "support/half.h"
#include "support/settings.h"

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
  return isSwitchedOn("TILEWRIGHT_CHECK_TUNING", true);
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

static llvm::ArrayRef<char> hostBytes(const Argument &tensor) {
  auto [begin, end] = *tensor.reach();
  return {reinterpret_cast<const char *>(begin), static_cast<size_t>(end - begin)};
}

/// The host's tensors are accessed directly; a GPU's by the driver, after all that is queued there.
static std::vector<char> bytesOf(const Argument &tensor) {
  if (tensor.device() < 0) return hostBytes(tensor).vec();
  auto [begin, end] = *tensor.reach();
  std::vector<char> bytes(end - begin);
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
  tensors.push_back({argument, std::move(before), {}, std::move(card), {}});
}

ResultCheck::ResultCheck(llvm::ArrayRef<Argument> written) {
  for (const Argument &argument : written)
    add(argument);
}

/// The mark that a suspected element gets before it is looked at again: an ordinary number,
/// because kernels may compute with the tensor's contents, and not the number that was there.
static void setMark(char *element, Scalar type) {
  auto put = [&]<typename T>(T mark) {
    T before;
    std::memcpy(&before, element, sizeof(T));
    if (before == mark) mark ^= 1;
    std::memcpy(element, &mark, sizeof(T));
  };
  switch (type) {
  case Scalar::fp64: return put(uint64_t(0xbff0000000000000));
  case Scalar::fp32: return put(uint32_t(0xbf800000));
  case Scalar::fp16: return put(uint16_t(0xbc00));
  case Scalar::bf16: return put(uint16_t(0xbf80));
  default: return put(uint8_t(0xb8));
  }
}

/// `before`, except for the suspected elements.
static std::vector<char> marked(std::vector<char> before, const std::vector<size_t> &suspects, Scalar type) {
  for (size_t index : suspects)
    setMark(before.data() + index * static_cast<size_t>(byteSize(type)), type);
  return before;
}

void ResultCheck::restore() const {
  for (const Tensor &tensor : tensors) {
    if (tensor.card)
      tensor.card->restore();
    else if (tensor.suspects.empty())
      setBytes(tensor.argument, tensor.before);
    else
      setBytes(tensor.argument, marked(tensor.before, tensor.suspects, tensor.argument.element()));
  }
}

namespace {
struct Half {
  uint16_t bits;
  explicit operator double() const { return static_cast<double>(halfValue(bits)); }
};
struct Bfloat {
  uint16_t bits;
  explicit operator double() const { return static_cast<double>(bfloatValue(bits)); }
};
} // namespace

/// Calls `function` with a value of the C++ type for elements of a float type of 16 bits or more.
template <typename Function> static auto withElement(Scalar type, const Function &function) {
  switch (type) {
  case Scalar::fp64: return function(double());
  case Scalar::fp32: return function(float());
  case Scalar::fp16: return function(Half());
  default: return function(Bfloat());
  }
}

/// How far apart sums in another order may be. Null: elements must be equal. For 16 bits, some four units in the last place of the
/// element, and eight of those of a typical element: terms that cancel, and sums that are kept in 16 bits, may be off by so much.
static std::optional<Closeness> closeness(Scalar type) {
  switch (type) {
  case Scalar::fp64: return Closeness{1e-9, 1e-9};
  case Scalar::fp32: return Closeness{1e-3, 1e-3};
  case Scalar::fp16: return Closeness{0x1p-8, 0x1p-7};
  case Scalar::bf16: return Closeness{0x1p-5, 0x1p-4};
  default: return std::nullopt;
  }
}

static std::string differAt(size_t index, double value, double expected) {
  char text[128];
  std::snprintf(text, sizeof(text), "element %zu of a tensor is %.6g, and not %.6g", index, value, expected);
  return text;
}

template <typename Element> static Element elementAt(llvm::ArrayRef<char> bytes, size_t index) {
  Element element;
  std::memcpy(&element, bytes.data() + index * sizeof(Element), sizeof(Element));
  return element;
}

/// The root of the mean square of the finite elements.
template <typename Element> static double typicalSize(llvm::ArrayRef<char> elements) {
  double sum = 0, finite = 0;
  for (size_t i = 0; i < elements.size() / sizeof(Element); ++i)
    if (auto value = static_cast<double>(elementAt<Element>(elements, i)); std::isfinite(value)) sum += value * value, ++finite;
  return finite > 0 ? std::sqrt(sum / finite) : 0;
}

/// The first element that is farther from the expected one than a part of that, and so much more; the number of elements if none is.
template <typename Element>
static size_t firstApart(llvm::ArrayRef<char> results, llvm::ArrayRef<char> expected, double part, double more) {
  size_t count = results.size() / sizeof(Element);
  for (size_t i = 0; i < count; ++i) {
    if (!std::memcmp(&results[i * sizeof(Element)], &expected[i * sizeof(Element)], sizeof(Element))) continue;
    auto value = static_cast<double>(elementAt<Element>(results, i)), wanted = static_cast<double>(elementAt<Element>(expected, i));
    bool isSame = value == wanted || (std::isnan(value) && std::isnan(wanted)) ||
                  (std::isfinite(wanted) && std::abs(value - wanted) <= part * std::abs(wanted) + more);
    if (!isSame) return i;
  }
  return count;
}

/// What is typical is asked only where an element alone does not decide: tensors may have hundreds of millions.
template <typename Element>
static std::optional<std::string> compareFloats(llvm::ArrayRef<char> results, llvm::ArrayRef<char> expected, Closeness near) {
  size_t count = results.size() / sizeof(Element), at = firstApart<Element>(results, expected, near.ofElement, 0);
  if (at < count) at = firstApart<Element>(results, expected, near.ofElement, near.ofTypical * typicalSize<Element>(expected));
  if (at == count) return std::nullopt;
  return differAt(at, static_cast<double>(elementAt<Element>(results, at)), static_cast<double>(elementAt<Element>(expected, at)));
}

/// Finds elements that have not changed since before the run, but that the first configuration did change. A few of them suffice.
template <typename Element>
static std::vector<size_t> unchanged(llvm::ArrayRef<char> now, llvm::ArrayRef<char> before, llvm::ArrayRef<char> expected) {
  constexpr size_t most = 1024;
  auto isEqual = [](llvm::ArrayRef<char> a, llvm::ArrayRef<char> b, size_t index) {
    return !std::memcmp(&a[index * sizeof(Element)], &b[index * sizeof(Element)], sizeof(Element));
  };
  std::vector<size_t> found;
  for (size_t i = 0; i < now.size() / sizeof(Element) && found.size() < most; ++i)
    if (isEqual(now, before, i) && !isEqual(expected, before, i)) found.push_back(i);
  return found;
}

std::optional<std::string> ResultCheck::compare(Tensor &tensor) const {
  Scalar type = tensor.argument.element();
  std::optional<Closeness> near = closeness(type);
  if (isFirst && tensor.card) {
    tensor.card->expect();
    // Compiles the comparison now, while other configurations are still being compiled.
    if (!isFp8(type)) tensor.card->isAsExpected(near);
    return std::nullopt;
  }
  if (tensor.card && (isFp8(type) || tensor.card->isAsExpected(near).value_or(false))) return std::nullopt;
  if (isFirst) return tensor.expected = bytesOf(tensor.argument), std::nullopt;
  std::vector<char> fromDevice = tensor.argument.device() < 0 ? std::vector<char>() : bytesOf(tensor.argument);
  llvm::ArrayRef<char> now = tensor.argument.device() < 0 ? hostBytes(tensor.argument) : llvm::ArrayRef<char>(fromDevice);
  if (tensor.card) tensor.expected = tensor.card->expectedBytes();
  llvm::ArrayRef<char> wanted = tensor.expected;
  if (now == wanted) return std::nullopt;
  if (isFp8(type)) {
    if (!tensor.card) tensor.suspects = unchanged<char>(now, tensor.before, wanted);
    return std::nullopt; // an 8-bit float has no last bits
  }
  auto place = static_cast<size_t>(std::mismatch(now.begin(), now.end(), wanted.begin()).first - now.begin());
  if (!near)
    return "element " + std::to_string(place / static_cast<size_t>(std::max<int64_t>(byteSize(type), 1))) + " of a tensor is another";
  return withElement(type, [&]<typename Element>(Element) {
    if (!tensor.card) tensor.suspects = unchanged<Element>(now, tensor.before, wanted);
    return compareFloats<Element>(now, wanted, *near);
  });
}

/// After the second run: the first of the suspected elements that still has its mark.
static std::optional<std::string> notWritten(const std::vector<char> &now, const std::vector<char> &left,
                                             const std::vector<size_t> &suspects, size_t elementSize) {
  for (size_t index : suspects)
    if (!std::memcmp(&now[index * elementSize], &left[index * elementSize], elementSize))
      return "element " + std::to_string(index) + " of a tensor is not written";
  return std::nullopt;
}

bool ResultCheck::isUnsure() const {
  return llvm::any_of(tensors, [](const Tensor &tensor) { return !tensor.suspects.empty(); });
}

std::optional<std::string> ResultCheck::closed(std::optional<std::string> difference) {
  for (Tensor &tensor : tensors)
    tensor.suspects.clear();
  isFirst = false;
  isOther = difference.has_value();
  return difference;
}

std::optional<std::string> ResultCheck::compare() {
  bool isSecondRun = isUnsure();
  for (Tensor &tensor : tensors) {
    Scalar type = tensor.argument.element();
    std::optional<std::string> difference =
        !isSecondRun ? compare(tensor)
        : tensor.suspects.empty()
            ? std::nullopt
            : notWritten(bytesOf(tensor.argument), marked(tensor.before, tensor.suspects, type), tensor.suspects, size_t(byteSize(type)));
    if (difference) return closed(std::move(difference));
  }
  if (isSecondRun || !isUnsure()) return closed(std::nullopt);
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
