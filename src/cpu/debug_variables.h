// Describes the kernel's variables to debuggers (codegen/debug_info.h): scalars by their values, tiles by their address in scratch memory.
//
//     (gdb) print pid            $1 = 3
//     (gdb) print weights        $2 = {{0.5, 0.25, ...
//     (gdb) print mask           $3 = <optimized out>        a tile that is computed on demand is never complete in memory
//
// A variable is available from its defining operation on; LLVM tracks it from there. This adds no instructions.
#pragma once

#include "cpu/context.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tilewright::cpu {

/// Gives the function of a program a debug scope for the variables of `source`, the kernel. Without this call the functions below do
/// nothing.
void declareVariables(Context &ctx, mlir::LLVM::LLVMFuncOp program, tt::FuncOp source);

/// True if the program has such a scope.
bool namesVariables(Context &ctx);

/// Records where the results of a lowered operation are, by the names of their variables.
void noteVariables(Context &ctx, mlir::Operation *op);
/// The same for the arguments of the block that is being emitted.
void noteArguments(Context &ctx, mlir::Block &block);

} // namespace tilewright::cpu
