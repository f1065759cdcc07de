// The kind of launch slot for a kernel argument, by its type in the IR.
#pragma once

#include "support/slots.h"

#include <optional>

namespace mlir {
class Type;
}

namespace tilewright {

/// Returns null for types that a launch cannot pass.
std::optional<SlotKind> slotKindOf(mlir::Type type);

} // namespace tilewright
