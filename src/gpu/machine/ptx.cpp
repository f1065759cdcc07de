// The generated part of the ptx dialect, in a separate file because it compiles slowly.
#include "gpu/machine/ptx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

#include "gpu/machine/ptx_dialect.cpp.inc"
#include "gpu/machine/ptx_enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gpu/machine/ptx_attrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "gpu/machine/ptx_types.cpp.inc"
#define GET_OP_CLASSES
#include "gpu/machine/ptx_ops.cpp.inc"

void tilewright::ptx::LoadGlobalOp::getEffects(
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &effects) {
  effects.emplace_back(mlir::MemoryEffects::Read::get());
  if (getIsVolatile() || getCache() == Cache::cv) effects.emplace_back(mlir::MemoryEffects::Write::get());
}

void tilewright::ptx::PtxDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gpu/machine/ptx_attrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "gpu/machine/ptx_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gpu/machine/ptx_ops.cpp.inc"
      >();
}
