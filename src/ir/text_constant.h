// String constants of a module.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir {
class ModuleOp;
class OpBuilder;
namespace LLVM {
class GlobalOp;
}
} // namespace mlir

namespace tilewright {

/// Returns the constant with `text` and a zero byte, in this address space. Equal texts share one constant.
mlir::LLVM::GlobalOp textConstant(mlir::OpBuilder &b, mlir::ModuleOp module, llvm::StringRef text, unsigned addressSpace);

} // namespace tilewright
