// The target-neutral passes over the tt dialect, in the order of a kernel's flow. Each is one file of the same name.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ImplicitLocOpBuilder;
class ModuleOp;
class Type;
class Value;
} // namespace mlir

namespace tilewright {

/// Inlines every tt.call into its caller and removes functions that nobody needs any more; kernels (public functions) stay. Branches
/// between blocks become scf.if and scf.while: afterwards each body is one block, without any cf operation. Recursion is an error.
llvm::LogicalResult inlineCalls(mlir::ModuleOp module);

/// Repeats the bodies of loops whose author asks for it (tt.loop_unroll_factor); a loop for the iterations that are left over follows.
///   before: scf.for %i = %low to %high step %step { BODY(%i) } {tt.loop_unroll_factor = 2}
///   after:  scf.for %i = %low to %middle step %steps { BODY(%i); BODY(%i + %step) } and the rest from %middle to %high
llvm::LogicalResult unrollLoops(mlir::ModuleOp module);

/// Rewrites block pointers (make_tensor_ptr, advance, boundary checks) and tensor descriptors into tiles of pointers with masks, also when
/// they are carried by loops and branches: each becomes its base, shape, strides and offsets as scalars.
///   before: %v = tt.load %block {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<64x32xf16>>
///   after:  %v = tt.load %ptrs, %mask, %zero : tensor<64x32x!tt.ptr<f16>>
/// A kernel's descriptor argument becomes the pointer to its first element, followed by its sizes (i32) and strides (i64) as arguments.
llvm::LogicalResult expandBlockPointers(mlir::ModuleOp module);

/// Rewrites products of operands in microscaling formats (tt.dot_scaled) into products of the numbers that they stand for, in bf16 or fp16.
///   before: %d = tt.dot_scaled %a scale %s, %b, %c lhs = e4m3 rhs = bf16
///   after:  %d = tt.dot (%a as bf16) * (2^%s, each repeated 32 times), %b, %c
llvm::LogicalResult expandScaledDots(mlir::ModuleOp module);
/// How a machine makes numbers of type `number` from bytes that hold two e2m1 numbers each, along `dim`; `small`: times 2^-6, in f16.
using UnpackE2m1 =
    llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::Value bytes, int64_t dim, mlir::Type number, bool small)>;
/// Whether what two pointers of a kernel point to lies apart, on which the kernel relies from then on.
using AssumeNoAlias = llvm::function_ref<bool(mlir::Value, mlir::Value)>;
/// The same for a machine that has a way of its own, and, with `areApart`, would rather repeat a loop over tiles than a tile's loop in it.
llvm::LogicalResult expandScaledDots(mlir::ModuleOp module, UnpackE2m1 unpackE2m1, AssumeNoAlias assumeNoAlias);

/// Makes the sizes of all tiles powers of two, in functions that ask for tiles of any size (tt.any_size).
///   before: %x = tt.load %ptrs : tensor<96x!tt.ptr<f32>>
///   after:  %x = tt.load %ptrs, (index < 96), 0.0 : tensor<128x!tt.ptr<f32>>
llvm::LogicalResult padTiles(mlir::ModuleOp module);

/// Folds, canonicalises, removes common subexpressions and dead code, and hoists what does not change out of loops.
llvm::LogicalResult simplify(mlir::ModuleOp module);
/// The same. Says whether it would find nothing to do in what it has left.
bool simplifyAll(mlir::ModuleOp module);

/// Turns a loop-carried tile that only moves by a uniform amount in each iteration into its start plus one carried scalar.
///   before: iter_args(%p = %start) { ... yield (tt.addptr %p, splat %step) }
///   after:  iter_args(%d = 0) { %p = tt.addptr %start, splat %d ... yield (%d + %step) }
/// The scalar of pointers is i64 whatever the type of the steps; that of integer tiles has their type. A following simplify() brings it to
/// the base: addptr (splat (addptr %base, %d)), %offsets.
llvm::LogicalResult scalarizeCarried(mlir::ModuleOp module);

} // namespace tilewright
