// The kernel author's bench in C++20: checks a kernel for many sizes, and compares its speed with the machine's peaks.
//
//   auto kernel = [&](tilewright::Tensors t) {
//     return add->launch(tilewright::cdiv(t[0].size(), 1024), {t[0], t[1], t[2], t[0].size(), {"BLOCK_SIZE", 1024}});
//   };
//   auto reference = [](tilewright::Tensors t) {
//     for (int64_t i = 0; i < t[0].size(); ++i)
//       t[2].set({i}, t[0].get({i}) + t[1].get({i}));
//   };
//   std::vector<tilewright::Input> inputs{{"x", x}, {"y", y}, tilewright::Input::output<float>("out", {n})};
//   auto report = tilewright::verify(kernel, reference, inputs);
//   if (report && !report->correct()) std::puts(report->text());
//   auto figures = tilewright::bench(kernel, reference, inputs);
//   if (figures) std::printf("%.0f %% of the peak\n", 100 * figures->figures().fractionOfPeak);
//
// Host code takes tensors, whose extents and strides differ from call to call. It passes pointers, extents and strides to its launches.
// The commands `tilewright verify` and `tilewright bench` do the same for kernel files in Python, with the same implementation.
#pragma once

#include "tilewright/tilewright.h"

#include <functional>
#include <random>

namespace tilewright {

/// A tensor of a call, with its own memory. Its type, extents and strides are known only when the program runs. This is a view, valid
/// during the call.
class Tensor {
public:
  explicit Tensor(const TwTensor &raw) : raw(&raw) {}
  /// "" if the input has no name.
  const char *name() const { return raw->name ? raw->name : ""; }
  TwType type() const { return raw->type; }
  std::span<const int64_t> shape() const { return {raw->shape, static_cast<size_t>(raw->rank)}; }
  /// Counted in elements: [i, j] lies strides()[0] * i + strides()[1] * j elements after data().
  std::span<const int64_t> strides() const { return {raw->strides, static_cast<size_t>(raw->rank)}; }
  /// The number of elements.
  int64_t size() const {
    int64_t count = 1;
    for (int64_t extent : shape())
      count *= extent;
    return count;
  }
  /// The CUDA device, or -1 for the host's memory.
  int32_t device() const { return raw->device; }
  void *data() const { return raw->data; }
  /// Reads an element in the host's memory. A double holds it exactly, unless it is an integer beyond 2^53. `set` rounds to the type.
  double get(std::initializer_list<int64_t> index) const { return twTensorGet(raw, index.begin()); }
  void set(std::initializer_list<int64_t> index, double value) const { twTensorSet(raw, index.begin(), value); }
  /// Converts the tensor to an argument of a launch.
  operator Arg() const { return Arg(raw->type, raw->data, static_cast<size_t>(raw->bytes), raw->device); }

private:
  const TwTensor *raw;
};

/// The tensors of a call, in the order of the inputs.
class Tensors {
public:
  Tensors(const TwTensor *const *tensors, size_t count) : tensors(tensors), count(count) {}
  Tensor operator[](size_t index) const { return Tensor(*tensors[index]); }
  size_t size() const { return count; }

private:
  const TwTensor *const *tensors;
  size_t count;
};

/// Describes a tensor of a call: a copy of numbers, or, for an output, only a type and extents.
class Input {
public:
  /// Numbers in row-major order. The product of `shape` is the number of elements; an empty shape means one axis.
  template <typename T>
  Input(std::string name, const std::vector<T> &data, std::vector<int64_t> shape = {}) : Input(std::move(name), std::span(data), shape) {}
  template <typename T>
  Input(std::string name, std::span<T> data, std::vector<int64_t> shape = {})
      : title(std::move(name)), elementType(detail::typeOf<T>()), extents(std::move(shape)) {
    if (extents.empty()) extents = {static_cast<int64_t>(data.size())};
    auto *begin = reinterpret_cast<const char *>(data.data());
    content.assign(begin, begin + data.size_bytes());
    isWhole = count() == static_cast<int64_t>(data.size());
  }
  /// Describes a tensor that the kernel and the reference write before they read it.
  template <typename T> static Input output(std::string name, std::vector<int64_t> shape) {
    return Input(std::move(name), detail::typeOf<T>(), std::move(shape));
  }
  /// Returns numbers from the normal distribution, rounded to the type. The same seed gives the same numbers.
  template <typename T> static Input normal(std::string name, std::vector<int64_t> shape, uint64_t seed) {
    Input made(std::move(name), detail::typeOf<T>(), std::move(shape));
    made.content.assign(static_cast<size_t>(made.count()) * sizeof(T), 0);
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> distribution;
    int64_t count = made.count(), step = 1;
    TwTensor all{sizeof(TwTensor), nullptr, made.elementType, 1, &count, &step, made.content.data(), 0, -1};
    for (int64_t i = 0; i < count; ++i)
      twTensorSet(&all, &i, distribution(generator));
    made.isOutput = false;
    return made;
  }

