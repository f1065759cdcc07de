// AST -> tt IR: types, constexprs, builtins, control flow.
//
// emit.h has the walk over a kernel: emit.cpp functions and their calls; emit_statements.cpp branches; emit_loops.cpp and emit_carried.cpp
// loops and what they carry; emit_expressions.cpp expressions; emit_builtins.cpp how calls of builtins are bound. Each builtin of
// builtins.def has its emitter in one of the builtin_*.cpp. semantics.h has the language's operators: promotion.cpp their types, casts.cpp
// conversions, semantics.cpp shapes and the reporting of errors. signature.cpp reads what a kernel is compiled for.
// An expression of compile-time values is computed at once, by the functions of evaluate/module.h, and leaves no code.
#pragma once

#include "evaluate/value.h"
#include "support/options.h"

#include "mlir/IR/OwningOpRef.h"

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// What one kernel parameter is compiled for.
struct ArgumentSpec {
  std::optional<Value> constant;     // constexpr parameters; integers equal to 1; None
  Type type;                         // of the run-time value, where there is no constant
  int64_t divisibility = 1;          // 16: value (or address) is a multiple of 16
  std::vector<ArgumentSpec> members; // a tuple's or *args', in order; constant and type are then unset (a tuple of constants is a constant)
  std::vector<std::string> fieldNames; // of a namedtuple's members
};

/// Reads "x_ptr=*fp32:16, n=i32, BLOCK_SIZE=1024, ACT='relu', BIAS=None" or, without names, "*fp32, *fp32, i32, 1024" in parameter order.
/// Parameters that are missing take their defaults. Nothing after an error.
std::optional<std::vector<ArgumentSpec>> parseSignature(llvm::StringRef text, const JitFunction &kernel, Diagnostics &diagnostics);

/// What the values are called that a launch passes for one parameter, in the order of their slots: "x_ptr=*fp32"; "d=...", "d.shape[0]=",
/// ... of a descriptor. None for a constant.
std::vector<std::string> slotNames(const std::string &parameter, const ArgumentSpec &spec);

/// A module with the public tt.func `kernel.name` and the functions that it calls. The tt.func's arguments are the parameters without a
/// constant, in order (a tuple's members one by one; tensor descriptors as base, shape..., strides...), with tt.divisibility where
/// promised. Null after an error. The context needs tt::registerDialects.
mlir::OwningOpRef<mlir::ModuleOp> emitTiles(mlir::MLIRContext &context, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args,
                                            const KernelOptions &options, Diagnostics &diagnostics);

} // namespace tilewright
