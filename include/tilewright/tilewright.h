// Tilewright from C++20: load a kernel file, launch its kernels.
//
//   auto module = tilewright::Module::fromFile("vector_add.py");
//   if (!module) return std::puts(module.error().c_str());
//   auto add = module->kernel("add_kernel");
//   auto done = add->launch({tilewright::cdiv(n, 1024)}, {x, y, out, n, {"BLOCK_SIZE", 1024}});
//
// This header wraps the C interface of libtilewright. Building against it needs no part of the compiler.
#pragma once

#if __cplusplus < 202002L
#error "tilewright/tilewright.h needs C++20 (-std=c++20); tilewright/c.h is for C and older C++"
#endif

#include "tilewright/c.h"

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// C++ has this type for half precision since GCC 13 and Clang 15, where the target has it.
#if defined(__FLT16_MAX__) && (defined(__clang__) || __GNUC__ >= 13)
#define TILEWRIGHT_HAS_FLOAT16 1
#else
#define TILEWRIGHT_HAS_FLOAT16 0
#endif

// For functions that prepare launches or make errors: the C++ compiler spends no time on inlining them or making them fast.
#if defined(__GNUC__)
#define TILEWRIGHT_COLD [[gnu::noinline, gnu::cold]]
#else
#define TILEWRIGHT_COLD
#endif

namespace tilewright {

namespace detail {
/// Returns why a text cannot be passed to C, or nothing.
TILEWRIGHT_COLD inline std::string problemOfText(const char *what, const std::string &text) {
  size_t position = text.find('\0');
  if (position == std::string::npos) return {};
  return std::string(what) + " contains a NUL character, at byte " + std::to_string(position) + "\n";
}
/// Ends a program that reads the value of a failed Result: throws std::logic_error with the text, or aborts if exceptions are off.
[[noreturn]] TILEWRIGHT_COLD inline void valueOfError(const std::string &message) {
#if defined(__cpp_exceptions)
  throw std::logic_error("the value of a failed tilewright::Result is used; it failed with: " + message);
#else
  std::fprintf(stderr, "the value of a failed tilewright::Result is used; it failed with: %s\n", message.c_str());
  std::abort();
#endif
}
} // namespace detail

/// A T, or an error: a message with its location and advice, and a code for programs. Test it first: `*` and `->` of an error throw
/// std::logic_error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  static Result failure(std::string message) { return failure(TW_ERROR_CALLBACK, std::move(message)); }
  static Result failure(TwErrorCode code, std::string message) { return Result(code, std::move(message)); }
  explicit operator bool() const { return state.has_value(); }
  T &operator*() {
    if (!state) detail::valueOfError(message);
    return *state;
  }
  const T &operator*() const {
    if (!state) detail::valueOfError(message);
    return *state;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }
  const std::string &error() const { return message; }
  /// TW_ERROR_NONE if there is a value.
  TwErrorCode code() const { return kind; }

private:
  Result(TwErrorCode code, std::string message) : kind(code), message(std::move(message)) {}
  std::optional<T> state;
  TwErrorCode kind = TW_ERROR_NONE;
  std::string message;
};

/// Success, or an error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  static Result failure(std::string message) { return failure(TW_ERROR_CALLBACK, std::move(message)); }
  static Result failure(TwErrorCode code, std::string message) {
    Result result;
    result.kind = code;
    result.message = std::move(message);
    return result;
  }
  explicit operator bool() const { return kind == TW_ERROR_NONE; }
  const std::string &error() const { return message; }
  TwErrorCode code() const { return kind; }

private:
  TwErrorCode kind = TW_ERROR_NONE;
  std::string message;
};

/// Types for elements that C++ has no type for. They hold the bits as they are in memory. `_Float16` is a half, where the compiler has it.
struct half {
  uint16_t bits;
};
struct bfloat16 {
  uint16_t bits;
};
struct float8e5 {
  uint8_t bits;
};
struct float8e4 {
  uint8_t bits;
};

/// Memory of a CUDA device, as an argument: onDevice(x) or onDevice(x, 1). The pointer is cudaMalloc's or cuMemAlloc's.
template <typename T> struct DevicePointer {
  T *pointer;
  int32_t device;
  int64_t bytes; // the size of the memory at the pointer; 0: not known. Tuning with reset_to_zero or restore_value needs it
};
template <typename T> DevicePointer<T> onDevice(T *pointer, int32_t device = 0, int64_t bytes = 0) {
  return {pointer, device, bytes};
}

