#include "api/tensors.h"

#include "api/sized.h"
#include "runtime/cuda/device.h"
#include "runtime/element.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tilewright::api {

static constexpr size_t guardBytes = size_t(1) << 20; // on either side
static constexpr size_t alignment = 4096;

static size_t countOf(llvm::ArrayRef<int64_t> shape) {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  return count;
}

/// Returns the number of elements from the first one to the end of the last one.
static size_t reachOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  int64_t reach = 1;
  for (auto [extent, stride] : llvm::zip(shape, strides)) {
    if (extent == 0) return 0;
    reach += (extent - 1) * stride;
  }
  return static_cast<size_t>(reach);
}

static std::vector<int64_t> stridesOf(llvm::ArrayRef<int64_t> whole) {
  std::vector<int64_t> strides(whole.size(), 1);
  for (size_t i = whole.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(whole[i], 1);
  return strides;
}

/// Calls body(position, offset) for each element, in row-major order. `offset`: its distance from the first element, in elements.
template <typename F> static void forEach(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, F body) {
  size_t count = countOf(shape);
  llvm::SmallVector<int64_t, 6> index(shape.size(), 0);
  int64_t offset = 0;
  for (size_t position = 0; position < count; ++position) {
    body(position, offset);
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

author::InputProperties Input::properties() const {
  author::InputProperties properties;
  properties.shape = shape;
  if (isBlank || !isInteger(type) || type == Scalar::int1) return properties;
  auto width = static_cast<size_t>(byteSize(type));
  for (size_t at = 0; at < content.size(); at += width)
    properties.highest = std::max(properties.highest, static_cast<int64_t>(loadElement(type, content.data() + at)));
  return properties;
}

static std::string patternOf(Scalar type, size_t bytes, unsigned char pattern) {
  return std::string(bytes, static_cast<char>(type == Scalar::int1 ? pattern >> 7 : pattern));
}

/// Returns why the sizes of a tensor cannot be used, or nothing.
static std::string problemOfSizes(const Input &input, bool hasStrides, int64_t width) {
  auto isNegative = [](int64_t number) { return number < 0; };
  if (llvm::any_of(input.shape, isNegative)) return "has a negative extent";
  if (hasStrides && llvm::any_of(input.strides, isNegative)) return "has a negative stride";
  int64_t count = width, reach = width;
  bool overflows = false;
  for (size_t i = 0; i < input.shape.size(); ++i) {
    overflows |= __builtin_mul_overflow(count, std::max<int64_t>(input.shape[i], 1), &count);
    int64_t step = 0;
    overflows |= hasStrides && (__builtin_mul_overflow(input.shape[i], input.strides[i], &step) ||
                                __builtin_mul_overflow(step, width, &step) || __builtin_add_overflow(reach, step, &reach));
  }
  return overflows ? "has more bytes than the address space" : "";
}

Result<std::vector<Input>> readInputs(const TwTensor *tensors, size_t count) {
  std::vector<Input> inputs;
  std::vector<std::pair<const char *, const char *>> memory;
  for (size_t i = 0; i < count; ++i) {
    TwTensor given;
    std::string problem = readSized(elementOf(tensors, i), given, "TwTensor");
    if (!problem.empty()) return Failure{"input " + std::to_string(i) + ": " + problem};
    Input input;
    input.name = given.name ? given.name : "";
    input.title = given.name ? given.name : "tensor " + std::to_string(i);
    if (!isType(given.type)) return Failure{"input " + input.title + " has a type that is none of TwType"};
    if (given.rank < 0 || (given.rank > 0 && !given.shape)) return Failure{"input " + input.title + " has no shape"};
    auto rank = static_cast<size_t>(given.rank);
    input.cType = given.type, input.type = scalarOf(given.type);
    input.shape.assign(given.shape, given.shape + rank);
    if (given.strides) input.strides.assign(given.strides, given.strides + rank);
    auto width = static_cast<size_t>(byteSize(input.type));
    if (std::string wrong = problemOfSizes(input, given.strides, static_cast<int64_t>(width)); !wrong.empty())
      return Failure{"input " + input.title + " " + wrong};
    if (!given.strides) input.strides = stridesOf(input.shape);
    input.isBlank = !given.data;
    input.content = patternOf(input.type, countOf(input.shape) * width, author::patterns[0]);
    if (const auto *data = static_cast<const char *>(given.data)) {
      forEach(input.shape, input.strides, [&](size_t position, int64_t offset) {
        std::memcpy(&input.content[position * width], data + offset * int64_t(width), width);
      });
      const char *end = data + reachOf(input.shape, input.strides) * width;
      for (size_t other = 0; other < i; ++other)
        if (data < memory[other].second && memory[other].first < end)
          return Failure{"inputs " + inputs[other].title + " and " + input.title +
                         " share memory; a write to one would change the other: give each its own memory"};
      memory.push_back({data, end});
    } else {
      memory.push_back({nullptr, nullptr});
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Input derived(const Input &input, const author::Variant &variant) {
  Input made = input;
  if (variant.layout == author::Variant::Layout::asGiven) return made;
  made.shape = variant.shapeOf(input.shape);
  made.strides = stridesOf(variant.wholeOf(input.shape));
  if (!made.strides.empty()) made.strides.back() *= variant.stepOfLast();
  auto width = static_cast<size_t>(byteSize(input.type));
  std::string content(countOf(made.shape) * width, '\0');
  // Copies the elements whose indices the variant keeps.
  forEach(made.shape, stridesOf(input.shape), [&](size_t position, int64_t offset) {
    std::memcpy(&content[position * width], &input.content[static_cast<size_t>(offset) * width], width);
  });
  made.content = std::move(content);
  return made;
}

//===---------------------------------------------------------------------------------------------------------------- memory

std::unique_ptr<GuardedTensor> GuardedTensor::create(const Input &input, unsigned char pattern, unsigned char around,
                                                     const gpu::CudaDevice *device, Diagnostics &diagnostics) {
  std::unique_ptr<GuardedTensor> made(new GuardedTensor(input));
  auto width = static_cast<size_t>(byteSize(input.type));
  made->begin = guardBytes, made->size = reachOf(input.shape, input.strides) * width, made->around = around;
  made->total = (made->size + 2 * guardBytes + alignment - 1) / alignment * alignment;
  made->storage.reset(static_cast<char *>(std::aligned_alloc(alignment, made->total)), std::free);
  if (!made->storage) {
    diagnostics.error({}, Diag::invalidOption,
                      {"there is no memory for " + input.title + ", " + std::to_string(made->total) + " bytes", "use smaller inputs"});
    return nullptr;
  }
  char *data = made->storage.get() + made->begin;
  std::memset(made->storage.get(), around, made->total);
  std::memset(data, input.type == Scalar::int1 ? pattern >> 7 : pattern, made->size);
  if (!input.isBlank)
    forEach(input.shape, input.strides,
            [&](size_t position, int64_t offset) { std::memcpy(data + offset * int64_t(width), &input.content[position * width], width); });
  if (!device) return made;
  gpu::ContextScope scope(*device);
  gpu::DriverStatus state = device->driver->allocate(&made->onDevice, made->total);
  if (state == gpu::status::success) made->device = device;
  if (state == gpu::status::success) state = device->driver->copyToDevice(made->onDevice, made->storage.get(), made->total);
  if (state == gpu::status::success) return made;
  device->report(state, "copying a tensor to the GPU", diagnostics);
  return nullptr;
}

GuardedTensor::~GuardedTensor() {
  if (!device) return;
  gpu::ContextScope scope(*device);
  device->driver->release(onDevice);
}

TwTensor GuardedTensor::view() const {
  char *data = (device ? reinterpret_cast<char *>(onDevice) : storage.get()) + begin;
  return {sizeof(TwTensor),
          input.name.empty() ? nullptr : input.name.c_str(),
          input.cType,
          static_cast<int32_t>(input.shape.size()),
          input.shape.data(),
          input.strides.data(),
          data,
          static_cast<int64_t>(size),
          device ? static_cast<int32_t>(device->ordinal) : -1};
}

Argument GuardedTensor::argument() const {
  TwTensor tensor = view();
  Argument pointer = Argument::pointer(tensor.data, input.type, tensor.bytes, tensor.device);
  return tensor.bytes == 0 ? pointer.reaching(0, 0) : pointer;
}

bool GuardedTensor::fetch(Diagnostics &diagnostics) {
  if (!device) return true;
  if (!device->synchronize(diagnostics)) return false;
  gpu::ContextScope scope(*device);
  gpu::DriverStatus state = device->driver->copyToHost(storage.get(), onDevice, total);
  if (state == gpu::status::success) return true;
  device->report(state, "copying a tensor from the GPU", diagnostics);
  return false;
}

bool GuardedTensor::isUntouchedAround() const {
  auto isAround = [&](char byte) { return static_cast<unsigned char>(byte) == around; };
  const char *all = storage.get();
  return std::all_of(all, all + begin, isAround) && std::all_of(all + begin + size, all + total, isAround);
}

const char *GuardedTensor::element(size_t position) const {
  std::vector<int64_t> index = author::indexOf(position, input.shape);
  int64_t offset = 0;
  for (auto [at, stride] : llvm::zip(index, input.strides))
    offset += at * stride;
  return storage.get() + begin + offset * byteSize(input.type);
}

std::string GuardedTensor::bytes() const {
  auto width = static_cast<size_t>(byteSize(input.type));
  std::string all(countOf(input.shape) * width, '\0');
  const char *data = storage.get() + begin;
  forEach(input.shape, input.strides,
          [&](size_t position, int64_t offset) { std::memcpy(&all[position * width], data + offset * int64_t(width), width); });
  return all;
}

author::VerifiedValue GuardedTensor::verifiedValue() const {
  author::VerifiedValue made;
  made.name = input.title, made.type = author::typeName(input.type), made.text = made.type + author::listText(input.shape);
  made.isTensor = made.hasShape = true;
  made.isFloat = isFloat(input.type), made.isOnGpu = device != nullptr;
  made.shape = input.shape, made.width = static_cast<size_t>(byteSize(input.type));
  std::string all = bytes();
  made.numbers = [all, type = input.type] { return author::numbersOf(type, all); };
  made.bytes = [all] { return all; };
  return made;
}

} // namespace tilewright::api
