// What the parts of the extension module share.
//
// Python's kernels live in live modules: a name in a kernel is whatever the module holds when the kernel is compiled. So the compiler's
// Namespace is implemented over Python's dicts here (scope.cpp), its values are made from Python's objects (values.cpp), and a launch turns
// arguments into the runtime's (arguments.cpp). Everything else is the compiler's and the runtime's own work.
//
// The GIL: it is released while kernels are compiled and run. Callbacks from the compiler (a name, a function call) take it again.
#pragma once

#include "gil.h"

#include "runtime/kernel.h"
#include "support/target.h"

#include "llvm/ADT/IntrusiveRefCntPtr.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace tilewright::python {

// ---- objects

/// A Python object that C++ values hold. Copies and ends may happen without the GIL.
using Shared = std::shared_ptr<PyObject>;
Shared share(nb::handle object);

/// A member of a Python module of the package: packageObject("language.core", "constexpr").
nb::handle packageObject(const char *module, const char *name);

/// The same, found once: static constinit PackageMember made("language.core", "constexpr"). A static with a constructor would have a guard,
/// which one thread holds while its import lets another have the GIL, and which that one then waits for.
class PackageMember {
public:
  constexpr PackageMember(const char *module, const char *name) : module(module), name(name) {}
  PyObject *ptr();
  template <typename... Args> nb::object operator()(Args &&...args) { return nb::handle(ptr())(std::forward<Args>(args)...); }

private:
  const char *module, *name;
  std::atomic<PyObject *> found{nullptr};
};
[[noreturn]] void raise(PyObject *type, const std::string &message);

// KeyboardInterrupt and SystemExit, which are not of class Exception, can be raised wherever Python code runs. They always propagate to
// the caller.
/// Drops the Exception that was raised, if any.
void clearException();
/// A member of an object; `otherwise` where it has none, or reading it raises an Exception.
nb::object memberOr(nb::handle object, const char *name, nb::object otherwise);
bool hasMember(nb::handle object, const char *name);

// ---- values.cpp

/// While it lives, the members of a list, tuple or dict are read. ValueError where such objects are nested too deeply, or hold themselves.
class NestedObject {
public:
  NestedObject();
  ~NestedObject();
};

/// Any object as the compiler sees it. Objects that mean nothing to it are HostValues.
Value toValue(nb::handle object);
/// The Python object for a value; a Python error (TypeError) for HostValues.
nb::object fromValue(const Value &value);
/// A member of the language by its full name: "triton.language.math.exp".
std::optional<Value> languageValue(const std::string &path);
/// The type a dtype object or its text stands for.
std::optional<Type> toType(nb::handle object);
/// "float32", "torch.bfloat16", "fp16", "float8_e4m3fn": a tensor library's or our own name of an element type.
std::optional<Scalar> scalarNamed(std::string name);

/// What @triton.must_use_result says of a function, if anything.
std::optional<std::string> mustUseOf(nb::handle function);
/// A member of an aggregate: its plain functions are followed by kernels.
Value memberValue(nb::handle object);
/// A class as something that makes instances of constants.
std::shared_ptr<const Callable> classCallable(nb::handle type);

// ---- classes.cpp

/// A namedtuple's or aggregate's class; null for every other class. One class is one scope as long as that lives.
std::shared_ptr<Namespace> classScope(nb::handle type);
/// An instance of such a class with these values; nothing where the class is not Python's.
nb::object instanceOf(Namespace &type, nb::list values);

// ---- scope.cpp

/// A constant that a kernel was compiled with, and where it came from.
struct UsedGlobal {
  Shared holder; // a dict, or a closure's cell
  std::string name;
  Shared key;     // the name as Python has it
  Shared value;   // what a tl.constexpr holds, which may be set to another value, or the object itself
  bool isWrapped; // in a tl.constexpr
};
/// While it lives, the constants that this thread's compilation reads from live scopes are added to `used`.
class Recorder {
public:
  explicit Recorder(std::vector<UsedGlobal> &used);
  ~Recorder();

private:
  std::vector<UsedGlobal> *previous;
};
/// Raises RuntimeError if one of them is no longer what it was.
void checkUnchanged(const std::vector<UsedGlobal> &used);

