// The kernel's own assembly (tl.inline_asm_elementwise), checked before LLVM sees it. LLVM takes its text and constraints from compilers:
// an operand that does not exist, a constraint without a register or a directive such as .rept end the process, or never end.
#pragma once

#include "ir/tt.h"

namespace tilewright {

enum class AssemblyKind { x86, ptx };

/// Reports on `op` what LLVM or its assembler could not take. `outputs` and `inputs` are the types of the registers, in the constraints'
/// order.
llvm::LogicalResult checkAssembly(tt::ElementwiseInlineAsmOp op, AssemblyKind kind, llvm::ArrayRef<mlir::Type> outputs,
                                  llvm::ArrayRef<mlir::Type> inputs);

/// The operands that constraints name, without the "=" of outputs; clobbers are left out.
struct AssemblyOperands {
  llvm::SmallVector<llvm::StringRef> outputs, inputs;
};
AssemblyOperands assemblyOperands(llvm::StringRef constraints);

} // namespace tilewright
