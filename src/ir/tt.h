// The C++ interface of the tt dialect. tt.td defines the operations.
#pragma once

#include "ir/tt_attributes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::tt {
/// The maximum size of a tile, in elements (upstream's limit).
constexpr int64_t maxTileElements = 1048576;

/// The maximum number of elements of each operand for one piece of inline assembly, far above what kernels use.
constexpr int64_t maxPackedElements = 128;

bool isPointerOrTileOfPointers(mlir::Type type);
bool isBlockPointer(mlir::Type type);
/// Returns the type of a load through a (tile of) pointer(s) or a block pointer.
mlir::Type pointeeTile(mlir::Type type);
/// Returns `type` with the element type `element`. A tile keeps its shape.
mlir::Type withElement(mlir::Type type, mlir::Type element);
/// Returns the mask type of an access through `type`: i1 in the shape of a load.
mlir::Type maskOf(mlir::Type type);
/// Returns the pointer to the element of a block pointer's tile.
mlir::Type elementPointer(mlir::Type blockPointer);
/// Verifies the size of every tile of the operation. Reports errors on `op`.
llvm::LogicalResult verifyTileSizes(mlir::Operation *op);
template <typename ConcreteOp> struct TileSizes : public mlir::OpTrait::TraitBase<ConcreteOp, TileSizes> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyTileSizes(op); }
};
/// Registers all dialects that a module may contain before lowering: tt, arith, math, scf, cf, ub, and gpu and llvm for single operations.
void registerDialects(mlir::DialectRegistry &registry);
} // namespace tilewright::tt

#include "ir/tt_dialect.h.inc"
#include "ir/tt_enums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tt_types.h.inc"
#define GET_OP_CLASSES
#include "ir/tt_ops.h.inc"
