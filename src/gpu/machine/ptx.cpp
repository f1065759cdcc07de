// The generated half of the ptx dialect, alone in its file because it compiles slowly.
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

/// 16 blocks are the most that any processor supports, and only on request.
void tilewright::ptx::ClusterRankOp::inferResultRanges(llvm::ArrayRef<mlir::ConstantIntRanges>, mlir::SetIntRangeFn set) {
  set(getResult(), mlir::ConstantIntRanges::fromSigned(llvm::APInt(32, 0), llvm::APInt(32, 15)));
}

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
