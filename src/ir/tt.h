// The tt dialect's C++ face. The operations themselves are in tt.td.
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
/// The largest tile, in elements (upstream's limit).
constexpr int64_t maxTileElements = 1048576;

/// Most elements that one piece of inline assembly takes of each operand: four words of 32 bits for each of 8 bytes, far above what
/// kernels use.
constexpr int64_t maxPackedElements = 128;

bool isPointerOrTileOfPointers(mlir::Type type);
bool isBlockPointer(mlir::Type type);
/// What a (tile of) pointer(s) or a block pointer points to, in the shape that a load through it has.
mlir::Type pointeeTile(mlir::Type type);
/// `type` with the element type `element`: a tile keeps its shape.
mlir::Type withElement(mlir::Type type, mlir::Type element);
/// The mask type of an access through `type`: i1 in the shape that a load has.
mlir::Type maskOf(mlir::Type type);
/// For a block pointer, the pointer to its tile's element.
mlir::Type elementPointer(mlir::Type blockPointer);
/// Whether every tile of the operation has a size that the language allows; errors are reported on `op`.
llvm::LogicalResult verifyTileSizes(mlir::Operation *op);
template <typename ConcreteOp> struct TileSizes : public mlir::OpTrait::TraitBase<ConcreteOp, TileSizes> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyTileSizes(op); }
};
/// All dialects a module of ours may hold before lowering: tt, arith, math, scf, cf, ub.
void registerDialects(mlir::DialectRegistry &registry);
} // namespace tilewright::tt

#include "ir/tt_dialect.h.inc"
#include "ir/tt_enums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tt_types.h.inc"
#define GET_OP_CLASSES
#include "ir/tt_ops.h.inc"
