// Kernels as objects of the host: jit<function>(signature), and their launches.
//
//   inline auto add_kernel = tilewright::jit<add<1024>>("add(x, y, out, n)");
//   auto done = add_kernel.launch(tilewright::grid(tilewright::cdiv(n, 1024)), tilewright::cpu, x, y, out, n);
//
// The first launch builds the kernel and compiles it for the arguments' alignments. Later launches only look it up. All functions may be
// called from several threads.
#pragma once

#include "tilewright/language/tile.h"

#include <array>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>

namespace tilewright {

/// Where a launch runs: on the CPU, or on a GPU's stream. Pointers of the launch are that memory's.
class Stream {
public:
  constexpr Stream() = default;
  /// A stream of CUDA device 0; null is the CPU.
  template <typename T> Stream(T *handle) : options_{.stream = const_cast<std::remove_const_t<T> *>(handle)}, device_(handle ? 0 : -1) {}
  Stream(std::nullptr_t) {}
  /// A stream of a device; null is its default stream.
  static Stream ofDevice(int32_t device, void *handle = nullptr) {
    Stream stream;
    stream.device_ = device;
    stream.options_.stream = handle;
    return stream;
  }
  /// The same with other options of the launch.
  Stream with(Options options) const {
    Stream stream = *this;
    void *handle = stream.options_.stream;
    stream.options_ = options;
    stream.options_.stream = handle;
    return stream;
  }
  int32_t device() const { return device_; }
  const Options &options() const { return options_; }

private:
  Options options_;
  int32_t device_ = -1; // -1: the CPU
};
inline const Stream cpu;

/// The number of programs of a launch, along one to three axes.
inline Grid grid(int64_t x) {
  return Grid(x);
}
inline Grid grid(int64_t x, int64_t y) {
  return Grid(x, y);
}
inline Grid grid(int64_t x, int64_t y, int64_t z) {
  return Grid(x, y, z);
}

namespace detail {

/// The names of "add(x, y, out, n)". Parameters without a name are called arg0, arg1, ...
class signature_names {
public:
  TILEWRIGHT_TRACE explicit signature_names(std::string_view text) {
    size_t open = text.find('(');
    name = trimmed(text.substr(0, open));
    if (open == std::string_view::npos) return;
    std::string_view rest = text.substr(open + 1, text.rfind(')') - open - 1);
    while (!trimmed(rest).empty()) {
      size_t comma = rest.find(',');
      parameters.push_back(trimmed(rest.substr(0, comma)));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  std::string name;
  std::vector<std::string> parameters;

private:
  TILEWRIGHT_TRACE static std::string trimmed(std::string_view text) {
    size_t begin = text.find_first_not_of(" \n\t");
    if (begin == std::string_view::npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(" \n\t") - begin + 1));
  }
};

// ---- arguments: what host code passes for a parameter

template <typename P> struct parameter;

template <typename V> inline constexpr bool is_host_number = std::is_arithmetic_v<V>;
#if TILEWRIGHT_HAS_FLOAT16
template <> inline constexpr bool is_host_number<_Float16> = true;
#endif
template <typename V> inline constexpr bool is_span = false;
template <typename U, size_t N> inline constexpr bool is_span<std::span<U, N>> = true;

template <typename T> struct parameter<tile<T>> {
  static constexpr const char *name = element<T>::name;
  template <typename V> static Arg convert(const Stream &, const V &value) {
    static_assert(is_host_number<V>, "This parameter of the kernel is a number.");
    static_assert(!(std::is_floating_point_v<V> && is_integer(element<T>::kind)), "This parameter of the kernel is an integer, and the "
                                                                                  "argument is a floating-point number.");
    if constexpr (std::is_same_v<T, bool>)
      return Arg(static_cast<bool>(value));
    else if constexpr (is_float(element<T>::kind))
      return Arg(static_cast<double>(value));
    else
      return Arg(value);
  }
  /// Says why a value does not fit, or nothing.
  template <typename V> static bool fits(const V &value) {
    if constexpr (is_float(element<T>::kind) || std::is_same_v<T, bool> || std::is_same_v<V, bool> || !std::is_integral_v<V>)
      return true;
    else
      return std::in_range<T>(value);
  }
};

template <typename T> struct parameter<tile<T *>> {
  static constexpr const char *name = element<T *>::name;
  using pointee = std::remove_const_t<T>;
  static_assert(!std::is_same_v<pointee, float8e5b16> && !std::is_same_v<pointee, float8e4b8> && !std::is_same_v<pointee, float8e4b15>,
                "Host code passes these 8-bit floats as bytes: take ptr<uint8_t>, and convert with cast<T>(x, {.bitcast = true}).");
  template <typename U> static constexpr void check() {
    static_assert(std::is_same_v<std::remove_const_t<U>, pointee> || typeOf<U>() == typeOf<pointee>(),
                  "The argument points to elements of another type than this parameter of the "
                  "kernel.");
    static_assert(std::is_const_v<T> || !std::is_const_v<U>, "The kernel may write to this parameter, and the argument is constant.");
  }
  template <typename U> static Arg convert(const Stream &stream, U *pointer) {
    check<U>();
    if (stream.device() < 0) return Arg(pointer);
    return Arg(onDevice(pointer, stream.device()));
  }
  template <typename U> static Arg convert(const Stream &, DevicePointer<U> memory) {
    check<U>();
    return Arg(memory);
  }
  template <typename U> static Arg convert(const Stream &stream, std::span<U> memory) {
    check<U>();
    if (stream.device() < 0) return Arg(memory);
    return Arg(onDevice(memory.data(), stream.device(), static_cast<int64_t>(memory.size_bytes())));
  }
  /// nullptr, and the host's memory in a std::vector, std::array or another container whose elements are contiguous.
  template <typename V> static Arg convert(const Stream &stream, V &memory) {
    if constexpr (std::is_null_pointer_v<std::remove_const_t<V>>) {
      return convert(stream, static_cast<pointee *>(nullptr));
    } else if constexpr (is_span<std::remove_const_t<V>>) { // with a fixed number of elements
      return convert(stream, std::span<typename V::element_type>(memory));
    } else if constexpr (requires { std::data(memory) + std::size(memory); }) {
      using element_type = std::remove_pointer_t<decltype(std::data(memory))>;
      check<element_type>();
      return Arg(typeOf<element_type>(), std::data(memory), std::size(memory) * sizeof(element_type));
    } else {
      static_assert(never<V>, "This parameter of the kernel is a pointer: pass a pointer, nullptr, or a container whose elements are "
                              "contiguous.");
      return Arg(nullptr);
    }
  }
  template <typename V> static constexpr bool fits(const V &) { return true; }
};

/// The types of a kernel function's parameters.
template <typename F> struct function_type {
  static_assert(never<F>, "A kernel is a function that returns void and takes pointers and scalars of kernels by value.");
};
template <typename... P> struct function_type<void (*)(P...)> {
  using parameters = std::tuple<P...>;
  static constexpr size_t count = sizeof...(P);
};

/// Says why a text cannot name a kernel with `count` parameters, or nothing.
TILEWRIGHT_TRACE inline std::string problem_of_signature(const std::string &signature, const signature_names &names, size_t count) {
  if (std::string problem = problemOfText("the signature of a kernel", signature); !problem.empty()) return problem;
  if (names.parameters.size() == count) return {};
  return "the signature '" + signature + "' names " + std::to_string(names.parameters.size()) + " parameters, and the kernel has " +
         std::to_string(count) + "\n";
}
/// Records a kernel of parameters of these types. Returns a module that the caller frees, or null after an error.
TILEWRIGHT_TRACE inline TwModule *record_kernel(const std::string &signature, location where, const char *const *types, size_t count,
                                                void (*body)(const void *, const trace &, const value *parameters, const place &),
                                                const void *given, TwError **error) {
  signature_names names{signature};
  bool is_named = !names.parameters.empty();
  for (size_t i = 0; !is_named && i < count; ++i)
    names.parameters.push_back("arg" + std::to_string(i));
  if (std::string problem = problem_of_signature(signature, names, count); !problem.empty()) {
    *error = twErrorNewWithCode(TW_ERROR_INVALID_ARGUMENT, problem.c_str());
    return nullptr;
  }
  place at(where);
  std::unique_ptr<TwBuilder, void (*)(TwBuilder *)> builder(twBuilderNew(names.name.c_str(), &at), twBuilderFree);
  if (builder) {
    trace t(builder.get());
    std::vector<value> parameters(count);
    for (size_t i = 0; i < count; ++i)
      parameters[i] = {t, twBuilderParameter(t.builder, names.parameters[i].c_str(), types[i], &at)};
    body(given, t, parameters.data(), at);
  }
  return twBuilderFinish(builder.get(), error);
}
TILEWRIGHT_TRACE inline std::string text_of_misfit(int index, const std::string &signature) {
  return "argument " + std::to_string(index) + " of '" + signature + "' does not fit the integer type of its parameter\n";
}

/// How a kernel is recorded: the types of its parameters, and a function that records its body.
struct recording {
  const char *const *types;
  size_t count;
  void (*body)(const void *given, const trace &, const value *parameters, const place &);
  const void *given;
};

/// A kernel that is built at its first use. It is no template: what depends on the kernel is in `recording` and in the lists of arguments.
class lazy_kernel {
public:
  lazy_kernel(std::string signature, location where) : signature(std::move(signature)), where(where) {}
  lazy_kernel(const lazy_kernel &) = delete;

