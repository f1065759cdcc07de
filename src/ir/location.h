// Source locations of operations, for messages.
#pragma once

#include "mlir/IR/Location.h"

namespace tilewright {

/// Returns the location in a file, or null if unknown. For an operation inlined from the language's library, returns the call in the user's
/// file.
mlir::FileLineColLoc locationOf(mlir::Location location);

/// True if the location is in the language's library, which is written in the language itself.
bool isInLibrary(mlir::FileLineColLoc fileLoc);

} // namespace tilewright
