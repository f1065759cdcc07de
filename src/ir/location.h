// Where operations come from, for messages.
#pragma once

#include "mlir/IR/Location.h"

namespace tilewright {

/// The place in a file; null where none is known. For an operation that was inlined from the language's own library: the call in the user's
/// file that led there.
mlir::FileLineColLoc locationOf(mlir::Location location);

/// Whether the place lies in the language's own library, which is written in the language as well.
bool isInLibrary(mlir::FileLineColLoc place);

} // namespace tilewright