namespace detail {
template <typename T> inline constexpr bool isHalf = std::is_same_v<T, half>;
#if TILEWRIGHT_HAS_FLOAT16
template <> inline constexpr bool isHalf<_Float16> = true;
#endif
template <typename T> constexpr TwType typeOf() {
  using U = std::remove_cv_t<T>;
  if constexpr (isHalf<U>)
    return TW_F16;
  else if constexpr (std::is_same_v<U, bfloat16>)
    return TW_BF16;
  else if constexpr (std::is_same_v<U, float8e5>)
    return TW_F8E5;
  else if constexpr (std::is_same_v<U, float8e4>)
    return TW_F8E4;
  else if constexpr (std::is_same_v<U, float>)
    return TW_F32;
  else if constexpr (std::is_same_v<U, double>)
    return TW_F64;
  else if constexpr (std::is_same_v<U, bool>)
    return TW_I1;
  else {
    static_assert(std::is_integral_v<U> && sizeof(U) <= 8, "kernels take pointers to numbers of at most 64 bits");
    constexpr bool isSigned = std::is_signed_v<U>;
    if constexpr (sizeof(U) == 1)
      return isSigned ? TW_I8 : TW_U8;
    else if constexpr (sizeof(U) == 2)
      return isSigned ? TW_I16 : TW_U16;
    else if constexpr (sizeof(U) == 4)
      return isSigned ? TW_I32 : TW_U32;
    else
      return isSigned ? TW_I64 : TW_U64;
  }
}
/// Makes a failed result of an error, which it takes ownership of.
template <typename T> TILEWRIGHT_COLD Result<T> failed(TwError *error) {
  TwErrorCode code = error ? twErrorCode(error) : TW_ERROR_INTERNAL;
  Result<T> result = Result<T>::failure(code, error ? twErrorText(error) : "unknown error");
  twErrorFree(error);
  return result;
}
} // namespace detail

/// Sets the handler of warnings of calls that succeed, such as configurations of a kernel with different results. It runs on the thread of
/// that call, one call at a time. An empty function drops warnings. Without a handler, warnings go to the standard error output.
inline void onWarning(std::function<void(const std::string &text)> handler) {
  static std::mutex lock; // of the handler
  static std::function<void(const std::string &)> current;
  {
    std::lock_guard<std::mutex> guard(lock);
    current = std::move(handler);
  }
  auto call = [](void *, const char *text) {
    std::function<void(const std::string &)> copy;
    {
      std::lock_guard<std::mutex> guard(lock);
      copy = current;
    }
    if (copy) copy(text);
  };
  twOnWarning(call, nullptr);
}

