// A compiled specialization for Python: the result of a launch.
#pragma once

#include "core.h"

namespace tilewright::python {

struct PyArguments;

struct PyCompiled {
  std::shared_ptr<const CompiledKernel> compiled; // null: for the interpreter or the simulator
  std::shared_ptr<const JitFunction> function;    // of IR text: its name and parameters alone
  std::vector<ArgumentSpec> specs;
  KernelOptions options;
  std::optional<GpuTarget> simulated;   // compiled for the simulator of this GPU
  std::optional<GpuTarget> gpu;         // to be compiled for this GPU
  std::shared_ptr<const IrKernel> text; // the IR text that it was compiled from, or that came with it from another process
  std::string savedKey;                 // of a kernel that came from another process

  CompileRequest request() const;
  /// Identifies the code, equally in all processes. Empty for text without a name.
  std::string key() const;
  bool isRestored() const { return !savedKey.empty(); }
  /// `stream`: of a GPU; None: the current one.
  void launch(const Grid &grid, const PyArguments &arguments, nb::handle stream) const;

private:
  mutable llvm::IntrusiveRefCntPtr<PyKernel::State> calls; // what launches have learned about the form of calls
};

/// What the launch option ir_override names: the text of a .ttir or .ptx file. Raises where there is none.
std::string overridingText(nb::handle path);
/// A setting of knobs: the value that it was given, or what the environment says; empty for neither.
/// A compilation reads it without running Python, because its thread may end wherever Python runs.
std::string settingOf(const char *group, const char *name, const char *variable);
/// What a compilation takes from the settings of knobs.language, unless the launch says otherwise.
void readSettings(KernelOptions &options);
/// The GPU that the option `arch` names: "sm80", "sm90a", or as --target has them. Raises for other words.
GpuTarget gpuOfArch(const std::string &arch);

void defineCompiled(nb::module_ &module);

} // namespace tilewright::python
