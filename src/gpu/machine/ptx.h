// C++ declarations of the ptx dialect. The operations are defined in ptx.td.
#pragma once

#include "gpu/machine/ptx_attributes.h"
#include "support/gpu_hardware.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::ptx {
/// The threads of a warp (or more) execute the operation together.
template <typename ConcreteOp> struct Together : public mlir::OpTrait::TraitBase<ConcreteOp, Together> {};
} // namespace tilewright::ptx

#include "gpu/machine/ptx_dialect.h.inc"
#include "gpu/machine/ptx_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "gpu/machine/ptx_attrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "gpu/machine/ptx_types.h.inc"
#define GET_OP_CLASSES
#include "gpu/machine/ptx_ops.h.inc"