/// One argument. Pointers, spans, vectors, arrays, numbers, bools, texts and nullptr (None) convert to one implicitly. `{"NAME", value}`
/// passes one by name. A kernel that stores to const data (`const float *`, `const std::vector<float> &`, a temporary vector) is an error.
/// An Arg refers to the memory and the texts that it is made from.
class Arg {
public:
  template <typename T>
    requires(!std::is_void_v<T> && !std::is_same_v<std::remove_cv_t<T>, char>)
  Arg(T *pointer) : Arg(int64_t{0}, pointer) {}
  template <typename T> Arg(DevicePointer<T> memory) : Arg(memory.bytes < 0 ? invalidBytes : memory.bytes, memory.pointer) {
    raw.kind = TW_DEVICE_POINTER;
    raw.device = memory.device;
  }
  template <typename T> Arg(std::span<T> memory) : Arg(bytesOf(memory.size_bytes()), memory.data()) {}
  template <typename T> Arg(std::vector<T> &memory) : Arg(bytesOf(memory.size() * sizeof(T)), memory.data()) {}
  template <typename T> Arg(const std::vector<T> &memory) : Arg(bytesOf(memory.size() * sizeof(T)), memory.data()) {}
  template <typename T, size_t N> Arg(std::array<T, N> &memory) : Arg(bytesOf(sizeof(T) * N), memory.data()) {}
  template <typename T, size_t N> Arg(const std::array<T, N> &memory) : Arg(bytesOf(sizeof(T) * N), memory.data()) {}
  /// Passes memory whose element type is known only when the program runs. The values are those of TwArgument; const memory is read-only.
  Arg(TwType type, void *pointer, size_t bytes, int32_t device = -1) {
    raw.kind = device == -1 ? TW_POINTER : TW_DEVICE_POINTER;
    raw.type = type;
    raw.bytes = bytesOf(bytes);
    raw.value.pointer = pointer;
    raw.device = device;
  }
  Arg(TwType type, const void *pointer, size_t bytes, int32_t device = -1) : Arg(type, const_cast<void *>(pointer), bytes, device) {
    raw.readOnly = 1;
  }
  template <typename T>
    requires(std::is_floating_point_v<T> || (std::is_integral_v<T> && sizeof(T) <= 8))
  Arg(T number) {
    if constexpr (std::is_same_v<T, bool>) {
      raw.kind = TW_BOOL;
      raw.value.integer = number;
    } else if constexpr (std::is_floating_point_v<T>) {
      raw.kind = TW_FLOAT;
      raw.value.floating = static_cast<double>(number);
    } else if constexpr (std::is_signed_v<T>) {
      raw.kind = TW_INT;
      raw.value.integer = number;
    } else {
      raw.kind = TW_UINT;
      raw.value.unsignedInteger = number;
    }
  }
#if TILEWRIGHT_HAS_FLOAT16
  Arg(_Float16 number) : Arg(static_cast<double>(number)) {}
#endif
  Arg(std::nullptr_t) { raw.kind = TW_NONE; }
  Arg(const char *text) {
    raw.kind = TW_STRING;
    raw.value.string = text;
  }
  Arg(const std::string &text) : Arg(text.c_str()) { raw.bytes = static_cast<int64_t>(text.size()); }
  /// Passes an argument by its parameter's name. The name must outlive the launch.
  template <typename T> Arg(const char *name, T &&value) : Arg(std::forward<T>(value)) { raw.name = name; }
  template <typename T> Arg(const std::string &name, T &&value) : Arg(name.c_str(), std::forward<T>(value)) {}

  const TwArgument &c() const { return raw; }

private:
  static constexpr int64_t invalidBytes = INT64_MIN; // the call reports it
  /// Returns -1 for empty memory: 0 would mean that the size is not known.
  static int64_t bytesOf(size_t bytes) {
    if (bytes > static_cast<size_t>(INT64_MAX)) return invalidBytes;
    return bytes ? static_cast<int64_t>(bytes) : -1;
  }
  template <typename T> Arg(int64_t bytes, T *pointer) {
    raw.kind = TW_POINTER;
    raw.type = detail::typeOf<T>();
    raw.readOnly = std::is_const_v<T>;
    raw.bytes = bytes;
    raw.value.pointer = const_cast<std::remove_cv_t<T> *>(pointer);
  }
  TwArgument raw{sizeof(TwArgument), nullptr, TW_NONE, TW_I1, 0, {0}, 0, 0};
};

/// The number of programs of a launch, along one to three axes.
class Grid {
public:
  Grid(int64_t x) : raw{sizeof(TwGrid), {x, 1, 1}, 1} {}
  Grid(int64_t x, int64_t y) : raw{sizeof(TwGrid), {x, y, 1}, 2} {}
  Grid(int64_t x, int64_t y, int64_t z) : raw{sizeof(TwGrid), {x, y, z}, 3} {}
  const TwGrid &c() const { return raw; }

private:
  TwGrid raw;
};

/// The integer arguments by name, as a grid function reads them. They include those that the tuner has chosen.
class Meta {
public:
  explicit Meta(const TwMeta *meta) : meta(meta) {}
  /// Returns the argument. If there is none of this name, the launch fails with an error that names it, and the result is 1.
  int64_t operator[](const char *name) const { return twMetaInteger(meta, name, nullptr); }
  /// True if there is an integer argument of that name.
  bool has(const char *name) const {
    int found = 0;
    twMetaInteger(meta, name, &found);
    return found != 0;
  }

private:
  const TwMeta *meta;
};

/// Ends calls early, from any thread. Copies share one request.
class Cancel {
public:
  Cancel() : handle(twCancelNew(nullptr), twCancelFree) {}
  /// Ends all calls that have this token, and later ones: they fail with TW_ERROR_CANCELED.
  void request() const { twCancelRequest(handle.get()); }
  TwCancel *c() const { return handle.get(); }

private:
  std::shared_ptr<TwCancel> handle;
};

