// How a pass reports an error. There are two ways:
//
//   refuse(op, Diag::descriptorReduceType, {"min", "f64"})    the kernel uses an unsupported feature: a row of diagnostics.def, at its line
//   bug(op, "a load without a layout")                        the compiler violates an invariant: a bug, with pass and operation
//
// Both use MLIR's diagnostics, so that passes remain plain functions on a module. The row and its arguments are metadata of the diagnostic.
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

/// Reports an error of the kernel at this location. The result converts to failure() and accepts notes (attachNote).
mlir::InFlightDiagnostic refuse(mlir::Location at, Diag id, const std::vector<std::string> &args);
mlir::InFlightDiagnostic refuse(mlir::Operation *op, Diag id, const std::vector<std::string> &args);

/// Reports a bug of the compiler. `what` is a clause about the operation: "its tile has no layout".
mlir::InFlightDiagnostic bug(mlir::Operation *op, const std::string &what);

/// The arguments of refuse() or bug().
struct Refusal {
  Diag id;
  std::vector<std::string> args; // of a bug: `what`, and the operation's name
};
std::optional<Refusal> refusalOf(mlir::Diagnostic &diagnostic);

/// Returns a type or attribute as the IR prints it, for arguments of messages.
std::string mlirText(mlir::Type type);

} // namespace tilewright
