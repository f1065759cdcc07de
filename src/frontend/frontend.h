// AST -> tt IR: types, constexprs, builtins, control flow.
//
// emit.h declares the emitter of a kernel:
//   emit.cpp                            functions and their calls
//   emit_statements.cpp                 statements and branches
//   emit_loops.cpp, emit_carried.cpp    loops and loop-carried values
//   emit_expressions.cpp                expressions
//   emit_builtins.cpp                   binding of builtins' arguments; builtin_*.cpp have the emitter of each row of builtins.def
// semantics.h declares the language's operators: types (promotion.cpp), conversions (casts.cpp), shapes and errors (semantics.cpp).
// signature.cpp reads the signature that a kernel is compiled for. Expressions of compile-time values are evaluated by evaluate/module.h
// and emit no code.
#pragma once

#include "evaluate/value.h"
#include "support/options.h"

#include "mlir/IR/OwningOpRef.h"

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// The type or constant for which one kernel parameter is compiled.
struct ArgumentSpec {
  std::optional<Value> constant;     // constexpr parameters; integers equal to 1; None
  Type type;                         // of the run-time value, if there is no constant
  int64_t divisibility = 1;          // 16: value (or address) is a multiple of 16
  std::vector<ArgumentSpec> members; // a tuple's or *args', in order; constant and type are then unset (a tuple of constants is a constant)
  std::vector<std::string> fieldNames; // of a namedtuple's members
};

/// Reads "x_ptr=*fp32:16, n=i32, BLOCK_SIZE=1024, ACT='relu', BIAS=None" or, without names, "*fp32, *fp32, i32, 1024" in parameter order.
/// Parameters that are missing take their defaults. Nothing after an error.
std::optional<std::vector<ArgumentSpec>> parseSignature(llvm::StringRef text, const JitFunction &kernel, Diagnostics &diagnostics);

/// Returns the names of the values that a launch passes for one parameter, in argument order: "x_ptr=*fp32"; for a descriptor "d=...",
/// "d.shape[0]=", ... Empty for a constant.
std::vector<std::string> slotNames(const std::string &parameter, const ArgumentSpec &spec);

/// Returns a module with the public tt.func `kernel.name` and the functions that it calls, or null after an error. The arguments of the
/// tt.func are the parameters without a constant, in order. A tuple passes its members one by one, a tensor descriptor its base, shape and
/// strides. Arguments have tt.divisibility from the signature. The context needs tt::registerDialects.
mlir::OwningOpRef<mlir::ModuleOp> emitTiles(mlir::MLIRContext &context, const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> args,
                                            const KernelOptions &options, Diagnostics &diagnostics);

} // namespace tilewright
