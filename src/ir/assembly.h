// Checks the kernel's inline assembly (tl.inline_asm_elementwise) before LLVM reads it. LLVM trusts text and constraints: a missing
// operand, a constraint without a register or a directive such as .rept can crash or hang the process.
#pragma once

#include "ir/tt.h"

namespace tilewright {

enum class AssemblyKind { x86, aarch64, ptx };

/// Reports an error on `op` for assembly that LLVM or its assembler cannot handle. `outputs` and `inputs` are the types of the registers,
/// in the order of the constraints.
llvm::LogicalResult checkAssembly(tt::ElementwiseInlineAsmOp op, AssemblyKind kind, llvm::ArrayRef<mlir::Type> outputs,
                                  llvm::ArrayRef<mlir::Type> inputs);

/// The operands of the constraints, without the "=" of outputs and without clobbers.
struct AssemblyOperands {
  llvm::SmallVector<llvm::StringRef> outputs, inputs;
};
AssemblyOperands assemblyOperands(llvm::StringRef constraints);

} // namespace tilewright
