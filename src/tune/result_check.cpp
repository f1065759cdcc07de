#include "tune/result_check.h"

#include "frontend/frontend.h"
#include "runtime/cuda/device.h"
#include "runtime/element.h"
#include "support/half.h"
#include "support/settings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace tilewright {

static constexpr size_t maxOnHost = size_t(1) << 30;
static constexpr size_t maxOnDevice = size_t(2) << 30;   // of which two copies or more are kept there
static constexpr size_t maxFromDevice = size_t(1) << 20; // are copied to the host: faster than the first launch of another kernel

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

void ResultCheck::add(const std::string &name, const Argument &argument) {
  for (size_t i = 0; i < argument.members().size(); ++i)
    add(name + "[" + std::to_string(i) + "]", argument.members()[i]);
  std::optional<std::pair<uint64_t, uint64_t>> reach = argument.reach();
  if (!reach || reach->first == reach->second || argument.memory() != Memory::plain) return;
  bool isOnHost = argument.device() < 0;
  size_t bytes = reach->second - reach->first;
  if (total + bytes > (isOnHost ? maxOnHost : maxOnDevice)) return;
  std::unique_ptr<DeviceCopy> card = isOnHost || bytes <= maxFromDevice ? nullptr : DeviceCopy::create(argument);
  if (!card && !isOnHost && bytes > maxFromDevice) return;
  total += bytes;
  std::vector<char> before = card ? std::vector<char>() : bytesOf(argument);
  tensors.push_back({name, argument, std::move(before), std::move(card), {}});
}

ResultCheck::ResultCheck(llvm::ArrayRef<Written> written) {
  for (const Written &tensor : written)
    add(tensor.name, tensor.argument);
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
static size_t firstDifference(llvm::ArrayRef<char> results, llvm::ArrayRef<char> expected, double part, double more) {
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

/// Whether all elements are close. The typical element is computed only if an element alone does not decide: tensors may be large.
template <typename Element> static bool areClose(llvm::ArrayRef<char> results, llvm::ArrayRef<char> expected, Closeness near) {
  size_t count = results.size() / sizeof(Element);
  if (firstDifference<Element>(results, expected, near.ofElement, 0) == count) return true;
  return firstDifference<Element>(results, expected, near.ofElement, near.ofTypical * typicalSize<Element>(expected)) == count;
}

/// Finds elements that have not changed since before the run, but that the group has changed. A few of them suffice.
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

std::vector<char> ResultCheck::resultOf(const Group &group, size_t tensor) const {
  return tensors[tensor].card ? tensors[tensor].card->cachedPanelBytes(group.place) : group.results[tensor];
}

bool ResultCheck::isSame(size_t index, const Group &group, std::vector<size_t> &suspects) const {
  const Tensor &tensor = tensors[index];
  Scalar type = tensor.argument.element();
  std::optional<Closeness> near = closeness(type);
  if (tensor.card && isFp8(type)) return true;
  if (std::optional<bool> equalsStored = tensor.card ? tensor.card->equalsStored(group.place, near) : std::nullopt) return *equalsStored;
  std::vector<char> copied = tensor.argument.device() < 0 ? std::vector<char>() : bytesOf(tensor.argument);
  llvm::ArrayRef<char> now = tensor.argument.device() < 0 ? hostBytes(tensor.argument) : llvm::ArrayRef<char>(copied);
  std::vector<char> fromGpu = tensor.card ? resultOf(group, index) : std::vector<char>();
  llvm::ArrayRef<char> wanted = tensor.card ? fromGpu : group.results[index];
  if (now == wanted) return true;
  if (isFp8(type)) { // an 8-bit float has no last bits
    if (!tensor.card) suspects = unchanged<char>(now, tensor.before, wanted);
    return true;
  }
  if (!near) return false;
  return withElement(type, [&]<typename Element>(Element) {
    if (!tensor.card) suspects = unchanged<Element>(now, tensor.before, wanted);
    return areClose<Element>(now, wanted, *near);
  });
}

ResultCheck::Match ResultCheck::match(const Group &group, std::vector<std::vector<size_t>> &suspects) const {
  suspects.assign(tensors.size(), {});
  if (!group.isKept) return Match::different;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!isSame(i, group, suspects[i])) return Match::different;
  return llvm::any_of(suspects, [](const std::vector<size_t> &of) { return !of.empty(); }) ? Match::unsure : Match::same;
}

void ResultCheck::giveUp() {
  doubted = std::nullopt;
  for (Tensor &tensor : tensors)
    tensor.suspects.clear();
}

bool ResultCheck::holdsResultsOf(size_t group) const {
  std::vector<std::vector<size_t>> suspects;
  return match(groups[group], suspects) != Match::different;
}

/// A group of the results that the tensors hold.
size_t ResultCheck::addGroup() {
  constexpr size_t maxGroups = 16, maxBytes = size_t(4) << 30;
  if (groups.empty()) // a tensor whose first result finds no memory is not compared
    llvm::erase_if(tensors, [](const Tensor &tensor) { return tensor.card && !tensor.card->keep(); });
  Group group;
  group.place = storedGroups;
  group.isKept = storedGroups < maxGroups && (storedGroups == 0 || (storedGroups + 1) * total <= maxBytes);
  size_t copied = 0;
  for (; group.isKept && copied < tensors.size(); ++copied) {
    const Tensor &tensor = tensors[copied];
    group.results.push_back(tensor.card ? std::vector<char>() : bytesOf(tensor.argument));
    if (!tensor.card) continue;
    group.isKept = groups.empty() || tensor.card->keep();
    // Compiles the comparison now, while other configurations are still being compiled.
    if (groups.empty() && !isFp8(tensor.argument.element())) tensor.card->equalsStored(0, closeness(tensor.argument.element()));
  }
  for (size_t i = 0; !group.isKept && i + 1 < copied; ++i) // each DeviceCopy keeps as many results as there are groups
    if (tensors[i].card) tensors[i].card->forget();
  storedGroups += group.isKept;
  groups.push_back(std::move(group));
  return groups.size() - 1;
}

/// After the second run: the first of the suspected elements that still has its mark.
static std::optional<size_t> notWritten(const std::vector<char> &now, const std::vector<char> &left, const std::vector<size_t> &suspects,
                                        size_t elementSize) {
  for (size_t index : suspects)
    if (!std::memcmp(&now[index * elementSize], &left[index * elementSize], elementSize)) return index;
  return std::nullopt;
}

/// After the second run. The results of the first one are the newest group, which is dropped if the suspects were written.
size_t ResultCheck::settle() {
  std::string note;
  for (Tensor &tensor : tensors) {
    std::vector<size_t> suspects = std::exchange(tensor.suspects, {});
    if (suspects.empty() || !note.empty()) continue;
    Scalar type = tensor.argument.element();
    std::optional<size_t> element =
        notWritten(bytesOf(tensor.argument), marked(tensor.before, suspects, type), suspects, size_t(byteSize(type)));
    if (element) note = "element " + std::to_string(*element) + " of '" + tensor.name + "' is not written";
  }
  size_t group = *std::exchange(doubted, std::nullopt);
  if (!note.empty()) {
    groups.back().note = std::move(note);
    return groups.size() - 1;
  }
  if (groups.back().isKept) {
    --storedGroups;
    for (Tensor &tensor : tensors)
      if (tensor.card) tensor.card->forget();
  }
  groups.pop_back();
  return group;
}

std::optional<size_t> ResultCheck::compare() {
  if (isUnsure()) return settle();
  std::vector<std::vector<size_t>> suspects, kept;
  std::optional<size_t> perhaps;
  for (size_t i = 0; i < groups.size(); ++i) {
    Match found = match(groups[i], suspects);
    if (found == Match::same) return i;
    if (found == Match::unsure && !perhaps) perhaps = i, kept = suspects;
  }
  size_t added = addGroup();
  if (!perhaps) return added;
  doubted = perhaps;
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].suspects = std::move(kept[i]);
  return std::nullopt;
}