  TwTensor c() const {
    static const char nothing = 0; // null would say that an empty input is an output
    void *data = isOutput ? nullptr : const_cast<char *>(content.empty() ? &nothing : content.data());
    return {sizeof(TwTensor),
            title.empty() ? nullptr : title.c_str(),
            elementType,
            static_cast<int32_t>(extents.size()),
            extents.data(),
            nullptr,
            data,
            0,
            -1};
  }
  const std::string &name() const { return title; }
  /// True if there are as many numbers as the extents need.
  bool fits() const { return isWhole; }

private:
  Input(std::string name, TwType type, std::vector<int64_t> shape)
      : title(std::move(name)), elementType(type), extents(std::move(shape)), isOutput(true) {}
  int64_t count() const {
    int64_t all = 1;
    for (int64_t extent : extents)
      all *= extent;
    return all;
  }
  std::string title;
  TwType elementType;
  std::vector<int64_t> extents;
  std::vector<char> content;
  bool isOutput = false, isWhole = true;
};

/// Host code. It launches kernels on the calling thread, or computes the expected results. It returns nothing, or Result<void>.
using HostFunction = std::function<Result<void>(Tensors)>;
/// Makes inputs from a seed. Each variant of a verification has its own seed.
using InputFunction = std::function<std::vector<Input>(uint64_t seed)>;

/// Selects the interpreter as the reference: it runs the kernel's own launches, one operation at a time, as the language defines them. It
/// stops with an error at the first access outside of a tensor. It is slow. It finds errors of the compiler, a block size or a mask, but
/// not a wrong formula.
struct Interpreter {};
inline constexpr Interpreter interpreter;

/// Variants of the inputs; combine them with `|`.
enum : uint32_t { asGiven = TW_GIVEN, strided = TW_STRIDED, empty = TW_EMPTY, ofSizeOne = TW_ONE, odd = TW_ODD };

/// How a kernel is verified.
struct VerifyOptions {
  /// |result - expected| <= atol + rtol * |expected|. Unless given, the type decides: float32 1e-5, float16 1e-3, bfloat16 1e-2, integers
  /// equal. For float32 in a kernel with a dot it is 1e-3 on a CPU. On a GPU, which may round to TF32, it is 1e-2 and 1e-1.
  std::optional<double> rtol = {}, atol = {};
  /// The CUDA device whose memory holds the kernel's tensors; -1: the host. The reference's tensors are always in the host's memory.
  int32_t device = -1;
  uint32_t variants = asGiven | strided | empty | ofSizeOne | odd;
  uint64_t seed = 0; // of the first variant's inputs; each variant has the next one

