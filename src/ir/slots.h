// Which launch slot a kernel's argument takes, by its type in the IR.
#pragma once

#include "support/slots.h"

#include <optional>

namespace mlir {
class Type;
}

namespace tilewright {

/// Null for types that no launch can pass.
std::optional<SlotKind> slotKindOf(mlir::Type type);

} // namespace tilewright
