// The generated code of the tt dialect, in a separate file because it compiles slowly. tt.cpp has the rest.
#include "ir/tt.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"

#include "llvm/ADT/TypeSwitch.h"

#include "ir/tt_dialect.cpp.inc"
#include "ir/tt_enums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tt_types.cpp.inc"
#define GET_OP_CLASSES
#include "ir/tt_ops.cpp.inc"

void tilewright::tt::TTDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/tt_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/tt_ops.cpp.inc"
      >();
}
