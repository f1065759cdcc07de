// How a pass says no. There are two ways, which never meet:
//
//   refuse(op, Diag::descriptorReduceType, {"min", "f64"})     the kernel asks for what is not there: a row of diagnostics.def, at its line
//   bug(op, "a load without a layout")                         the compiler has broken its own rules: told as our bug, with step and op
//
// Both go through MLIR's diagnostics, so that passes remain plain functions on a module, and the pass driver shows the
// messages as well. The row and its arguments travel with the text as metadata of the diagnostic; nobody parses the text.
#pragma once

#include "support/diagnostics.h"

#include "mlir/IR/Diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir {
class Attribute;
class Operation;
class Type;
} // namespace mlir

namespace tilewright {

/// Refuses the kernel at this place. The result converts to failure() and takes notes (attachNote).
mlir::InFlightDiagnostic refuse(mlir::Location at, Diag id, const std::vector<std::string> &args);
mlir::InFlightDiagnostic refuse(mlir::Operation *op, Diag id, const std::vector<std::string> &args);

/// Reports something impossible in a correct compiler. `what` is a clause about the operation: "its tile has no layout".
mlir::InFlightDiagnostic bug(mlir::Operation *op, const std::string &what);

/// What refuse() or bug() said; null for diagnostics of MLIR and its dialects.
struct Refusal {
  Diag id;
  std::vector<std::string> args; // of a bug: what, and the operation's name
};
std::optional<Refusal> refusalOf(mlir::Diagnostic &diagnostic);

/// A type or attribute as the IR spells it, for arguments of messages.
std::string spelled(mlir::Type type);
std::string spelled(mlir::Attribute attribute);

} // namespace tilewright
