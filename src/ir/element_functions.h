// The functions that reductions, scans and maps apply to elements. An engine may call one for padding, in any order, and in several
// threads.
#pragma once

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
}

namespace tilewright::tt {

/// Refuses functions of elements that access memory. A mapped function may load, but not by volatile loads.
llvm::LogicalResult checkElementFunctions(mlir::ModuleOp module);

} // namespace tilewright::tt