namespace {
/// How the elements of two results differ.
struct Difference {
  size_t count = 0, worst = 0;
  double most = -1, value = 0, expected = 0;
};
} // namespace

static Difference differenceOf(Scalar type, llvm::ArrayRef<char> results, llvm::ArrayRef<char> expected) {
  Difference found;
  auto size = static_cast<size_t>(std::max<int64_t>(byteSize(type), 1));
  std::optional<Closeness> near = closeness(type);
  double more = near ? near->ofTypical * withElement(type, [&]<typename Element>(Element) { return typicalSize<Element>(expected); }) : 0;
  for (size_t i = 0; i < results.size() / size; ++i) {
    if (!std::memcmp(&results[i * size], &expected[i * size], size)) continue;
    double value = loadElement(type, &results[i * size]), wanted = loadElement(type, &expected[i * size]);
    if (near && (value == wanted || (std::isnan(value) && std::isnan(wanted)))) continue;
    double apart = std::abs(value - wanted);
    if (near && std::isfinite(wanted) && apart <= near->ofElement * std::abs(wanted) + more) continue;
    if (!(apart <= std::numeric_limits<double>::max())) apart = std::numeric_limits<double>::infinity();
    ++found.count;
    if (apart > found.most) found.most = apart, found.worst = i, found.value = value, found.expected = wanted;
  }
  return found;
}

std::string ResultCheck::difference(size_t group, size_t expected) const {
  for (size_t i = 0; groups[group].isKept && groups[expected].isKept && i < tensors.size(); ++i) {
    Scalar type = tensors[i].argument.element();
    if (isFp8(type)) continue;
    std::vector<char> results = resultOf(groups[group], i);
    Difference apart = differenceOf(type, results, resultOf(groups[expected], i));
    if (apart.count == 0) continue;
    const char *format = closeness(type) ? "%.6g" : "%.0f";
    char value[400], wanted[400];
    std::snprintf(value, sizeof(value), format, apart.value);
    std::snprintf(wanted, sizeof(wanted), format, apart.expected);
    return "element " + std::to_string(apart.worst) + " of '" + tensors[i].name + "' is " + value + " instead of " + wanted + "; " +
           std::to_string(apart.count) + " of " + std::to_string(results.size() / size_t(byteSize(type))) + " elements differ";
  }
  if (!groups[group].note.empty()) return groups[group].note;
  return groups[expected].note.empty() ? "the results are too large to be kept" : "it leaves more unwritten: " + groups[expected].note;
}

bool ResultCheck::isIncomplete(size_t group, size_t other) const {
  bool lacks = false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!groups[group].isKept || !groups[other].isKept) return false;
    std::vector<char> mine = resultOf(groups[group], i), theirs = resultOf(groups[other], i);
    std::vector<char> before = tensors[i].card ? tensors[i].card->bytesBefore() : tensors[i].before;
    auto size = static_cast<size_t>(std::max<int64_t>(byteSize(tensors[i].argument.element()), 1));
    for (size_t at = 0; at + size <= before.size(); at += size) {
      bool isChanged = std::memcmp(&mine[at], &before[at], size) != 0, isChangedThere = std::memcmp(&theirs[at], &before[at], size) != 0;
      if (isChanged && !isChangedThere) return false;
      lacks |= isChangedThere && !isChanged;
    }
  }
  return lacks;
}

} // namespace tilewright