/// The names a Python function sees: its closure, then its globals.
std::shared_ptr<Namespace> functionScope(Shared globals, Shared cells, std::string path);
/// The members of a module, class or other object that holds names.
std::shared_ptr<Namespace> objectScope(nb::handle object, std::string path);

// ---- arguments.cpp

Argument toArgument(nb::handle object, const char *parameter);
/// For a constexpr parameter, which takes any object that has a hash: kernels read its attributes.
Argument toConstant(nb::handle object, const char *parameter);

/// What the arguments that this thread converted since `reset` say about the stream to launch on.
struct StreamHints {
  bool torch = false; // one is PyTorch's on a GPU: its current stream counts
  bool known = false; // one named its stream, as __cuda_array_interface__ does
  uint64_t stream = 0;
  static StreamHints &current();
  void reset() { *this = StreamHints(); }
};
/// The stream for a launch on a CUDA device, by what the arguments said: PyTorch's current one, the one that an array named, or the
/// default stream.
void *streamFor(int64_t device);

// ---- errors.cpp

/// Raises what the first error of `diagnostics` is in Python: TypeError, KeyError, ValueError, OutOfResources, CompilationError ...
[[noreturn]] void raiseErrors(const Diagnostics &diagnostics, const JitFunction *function);
/// An error of what the compiler has called in Python. What is no Exception is kept for `raiseKept`.
void noteRaised(const nb::python_error &error, SourceRange range, std::string text, Diagnostics &diagnostics);
/// Raises what this thread has kept: the compiler, which knows no exceptions, has returned.
void raiseKept();
/// Hands warnings to Python's `warnings`, or raises what was kept.
void showWarnings(const Diagnostics &diagnostics);

/// Kernels keep small tiles on the stack, and compilers recurse. A sort takes 70 KB to compile, most kernels less than 50.
constexpr int64_t stackToRun = 16 << 10, stackToCompile = 128 << 10;
/// Whether this thread has so much stack left, in bytes. False after an error.
bool hasStack(int64_t needed, Diagnostics &diagnostics);

// ---- kernel.cpp

enum class Engine { cpu, interpret, simulate };
const char *engineName(Engine engine);

/// What launches of this thread use. Set by `with tilewright.engine(...)`.
struct EngineState {
  Engine engine = Engine::cpu;
  bool checkBounds = false;
  int64_t maxWork = 0;     // with checkBounds: elements that a launch may compute; 0: any number
  bool gaveUp = false;     // the last launch that ended with an error was too large, or is nothing for the interpreter
  bool isCounting = false; // each launch adds its arithmetic to `counted` before it runs
  double counted = 0;
  bool isChosen = false;                 // by `with engine(...)`: kernels made under TRITON_INTERPRET do not ask for another
  std::string target = defaultGpuText(); // of the simulator
};
EngineState &engineState();

/// Where launches without tensors run: a CUDA device, or -1 for the CPU. Set by the package when it chooses its driver, which the first
/// such launch makes it do.
inline constexpr int64_t undecidedDevice = -2;
std::atomic<int64_t> &defaultDevice();

/// A Python function marked @jit: the base of tilewright.JITFunction.
class PyKernel {
public:
  /// The function as the compiler knows it. Parsed at first use; raises CompilationError.
  const std::shared_ptr<const JitFunction> &jit();
  std::string name;

  // What launches ask of the Python object, kept here because an attribute takes longer to find.
  Shared hooks;                // its `pre_run_hooks`
  bool hasOwnSettings = false; // it has a `debug` that is not None, or a `run` that is not its class's

  struct State;
  llvm::IntrusiveRefCntPtr<State> state; // counted without atomic operations: all that have it hold the GIL
};

void defineKernel(nb::module_ &module);
/// What verify, bench and profile call.
void defineAuthor(nb::module_ &module);
/// The tuner as @autotune calls it.
void defineTuner(nb::module_ &module);
void defineLaunchPlans(nb::module_ &module);

} // namespace tilewright::python
