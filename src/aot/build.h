// Kernels compiled ahead of time: for each launcher a bundle (aot_runtime/bundle.h), the objects of its CPU code, and the object with the
// launcher itself.
//
//   matmul.py, two signatures, cpu:avx2, cuda:sm_80
//     matmul_0_avx2.o, matmul_1_avx2.o     a function for each signature
//     matmul.o                             the bundle with both cubins, and `int matmul(const TwLaunchOptions *, const float *a, ...)`
#pragma once

#include "aot_runtime/bundle.h"
#include "driver/compile.h"

#include <functional>

namespace tilewright::aot {

/// A target, as --target takes it.
struct Target {
  std::string text;
  std::optional<CpuTarget> cpu;
  std::optional<GpuTarget> gpu;
  bool isNative = false; // code for CPUs like this one
};
/// Reads "cpu:avx2,cuda:sm_90a". All targets that are CPUs have one instruction set. Fails with the reason.
Result<std::vector<Target>> readTargets(const std::string &text);
/// The instruction set of the programs that link code for these targets: that of the CPUs among them, or of this process.
Isa isaOf(llvm::ArrayRef<Target> targets);

/// A parameter whose value its heuristic gives (@triton.heuristics, or the rule of a tuned kernel in C++).
struct RuledParameter {
  size_t parameter = 0;
  GridProgram program; // of the kernel's parameters; empty: the heuristic depends on constants alone
  int64_t result = 0;  // for which the specialization is compiled
};

/// Types and constants of all parameters, and the options of the code.
struct Specialization {
  std::vector<ArgumentSpec> args;
  KernelOptions options;
  std::vector<RuledParameter> ruled;
  std::vector<std::vector<int64_t>> problems; // of a tuned configuration: the values of the kernel's key for which it won
  std::vector<std::string> targets;           // texts of those that it is for; empty: all
};
/// Reads a signature: one specialization for each result of the heuristics that depend on arguments. Null after an error: a heuristic
/// cannot be computed without a compiler, for example.
std::optional<std::vector<Specialization>> readSpecializations(const JitFunction &kernel, const std::string &signature,
                                                               const KernelOptions &options, Diagnostics &diagnostics);
/// Returns the constants that the configurations of @triton.autotune give, each once.
std::vector<std::string> namesOfConfigs(const JitFunction &kernel);
/// Returns the parameters that a signature leaves to the configurations of @triton.autotune. Empty after an error.
std::vector<std::string> openParameters(const JitFunction &kernel, const std::string &signature);
/// Returns the heuristics whose results a signature gives.
std::vector<std::string> givenHeuristics(const JitFunction &kernel, const std::string &signature);

struct BuildRequest {
  KernelSource kernel;
  std::string name; // of the launcher in C
  std::vector<Specialization> specializations;
  std::vector<Target> targets;
  std::string grid;             // an expression or a lambda; empty: the caller of the launcher gives the grid
  std::vector<std::string> key; // parameters that choose among tuned specializations
  bool ffi = false;             // with an entry for TVM-FFI
  bool isShared = false;        // for a shared library, and not an archive
};

struct ObjectFile {
  std::string name, bytes;
};

/// A launcher: a function in C for one list of parameter types.
struct Launcher {
  std::string name;
  Bundle bundle;
};

struct BuiltArtifact {
  std::string name; // of the request
  Isa isa = hostIsa;
  std::vector<Launcher> launchers;
  std::vector<ObjectFile> objects;
  std::vector<std::string> exports; // the symbols of launchers, bundles and FFI entries
};

/// Null after an error.
std::optional<BuiltArtifact> build(const BuildRequest &request, Diagnostics &diagnostics);

/// Converts a grid for the constants of a specialization. `indexOf`: the launcher's parameter with a name, or -1. Null after an error.
std::optional<std::array<GridProgram, 3>> gridProgram(const std::string &text, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args,
                                                      const std::function<int64_t(llvm::StringRef)> &indexOf, Diagnostics &diagnostics);

/// Converts a heuristic to a program with the result 1 or 0. Null after an error.
std::optional<GridProgram> heuristicProgram(const Value &rule, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args,
                                            const std::function<int64_t(llvm::StringRef)> &indexOf, Diagnostics &diagnostics);
/// The arguments as a heuristic reads them: constants, and host values for those of a launch. Heuristics that are not applied yet have
/// none.
Value argumentsOfHeuristic(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args);

/// The type of a parameter in C: "const float *", "int32_t".
std::string cTypeOf(const Parameter &parameter);
/// The header of an artifact for C and C++.
std::string headerText(const BuiltArtifact &artifact, const std::string &fileName, bool ffi);
/// The object with a launcher and its bundle. Fails with LLVM's reason.
Result<std::string> launcherObject(const Launcher &launcher, llvm::ArrayRef<std::string> entries, const BuildRequest &request, Isa isa);
/// Hides the symbols of an object: what links it sees them, and no other library of the process. Fails with LLVM's reason.
Result<void> hideSymbols(std::string &object);

/// A static library.
Result<std::string> archiveOf(const std::vector<ObjectFile> &objects);
/// A shared library, linked by LLD in this process, that needs the runtime library.
Result<std::string> sharedLibraryOf(const BuiltArtifact &artifact, const std::string &soname);

} // namespace tilewright::aot