  TwVerifyOptions c() const { return {sizeof(TwVerifyOptions), rtol.value_or(-1), atol.value_or(-1), device, variants, seed}; }
};

/// The result of a verification.
class Report {
public:
  explicit Report(TwReport *report) : handle(report, twReportFree) {}
  /// True if no variant was wrong. A variant for which the kernel's function returns an error does not count as wrong.
  bool correct() const { return twReportCorrect(handle.get()); }
  /// The report as text, one line for each variant, and as JSON, as `tilewright verify --json` prints it. Both are valid as long as the
  /// report.
  const char *text() const { return twReportText(handle.get()); }
  const char *json() const { return twReportJson(handle.get()); }
  size_t size() const { return twReportVariantCount(handle.get()); }
  /// One of the variants. After the last one: one without a name, whose outcome is TW_SKIPPED.
  TwVariant variant(size_t index) const {
    TwVariant found{sizeof(TwVariant), "", TW_SKIPPED, "", 0};
    twReportVariant(handle.get(), index, &found);
    return found;
  }
  /// A compared tensor: its worst element, the program that wrote that element, and the elements that were never written.
  TwOutput output(size_t variant, size_t output) const {
    TwOutput found{};
    found.size = sizeof found, found.name = "";
    twReportOutput(handle.get(), variant, output, &found);
    return found;
  }

private:
  std::shared_ptr<TwReport> handle;
};

/// How a launch is timed.
struct MeasureOptions {
  int64_t warmup = 10, repeat = 40; // number of calls; fewer, but at least 5, if all would take longer than 20 seconds
  bool warmCaches = false;          // false: each call starts with its tensors evicted from the caches of the CPU or GPU
  bool measurePeaks = false;        // measures the machine's peaks again, even if the cache folder has them

  TwMeasureOptions c() const { return {sizeof(TwMeasureOptions), warmup, repeat, warmCaches, measurePeaks}; }
};

/// Times of calls, and the rates derived from them.
class Measurement {
public:
  explicit Measurement(TwMeasurement *measurement) : handle(measurement, twMeasurementFree) {}
  /// Seconds, bytes, operations, rates, and the fraction of the peak. Its pointers are valid as long as this object.
  TwFigures figures() const {
    TwFigures found{};
    found.size = sizeof found, found.machine = "";
    twMeasurementFigures(handle.get(), &found);
    return found;
  }
  /// The measurement as a few lines of text, and as JSON, as `tilewright bench --json` prints it and `tilewright bench --compare` reads it.
  const char *text() const { return twMeasurementText(handle.get()); }
  const char *json() const { return twMeasurementJson(handle.get()); }
  /// Draws the kernel below the machine's roofline, as SVG. Empty if the operations are not known.
  std::string roofline(const std::string &title) const {
    char *drawn = twMeasurementRoofline(handle.get(), title.c_str());
    std::string text = drawn ? drawn : "";
    twStringFree(drawn);
    return text;
  }

private:
  std::shared_ptr<TwMeasurement> handle;
};

namespace detail {
/// Holds the functions of a TwSubject.
struct Subject {
  HostFunction kernel, reference;
  InputFunction make;
  std::vector<Input> inputs{};
  std::vector<TwTensor> raw{};

