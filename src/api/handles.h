// The contents of the C interface's handles, for the files that implement it.
#pragma once

#ifndef TILEWRIGHT_BUILDING
#define TILEWRIGHT_BUILDING
#endif
#include "tilewright/c.h"

#include "api/error.h"
#include "tune/autotune.h"

#include <optional>
#include <string>

struct TwModule {
  std::shared_ptr<tilewright::Namespace> scope;     // of Python's syntax
  std::shared_ptr<const tilewright::IrKernel> text; // of IR text
  std::vector<std::string> kernels;
  std::optional<tilewright::WorkLimits> limits = {}; // null: the text is trusted
  tilewright::Heuristics rules = {};                 // functions of the caller that give constexpr parameters their values
};

/// The integer arguments that a grid function or a rule of the caller may read.
struct TwMeta {
  const tilewright::JitFunction *kernel;
  llvm::ArrayRef<tilewright::Argument> arguments;
  mutable std::string missing;              // the first name without an argument that the function asked for
  const tilewright::Dict *values = nullptr; // for a rule: the arguments, instead of `arguments`
};

namespace tilewright::api {

/// A TwParameter and its texts.
struct KernelParameter {
  TwParameter raw{};
  std::optional<std::string> defaultText, annotation;
};
void describeParameters(const JitFunction &kernel, std::vector<KernelParameter> &parameters);

} // namespace tilewright::api

struct TwKernel {
  tilewright::TunedKernel tuned;
  std::shared_ptr<const tilewright::IrKernel> text;   // null for functions
  std::optional<const tilewright::WorkLimits> limits; // of its text; null for text that is trusted
  std::vector<tilewright::api::KernelParameter> parameters;
  TwKernel(std::shared_ptr<const tilewright::JitFunction> function, const std::optional<tilewright::WorkLimits> &limits)
      : tuned(std::move(function)), limits(limits) {
    describeParameters(tuned.function(), parameters);
  }
  explicit TwKernel(std::shared_ptr<const tilewright::IrKernel> text) : tuned(text), text(text) {
    describeParameters(tuned.function(), parameters);
  }
};

namespace tilewright::api {

/// Returns a module of the scope's kernels. If there is no scope, `diagnostics` says why.
TwModule *makeModule(std::shared_ptr<Namespace> scope, const Diagnostics &diagnostics, TwError **error);
/// The error code of a message, and of the first error among messages.
TwErrorCode codeOf(Diag id);
TwErrorCode codeOf(const Diagnostics &diagnostics);
void setError(TwError **error, const Diagnostics &diagnostics);
/// Passes the warnings of a successful call to the function of twOnWarning.
void reportWarnings(const Diagnostics &diagnostics);
/// The error of a call with a null handle.
inline constexpr const char *noKernel = "there is no kernel: its handle is null or was moved from, or finding it has failed\n";

inline bool isType(TwType type) {
  return type >= TW_I1 && type <= TW_F8E4;
}
Scalar scalarOf(TwType type);

/// The arguments of a launch in the runtime's types. Invalid ones are errors.
struct Arguments {
  llvm::SmallVector<Argument, 24> positional;
  llvm::SmallVector<NamedArgument, 16> named;
  Arguments(const TwArgument *arguments, size_t count, Diagnostics &diagnostics);
};

/// The grid of a launch: constant, or from a function.
class GivenGrid {
public:
  GivenGrid(const TwKernel &kernel, const TwGrid *grid, TwGridFunction function, void *context)
      : kernel(kernel), grid(grid), function(function), context(context) {}
  std::optional<Grid> operator()(llvm::ArrayRef<Argument> bound, Diagnostics &problems) const;
  /// True if the grid function failed or threw an exception.
  bool callbackFailed() const { return hasFailed; }

private:
  bool askFunction(llvm::ArrayRef<Argument> bound, TwGrid &raw, Diagnostics &problems) const;
  const TwKernel &kernel;
  const TwGrid *grid;
  TwGridFunction function;
  void *context;
  mutable bool hasFailed = false;
};

class Call;
/// Does what twPrepare does. `extents` may be null. Returns 1, or 0 after an error.
int prepareKernel(TwKernel &kernel, const GivenGrid *extents, const Arguments &given, const Call &call, TwError **error);

/// Returns the compilation of these arguments for the CPU, or nothing after an error.
std::optional<CompileRequest> requestOf(const TwKernel &kernel, llvm::ArrayRef<Argument> bound, const LaunchOptions &options,
                                        Diagnostics &diagnostics);

/// Returns the name of the launch's first pointer of unknown size, or nothing.
std::optional<std::string> pointerOfUnknownExtent(const JitFunction &kernel, llvm::ArrayRef<Argument> bound);

} // namespace tilewright::api