/// The embedding program's threads, which run the programs of a launch on the CPU.
class Executor {
public:
  virtual ~Executor() = default;
  /// Returns the number of tasks that may run at the same time, at least 1.
  virtual int64_t threads() const = 0;
  /// Calls task(i) once for each i from 0 to count - 1, on any threads, and returns when all calls have returned. An exception ends the
  /// launch with an error.
  virtual void run(int64_t count, const std::function<void(int64_t)> &task) = 0;
};

/// Options of a launch or a compilation.
struct Options {
  // A negative number is an error.
  int64_t threads = 0; // 0: TILEWRIGHT_NUM_THREADS, or all CPUs
  int64_t numWarps = 0, numStages = 0;
  // On GPUs only.
  int64_t numCtas = 0, maxRegisters = 0;
  void *stream = nullptr; // CUstream or cudaStream_t; null: the default stream
  bool cooperative = false, programmaticLaunch = false;
  /// Runs on the interpreter, which is slow. The launch stops with an error at the first access outside of an argument, at a race between
  /// programs, or at a use of a masked-off element. Vectors and spans know their sizes; a pointer needs its size.
  bool sanitize = false;

  /// Pointers to the host's memory that are null, or whose memory is not mapped or not writable, are errors with the kernel's name. It
  /// takes tens of microseconds or more.
  bool checkPointers = false;
  /// Seconds from the start of the call. Then it fails with TW_ERROR_DEADLINE. 0: no limit. A launch on the CPU ends between two programs,
  /// a compilation between two steps.
  double timeoutSeconds = 0;
  std::optional<Cancel> cancel = {};
  // They must live until the call returns, or the future is destroyed.
  Executor *executor = nullptr;                 // null: the library's threads
  std::pmr::memory_resource *scratch = nullptr; // for scratch memory of launches on the CPU; null: memory that the threads keep
};

namespace detail {
/// The C form of options, and the structs that it points to.
class RawOptions {
public:
  explicit RawOptions(const Options &options) {
    raw.size = sizeof raw;
    raw.threads = options.threads;
    raw.numWarps = options.numWarps;
    raw.numStages = options.numStages;
    raw.numCtas = options.numCtas;
    raw.maxRegisters = options.maxRegisters;
    raw.stream = options.stream;
    raw.cooperative = options.cooperative;
    raw.programmaticLaunch = options.programmaticLaunch;
    raw.sanitize = options.sanitize;
    raw.checkPointers = options.checkPointers;
    raw.timeoutSeconds = options.timeoutSeconds;
    if (options.cancel) raw.cancel = options.cancel->c();
    if (options.executor) {
      executor = {sizeof executor, options.executor, options.executor->threads(), runTasks};
      raw.executor = &executor;
    }
    if (options.scratch) {
      allocator = {sizeof allocator, options.scratch, allocate, release};
      raw.allocator = &allocator;
    }
  }
  RawOptions(const RawOptions &) = delete;
  RawOptions &operator=(const RawOptions &) = delete;
  const TwOptions *c() const { return &raw; }

private:
  // The library catches exceptions of these functions.
  static int runTasks(void *self, void (*task)(void *, int64_t), void *data, int64_t count) {
    static_cast<Executor *>(self)->run(count, [=](int64_t index) { task(data, index); });
    return 1;
  }
  static void *allocate(void *self, int64_t bytes, int64_t alignment) {
    return static_cast<std::pmr::memory_resource *>(self)->allocate(static_cast<size_t>(bytes), static_cast<size_t>(alignment));
  }
  static void release(void *self, void *memory, int64_t bytes) {
    constexpr size_t alignment = 64; // of all scratch memory
    static_cast<std::pmr::memory_resource *>(self)->deallocate(memory, static_cast<size_t>(bytes), alignment);
  }
  TwOptions raw{};
  TwExecutor executor; // these two are set if `raw` refers to them
  TwAllocator allocator;
};

/// True for a container of arguments: std::vector<Arg>, std::array<Arg, 3>, std::span<const Arg>. A list in braces is not one.
template <typename T>
concept ArgRange = std::convertible_to<const T &, std::span<const Arg>>;
} // namespace detail

