// The target-neutral passes over the tt dialect, in pipeline order. Each is one file of the same name.
#pragma once

#include "support/launch_guards.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/LogicalResult.h"

#include <vector>

namespace mlir {
class ImplicitLocOpBuilder;
class ModuleOp;
class Operation;
class Type;
class Value;
} // namespace mlir

namespace tilewright {
namespace tt {
class DotScaledOp;
class FuncOp;
} // namespace tt

/// Inlines every tt.call into its caller and removes unused private functions. Branches between blocks become scf.if and scf.while: then
/// each body is one block, without any cf operation. Recursion is an error.
llvm::LogicalResult inlineCalls(mlir::ModuleOp module);

/// Unrolls loops with tt.loop_unroll_factor. A second loop handles the remainder.
///   before: scf.for %i = %low to %high step %step { BODY(%i) } {tt.loop_unroll_factor = 2}
///   after:  scf.for %i = %low to %middle step %steps { BODY(%i); BODY(%i + %step) } and the rest from %middle to %high
llvm::LogicalResult unrollLoops(mlir::ModuleOp module);

/// Rewrites block pointers (make_tensor_ptr, advance, boundary checks) and tensor descriptors into tiles of pointers with masks. Loops and
/// branches then carry base, shape, strides and offsets as scalars.
///   before: %v = tt.load %block {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<64x32xf16>>
///   after:  %v = tt.load %ptrs, %mask, %zero : tensor<64x32x!tt.ptr<f16>>
/// A kernel's descriptor argument becomes the pointer to its first element, followed by its sizes (i32) and strides (i64) as arguments.
llvm::LogicalResult expandBlockPointers(mlir::ModuleOp module);

/// Rewrites dots of operands in microscaling formats (tt.dot_scaled) into dots of the dequantized operands, in bf16 or fp16.
///   before: %d = tt.dot_scaled %a scale %s, %b, %c lhs = e4m3 rhs = bf16
///   after:  %d = tt.dot (%a as bf16) * (2^%s, each repeated 32 times), %b, %c
llvm::LogicalResult expandScaledDots(mlir::ModuleOp module);
/// A target's conversion of bytes of two e2m1 numbers each, along `dim`, to numbers of type `number`. `small`: times 2^-6, in f16.
using UnpackE2m1 =
    llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::Value bytes, int64_t dim, mlir::Type number, bool small)>;
/// How a target assumes something about the launches of a kernel.
struct Assumptions {
  /// Returns the guard under which the memory of two pointers does not overlap; null if this cannot be assumed.
  llvm::function_ref<std::optional<LaunchGuard>(mlir::Value, mlir::Value)> noAliasGuard;
  llvm::function_ref<void(tt::FuncOp, llvm::ArrayRef<LaunchGuard>)> relyOn;
};
/// The same for a target with its own conversion, except for dots that the target computes as they are (`isNative`). With `assumptions`, a
/// persistent loop may be repeated as a whole instead of its inner loop.
llvm::LogicalResult expandScaledDots(mlir::ModuleOp module, UnpackE2m1 unpackE2m1, const Assumptions &assumptions,
                                     llvm::function_ref<bool(tt::DotScaledOp)> isNative = nullptr);
/// Packs the operands of a scaled dot as MMAs read them: e2m1 numbers in pairs along K, and numbers of 6 bits `inUnits` of 16 bytes, each
/// with 16 numbers in the first 12 bytes.
void packScaledOperands(tt::DotScaledOp dot, bool inUnits);

/// Makes the sizes of all tiles powers of two, in functions that ask for tiles of any size (tt.any_size).
///   before: %x = tt.load %ptrs : tensor<96x!tt.ptr<f32>>
///   after:  %x = tt.load %ptrs, (index < 96), 0.0 : tensor<128x!tt.ptr<f32>>
llvm::LogicalResult padTiles(mlir::ModuleOp module);

/// Folds, canonicalizes, removes common subexpressions and dead code, and hoists loop invariants.
llvm::LogicalResult simplify(mlir::ModuleOp module);
/// The same. Returns true if a fixed point is reached.
bool simplifyAll(mlir::ModuleOp module);

/// Replaces comparisons of tiles that hold for all elements, whatever the launch: of ranges, constants and loops with constant bounds. A
/// following simplify() drops the masks.
///   before: for %i = 0 to 128 step 8 { %mask = (splat %i + range 8) < 128 ... }
///   after:  %mask = true
llvm::LogicalResult foldComparisons(mlir::ModuleOp module);

/// Replaces a tile that each iteration of a loop, or a branch, moves by equal amounts by its start plus one scalar. A tile whose elements
/// are all equal becomes a scalar, too.
///   before: iter_args(%p = %start) { ... yield (tt.addptr %p, splat %step) }
///   after:  iter_args(%d = 0) { %p = tt.addptr %start, splat %d ... yield (%d + %step) }
/// The scalar for pointers is always i64. The scalar for integer tiles has their element type. A following simplify() adds it to the base:
/// addptr (splat (addptr %base, %d)), %offsets.
llvm::LogicalResult scalarizeCarried(mlir::ModuleOp module);

/// True if an operation of another dialect keeps the position of each element along a dimension.
using KeepsPosition = llvm::function_ref<bool(mlir::Operation *, int64_t dim)>;
/// Replaces a modulo in the addresses of a dot's operand by a mask, if rows from the divisor on are never stored. Then addresses are
/// affine.
///   before: %r = (%x + range) % %m     %a = tt.load (%base + %r * %stride + ...)               tt.store %c, mask: %x + range < %m
///   after:  %r = %x + range            %a = tt.load (%base + %r * %stride + ...), mask: %r < %m, other: 0
/// Returns the guards that this relies on, none of which is in `failedGuards`. No launch has a larger grid than `limits`.
std::vector<LaunchGuard> moduloToMask(tt::FuncOp function, const llvm::StringSet<> &failedGuards, const GridLimits &limits,
                                      KeepsPosition keepsPosition);

} // namespace tilewright
