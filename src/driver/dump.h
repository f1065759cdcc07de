// A folder with what each step of one compilation left, in order, without the steps that changed nothing:
//   00_source.py  01_emit-tiles.mlir  02_inline-calls.mlir ... 24_generate-ptx.ptx
// Any of the .mlir files is a whole input for the steps after it: tilewright compile DIR/15_assign-layouts.mlir --from select-tensor-cores
#pragma once

#include "driver/compile.h"

namespace tilewright {

class Dump {
public:
  /// Makes the folder and writes the source. Files of an earlier dump that are not written again stay.
  Dump(std::string folder, llvm::StringRef source, llvm::StringRef suffix);
  /// For CompileRequest::onStep.
  void see(const StepDone &done);
  /// Why a file could not be written; empty if all were.
  const std::string &problem() const { return failed; }

private:
  void write(llvm::StringRef name, llvm::StringRef suffix, llvm::StringRef bytes);

  std::string folder, before, failed;
  int64_t number = 0;
};

} // namespace tilewright