/// Returns value / divisor, rounded up, or -1, which is not a valid grid, unless the divisor is positive.
constexpr int64_t cdiv(int64_t value, int64_t divisor) {
  return divisor <= 0 ? -1 : value / divisor + (value % divisor > 0);
}

class Measurement;
struct MeasureOptions;

/// A parameter of a kernel, for programs that fill calls from data.
struct Parameter {
  std::string name;
  bool isConstexpr = false;               // its value is a constant of the compiled code
  bool isChosen = false;                  // the tuner or a rule of @triton.heuristics gives its value
  bool isVariadic = false;                // *args
  bool isConst = false;                   // declared as tl.const: the kernel does not store through this pointer
  std::optional<std::string> defaultText; // as Python prints it: "None", "128"; null: a call must give it
  std::optional<std::string> annotation;  // the declared type: "int32"; null: the argument decides
  TwKind kind = TW_NONE;                  // of the declared type; TW_NONE: there is none
  TwType type = TW_I1;                    // of the declared number, or of a declared pointer's elements
};

/// A compilation on another thread. It is canceled when the last copy is destroyed; that waits until its thread ends.
class Future {
public:
  explicit Future(TwFuture *future) : handle(future, twFutureFree) {}
  bool ready() const { return twFutureIsReady(handle.get()) != 0; }
  /// Waits until it is ready, and returns its result. With a limit, the code TW_ERROR_DEADLINE may mean that it is not ready yet.
  Result<void> wait(std::optional<std::chrono::duration<double>> limit = {}) const {
    TwError *error = nullptr;
    if (twFutureWait(handle.get(), limit ? limit->count() : -1, &error)) return {};
    return detail::failed<void>(error);
  }
  void cancel() const { twFutureCancel(handle.get()); }

private:
  std::shared_ptr<TwFuture> handle;
};

/// A kernel. Copies share compiled code and tuning results; launches may come from any thread.
class Kernel {
public:
  /// Runs the grid and returns when it is done or, with arguments in a GPU's memory, when the launch is queued. The first launch with new
  /// types, constants or alignments compiles the kernel. The arguments are a list in braces, or a container of Arg.
  Result<void> launch(Grid grid, std::initializer_list<Arg> arguments, const Options &options = {}) const {
    return run(twLaunch, &grid.c(), nullptr, nullptr, listed(arguments), options);
  }
  template <detail::ArgRange A> Result<void> launch(Grid grid, const A &arguments, const Options &options = {}) const {
    return run(twLaunch, &grid.c(), nullptr, nullptr, arguments, options);
  }
  /// Calls `grid` with the arguments (a Meta) to get the Grid.
  template <typename F>
    requires std::is_invocable_r_v<Grid, F &, Meta>
  Result<void> launch(F grid, std::initializer_list<Arg> arguments, const Options &options = {}) const {
    return run(twLaunch, nullptr, gridOf<F>, &grid, listed(arguments), options);
  }
  template <typename F, detail::ArgRange A>
    requires std::is_invocable_r_v<Grid, F &, Meta>
  Result<void> launch(F grid, const A &arguments, const Options &options = {}) const {
    return run(twLaunch, nullptr, gridOf<F>, &grid, arguments, options);
  }

  /// Compiles, or loads from the cache folder, what a launch with these arguments needs, and runs no program. If the tuner has not chosen
  /// yet, it compiles all configurations.
  Result<void> prepare(Grid grid, std::initializer_list<Arg> arguments, const Options &options = {}) const {
    return run(twPrepare, &grid.c(), nullptr, nullptr, listed(arguments), options);
  }
  template <detail::ArgRange A> Result<void> prepare(Grid grid, const A &arguments, const Options &options = {}) const {
    return run(twPrepare, &grid.c(), nullptr, nullptr, arguments, options);
  }
  template <typename F>
    requires std::is_invocable_r_v<Grid, F &, Meta>
  Result<void> prepare(F grid, std::initializer_list<Arg> arguments, const Options &options = {}) const {
    return run(twPrepare, nullptr, gridOf<F>, &grid, listed(arguments), options);
  }
  template <typename F, detail::ArgRange A>
    requires std::is_invocable_r_v<Grid, F &, Meta>
  Result<void> prepare(F grid, const A &arguments, const Options &options = {}) const {
    return run(twPrepare, nullptr, gridOf<F>, &grid, arguments, options);
  }
  /// The same on another thread. This kernel must live until the future is destroyed.
  Result<Future> prepareAsync(Grid grid, std::initializer_list<Arg> arguments, const Options &options = {}) const {
    return prepareAsync(grid, listed(arguments), options);
  }
  template <detail::ArgRange A> Result<Future> prepareAsync(Grid grid, const A &arguments, const Options &options = {}) const {
    Raw raw(arguments);
    detail::RawOptions c(options);
    TwError *error = nullptr;
    TwFuture *future = twPrepareAsync(handle.get(), &grid.c(), nullptr, nullptr, raw.data, raw.count, c.c(), &error);
    if (future) return Future(future);
    return detail::failed<Future>(error);
  }

