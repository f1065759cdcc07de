// Writes the output of each step of a compilation to a folder, in order; steps that changed nothing are omitted:
//   00_source.py  01_emit-tiles.mlir  02_inline-calls.mlir ... 24_generate-ptx.ptx
// Each .mlir file is a complete input for the following steps: tilewright compile DIR/15_assign-layouts.mlir --from select-tensor-cores
#pragma once

#include "driver/compile.h"

namespace tilewright {

class Dump {
public:
  /// Creates the folder and writes the source. Files of an earlier dump that are not overwritten remain.
  Dump(std::string folder, llvm::StringRef source, llvm::StringRef suffix);
  /// For CompileRequest::onStep.
  void see(const StepDone &done);
  /// The error of a file that could not be written; empty if there was none.
  const std::string &problem() const { return failed; }

private:
  void write(llvm::StringRef name, llvm::StringRef suffix, llvm::StringRef bytes);

  std::string folder, before, failed;
  int64_t number = 0;
};

} // namespace tilewright
