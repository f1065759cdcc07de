// Shared by the sub-commands: options, errors, exit statuses.
#pragma once

#include "evaluate/module.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

enum ExitStatus { success = 0, userError = 1, ourError = 2 };

/// One option: "--emit", "STAGE" (empty: a flag), help.
struct OptionSpec {
  const char *name, *value, *help;
};

struct CommandSpec {
  const char *name;
  const char *usage;   // after the name
  const char *summary; // one line
  const char *details; // printed by --help below the options; may be empty
  std::vector<OptionSpec> options;
};

/// An example command line (examples.def), and its description.
struct Example {
  const char *line, *meaning;
};
std::vector<Example> examplesOf(const std::string &command);

/// The words after a command's name, by kind.
class CommandLine {
public:
  std::vector<std::string> words; // that are no options
  bool has(const std::string &name) const { return values.count(name) != 0; }
  std::string get(const std::string &name, const std::string &otherwise) const;
  std::vector<std::string> all(const std::string &name) const;
  /// The option as a number; null, after an error, if it is not a number.
  std::optional<int64_t> integer(const std::string &name, int64_t otherwise) const;
  /// The same, within bounds.
  std::optional<int64_t> integer(const std::string &name, int64_t otherwise, int64_t min, int64_t max) const;
  std::optional<double> number(const std::string &name, double otherwise) const;

  std::map<std::string, std::vector<std::string>> values;
};

/// Null after --help (exit 0) or an error (exit 1); `status` says which. Of a command with --kernel, FILE:KERNEL is FILE --kernel KERNEL.
std::optional<CommandLine> readCommandLine(const CommandSpec &spec, int argc, char **argv, int &status);

/// "tilewright: error: text" on stderr; returns userError.
int fail(const std::string &text);
/// The same with "; did you mean 'NEAR'?" if one of `names` is similar to `given`.
int failUnknown(const std::string &text, const std::string &given, const std::vector<std::string> &names);
/// Prints warnings and errors on stderr. userError if there are errors, else `otherwise`.
int report(const Diagnostics &diagnostics, int otherwise);

/// True if FILE's name is that of IR text: .ttir or .mlir.
bool isIrFile(const std::string &path);

/// Loads FILE and finds --kernel (may be empty where the file has one kernel).
struct FileKernel {
  std::shared_ptr<Namespace> module;
  std::shared_ptr<const JitFunction> function;
  bool isNative = false;          // a kernel in C++
  std::vector<std::string> files; // that a file in C++ includes
};
/// Loads a kernel of a Python file, of a file in C++ or of a shared library with kernels in C++. Null after an error.
std::optional<FileKernel> loadKernel(const std::string &path, const std::string &name, Diagnostics &diagnostics);

/// Evaluates Python text over names; `what` names it in messages ("--grid").
std::optional<Value> evaluateText(const std::string &text, const std::string &what, Namespace &module, const llvm::StringMap<Value> &names,
                                  Diagnostics &diagnostics);

/// Options that change the generated code: --num-warps, --num-ctas, --num-stages, --debug, --no-fp-fusion, --numerics.
std::vector<OptionSpec> codeOptions();

/// A command: its name, its options, and the function that runs it.
struct Command {
  const char *name, *summary;
  const CommandSpec &(*spec)(); // null for the command whose options LLVM reads
  int (*run)(int argc, char **argv);
};
llvm::ArrayRef<Command> allCommands();

/// A setting of the environment (settings.def).
struct Setting {
  const char *name, *values, *meaning;
};
llvm::ArrayRef<Setting> allSettings();

const CommandSpec &compileSpec(), &buildSpec(), &runSpec(), &tuneSpec(), &infoSpec(), &cacheSpec(), &explainSpec(), &verifySpec(),
    &benchSpec(), &profileSpec(), &completionSpec(), &manSpec();
int compileMain(int argc, char **argv);
int buildMain(int argc, char **argv);
int runMain(int argc, char **argv);
int tuneMain(int argc, char **argv);
int infoMain(int argc, char **argv);
int printVersion();
int cacheMain(int argc, char **argv);
int explainMain(int argc, char **argv);
int verifyMain(int argc, char **argv);
int benchMain(int argc, char **argv);
int profileMain(int argc, char **argv);
int completionMain(int argc, char **argv);
int manMain(int argc, char **argv);

} // namespace tilewright