  /// Times the launch, which runs many times on the same tensors. tilewright/author.h declares it and documents MeasureOptions.
  Result<Measurement> measure(Grid grid, std::initializer_list<Arg> arguments, MeasureOptions measure, const Options &options = {}) const;
  template <detail::ArgRange A>
  Result<Measurement> measure(Grid grid, const A &arguments, MeasureOptions measure, const Options &options = {}) const;
  template <typename F>
    requires std::is_invocable_r_v<Grid, F &, Meta>
  Result<Measurement> measure(F grid, std::initializer_list<Arg> arguments, MeasureOptions measure, const Options &options = {}) const;
  template <typename F, detail::ArgRange A>
    requires std::is_invocable_r_v<Grid, F &, Meta>
  Result<Measurement> measure(F grid, const A &arguments, MeasureOptions measure, const Options &options = {}) const;
  /// Returns the kernel, compiled for these arguments, as text of a stage: "ast", "tt", "loops", "llvm" or "asm".
  Result<std::string> emit(const char *stage, std::initializer_list<Arg> arguments, const Options &options = {}) const {
    return emit(stage, listed(arguments), options);
  }
  template <detail::ArgRange A>
  TILEWRIGHT_COLD Result<std::string> emit(const char *stage, const A &arguments, const Options &options = {}) const {
    Raw raw(arguments);
    detail::RawOptions c(options);
    TwError *error = nullptr;
    char *text = twEmit(handle.get(), stage, raw.data, raw.count, c.c(), &error);
    if (!text) return detail::failed<std::string>(error);
    std::string result = text;
    twStringFree(text);
    return result;
  }

  std::string name() const {
    const char *text = twKernelName(handle.get());
    return text ? text : "";
  }
  std::vector<Parameter> parameters() const {
    std::vector<Parameter> all(twKernelParameterCount(handle.get()));
    for (size_t i = 0; i < all.size(); ++i) {
      TwParameter raw{};
      raw.size = sizeof raw;
      twKernelParameter(handle.get(), i, &raw);
      all[i] = {raw.name, raw.isConstexpr != 0, raw.isChosen != 0, raw.isVariadic != 0, raw.isConst != 0, {}, {}, raw.kind, raw.type};
      if (raw.defaultText) all[i].defaultText = raw.defaultText;
      if (raw.annotation) all[i].annotation = raw.annotation;
    }
    return all;
  }

private:
  friend class Module;
  explicit Kernel(TwKernel *kernel) : handle(kernel, twKernelFree) {}

  template <typename F> static int gridOf(void *context, const TwMeta *meta, TwGrid *result) {
    TwGrid made = Grid((*static_cast<F *>(context))(Meta(meta))).c();
    for (size_t axis = 0; axis < 3; ++axis)
      result->extent[axis] = made.extent[axis];
    result->rank = made.rank; // `size` stays: the library has set it
    return 1;
  }
  static std::span<const Arg> listed(std::initializer_list<Arg> arguments) { return {arguments.begin(), arguments.size()}; }
  Result<Measurement> measured(const TwGrid *grid, TwGridFunction function, void *context, std::span<const Arg> arguments,
                               const MeasureOptions &measure, const Options &options) const;

