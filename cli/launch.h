// A launch as the command line describes it: `run` and `tune` take the same words.
#pragma once

#include "cli/command.h"
#include "cli/on_device.h"
#include "cli/tensor.h"
#include "ir/explanation.h"
#include "tune/autotune.h"

namespace tilewright {

/// The description of one launch on the command line.
struct Setup {
  CommandLine line;
  FileKernel kernel;
  llvm::StringMap<Value> names; // for expressions
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::string> argumentNames;
  std::vector<Argument> values;
  LaunchOptions options;
  std::shared_ptr<OnDevice> gpu; // with --device: where the tensors of `values` are

  std::vector<NamedArgument> named() const;
  const Tensor *tensor(const std::string &name) const {
    for (const auto &[key, tensor] : tensors)
      if (key == name) return &tensor;
    return nullptr;
  }
};

/// --kernel, --grid, --arg, --threads, --seed, and codeOptions().
std::vector<OptionSpec> launchOptions();
/// --device, of the commands that run kernels.
OptionSpec deviceOption();
/// The text of --help on the VALUE of --arg and on the grid.
extern const char *const launchDetails;

/// Reads FILE and the options above. Null after an error; `status` says which.
std::optional<Setup> readSetup(CommandLine line, const char *command, int &status, Diagnostics &diagnostics);

/// Adds the functions that a grid can call without an import in the kernel file.
void addGridFunctions(llvm::StringMap<Value> &names);
/// The grid over all arguments, chosen ones included; an expression, or a lambda of the dict of arguments as Triton's hosts write it.
std::optional<Grid> evaluateGrid(const Setup &setup, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics);

/// True if the bytes after each tensor are unchanged. Otherwise reports the tensors that the kernel wrote past.
bool checkIntact(const Setup &setup);

/// "NAME=REST"
std::optional<std::pair<std::string, std::string>> splitPair(const std::string &text);
/// One line for a configuration: a star if it is the best, its time, its name.
std::string timingText(const std::string &config, const Measured &result, bool isBest);

} // namespace tilewright
