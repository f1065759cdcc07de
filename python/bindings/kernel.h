// A @jit function as the extension keeps it, and the calls of it.
#pragma once

#include "compiled.h"
#include "core.h"
#include "exchange.h"

#include "runtime/interpreted.h"

#include <optional>
#include <unordered_map>

namespace tilewright::python {

/// The arguments of a Python call as the vectorcall protocol has them: values by position, then those of `names`, a tuple or null.
struct PyArguments {
  PyObject *const *values = nullptr;
  size_t positional = 0;
  PyObject *names = nullptr;
  size_t named() const { return names ? static_cast<size_t>(PyTuple_Size(names)) : 0; }
};

/// The same from a tuple and a dict (or null).
class UnpackedArguments {
public:
  UnpackedArguments(nb::handle args, nb::handle kwargs);
  operator PyArguments() const;

private:
  llvm::SmallVector<PyObject *, 32> values;
  size_t positional = 0;
  nb::object names;
};

/// What a launch's keyword is: a parameter of the kernel, a launch option, or both.
enum class Option : uint8_t {
  unknown,
  numWarps,
  numStages,
  numCtas,
  maxnreg,
  fpFusion,
  numerics,
  debug,
  sanitizeOverflow,
  irOverride,
  arch,
  ptxOptions,
  reflectFtz,
  externLibs,
  threads,
  stream,
  cooperative,
  programmaticLaunch,
  ignored
};
Option optionNamed(llvm::StringRef name);
/// Sets an option of the compilation. False for an option of the launch alone, and for other names. Raises for an invalid value.
bool setKernelOption(KernelOptions &options, Option option, nb::handle value, llvm::StringRef name);

/// How the arguments of calls with these keywords, in this order, become those of the kernel.
/// A kernel is called from few places, so keywords are looked up by name once for each place.
struct CallShape : llvm::RefCountedBase<CallShape> {
  struct Keyword {
    int64_t parameter = -1;
    Option option = Option::unknown;
  };
  Shared names; // a tuple of interned strings, or null
  size_t positional = 0;
  bool direct = false; // every parameter gets one value or its default; otherwise the runtime binds, and says what is wrong
  llvm::SmallVector<Keyword, 8> keywords;
  std::vector<std::pair<size_t, Argument>> defaults;
};

/// One launch, read.
struct Call {
  LaunchOptions options;
  bool hasStream = false;
  bool hasFusion = false;     // enable_fp_fusion was given
  bool hasReflectFtz = false; // enable_reflect_ftz was given
  BoundArguments arguments;
  StoredObjects kept; // what `arguments` point into
};

/// What a launch keeps while it runs is counted by LLVM's counters rather than by std::shared_ptr:
/// under the GIL they need no atomic operations, which took a fifth of a warm launch.
struct PyKernel::State : llvm::RefCountedBase<PyKernel::State> {
  std::string source, file, name, qualifiedName;
  int64_t firstLine = 1;
  Shared globals, cells;
  Shared parameters; // tuples (name, constexpr, variadic, annotation, const, default or the mark for none)
  bool noinline_ = false, anySize = false;
  bool wantsInterpreter = false; // it was made while TRITON_INTERPRET was on
  std::vector<std::string> doNotSpecialize, doNotSpecializeOnAlignment;

  /// A recently launched specialization.
  struct Warm : llvm::RefCountedBase<Warm> {
    Warm(SpecializationKey key, std::shared_ptr<const CompiledKernel> compiled, Shared object)
        : key(std::move(key)), compiled(std::move(compiled)), object(std::move(object)) {}
    SpecializationKey key;
    std::shared_ptr<const CompiledKernel> compiled;
    Shared object; // shared with `objects`
  };

  // Everything below follows from what is above, and is made when it is first needed.
  std::shared_ptr<const JitFunction> function;
  std::shared_ptr<Kernel> kernel;
  std::vector<UsedGlobal> used;
  std::unordered_map<const CompiledKernel *, Shared> objects; // what launches return
  std::unordered_map<std::string, std::pair<std::shared_ptr<InterpretedKernel>, Shared>> interpreted;
  std::vector<llvm::IntrusiveRefCntPtr<const CallShape>> shapes;
  size_t nextShape = 0;
  std::vector<llvm::IntrusiveRefCntPtr<const Warm>> warm;
  size_t nextWarm = 0;

  /// A state with the source and nothing made from it.
  llvm::IntrusiveRefCntPtr<State> fresh() const;
};

// ---- call.cpp

/// Reads a launch: arguments in the order of the parameters, and options. Raises for mistakes in it.
void readCall(PyKernel::State &state, const JitFunction &function, const PyArguments &arguments, Call &call);
/// The same, but arguments may be missing: a tuner chooses those.
void readKnownCall(const JitFunction &function, const PyArguments &arguments, Call &call);
/// Raises KeyError where a keyword of launches of the kernel is neither a parameter nor an option.
void checkKeyword(const JitFunction &function, llvm::StringRef name);
/// A stream as a number, or as an object of PyTorch (cuda_stream), CuPy (ptr) or Numba (handle); None changes nothing.
void setStream(Call &call, nb::handle value);
/// The arguments by name, defaults included, as grid functions take them.
nb::dict boundDict(PyKernel::State &state, const JitFunction &function, const PyArguments &arguments);
Grid readGrid(nb::handle grid);
Grid readExtents(PyObject *const *extents, size_t rank);

// ---- kernel.cpp

/// The Python object for a compiled kernel, which keeps the kernel that it was made from.
nb::object compiledObject(std::shared_ptr<PyCompiled> compiled, nb::handle kernel);
/// Remembers the constants that a compilation has read.
void storeUsed(PyKernel::State &state, std::vector<UsedGlobal> &fresh);
/// Runs on the interpreter; a null grid only compiles.
nb::object runInterpreted(nb::handle kernel, PyKernel::State &state, const Grid *grid, llvm::ArrayRef<Argument> arguments,
                          const LaunchOptions &options);

// ---- launch.cpp

/// Where the launch runs and, on a GPU, in which stream. False after an error.
bool place(const JitFunction &function, Call &call, Diagnostics &diagnostics);
/// The purpose of a launch: its result, or its code. A dry run compiles the version that this launch needs.
enum class Purpose { run, warmup, prepare, dryRun };
/// Compiles if needed and runs the grid, or only compiles. The compiled kernel; None where a hook of the host has said not to compile.
nb::object launchKernel(nb::handle kernel, nb::handle grid, const PyArguments &arguments, Purpose purpose);
/// What a launch would compile, without its code.
std::shared_ptr<PyCompiled> describeLaunch(nb::handle kernel, const PyArguments &arguments);
/// `kernel[grid]`: this makes the type of its result.
PyObject *subscriptKernel(PyObject *kernel, PyObject *grid);
/// What launches a compiled kernel as generated host code does; `watched` is called in its place where there are hooks.
PyObject *runnerOf(PyObject *compiled, PyObject *watched);
/// `tuned[grid]` of a kernel with a tuner.
PyObject *subscriptTuner(PyObject *tuner, PyObject *grid);

// ---- tuned_launch.cpp

/// Launches a kernel with a tuner: through Autotuner.run, or directly where the configuration is known.
nb::object launchTuned(nb::handle tuner, nb::handle grid, const PyArguments &arguments);

} // namespace tilewright::python