  struct Raw {
    explicit Raw(std::span<const Arg> arguments) : count(arguments.size()) {
      data = fixed;
      if (count > 32) {
        large = std::make_unique<TwArgument[]>(count);
        data = large.get();
      }
      size_t i = 0;
      for (const Arg &argument : arguments)
        data[i++] = argument.c();
    }
    TwArgument fixed[32]; // enough for most kernels without allocating
    std::unique_ptr<TwArgument[]> large;
    TwArgument *data;
    size_t count;
  };

  using CFunction = int (*)(TwKernel *, const TwGrid *, TwGridFunction, void *, const TwArgument *, size_t, const TwOptions *, TwError **);
  Result<void> run(CFunction function, const TwGrid *grid, TwGridFunction gridFunction, void *context, std::span<const Arg> arguments,
                   const Options &options) const {
    Raw raw(arguments);
    detail::RawOptions c(options);
    TwError *error = nullptr;
    if (function(handle.get(), grid, gridFunction, context, raw.data, raw.count, c.c(), &error)) return {};
    return detail::failed<void>(error);
  }

  std::shared_ptr<TwKernel> handle;
};

/// Limits for kernel text that the program does not trust. They bound the compiler, not the compiled kernel: run it with Options::sanitize,
/// or in a process of its own. 0: the default, or no limit. TwLimits in tilewright/c.h says more.
struct Limits {
  int64_t textBytes = 0, evaluatorSteps = 0, evaluatorBytes = 0, tileElements = 0, operations = 0, memoryBytes = 0;
  double compileSeconds = 0;
  bool denyFiles = false; // imports find no files, and the environment is hidden
};

/// A kernel file.
class Module {
public:
  static Result<Module> fromFile(const std::string &path) {
    if (std::string problem = detail::problemOfText("the path of the module", path); !problem.empty())
      return Result<Module>::failure(TW_ERROR_INVALID_ARGUMENT, problem);
    TwError *error = nullptr;
    TwModule *module = twModuleFromFile(path.c_str(), &error); // before the call that reads `error`
    return make(module, error);
  }
  /// Messages use `name` as the file name.
  static Result<Module> fromSource(const std::string &source, const std::string &name) {
    if (std::string problem = problemOf(source, name); !problem.empty()) return Result<Module>::failure(TW_ERROR_INVALID_ARGUMENT, problem);
    TwError *error = nullptr;
    TwModule *module = twModuleFromSource(source.c_str(), name.c_str(), &error);
    return make(module, error);
  }
  /// Takes ownership of a module of the C interface.
  static Module adopt(TwModule *module) { return Module(module); }
  /// The same for text that is not trusted.
  static Result<Module> fromSource(const std::string &source, const std::string &name, const Limits &limits) {
    if (std::string problem = problemOf(source, name); !problem.empty()) return Result<Module>::failure(TW_ERROR_INVALID_ARGUMENT, problem);
    TwLimits raw{sizeof(TwLimits),  limits.textBytes,   limits.evaluatorSteps, limits.evaluatorBytes,   limits.tileElements,
                 limits.operations, limits.memoryBytes, limits.compileSeconds, limits.denyFiles ? 1 : 0};
    TwError *error = nullptr;
    TwModule *module = twModuleFromSourceWithLimits(source.c_str(), name.c_str(), &raw, &error);
    return make(module, error);
  }
  TILEWRIGHT_COLD Result<Kernel> kernel(const std::string &name) const {
    if (std::string problem = detail::problemOfText("the name of the kernel", name); !problem.empty())
      return Result<Kernel>::failure(TW_ERROR_INVALID_ARGUMENT, problem);
    TwError *error = nullptr;
    if (TwKernel *kernel = twKernelFind(handle.get(), name.c_str(), &error)) return Kernel(kernel);
    return detail::failed<Kernel>(error);
  }
  std::vector<std::string> kernelNames() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < twModuleKernelCount(handle.get()); ++i)
      names.push_back(twModuleKernelName(handle.get(), i));
    return names;
  }

private:
  explicit Module(TwModule *module) : handle(module, twModuleFree) {}
  static std::string problemOf(const std::string &source, const std::string &name) {
    std::string problem = detail::problemOfText("the name of the module", name);
    return problem.empty() ? detail::problemOfText("the source of the module", source) : problem;
  }
  static Result<Module> make(TwModule *module, TwError *error) {
    if (module) return Module(module);
    return detail::failed<Module>(error);
  }
  std::shared_ptr<TwModule> handle;
};

} // namespace tilewright
