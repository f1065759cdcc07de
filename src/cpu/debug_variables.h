// The kernel's variables, for debuggers (codegen/debug_info.h): scalars where their values are, tiles where they lie in scratch memory.
//
//     (gdb) print pid            $1 = 3
//     (gdb) print weights        $2 = {{0.5, 0.25, ...
//     (gdb) print mask           $3 = <optimized out>        a tile that is computed on demand is nowhere as a whole
//
// A variable has its place from the operation on that defines it; LLVM follows it from there. This makes no instructions.
#pragma once

#include "cpu/context.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tilewright::cpu {

/// Gives the function of a program a scope for the variables of `source`, the kernel. Without it the functions below do nothing.
void declareVariables(Context &ctx, mlir::LLVM::LLVMFuncOp program, tt::FuncOp source);

/// Whether it has one.
bool namesVariables(Context &ctx);

/// Where the results of an operation that has been lowered are, by the names of their variables.
void noteVariables(Context &ctx, mlir::Operation *op);
/// The same for the arguments of the block that code is being emitted for.
void noteArguments(Context &ctx, mlir::Block &block);

} // namespace tilewright::cpu
