// The context of tests that build tt and ttg IR, for a whole test program.
#pragma once

#include "gpu/ttg/ttg.h"
#include "ir/tt.h"

#include "mlir/IR/MLIRContext.h"

namespace tilewright {

/// Returns the context, which is never destroyed.
inline mlir::MLIRContext &testContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registry.insert<ttg::TTGDialect>();
    auto *created = new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

} // namespace tilewright
