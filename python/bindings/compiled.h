// A compiled specialisation as Python holds it: what a launch returns.
#pragma once

#include "core.h"

namespace tilewright::python {

struct PyCompiled {
  std::shared_ptr<const CompiledKernel> compiled; // null: for the interpreter or the simulator
  std::shared_ptr<const JitFunction> function;    // of IR text: its name and parameters alone
  std::vector<ArgumentSpec> specs;
  KernelOptions options;
  std::optional<GpuTarget> simulated;   // compiled for the simulator of this GPU
  std::shared_ptr<const IrKernel> text; // the IR text it was compiled from, if it was

  CompileRequest request() const;
  /// `stream`: of a GPU; None: the current one.
  void launch(nb::handle grid, nb::handle args, nb::handle stream) const;
};

void defineCompiled(nb::module_ &module);

} // namespace tilewright::python