  /// The kernel of tilewright/tilewright.h, or the error of building it.
  TILEWRIGHT_OUTLINE const Result<Kernel> &built(const recording &how) {
    std::call_once(once, [&] {
      TwError *error = nullptr;
      TwModule *module = record(how, &error);
      kernel = module ? Module::adopt(module).kernel(signature_names{signature}.name) : failed<Kernel>(error);
    });
    return kernel;
  }
  /// Records the kernel. Returns a module that the caller frees, or null after an error.
  TwModule *record(const recording &how, TwError **error) const {
    return record_kernel(signature, where, how.types, how.count, how.body, how.given, error);
  }
  /// `misfit` is the index of an argument that its parameter cannot hold, or -1.
  template <typename G>
  TILEWRIGHT_OUTLINE Result<void> launch(const recording &how, const G &grid, const Stream &stream, std::span<const Arg> list, int misfit) {
    const Result<Kernel> &found = built(how);
    if (!found) return Result<void>::failure(found.code(), found.error());
    if (misfit >= 0) return Result<void>::failure(TW_ERROR_INVALID_ARGUMENT, text_of_misfit(misfit, signature));
    return found->launch(grid, list, stream.options());
  }
  TILEWRIGHT_TRACE Result<std::string> emit(const recording &how, const char *stage, std::span<const Arg> list, int misfit) {
    const Result<Kernel> &found = built(how);
    if (!found) return Result<std::string>::failure(found.code(), found.error());
    if (misfit >= 0) return Result<std::string>::failure(TW_ERROR_INVALID_ARGUMENT, text_of_misfit(misfit, signature));
    return found->emit(stage, list);
  }

private:
  const std::string signature;
  const location where;
  std::once_flag once;
  Result<Kernel> kernel = Result<Kernel>::failure("");
};

/// The parameters of a kernel, and the arguments of its launches.
template <typename Types> struct parameter_list;
template <typename... P> struct parameter_list<std::tuple<P...>> {
  static constexpr size_t count = sizeof...(P);
  static constexpr const char *types[] = {parameter<P>::name..., nullptr};
  template <typename... A> static constexpr bool takes() {
    static_assert(sizeof...(A) == sizeof...(P), "The launch passes another number of arguments than the kernel has parameters.");
    return sizeof...(A) == sizeof...(P);
  }
  /// Sets `misfit` to the index of the first argument that its parameter cannot hold.
  template <typename... A> TILEWRIGHT_OUTLINE static std::array<Arg, count> convert(int &misfit, const Stream &stream, A &...arguments) {
    int index = 0;
    ((parameter<P>::fits(arguments) || misfit >= 0 || (misfit = index, false), ++index), ...);
    return {{parameter<P>::convert(stream, arguments)...}};
  }
  template <typename G, typename... A>
  static Result<void> launch(lazy_kernel &kernel, const recording &how, const G &grid, const Stream &stream, A &...arguments) {
    if constexpr (takes<A...>()) {
      int misfit = -1;
      auto list = convert(misfit, stream, arguments...);
      return kernel.launch(how, grid, stream, list, misfit);
    } else {
      return {};
    }
  }
};

/// Calls the kernel function with its parameters.
template <typename... P> void run_function(void (*function)(P...), const value *parameters) {
  [&]<size_t... I>(std::index_sequence<I...>) { function(P(parameters[I])...); }(std::index_sequence_for<P...>());
}

} // namespace detail

/// Options of a kernel as a whole.
struct jit_options {
  bool any_size = false; // tiles may have extents that are not powers of two; define TILEWRIGHT_ANY_SIZE before the header
};

/// A kernel function of C++, compiled when it is first launched.
template <auto Function> class JitKernel {
  using parameters = detail::parameter_list<typename detail::function_type<decltype(Function)>::parameters>;

public:
  JitKernel(std::string signature, jit_options options, location where) : lazy(std::move(signature), where), options(options) {}

  /// Runs the grid. On a CPU, it returns when the programs are done; on a GPU, when the launch is queued. An error has the line of C++ that
  /// it is about.
  template <typename... A> Result<void> launch(Grid grid, const Stream &stream, A &&...arguments) {
    return parameters::launch(lazy, how(), grid, stream, arguments...);
  }
  /// Returns the kernel, compiled for these arguments on a CPU, as text of a stage: "ast", "tt", "loops", "llvm" or "asm".
  template <typename... A> Result<std::string> emit(const char *stage, A &&...arguments) {
    if constexpr (parameters::template takes<A...>()) {
      int misfit = -1;
      auto list = parameters::convert(misfit, cpu, arguments...);
      return lazy.emit(how(), stage, list, misfit);
    } else {
      return std::string();
    }
  }
  /// The kernel of tilewright/tilewright.h, or the error of building it.
  const Result<Kernel> &built() { return lazy.built(how()); }
  /// A module with this kernel, for TILEWRIGHT_EXPORT. The caller frees it. Null after an error.
  TwModule *module(TwError **error) const { return lazy.record(how(), error); }

private:
  detail::recording how() const {
    auto body = [](const void *given, const detail::trace &t, const detail::value *parameters, const detail::place &) {
      if (static_cast<const JitKernel *>(given)->options.any_size) twBuilderAnySize(t.builder);
      detail::run_function(Function, parameters);
    };
    return {parameters::types, parameters::count, body, this};
  }
  detail::lazy_kernel lazy;
  const jit_options options;
};

/// A kernel from a function: jit<add<1024>>("add(x, y, out, n)"). The names of the parameters are those of messages; "add" alone calls them
/// arg0, arg1, ...
template <auto Function> JitKernel<Function> jit(std::string signature, jit_options options = {}, location where = location::current()) {
  return JitKernel<Function>(std::move(signature), options, where);
}

namespace detail {
/// Returns the module of one of the kernels; null without an error after the last one.
template <typename... K> TwModule *exported(size_t index, TwError **error, const K &...kernels) {
  TwModule *module = nullptr;
  size_t next = 0;
  auto record = [&] { ((next++ == index ? void(module = kernels.module(error)) : void()), ...); };
#if defined(__cpp_exceptions)
  try {
    record();
  } catch (const std::exception &exception) {
    *error = twErrorNew((std::string("a kernel's function throws an exception: ") + exception.what() + "\n").c_str());
  }
#else
  record();
#endif
  return module;
}
} // namespace detail

} // namespace tilewright

/// Lists kernels, JitKernel or TunedKernel objects, for the commands `tilewright build`, `compile` and `explain`, which load the shared
/// library of this file: TILEWRIGHT_EXPORT(add_kernel, scale_kernel). A library has one such list, outside of namespaces.
#define TILEWRIGHT_EXPORT(...)                                                                                                             \
  extern "C" __attribute__((visibility("default"))) TwModule *tilewrightExportedKernel(size_t index, TwError **error) {                    \
    return ::tilewright::detail::exported(index, error, __VA_ARGS__);                                                                      \
  }                                                                                                                                        \
  static_assert(true, "so that a semicolon may follow")