  static int answer(const Result<void> &result, TwError **error) {
    if (!result && error) *error = twErrorNewWithCode(result.code(), result.error().c_str());
    return static_cast<bool>(result);
  }
  static int callKernel(void *self, const TwTensor *const *tensors, size_t count, TwError **error) {
    return answer(static_cast<Subject *>(self)->kernel(Tensors(tensors, count)), error);
  }
  static int callReference(void *self, const TwTensor *const *tensors, size_t count, TwError **error) {
    return answer(static_cast<Subject *>(self)->reference(Tensors(tensors, count)), error);
  }
  static int makeInputs(void *context, uint64_t seed, const TwTensor **inputs, size_t *count, TwError **error) {
    auto &self = *static_cast<Subject *>(context);
    self.inputs = self.make(seed);
    self.raw.clear();
    for (const Input &input : self.inputs) {
      if (!input.fits())
        return answer(Result<void>::failure("'" + input.name() + "': the number of elements does not match its extents"), error);
      self.raw.push_back(input.c());
    }
    *inputs = self.raw.data(), *count = self.raw.size();
    return 1;
  }
  TwSubject c() { return {sizeof(TwSubject), callKernel, reference ? callReference : nullptr, makeInputs, this}; }
};

template <typename F> HostFunction hostFunction(F function) {
  if constexpr (std::is_void_v<std::invoke_result_t<F &, Tensors>>)
    return [function](Tensors tensors) mutable {
      function(tensors);
      return Result<void>();
    };
  else
    return function;
}
template <typename F> HostFunction referenceOf(F function) {
  if constexpr (std::is_same_v<std::remove_cv_t<F>, Interpreter>)
    return nullptr;
  else
    return hostFunction(std::move(function));
}
inline InputFunction inputFunction(std::vector<Input> inputs) {
  return [inputs = std::move(inputs)](uint64_t) { return inputs; };
}
template <typename F>
  requires std::is_invocable_r_v<std::vector<Input>, F &, uint64_t>
InputFunction inputFunction(F make) {
  return make;
}
} // namespace detail

/// Verifies a kernel: for each variant of the inputs, it runs the reference once and the kernel twice. The variants are: the inputs as
/// given; every second element, with gaps between rows; and each size set to 0, 1 and an odd number. Equal extents count as one size.
/// All memory is filled with patterns first. They show elements that were never written, and writes outside of a tensor. `kernel` and
/// `reference` are host code; `reference` may also be `interpreter`. `inputs` is a list, or a function that makes one from a seed. Fails if
/// the inputs cannot be used, or if the reference fails for the inputs as given. A wrong kernel is not a failure; the report shows it.
template <typename K, typename R, typename I> Result<Report> verify(K kernel, R reference, I inputs, const VerifyOptions &options = {}) {
  detail::Subject subject{detail::hostFunction(std::move(kernel)), detail::referenceOf(std::move(reference)),
                          detail::inputFunction(std::move(inputs))};
  TwSubject raw = subject.c();
  TwVerifyOptions c = options.c();
  TwError *error = nullptr;
  if (TwReport *report = twVerify(&raw, &c, &error)) return Report(report);
  return detail::failed<Report>(error);
}

/// Verifies the kernel, then times the kernel and the reference alternately, with the inputs as given. Fails if the kernel is wrong; the
/// error is the text of the report.
template <typename K, typename R, typename I>
Result<Measurement> bench(K kernel, R reference, I inputs, const MeasureOptions &measure = {}, const VerifyOptions &options = {}) {
  detail::Subject subject{detail::hostFunction(std::move(kernel)), detail::referenceOf(std::move(reference)),
                          detail::inputFunction(std::move(inputs))};
  TwSubject raw = subject.c();
  TwVerifyOptions verify = options.c();
  TwMeasureOptions c = measure.c();
  TwError *error = nullptr;
  if (TwMeasurement *measurement = twBench(&raw, &verify, &c, &error)) return Measurement(measurement);
  return detail::failed<Measurement>(error);
}

/// Compares two measurements. The result is -1 if `after` is faster beyond chance, 1 if it is slower, else 0. Fails for different machines.
inline Result<TwChange> compare(const Measurement &before, const Measurement &after) {
  TwChange change{};
  change.size = sizeof change;
  TwError *error = nullptr;
  if (twCompare(before.json(), after.json(), &change, &error)) return change;
  return detail::failed<TwChange>(error);
}

inline Result<Measurement> Kernel::measured(const TwGrid *grid, TwGridFunction function, void *context, std::span<const Arg> arguments,
                                            const MeasureOptions &measure, const Options &options) const {
  Raw raw(arguments);
  detail::RawOptions c(options);
  TwMeasureOptions measuring = measure.c();
  TwError *error = nullptr;
  TwMeasurement *found = twMeasureLaunch(handle.get(), grid, function, context, raw.data, raw.count, c.c(), &measuring, &error);
  if (found) return Measurement(found);
  return detail::failed<Measurement>(error);
}

inline Result<Measurement> Kernel::measure(Grid grid, std::initializer_list<Arg> arguments, MeasureOptions measure,
                                           const Options &options) const {
  return measured(&grid.c(), nullptr, nullptr, listed(arguments), measure, options);
}
template <detail::ArgRange A>
Result<Measurement> Kernel::measure(Grid grid, const A &arguments, MeasureOptions measure, const Options &options) const {
  return measured(&grid.c(), nullptr, nullptr, arguments, measure, options);
}
template <typename F>
  requires std::is_invocable_r_v<Grid, F &, Meta>
Result<Measurement> Kernel::measure(F grid, std::initializer_list<Arg> arguments, MeasureOptions measure, const Options &options) const {
  return measured(nullptr, gridOf<F>, &grid, listed(arguments), measure, options);
}
template <typename F, detail::ArgRange A>
  requires std::is_invocable_r_v<Grid, F &, Meta>
Result<Measurement> Kernel::measure(F grid, const A &arguments, MeasureOptions measure, const Options &options) const {
  return measured(nullptr, gridOf<F>, &grid, arguments, measure, options);
}

} // namespace tilewright
